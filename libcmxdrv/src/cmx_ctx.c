// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xf86drm.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_reserve.h"

#define ALIVE_SIZE	4096

/* Memory without bytes gets device addresses that no process can have. */
#define DEVICE_VA_BASE	(1ull << 48)

int cmx_ctx_check(const struct cmx_ctx *ctx)
{
	if (cmx_ctx_alive(ctx))
		return 0;
	return cmx_fail(-EPERM, "ctx", (uint64_t)getpid(), 0,
			"the context belongs to another process: it was opened before fork()");
}

int cmx_ctx_explain(const struct cmx_ctx *ctx, uint32_t nr, int code, const char *what)
{
	struct drm_cmx_info_extack extack = {};
	struct drm_cmx_info info = {
		.type = CMX_INFO_EXTACK,
		.size = sizeof(extack),
		.pointer = (uintptr_t)&extack,
	};

	if (!drmIoctl(ctx->fd, DRM_IOCTL_CMX_INFO, &info) && extack.nr == nr &&
	    extack.error == (uint32_t)-code)
		return cmx_fail_extack(&extack);
	return cmx_fail_call(code, what);
}

int cmx_ctx_ioctl(struct cmx_ctx *ctx, unsigned long request, void *arg, const char *what)
{
	int ret = cmx_ctx_check(ctx);

	if (ret)
		return ret;
	if (!drmIoctl(ctx->fd, request, arg))
		return 0;
	return cmx_ctx_explain(ctx, _IOC_NR(request) - DRM_COMMAND_BASE, -errno, what);
}

int cmx_info_query(struct cmx_ctx *ctx, uint32_t type, uint32_t index, void *info, size_t size)
{
	struct drm_cmx_info query = {
		.type = type,
		.index = index,
		.size = (uint32_t)size,
		.pointer = (uintptr_t)info,
	};

	memset(info, 0, size);
	return cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_INFO, &query, "INFO");
}

int cmx_ctx_map_ring(struct cmx_ctx *ctx, uint64_t offset, uint64_t size, bool writable,
		     const char *what, void **addr)
{
	int prot = PROT_READ | (writable ? PROT_WRITE : 0);

	*addr = mmap(NULL, size, prot, MAP_SHARED, ctx->fd, (off_t)offset);
	if (*addr != MAP_FAILED)
		return 0;
	*addr = NULL;
	return cmx_ctx_explain(ctx, CMX_CALL_OTHER, -errno, what);
}

void cmx_ctx_unmap_ring(const void *addr, uint64_t size)
{
	if (addr)
		munmap((void *)(uintptr_t)addr, size);
}

void cmx_ctx_link(struct cmx_ctx *ctx, struct cmx_list *list, struct cmx_list *node)
{
	pthread_mutex_lock(&ctx->lock);
	cmx_list_add(list, node);
	pthread_mutex_unlock(&ctx->lock);
}

void cmx_ctx_unlink(struct cmx_ctx *ctx, struct cmx_list *node)
{
	pthread_mutex_lock(&ctx->lock);
	cmx_list_del(node);
	pthread_mutex_unlock(&ctx->lock);
}

int cmx_ctx_destroy_handle(struct cmx_ctx *ctx, uint32_t type, uint32_t handle)
{
	struct drm_cmx_destroy destroy = { .type = type, .handle = handle };

	return cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_DESTROY, &destroy, "DESTROY");
}

int cmx_fd(const struct cmx_ctx *ctx)
{
	return ctx->fd;
}

const char *cmx_path(const struct cmx_ctx *ctx)
{
	return ctx->path;
}

const struct drm_cmx_info_device *cmx_device(const struct cmx_ctx *ctx)
{
	return &ctx->device;
}

const struct drm_cmx_info_limits *cmx_limits(const struct cmx_ctx *ctx)
{
	return &ctx->limits;
}

int cmx_events(struct cmx_ctx *ctx, struct cmx_event *events, uint32_t max, uint64_t *lost)
{
	struct drm_cmx_events take = {
		.events = { sizeof(*events), max, (uintptr_t)events },
	};
	int ret = cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_EVENTS, &take, "EVENTS");

	if (ret)
		return ret;
	if (lost)
		*lost = take.lost;
	return (int)take.events.count;
}

static int ctx_choose_path(struct cmx_ctx *ctx, const char *path)
{
	struct cmx_device_node *list;
	int count;

	if (!path)
		path = secure_getenv("CMX_DEVICE");
	if (path) {
		if ((size_t)snprintf(ctx->path, sizeof(ctx->path), "%s", path) >=
		    sizeof(ctx->path))
			return cmx_fail(-ENAMETOOLONG, "path", strlen(path),
					sizeof(ctx->path) - 1, "the device's path is too long");
		return 0;
	}
	count = cmx_device_list(&list);
	if (count < 0)
		return count;
	if (count)
		snprintf(ctx->path, sizeof(ctx->path), "%s", list[0].path);
	cmx_device_list_free(list);
	if (!count)
		return cmx_fail(-ENODEV, "path", 0, 0,
				"there is no CMX device: is the module cmx loaded?");
	return 0;
}

static int ctx_check_driver(struct cmx_ctx *ctx)
{
	drmVersionPtr version = drmGetVersion(ctx->fd);
	bool ours = version && !strcmp(version->name, "cmx");

	drmFreeVersion(version);
	if (!ours)
		return cmx_fail(-ENODEV, "path", 0, 0, "%s is not a CMX device", ctx->path);
	return 0;
}

