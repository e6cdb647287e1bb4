// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operators executed: NPU kernels, their input, and a check of what came out that goes by
 * the input and the routing alone.
 */
#include "cmx_operator.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Behind the values of a packet. */
struct packet_tail {
	float scale;
	uint32_t source;
	uint32_t token;
};

static uint32_t hidden_of(const struct cmx_operator *op)
{
	return (uint32_t)cmx_operator_constant(op, CMX_LIB_HIDDEN);
}

static float from_bf16(uint16_t bits)
{
	uint32_t wide = (uint32_t)bits << 16;
	float value;

	memcpy(&value, &wide, sizeof(value));
	return value;
}

/* To the nearest, ties to even; no NaN comes here. */
static uint16_t to_bf16(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
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

/* What the expert of @row made of it. */
static uint16_t result_of(const struct cmx_operator *op, const struct cmx_row *row, uint32_t h)
{
	return to_bf16(input_of(op, row->source, row->token, h) * expert_weight(row->expert));
}

static uint64_t packet_bytes(const struct cmx_operator *op)
{
	return cmx_operator_constant(op, CMX_LIB_PACKET);
}

static uint8_t *packet_of(const struct cmx_operator *op, uint32_t rank, uint32_t token)
{
	return (uint8_t *)cmx_mem_ptr(op->ranks[rank].outbox) +
	       (uint64_t)op->routing.opt.tokens * hidden_of(op) * 2 + token * packet_bytes(op);
}

static void quantise(const struct cmx_operator *op, uint32_t rank, uint32_t token)
{
	uint32_t n = hidden_of(op);
	const uint16_t *x = (const uint16_t *)cmx_mem_ptr(op->ranks[rank].outbox) +
			    (size_t)token * n;
	uint8_t *packet = packet_of(op, rank, token);
	struct packet_tail tail = { .source = rank, .token = token };
	float largest = 0;

	for (uint32_t h = 0; h < n; h++)
		largest = fmaxf(largest, fabsf(from_bf16(x[h])));
	tail.scale = largest > 0 ? largest / 127 : 1;
	for (uint32_t h = 0; h < n; h++)
		packet[h] = (uint8_t)(int8_t)lrintf(from_bf16(x[h]) / tail.scale);
	memcpy(packet + n, &tail, sizeof(tail));
}

static int emit(struct cmx_launch_ctx *lc, const struct cmx_operator_args *args, uint32_t first,
		uint32_t count, cmx_operator_record_fn record)
{
	int ret = 0;

	for (uint32_t i = first; i < first + count && !ret; i++) {
		struct cmx_record r;

		record(args->op, (uint32_t)args->rank, i, args->pace_ps, &r);
		ret = cmx_dev_record(lc, &r);
	}
	return ret ? 1 : 0;
}

/* A block is a token. */
static int dispatch_send(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct cmx_operator_args *args = bytes;
	uint32_t topk = args->op->routing.opt.topk;

	quantise(args->op, (uint32_t)args->rank, block);
	return emit(lc, args, block * topk, topk, cmx_dispatch_row_record);
}

static int dispatch_flag(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct cmx_operator_args *args = bytes;

	(void)block;
	return emit(lc, args, 0, args->op->routing.opt.ep, cmx_dispatch_flag_record);
}

/* A block is a source: its rows go behind those of the sources before it. */
static int dispatch_collect(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct cmx_operator_args *args = bytes;
	const struct cmx_operator *op = args->op;
	const struct cmx_operator_rank *r = &op->ranks[args->rank];
	const uint64_t *flags = cmx_mem_ptr(r->flags);
	const uint8_t *inbox = cmx_mem_ptr(r->inbox);
	uint64_t before = 0, count = flags[block] - 1;

	(void)lc;
	for (uint32_t source = 0; source < block; source++)
		before += flags[source] - 1;
	if (count > op->routing.max_slots ||
	    (before + count) * packet_bytes(op) > cmx_mem_size(r->out))
		return 2;
	memcpy((uint8_t *)cmx_mem_ptr(r->out) + before * packet_bytes(op),
	       inbox + (uint64_t)block * op->routing.max_slots * packet_bytes(op),
	       count * packet_bytes(op));
	return 0;
}

/* A block is a row: its bytes and its atomic. */
static int combine_send(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct cmx_operator_args *args = bytes;

	if (block >= cmx_operator_received(args->op, (uint32_t)args->rank))
		return 0;
	return emit(lc, args, 2 * block, 2, cmx_combine_record);
}

/* A block is a token; the shared expert gave the token itself. */
static int combine_reduce(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct cmx_operator_args *args = bytes;
	const struct cmx_operator *op = args->op;
	uint32_t n = hidden_of(op), topk = op->routing.opt.topk;
	const uint16_t *in = (const uint16_t *)cmx_mem_ptr(op->ranks[args->rank].inbox) +
			     (size_t)block * topk * n;
	uint16_t *out = (uint16_t *)cmx_mem_ptr(op->ranks[args->rank].out) + (size_t)block * n;

	(void)lc;
	for (uint32_t h = 0; h < n; h++) {
		float sum = input_of(op, (uint32_t)args->rank, block, h);

		for (uint32_t k = 0; k < topk; k++)
			sum += gate_weight(op, k) * from_bf16(in[(size_t)k * n + h]);
		out[h] = to_bf16(sum);
	}
	return 0;
}

int cmx_operator_data_kernels(struct cmx_operator *op)
{
	static const struct {
		const char *name;
		cmx_kernel_fn run;
	} list[CMX_OPERATOR_KERNELS] = {
		[CMX_KERNEL_DISPATCH_SEND] = { "dispatch.send", dispatch_send },
		[CMX_KERNEL_DISPATCH_FLAG] = { "dispatch.flag", dispatch_flag },
		[CMX_KERNEL_DISPATCH_COLLECT] = { "dispatch.collect", dispatch_collect },
		[CMX_KERNEL_COMBINE_SEND] = { "combine.send", combine_send },
		[CMX_KERNEL_COMBINE_REDUCE] = { "combine.reduce", combine_reduce },
	};
	uint64_t hidden = hidden_of(op);

	if (packet_bytes(op) < hidden + sizeof(struct packet_tail) || hidden % 4 ||
	    cmx_operator_constant(op, CMX_LIB_RESULT) != 2 * hidden)
		return cmx_rig_fail(&op->rig, -EINVAL,
				    "packets of %llu bytes do not hold a token of %llu elements",
				    (unsigned long long)packet_bytes(op),
				    (unsigned long long)hidden);
	for (int i = 0; i < CMX_OPERATOR_KERNELS; i++) {
		int ret = cmx_kernel_find(op->rig.ctx, list[i].name, &op->kernels[i]);

		/* An operator before this one may have named them. */
		if (ret)
			ret = cmx_kernel_register(op->rig.ctx, list[i].name, list[i].run,
						  &op->kernels[i]);
		if (ret)
			return cmx_rig_lib_fail(&op->rig, ret, list[i].name);
	}
	return 0;
}

void cmx_operator_data_fill(struct cmx_operator *op, uint32_t rank)
{
	uint32_t n = hidden_of(op), rows = cmx_operator_received(op, rank);
	uint16_t *to = cmx_mem_ptr(op->ranks[rank].outbox);

	if (op->kind == CMX_OPERATOR_DISPATCH) {
		for (uint32_t token = 0; token < op->routing.opt.tokens; token++)
			for (uint32_t h = 0; h < n; h++)
				*to++ = to_bf16(input_of(op, rank, token, h));
		return;
	}
	for (uint32_t i = 0; i < rows; i++)
		for (uint32_t h = 0; h < n; h++)
			*to++ = result_of(op, op->routing.inbox + op->routing.first[rank] + i, h);
}

static int wrong(struct cmx_operator *op, uint32_t rank, const struct cmx_row *row, uint32_t h)
{
	return cmx_rig_fail(&op->rig, -EILSEQ,
			    "%s: rank %u has wrong bytes for token %u of rank %u, element %u",
			    cmx_operator_name(op->kind), rank, row->token, row->source, h);
}

/* Half a step of the scale, and a little for the division. */
static int check_packet(struct cmx_operator *op, uint32_t rank, const struct cmx_row *row,
			const uint8_t *packet)
{
	uint32_t n = hidden_of(op);
	struct packet_tail tail;

	memcpy(&tail, packet + n, sizeof(tail));
	if (tail.source != row->source || tail.token != row->token)
		return wrong(op, rank, row, n);
	for (uint32_t h = 0; h < n; h++) {
		float x = input_of(op, row->source, row->token, h);

		if (!(fabsf((float)(int8_t)packet[h] * tail.scale - x) <= tail.scale * 0.501f))
			return wrong(op, rank, row, h);
	}
	return 0;
}

/* In double precision, from the input; two roundings to eight bits are allowed for. */
static int check_sum(struct cmx_operator *op, uint32_t rank, uint32_t token)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	const struct cmx_row *rows = op->routing.rows +
				     ((size_t)rank * o->tokens + token) * o->topk;
	uint32_t n = hidden_of(op);
	const uint16_t *out = (const uint16_t *)cmx_mem_ptr(op->ranks[rank].out) +
			      (size_t)token * n;

	for (uint32_t h = 0; h < n; h++) {
		double x = input_of(op, rank, token, h), sum = x;

		for (uint32_t k = 0; k < o->topk; k++)
			sum += (double)gate_weight(op, k) * x *
			       (double)expert_weight(rows[k].expert);
		if (!(fabs((double)from_bf16(out[h]) - sum) <= fabs(sum) / 128))
			return wrong(op, rank, rows, h);
	}
	return 0;
}

int cmx_operator_data_check(struct cmx_operator *op, uint32_t rank, uint64_t *checked)
{
	const uint8_t *out = cmx_mem_ptr(op->ranks[rank].out);
	bool dispatch = op->kind == CMX_OPERATOR_DISPATCH;
	uint32_t n = dispatch ? cmx_operator_received(op, rank) : op->routing.opt.tokens;
	int ret = 0;

	for (uint32_t i = 0; i < n && !ret; i++, ++*checked)
		ret = dispatch ? check_packet(op, rank,
					      op->routing.inbox + op->routing.first[rank] + i,
					      out + i * packet_bytes(op)) :
				 check_sum(op, rank, i);
	return ret;
}
