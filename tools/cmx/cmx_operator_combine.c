// SPDX-License-Identifier: GPL-2.0-only
/*
 * Combine of a rank: write the experts' results back to where their tokens came from, each
 * with an atomic on its token's flag; wait for the flags of the own tokens; weigh and sum.
 */
#include "cmx_operator.h"

#include <errno.h>
#include <stdlib.h>

#define BF16_BYTES	2
/* Multiply and add. */
#define REDUCE_OPS	2
#define DIV_UP(a, b)	(((a) + (b) - 1) / (b))

static uint64_t result_bytes(const struct cmx_operator *op)
{
	return cmx_operator_constant(op, CMX_LIB_RESULT);
}

int cmx_combine_memory(struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	struct cmx_operator_rank *r = &op->ranks[rank];
	uint64_t rows = cmx_operator_received(op, rank);
	int ret = cmx_operator_memory(op, rank, rows * result_bytes(op), false, &r->outbox);

	if (!ret)
		ret = cmx_operator_memory(op, rank, o->tokens * o->topk * result_bytes(op), false,
					  &r->inbox);
	if (!ret)
		ret = cmx_operator_memory(op, rank,
					  o->tokens * BF16_BYTES *
					  cmx_operator_constant(op, CMX_LIB_HIDDEN),
					  false, &r->out);
	if (!ret && !op->opt.data)
		ret = cmx_operator_memory(op, rank, 2 * rows * sizeof(struct cmx_record), true,
					  &r->records);
	return ret;
}

/*
 * The @step-th rank that @rank sends to, or one that is not there: its own NPU first, whose
 * link is another, then NPU by NPU, and in each the die with its own place first. At no step
 * do two send to one.
 */
static uint32_t peer_at(const struct cmx_operator *op, uint32_t rank, uint32_t step)
{
	uint32_t dies = op->dies_per_npu, npus = DIV_UP(op->routing.opt.ep, dies);

	return (rank / dies + step / dies) % npus * dies + (rank % dies + step % dies) % dies;
}

/* Rows lie by source: where those of each rank begin, in the order of sending. */
static void make_order(struct cmx_operator *op, uint32_t rank, uint32_t *starts)
{
	uint32_t ep = op->routing.opt.ep, *order = op->order + op->routing.first[rank], at = 0;

	for (uint32_t source = 0; source < ep; source++) {
		starts[source] = at;
		at += op->routing.sent[(uint64_t)source * ep + rank];
	}
	for (uint32_t step = 0; step < DIV_UP(ep, op->dies_per_npu) * op->dies_per_npu; step++) {
		uint32_t peer = peer_at(op, rank, step);

		for (uint32_t i = 0; peer < ep && i < op->routing.sent[peer * ep + rank]; i++)
			*order++ = starts[peer] + i;
	}
}

int cmx_combine_order(struct cmx_operator *op)
{
	uint32_t ep = op->routing.opt.ep, *starts = calloc(ep, sizeof(*starts));

	op->order = calloc(op->routing.first[ep] + 1ul, sizeof(*op->order));
	if (!starts || !op->order) {
		free(starts);
		return cmx_rig_fail(&op->rig, -ENOMEM, "no memory for the order of %u rows",
				    op->routing.first[ep]);
	}
	for (uint32_t rank = 0; rank < ep; rank++)
		make_order(op, rank, starts);
	free(starts);
	return 0;
}

void cmx_combine_record(const struct cmx_operator *op, uint32_t rank, uint32_t i,
			uint64_t pace_ps, struct cmx_record *record)
{
	uint32_t place = op->order[op->routing.first[rank] + i / 2];
	const struct cmx_row *row = op->routing.inbox + op->routing.first[rank] + place;
	const struct cmx_operator_rank *to = &op->ranks[row->source];

	*record = (struct cmx_record){
		.messages = 1, .at_ps = op->rig.launch_ps + pace_ps,
	};
	if (i % 2) {
		record->opcode = UB_OP_FADD;
		record->va = cmx_mem_va(to->flags) + 8ull * row->token;
		record->len = 8;
		record->value = 1;
		return;
	}
	record->opcode = UB_OP_WRITE;
	record->va = cmx_mem_va(to->inbox) +
		     ((uint64_t)row->token * op->routing.opt.topk + row->k) * result_bytes(op);
	record->src_va = cmx_mem_va(op->ranks[rank].outbox) + place * result_bytes(op);
	record->len = result_bytes(op);
}

/* What is sent is read where it lies: that memory time is charged with each row. */
static int send_results(struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_operator_step step = {
		.kernel = CMX_KERNEL_COMBINE_SEND,
		.grid = cmx_operator_received(op, rank) ? cmx_operator_received(op, rank) : 1,
		.cost = { .efficiency = CMX_EFF_VECTOR },
		.num_records = 2 * cmx_operator_received(op, rank),
		.record = cmx_combine_record,
	};

	return cmx_operator_launch(op, rank, &step, 0);
}

/* The experts' rows, the shared expert's, and the sum. */
static int reduce(struct cmx_operator *op, uint32_t rank)
{
	uint64_t tokens = op->routing.opt.tokens, topk = op->routing.opt.topk;
	uint64_t hidden = cmx_operator_constant(op, CMX_LIB_HIDDEN);
	const struct cmx_operator_step step = {
		.kernel = CMX_KERNEL_COMBINE_REDUCE,
		.grid = op->routing.opt.tokens,
		.cost = {
			.vector_ops = tokens * (topk + 1) * hidden * REDUCE_OPS,
			.mem_bytes = tokens * (topk * result_bytes(op) + 2 * BF16_BYTES * hidden),
			.efficiency = CMX_EFF_VECTOR,
		},
	};

	return cmx_operator_launch(op, rank, &step, CMX_ENTRY_COMPLETE);
}

int cmx_combine_program(struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	int ret = send_results(op, rank);

	if (!ret)
		ret = cmx_operator_wait(op, rank, o->tokens, CMX_COND_GE, o->topk);
	if (!ret)
		ret = cmx_operator_share(op, rank, (uint64_t)o->tokens * o->topk, CMX_LIB_ROW_PS);
	if (!ret)
		ret = reduce(op, rank);
	return ret;
}
