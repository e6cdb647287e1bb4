// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_reserve.h"

#define HUGE_ALIGN	(2ull << 20)
#define MEM_FLAGS	(CMX_MEM_NO_DATA | CMX_MEM_DEVICE_READ)

/*
 * A GEM handle. Importing what the file has already gives the same handle again, so
 * several cmx_mem may share one; the last closes it. Under the context's lock.
 */
struct cmx_bo {
	struct cmx_list node;
	uint32_t handle;
	uint32_t refs;
	uint32_t entity;
	bool no_data;
	uint64_t size;
	uint64_t mmap_offset;
};

struct cmx_mem {
	struct cmx_list node;
	struct cmx_ctx *ctx;
	struct cmx_bo *bo;
	uint64_t va;
	/* Addresses taken: the memory and a page behind it that nothing may touch. */
	uint64_t span;
	void *ptr;
};

/* Caller holds the lock. */
static void bo_put(struct cmx_ctx *ctx, struct cmx_bo *bo)
{
	if (--bo->refs)
		return;
	cmx_list_del(&bo->node);
	drmCloseBufferHandle(ctx->fd, bo->handle);
	free(bo);
}

static void mem_put_bo(struct cmx_mem *mem)
{
	pthread_mutex_lock(&mem->ctx->lock);
	bo_put(mem->ctx, mem->bo);
	pthread_mutex_unlock(&mem->ctx->lock);
}

static struct cmx_va *mem_arena(struct cmx_mem *mem)
{
	return mem->bo->no_data ? &mem->ctx->device_va : &mem->ctx->host_va;
}

static int mem_take_va(struct cmx_mem *mem)
{
	uint64_t page = mem->ctx->device.page_size;
	uint64_t align = mem->bo->size >= HUGE_ALIGN ? HUGE_ALIGN : page;
	int ret;

	mem->span = mem->bo->size + page;
	ret = cmx_va_take(mem_arena(mem), mem->span, align, &mem->va);
	if (ret == -ENOSPC)
		return cmx_fail(ret, "size", mem->bo->size, mem->ctx->reserve_size,
				"no addresses left for %llu bytes in the reserved %llu",
				(unsigned long long)mem->bo->size,
				(unsigned long long)mem->ctx->reserve_size);
	return ret ? cmx_fail_call(ret, "cmx_mem_alloc") : 0;
}

static int mem_map_host(struct cmx_mem *mem)
{
	if (mem->bo->no_data)
		return 0;
	mem->ptr = mmap((void *)(uintptr_t)mem->va, mem->bo->size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_FIXED, mem->ctx->fd, (off_t)mem->bo->mmap_offset);
	if (mem->ptr != MAP_FAILED)
		return 0;
	mem->ptr = NULL;
	return cmx_ctx_explain(mem->ctx, CMX_CALL_OTHER, -errno, "mapping device memory");
}

static int mem_map_device(struct cmx_mem *mem, uint32_t flags)
{
	struct drm_cmx_map map = {
		.handle = mem->bo->handle,
		.flags = CMX_MAP_READ,
		.va = mem->va,
		.size = mem->bo->size,
	};

	if (!(flags & CMX_MEM_DEVICE_READ))
		map.flags |= CMX_MAP_WRITE;
	return cmx_ctx_ioctl(mem->ctx, DRM_IOCTL_CMX_MAP, &map, "MAP");
}

/* Map a memory that has its BO; on failure the BO stays the caller's. */
static int mem_map(struct cmx_mem *mem, uint32_t flags)
{
	int ret = mem_take_va(mem);

	if (ret)
		return ret;
	ret = mem_map_host(mem);
	if (ret)
		goto err_give_va;
	ret = mem_map_device(mem, flags);
	if (ret)
		goto err_unmap_host;
	cmx_ctx_link(mem->ctx, &mem->ctx->mems, &mem->node);
	return 0;

err_unmap_host:
	if (mem->ptr)
		cmx_reserve_restore(mem->ptr, mem->bo->size);
err_give_va:
	cmx_va_give(mem_arena(mem), mem->va, mem->span);
	return ret;
}

