// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "haul.h"

int haul_open(struct haul *h)
{
	const struct drm_cmx_info_device *device;
	int ret = cmx_open(NULL, 0, &h->ctx);

	if (ret)
		return ret;
	device = cmx_device(h->ctx);
	h->nodes = device->num_nodes;
	h->dies = device->num_dies;
	h->per_node = device->num_dies / device->num_nodes;
	h->sockets_per_node = device->num_sockets / device->num_nodes;
	ret = cmx_timeline_create(h->ctx, 0, &h->clock);
	return ret ? ret : cmx_cq_create(h->ctx, h->clock, 256, CMX_CQ_BACKPRESSURE, &h->cq);
}

void haul_close(struct haul *h)
{
	cmx_close(h->ctx);
	h->ctx = NULL;
}

uint32_t haul_die(const struct haul *h, uint32_t node, uint32_t i)
{
	return node * h->per_node + i;
}

uint32_t haul_socket(const struct haul *h, uint32_t node, uint32_t i)
{
	return h->dies + node * h->sockets_per_node + i;
}

static int push(struct haul *h, const struct job *job, uint32_t i, struct cmx_queue **q)
{
	struct cmx_queue_desc desc = {
		.timeline = h->clock,
		.cq = h->cq,
		.entity = job->entity,
		.queue_class = CMX_QUEUE_UB,
		.planes = job->planes,
		.err_timeout = job->err_timeout,
	};
	struct cmx_mem *own, *other;
	int ret = cmx_queue_create(h->ctx, &desc, q);

	if (!ret)
		ret = cmx_mem_alloc(h->ctx, job->entity, job->bytes, CMX_MEM_NO_DATA, &own);
	if (!ret)
		ret = cmx_mem_alloc(h->ctx, job->peer, job->bytes, CMX_MEM_NO_DATA, &other);
	if (ret)
		return ret;
	if (job->write)
		return cmx_queue_write(*q, cmx_mem_va(other), cmx_mem_va(own), job->bytes,
				       CMX_ENTRY_COMPLETE, i);
	return cmx_queue_read(*q, cmx_mem_va(own), cmx_mem_va(other), job->bytes,
			      CMX_ENTRY_COMPLETE, i);
}

/* A queue that failed adds a marker. */
int haul_read(struct haul *h, uint64_t start, uint32_t n)
{
	struct cmx_wait_opts opts = { .timeline = h->clock };
	struct cmx_cqe cqe;

	while (n) {
		int ret = cmx_wait_completions(h->cq, 1, &opts);

		if (ret)
			return ret;
		if (cmx_cq_read(h->cq, &cqe) != 1)
			return -ENODATA;
		if (cqe.flags & CMX_CQE_MARKER)
			continue;
		h->took[cqe.user_ctx] = cqe.time_ps - start;
		h->status[cqe.user_ctx] = cqe.status;
		n--;
	}
	return 0;
}

uint64_t haul_now(const struct haul *h)
{
	return cmx_timeline_now(h->clock);
}

/* The clock stands until this thread waits: all begin at the same time. */
int haul_run(struct haul *h, const struct job *jobs, uint32_t n)
{
	uint64_t start = haul_now(h);
	struct cmx_queue *q;
	int ret = 0;

	for (uint32_t i = 0; !ret && i < n; i++) {
		ret = push(h, &jobs[i], i, &q);
		if (!ret)
			ret = cmx_queue_submit(q);
	}
	return ret ? ret : haul_read(h, start, n);
}

int haul_run_one(struct haul *h, const struct job *job, uint64_t *took)
{
	int ret = haul_run(h, job, 1);

	*took = h->took[0];
	return ret ? ret : h->status[0] ? -EIO : 0;
}

int haul_status(struct haul *h, const struct job *job)
{
	int ret = haul_run(h, job, 1);

	return ret ? ret : (int)h->status[0];
}

uint64_t time_of(uint64_t bytes, uint64_t rate)
{
	return (uint64_t)((__uint128_t)bytes * PS_PER_S / rate);
}

uint64_t off(uint64_t got, uint64_t want)
{
	return (got > want ? got - want : want - got) * 1000 / want;
}
