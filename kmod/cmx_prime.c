// SPDX-License-Identifier: GPL-2.0-only
/*
 * BOs as dma-bufs.  Host memory is coherent and never moves, so nothing is pinned or
 * synchronised.  Importing takes back what the same device exported; memory of others
 * has no entity to be on, and is refused.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/iosys-map.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_gem.h>
#include <drm/drm_prime.h>

#include "cmx_bo.h"
#include "cmx_compat.h"

CMX_IMPORT_NS(DMA_BUF);

/* A device or the kernel maps a whole BO and so backs all of it: not without bound. */
#define CMX_PRIME_MAX_MAP	(4ULL << 30)

static int cmx_prime_attach(struct dma_buf *dma_buf, struct dma_buf_attachment *attach)
{
	struct cmx_bo *bo = to_cmx_bo(dma_buf->priv);

	if (bo->flags & CMX_BO_NO_DATA)
		return -EOPNOTSUPP;
	return bo->base.size > CMX_PRIME_MAX_MAP ? -E2BIG : 0;
}

/* Back all of @bo; number of contiguous pieces or negative errno. */
static long cmx_prime_back(struct cmx_bo *bo)
{
	unsigned long pages = bo->base.size >> PAGE_SHIFT, index;
	struct cmx_piece piece;
	long count = 0;
	int err;

	for (index = 0; index < pages; index = piece.first + piece.count) {
		err = cmx_bo_piece(bo, index, true, &piece);
		if (err)
			return err;
		count++;
	}
	return count;
}

static int cmx_prime_fill(struct cmx_bo *bo, struct sg_table *sgt)
{
	unsigned long pages = bo->base.size >> PAGE_SHIFT, index = 0;
	struct scatterlist *sg;
	struct cmx_piece piece;
	int i, err;

	for_each_sgtable_sg(sgt, sg, i) {
		err = cmx_bo_piece(bo, index, true, &piece);
		if (err)
			return err;
		piece.count = min(piece.count, pages - piece.first);
		sg_set_page(sg, piece.page, piece.count << PAGE_SHIFT, 0);
		index = piece.first + piece.count;
	}
	return 0;
}

static struct sg_table *cmx_prime_map(struct dma_buf_attachment *attach,
				      enum dma_data_direction dir)
{
	struct cmx_bo *bo = to_cmx_bo(attach->dmabuf->priv);
	struct sg_table *sgt;
	long count;
	int err;

	count = cmx_prime_back(bo);
	if (count < 0)
		return ERR_PTR(count);
	sgt = kzalloc(sizeof(*sgt), GFP_KERNEL);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	err = sg_alloc_table(sgt, count, GFP_KERNEL);
	if (err)
		goto err_free_sgt;
	err = cmx_prime_fill(bo, sgt);
	if (err)
		goto err_free_table;
	err = dma_map_sgtable(attach->dev, sgt, dir, 0);
	if (err)
		goto err_free_table;
	return sgt;

err_free_table:
	sg_free_table(sgt);
err_free_sgt:
	kfree(sgt);
	return ERR_PTR(err);
}

static void cmx_prime_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			    enum dma_data_direction dir)
{
	dma_unmap_sgtable(attach->dev, sgt, dir, 0);
	sg_free_table(sgt);
	kfree(sgt);
}

static int cmx_prime_mmap(struct dma_buf *dma_buf, struct vm_area_struct *vma)
{
	struct cmx_bo *bo = to_cmx_bo(dma_buf->priv);

	vma->vm_pgoff += drm_vma_node_start(&bo->base.vma_node);
	return cmx_bo_mmap(bo, vma);
}

static int cmx_prime_fill_pages(struct cmx_bo *bo, struct page **pages, unsigned long count)
{
	struct cmx_piece piece;
	unsigned long index;
	int err;

	for (index = 0; index < count; index++) {
		err = cmx_bo_piece(bo, index, true, &piece);
		if (err)
			return err;
		pages[index] = piece.page + (index - piece.first);
	}
	return 0;
}

static int cmx_prime_vmap(struct dma_buf *dma_buf, struct iosys_map *map)
{
	struct cmx_bo *bo = to_cmx_bo(dma_buf->priv);
	unsigned long count = bo->base.size >> PAGE_SHIFT;
	struct page **pages;
	void *vaddr;
	int err;

	if (bo->flags & CMX_BO_NO_DATA)
		return -EOPNOTSUPP;
	if (bo->base.size > CMX_PRIME_MAX_MAP)
		return -E2BIG;
	pages = kvmalloc_array(count, sizeof(*pages), GFP_KERNEL);
	if (!pages)
		return -ENOMEM;
	err = cmx_prime_fill_pages(bo, pages, count);
	if (!err) {
		vaddr = vmap(pages, count, VM_MAP, PAGE_KERNEL);
		if (vaddr)
			iosys_map_set_vaddr(map, vaddr);
		else
			err = -ENOMEM;
	}
	kvfree(pages);
	return err;
}

static void cmx_prime_vunmap(struct dma_buf *dma_buf, struct iosys_map *map)
{
	vunmap(map->vaddr);
}

static const struct dma_buf_ops cmx_prime_ops = {
	.attach = cmx_prime_attach,
	.map_dma_buf = cmx_prime_map,
	.unmap_dma_buf = cmx_prime_unmap,
	.release = drm_gem_dmabuf_release,
	.mmap = cmx_prime_mmap,
	.vmap = cmx_prime_vmap,
	.vunmap = cmx_prime_vunmap,
};

struct dma_buf *cmx_bo_export(struct drm_gem_object *obj, int flags)
{
	struct dma_buf_export_info info = {
		.exp_name = KBUILD_MODNAME,
		.owner = THIS_MODULE,
		.ops = &cmx_prime_ops,
		.size = obj->size,
		.flags = flags,
		.priv = obj,
		.resv = obj->resv,
	};

	return drm_gem_dmabuf_export(obj->dev, &info);
}

struct drm_gem_object *cmx_bo_import(struct drm_device *drm, struct dma_buf *dma_buf)
{
	struct drm_gem_object *obj = dma_buf->priv;

	if (dma_buf->ops != &cmx_prime_ops || obj->dev != drm)
		return ERR_PTR(-EOPNOTSUPP);
	drm_gem_object_get(obj);
	return obj;
}
