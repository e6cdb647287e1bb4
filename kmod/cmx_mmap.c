// SPDX-License-Identifier: GPL-2.0-only
/*
 * mmap() of the device node: BOs and rings share one space of offsets.
 *
 * Ring VMAs are whole, shared, not executable, not inherited, not moved or split, and
 * what only the kernel writes can never be made writable.  Pages are mapped in the fault
 * handler; after revocation or removal of the device it maps scratch memory of the file
 * instead, so that a client's late loads and stores hit nothing.
 */
#include <linux/mm.h>
#include <linux/mman.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_gem.h>
#include <drm/drm_vma_manager.h>

#include "cmx_compat.h"
#include "cmx_extack.h"
#include "cmx_file.h"
#include "cmx_mmap.h"
#include "cmx_ring.h"

static struct cmx_file *cmx_filp_file(struct file *filp)
{
	struct drm_file *drm_file = filp->private_data;

	return drm_file->driver_priv;
}

static struct page *cmx_file_scratch(struct cmx_file *file)
{
	guard(mutex)(&file->scratch_lock);
	if (!file->scratch)
		file->scratch = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	return file->scratch;
}

static vm_fault_t cmx_shared_fault_scratch(struct vm_fault *vmf, struct cmx_shared *shared)
{
	struct vm_area_struct *vma = vmf->vma;
	struct page *page;

	/* The VMA holds the struct file, and that the client. */
	page = shared->writable ? cmx_file_scratch(cmx_filp_file(vma->vm_file)) : cmx_zero_page();
	if (!page)
		return VM_FAULT_OOM;
	return cmx_insert_pfn(vma, vmf->address & PAGE_MASK, page_to_pfn(page));
}

/* Rings are small and used at once: all pages in one fault. */
static vm_fault_t cmx_shared_fault_pages(struct vm_fault *vmf, struct cmx_shared *shared)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long i, count = shared->size >> PAGE_SHIFT;
	vm_fault_t ret;

	lockdep_assert_held(&shared->lock);
	for (i = 0; i < count; i++) {
		ret = cmx_insert_pfn(vma, vma->vm_start + (i << PAGE_SHIFT),
				     page_to_pfn(shared->pages[i]));
		if (ret & VM_FAULT_ERROR)
			return ret;
	}
	return VM_FAULT_NOPAGE;
}

static vm_fault_t cmx_shared_fault_live(struct vm_fault *vmf, struct cmx_shared *shared)
{
	guard(mutex)(&shared->lock);
	if (shared->revoked)
		return cmx_shared_fault_scratch(vmf, shared);
	return cmx_shared_fault_pages(vmf, shared);
}

static vm_fault_t cmx_shared_fault(struct vm_fault *vmf)
{
	struct cmx_shared *shared = vmf->vma->vm_private_data;
	struct drm_device *drm = &cmx_filp_file(vmf->vma->vm_file)->cdev->drm;
	vm_fault_t ret;
	int idx;

	if (!drm_dev_enter(drm, &idx))
		return cmx_shared_fault_scratch(vmf, shared);
	ret = cmx_shared_fault_live(vmf, shared);
	drm_dev_exit(idx);
	return ret;
}

static void cmx_shared_vma_open(struct vm_area_struct *vma)
{
	struct cmx_shared *shared = vma->vm_private_data;

	kref_get(&shared->ref);
}

static void cmx_shared_vma_close(struct vm_area_struct *vma)
{
	cmx_shared_put(vma->vm_private_data);
}

static int cmx_shared_may_split(struct vm_area_struct *vma, unsigned long address)
{
	return -EINVAL;
}

static int cmx_shared_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct cmx_shared_vm_ops = {
	.open = cmx_shared_vma_open,
	.close = cmx_shared_vma_close,
	.may_split = cmx_shared_may_split,
	.mremap = cmx_shared_mremap,
	.fault = cmx_shared_fault,
};

/* @shared's reference goes to the VMA, unless refused. */
static int cmx_shared_mmap(struct cmx_file *file, struct cmx_shared *shared,
			   struct vm_area_struct *vma)
{
	vm_flags_t clear = VM_MAYEXEC;

