/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of an entity, backed by host memory when touched. */
#ifndef CMX_BO_H
#define CMX_BO_H

#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>

#include <drm/drm_gem.h>

#include "cmx_entity.h"

/**
 * struct cmx_bo - memory on an entity.
 *
 * Backed by chunks: @chunks holds the first page of each physically contiguous,
 * zeroed chunk of 1 << @order pages; where none of that size could be had, @pages
 * holds single pages instead.  Both are only added to until the last reference goes,
 * so an address once returned stays valid as long as the BO.
 */
struct cmx_bo {
	/** @base: GEM object; its reference count is this structure's. */
	struct drm_gem_object base;
	/** @entity: where it is; a reference. */
	struct cmx_entity *entity;
	/** @flags: CMX_BO_*. */
	u32 flags;
	/** @order: chunks are PAGE_SIZE << order bytes. */
	u32 order;
	/** @lock: serialises backing a chunk. */
	struct mutex lock;
	/** @chunks: struct page by chunk number. */
	struct xarray chunks;
	/** @pages: struct page by page number, for chunks that are not contiguous. */
	struct xarray pages;
	/** @resident: bytes backed. */
	atomic64_t resident;
	/** @watch_lock: protects @watches; taken inside a timeline's lock. */
	spinlock_t watch_lock;
	/** @watches: struct cmx_watch by offset (see cmx_watch.h); empty: no waiter. */
	struct rb_root_cached watches;
};

static inline struct cmx_bo *to_cmx_bo(struct drm_gem_object *obj)
{
	return container_of(obj, struct cmx_bo, base);
}

static inline void cmx_bo_get(struct cmx_bo *bo)
{
	drm_gem_object_get(&bo->base);
}

static inline void cmx_bo_put(struct cmx_bo *bo)
{
	drm_gem_object_put(&bo->base);
}

/*
 * cmx_bo_access() - kernel address of bytes of a BO.
 * @bo: not CMX_BO_NO_DATA
 * @offset: first byte
 * @len: in: bytes wanted; out: bytes contiguous at the address, at least 1
 * @write: false: what was never touched reads from a shared zero page, nothing is backed
 *
 * May sleep (GFP_KERNEL_ACCOUNT).  Return: address or ERR_PTR(-ENOMEM).
 */
void *cmx_bo_access(struct cmx_bo *bo, u64 offset, size_t *len, bool write);

/** struct cmx_piece - physically contiguous pages of a BO. */
struct cmx_piece {
	/** @page: first page; NULL: never touched. */
	struct page *page;
	/** @first: its page number in the BO. */
	unsigned long first;
	/** @count: pages; the last chunk's may reach past the end of the BO. */
	unsigned long count;
};

/*
 * cmx_bo_piece() - piece that page @index of a BO is in.
 * @bo: not CMX_BO_NO_DATA
 * @index: page number
 * @back: back it with memory when it is not
 * @piece: out
 */
int cmx_bo_piece(struct cmx_bo *bo, unsigned long index, bool back, struct cmx_piece *piece);

/* cmx_bo_mmap() - set up a VMA whose vm_pgoff counts from the BO's mmap offset. */
int cmx_bo_mmap(struct cmx_bo *bo, struct vm_area_struct *vma);
extern const struct vm_operations_struct cmx_bo_vm_ops;

/* cmx_bo_export() - BO as a dma-buf, DRM's export hook. */
struct dma_buf *cmx_bo_export(struct drm_gem_object *obj, int flags);
/* cmx_bo_import() - DRM's import hook: takes only what the same device exported. */
struct drm_gem_object *cmx_bo_import(struct drm_device *drm, struct dma_buf *dma_buf);

/* cmx_zero_init() - make the zeros that memory never touched reads as. */
int cmx_zero_init(void);
void cmx_zero_exit(void);
/* cmx_zero_page() - first page of them; never written. */
struct page *cmx_zero_page(void);

#endif
