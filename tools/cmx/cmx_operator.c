// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dispatch and combine of all ranks at once, by cmx/ep.h, and the mean of their ends.
 */
#include "cmx_operator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_clock.h"

const char *cmx_operator_name(enum cmx_operator_kind kind)
{
	return kind == CMX_OPERATOR_DISPATCH ? "dispatch" : "combine";
}

/* The library's expert: pieces are numbered by rank. */
static uint32_t first_expert(const struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_routing_options *o = &op->routing.opt;

	return (uint32_t)((uint64_t)rank * o->experts / o->ep);
}

int32_t cmx_operator_piece(const struct cmx_operator *op, const struct cmx_row *row)
{
	return (int32_t)(row->rank * op->local + row->expert - first_expert(op, row->rank));
}

static int make_placement(struct cmx_operator *op, int32_t **placement)
{
	uint32_t pieces;

	op->local = 1;
	for (uint32_t i = 0; i < op->routing.first[op->routing.opt.ep]; i++) {
		const struct cmx_row *row = &op->routing.inbox[i];
		uint32_t place = row->expert - first_expert(op, row->rank);

		if (place >= op->local)
			op->local = place + 1;
	}
	pieces = op->routing.opt.ep * op->local;
	*placement = malloc(pieces * sizeof(**placement));
	if (!*placement)
		return cmx_rig_fail(&op->rig, -ENOMEM, "no memory for the places of experts");
	for (uint32_t i = 0; i < pieces; i++)
		(*placement)[i] = (int32_t)i;
	return 0;
}

/* By piece, then source, then token: rows of a source lie by token already. */
static void order_rank(struct cmx_operator *op, uint32_t rank)
{
	uint32_t first = op->routing.first[rank], n = cmx_operator_received(op, rank);
	uint32_t *order = op->order + first, at = 0;

	for (uint32_t e = 0; e < op->local; e++) {
		for (uint32_t i = 0; i < n; i++) {
			const struct cmx_row *row = &op->routing.inbox[first + i];

			if (row->expert - first_expert(op, rank) == e)
				order[at++] = first + i;
		}
	}
}

static int make_ep(struct cmx_operator *op)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	struct cmx_ep_desc desc = {
		.ranks = o->ep, .topk = o->topk, .max_tokens = o->tokens,
		.hidden = (uint32_t)cmx_operator_constant(op, CMX_LIB_HIDDEN),
		.experts = o->ep * op->local, .local = op->local,
		.dispatch_format = CMX_EP_INT8, .combine_format = CMX_EP_BF16,
		.packet_bytes = (uint32_t)cmx_operator_constant(op, CMX_LIB_PACKET),
		.flags = op->opt.data ? 0 : CMX_EP_TIME_ONLY,
		.timeline = op->rig.timeline,
		.costs = {
			.row_ps = cmx_operator_constant(op, CMX_LIB_ROW_PS),
			.count_ps = cmx_operator_constant(op, CMX_LIB_COUNT_PS),
			.peer_ps = cmx_operator_constant(op, CMX_LIB_PEER_PS),
		},
	};
	uint32_t *entities = malloc(o->ep * sizeof(*entities));
	int32_t *placement = NULL;
	int ret = make_placement(op, &placement);

	if (!ret && !entities)
		ret = cmx_rig_fail(&op->rig, -ENOMEM, "no memory for %u ranks", o->ep);
	for (uint32_t rank = 0; rank < o->ep && !ret; rank++) {
		entities[rank] = rank;
		if (cmx_operator_received(op, rank) > desc.max_rows)
			desc.max_rows = cmx_operator_received(op, rank);
	}
	desc.experts = o->ep * op->local;
	desc.local = op->local;
	desc.entities = entities;
	desc.placement = placement;
	if (!ret && cmx_ep_create(op->rig.ctx, &desc, &op->ep))
		ret = cmx_rig_lib_fail(&op->rig, cmx_last_error()->code, "buffers");
	free(placement);
	free(entities);
	return ret;
}

