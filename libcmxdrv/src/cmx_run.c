// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include <time.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_run.h"
#include "cmx_timeline_priv.h"

/* Up to here a batch is short, and the next may be larger although there is a deadline. */
#define RUN_SHORT_NS	1000000

/* How often a RUN that found no memory is tried again, a millisecond apart. */
#define RUN_RETRIES	1000

struct run_state {
	struct cmx_ctx *ctx;
	const struct cmx_goal *goal;
	struct cmx_frame *frame;
	uint64_t deadline_ns;		/* 0: none */
	uint32_t room;			/* launches to ask for while there is a deadline */
	bool worked;			/* a batch was carried out */
	bool refused;			/* the outcomes were replaced once */
};

static uint64_t host_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The end of time, where the timeout is past it. */
static uint64_t run_deadline(uint64_t timeout_ns)
{
	uint64_t now = host_now_ns();

	return timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX;
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

/*
 * Launches to ask for: with a deadline not many at a time, and none behind it - but for the
 * first, so that waits with timeouts however short get somewhere.
 */
static uint32_t run_room(const struct run_state *state)
{
	uint32_t max = state->frame->max;

	if (!state->deadline_ns)
		return max;
	if (state->worked && host_now_ns() >= state->deadline_ns)
		return 0;
	return state->room < max ? state->room : max;
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
	run->launches.count = run_room(state);
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

/* Whether it was the outcomes that a RUN was refused for; what is not explained may be them. */
static bool run_outcomes_refused(int ret)
{
	static const char * const fields[] = {
		"", "outcomes", "status", "code", "op_class", "efficiency", "pad", "records",
	};

	if (ret == -EFAULT)
		return true;
	for (size_t i = 0; ret == -EINVAL && i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!strcmp(cmx_error_slot()->field, fields[i]))
			return true;
	}
	return false;
}

/* Make a refused RUN one that the module can take; false: it is the caller's to be told. */
static bool run_mend(struct run_state *state, int ret)
{
	struct cmx_frame *frame = state->frame;

	if (!frame->batch)
		return false;
	if (ret == -EINVAL && !strcmp(cmx_error_slot()->field, "batch")) {
		/* It is the thread's no more: what became of the launches is known. */
		frame->batch = 0;
		frame->count = 0;
		return true;
	}
	if (state->refused || !run_outcomes_refused(ret))
		return false;
	run_refuse_outcomes(state);
	return true;
}

/* One RUN. On success the frame's old batch is gone, and a new one may be in it. */
static int run_enter(struct run_state *state, struct drm_cmx_run *run)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	struct cmx_frame *frame = state->frame;
	int ret;

	for (int retry = 0; ; ) {
		run_fill(state, run);
		ret = cmx_ctx_ioctl(state->ctx, DRM_IOCTL_CMX_RUN, run, "RUN");
		if (ret && run_mend(state, ret))
			continue;
		if (ret != -ENOMEM || retry++ == RUN_RETRIES)
			break;
		nanosleep(&pause, NULL);
	}
	if (!ret) {
		frame->batch = run->status == CMX_RUN_BATCH ? run->batch : 0;
		frame->count = frame->batch ? run->launches.count : 0;
		state->refused = false;
	}
	return ret;
}

/* A batch is always finished: one must not be longer than the wait may last. */
static void run_execute(struct run_state *state)
{
	uint64_t start = state->deadline_ns ? host_now_ns() : 0;

	cmx_lobby_execute(&state->ctx->lobby, state->frame);
	state->worked = true;
	if (!state->deadline_ns)
		return;
	if (host_now_ns() - start > RUN_SHORT_NS)
		state->room = 1;
	else if (state->room < state->frame->max)
		state->room *= 2;
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
		run_execute(state);
		return 1;
	case CMX_RUN_AGAIN:
		if (goal->flags & CMX_RUN_NOBLOCK)
			return -EAGAIN;
		cmx_lobby_help(&state->ctx->lobby, state->deadline_ns);
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
	struct run_state state = { .ctx = ctx, .goal = goal, .room = 1 };
	struct drm_cmx_run run;
	int ret = run_check(ctx);

	if (ret)
		return ret;
	state.frame = cmx_frame_get(ctx, goal->timeline);
	if (!state.frame)
		return cmx_fail_call(-ENOMEM, "waiting");
	if (goal->timeout_ns)
		state.deadline_ns = run_deadline(goal->timeout_ns);
	do {
		ret = run_enter(&state, &run);
		if (!ret)
			ret = run_result(&state, &run);
	} while (ret > 0);
	cmx_frame_put(ctx, state.frame);
	return ret;
}
