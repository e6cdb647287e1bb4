// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_rig.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_stop.h"

int cmx_rig_fail(struct cmx_rig *rig, int ret, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(rig->error, sizeof(rig->error), fmt, args);
	va_end(args);
	return ret;
}

int cmx_rig_lib_fail(struct cmx_rig *rig, int ret, const char *what)
{
	const struct cmx_error *e = cmx_last_error();

	return cmx_rig_fail(rig, ret, "%s: %s", what, e->code == ret ? e->text : strerror(-ret));
}

/* A launch without any work on a clock of its own. */
static int measure_launch(struct cmx_rig *rig)
{
	struct cmx_launch_desc desc = { .launch_flags = CMX_LAUNCH_TIME_ONLY,
					.first_ps = UINT64_MAX };
	struct cmx_queue *q;
	int ret = cmx_rig_queue(rig, 0, CMX_QUEUE_STREAM, 4, 0, &q);

	if (!ret)
		ret = cmx_queue_launch(q, &desc, CMX_ENTRY_COMPLETE, 0);
	if (!ret)
		ret = cmx_rig_finish(rig, 1, &rig->launch_ps, 1);
	return ret;
}

static void drop_objects(struct cmx_rig *rig)
{
	for (uint32_t i = 0; i < rig->num_queues; i++)
		cmx_queue_destroy(rig->queues[i]);
	for (uint32_t i = 0; i < rig->num_mems; i++)
		cmx_mem_free(rig->mems[i]);
	cmx_cq_destroy(rig->cq);
	cmx_timeline_destroy(rig->timeline);
	rig->num_queues = 0;
	rig->num_mems = 0;
	rig->cq = NULL;
	rig->timeline = NULL;
}

static int open_clock(struct cmx_rig *rig, uint32_t cqes)
{
	int ret = cmx_timeline_create(rig->ctx, 0, &rig->timeline);

	if (ret)
		return cmx_rig_lib_fail(rig, ret, "clock");
	ret = cmx_cq_create(rig->ctx, rig->timeline, cqes, CMX_CQ_BACKPRESSURE, &rig->cq);
	return ret ? cmx_rig_lib_fail(rig, ret, "completion ring") : 0;
}

int cmx_rig_open(struct cmx_rig *rig, struct cmx_ctx *ctx, uint32_t cqes)
{
	int ret;

	memset(rig, 0, sizeof(*rig));
	rig->ctx = ctx;
	ret = open_clock(rig, 16);
	if (!ret)
		ret = measure_launch(rig);
	if (ret)
		return ret;
	/* The measurement proper starts at 0 again. */
	drop_objects(rig);
	return open_clock(rig, cqes);
}

void cmx_rig_close(struct cmx_rig *rig)
{
	drop_objects(rig);
	free(rig->queues);
	free(rig->mems);
	rig->queues = NULL;
	rig->mems = NULL;
}

/* Room for one more pointer in *@list. */
static int grow(struct cmx_rig *rig, void *list, uint32_t count, uint32_t *max)
{
	void **pointers;
	uint32_t n = *max ? *max * 2 : 16;

	if (count < *max)
		return 0;
	memcpy(&pointers, list, sizeof(pointers));
	pointers = realloc(pointers, n * sizeof(*pointers));
	if (!pointers)
		return cmx_rig_fail(rig, -ENOMEM, "no memory for %u objects", n);
	memcpy(list, &pointers, sizeof(pointers));
	*max = n;
	return 0;
}

int cmx_rig_queue(struct cmx_rig *rig, uint32_t entity, uint32_t queue_class, uint32_t slots,
		  uint32_t planes, struct cmx_queue **queue)
{
	struct cmx_queue_desc desc = {
		.timeline = rig->timeline, .cq = rig->cq, .entity = entity,
		.queue_class = queue_class, .slots = slots, .planes = planes,
	};
	int ret = grow(rig, &rig->queues, rig->num_queues, &rig->max_queues);

	if (ret)
		return ret;
	ret = cmx_queue_create(rig->ctx, &desc, queue);
	if (ret)
		return cmx_rig_lib_fail(rig, ret, "queue");
	rig->queues[rig->num_queues++] = *queue;
	return 0;
}

int cmx_rig_memory(struct cmx_rig *rig, uint32_t entity, uint64_t size, uint32_t flags,
		   struct cmx_mem **mem)
{
	int ret = grow(rig, &rig->mems, rig->num_mems, &rig->max_mems);

	if (ret)
		return ret;
	ret = cmx_mem_alloc(rig->ctx, entity, size, flags, mem);
	if (ret)
		return cmx_rig_lib_fail(rig, ret, "memory");
	rig->mems[rig->num_mems++] = *mem;
	return 0;
}

int cmx_rig_delay(struct cmx_rig *rig, struct cmx_queue *queue, uint64_t ps, uint32_t flags,
		  uint64_t user_ctx)
{
	int ret = ps ? cmx_queue_delay(queue, ps, flags, user_ctx) : 0;

	return ret ? cmx_rig_lib_fail(rig, ret, "delay") : 0;
}

static int take(struct cmx_rig *rig, uint64_t *ends, uint32_t num_ends)
{
	struct cmx_cqe cqe;
	int ret = cmx_cq_read(rig->cq, &cqe);

	if (ret < 0)
		return cmx_rig_lib_fail(rig, ret, "completion");
	if (!ret)
		return cmx_rig_fail(rig, -EIO, "completion ring: empty after a wait");
	if (cqe.status != UB_CR_SUCCESS)
		return cmx_rig_fail(rig, -EIO, "operation 0x%x failed with status %u, code %llu",
				    cqe.opcode, cqe.status, (unsigned long long)cqe.imm);
	if (cqe.flags & CMX_CQE_EXTRAPOLATED)
		rig->extrapolated = true;
	if (cqe.user_ctx < num_ends)
		ends[cqe.user_ctx] = cqe.time_ps;
	return 0;
}

/* A signal that asks to stop ends it; another one does not. */
static int wait_some(struct cmx_rig *rig, uint32_t n)
{
	const struct cmx_wait_opts opts = { .timeline = rig->timeline };
	int ret;

	do {
		ret = cmx_wait_completions(rig->cq, n, &opts);
		if (cmx_stopped())
			return cmx_rig_fail(rig, -EINTR, "interrupted");
	} while (ret == -EINTR);
	/* Nothing can go on: a completion that says why comes first. */
	if (ret == -EDEADLK && cmx_cq_ready(rig->cq))
		return 0;
	return ret ? cmx_rig_lib_fail(rig, ret, "wait") : 0;
}

int cmx_rig_finish(struct cmx_rig *rig, uint32_t n, uint64_t *ends, uint32_t num_ends)
{
	uint32_t room = rig->cq->mask + 1;
	int ret = 0;

	for (uint32_t i = 0; i < rig->num_queues && !ret; i++)
		ret = cmx_queue_submit(rig->queues[i]);
	if (ret)
		return cmx_rig_lib_fail(rig, ret, "submit");
	while (n && !ret) {
		uint32_t some = cmx_cq_ready(rig->cq);

		if (!some) {
			some = n < room / 2 ? n : room / 2;
			ret = wait_some(rig, some > 64 ? 64 : some);
			continue;
		}
		for (; some && n && !ret; some--, n--)
			ret = take(rig, ends, num_ends);
	}
	return ret;
}
