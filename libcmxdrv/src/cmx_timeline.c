// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_timeline_priv.h"

#define DOORBELL_SIZE	(CMX_DOORBELL_WORDS * sizeof(uint64_t))

static uint64_t last_id;

static int timeline_map(struct cmx_timeline *timeline)
{
	struct cmx_ctx *ctx = timeline->ctx;
	struct drm_cmx_timeline_query query = { .handle = timeline->handle };
	void *doorbells, *status;
	int ret;

	ret = cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_TIMELINE_QUERY, &query, "TIMELINE_QUERY");
	if (ret)
		return ret;
	ret = cmx_ctx_map_ring(ctx, query.doorbell_offset, DOORBELL_SIZE, true,
			       "mapping doorbells", &doorbells);
	if (ret)
		return ret;
	ret = cmx_ctx_map_ring(ctx, query.status_offset, ctx->device.page_size, false,
			       "mapping a timeline's status", &status);
	if (ret)
		goto err_unmap_doorbells;
	timeline->doorbells = doorbells;
	timeline->status = status;
	return 0;

err_unmap_doorbells:
	cmx_ctx_unmap_ring(doorbells, DOORBELL_SIZE);
	return ret;
}

static void timeline_free(struct cmx_timeline *timeline)
{
	struct cmx_ctx *ctx = timeline->ctx;

	cmx_ctx_unmap_ring(timeline->doorbells, DOORBELL_SIZE);
	cmx_ctx_unmap_ring(timeline->status, ctx->device.page_size);
	free(timeline);
}

/* A timeline for a handle, which stays the caller's on failure. */
static int timeline_new(struct cmx_ctx *ctx, uint32_t handle, struct cmx_timeline **out)
{
	struct cmx_timeline *timeline = calloc(1, sizeof(*timeline));
	int ret;

	if (!timeline)
		return cmx_fail_call(-ENOMEM, "timeline");
	timeline->ctx = ctx;
	timeline->handle = handle;
	timeline->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	ret = timeline_map(timeline);
	if (ret) {
		free(timeline);
		return ret;
	}
	cmx_ctx_link(ctx, &ctx->timelines, &timeline->node);
	*out = timeline;
	return 0;
}

int cmx_timeline_open_default(struct cmx_ctx *ctx)
{
	return timeline_new(ctx, 0, &ctx->timeline);
}

struct cmx_timeline *cmx_timeline_default(struct cmx_ctx *ctx)
{
	return ctx->timeline;
}

/* Wrap a handle just made; destroys it on failure. */
static int timeline_wrap(struct cmx_ctx *ctx, uint32_t handle, struct cmx_timeline **timeline)
{
	int ret = timeline_new(ctx, handle, timeline);
	struct cmx_error saved;

	if (!ret)
		return 0;
	saved = *cmx_error_slot();
	cmx_ctx_destroy_handle(ctx, CMX_OBJECT_TIMELINE, handle);
	*cmx_error_slot() = saved;
	return ret;
}

int cmx_timeline_create(struct cmx_ctx *ctx, uint32_t flags, struct cmx_timeline **timeline)
{
	struct drm_cmx_timeline_create create = { .flags = flags };
	int ret = cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_TIMELINE_CREATE, &create, "TIMELINE_CREATE");

	return ret ? ret : timeline_wrap(ctx, create.handle, timeline);
}

int cmx_timeline_import(struct cmx_ctx *ctx, int fd, struct cmx_timeline **timeline)
{
	struct drm_cmx_timeline_import import = { .fd = fd };
	int ret = cmx_ctx_ioctl(ctx, DRM_IOCTL_CMX_TIMELINE_IMPORT, &import, "TIMELINE_IMPORT");

	return ret ? ret : timeline_wrap(ctx, import.handle, timeline);
}

int cmx_timeline_export(struct cmx_timeline *timeline, int *fd)
{
	struct drm_cmx_timeline_export export = { .handle = timeline->handle };
	int ret = cmx_ctx_ioctl(timeline->ctx, DRM_IOCTL_CMX_TIMELINE_EXPORT, &export,
				"TIMELINE_EXPORT");

	if (!ret)
		*fd = export.fd;
	return ret;
}

int cmx_timeline_destroy(struct cmx_timeline *timeline)
{
	int ret;

	if (!timeline)
		return 0;
	if (!timeline->handle)
		return cmx_fail(-EINVAL, "timeline", 0, 0,
				"the default timeline goes with its context");
	if (cmx_in_kernel())
		return cmx_fail(-EPERM, "timeline", timeline->handle, 0,
				"an NPU kernel must not wait for those that help the timeline");
	ret = cmx_ctx_destroy_handle(timeline->ctx, CMX_OBJECT_TIMELINE, timeline->handle);
	if (ret)
		return ret;
	/* Nobody is in work on it, so none can join; those that have find no such handle. */
	cmx_lobby_drain(&timeline->ctx->lobby, timeline);
	cmx_frames_drop(timeline->ctx, timeline);
	cmx_actor_bind(timeline, 0);
	cmx_ctx_unlink(timeline->ctx, &timeline->node);
	timeline_free(timeline);
	return 0;
}

/* The handles go with the file. */
void cmx_timelines_close(struct cmx_ctx *ctx)
{
	while (!cmx_list_empty(&ctx->timelines)) {
		struct cmx_timeline *timeline =
			cmx_container(ctx->timelines.next, struct cmx_timeline, node);

		cmx_list_del(&timeline->node);
		timeline_free(timeline);
	}
}

int cmx_timeline_query(struct cmx_timeline *timeline, struct drm_cmx_timeline_query *query,
		       size_t size)
{
	struct drm_cmx_timeline_query own = { .handle = timeline->handle };
	int ret = cmx_ctx_ioctl(timeline->ctx, DRM_IOCTL_CMX_TIMELINE_QUERY, &own,
				"TIMELINE_QUERY");

	if (ret)
		return ret;
	memset(query, 0, size);
	memcpy(query, &own, size < sizeof(own) ? size : sizeof(own));
	return 0;
}

uint64_t cmx_timeline_now(const struct cmx_timeline *timeline)
{
	if (!cmx_ctx_alive(timeline->ctx))
		return 0;
	return __atomic_load_n(&timeline->status->now_ps, __ATOMIC_ACQUIRE);
}

uint32_t cmx_timeline_handle(const struct cmx_timeline *timeline)
{
	return timeline->handle;
}

int cmx_timeline_wake(struct cmx_timeline *timeline)
{
	struct drm_cmx_wake wake = { .timeline = timeline->handle };

	return cmx_ctx_ioctl(timeline->ctx, DRM_IOCTL_CMX_WAKE, &wake, "WAKE");
}
