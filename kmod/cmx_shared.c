// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel memory shown to a client.  The owner revokes it when its object is destroyed;
 * pages live on until the last VMA is gone, so neither side ever loses its address.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "cmx_file.h"
#include "cmx_ring.h"

static void cmx_shared_free_pages(struct cmx_shared *shared)
{
	size_t i, count = shared->size >> PAGE_SHIFT;

	if (count > 1 && shared->vaddr)
		vunmap(shared->vaddr);
	for (i = 0; i < count && shared->pages[i]; i++)
		__free_page(shared->pages[i]);
	kvfree(shared->pages);
}

static int cmx_shared_alloc_pages(struct cmx_shared *shared)
{
	size_t i, count = shared->size >> PAGE_SHIFT;

	shared->pages = kvcalloc(count, sizeof(*shared->pages), GFP_KERNEL_ACCOUNT);
	if (!shared->pages)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		shared->pages[i] = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!shared->pages[i])
			goto err_free_pages;
	}
	shared->vaddr = count == 1 ? page_address(shared->pages[0]) :
			vmap(shared->pages, count, VM_MAP, PAGE_KERNEL);
	if (shared->vaddr)
		return 0;

err_free_pages:
	cmx_shared_free_pages(shared);
	return -ENOMEM;
}

static struct drm_vma_offset_manager *cmx_shared_manager(struct cmx_shared *shared)
{
	return shared->file->cdev->drm.vma_offset_manager;
}

static struct cmx_shared *cmx_shared_alloc(struct cmx_file *file, size_t size, bool writable)
{
	struct cmx_shared *shared;
	int err;

	shared = kzalloc(sizeof(*shared), GFP_KERNEL_ACCOUNT);
	if (!shared)
		return ERR_PTR(-ENOMEM);
	kref_init(&shared->ref);
	mutex_init(&shared->lock);
	drm_vma_node_reset(&shared->node);
	shared->node.driver_private = shared;
	shared->file = file;
	shared->size = size;
	shared->writable = writable;

	err = cmx_shared_alloc_pages(shared);
	if (err)
		goto err_free_shared;
	err = drm_vma_offset_add(cmx_shared_manager(shared), &shared->node, size >> PAGE_SHIFT);
	if (err)
		goto err_free_pages;
	return shared;

err_free_pages:
	cmx_shared_free_pages(shared);
err_free_shared:
	mutex_destroy(&shared->lock);
	kfree(shared);
	return ERR_PTR(err);
}

struct cmx_shared *cmx_shared_create(struct cmx_file *file, size_t size, bool writable)
{
	u32 pages = size >> PAGE_SHIFT, limit = cmx_file_limit(CMX_LIMIT_RING_PAGES);
	struct cmx_shared *shared;
	int err;

	err = cmx_file_charge(file, CMX_LIMIT_RING_PAGES, pages);
	if (err)
		return ERR_PTR(cmx_refuse(file, err, "max_ring_pages", pages, limit,
					  "the file would hold more pages of rings than it may"));
	shared = cmx_shared_alloc(file, size, writable);
	if (IS_ERR(shared))
		cmx_file_uncharge(file, CMX_LIMIT_RING_PAGES, pages);
	return shared;
}

static void cmx_shared_release(struct kref *ref)
{
	struct cmx_shared *shared = container_of(ref, struct cmx_shared, ref);

	cmx_shared_free_pages(shared);
	mutex_destroy(&shared->lock);
	kfree(shared);
}

void cmx_shared_put(struct cmx_shared *shared)
{
	kref_put(&shared->ref, cmx_shared_release);
}

void cmx_shared_revoke(struct cmx_shared *shared)
{
	struct cmx_file *file = shared->file;

	/*
	 * A fault that holds the lock maps a page before the zap and loses it there; one
	 * that comes later sees the flag.  The node goes last: until then the offset
	 * belongs to nobody else.
	 */
	mutex_lock(&shared->lock);
	shared->revoked = true;
	mutex_unlock(&shared->lock);
	drm_vma_node_unmap(&shared->node, file->cdev->drm.anon_inode->i_mapping);
	drm_vma_offset_remove(cmx_shared_manager(shared), &shared->node);

	cmx_file_uncharge(file, CMX_LIMIT_RING_PAGES, shared->size >> PAGE_SHIFT);
	cmx_shared_put(shared);
}

u64 cmx_shared_offset(struct cmx_shared *shared)
{
	return drm_vma_node_offset_addr(&shared->node);
}
