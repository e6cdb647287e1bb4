/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel memory shown to a client: rings, doorbells, status pages. */
#ifndef CMX_RING_H
#define CMX_RING_H

#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include <drm/drm_vma_manager.h>

struct cmx_file;
struct page;

/**
 * struct cmx_shared - pages mapped into a client.
 *
 * The kernel's address stays valid until the last reference; a client's mapping ends
 * at cmx_shared_revoke() (later faults get private scratch memory).
 */
struct cmx_shared {
	/** @ref: the owner's, and one for each VMA. */
	struct kref ref;
	/** @file: client; only used before revocation. */
	struct cmx_file *file;
	/** @node: mmap offset, unique on the device. */
	struct drm_vma_offset_node node;
	/** @size: bytes, whole pages. */
	size_t size;
	/** @pages: backing. */
	struct page **pages;
	/** @vaddr: kernel address of all of it. */
	void *vaddr;
	/** @lock: orders mapping of pages in a fault against @revoked. */
	struct mutex lock;
	/** @writable: the client may write. */
	bool writable;
	/** @revoked: mappings show scratch memory; set under @lock before zapping. */
	bool revoked;
};

/* cmx_shared_create() - zeroed pages, charged to the file's ring pages. */
struct cmx_shared *cmx_shared_create(struct cmx_file *file, size_t size, bool writable);
/* cmx_shared_revoke() - end the client's view (zap, uncharge) and drop the owner's reference. */
void cmx_shared_revoke(struct cmx_shared *shared);
/* cmx_shared_put() - drop a VMA's or a lookup's reference. */
void cmx_shared_put(struct cmx_shared *shared);
/* cmx_shared_offset() - file offset for mmap(). */
u64 cmx_shared_offset(struct cmx_shared *shared);

#endif
