// SPDX-License-Identifier: GPL-2.0-only
/*
 * Executed operators: the tokens that go in, what their experts make of them, and a check of
 * what comes out that goes by the input and the routing alone.
 */
#include "cmx_operator.h"

#include <errno.h>
#include <math.h>
#include <string.h>

static uint32_t hidden_of(const struct cmx_operator *op)
{
	return (uint32_t)cmx_operator_constant(op, CMX_LIB_HIDDEN);
}

/* Element of a token before it is sent: a number of eight bits, so exact in BF16. */
static float input_of(const struct cmx_operator *op, uint32_t source, uint32_t token, uint32_t h)
{
	uint64_t bits = cmx_routing_mix(op->routing.opt.seed ^ (uint64_t)source << 32 ^ token,
					h / 8) >> (h % 8 * 8);

	return (float)(int8_t)(bits & 0xff) / 16;
}

static float expert_weight(uint32_t expert)
{
	return 1 + (float)(expert % 64) / 64;
}

static float gate_weight(const struct cmx_operator *op, uint32_t k)
{
	uint32_t n = op->routing.opt.topk;

	return (float)(2 * (n - k)) / (float)(n * (n + 1));
}

static void make_input(struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	const struct cmx_row *rows = op->routing.rows + (size_t)rank * o->tokens * o->topk;
	struct cmx_operator_rank *r = &op->ranks[rank];
	uint32_t n = hidden_of(op);

	for (uint32_t token = 0; token < o->tokens; token++) {
		for (uint32_t h = 0; h < n; h++)
			r->x[(size_t)token * n + h] = input_of(op, rank, token, h);
		for (uint32_t k = 0; k < o->topk; k++) {
			size_t i = (size_t)token * o->topk + k;

			r->ids[i] = cmx_operator_piece(op, &rows[i]);
			r->weights[i] = gate_weight(op, k);
		}
	}
}

int cmx_operator_data_make(struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	size_t tokens = (size_t)o->tokens * hidden_of(op), choices = (size_t)o->tokens * o->topk;
	size_t rows = (size_t)cmx_operator_received(op, rank) * hidden_of(op);
	struct cmx_operator_rank *r = &op->ranks[rank];
	struct cmx_mem *mem;
	int ret = cmx_rig_memory(&op->rig, rank, 4 * (2 * tokens + rows + 2 * choices), 0, &mem);

	if (ret)
		return ret;
	r->x = cmx_mem_ptr(mem);
	r->out = r->x + tokens;
	r->y = r->out + tokens;
	r->weights = r->y + rows;
	r->ids = (int32_t *)(r->weights + choices);
	make_input(op, rank);
	return 0;
}

void cmx_operator_data_experts(struct cmx_operator *op, uint32_t rank)
{
	float *y = op->ranks[rank].y;

	for (uint32_t i = 0; i < cmx_operator_received(op, rank); i++) {
		const struct cmx_row *row = cmx_operator_row(op, rank, i);

		for (uint32_t h = 0; h < hidden_of(op); h++)
			*y++ = input_of(op, row->source, row->token, h) *
			       expert_weight(row->expert);
	}
}

static int wrong(struct cmx_operator *op, uint32_t rank, const struct cmx_row *row, uint32_t h)
{
	return cmx_rig_fail(&op->rig, -EILSEQ,
			    "%s: rank %u has wrong bytes for token %u of rank %u, element %u",
			    cmx_operator_name(op->kind), rank, row->token, row->source, h);
}

/* Half a step of the scale, and a little for the division. */
static int check_packet(struct cmx_operator *op, uint32_t rank, const struct cmx_row *row,
			const char *packet)
{
	uint32_t n = hidden_of(op);
	float scale;

	memcpy(&scale, packet + n, sizeof(scale));
	for (uint32_t h = 0; h < n; h++) {
		float x = input_of(op, row->source, row->token, h);

		if (!(fabsf((float)(int8_t)packet[h] * scale - x) <= scale * 0.501f))
			return wrong(op, rank, row, h);
	}
	return 0;
}

/* In double precision, from the input; the rounding of a result is allowed for. */
static int check_sum(struct cmx_operator *op, uint32_t rank, uint32_t token)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	const struct cmx_row *rows = op->routing.rows +
				     ((size_t)rank * o->tokens + token) * o->topk;
	uint32_t n = hidden_of(op);
	const float *out = op->ranks[rank].out + (size_t)token * n;

	for (uint32_t h = 0; h < n; h++) {
		double x = input_of(op, rank, token, h), sum = x;

		for (uint32_t k = 0; k < o->topk; k++)
			sum += (double)gate_weight(op, k) * x *
			       (double)expert_weight(rows[k].expert);
		if (!(fabs((double)out[h] - sum) <= fabs(sum) / 256))
			return wrong(op, rank, rows, h);
	}
	return 0;
}

static int check_received(struct cmx_operator *op, uint32_t rank, uint64_t *checked)
{
	const struct cmx_ep_received *received = &op->ranks[rank].received;
	const char *rows = (const char *)(uintptr_t)received->rows_va;
	const uint32_t *plan = (const uint32_t *)(uintptr_t)received->plan_va;
	uint32_t n = cmx_operator_received(op, rank);
	int ret = 0;

	if (plan[1] != n)
		return cmx_rig_fail(&op->rig, -EILSEQ, "dispatch: rank %u got %u rows, not %u",
				    rank, plan[1], n);
	for (uint32_t i = 0; i < n && !ret; i++, ++*checked)
		ret = check_packet(op, rank, cmx_operator_row(op, rank, i),
				   rows + (uint64_t)i * received->row_stride);
	return ret;
}

int cmx_operator_data_check(struct cmx_operator *op, uint32_t rank, uint64_t *checked)
{
	int ret = 0;

	if (op->kind == CMX_OPERATOR_DISPATCH)
		return check_received(op, rank, checked);
	for (uint32_t token = 0; token < op->routing.opt.tokens && !ret; token++, ++*checked)
		ret = check_sum(op, rank, token);
	return ret;
}
