/* SPDX-License-Identifier: GPL-2.0-only */
/* Runners: loops around DRM_IOCTL_CMX_RUN that execute launches. */
#ifndef CMX_RUN_H
#define CMX_RUN_H

#include "cmx_calls.h"

#define ABI_BATCH	16	/* launches a runner has room for */

/**
 * struct abi_runner - a thread's room for batches and what it does with a launch.
 *
 * Without @execute every launch succeeds at its declared cost.
 */
struct abi_runner {
	/** @execute: fills the outcome, which starts as success at the declared cost. */
	void (*execute)(struct abi_runner *runner, const struct drm_cmx_launch *launch,
			struct drm_cmx_outcome *outcome);
	/** @data: the test's. */
	void *data;
	/** @launched: launches executed. */
	__u64 launched;
	/** @batches: batches taken. */
	__u64 batches;
	/** @launches: the batch. */
	struct drm_cmx_launch launches[ABI_BATCH];
	/** @outcomes: what came of it. */
	struct drm_cmx_outcome outcomes[ABI_BATCH];
};

void abi_run_args(struct drm_cmx_run *run, __u32 until, __u64 value);
void abi_run_room(struct drm_cmx_run *run, struct abi_runner *runner);
void abi_run_execute(struct drm_cmx_run *run, struct abi_runner *runner);
int abi_run(int fd, struct drm_cmx_run *run);
int abi_run_through(int fd, struct drm_cmx_run *run, struct abi_runner *runner);
int abi_run_cq(int fd, const struct abi_cq *cq, __u32 count, struct abi_runner *runner);
int abi_run_idle(int fd, struct abi_runner *runner);

int abi_event_take(int fd, struct cmx_event *event);
int abi_event_find(int fd, __u32 type, struct cmx_event *event);

int abi_submit(struct abi_world *world, struct abi_ring *queue, const union abi_entry *entry);
int abi_carry_out(struct abi_world *world, struct abi_ring *queue, const union abi_entry *entry,
		  struct cmx_cqe *cqe);

#endif
