// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client's view of a BO.  A fault maps the whole contiguous chunk it hits: with one
 * huge-page entry where the architecture can, else page by page.  Runs under the mmap
 * lock and takes only cmx_bo.lock below it.
 */
#include <linux/mm.h>

#include <drm/drm_gem.h>

#include "cmx_bo.h"
#include "cmx_compat.h"

static struct cmx_bo *cmx_vma_bo(const struct vm_area_struct *vma)
{
	return to_cmx_bo(vma->vm_private_data);
}

/* Page of the BO that the VMA starts with. */
static unsigned long cmx_vma_first(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff - drm_vma_node_start(&cmx_vma_bo(vma)->base.vma_node);
}

static unsigned long cmx_vma_address(const struct vm_area_struct *vma, unsigned long index)
{
	return vma->vm_start + ((index - cmx_vma_first(vma)) << PAGE_SHIFT);
}

static vm_fault_t cmx_bo_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long first = cmx_vma_first(vma);
	unsigned long index = first + ((vmf->address - vma->vm_start) >> PAGE_SHIFT);
	unsigned long from, to, address;
	struct cmx_piece piece;
	vm_fault_t ret;
	int err;

	err = cmx_bo_piece(cmx_vma_bo(vma), index, true, &piece);
	if (err)
		return vmf_error(err);

	from = max(piece.first, first);
	to = min(piece.first + piece.count, first + vma_pages(vma));
	address = cmx_vma_address(vma, from);
	for (; from < to; from++, address += PAGE_SIZE) {
		ret = cmx_insert_pfn(vma, address, page_to_pfn(piece.page) + from - piece.first);
		/* What comes after the address that faulted is only a favour. */
		if (ret & VM_FAULT_ERROR)
			return from > index ? VM_FAULT_NOPAGE : ret;
	}
	return VM_FAULT_NOPAGE;
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static vm_fault_t cmx_bo_huge_fault(struct vm_fault *vmf, unsigned int order)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long address = ALIGN_DOWN(vmf->address, PMD_SIZE);
	struct cmx_bo *bo = cmx_vma_bo(vma);
	struct cmx_piece piece;
	unsigned long index;
	int err;

	if (order != PMD_ORDER || bo->order != PMD_ORDER || address < vma->vm_start ||
	    address + PMD_SIZE > vma->vm_end)
		return VM_FAULT_FALLBACK;
	index = cmx_vma_first(vma) + ((address - vma->vm_start) >> PAGE_SHIFT);
	if (!IS_ALIGNED(index, 1UL << PMD_ORDER))
		return VM_FAULT_FALLBACK;

	err = cmx_bo_piece(bo, index, true, &piece);
	if (err)
		return vmf_error(err);
	if (piece.count != 1UL << PMD_ORDER)
		return VM_FAULT_FALLBACK;
	return cmx_insert_pmd(vmf, page_to_pfn(piece.page), vma->vm_flags & VM_WRITE);
}
#endif

/* For debuggers, which cannot follow page tables without struct pages. */
static int cmx_bo_vma_access(struct vm_area_struct *vma, unsigned long address, void *buf,
			     int len, int write)
{
	u64 offset = ((u64)cmx_vma_first(vma) << PAGE_SHIFT) + (address - vma->vm_start);
	size_t todo = min_t(unsigned long, len, vma->vm_end - address);
	int done = 0;

	while (todo) {
		size_t part = todo;
		void *at = cmx_bo_access(cmx_vma_bo(vma), offset, &part, write);

		if (IS_ERR(at))
			return done ?: PTR_ERR(at);
		if (write)
			memcpy(at, buf + done, part);
		else
			memcpy(buf + done, at, part);
		done += part;
		offset += part;
		todo -= part;
	}
	return done;
}

const struct vm_operations_struct cmx_bo_vm_ops = {
	.open = drm_gem_vm_open,
	.close = drm_gem_vm_close,
	.fault = cmx_bo_fault,
#ifdef CONFIG_TRANSPARENT_HUGEPAGE
	.huge_fault = cmx_bo_huge_fault,
#endif
	.access = cmx_bo_vma_access,
};

int cmx_bo_mmap(struct cmx_bo *bo, struct vm_area_struct *vma)
{
	unsigned long pages = bo->base.size >> PAGE_SHIFT;
	unsigned long first = vma->vm_pgoff - drm_vma_node_start(&bo->base.vma_node);

	if (bo->flags & CMX_BO_NO_DATA)
		return -EINVAL;
	if (first >= pages || vma_pages(vma) > pages - first)
		return -EINVAL;
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;

	vm_flags_mod(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY, VM_MAYEXEC);
	vma->vm_ops = &cmx_bo_vm_ops;
	vma->vm_private_data = &bo->base;
	cmx_bo_get(bo);
	return 0;
}
