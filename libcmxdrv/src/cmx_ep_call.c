// SPDX-License-Identifier: MIT
/*
 * What the four calls of a round have in common.
 */
#include <errno.h>

#include "cmx_ctx.h"
#include "cmx_ep_priv.h"
#include "cmx_fail.h"
#include "cmx_queue_priv.h"

/* Slots of a launch with arguments, and of entries that go with one. */
#define LAUNCH_SLOTS	4u
#define SDMA_SLOTS	2u

int ep_check_call(const struct cmx_ep *ep, uint32_t rank, const struct cmx_queue *queue,
		  const char *call)
{
	if (rank >= ep->desc.ranks || ep->ranks[rank].failed)
		return cmx_fail(-EINVAL, "rank", rank, ep->desc.ranks,
				"%s: rank %u is none of %u live ranks", call, rank, ep->live);
	if (queue->queue_class != CMX_QUEUE_STREAM)
		return cmx_fail(-EINVAL, "queue", queue->queue_class, CMX_QUEUE_STREAM,
				"%s: rank %u: not a stream queue", call, rank);
	if (queue->entity != ep->ranks[rank].entity)
		return cmx_fail(-EINVAL, "queue", queue->entity, ep->ranks[rank].entity,
				"%s: rank %u is on entity %u, the queue on %u", call, rank,
				ep->ranks[rank].entity, queue->entity);
	if (queue->timeline != ep->timeline)
		return cmx_fail(-EINVAL, "queue", queue->handle, 0,
				"%s: rank %u: the queue is on another timeline", call, rank);
	return 0;
}

uint32_t ep_cores(const struct cmx_queue *queue)
{
	return cmx_queue_priv(queue)->vector_cores;
}

int ep_launch(struct cmx_ep *ep, struct cmx_queue *queue, enum ep_kernel kernel, uint32_t grid,
	      const void *args, uint32_t args_size, struct cmx_launch_desc *desc, uint32_t flags,
	      uint64_t user_ctx)
{
	desc->kernel = ep->kernels[kernel];
	desc->grid = grid;
	desc->args = args;
	desc->args_size = args_size;
	desc->min_ps = cmx_launch_bound(queue, &desc->cost);
	return cmx_queue_launch(queue, desc, flags, user_ctx);
}

int ep_delay(struct cmx_queue *queue, uint64_t ps, uint64_t user_ctx)
{
	return ps ? cmx_queue_delay(queue, ps, 0, user_ctx) : 0;
}

/* Words between a stream and the engine; each round of a rank has its own. */
static uint64_t go_va(const struct cmx_ep *ep, uint32_t rank, uint64_t round, bool back)
{
	return ep_word_va(ep, rank, (back ? EP_WORD_PULL : EP_WORD_PUSH) + (uint32_t)(round & 1));
}

static uint64_t done_va(const struct cmx_ep *ep, uint32_t rank, uint64_t round, bool back)
{
	return ep_word_va(ep, rank,
			  (back ? EP_WORD_PULLED : EP_WORD_PUSHED) + (uint32_t)(round & 1));
}

/* The rank's engine: behind the word, the list, and a word behind it. */
static int fill_engine(struct cmx_ep *ep, uint32_t rank, uint64_t round, bool back, uint32_t n,
		       uint64_t user_ctx)
{
	struct cmx_queue *q = ep->ranks[rank].sdma[round & 1];
	uint64_t go = go_va(ep, rank, round, back), done = done_va(ep, rank, round, back);
	int ret = cmx_queue_wait(q, go, CMX_COND_GE, round + 1, 0, user_ctx);

	if (!ret)
		ret = cmx_queue_copy_sg(q, cmx_va(ep_list(ep, rank, round, back)), n, 0, user_ctx);
	if (!ret)
		ret = cmx_queue_signal(q, done, CMX_SIGNAL_SET, round + 1, 0, user_ctx);
	return ret ? ret : cmx_queue_submit(q);
}

int ep_sdma_copy(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue, uint64_t round,
		 bool back, uint64_t user_ctx)
{
	uint64_t go = go_va(ep, rank, round, back), done = done_va(ep, rank, round, back);
	uint32_t n = ep->ranks[rank].tokens[round & 1] * ep->desc.topk;
	int ret;

	if (!n)
		return 0;
	ret = cmx_queue_signal(queue, go, CMX_SIGNAL_SET, round + 1, 0, user_ctx);
	if (!ret)
		ret = fill_engine(ep, rank, round, back, n, user_ctx);
	if (!ret)
		ret = cmx_queue_wait(queue, done, CMX_COND_GE, round + 1, 0, user_ctx);
	return ret;
}

uint32_t cmx_ep_slots(const struct cmx_ep *ep)
{
	uint32_t post = 2 * LAUNCH_SLOTS + 2 + 2 + SDMA_SLOTS;
	uint32_t wait = ep->desc.ranks + SDMA_SLOTS + 1 + LAUNCH_SLOTS;

	return post > wait ? post : wait;
}

struct ep_plan ep_plan_of(const struct cmx_ep *ep, uint32_t rank, uint64_t round)
{
	uint64_t words = (uint64_t)ep->desc.local * ep->desc.ranks + 1;
	struct ep_plan plan = { .n_active = ep_ptr(ep_va(ep, rank, EP_PLAN, round)) };

	plan.n_rows = plan.n_active + 1;
	plan.first = plan.n_active + 2;
	plan.starts = plan.first + ep->desc.local + 1;
	plan.origins = ep_ptr(ep_va(ep, rank, EP_PLAN, round) +
			      ep_align(4 * (2 + ep->desc.local + 1 + words), 16));
	return plan;
}
