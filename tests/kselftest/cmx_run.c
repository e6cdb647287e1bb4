// SPDX-License-Identifier: GPL-2.0-only
/* Runners: loops around DRM_IOCTL_CMX_RUN that execute launches. */
#include <errno.h>

#include "cmx_run.h"

/* A bounded wait of actor 0 of the default timeline. */
void abi_run_args(struct drm_cmx_run *run, __u32 until, __u64 value)
{
	*run = (struct drm_cmx_run){
		.until = until,
		.value = value,
		.host_timeout_ns = ABI_HOST_TIMEOUT_NS,
	};
}

void abi_run_room(struct drm_cmx_run *run, struct abi_runner *runner)
{
	run->launches.stride = sizeof(runner->launches[0]);
	run->launches.count = ABI_BATCH;
	run->launches.pointer = abi_addr(runner->launches);
}

/* Executes the batch RUN handed out; its outcomes go with the next RUN. */
void abi_run_execute(struct drm_cmx_run *run, struct abi_runner *runner)
{
	__u32 n = run->launches.count, i;
	bool failed = false;

	runner->batches++;
	for (i = 0; i < n; i++) {
		const struct drm_cmx_launch *launch = &runner->launches[i];
		struct drm_cmx_outcome *outcome = &runner->outcomes[i];

		memset(outcome, 0, sizeof(*outcome));
		outcome->cost = launch->cost;
		if (i && launch->chain != runner->launches[i - 1].chain)
			failed = false;
		if (failed) {
			outcome->status = CMX_OUTCOME_SKIPPED;
			continue;
		}
		runner->launched++;
		if (runner->execute)
			runner->execute(runner, launch, outcome);
		failed = outcome->status != CMX_OUTCOME_OK;
	}
	run->outcomes.stride = sizeof(runner->outcomes[0]);
	run->outcomes.count = n;
	run->outcomes.pointer = abi_addr(runner->outcomes);
}

/* One RUN: its status, or a negative errno. */
int abi_run(int fd, struct drm_cmx_run *run)
{
	int ret = abi_ioctl(fd, DRM_IOCTL_CMX_RUN, run);

	return ret ? ret : (int)run->status;
}

/* RUN until something else than a batch: its status, or a negative errno. */
int abi_run_through(int fd, struct drm_cmx_run *run, struct abi_runner *runner)
{
	static struct abi_runner plain;
	int ret;

	if (!runner)
		runner = &plain;
	do {
		abi_run_room(run, runner);
		ret = abi_run(fd, run);
		run->outcomes = (struct drm_cmx_array){ 0 };
		if (ret == CMX_RUN_BATCH)
			abi_run_execute(run, runner);
	} while (ret == CMX_RUN_BATCH);
	return ret;
}

/* Until @count completions more than were read are there. */
int abi_run_cq(int fd, const struct abi_cq *cq, __u32 count, struct abi_runner *runner)
{
	struct drm_cmx_run run;

	abi_run_args(&run, CMX_UNTIL_CQ, (__u32)(cq->head + count));
	run.object = cq->handle;
	return abi_run_through(fd, &run, runner);
}

int abi_run_idle(int fd, struct abi_runner *runner)
{
	struct drm_cmx_run run;

	abi_run_args(&run, CMX_UNTIL_IDLE, 0);
	return abi_run_through(fd, &run, runner);
}

/* The next event: 1, 0 for none, or a negative errno. */
int abi_event_take(int fd, struct cmx_event *event)
{
	struct drm_cmx_events args = {
		.events = {
			.stride = sizeof(*event),
			.count = 1,
			.pointer = abi_addr(event),
		},
	};
	int ret = abi_ioctl(fd, DRM_IOCTL_CMX_EVENTS, &args);

	return ret ? ret : (int)args.events.count;
}

/* Takes events until one of @type: 1, 0 for none, or a negative errno. */
int abi_event_find(int fd, __u32 type, struct cmx_event *event)
{
	int ret;

	do {
		ret = abi_event_take(fd, event);
	} while (ret > 0 && event->type != type);
	return ret;
}

int abi_submit(struct abi_world *world, struct abi_ring *queue, const union abi_entry *entry)
{
	if (!abi_post(queue, entry))
		return -EAGAIN;
	return abi_kick(world->fd, &world->clock, queue);
}

/* Submits one entry and runs until its completion. */
int abi_carry_out(struct abi_world *world, struct abi_ring *queue, const union abi_entry *entry,
		  struct cmx_cqe *cqe)
{
	int ret = abi_submit(world, queue, entry);

	if (!ret)
		ret = abi_run_cq(world->fd, &world->cq, 1, NULL);
	if (ret != CMX_RUN_DONE)
		return ret < 0 ? ret : -EPROTO;
	return abi_cqe_take(&world->cq, cqe) ? 0 : -ENODATA;
}