static int bo_create(struct cmx_ctx *ctx, uint32_t entity, uint64_t size, uint32_t flags,
		     struct cmx_bo *bo)
{
	struct drm_cmx_bo_create create = {
		.size = size,
		.entity = entity,
		.flags = flags & CMX_MEM_NO_DATA ? CMX_BO_NO_DATA : 0,
	};
	int ret = cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_BO_CREATE, &create, "BO_CREATE");

	if (ret == -ENOSPC)
		return cmx_fail(ret, "size", size, create.free,
				"%llu bytes are more than the %llu that entity %u has left",
				(unsigned long long)size, (unsigned long long)create.free, entity);
	if (ret)
		return ret;
	bo->handle = create.handle;
	bo->refs = 1;
	bo->entity = entity;
	bo->no_data = flags & CMX_MEM_NO_DATA;
	bo->size = size;
	bo->mmap_offset = create.mmap_offset;
	cmx_ctx_link(ctx, &ctx->bos, &bo->node);
	return 0;
}

static int mem_check(struct cmx_ctx *ctx, uint64_t *size, uint32_t flags, uint32_t known)
{
	uint64_t page = ctx->device.page_size;

	if (flags & ~known)
		return cmx_fail(-EINVAL, "flags", flags, known, "memory: unknown flags %#x", flags);
	if (!size)
		return 0;
	if (!*size || *size > ctx->limits.max_bo_size)
		return cmx_fail(-EINVAL, "size", *size, ctx->limits.max_bo_size,
				"size %llu is not between 1 and %llu", (unsigned long long)*size,
				(unsigned long long)ctx->limits.max_bo_size);
	*size = (*size + page - 1) & ~(page - 1);
	return 0;
}

int cmx_mem_alloc(struct cmx_ctx *ctx, uint32_t entity, uint64_t size, uint32_t flags,
		  struct cmx_mem **out)
{
	struct cmx_mem *mem;
	int ret = mem_check(ctx, &size, flags, MEM_FLAGS);

	if (ret)
		return ret;
	mem = calloc(1, sizeof(*mem));
	if (!mem)
		return cmx_fail_call(-ENOMEM, "cmx_mem_alloc");
	mem->ctx = ctx;
	mem->bo = calloc(1, sizeof(*mem->bo));
	if (!mem->bo) {
		ret = cmx_fail_call(-ENOMEM, "cmx_mem_alloc");
		goto err_free_mem;
	}
	ret = bo_create(ctx, entity, size, flags, mem->bo);
	if (ret)
		goto err_free_bo;
	ret = mem_map(mem, flags);
	if (ret)
		goto err_put_bo;
	*out = mem;
	return 0;

err_put_bo:
	mem_put_bo(mem);
	free(mem);
	return ret;
err_free_bo:
	free(mem->bo);
err_free_mem:
	free(mem);
	return ret;
}

/* Caller holds the lock. */
static struct cmx_bo *bo_find(struct cmx_ctx *ctx, uint32_t handle)
{
	struct cmx_list *pos;

	cmx_list_for(pos, &ctx->bos) {
		struct cmx_bo *bo = cmx_container(pos, struct cmx_bo, node);

		if (bo->handle == handle)
			return bo;
	}
	return NULL;
}

/* A BO for a handle that is new in this file. Caller holds the lock. */
static int bo_adopt(struct cmx_ctx *ctx, uint32_t handle, struct cmx_bo **out)
{
	struct drm_cmx_bo_query query = { .handle = handle };
	struct cmx_bo *bo;
	int ret = cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_BO_QUERY, &query, "BO_QUERY");

	if (ret)
		return ret;
	bo = calloc(1, sizeof(*bo));
	if (!bo)
		return cmx_fail_call(-ENOMEM, "cmx_mem_import");
	bo->handle = handle;
	bo->refs = 1;
	bo->entity = query.entity;
	bo->no_data = query.flags & CMX_BO_NO_DATA;
	bo->size = query.size;
	bo->mmap_offset = query.mmap_offset;
	cmx_list_add(&ctx->bos, &bo->node);
	*out = bo;
	return 0;
}

/* Caller holds the lock: no other thread may close the handle meanwhile. */
static int bo_import(struct cmx_ctx *ctx, int fd, struct cmx_bo **bo)
{
	uint32_t handle;
	int ret;

	if (drmPrimeFDToHandle(ctx->fd, fd, &handle))
		return cmx_ctx_explain(ctx, CMX_CALL_OTHER, -errno,
				       "importing device memory");
	*bo = bo_find(ctx, handle);
	if (*bo) {
		(*bo)->refs++;
		return 0;
	}
	ret = bo_adopt(ctx, handle, bo);
	if (ret)
		drmCloseBufferHandle(ctx->fd, handle);
	return ret;
}

