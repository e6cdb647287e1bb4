// SPDX-License-Identifier: GPL-2.0-only
#include "load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RING_SLOTS	256
#define CQ_ENTRIES	512
#define FLUSHED		13

struct part part_nodes(const struct world *world, uint32_t first, uint32_t last)
{
	struct part part = { 0 };

	for (uint32_t e = 0; e < world->machine.num_entities; e++) {
		uint32_t node = world_node(world, e);

		part.has[e] = node >= first && node < last;
	}
	return part;
}

struct part part_all(const struct world *world)
{
	return part_nodes(world, 0, world->machine.nodes);
}

uint32_t part_pick(const struct world *world, const struct part *part, struct random *random)
{
	uint32_t e;

	do {
		e = random_below(random, world->machine.num_entities);
	} while (!part->has[e]);
	return e;
}

static uint32_t pick_kind(const struct world *world, const struct part *part, bool die,
			  struct random *random)
{
	uint32_t e;

	/* There is one: the queue's own entity. */
	do {
		e = part_pick(world, part, random);
	} while (world_is_die(world, e) != die);
	return e;
}

/* What the other end may be, by the planes of the queue. */
static uint32_t pick_peer(const struct world *world, const struct part *part,
			  const struct line *line, struct random *random)
{
	if (line->planes == 1U << CMX_FABRIC_PLANE_RDMA)
		return pick_kind(world, part, true, random);
	if (line->planes == 1U << CMX_FABRIC_PLANE_VPC)
		return pick_kind(world, part, false, random);
	return part_pick(world, part, random);
}

static enum op_kind pick_op(const struct line *line, struct random *random)
{
	uint32_t dice = random_below(random, 8);

	if (!dice)
		return OP_DELAY;
	switch (line->queue_class) {
	case CMX_QUEUE_UB:
		return dice == 1 ? OP_ATOMIC : dice & 1 ? OP_READ : OP_WRITE;
	case CMX_QUEUE_STREAM:
		return dice < 4 ? OP_RECORD : OP_COPY;
	default:
		return OP_COPY;
	}
}

struct op op_random(const struct world *world, const struct part *part, const struct line *line,
		    struct random *random)
{
	uint32_t peer = pick_peer(world, part, line, random);
	struct op op = {
		.kind = pick_op(line, random),
		.from = line->entity,
		.to = peer,
		.bytes = random_scaled(random, 512, MAX_BYTES),
	};

	switch (op.kind) {
	case OP_DELAY:
		op.to = line->entity;
		op.bytes = 0;
		op.ps = random_scaled(random, 1000, 100000000);
		break;
	case OP_READ:
		op.from = peer;
		op.to = line->entity;
		break;
	case OP_ATOMIC:
		/* The old value comes back. */
		op.from = peer;
		op.to = line->entity;
		op.bytes = 8;
		break;
	case OP_COPY:
		/* Also what others have. */
		if (random_below(random, 2))
			op.from = pick_peer(world, part, line, random);
		break;
	default:
		break;
	}
	return op;
}

static uint32_t random_planes(const struct world *world, bool die, struct random *random)
{
	uint32_t all = (1U << world->machine.planes) - 1;

	switch (random_below(random, 8)) {
	case 0:
		return 1U << (die ? CMX_FABRIC_PLANE_RDMA : CMX_FABRIC_PLANE_VPC);
	case 1:
		return 1U << random_below(random, world->machine.planes);
	case 2:
		return (uint32_t)random_u64(random) & all;
	default:
		return 0;
	}
}

struct line *load_add_line(struct load *load, const struct world *world, const struct part *part,
			   uint32_t ops, struct random *random)
{
	struct line *line = &load->lines[load->count++];
	bool die;

	*line = (struct line){ .entity = part_pick(world, part, random) };
	die = world_is_die(world, line->entity);
	line->queue_class = random_below(random, 2) ? CMX_QUEUE_UB :
			    die && random_below(random, 2) ? CMX_QUEUE_STREAM : CMX_QUEUE_SDMA;
	line->planes = random_planes(world, die, random);
	line->overlap = !random_below(random, 4);
	for (; line->count < ops; line->count++)
		line->ops[line->count] = op_random(world, part, line, random);
	return line;
}

void load_in_order(struct load *load)
{
	for (uint32_t i = 0; i < load->count; i++)
		load->lines[i].overlap = false;
}

void load_add(struct load *load, const struct world *world, const struct part *part,
	      uint32_t lines, uint32_t ops, struct random *random)
{
	while (lines--)
		load_add_line(load, world, part, ops, random);
}

/* ------------------------------------------------------------------------- running */

/** struct place - what an entity has for a run. */
struct place {
	struct cmx_mem *source;
	struct cmx_mem *sink;
	/* Words of atomics, then records. */
	struct cmx_mem *data;
};

/** struct run - a load being carried out. */
struct run {
	const struct world *world;
	struct load *load;
	struct cmx_ctx *ctx;
	struct cmx_cq *cq;
	struct cmx_queue *queues[MAX_QUEUES];
	struct place places[MAX_ENTITIES];
	uint32_t records;
};

static int make_places(struct run *run)
{
	int ret = 0;

	for (uint32_t e = 0; !ret && e < run->world->machine.num_entities; e++) {
		struct place *place = &run->places[e];

		ret = cmx_mem_alloc(run->ctx, e, MAX_BYTES, CMX_MEM_NO_DATA, &place->source);
		if (!ret)
			ret = cmx_mem_alloc(run->ctx, e, MAX_BYTES, CMX_MEM_NO_DATA, &place->sink);
		if (!ret)
			ret = cmx_mem_alloc(run->ctx, e, 65536, 0, &place->data);
	}
	return ret;
}

