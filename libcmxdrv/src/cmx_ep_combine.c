// SPDX-License-Identifier: MIT
/*
 * Combine: the results of a rank's rows back to where their tokens are from; wait until those
 * of the own tokens are there, sum them up.
 *
 * AIV: results are written, and each counts up a word behind it.  SDMA: results are laid out
 * for the tokens' ranks to read, and a flag tells them.
 */
#include <errno.h>

#include "cmx_ep_priv.h"
#include "cmx_fail.h"

/* Multiply and add. */
#define SUM_OPS		2

int cmx_ep_combine_post(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue,
			uint64_t y_va, uint32_t y_stride, uint32_t flags, uint64_t user_ctx)
{
	struct ep_args args = { .ep = ep, .rank = rank, .x_va = y_va, .stride = y_stride };
	/* What is sent is read where it lies: that memory time is charged with each row. */
	struct cmx_launch_desc desc = {
		.first_ps = ep->launch_ps, .cost = { .efficiency = CMX_EFF_VECTOR },
	};
	int ret = ep_check_call(ep, rank, queue, "combine");

	if (ret)
		return ret;
	args.round = ep->ranks[rank].returned;
	if (args.round == ep->ranks[rank].waited)
		return cmx_fail(-EINVAL, "rank", rank, 0,
				"combine: rank %u has received nothing", rank);
	if (ep_has_data(ep) && (y_va % 4 || y_stride % 4))
		return cmx_fail(-EINVAL, "y_va", y_va, 4,
				"combine: rank %u: rows are at multiples of 4", rank);
	ret = ep_table_get(ep, args.round, &args.table);
	if (ret)
		return ret;
	ep->ranks[rank].returned++;
	return ep_launch(ep, queue, EP_KERNEL_RETURN, ep_min(ep_peer_steps(ep), EP_MAX_BLOCKS),
			 &args, sizeof(args), &desc, flags, user_ctx);
}

/* Results of rounds with the same parity are counted in one word, all there ever were. */
static int wait_results(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue,
			uint64_t round, uint64_t user_ctx)
{
	uint64_t va = ep_word_va(ep, rank, EP_WORD_RESULTS + (uint32_t)(round & 1));

	return cmx_queue_wait(queue, va, CMX_COND_GE, ep->ranks[rank].results[round & 1], 0,
			      user_ctx);
}

static int pull_results(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue,
			uint64_t round, uint64_t user_ctx)
{
	int ret = 0;

	for (uint32_t source = 0; source < ep->desc.ranks && !ret; source++) {
		if (!ep->ranks[source].failed)
			ret = cmx_queue_wait(queue, ep_ready_va(ep, rank, round, source),
					     CMX_COND_GE, round + 1, 0, user_ctx);
	}
	return ret ? ret : ep_sdma_copy(ep, rank, queue, round, true, user_ctx);
}

/* The experts' rows, the shared expert's, and the sum. */
static int sum_up(struct cmx_ep *ep, struct cmx_queue *queue, const struct ep_sum_args *args,
		  uint32_t flags, uint64_t user_ctx)
{
	uint64_t tokens = args->tokens, topk = ep->desc.topk, hidden = ep->desc.hidden;
	struct cmx_launch_desc desc = {
		.first_ps = UINT64_MAX,
		.cost = {
			.vector_ops = tokens * (topk + 1) * hidden * SUM_OPS,
			.mem_bytes = tokens * (topk + 2) * ep->result,
			.efficiency = CMX_EFF_VECTOR,
		},
	};
	uint32_t blocks = ep_min(args->tokens ? args->tokens : 1, EP_MAX_BLOCKS);

	if (!ep_has_data(ep))
		desc.launch_flags = CMX_LAUNCH_TIME_ONLY;
	return ep_launch(ep, queue, EP_KERNEL_SUM, blocks, args, sizeof(*args), &desc, flags,
			 user_ctx);
}

static int check_sum(const struct cmx_ep *ep, uint32_t rank, const struct cmx_ep_sum *sum)
{
	uint64_t all = sum->weights_va | sum->x_va | sum->shared_va | sum->out_va | sum->stride;

	if (sum->pad)
		return cmx_fail(-EINVAL, "pad", sum->pad, 0, "combine wait: pad is not zero");
	if (ep_has_data(ep) && (all % 4 || !sum->weights_va || !sum->out_va))
		return cmx_fail(-EINVAL, "sum", all, 4, "combine wait: rank %u: weights and rows "
				"are at multiples of 4, and not at 0", rank);
	return 0;
}

int cmx_ep_combine_wait(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue,
			const struct cmx_ep_sum *sum, uint64_t *inbox_va, uint32_t flags,
			uint64_t user_ctx)
{
	struct ep_sum_args args = { .ep = ep };
	struct ep_rank *r;
	uint64_t round, rows_ps;
	int ret = ep_check_call(ep, rank, queue, "combine wait");

	if (!ret && sum)
		ret = check_sum(ep, rank, sum);
	if (ret)
		return ret;
	r = &ep->ranks[rank];
	round = r->summed;
	if (round == r->returned)
		return cmx_fail(-EINVAL, "rank", rank, 0,
				"combine wait: rank %u has sent no results back", rank);
	args.inbox_va = ep_va(ep, rank, EP_RESULTS_IN, round);
	args.tokens = r->tokens[round & 1];
	rows_ps = ep_share_ps((uint64_t)args.tokens * ep->desc.topk, ep->desc.costs.row_ps,
			      ep_cores(queue));
	if (inbox_va)
		*inbox_va = args.inbox_va;
	r->summed++;
	ret = ep_is_sdma(ep) ? pull_results(ep, rank, queue, round, user_ctx) :
			       wait_results(ep, rank, queue, round, user_ctx);
	if (ret)
		return ret;
	if (!sum) {
		/* A DELAY of nothing too: the flags are the last entry's. */
		return cmx_queue_delay(queue, rows_ps, flags, user_ctx);
	}
	args.sum = *sum;
	ret = ep_delay(queue, rows_ps, user_ctx);
	return ret ? ret : sum_up(ep, queue, &args, flags, user_ctx);
}
