// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_run.h"
#include "cmx_timeline_priv.h"

/* How often a RUN that found no memory is tried again, a millisecond apart. */
#define RUN_RETRIES	1000

struct run_state {
	struct cmx_ctx *ctx;
	const struct cmx_goal *goal;
	struct cmx_frame *frame;
	uint64_t deadline_ns;		/* 0: none */
	bool refused;			/* the outcomes were replaced once */
};

static uint64_t host_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* What is left of the timeout; never 0, which would stand for none. */
static uint64_t run_time_left(const struct run_state *state)
{
	uint64_t now;

	if (!state->deadline_ns)
		return 0;
	now = host_now_ns();
	return now < state->deadline_ns ? state->deadline_ns - now : 1;
}

static void run_fill(const struct run_state *state, struct drm_cmx_run *run)
{
	const struct cmx_goal *goal = state->goal;
	struct cmx_frame *frame = state->frame;
	bool helper = goal->flags & CMX_RUN_HELPER;

	*run = (struct drm_cmx_run){
		.timeline = goal->timeline->handle,
		.flags = goal->flags,
		.actor = helper ? 0 : cmx_actor_current(goal->timeline),
		.until = goal->until,
		.object = goal->object,
		.cond = goal->cond,
		.va = goal->va,
		.value = goal->value,
		.host_timeout_ns = run_time_left(state),
		.batch = frame->batch,
		.launches = { sizeof(*frame->launches), frame->max, (uintptr_t)frame->launches },
	};
	run->outcomes.stride = sizeof(*frame->outcomes);
	if (frame->batch) {
		run->outcomes.count = frame->count;
		run->outcomes.pointer = (uintptr_t)frame->outcomes;
	}
	/* Rather help those that have a batch than sleep until they bring it back. */
	if (cmx_lobby_busy(&state->ctx->lobby))
		run->flags |= CMX_RUN_NOBLOCK;
}

/*
 * Whatever made the module refuse outcomes, the launches must not be left without any: fail
 * them.
 */
static void run_refuse_outcomes(struct run_state *state)
{
	struct cmx_frame *frame = state->frame;

	for (uint32_t i = 0; i < frame->count; i++) {
		struct drm_cmx_outcome *outcome = &frame->outcomes[i];

		memset(outcome, 0, sizeof(*outcome));
		outcome->status = CMX_OUTCOME_FAILED;
		outcome->code = CMX_CODE_REFUSED;
		outcome->cost = frame->launches[i].cost;
		outcome->records.stride = sizeof(struct cmx_record);
	}
	state->refused = true;
}

/* One RUN. On success the frame's old batch is gone, and a new one may be in it. */
static int run_enter(struct run_state *state, struct drm_cmx_run *run)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct cmx_frame *frame = state->frame;
	int ret;

	for (int retry = 0; ; retry++) {
		run_fill(state, run);
		ret = cmx_ctx_ioctl(state->ctx, DRM_IOCTL_CMX_RUN, run, "RUN");
		if (ret != -ENOMEM || retry == RUN_RETRIES)
			break;
		nanosleep(&pause, NULL);
	}
	if (!ret) {
		frame->batch = run->status == CMX_RUN_BATCH ? run->batch : 0;
		frame->count = frame->batch ? run->launches.count : 0;
		state->refused = false;
	} else if (frame->batch && !state->refused && (ret == -EINVAL || ret == -EFAULT)) {
		run_refuse_outcomes(state);
		return run_enter(state, run);
	}
	return ret;
}

/* What a status means for the caller; 1: go on. */
static int run_result(struct run_state *state, const struct drm_cmx_run *run)
{
	const struct cmx_goal *goal = state->goal;

	switch (run->status) {
	case CMX_RUN_DONE:
		return 0;
	case CMX_RUN_BATCH:
		if (goal->flags & CMX_RUN_HELPER)
			cmx_lobby_fetched(&state->ctx->lobby, true);
		cmx_lobby_execute(&state->ctx->lobby, state->frame);
		return 1;
	case CMX_RUN_AGAIN:
		if (goal->flags & CMX_RUN_NOBLOCK)
			return -EAGAIN;
		cmx_lobby_help(&state->ctx->lobby);
		return 1;
	case CMX_RUN_STALL:
		if (goal->flags & CMX_RUN_HELPER)
			return -EAGAIN;
		return cmx_fail_stall(state->ctx, goal->timeline);
	case CMX_RUN_TIMEOUT:
		return cmx_fail(-ETIMEDOUT, "timeout_ns", goal->timeout_ns, 0,
				"not done after %llu ns of host time",
				(unsigned long long)goal->timeout_ns);
	case CMX_RUN_INTERRUPTED:
		return cmx_fail(-EINTR, NULL, 0, 0, "a signal came while waiting");
	}
	return cmx_fail(-EPROTO, "status", run->status, CMX_RUN_INTERRUPTED,
			"RUN returned the unknown status %u", run->status);
}

static int run_check(struct cmx_ctx *ctx)
{
	if (cmx_in_kernel())
		return cmx_fail(-EPERM, NULL, 0, 0, "an NPU kernel must not wait");
	return cmx_ctx_check(ctx);
}

int cmx_run(struct cmx_ctx *ctx, const struct cmx_goal *goal)
{
	struct run_state state = { .ctx = ctx, .goal = goal };
	struct drm_cmx_run run;
	int ret = run_check(ctx);

	if (ret)
		return ret;
	state.frame = cmx_frame_get(ctx, goal->timeline);
	if (!state.frame)
		return cmx_fail_call(-ENOMEM, "waiting");
	if (goal->timeout_ns)
		state.deadline_ns = host_now_ns() + goal->timeout_ns;
	do {
		ret = run_enter(&state, &run);
		if (!ret)
			ret = run_result(&state, &run);
	} while (ret > 0);
	cmx_frame_put(ctx, state.frame);
	return ret;
}
