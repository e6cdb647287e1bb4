// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random traffic from a seed.  Prints when everything completed and what every link carried:
 * the same seed gives the same bytes, and with full_fabric=1 as well (tests/lib/fabric-equal).
 * What comes into a switch chip must go out of it, and no link may be busier than the clock
 * is old.
 *
 *	traffic [SEED [QUEUES [ENTRIES]]]
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <cmx/fabric.h>

#include "bed.h"

#define MIB	(1ull << 20)
#define MUST(call) do { \
	int must_ret = (call); \
	if (must_ret < 0) { \
		fprintf(stderr, "%s: %s\n", #call, cmx_last_error()->text); \
		exit(1); \
	} \
} while (0)

struct traffic {
	struct cmx_ctx *ctx;
	struct cmx_fabric *fabric;
	struct cmx_fabric_link *before;
	struct cmx_cq *cq;
	struct cmx_mem **mems, **words;
	struct cmx_queue **queues;
	uint32_t num_entities, num_dies, num_queues, entries;
	uint32_t seed;
};

static uint32_t draw(struct traffic *t, uint32_t below)
{
	return bed_random(&t->seed) % below;
}

/* Mostly small; some are many slices. */
static uint64_t draw_bytes(struct traffic *t)
{
	uint64_t most = draw(t, 8) ? 40000 : 6 * MIB;

	return 1 + (bed_random(&t->seed) | (uint64_t)draw(t, 256) << 24) % most;
}

static uint64_t draw_place(struct traffic *t)
{
	return cmx_mem_va(t->mems[draw(t, t->num_entities)]);
}

/* Elsewhere in the memory: nothing may be read and written at once. */
static uint64_t draw_other(struct traffic *t)
{
	return draw_place(t) + 8 * MIB;
}

static int push_copy(struct traffic *t, struct cmx_queue *q, uint32_t flags, uint64_t ctx)
{
	if (draw(t, 4))
		return cmx_queue_copy(q, draw_other(t), draw_place(t), draw_bytes(t), flags, ctx);
	return cmx_queue_fill(q, draw_other(t), 2 * (1 + draw(t, 100000)), 0x1234, 2, flags,
			      ctx);
}

static int push_launch(struct traffic *t, struct cmx_queue *q, uint32_t flags, uint64_t ctx)
{
	struct cmx_mem *list = t->words[draw(t, t->num_dies)];
	struct cmx_record *records = cmx_mem_ptr(list);
	struct cmx_launch_desc desc = {
		.grid = 1,
		.launch_flags = CMX_LAUNCH_TIME_ONLY,
		.cost = { .cube_ops = draw(t, 1000000), .mem_bytes = 1 + draw_bytes(t) },
	};

	/* Lists are written once, before anything runs, and shared. */
	desc.record_va = cmx_mem_va(list);
	desc.record_count = records[0].messages ? 1 + draw(t, 6) : 0;
	return cmx_queue_launch(q, &desc, flags & ~CMX_ENTRY_OVERLAP, ctx);
}

static int push_rma(struct traffic *t, struct cmx_queue *q, uint32_t flags, uint64_t ctx)
{
	uint64_t word = cmx_mem_va(t->words[draw(t, t->num_entities)]) + 32768;

	switch (draw(t, 6)) {
	case 0:
		return cmx_queue_read(q, draw_other(t), draw_place(t), draw_bytes(t), flags, ctx);
	case 1:
		return cmx_queue_atomic(q, UB_OP_FADD, word, 8, 1, 0, 0, flags, ctx);
	case 2:
		return cmx_queue_write_notify(q, draw_other(t), draw_place(t), draw_bytes(t), word,
					      ctx, flags, ctx);
	default:
		return cmx_queue_write(q, draw_other(t), draw_place(t), draw_bytes(t), flags, ctx);
	}
}

static void push(struct traffic *t, uint32_t i, uint32_t k)
{
	struct cmx_queue *q = t->queues[i];
	uint32_t flags = CMX_ENTRY_COMPLETE | (draw(t, 3) ? 0 : CMX_ENTRY_OVERLAP);
	uint64_t ctx = (uint64_t)i << 32 | k;

	if (q->queue_class == CMX_QUEUE_UB)
		MUST(push_rma(t, q, flags, ctx));
	else if (q->queue_class == CMX_QUEUE_STREAM && !draw(t, 3))
		MUST(push_launch(t, q, flags, ctx));
	else
		MUST(push_copy(t, q, flags, ctx));
}

static void make_records(struct traffic *t, struct cmx_mem *mem)
{
	struct cmx_record *r = cmx_mem_ptr(mem);

	for (int i = 0; i < 6; i++)
		r[i] = (struct cmx_record){
			.at_ps = 1000000 + (uint64_t)i * 150000,
			.va = draw_other(t),
			.src_va = draw_place(t),
			.len = 1 + draw(t, 20000),
			.messages = 1 + draw(t, 3),
			.opcode = UB_OP_WRITE,
		};
}

static void make_memory(struct traffic *t)
{
	t->mems = calloc(t->num_entities, sizeof(*t->mems));
	t->words = calloc(t->num_entities, sizeof(*t->words));
	for (uint32_t i = 0; i < t->num_entities; i++) {
		MUST(cmx_mem_alloc(t->ctx, i, 16 * MIB, CMX_MEM_NO_DATA, &t->mems[i]));
		MUST(cmx_mem_alloc(t->ctx, i, 65536, 0, &t->words[i]));
	}
	for (uint32_t i = 0; i < t->num_entities; i++)
		make_records(t, t->words[i]);
}