int cmx_mem_import(struct cmx_ctx *ctx, int fd, uint32_t flags, struct cmx_mem **out)
{
	struct cmx_mem *mem;
	int ret = mem_check(ctx, NULL, flags, CMX_MEM_DEVICE_READ);

	if (!ret)
		ret = cmx_ctx_check(ctx);
	if (ret)
		return ret;
	mem = calloc(1, sizeof(*mem));
	if (!mem)
		return cmx_fail_call(-ENOMEM, "cmx_mem_import");
	mem->ctx = ctx;
	pthread_mutex_lock(&ctx->lock);
	ret = bo_import(ctx, fd, &mem->bo);
	pthread_mutex_unlock(&ctx->lock);
	if (ret)
		goto err_free_mem;
	ret = mem_map(mem, flags);
	if (ret)
		goto err_put_bo;
	*out = mem;
	return 0;

err_put_bo:
	mem_put_bo(mem);
err_free_mem:
	free(mem);
	return ret;
}

int cmx_mem_export(struct cmx_mem *mem, int *fd)
{
	int ret = cmx_ctx_check(mem->ctx);

	if (ret)
		return ret;
	if (drmPrimeHandleToFD(mem->ctx->fd, mem->bo->handle, DRM_CLOEXEC | DRM_RDWR, fd))
		return cmx_ctx_explain(mem->ctx, CMX_CALL_OTHER, -errno,
				       "exporting device memory");
	return 0;
}

void cmx_mem_free(struct cmx_mem *mem)
{
	struct drm_cmx_unmap unmap;

	if (!mem || !cmx_ctx_alive(mem->ctx))
		return;
	unmap = (struct drm_cmx_unmap){ .va = mem->va, .size = mem->bo->size };
	cmx_ctx_unlink(mem->ctx, &mem->node);
	drmIoctl(mem->ctx->fd, DRM_IOCTL_CMX_UNMAP, &unmap);
	if (mem->ptr)
		cmx_reserve_restore(mem->ptr, mem->bo->size);
	cmx_va_give(mem_arena(mem), mem->va, mem->span);
	mem_put_bo(mem);
	free(mem);
}

void cmx_mems_close(struct cmx_ctx *ctx)
{
	while (!cmx_list_empty(&ctx->mems))
		cmx_mem_free(cmx_container(ctx->mems.next, struct cmx_mem, node));
}

bool cmx_mem_peek(struct cmx_ctx *ctx, uint64_t va, uint64_t *value)
{
	struct cmx_list *pos;
	bool found = false;

	pthread_mutex_lock(&ctx->lock);
	cmx_list_for(pos, &ctx->mems) {
		struct cmx_mem *mem = cmx_container(pos, struct cmx_mem, node);

		if (!mem->ptr || va < mem->va || va - mem->va > mem->bo->size - sizeof(*value))
			continue;
		*value = __atomic_load_n((uint64_t *)(uintptr_t)(va & ~7ull), __ATOMIC_RELAXED);
		found = true;
		break;
	}
	pthread_mutex_unlock(&ctx->lock);
	return found;
}

void *cmx_mem_ptr(const struct cmx_mem *mem)
{
	return mem->ptr;
}

uint64_t cmx_mem_va(const struct cmx_mem *mem)
{
	return mem->va;
}

uint64_t cmx_mem_size(const struct cmx_mem *mem)
{
	return mem->bo->size;
}

uint32_t cmx_mem_entity(const struct cmx_mem *mem)
{
	return mem->bo->entity;
}

uint32_t cmx_mem_handle(const struct cmx_mem *mem)
{
	return mem->bo->handle;
}

int cmx_mem_resident(const struct cmx_mem *mem, uint64_t *bytes)
{
	struct drm_cmx_bo_query query = { .handle = mem->bo->handle };
	int ret = cmx_ctx_ioctl(mem->ctx, DRM_IOCTL_CMX_BO_QUERY, &query, "BO_QUERY");

	if (ret)
		return ret;
	*bytes = query.resident;
	return 0;
}