/* What the gate of a rank chose, for time-only mode. */
static int give_routing(struct cmx_operator *op, uint32_t rank, int32_t *ids)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	const struct cmx_row *rows = op->routing.rows + (size_t)rank * o->tokens * o->topk;
	int ret;

	for (uint32_t i = 0; i < o->tokens * o->topk; i++)
		ids[i] = cmx_operator_piece(op, &rows[i]);
	ret = cmx_ep_set_routing(op->ep, rank, ids, o->tokens);
	return ret ? cmx_rig_lib_fail(&op->rig, ret, "routing") : 0;
}

static int give_routings(struct cmx_operator *op)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	int32_t *ids = malloc((size_t)o->tokens * o->topk * sizeof(*ids));
	int ret = ids ? 0 : cmx_rig_fail(&op->rig, -ENOMEM, "no memory for choices");

	for (uint32_t rank = 0; rank < o->ep && !ret; rank++)
		ret = give_routing(op, rank, ids);
	free(ids);
	return ret;
}

static int make_rank(struct cmx_operator *op, uint32_t rank)
{
	uint32_t slots = 64;
	int ret;

	while (slots < 2 * cmx_ep_slots(op->ep))
		slots *= 2;
	ret = cmx_rig_queue(&op->rig, rank, CMX_QUEUE_STREAM, slots, 0, &op->ranks[rank].queue);
	if (!ret && op->opt.data)
		ret = cmx_operator_data_make(op, rank);
	return ret;
}

static int make_ranks(struct cmx_operator *op)
{
	uint32_t ep = op->routing.opt.ep;
	int ret = make_ep(op);

	op->order = calloc(op->routing.first[ep] + 1ul, sizeof(*op->order));
	if (!ret && !op->order)
		ret = cmx_rig_fail(&op->rig, -ENOMEM, "no memory for the order of %u rows",
				   op->routing.first[ep]);
	for (uint32_t rank = 0; rank < ep && !ret; rank++)
		order_rank(op, rank);
	for (uint32_t rank = 0; rank < ep && !ret; rank++)
		ret = make_rank(op, rank);
	if (!ret && !op->opt.data)
		ret = give_routings(op);
	return ret;
}

static int append_dispatch(struct cmx_operator *op, uint32_t rank)
{
	struct cmx_operator_rank *r = &op->ranks[rank];
	const struct cmx_ep_dispatch dispatch = {
		.x_va = cmx_va(r->x), .ids_va = cmx_va(r->ids),
		.x_stride = (uint32_t)cmx_operator_constant(op, CMX_LIB_HIDDEN) * 4,
		.tokens = op->routing.opt.tokens,
	};
	int ret = cmx_ep_dispatch_post(op->ep, rank, r->queue, &dispatch, 0, rank);

	if (!ret)
		ret = cmx_ep_dispatch_wait(op->ep, rank, r->queue, &r->received,
					   CMX_ENTRY_COMPLETE, rank);
	return ret ? cmx_rig_lib_fail(&op->rig, ret, "dispatch") : 0;
}

static int append_combine(struct cmx_operator *op, uint32_t rank)
{
	struct cmx_operator_rank *r = &op->ranks[rank];
	uint32_t stride = (uint32_t)cmx_operator_constant(op, CMX_LIB_HIDDEN) * 4;
	/* The shared expert gave the token itself. */
	const struct cmx_ep_sum sum = {
		.weights_va = cmx_va(r->weights), .shared_va = cmx_va(r->x),
		.out_va = cmx_va(r->out), .stride = stride,
	};
	int ret;

	if (op->opt.data)
		cmx_operator_data_experts(op, rank);
	ret = cmx_ep_combine_post(op->ep, rank, r->queue, cmx_va(r->y), stride, 0, rank);
	if (!ret)
		ret = cmx_ep_combine_wait(op->ep, rank, r->queue, &sum, NULL, CMX_ENTRY_COMPLETE,
					  rank);
	return ret ? cmx_rig_lib_fail(&op->rig, ret, "combine") : 0;
}

