/* SPDX-License-Identifier: MIT */
/*
 * Inside of a timeline.
 */
#ifndef CMX_TIMELINE_PRIV_H
#define CMX_TIMELINE_PRIV_H

#include <cmx/timeline.h>

#include "cmx_list.h"

struct cmx_timeline {
	struct cmx_list node;
	struct cmx_ctx *ctx;
	uint32_t handle;
	/* Never reused in the process, so that a thread's binding cannot meet another clock. */
	uint64_t id;
	/* Runner threads that look at it, under the lobby's lock. */
	uint32_t guests;
	uint64_t *doorbells;
	const struct cmx_timeline_status *status;
};

/* The actor the calling thread acts as. */
uint32_t cmx_actor_current(const struct cmx_timeline *timeline);

/* Wake runners that sleep. */
int cmx_timeline_wake(struct cmx_timeline *timeline);

#endif /* CMX_TIMELINE_PRIV_H */