	if (vma->vm_pgoff != cmx_shared_offset(shared) >> PAGE_SHIFT ||
	    vma_pages(vma) != shared->size >> PAGE_SHIFT)
		return cmx_refuse(file, -EINVAL, "length", vma->vm_end - vma->vm_start,
				  shared->size, "a ring is mapped as a whole");
	if (!shared->writable) {
		if (vma->vm_flags & VM_WRITE)
			return cmx_refuse(file, -EPERM, "prot", PROT_WRITE, PROT_READ,
					  "this part of a ring is read-only");
		clear |= VM_MAYWRITE;
	}

	/* VM_IO: MADV_DOFORK cannot undo VM_DONTCOPY. */
	vm_flags_mod(vma, VM_IO | VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY, clear);
	vma->vm_ops = &cmx_shared_vm_ops;
	vma->vm_private_data = shared;
	return 0;
}

static int cmx_mmap_shared(struct cmx_file *file, struct cmx_shared *shared,
			   struct vm_area_struct *vma)
{
	int err = cmx_shared_mmap(file, shared, vma);

	if (err)
		cmx_shared_put(shared);
	return err;
}

static int cmx_mmap_bo(struct cmx_file *file, struct cmx_bo *bo, struct vm_area_struct *vma)
{
	int err;

	if (drm_vma_node_is_allowed(&bo->base.vma_node, file->drm_file))
		err = cmx_bo_mmap(bo, vma);
	else
		err = cmx_refuse(file, -EACCES, "offset", (u64)vma->vm_pgoff << PAGE_SHIFT, 0,
				 "the BO is not this file's");
	cmx_bo_put(bo);
	return err;
}

/* What an offset names: one of the two, with a reference, or neither. */
static void cmx_mmap_lookup(struct cmx_file *file, struct vm_area_struct *vma, struct cmx_bo **bo,
			    struct cmx_shared **shared)
{
	struct drm_vma_offset_manager *manager = file->cdev->drm.vma_offset_manager;
	struct drm_gem_object *obj;
	struct drm_vma_offset_node *node;

	*bo = NULL;
	*shared = NULL;
	drm_vma_offset_lock_lookup(manager);
	node = drm_vma_offset_lookup_locked(manager, vma->vm_pgoff, vma_pages(vma));
	if (node && node->driver_private) {
		/* In the manager it is not revoked: its owner's reference and file exist. */
		struct cmx_shared *found = node->driver_private;

		if (found->file == file) {
			kref_get(&found->ref);
			*shared = found;
		}
	} else if (node) {
		obj = container_of(node, struct drm_gem_object, vma_node);
		if (kref_get_unless_zero(&obj->refcount))
			*bo = to_cmx_bo(obj);
	}
	drm_vma_offset_unlock_lookup(manager);
}

static int cmx_mmap_check(struct cmx_file *file, const struct vm_area_struct *vma)
{
	if (!(vma->vm_flags & VM_SHARED))
		return cmx_refuse(file, -EINVAL, "flags", MAP_PRIVATE, MAP_SHARED,
				  "only MAP_SHARED of a file opened for writing");
	if (vma->vm_flags & VM_EXEC)
		return cmx_refuse(file, -EPERM, "prot", PROT_EXEC, PROT_READ | PROT_WRITE,
				  "device memory is not executable");
	return 0;
}

static int cmx_mmap_file(struct cmx_file *file, struct vm_area_struct *vma)
{
	struct cmx_shared *shared;
	struct cmx_bo *bo;
	int err;

	err = cmx_mmap_check(file, vma);
	if (err)
		return err;
	cmx_mmap_lookup(file, vma, &bo, &shared);
	if (shared)
		return cmx_mmap_shared(file, shared, vma);
	if (bo)
		return cmx_mmap_bo(file, bo, vma);
	return cmx_refuse(file, -EINVAL, "offset", (u64)vma->vm_pgoff << PAGE_SHIFT, 0,
			  "no BO or ring of this file covers this range");
}

int cmx_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct cmx_file *file = cmx_filp_file(filp);
	int idx, err;

	err = -ENODEV;
	if (drm_dev_enter(&file->cdev->drm, &idx)) {
		err = cmx_mmap_file(file, vma);
		drm_dev_exit(idx);
	}
	if (err)
		cmx_extack_finish(file, CMX_EXTACK_NO_IOCTL, err);
	return err;
}