/* All ranks at once; from when on is what an end of theirs is counted from. */
static int measure(struct cmx_operator *op, int (*append)(struct cmx_operator *, uint32_t))
{
	uint64_t start = cmx_timeline_now(op->rig.timeline);
	uint32_t ep = op->routing.opt.ep;
	int ret = 0;

	for (uint32_t rank = 0; rank < ep && !ret; rank++)
		ret = append(op, rank);
	if (!ret)
		ret = cmx_rig_finish(&op->rig, ep, op->ends, ep);
	for (uint32_t rank = 0; rank < ep; rank++)
		op->ends[rank] -= start;
	return ret;
}

/* A combine's row is followed by its flag. */
static uint32_t records_per_row(const struct cmx_operator *op)
{
	return op->kind == CMX_OPERATOR_COMBINE ? 2 : 1;
}

/* @records that a launch of some rank has to send. */
static int check_records(struct cmx_operator *op, struct cmx_ctx *ctx, uint64_t records)
{
	const struct cmx_routing_options *o = &op->opt.routing;
	uint32_t limit = cmx_limits(ctx)->max_records;

	if (records <= limit)
		return 0;
	return cmx_rig_fail(&op->rig, -ERANGE,
			    "--tokens %u times --topk %u: a launch of %s would send %llu "
			    "records, more than %u",
			    o->tokens, o->topk, cmx_operator_name(op->kind),
			    (unsigned long long)records, limit);
}

static int check_options(struct cmx_operator *op, struct cmx_ctx *ctx)
{
	const struct drm_cmx_info_device *device = cmx_device(ctx);
	struct cmx_routing_options *o = &op->opt.routing;

	if (!o->experts)
		o->experts = (uint32_t)cmx_operator_constant(op, CMX_LIB_EXPERTS);
	if (o->ep < 2 || o->ep > device->num_dies)
		return cmx_rig_fail(&op->rig, -EINVAL,
				    "--ep is %u, not 2 to %u, the machine's dies", o->ep,
				    device->num_dies);
	if (!o->tokens || o->tokens > 4096)
		return cmx_rig_fail(&op->rig, -EINVAL, "--tokens is %u, not 1 to 4096", o->tokens);
	if (!o->topk || o->topk > 32 || o->topk > o->experts)
		return cmx_rig_fail(&op->rig, -EINVAL, "--topk is %u, not 1 to %u", o->topk,
				    o->experts < 32 ? o->experts : 32);
	/* The busiest rank of a combine has the mean or more, which the routing will tell. */
	return check_records(op, ctx, (uint64_t)o->tokens * o->topk * records_per_row(op));
}

static int check_busiest(struct cmx_operator *op, struct cmx_ctx *ctx)
{
	uint64_t rows = 0;

	for (uint32_t rank = 0; rank < op->routing.opt.ep; rank++) {
		if (cmx_operator_received(op, rank) > rows)
			rows = cmx_operator_received(op, rank);
	}
	return op->kind == CMX_OPERATOR_COMBINE ?
		check_records(op, ctx, rows * records_per_row(op)) : 0;
}

/* The library's formats: INT8 there, BF16 back. */
static int check_formats(struct cmx_operator *op)
{
	uint64_t hidden = cmx_operator_constant(op, CMX_LIB_HIDDEN);

	if (cmx_operator_constant(op, CMX_LIB_RESULT) == 2 * hidden)
		return 0;
	return cmx_rig_fail(&op->rig, -EINVAL,
			    "result_bytes is %llu, not 2 for each of %llu elements",
			    (unsigned long long)cmx_operator_constant(op, CMX_LIB_RESULT),
			    (unsigned long long)hidden);
}