static int ctx_open_fd(struct cmx_ctx *ctx, const char *path)
{
	int ret = ctx_choose_path(ctx, path);

	if (ret)
		return ret;
	ctx->fd = open(ctx->path, O_RDWR | O_CLOEXEC);
	if (ctx->fd < 0)
		return cmx_fail_call(-errno, ctx->path);
	ret = ctx_check_driver(ctx);
	if (ret)
		goto err_close;
	return 0;

err_close:
	close(ctx->fd);
	return ret;
}

static int ctx_read_device(struct cmx_ctx *ctx)
{
	int ret = cmx_info_query(ctx, CMX_INFO_DEVICE, 0, &ctx->device, sizeof(ctx->device));

	if (ret)
		return ret;
	if (ctx->device.abi_major != CMX_ABI_MAJOR)
		return cmx_fail(-EPROTO, "abi_major", ctx->device.abi_major, CMX_ABI_MAJOR,
				"%s speaks version %u of the interface, this library %d",
				ctx->path, ctx->device.abi_major, CMX_ABI_MAJOR);
	return cmx_info_query(ctx, CMX_INFO_LIMITS, 0, &ctx->limits, sizeof(ctx->limits));
}

static int ctx_make_alive(struct cmx_ctx *ctx)
{
	void *page = mmap(NULL, ALIVE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (page == MAP_FAILED)
		return cmx_fail_call(-errno, "cmx_open");
	if (madvise(page, ALIVE_SIZE, MADV_WIPEONFORK)) {
		int ret = cmx_fail_call(-errno, "MADV_WIPEONFORK");

		munmap(page, ALIVE_SIZE);
		return ret;
	}
	ctx->alive = page;
	*ctx->alive = 1;
	return 0;
}

static int ctx_make_arenas(struct cmx_ctx *ctx)
{
	uint64_t device_end = 1ull << (ctx->limits.va_bits - 1);
	int ret = cmx_reserve_take(&ctx->reserve, &ctx->reserve_size);

	if (ret)
		return cmx_fail_call(ret, "reserving addresses");
	ret = cmx_va_init(&ctx->host_va, cmx_va(ctx->reserve), ctx->reserve_size);
	if (ret)
		goto err_give_reserve;
	ret = cmx_va_init(&ctx->device_va, DEVICE_VA_BASE, device_end - DEVICE_VA_BASE);
	if (ret)
		goto err_fini_host;
	return 0;

err_fini_host:
	cmx_va_fini(&ctx->host_va);
err_give_reserve:
	cmx_reserve_give(ctx->reserve, ctx->reserve_size);
	return cmx_fail_call(ret, "cmx_open");
}

static void ctx_free_arenas(struct cmx_ctx *ctx)
{
	cmx_va_fini(&ctx->device_va);
	cmx_va_fini(&ctx->host_va);
	cmx_reserve_give(ctx->reserve, ctx->reserve_size);
}

static struct cmx_ctx *ctx_new(void)
{
	struct cmx_ctx *ctx = calloc(1, sizeof(*ctx));

	if (!ctx)
		return NULL;
	pthread_mutex_init(&ctx->lock, NULL);
	cmx_list_init(&ctx->bos);
	cmx_list_init(&ctx->mems);
	cmx_list_init(&ctx->timelines);
	cmx_list_init(&ctx->cqs);
	cmx_list_init(&ctx->rqs);
	cmx_list_init(&ctx->queues);
	cmx_kernels_init(&ctx->kernels);
	cmx_frames_init(&ctx->frames);
	cmx_lobby_init(&ctx->lobby);
	return ctx;
}

static void ctx_free(struct cmx_ctx *ctx)
{
	cmx_lobby_fini(&ctx->lobby);
	cmx_frames_fini(&ctx->frames);
	cmx_kernels_fini(&ctx->kernels);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx);
}

int cmx_open(const char *path, uint32_t flags, struct cmx_ctx **out)
{
	struct cmx_ctx *ctx;
	int ret;

	if (flags)
		return cmx_fail(-EINVAL, "flags", flags, 0, "cmx_open: unknown flags %#x", flags);
	ctx = ctx_new();
	if (!ctx)
		return cmx_fail_call(-ENOMEM, "cmx_open");
	ret = ctx_make_alive(ctx);
	if (ret)
		goto err_free;
	ret = ctx_open_fd(ctx, path);
	if (ret)
		goto err_unmap_alive;
	ret = ctx_read_device(ctx);
	if (ret)
		goto err_close_fd;
	ret = ctx_make_arenas(ctx);
	if (ret)
		goto err_close_fd;
	ret = cmx_timeline_open_default(ctx);
	if (ret)
		goto err_free_arenas;
	*out = ctx;
	return 0;

err_free_arenas:
	ctx_free_arenas(ctx);
err_close_fd:
	close(ctx->fd);
err_unmap_alive:
	munmap(ctx->alive, ALIVE_SIZE);
err_free:
	ctx_free(ctx);
	return ret;
}

void cmx_close(struct cmx_ctx *ctx)
{
	if (!ctx)
		return;
	if (!cmx_ctx_alive(ctx)) {
		/*
		 * A child has none of the mappings, may have its own in their places, and
		 * has locks as other threads of the parent held them: leave all that.
		 */
		close(ctx->fd);
		return;
	}
	cmx_runner_stop(ctx);
	cmx_queues_close(ctx);
	cmx_rqs_close(ctx);
	cmx_cqs_close(ctx);
	cmx_timelines_close(ctx);
	cmx_mems_close(ctx);
	ctx_free_arenas(ctx);
	close(ctx->fd);
	munmap(ctx->alive, ALIVE_SIZE);
	ctx_free(ctx);
}
