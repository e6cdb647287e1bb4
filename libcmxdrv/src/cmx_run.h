/* SPDX-License-Identifier: MIT */
/*
 * The run loop: enter RUN, carry out what it hands over, enter again.
 */
#ifndef CMX_RUN_H
#define CMX_RUN_H

#include <cmx/wait.h>

/* What a RUN is to reach. */
struct cmx_goal {
	struct cmx_timeline *timeline;
	uint32_t flags;			/* CMX_RUN_* */
	uint32_t until;			/* enum drm_cmx_until */
	uint32_t object;
	uint32_t cond;
	uint64_t va;
	uint64_t value;
	uint64_t timeout_ns;
};

/* 0, or the errors of cmx/wait.h; -EAGAIN with CMX_RUN_NOBLOCK. */
int cmx_run(struct cmx_ctx *ctx, const struct cmx_goal *goal);

/* Fill the error for a stall of @timeline; returns -EDEADLK. */
int cmx_fail_stall(struct cmx_ctx *ctx, const struct cmx_timeline *timeline);

#endif /* CMX_RUN_H */
