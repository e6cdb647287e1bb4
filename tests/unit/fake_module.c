// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "cmx_queue_priv.h"
#include "fake_module.h"

struct fake_module fake_module;

static int fake_info(const struct drm_cmx_info *info)
{
	if (info->type != CMX_INFO_EXTACK) {
		errno = EINVAL;
		return -1;
	}
	memcpy((void *)(uintptr_t)info->pointer, &fake_module.extack, info->size);
	return 0;
}

/* Takes libdrm's place in the program. */
int drmIoctl(int fd, unsigned long request, void *arg)
{
	uint32_t nr = _IOC_NR(request) - DRM_COMMAND_BASE;

	(void)fd;
	__atomic_add_fetch(&fake_module.calls[nr % 64], 1, __ATOMIC_RELAXED);
	if (nr == DRM_CMX_INFO)
		return fake_info(arg);
	if (nr == DRM_CMX_RUN && fake_module.run)
		return fake_module.run(arg);
	if (nr == DRM_CMX_WAKE || (nr == DRM_CMX_DESTROY && fake_module.destroys))
		return 0;
	errno = fake_module.extack.error ? (int)fake_module.extack.error : ENODEV;
	return -1;
}

struct cmx_ctx *fake_ctx(void)
{
	struct cmx_ctx *ctx = calloc(1, sizeof(*ctx));
	struct cmx_timeline *timeline = calloc(1, sizeof(*timeline));

	ctx->fd = -1;
	ctx->alive = calloc(1, sizeof(*ctx->alive));
	*ctx->alive = 1;
	ctx->limits.max_batch = 64;
	ctx->limits.max_records = 1000;
	pthread_mutex_init(&ctx->lock, NULL);
	cmx_list_init(&ctx->queues);
	cmx_list_init(&ctx->mems);
	cmx_kernels_init(&ctx->kernels);
	cmx_frames_init(&ctx->frames);
	cmx_lobby_init(&ctx->lobby);
	timeline->ctx = ctx;
	timeline->id = 1;
	timeline->doorbells = calloc(CMX_DOORBELL_WORDS, sizeof(uint64_t));
	timeline->status = calloc(1, sizeof(*timeline->status));
	ctx->timeline = timeline;
	return ctx;
}

void fake_ctx_free(struct cmx_ctx *ctx)
{
	cmx_runner_stop(ctx);
	free(ctx->timeline->doorbells);
	free((void *)(uintptr_t)ctx->timeline->status);
	free(ctx->timeline);
	free(ctx->alive);
	cmx_lobby_fini(&ctx->lobby);
	cmx_frames_fini(&ctx->frames);
	cmx_kernels_fini(&ctx->kernels);
	free(ctx);
}

struct cmx_queue *fake_queue(struct cmx_ctx *ctx, uint32_t slots, uint32_t flags)
{
	struct cmx_queue_priv *priv = calloc(1, sizeof(*priv));
	struct cmx_queue *q = &priv->q;

	pthread_mutex_init(&priv->lock, NULL);
	q->producer = calloc(slots + 1, CMX_SLOT_SIZE);
	q->slots = (unsigned char *)q->producer + CMX_SLOT_SIZE;
	q->consumer = calloc(1, sizeof(*q->consumer));
	q->status = ctx->timeline->status;
	q->doorbell = &ctx->timeline->doorbells[1];
	q->doorbell_bit = 1ull << 5;
	q->alive = ctx->alive;
	q->mask = slots - 1;
	q->flags = flags;
	q->handle = 7;
	q->ctx = ctx;
	q->timeline = ctx->timeline;
	return q;
}

void fake_queue_free(struct cmx_queue *queue)
{
	pthread_mutex_destroy(&cmx_queue_priv(queue)->lock);
	free(queue->producer);
	free((void *)(uintptr_t)queue->consumer);
	free(cmx_queue_priv(queue));
}
