// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dispatch of a rank: quantise and send each token to its experts' ranks; barrier and count;
 * a flag with the count to every peer; wait for all flags; offsets; copy to the output.
 */
#include "cmx_operator.h"

#define BF16_BYTES	2
/* Largest magnitude, scale, convert: operations of quantising one element. */
#define QUANTISE_OPS	3

static uint64_t packet_bytes(const struct cmx_operator *op)
{
	return cmx_operator_constant(op, CMX_LIB_PACKET);
}

static uint64_t token_bytes(const struct cmx_operator *op)
{
	return BF16_BYTES * cmx_operator_constant(op, CMX_LIB_HIDDEN);
}

/* The outbox holds the tokens as they are, then their packets. */
static uint64_t packet_va(const struct cmx_operator *op, uint32_t rank, uint32_t token)
{
	return cmx_mem_va(op->ranks[rank].outbox) + op->routing.opt.tokens * token_bytes(op) +
	       token * packet_bytes(op);
}

int cmx_dispatch_memory(struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	struct cmx_operator_rank *r = &op->ranks[rank];
	uint64_t rows = (uint64_t)o->ep * op->routing.max_slots;
	uint64_t records = (uint64_t)o->tokens * o->topk + o->ep;
	int ret = cmx_operator_memory(op, rank, o->tokens * (token_bytes(op) + packet_bytes(op)),
				      false, &r->outbox);

	if (!ret)
		ret = cmx_operator_memory(op, rank, rows * packet_bytes(op), false, &r->inbox);
	if (!ret)
		ret = cmx_operator_memory(op, rank,
					  cmx_operator_received(op, rank) * packet_bytes(op),
					  false, &r->out);
	if (!ret && !op->opt.data)
		ret = cmx_operator_memory(op, rank, records * sizeof(struct cmx_record), true,
					  &r->records);
	return ret;
}

void cmx_dispatch_row_record(const struct cmx_operator *op, uint32_t rank, uint32_t i,
			     uint64_t pace_ps, struct cmx_record *record)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	const struct cmx_row *row = &op->routing.rows[(uint64_t)rank * o->tokens * o->topk + i];
	uint64_t place = (uint64_t)rank * op->routing.max_slots + row->slot;

	*record = (struct cmx_record){
		.opcode = UB_OP_WRITE, .messages = 1,
		.at_ps = op->rig.launch_ps + pace_ps * (row->token + 1) / o->tokens,
		.va = cmx_mem_va(op->ranks[row->rank].inbox) + place * packet_bytes(op),
		.src_va = packet_va(op, rank, row->token),
		.len = packet_bytes(op),
	};
}

/* Peers in turn, beginning behind the own rank, so that not all begin with the same one. */
void cmx_dispatch_flag_record(const struct cmx_operator *op, uint32_t rank, uint32_t i,
			      uint64_t pace_ps, struct cmx_record *record)
{
	uint32_t ep = op->routing.opt.ep, peer = (rank + 1 + i) % ep;

	*record = (struct cmx_record){
		.opcode = CMX_OP_SIGNAL, .messages = 1,
		.at_ps = op->rig.launch_ps + pace_ps,
		.va = cmx_mem_va(op->ranks[peer].flags) + 8ull * rank,
		.len = 8,
		.value = op->routing.sent[(uint64_t)rank * ep + peer] + 1ull,
	};
}

/* A word behind everything sent over the ports, or over the link to the sibling die. */
static int fence_to(struct cmx_operator *op, uint32_t rank, uint32_t peer)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	uint64_t word = o->ep > o->tokens ? o->ep : o->tokens;
	int ret = cmx_queue_signal(op->ranks[rank].queue,
				   cmx_mem_va(op->ranks[peer].flags) + 8 * word, CMX_SIGNAL_ADD, 1,
				   CMX_ENTRY_OVERLAP, rank);

	return ret ? cmx_rig_lib_fail(&op->rig, ret, "fence") : 0;
}

/* Until the last packet is acknowledged on each way out. */
static int fence(struct cmx_operator *op, uint32_t rank)
{
	uint32_t ep = op->routing.opt.ep, npu = rank / op->dies_per_npu;
	bool sibling = false, port = false;
	int ret = 0;

	for (uint32_t i = 0; i < ep && !ret && !(sibling && port); i++) {
		uint32_t peer = (rank + ep / 2 + i) % ep;
		bool *way = peer / op->dies_per_npu == npu ? &sibling : &port;

		if (peer == rank || *way)
			continue;
		*way = true;
		ret = fence_to(op, rank, peer);
	}
	if (!ret)
		ret = cmx_queue_barrier(op->ranks[rank].queue, 0, rank);
	return ret;
}

static int send_tokens(struct cmx_operator *op, uint32_t rank)
{
	uint64_t tokens = op->routing.opt.tokens;
	const struct cmx_operator_step step = {
		.kernel = CMX_KERNEL_DISPATCH_SEND,
		.grid = op->routing.opt.tokens,
		.cost = {
			.vector_ops = tokens * QUANTISE_OPS *
				      cmx_operator_constant(op, CMX_LIB_HIDDEN),
			.mem_bytes = tokens * (token_bytes(op) + packet_bytes(op)),
			.efficiency = CMX_EFF_VECTOR,
		},
		.num_records = op->routing.opt.tokens * op->routing.opt.topk,
		.record = cmx_dispatch_row_record,
	};

	return cmx_operator_launch(op, rank, &step, 0);
}

static int send_flags(struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_operator_step step = {
		.kernel = CMX_KERNEL_DISPATCH_FLAG,
		.grid = 1,
		.cost = { .efficiency = CMX_EFF_VECTOR },
		.num_records = op->routing.opt.ep,
		.record = cmx_dispatch_flag_record,
	};

	return cmx_operator_launch(op, rank, &step, 0);
}

static int collect(struct cmx_operator *op, uint32_t rank)
{
	uint64_t rows = cmx_operator_received(op, rank);
	const struct cmx_operator_step step = {
		.kernel = CMX_KERNEL_DISPATCH_COLLECT,
		.grid = op->routing.opt.ep,
		.cost = {
			.mem_bytes = 2 * rows * packet_bytes(op),
			.efficiency = CMX_EFF_VECTOR,
		},
	};

	return cmx_operator_launch(op, rank, &step, CMX_ENTRY_COMPLETE);
}

int cmx_dispatch_program(struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	/* Every core looks at all choices for those that are its business. */
	uint64_t choices = (uint64_t)o->tokens * o->topk * op->cores;
	int ret = send_tokens(op, rank);

	if (!ret)
		ret = fence(op, rank);
	if (!ret)
		ret = cmx_operator_share(op, rank, choices, CMX_LIB_COUNT_PS);
	if (!ret)
		ret = send_flags(op, rank);
	if (!ret)
		ret = cmx_operator_wait(op, rank, o->ep, CMX_COND_NE, 0);
	if (!ret)
		ret = cmx_operator_share(op, rank, o->ep, CMX_LIB_PEER_PS);
	if (!ret)
		ret = cmx_operator_share(op, rank, cmx_operator_received(op, rank),
					 CMX_LIB_ROW_PS);
	if (!ret)
		ret = collect(op, rank);
	return ret;
}
