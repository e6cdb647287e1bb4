// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client's device address space: mappings in a maple tree by page number.  The tree
 * is only walked and changed under cmx_vm.lock, so it needs no lock of its own.
 */
#include <linux/hash.h>
#include <linux/slab.h>

#include "cmx_file.h"
#include "cmx_ioctl.h"
#include "cmx_vm.h"

/* Addresses that share a place in cmx_vm.recent: few mappings are smaller. */
#define CMX_RECENT_SHIFT	16

static unsigned long cmx_va_page(u64 va)
{
	return va >> PAGE_SHIFT;
}

void cmx_vm_init(struct cmx_vm *vm)
{
	init_rwsem(&vm->lock);
	mt_init_flags(&vm->tree, MT_FLAGS_LOCK_EXTERN);
	mt_set_external_lock(&vm->tree, &vm->lock);
}

static void cmx_mapping_free(struct cmx_mapping *mapping)
{
	cmx_bo_put(mapping->bo);
	kfree(mapping);
}

void cmx_vm_fini(struct cmx_vm *vm, struct cmx_file *file)
{
	MA_STATE(mas, &vm->tree, 0, 0);
	struct cmx_mapping *mapping;

	down_write(&vm->lock);
	mas_for_each(&mas, mapping, ULONG_MAX) {
		cmx_mapping_free(mapping);
		cmx_file_uncharge(file, CMX_LIMIT_MAPPINGS, 1);
	}
	__mt_destroy(&vm->tree);
	up_write(&vm->lock);
}

/* Not inline: the state of a search is large, and mostly not needed. */
static noinline struct cmx_mapping *cmx_vm_search(struct cmx_vm *vm, u64 va,
						  struct cmx_mapping **recent)
{
	MA_STATE(mas, &vm->tree, cmx_va_page(va), cmx_va_page(va));
	struct cmx_mapping *mapping = va >> CMX_VA_BITS ? NULL : mas_walk(&mas);

	if (mapping)
		WRITE_ONCE(*recent, mapping);
	return mapping;
}

/* Readers of the lock may be here at the same time: whose result stays does not matter. */
static struct cmx_mapping *cmx_vm_find(struct cmx_vm *vm, u64 va)
{
	struct cmx_mapping **recent = &vm->recent[hash_64(va >> CMX_RECENT_SHIFT, CMX_RECENT_BITS)];
	struct cmx_mapping *mapping = READ_ONCE(*recent);

	if (mapping && va - mapping->va < mapping->size)
		return mapping;
	return cmx_vm_search(vm, va, recent);
}

int cmx_vm_translate(struct cmx_vm *vm, u64 va, u64 len, u32 access, struct cmx_span *span)
{
	const struct cmx_mapping *mapping;

	lockdep_assert_held(&vm->lock);
	mapping = cmx_vm_find(vm, va);
	if (!mapping)
		return -EFAULT;
	if ((mapping->flags & access) != access)
		return -EACCES;
	span->bo = mapping->bo;
	span->offset = mapping->offset + (va - mapping->va);
	span->len = min(len, mapping->va + mapping->size - va);
	span->entity = mapping->entity;
	span->no_data = mapping->no_data;
	return 0;
}

int cmx_vm_check(struct cmx_vm *vm, u64 va, u64 len, u32 access, struct cmx_span *span)
{
	struct cmx_span next;
	u64 end;
	int err;

	if (!len || check_add_overflow(va, len, &end))
		return -EINVAL;
	err = cmx_vm_translate(vm, va, len, access, span);
	if (err)
		return err;
	for (va += span->len; va < end; va += next.len) {
		err = cmx_vm_translate(vm, va, end - va, access, &next);
		if (err)
			return err;
	}
	return 0;
}

static int cmx_range_check(struct cmx_file *file, u64 va, u64 size)
{
	u64 limit = 1ULL << CMX_VA_BITS;

	if (!va || !PAGE_ALIGNED(va))
		return cmx_refuse(file, -EINVAL, "va", va, PAGE_SIZE,
				  "zero, or not a multiple of the page size");
	if (!size || !PAGE_ALIGNED(size))
		return cmx_refuse(file, -EINVAL, "size", size, PAGE_SIZE,
				  "zero, or not a multiple of the page size");
	if (va >= limit)
		return cmx_refuse(file, -EINVAL, "va", va, limit, "past the address space");
	if (size > limit - va)
		return cmx_refuse(file, -EINVAL, "size", size, limit - va,
				  "reaches past the address space");
	return 0;
}

static int cmx_map_check(struct cmx_file *file, const struct drm_cmx_map *args)
{
	int err;

	err = cmx_check_flags(file, "flags", args->flags, CMX_MAP_FLAGS);
	if (err)
		return err;
	if (!args->flags)
		return cmx_refuse(file, -EINVAL, "flags", 0, CMX_MAP_FLAGS,
				  "neither readable nor writable");
	if (!PAGE_ALIGNED(args->offset))
		return cmx_refuse(file, -EINVAL, "offset", args->offset, PAGE_SIZE,
				  "not a multiple of the page size");
	return cmx_range_check(file, args->va, args->size);
}

