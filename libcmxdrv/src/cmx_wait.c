// SPDX-License-Identifier: MIT
#include <errno.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_run.h"
#include "cmx_timeline_priv.h"

static int wait_run(struct cmx_ctx *ctx, struct cmx_timeline *timeline, struct cmx_goal *goal,
		    const struct cmx_wait_opts *opts)
{
	goal->timeline = timeline;
	if (opts) {
		if (opts->flags || opts->pad)
			return cmx_fail(-EINVAL, "flags", opts->flags, 0,
					"wait: unknown flags %#x", opts->flags);
		if (opts->timeline)
			goal->timeline = opts->timeline;
		goal->timeout_ns = opts->timeout_ns;
	}
	return cmx_run(ctx, goal);
}

int cmx_wait_cq(struct cmx_cq *cq, uint32_t index, const struct cmx_wait_opts *opts)
{
	struct cmx_goal goal = {
		.until = CMX_UNTIL_CQ,
		.object = cq->handle,
		.value = index,
	};
	int ret = cmx_ctx_check(cq->ctx);

	if (ret)
		return ret;
	if ((int32_t)(cmx_cq_tail(cq) - index) >= 0)
		return 0;
	return wait_run(cq->ctx, cq->timeline, &goal, opts);
}

int cmx_wait_completions(struct cmx_cq *cq, uint32_t n, const struct cmx_wait_opts *opts)
{
	if (n > cq->mask + 1)
		return cmx_fail(-EINVAL, "n", n, cq->mask + 1,
				"%u completions do not fit into a ring of %u", n, cq->mask + 1);
	return cmx_wait_cq(cq, cq->head + n, opts);
}

int cmx_wait_memory(struct cmx_ctx *ctx, uint64_t va, uint32_t cond, uint64_t value,
		    const struct cmx_wait_opts *opts)
{
	struct cmx_goal goal = {
		.until = CMX_UNTIL_MEMORY,
		.cond = cond,
		.va = va,
		.value = value,
	};

	return wait_run(ctx, ctx->timeline, &goal, opts);
}

int cmx_wait_time(struct cmx_ctx *ctx, uint64_t time_ps, const struct cmx_wait_opts *opts)
{
	struct cmx_goal goal = { .until = CMX_UNTIL_TIME, .value = time_ps };

	return wait_run(ctx, ctx->timeline, &goal, opts);
}

int cmx_wait_idle(struct cmx_ctx *ctx, const struct cmx_wait_opts *opts)
{
	struct cmx_goal goal = { .until = CMX_UNTIL_IDLE };

	return wait_run(ctx, ctx->timeline, &goal, opts);
}

int cmx_wait_progress(struct cmx_ctx *ctx, const struct cmx_wait_opts *opts)
{
	struct cmx_goal goal = { .until = CMX_UNTIL_PROGRESS };

	return wait_run(ctx, ctx->timeline, &goal, opts);
}

int cmx_signal(struct cmx_timeline *timeline, uint64_t va, uint32_t op, uint64_t value,
	       uint64_t *old)
{
	struct drm_cmx_signal signal = {
		.timeline = timeline->handle,
		.op = op,
		.va = va,
		.value = value,
	};
	int ret = cmx_ctx_ioctl(timeline->ctx, DRM_IOCTL_CMX_SIGNAL, &signal, "SIGNAL");

	if (!ret && old)
		*old = signal.old;
	return ret;
}
