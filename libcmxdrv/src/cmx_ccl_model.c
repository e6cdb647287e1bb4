// SPDX-License-Identifier: MIT
/*
 * From which size on an all-reduce of two steps is faster.  With L the overhead of a launch, l
 * the latency of a write, c that of a copy on the die, and the times a byte takes: w to be
 * written to a peer, m to be copied on the die, k in memory by a launch:
 *
 *   one step    2 L + l + (n - 1) B w + (n + 1) B k
 *   two steps   2 L + l + (n - 1) B/n w + (n + 1) B/n k     (reduce-scatter)
 *               + L + l + (n - 1) B/n w + c + B m           (all-gather)
 *
 * All of them are measured, so they hold for any profile of the machine.
 */
#include <errno.h>

#include "cmx_ccl.h"
#include "cmx_fail.h"

#define PROBE		(1ull << 20)	/* bytes */
#define PROBE_SMALL	64u

struct probe {
	struct cmx_ccl *ccl;
	struct cmx_timeline *timeline;
	struct cmx_cq *cq;
	struct cmx_queue *queue;
	struct cmx_mem *from, *near, *far;
};

/* What the entry pushed last takes. */
static int probe_run(struct probe *p, uint64_t *ps)
{
	uint64_t before = cmx_timeline_now(p->timeline);
	struct cmx_wait_opts opts = { .timeline = p->timeline };
	struct cmx_cqe cqe = {};
	int ret = cmx_queue_submit(p->queue);

	do {
		if (!ret || ret == -EINTR)
			ret = cmx_wait_completions(p->cq, 1, &opts);
	} while (ret == -EINTR);
	if (!ret && cmx_cq_read(p->cq, &cqe) != 1)
		ret = cmx_fail(-ENODATA, "cq", 0, 1, "collectives: no completion after a wait");
	if (ret)
		return ret;
	if (cqe.status)
		return cmx_fail(-EIO, "status", cqe.status, 0,
				"collectives: a command between dies %u and %u failed with status %u",
				p->ccl->ranks[0].entity, p->ccl->ranks[p->ccl->n - 1].entity,
				cqe.status);
	*ps = cqe.time_ps - before;
	return 0;
}

static int probe_launch(struct probe *p, uint64_t mem_bytes, uint64_t *ps)
{
	struct cmx_launch_desc desc = {
		.launch_flags = CMX_LAUNCH_TIME_ONLY,
		.first_ps = UINT64_MAX,
		.cost = { .mem_bytes = mem_bytes, .efficiency = CMX_EFF_VECTOR },
	};
	int ret = cmx_queue_launch(p->queue, &desc, CMX_ENTRY_COMPLETE, 0);

	return ret ? ret : probe_run(p, ps);
}

static int probe_copy(struct probe *p, struct cmx_mem *to, uint64_t bytes, uint64_t *ps)
{
	int ret = cmx_queue_copy(p->queue, cmx_mem_va(to), cmx_mem_va(p->from), bytes,
				 CMX_ENTRY_COMPLETE, 0);

	return ret ? ret : probe_run(p, ps);
}

static int probe_open(struct probe *p)
{
	struct cmx_ccl *ccl = p->ccl;
	uint32_t die = ccl->ranks[0].entity;
	struct cmx_queue_desc desc = { .entity = die, .queue_class = CMX_QUEUE_STREAM, .slots = 4 };
	int ret = cmx_timeline_create(ccl->ctx, 0, &p->timeline);

	if (!ret)
		ret = cmx_cq_create(ccl->ctx, p->timeline, 4, CMX_CQ_BACKPRESSURE, &p->cq);
	if (ret)
		return ret;
	desc.timeline = p->timeline;
	desc.cq = p->cq;
	ret = cmx_queue_create(ccl->ctx, &desc, &p->queue);
	if (ret || ccl->n < 3)
		return ret;
	ret = cmx_mem_alloc(ccl->ctx, die, PROBE, CMX_MEM_NO_DATA, &p->from);
	if (!ret)
		ret = cmx_mem_alloc(ccl->ctx, die, PROBE, CMX_MEM_NO_DATA, &p->near);
	if (!ret)
		ret = cmx_mem_alloc(ccl->ctx, ccl->ranks[ccl->n - 1].entity, PROBE,
				    CMX_MEM_NO_DATA, &p->far);
	return ret;
}

static void probe_close(struct probe *p)
{
	cmx_queue_destroy(p->queue);
	cmx_cq_destroy(p->cq);
	cmx_timeline_destroy(p->timeline);
	cmx_mem_free(p->from);
	cmx_mem_free(p->near);
	cmx_mem_free(p->far);
}

/* The size at which both take the same; times of PROBE bytes stand for those of one. */
static uint64_t break_even(const struct cmx_ccl *ccl, uint64_t latency, uint64_t w, uint64_t c,
			   uint64_t m, uint64_t k)
{
	unsigned __int128 bytes;
	uint64_t n = ccl->n, fixed = ccl->launch_ps + latency + c;
	uint64_t one = (n - 1) * w + (n + 1) * k;
	uint64_t two = (2 * (n - 1) * w + (n + 1) * k) / n + m;

	if (one <= two)
		return UINT64_MAX;
	bytes = (unsigned __int128)fixed * PROBE / (one - two) + 1;
	return bytes > UINT64_MAX ? UINT64_MAX : (uint64_t)bytes;
}

static int probe_break_even(struct probe *p)
{
	uint64_t latency, far, c, near, launch;
	int ret = probe_copy(p, p->far, PROBE_SMALL, &latency);

	if (!ret)
		ret = probe_copy(p, p->far, PROBE, &far);
	if (!ret)
		ret = probe_copy(p, p->near, PROBE_SMALL, &c);
	if (!ret)
		ret = probe_copy(p, p->near, PROBE, &near);
	if (!ret)
		ret = probe_launch(p, PROBE, &launch);
	if (!ret)
		p->ccl->two_step_bytes = break_even(p->ccl, latency, far - latency, c, near - c,
						    launch - p->ccl->launch_ps);
	return ret;
}

int cmx_ccl_measure(struct cmx_ccl *ccl)
{
	struct probe p = { .ccl = ccl };
	int ret = probe_open(&p);

	ccl->two_step_bytes = UINT64_MAX;
	if (!ret)
		ret = probe_launch(&p, 0, &ccl->launch_ps);
	/* Of two, either sends half a vector twice. */
	if (!ret && ccl->n > 2)
		ret = probe_break_even(&p);
	probe_close(&p);
	if (ccl->flags & CMX_CCL_TWO_STEP)
		ccl->two_step_bytes = 0;
	if (ccl->flags & CMX_CCL_ONE_STEP)
		ccl->two_step_bytes = UINT64_MAX;
	return ret;
}