static void make_queues(struct traffic *t)
{
	MUST(cmx_cq_create(t->ctx, NULL, 32768, CMX_CQ_BACKPRESSURE, &t->cq));
	t->queues = calloc(t->num_queues, sizeof(struct cmx_queue *));
	for (uint32_t i = 0; i < t->num_queues; i++) {
		struct cmx_queue_desc desc = {
			.cq = t->cq,
			.queue_class = draw(t, 3),
			.entity = draw(t, t->num_entities),
			.slots = 1024,
			.rnr_retry = 0,
		};

		if (desc.queue_class == CMX_QUEUE_STREAM)
			desc.entity %= t->num_dies;
		MUST(cmx_queue_create(t->ctx, &desc, &t->queues[i]));
	}
}

static uint64_t run(struct traffic *t)
{
	struct cmx_cqe cqe = {};

	for (uint32_t i = 0; i < t->num_queues; i++) {
		for (uint32_t k = 0; k < t->entries; k++)
			push(t, i, k);
		MUST(cmx_queue_submit(t->queues[i]));
	}
	MUST(cmx_wait_idle(t->ctx, NULL));
	while (cmx_cq_read(t->cq, &cqe) == 1)
		printf("%u.%u op %#x status %u time %" PRIu64 "\n", (uint32_t)(cqe.user_ctx >> 32),
		       (uint32_t)cqe.user_ctx, cqe.opcode, cqe.status,
		       (uint64_t)cqe.time_ps);
	return cmx_timeline_now(cmx_timeline_default(t->ctx));
}

static int check_busy(const struct cmx_fabric_link *link, uint64_t now)
{
	if (link->up_busy_ps <= now && link->down_busy_ps <= now)
		return 0;
	printf("link %u was busy for %" PRIu64 " and %" PRIu64 " of %" PRIu64 " ps\n", link->index,
	       link->up_busy_ps, link->down_busy_ps, now);
	return 1;
}

/* Up leads into the chip at the upper end, and out of the one at the lower. */
static void count_chips(const struct cmx_fabric_link *link, uint64_t *in, uint64_t *out)
{
	if (link->a.kind == CMX_FABRIC_CHIP) {
		in[link->a.index] += link->down_bytes;
		out[link->a.index] += link->up_bytes;
	}
	if (link->b.kind == CMX_FABRIC_CHIP) {
		in[link->b.index] += link->up_bytes;
		out[link->b.index] += link->down_bytes;
	}
}

/* Counters go on over all clocks: what is looked at is what this one added. */
static int links_since(struct traffic *t, struct cmx_fabric_link **links)
{
	int n = cmx_fabric_links(t->fabric, links);

	for (int i = 0; i < n; i++) {
		(*links)[i].up_bytes -= t->before[i].up_bytes;
		(*links)[i].down_bytes -= t->before[i].down_bytes;
		(*links)[i].up_busy_ps -= t->before[i].up_busy_ps;
		(*links)[i].down_busy_ps -= t->before[i].down_busy_ps;
	}
	return n;
}

static int show_links(struct traffic *t, uint64_t now)
{
	struct cmx_fabric_machine machine;
	struct cmx_fabric_link *links;
	uint64_t *in, *out;
	int bad = 0, n;

	MUST(cmx_fabric_get_machine(t->fabric, &machine));
	n = links_since(t, &links);
	MUST(n);
	in = calloc(machine.num_chips, sizeof(*in));
	out = calloc(machine.num_chips, sizeof(*out));
	for (int i = 0; i < n; i++) {
		bad += check_busy(&links[i], now);
		count_chips(&links[i], in, out);
		printf("link %d bytes %" PRIu64 " %" PRIu64 " busy %" PRIu64 " %" PRIu64 "\n", i,
		       links[i].up_bytes, links[i].down_bytes, links[i].up_busy_ps,
		       links[i].down_busy_ps);
	}
	for (uint32_t i = 0; i < machine.num_chips; i++) {
		if (in[i] == out[i])
			continue;
		printf("chip %u: in %" PRIu64 " out %" PRIu64 "\n", i, in[i], out[i]);
		bad++;
	}
	free(in);
	free(out);
	free(links);
	return bad;
}

int main(int argc, char **argv)
{
	struct traffic t = {
		.seed = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 1,
		.num_queues = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 60,
		.entries = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 0) : 60,
	};
	uint64_t now;
	int bad;

	MUST(cmx_open(NULL, 0, &t.ctx));
	MUST(cmx_fabric_open(&t.fabric));
	MUST(cmx_fabric_links(t.fabric, &t.before));
	t.num_entities = cmx_device(t.ctx)->num_entities;
	t.num_dies = cmx_device(t.ctx)->num_dies;
	make_memory(&t);
	make_queues(&t);
	now = run(&t);
	bad = show_links(&t, now);
	cmx_fabric_close(t.fabric);
	cmx_close(t.ctx);
	free(t.before);
	free(t.mems);
	free(t.words);
	free(t.queues);
	return bad ? 1 : 0;
}