static int cmx_map_check_bo(struct cmx_file *file, const struct drm_cmx_map *args,
			    const struct cmx_bo *bo)
{
	u64 size = bo->base.size;

	if (args->offset >= size)
		return cmx_refuse(file, -EINVAL, "offset", args->offset, size, "past the BO");
	if (args->size > size - args->offset)
		return cmx_refuse(file, -EINVAL, "size", args->size, size - args->offset,
				  "reaches past the end of the BO");
	return 0;
}

static int cmx_vm_insert(struct cmx_file *file, struct cmx_mapping *mapping)
{
	MA_STATE(mas, &file->vm.tree, cmx_va_page(mapping->va),
		 cmx_va_page(mapping->va + mapping->size) - 1);
	struct cmx_mapping *other;
	int err;

	down_write(&file->vm.lock);
	other = mas_find(&mas, mas.last);
	if (other) {
		err = cmx_refuse(file, -EEXIST, "va", mapping->va, other->va,
				 "the range overlaps the mapping at the limit told");
	} else {
		mas_set_range(&mas, cmx_va_page(mapping->va),
			      cmx_va_page(mapping->va + mapping->size) - 1);
		err = mas_store_gfp(&mas, mapping, GFP_KERNEL_ACCOUNT);
		file->vm.generation++;
	}
	up_write(&file->vm.lock);
	return err;
}

static int cmx_map_bo(struct cmx_file *file, const struct drm_cmx_map *args, struct cmx_bo *bo)
{
	struct cmx_mapping *mapping;
	int err;

	mapping = kzalloc(sizeof(*mapping), GFP_KERNEL_ACCOUNT);
	if (!mapping)
		return -ENOMEM;
	mapping->va = args->va;
	mapping->size = args->size;
	mapping->offset = args->offset;
	mapping->flags = args->flags;
	mapping->entity = bo->entity->index;
	mapping->no_data = bo->flags & CMX_BO_NO_DATA;
	mapping->bo = bo;
	cmx_bo_get(bo);

	err = cmx_vm_insert(file, mapping);
	if (err)
		cmx_mapping_free(mapping);
	return err;
}

int cmx_ioctl_map(struct cmx_file *file, void *data)
{
	struct drm_cmx_map *args = data;
	struct drm_gem_object *obj;
	int err;

	err = cmx_map_check(file, args);
	if (err)
		return err;
	obj = drm_gem_object_lookup(file->drm_file, args->handle);
	if (!obj)
		return cmx_refuse(file, -ENOENT, "handle", args->handle, 0, "no such BO");
	err = cmx_map_check_bo(file, args, to_cmx_bo(obj));
	if (err)
		goto out_put_bo;

	err = cmx_file_charge(file, CMX_LIMIT_MAPPINGS, 1);
	if (err) {
		cmx_refuse(file, err, "handle", args->handle, cmx_file_limit(CMX_LIMIT_MAPPINGS),
			   "the file holds as many mappings as it may");
		goto out_put_bo;
	}
	err = cmx_map_bo(file, args, to_cmx_bo(obj));
	if (err)
		cmx_file_uncharge(file, CMX_LIMIT_MAPPINGS, 1);
out_put_bo:
	drm_gem_object_put(obj);
	return err;
}

/* List of the mappings in a range that are all whole inside it. */
static int cmx_vm_collect(struct cmx_file *file, const struct drm_cmx_unmap *args,
			  struct cmx_mapping **list)
{
	MA_STATE(mas, &file->vm.tree, cmx_va_page(args->va), cmx_va_page(args->va));
	u64 end = args->va + args->size;
	struct cmx_mapping *mapping;

	lockdep_assert_held_write(&file->vm.lock);
	mas_for_each(&mas, mapping, cmx_va_page(end) - 1) {
		if (mapping->va < args->va || mapping->va + mapping->size > end)
			return cmx_refuse(file, -EINVAL, "va", args->va, mapping->va,
					  "the mapping at the limit told is only partly inside");
		mapping->next = *list;
		*list = mapping;
	}
	if (!*list)
		return cmx_refuse(file, -ENOENT, "va", args->va, end, "nothing is mapped there");
	return 0;
}

static int cmx_vm_remove(struct cmx_file *file, const struct drm_cmx_unmap *args,
			 struct cmx_mapping **list)
{
	MA_STATE(mas, &file->vm.tree, 0, 0);
	int err;

	down_write(&file->vm.lock);
	err = cmx_vm_collect(file, args, list);
	if (!err) {
		mas_set_range(&mas, cmx_va_page(args->va), cmx_va_page(args->va + args->size) - 1);
		err = mas_store_gfp(&mas, NULL, GFP_KERNEL_ACCOUNT);
		memset(file->vm.recent, 0, sizeof(file->vm.recent));
		file->vm.generation++;
	}
	up_write(&file->vm.lock);
	return err;
}

int cmx_ioctl_unmap(struct cmx_file *file, void *data)
{
	struct drm_cmx_unmap *args = data;
	struct cmx_mapping *list = NULL, *mapping;
	int err;

	err = cmx_range_check(file, args->va, args->size) ?: cmx_vm_remove(file, args, &list);
	if (err)
		return err;
	while (list) {
		mapping = list;
		list = mapping->next;
		cmx_mapping_free(mapping);
		cmx_file_uncharge(file, CMX_LIMIT_MAPPINGS, 1);
	}
	return 0;
}
