// SPDX-License-Identifier: MIT
/*
 * Dispatch: a rank's rows to the ranks of their experts, a flag with their number to every
 * peer; wait for all flags, put the rows in order.
 */
#include <errno.h>

#include "cmx_ep_priv.h"
#include "cmx_fail.h"

/* Largest magnitude, scale, convert: operations of quantising one element. */
#define QUANTISE_OPS	3

static int check_post(const struct cmx_ep *ep, uint32_t rank, const struct cmx_queue *queue,
		      const struct cmx_ep_dispatch *dispatch)
{
	const struct ep_rank *r = &ep->ranks[rank];
	uint64_t a_token = (uint64_t)ep->desc.topk * ep->packet;
	int ret = ep_check_call(ep, rank, queue, "dispatch");

	if (ret)
		return ret;
	if (dispatch->tokens > ep->desc.max_tokens)
		return cmx_fail(-ENOSPC, "tokens", dispatch->tokens, ep->desc.max_tokens,
				"dispatch: rank %u: %u tokens need %llu bytes of packets, there "
				"is room for %llu, %u tokens", rank, dispatch->tokens,
				(unsigned long long)(dispatch->tokens * a_token),
				(unsigned long long)(ep->desc.max_tokens * a_token),
				ep->desc.max_tokens);
	if (r->posted - r->summed > 1)
		return cmx_fail(-EBUSY, "rank", rank, 2, "dispatch: rank %u has two rounds in "
				"flight: round %llu was not waited for", rank,
				(unsigned long long)r->summed);
	if (ep_has_data(ep) && dispatch->tokens &&
	    (!dispatch->x_va || dispatch->x_va % 4 || !dispatch->ids_va || dispatch->ids_va % 4))
		return cmx_fail(-EINVAL, "x_va", dispatch->x_va, 4,
				"dispatch: rank %u: rows and choices are at multiples of 4", rank);
	return 0;
}

static int check_table(const struct ep_table *table, uint32_t rank, uint32_t tokens)
{
	if (!table || table->tokens[rank] == tokens)
		return 0;
	return cmx_fail(-EINVAL, "tokens", tokens, table->tokens[rank],
			"dispatch: rank %u: %u tokens, choices were given for %u", rank, tokens,
			table->tokens[rank]);
}

/* What reading a row takes; on the machine activations are BF16 unless F32 is asked for. */
static uint64_t input_bytes(const struct cmx_ep *ep)
{
	switch (ep->desc.dispatch_format) {
	case CMX_EP_ROWS:
		return ep->payload;
	case CMX_EP_F32:
		return 4ull * ep->desc.hidden;
	default:
		return 2ull * ep->desc.hidden;
	}
}

static int send_rows(struct cmx_ep *ep, struct cmx_queue *queue, struct ep_args *args,
		     uint64_t user_ctx)
{
	uint64_t tokens = args->tokens;
	uint32_t ops = ep->desc.dispatch_format == CMX_EP_INT8 ? QUANTISE_OPS : 0;
	struct cmx_launch_desc desc = {
		.first_ps = ep->launch_ps,
		.cost = {
			.vector_ops = tokens * ops * ep->desc.hidden,
			.mem_bytes = tokens * (input_bytes(ep) + ep->packet),
			.efficiency = CMX_EFF_VECTOR,
		},
	};
	uint32_t blocks = ep_min(args->tokens ? args->tokens : 1, EP_MAX_BLOCKS);

	args->pace_ps = cmx_launch_bound(queue, &desc.cost);
	return ep_launch(ep, queue, EP_KERNEL_SEND, blocks, args, sizeof(*args), &desc, 0,
			 user_ctx);
}

static bool is_sibling(const struct cmx_ep *ep, uint32_t a, uint32_t b)
{
	return ep->ranks[a].entity / ep->dies_per_npu == ep->ranks[b].entity / ep->dies_per_npu;
}

/* A word behind everything sent over the ports, and over the link to the sibling die. */
static int fence(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue, uint64_t user_ctx)
{
	uint32_t ranks = ep->desc.ranks;
	bool sibling = false, port = false;
	int ret = 0;

	for (uint32_t i = 0; i < ranks && !ret && !(sibling && port); i++) {
		uint32_t peer = (rank + ranks / 2 + i) % ranks;
		bool *way = is_sibling(ep, rank, peer) ? &sibling : &port;

		if (peer == rank || ep->ranks[peer].failed || *way)
			continue;
		*way = true;
		ret = cmx_queue_signal(queue, ep_word_va(ep, peer, EP_WORD_FENCE), CMX_SIGNAL_ADD,
				       1, CMX_ENTRY_OVERLAP, user_ctx);
	}
	return ret ? ret : cmx_queue_barrier(queue, 0, user_ctx);
}

static int send_flags(struct cmx_ep *ep, struct cmx_queue *queue, struct ep_args *args,
		      uint32_t flags, uint64_t user_ctx)
{
	struct cmx_launch_desc desc = {
		.first_ps = ep->launch_ps, .cost = { .efficiency = CMX_EFF_VECTOR },
	};

	args->pace_ps = 0;
	return ep_launch(ep, queue, EP_KERNEL_FLAG, 1, args, sizeof(*args), &desc, flags,
			 user_ctx);
}

