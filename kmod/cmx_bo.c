// SPDX-License-Identifier: GPL-2.0-only
/*
 * BOs: memory of an entity.  Capacity is charged when a BO is made; host memory backs it
 * chunk by chunk when it is touched, and goes with the last reference.
 */
#include <linux/gfp.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <drm/drm_file.h>

#include "cmx_device.h"
#include "cmx_file.h"
#include "cmx_ioctl.h"
#include "cmx_limits.h"

#define CMX_MAX_ORDER	(ilog2(CMX_MAX_CHUNK) - PAGE_SHIFT)
#define CMX_ZERO_ORDER	4

/* Chunk whose pages are in cmx_bo.pages. */
#define CMX_CHUNK_SINGLE	xa_mk_value(1)

static struct page *cmx_zero;

int cmx_zero_init(void)
{
	cmx_zero = alloc_pages(GFP_KERNEL | __GFP_ZERO, CMX_ZERO_ORDER);
	return cmx_zero ? 0 : -ENOMEM;
}

void cmx_zero_exit(void)
{
	__free_pages(cmx_zero, CMX_ZERO_ORDER);
}

struct page *cmx_zero_page(void)
{
	return cmx_zero;
}

/* ----------------------------------------------------------------------- backing */

static void cmx_bo_account(struct cmx_bo *bo, s64 pages)
{
	atomic64_add(pages * PAGE_SIZE, &bo->resident);
	atomic64_add(pages * PAGE_SIZE, &bo->entity->resident);
}

static void *cmx_bo_store(struct xarray *xa, unsigned long index, struct page *page, u32 order)
{
	int err = xa_err(xa_store(xa, index, page, GFP_KERNEL_ACCOUNT));

	if (!err)
		return page;
	__free_pages(page, order);
	return ERR_PTR(err);
}

/* A page of a chunk that could not be had in one piece. */
static void *cmx_bo_back_single(struct cmx_bo *bo, unsigned long index)
{
	struct page *page;
	void *entry;

	guard(mutex)(&bo->lock);
	entry = xa_load(&bo->pages, index);
	if (entry)
		return entry;
	page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!page)
		return ERR_PTR(-ENOMEM);
	entry = cmx_bo_store(&bo->pages, index, page, 0);
	if (!IS_ERR(entry))
		cmx_bo_account(bo, 1);
	return entry;
}

/* Back chunk @chunk, or mark it as one of single pages. */
static void *cmx_bo_back_chunk(struct cmx_bo *bo, unsigned long chunk)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO;
	struct page *page;
	void *entry;

	if (bo->order)
		gfp |= __GFP_COMP | __GFP_NORETRY | __GFP_NOWARN;

	guard(mutex)(&bo->lock);
	entry = xa_load(&bo->chunks, chunk);
	if (entry)
		return entry;
	page = alloc_pages(gfp, bo->order);
	if (!page && !bo->order)
		return ERR_PTR(-ENOMEM);
	if (!page) {
		int err = xa_err(xa_store(&bo->chunks, chunk, CMX_CHUNK_SINGLE,
					  GFP_KERNEL_ACCOUNT));

		return err ? ERR_PTR(err) : CMX_CHUNK_SINGLE;
	}
	entry = cmx_bo_store(&bo->chunks, chunk, page, bo->order);
	if (!IS_ERR(entry))
		cmx_bo_account(bo, 1L << bo->order);
	return entry;
}

static int cmx_bo_piece_single(struct cmx_bo *bo, unsigned long index, bool back,
			       struct cmx_piece *piece)
{
	void *entry = xa_load(&bo->pages, index);

	if (!entry && back)
		entry = cmx_bo_back_single(bo, index);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	piece->page = entry;
	piece->first = index;
	piece->count = 1;
	return 0;
}

