// SPDX-License-Identifier: GPL-2.0-only
/*
 * What dispatch and combine have in common: ranks, launches, waits and the result.
 */
#include "cmx_operator.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_clock.h"

/* Entries of a rank beside its waits, in slots. */
#define SLOTS_BESIDE	32

const char *cmx_operator_name(enum cmx_operator_kind kind)
{
	return kind == CMX_OPERATOR_DISPATCH ? "dispatch" : "combine";
}

int cmx_operator_memory(struct cmx_operator *op, uint32_t rank, uint64_t size, bool flags,
			struct cmx_mem **mem)
{
	bool bytes = op->opt.data || flags;

	return cmx_rig_memory(&op->rig, rank, size ? size : 8, bytes ? 0 : CMX_MEM_NO_DATA, mem);
}

static int append_records(struct cmx_operator *op, uint32_t rank,
			  const struct cmx_operator_step *step, uint64_t pace_ps,
			  struct cmx_launch_desc *desc)
{
	struct cmx_operator_rank *r = &op->ranks[rank];
	struct cmx_record *records = cmx_mem_ptr(r->records);
	size_t first = r->num_records;

	if ((first + step->num_records) * sizeof(*records) > cmx_mem_size(r->records))
		return cmx_rig_fail(&op->rig, -ENOSPC, "%s: more than %zu records of a rank",
				    cmx_operator_name(op->kind),
				    (size_t)cmx_mem_size(r->records) / sizeof(*records));
	for (uint32_t i = 0; i < step->num_records; i++)
		step->record(op, rank, i, pace_ps, &records[first + i]);
	desc->record_va = cmx_va(records + first);
	desc->record_count = step->num_records;
	r->num_records += step->num_records;
	return 0;
}

int cmx_operator_launch(struct cmx_operator *op, uint32_t rank,
			const struct cmx_operator_step *step, uint32_t flags)
{
	struct cmx_operator_rank *r = &op->ranks[rank];
	struct cmx_operator_args args = {
		.op = op, .rank = rank, .pace_ps = cmx_launch_bound(r->queue, &step->cost),
	};
	struct cmx_launch_desc desc = {
		.cost = step->cost, .grid = 1,
		.first_ps = step->num_records ? op->rig.launch_ps : UINT64_MAX,
	};
	int ret = 0;

	if (op->opt.data) {
		desc.kernel = op->kernels[step->kernel];
		desc.grid = step->grid;
		desc.args = &args;
		desc.args_size = sizeof(args);
		desc.min_ps = args.pace_ps;
	} else {
		desc.launch_flags = CMX_LAUNCH_TIME_ONLY;
		if (step->num_records)
			ret = append_records(op, rank, step, args.pace_ps, &desc);
	}
	if (ret)
		return ret;
	ret = cmx_queue_launch(r->queue, &desc, flags, rank);
	return ret ? cmx_rig_lib_fail(&op->rig, ret, "launch") : 0;
}

int cmx_operator_wait(struct cmx_operator *op, uint32_t rank, uint32_t n, uint32_t cond,
		      uint64_t value)
{
	struct cmx_operator_rank *r = &op->ranks[rank];
	int ret = 0;

	for (uint32_t i = 0; i < n && !ret; i++)
		ret = cmx_queue_wait(r->queue, cmx_mem_va(r->flags) + 8ull * i, cond, value, 0,
				     rank);
	return ret ? cmx_rig_lib_fail(&op->rig, ret, "wait") : 0;
}

int cmx_operator_share(struct cmx_operator *op, uint32_t rank, uint64_t n,
		       enum cmx_lib_constant ps)
{
	return cmx_rig_delay(&op->rig, op->ranks[rank].queue,
			     n * cmx_operator_constant(op, ps) / op->cores, 0, rank);
}

static int make_queue(struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	uint32_t want = (o->ep > o->tokens ? o->ep : o->tokens) + SLOTS_BESIDE, slots = 64;

	while (slots < want)
		slots *= 2;
	return cmx_rig_queue(&op->rig, rank, CMX_QUEUE_STREAM, slots, 0, &op->ranks[rank].queue);
}

static int make_rank(struct cmx_operator *op, uint32_t rank)
{
	const struct cmx_routing_options *o = &op->routing.opt;
	uint64_t words = (o->ep > o->tokens ? o->ep : o->tokens) + 1;
	int ret = make_queue(op, rank);

	if (!ret)
		ret = cmx_operator_memory(op, rank, words * 8, true, &op->ranks[rank].flags);
	if (!ret)
		ret = op->kind == CMX_OPERATOR_DISPATCH ? cmx_dispatch_memory(op, rank) :
							  cmx_combine_memory(op, rank);
	if (!ret && op->opt.data)
		cmx_operator_data_fill(op, rank);
	return ret;
}

/* Programs name the flags of all ranks, so these come first. */
static int make_ranks(struct cmx_operator *op)
{
	uint32_t ep = op->routing.opt.ep;
	int ret = 0;

	if (op->kind == CMX_OPERATOR_COMBINE)
		ret = cmx_combine_order(op);
	for (uint32_t rank = 0; rank < ep && !ret; rank++)
		ret = make_rank(op, rank);
	for (uint32_t rank = 0; rank < ep && !ret; rank++)
		ret = op->kind == CMX_OPERATOR_DISPATCH ? cmx_dispatch_program(op, rank) :
							  cmx_combine_program(op, rank);
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
	op->dies_per_npu = device->num_dies / device->num_npus;
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

static int setup(struct cmx_operator *op, struct cmx_ctx *ctx)
{
	struct drm_cmx_info_entity die;
	int ret = cmx_libprofile_needs(op->profile, CMX_LIB_HIDDEN, CMX_LIB_FIT_TOPK,
				       cmx_operator_name(op->kind));

	if (ret)
		return cmx_rig_fail(&op->rig, ret, "%s", op->profile->error);
	ret = check_options(op, ctx);
	if (ret)
		return ret;
	ret = cmx_entity_info(ctx, 0, &die);
	if (ret)
		return cmx_rig_lib_fail(&op->rig, ret, "die");
	op->cores = die.vector_cores;
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
	return op->opt.data ? cmx_operator_data_kernels(op) : 0;
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
		ret = cmx_rig_finish(&op->rig, ep, op->ends, ep);
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
	cmx_rig_close(&op->rig);
	cmx_routing_free(&op->routing);
	free(op->ranks);
	free(op->order);
	free(op->ends);
	free(op);
	return ret;
}
