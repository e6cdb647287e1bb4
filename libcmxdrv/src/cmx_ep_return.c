// SPDX-License-Identifier: MIT
/*
 * Kernels of combine.  A block has some of the peers: results go back peer by peer.
 */
#include "cmx_ep_priv.h"

/* A peer's results on their way. */
struct returning {
	struct cmx_launch_ctx *lc;
	const struct ep_args *args;
	struct ep_view view;
	uint64_t at_ps;
	uint32_t peer;
};

static struct ep_view view_of(const struct ep_args *args)
{
	struct ep_plan plan;

	if (args->table)
		return ep_table_view(args->ep, args->table, args->rank);
	plan = ep_plan_of(args->ep, args->rank, args->round);
	return (struct ep_view){ .starts = plan.starts, .origins = plan.origins };
}

static int count_up(const struct returning *r, uint32_t n)
{
	const struct ep_args *args = r->args;
	uint32_t word = EP_WORD_RESULTS + (uint32_t)(args->round & 1);

	return cmx_dev_atomic(r->lc, r->at_ps, UB_OP_FADD, ep_word_va(args->ep, r->peer, word), 8,
			      n);
}

/* Where a result is laid out: as they were received, or for the peer to find it. */
static uint64_t staging_va(const struct returning *r, uint32_t row)
{
	const struct cmx_ep *ep = r->args->ep;
	uint64_t at = row;

	if (ep_is_sdma(ep))
		at = (uint64_t)r->peer * ep->cap + r->view.origins[row].slot;
	return ep_va(ep, r->args->rank, EP_RESULTS_OUT, r->args->round) + at * ep->result;
}

static int return_row(const struct returning *r, uint32_t row)
{
	const struct ep_args *args = r->args;
	const struct cmx_ep *ep = args->ep;
	const struct ep_origin *origin = &r->view.origins[row];
	const struct cmx_record record = {
		.opcode = UB_OP_WRITE, .messages = 1, .at_ps = r->at_ps,
		.va = ep_va(ep, r->peer, EP_RESULTS_IN, args->round) +
		      ((uint64_t)origin->token * ep->desc.topk + origin->choice) * ep->result,
		.src_va = staging_va(r, row), .len = ep->result,
	};
	int ret;

	if (ep_has_data(ep))
		ep_result_pack(ep, ep_ptr(args->x_va + (uint64_t)row * args->stride),
			       ep_ptr(record.src_va));
	if (ep_is_sdma(ep))
		return 0;
	ret = cmx_dev_record(r->lc, &record);
	return ret || !ep->row_atomics ? ret : count_up(r, 1);
}

static int return_to(const struct returning *r)
{
	const struct cmx_ep *ep = r->args->ep;
	uint32_t n = 0;
	int ret = 0;

	for (uint32_t e = 0; e < ep->desc.local; e++) {
		const uint32_t *start = &r->view.starts[e * ep->desc.ranks + r->peer];

		for (uint32_t row = start[0]; row < start[1] && !ret; row++)
			ret = return_row(r, row);
		n += start[1] - start[0];
	}
	if (ret)
		return ret;
	if (ep_is_sdma(ep))
		return cmx_dev_signal(r->lc, r->at_ps, ep_ready_va(ep, r->peer, r->args->round,
								   r->args->rank),
				      r->args->round + 1);
	return n && !ep->row_atomics ? count_up(r, n) : 0;
}

int ep_return_block(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct ep_args *args = bytes;
	const struct cmx_ep *ep = args->ep;
	struct returning r = {
		.lc = lc, .args = args, .view = view_of(args), .at_ps = ep->launch_ps,
	};
	uint32_t lo, hi;
	int ret = 0;

	ep_part(ep_peer_steps(ep), block, cmx_launch_grid(lc), &lo, &hi);
	for (uint32_t step = lo; step < hi && !ret; step++) {
		r.peer = ep_peer_at(ep, args->rank, step);
		if (r.peer < ep->desc.ranks && !ep->ranks[r.peer].failed)
			ret = return_to(&r);
	}
	return ret;
}

static float value_at(uint64_t va, uint64_t offset, uint32_t i)
{
	return va ? ((const float *)ep_ptr(va + offset))[i] : 0;
}

static void sum_token(const struct ep_sum_args *args, uint32_t token)
{
	const struct cmx_ep *ep = args->ep;
	uint64_t offset = (uint64_t)token * args->sum.stride;
	const float *weights = (const float *)ep_ptr(args->sum.weights_va) +
			       (size_t)token * ep->desc.topk;
	const char *in = (const char *)ep_ptr(args->inbox_va) +
			 (uint64_t)token * ep->desc.topk * ep->result;
	float *out = ep_ptr(args->sum.out_va + offset);

	for (uint32_t i = 0; i < ep->desc.hidden; i++) {
		float sum = value_at(args->sum.x_va, offset, i);

		for (uint32_t k = 0; k < ep->desc.topk; k++)
			sum += weights[k] * ep_result_at(ep, in + (uint64_t)k * ep->result, i);
		out[i] = sum + value_at(args->sum.shared_va, offset, i);
	}
}

int ep_sum_block(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct ep_sum_args *args = bytes;
	uint32_t lo, hi;

	ep_part(args->tokens, block, cmx_launch_grid(lc), &lo, &hi);
	for (uint32_t token = lo; token < hi; token++)
		sum_token(args, token);
	return 0;
}