int cmx_bo_piece(struct cmx_bo *bo, unsigned long index, bool back, struct cmx_piece *piece)
{
	unsigned long chunk = index >> bo->order;
	void *entry = xa_load(&bo->chunks, chunk);

	if (!entry && back)
		entry = cmx_bo_back_chunk(bo, chunk);
	if (IS_ERR(entry))
		return PTR_ERR(entry);
	if (entry == CMX_CHUNK_SINGLE)
		return cmx_bo_piece_single(bo, index, back, piece);
	piece->page = entry;
	piece->first = chunk << bo->order;
	piece->count = 1UL << bo->order;
	return 0;
}

void *cmx_bo_access(struct cmx_bo *bo, u64 offset, size_t *len, bool write)
{
	struct cmx_piece piece;
	u64 inside, left;
	int err;

	if (WARN_ON_ONCE((bo->flags & CMX_BO_NO_DATA) || offset >= bo->base.size))
		return ERR_PTR(-EINVAL);

	err = cmx_bo_piece(bo, offset >> PAGE_SHIFT, write, &piece);
	if (err)
		return ERR_PTR(err);
	inside = offset - ((u64)piece.first << PAGE_SHIFT);
	left = min(((u64)piece.count << PAGE_SHIFT) - inside, bo->base.size - offset);
	if (!piece.page) {
		inside = offset_in_page(offset);
		left = min(left, (PAGE_SIZE << CMX_ZERO_ORDER) - inside);
		piece.page = cmx_zero;
	}
	*len = min_t(u64, *len, left);
	return page_address(piece.page) + inside;
}

static void cmx_bo_free_pages(struct cmx_bo *bo)
{
	struct page *page;
	unsigned long index;

	xa_for_each(&bo->chunks, index, page) {
		if (page != CMX_CHUNK_SINGLE)
			__free_pages(page, bo->order);
		cond_resched();
	}
	xa_for_each(&bo->pages, index, page) {
		__free_page(page);
		cond_resched();
	}
	xa_destroy(&bo->chunks);
	xa_destroy(&bo->pages);
	atomic64_sub(atomic64_read(&bo->resident), &bo->entity->resident);
}

/* ---------------------------------------------------------------------- GEM hooks */

static void cmx_bo_free(struct drm_gem_object *obj)
{
	struct cmx_bo *bo = to_cmx_bo(obj);

	drm_gem_object_release(obj);
	cmx_bo_free_pages(bo);
	cmx_entity_uncharge(bo->entity, obj->size);
	put_device(&bo->entity->dev);
	mutex_destroy(&bo->lock);
	kfree(bo);
}

/* Called for each handle a file gets, made here or by PRIME. */
static int cmx_bo_open(struct drm_gem_object *obj, struct drm_file *drm_file)
{
	struct cmx_file *file = drm_file->driver_priv;
	u32 limit = cmx_file_limit(CMX_LIMIT_BOS);
	int err = cmx_file_charge(file, CMX_LIMIT_BOS, 1);

	if (err)
		return cmx_refuse(file, err, "handle", limit, limit,
				  "the file holds as many BO handles as it may");
	return 0;
}

static void cmx_bo_close(struct drm_gem_object *obj, struct drm_file *drm_file)
{
	cmx_file_uncharge(drm_file->driver_priv, CMX_LIMIT_BOS, 1);
}

static enum drm_gem_object_status cmx_bo_status(struct drm_gem_object *obj)
{
	return atomic64_read(&to_cmx_bo(obj)->resident) ? DRM_GEM_OBJECT_RESIDENT : 0;
}

static size_t cmx_bo_rss(struct drm_gem_object *obj)
{
	return atomic64_read(&to_cmx_bo(obj)->resident);
}

static const struct drm_gem_object_funcs cmx_bo_funcs = {
	.free = cmx_bo_free,
	.open = cmx_bo_open,
	.close = cmx_bo_close,
	.export = cmx_bo_export,
	.status = cmx_bo_status,
	.rss = cmx_bo_rss,
	.vm_ops = &cmx_bo_vm_ops,
};

/* ------------------------------------------------------------------------- ioctls */