static int setup(struct cmx_operator *op, struct cmx_ctx *ctx)
{
	int ret = cmx_libprofile_needs(op->profile, CMX_LIB_HIDDEN, CMX_LIB_FIT_TOPK,
				       cmx_operator_name(op->kind));

	if (ret)
		return cmx_rig_fail(&op->rig, ret, "%s", op->profile->error);
	ret = check_options(op, ctx);
	if (ret)
		return ret;
	ret = check_formats(op);
	if (ret)
		return ret;
	ret = cmx_routing_make(&op->routing, &op->opt.routing);
	if (ret)
		return cmx_rig_fail(&op->rig, ret, "routing of %u tokens on %u ranks: %s",
				    op->opt.routing.tokens, op->opt.routing.ep, strerror(-ret));
	ret = check_busiest(op, ctx);
	if (ret)
		return ret;
	op->ranks = calloc(op->routing.opt.ep, sizeof(*op->ranks));
	op->ends = calloc(op->routing.opt.ep, sizeof(*op->ends));
	if (!op->ranks || !op->ends)
		return cmx_rig_fail(&op->rig, -ENOMEM, "no memory for %u ranks",
				    op->routing.opt.ep);
	return 0;
}

static bool extrapolates(const struct cmx_operator *op)
{
	const struct cmx_routing_options *o = &op->routing.opt;

	return op->rig.extrapolated || o->balanced ||
	       o->ep < cmx_operator_constant(op, CMX_LIB_FIT_MIN_EP) ||
	       o->ep > cmx_operator_constant(op, CMX_LIB_FIT_MAX_EP) ||
	       o->tokens != cmx_operator_constant(op, CMX_LIB_FIT_TOKENS) ||
	       o->topk != cmx_operator_constant(op, CMX_LIB_FIT_TOPK);
}

static void sum_up(const struct cmx_operator *op, struct cmx_operator_result *result)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	bool dispatch = op->kind == CMX_OPERATOR_DISPATCH;
	uint64_t sum = 0;

	result->min_ps = UINT64_MAX;
	for (uint32_t rank = 0; rank < o->ep; rank++) {
		sum += op->ends[rank];
		if (op->ends[rank] < result->min_ps)
			result->min_ps = op->ends[rank];
		if (op->ends[rank] > result->max_ps)
			result->max_ps = op->ends[rank];
		if (cmx_operator_received(op, rank) > result->busiest)
			result->busiest = cmx_operator_received(op, rank);
	}
	result->mean_ps = sum / o->ep;
	result->bytes = (uint64_t)o->tokens * o->topk *
			cmx_operator_constant(op, dispatch ? CMX_LIB_PACKET : CMX_LIB_RESULT);
	result->experts = o->experts;
	result->extrapolated = extrapolates(op);
}

static int execute(struct cmx_operator *op, struct cmx_operator_result *result)
{
	uint32_t ep = op->routing.opt.ep;
	uint64_t start = cmx_clock_ns();
	int ret = make_ranks(op);

	if (!ret)
		ret = measure(op, append_dispatch);
	if (!ret && op->kind == CMX_OPERATOR_COMBINE)
		ret = measure(op, append_combine);
	result->host_ns = cmx_clock_ns() - start;
	for (uint32_t rank = 0; rank < ep && !ret && op->opt.data; rank++)
		ret = cmx_operator_data_check(op, rank, &result->checked);
	if (!ret)
		sum_up(op, result);
	return ret;
}

int cmx_operator_run(struct cmx_ctx *ctx, enum cmx_operator_kind kind,
		     struct cmx_libprofile *profile, const struct cmx_operator_options *opt,
		     struct cmx_operator_result *result)
{
	struct cmx_operator *op = calloc(1, sizeof(*op));
	int ret;

	memset(result, 0, sizeof(*result));
	if (!op) {
		snprintf(result->error, sizeof(result->error), "no memory for the operator");
		return -ENOMEM;
	}
	op->profile = profile;
	op->opt = *opt;
	op->kind = kind;
	ret = cmx_rig_open(&op->rig, ctx, 1024);
	if (!ret)
		ret = setup(op, ctx);
	if (!ret)
		ret = execute(op, result);
	memcpy(result->error, op->rig.error, sizeof(result->error));
	cmx_ep_destroy(op->ep);
	cmx_rig_close(&op->rig);
	cmx_routing_free(&op->routing);
	free(op->ranks);
	free(op->order);
	free(op->ends);
	free(op);
	return ret;
}