static int make_queues(struct run *run)
{
	int ret = cmx_cq_create(run->ctx, NULL, CQ_ENTRIES, CMX_CQ_BACKPRESSURE, &run->cq);

	for (uint32_t i = 0; !ret && i < run->load->count; i++) {
		const struct line *line = &run->load->lines[i];
		struct cmx_queue_desc desc = {
			.cq = run->cq, .entity = line->entity, .queue_class = line->queue_class,
			.planes = line->planes, .slots = RING_SLOTS,
		};

		ret = cmx_queue_create(run->ctx, &desc, &run->queues[i]);
	}
	return ret;
}

static int push_record(struct run *run, const struct line *line, const struct op *op,
		       struct cmx_queue *q, uint32_t flags, uint64_t ctx)
{
	struct place *own = &run->places[line->entity];
	struct cmx_record *records = cmx_mem_ptr(own->data);
	uint32_t slot = 1 + run->records++ % 500;
	struct cmx_launch_desc desc = {
		.launch_flags = CMX_LAUNCH_TIME_ONLY, .record_count = 1,
		.record_va = cmx_mem_va(own->data) + slot * sizeof(*records),
	};

	records[slot] = (struct cmx_record){
		.opcode = UB_OP_WRITE, .messages = 1 + (uint32_t)op->bytes % 3,
		.va = cmx_mem_va(run->places[op->to].sink), .len = op->bytes,
		.src_va = cmx_mem_va(own->source),
	};
	return cmx_queue_launch(q, &desc, flags, ctx);
}

static int push_op(struct run *run, const struct line *line, const struct op *op,
		   struct cmx_queue *q, uint64_t ctx)
{
	uint64_t source = cmx_mem_va(run->places[op->from].source);
	uint64_t sink = cmx_mem_va(run->places[op->to].sink);
	bool overlap = line->overlap && op->kind <= OP_COPY;
	uint32_t flags = CMX_ENTRY_COMPLETE | (overlap ? CMX_ENTRY_OVERLAP : 0);

	switch (op->kind) {
	case OP_READ:
		return cmx_queue_read(q, sink, source, op->bytes, flags, ctx);
	case OP_WRITE:
		return cmx_queue_write(q, sink, source, op->bytes, flags, ctx);
	case OP_COPY:
		return cmx_queue_copy(q, sink, source, op->bytes, flags, ctx);
	case OP_ATOMIC:
		return cmx_queue_atomic(q, UB_OP_FADD, cmx_mem_va(run->places[op->from].data), 8,
					1, 0, 0, flags, ctx);
	case OP_RECORD:
		return push_record(run, line, op, q, flags, ctx);
	default:
		return cmx_queue_delay(q, op->ps, flags, ctx);
	}
}

static int push_all(struct run *run)
{
	int ret = 0;

	for (uint32_t i = 0; i < run->load->count; i++) {
		const struct line *line = &run->load->lines[i];

		for (uint32_t j = 0; !ret && j < line->count; j++)
			ret = push_op(run, line, &line->ops[j], run->queues[i],
				      (uint64_t)i << 32 | j);
	}
	for (uint32_t i = 0; !ret && i < run->load->count; i++)
		ret = cmx_queue_submit(run->queues[i]);
	return ret;
}

/* Flushed entries keep no time of their own; the marker of a flush is nobody's. */
static int take_completions(struct run *run)
{
	struct cmx_cqe cqe;

	while (cmx_cq_read(run->cq, &cqe) == 1) {
		uint32_t i = (uint32_t)(cqe.user_ctx >> 32), j = (uint32_t)cqe.user_ctx;

		if (cqe.flags & CMX_CQE_MARKER)
			continue;
		if (i >= run->load->count || j >= run->load->lines[i].count)
			return -EPROTO;
		run->load->lines[i].ops[j].status = cqe.status;
		run->load->lines[i].ops[j].done = cqe.time_ps;
	}
	return 0;
}

static int finish(struct run *run)
{
	struct drm_cmx_timeline_query query;
	int ret = cmx_wait_idle(run->ctx, NULL);

	if (!ret)
		ret = take_completions(run);
	if (!ret && run->load->count)
		ret = cmx_timeline_query(run->queues[0]->timeline, &query, sizeof(query));
	run->load->end = ret || !run->load->count ? 0 : query.now_ps;
	for (uint32_t i = 0; !ret && i < run->load->count; i++)
		for (uint32_t j = 0; j < run->load->lines[i].count; j++)
			if (run->load->lines[i].ops[j].done == UINT64_MAX)
				ret = -ENODATA;
	return ret;
}

int load_run(struct load *load, const struct world *world)
{
	struct run run = { .world = world, .load = load };
	int ret = cmx_open(NULL, 0, &run.ctx);

	for (uint32_t i = 0; i < load->count; i++)
		for (uint32_t j = 0; j < load->lines[i].count; j++)
			load->lines[i].ops[j].done = UINT64_MAX;
	if (!ret)
		ret = make_places(&run);
	if (!ret)
		ret = make_queues(&run);
	if (!ret)
		ret = push_all(&run);
	if (!ret)
		ret = finish(&run);
	if (ret)
		world_failed("running the load", ret);
	cmx_close(run.ctx);
	return ret;
}

bool load_same_times(const struct load *a, const struct load *b, uint32_t lines)
{
	for (uint32_t i = 0; i < lines; i++) {
		for (uint32_t j = 0; j < a->lines[i].count; j++) {
			const struct op *x = &a->lines[i].ops[j], *y = &b->lines[i].ops[j];

			if (x->done == y->done && x->status == y->status)
				continue;
			printf("# queue %u command %u: status %u at %llu, and %u at %llu\n", i, j,
			       x->status, (unsigned long long)x->done, y->status,
			       (unsigned long long)y->done);
			return false;
		}
	}
	return true;
}