/* @size is already charged to @entity; on failure it still is. */
static struct cmx_bo *cmx_bo_alloc(struct cmx_device *cdev, struct cmx_entity *entity, u64 size,
				   u32 flags)
{
	struct cmx_bo *bo;
	int err;

	bo = kzalloc(sizeof(*bo), GFP_KERNEL_ACCOUNT);
	if (!bo)
		return ERR_PTR(-ENOMEM);

	drm_gem_private_object_init(&cdev->drm, &bo->base, size);
	bo->base.funcs = &cmx_bo_funcs;
	bo->entity = entity;
	bo->flags = flags;
	bo->order = min_t(u32, get_order(size), CMX_MAX_ORDER);
	mutex_init(&bo->lock);
	xa_init_flags(&bo->chunks, XA_FLAGS_ACCOUNT);
	xa_init_flags(&bo->pages, XA_FLAGS_ACCOUNT);
	spin_lock_init(&bo->watch_lock);
	bo->watches = RB_ROOT_CACHED;

	if (!(flags & CMX_BO_NO_DATA)) {
		err = drm_gem_create_mmap_offset(&bo->base);
		if (err) {
			drm_gem_object_release(&bo->base);
			mutex_destroy(&bo->lock);
			kfree(bo);
			return ERR_PTR(err);
		}
	}
	get_device(&entity->dev);
	return bo;
}

static u64 cmx_bo_mmap_offset(struct cmx_bo *bo)
{
	return drm_vma_node_offset_addr(&bo->base.vma_node);
}

static int cmx_bo_create(struct cmx_file *file, struct cmx_entity *entity,
			 struct drm_cmx_bo_create *args)
{
	struct cmx_bo *bo;
	int err;

	bo = cmx_bo_alloc(file->cdev, entity, args->size, args->flags);
	if (IS_ERR(bo)) {
		cmx_entity_uncharge(entity, args->size);
		return PTR_ERR(bo);
	}
	args->mmap_offset = cmx_bo_mmap_offset(bo);
	err = drm_gem_handle_create(file->drm_file, &bo->base, &args->handle);
	cmx_bo_put(bo);
	return err;
}

static int cmx_bo_check(struct cmx_file *file, const struct drm_cmx_bo_create *args)
{
	int err;

	err = cmx_check_flags(file, "flags", args->flags, CMX_BO_FLAGS) ?:
	      cmx_check_zero(file, "pad", args->pad);
	if (err)
		return err;
	if (!args->size || !PAGE_ALIGNED(args->size))
		return cmx_refuse(file, -EINVAL, "size", args->size, PAGE_SIZE,
				  "zero, or not a multiple of the page size");
	return 0;
}

int cmx_ioctl_bo_create(struct cmx_file *file, void *data)
{
	struct cmx_machine *machine = file->cdev->machine;
	struct drm_cmx_bo_create *args = data;
	struct cmx_entity *entity;
	int err;

	err = cmx_bo_check(file, args);
	if (err)
		return err;
	entity = cmx_entity_get(machine, args->entity);
	if (!entity)
		return cmx_refuse(file, -EINVAL, "entity", args->entity, machine->num_entities - 1,
				  "no such entity");

	err = cmx_entity_charge(entity, args->size);
	args->free = cmx_entity_free_bytes(entity);
	if (err)
		return cmx_refuse(file, err, "size", args->size, args->free,
				  "more than the entity has left");
	return cmx_bo_create(file, entity, args);
}

int cmx_ioctl_bo_query(struct cmx_file *file, void *data)
{
	struct drm_cmx_bo_query *args = data;
	struct drm_gem_object *obj;
	struct cmx_bo *bo;

	obj = drm_gem_object_lookup(file->drm_file, args->handle);
	if (!obj)
		return cmx_refuse(file, -ENOENT, "handle", args->handle, 0, "no such BO");
	bo = to_cmx_bo(obj);
	args->entity = bo->entity->index;
	args->flags = bo->flags;
	args->chunk = PAGE_SIZE << bo->order;
	args->size = obj->size;
	args->resident = atomic64_read(&bo->resident);
	args->mmap_offset = cmx_bo_mmap_offset(bo);
	drm_gem_object_put(obj);
	return 0;
}