static void begin_round(struct cmx_ep *ep, uint32_t rank, uint32_t tokens)
{
	struct ep_rank *r = &ep->ranks[rank];

	if (r->posted == ep->rounds)
		ep->rounds++;
	r->tokens[r->posted & 1] = tokens;
	r->results[r->posted & 1] += (uint64_t)tokens * ep->desc.topk;
	r->posted++;
}

int cmx_ep_dispatch_post(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue,
			 const struct cmx_ep_dispatch *dispatch, uint32_t flags,
			 uint64_t user_ctx)
{
	struct ep_args args = { .ep = ep, .rank = rank, .tokens = dispatch->tokens };
	int ret = check_post(ep, rank, queue, dispatch);

	if (ret)
		return ret;
	args.round = ep->ranks[rank].posted;
	args.x_va = dispatch->x_va;
	args.ids_va = dispatch->ids_va;
	args.active_va = ep_has_data(ep) ? dispatch->active_va : 0;
	args.stride = dispatch->x_stride;
	ret = ep_table_get(ep, args.round, &args.table);
	if (!ret)
		ret = check_table(args.table, rank, args.tokens);
	if (ret)
		return ret;
	begin_round(ep, rank, args.tokens);
	ret = send_rows(ep, queue, &args, user_ctx);
	if (!ret)
		ret = ep_is_sdma(ep) ? ep_sdma_copy(ep, rank, queue, args.round, false, user_ctx) :
				       fence(ep, rank, queue, user_ctx);
	if (!ret)
		ret = ep_delay(queue, (uint64_t)args.tokens * ep->desc.topk *
				      ep->desc.costs.count_ps, user_ctx);
	return ret ? ret : send_flags(ep, queue, &args, flags, user_ctx);
}

static int wait_flags(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue, uint64_t round,
		      uint64_t user_ctx)
{
	int ret = 0;

	for (uint32_t source = 0; source < ep->desc.ranks && !ret; source++) {
		if (!ep->ranks[source].failed)
			ret = cmx_queue_wait(queue, ep_flag_va(ep, rank, round, source),
					     CMX_COND_GE, (round + 1) << 32, 0, user_ctx);
	}
	return ret;
}

static int collect(struct cmx_ep *ep, struct cmx_queue *queue, struct ep_args *args,
		   uint32_t flags, uint64_t user_ctx)
{
	struct cmx_launch_desc desc = {
		.first_ps = UINT64_MAX, .cost = { .efficiency = CMX_EFF_VECTOR },
	};
	uint32_t blocks = ep_has_data(ep) ? ep_min(ep->desc.ranks, EP_MAX_BLOCKS) : 1;

	args->cores = ep_cores(queue);
	return ep_launch(ep, queue, EP_KERNEL_COLLECT, blocks, args, sizeof(*args), &desc, flags,
			 user_ctx);
}

static int fill_received(const struct cmx_ep *ep, uint32_t rank, const struct ep_args *args,
			 struct cmx_ep_received *received)
{
	struct ep_view view;

	*received = (struct cmx_ep_received){
		.rows_va = ep_va(ep, rank, EP_ROWS, args->round),
		.plan_va = ep_va(ep, rank, EP_PLAN, args->round),
		.row_stride = ep->packet,
		.max_rows = ep->max_rows,
	};
	if (!args->table)
		return 0;
	view = ep_table_view(ep, args->table, rank);
	for (uint32_t e = 0; e < ep->desc.local; e++)
		received->n_active += view.starts[(e + 1) * ep->desc.ranks] >
				      view.starts[e * ep->desc.ranks];
	received->n_rows = view.starts[ep->desc.local * ep->desc.ranks];
	if (received->n_rows <= ep->max_rows)
		return 0;
	return cmx_fail(-ENOSPC, "max_rows", received->n_rows, ep->max_rows,
			"dispatch: rank %u: %u rows need %llu bytes, there is room for %llu",
			rank, received->n_rows,
			(unsigned long long)received->n_rows * ep->packet,
			(unsigned long long)ep->max_rows * ep->packet);
}

int cmx_ep_dispatch_wait(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue,
			 struct cmx_ep_received *received, uint32_t flags, uint64_t user_ctx)
{
	struct ep_args args = { .ep = ep, .rank = rank };
	int ret = ep_check_call(ep, rank, queue, "dispatch wait");

	if (ret)
		return ret;
	args.round = ep->ranks[rank].waited;
	if (args.round == ep->ranks[rank].posted)
		return cmx_fail(-EINVAL, "rank", rank, 0,
				"dispatch wait: rank %u has posted nothing", rank);
	ret = ep_table_get(ep, args.round, &args.table);
	if (!ret)
		ret = fill_received(ep, rank, &args, received);
	if (ret)
		return ret;
	ep->ranks[rank].waited++;
	ret = wait_flags(ep, rank, queue, args.round, user_ctx);
	if (!ret)
		ret = ep_delay(queue, ep_share_ps(ep->live, ep->desc.costs.peer_ps,
						  ep_cores(queue)), user_ctx);
	if (!ret)
		ret = collect(ep, queue, &args, flags, user_ctx);
	ep_table_put(args.table);
	return ret;
}
