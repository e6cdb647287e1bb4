// SPDX-License-Identifier: GPL-2.0-only
/*
 * Commands that only take virtual time: with one queue, and with four on each of the
 * machine's dies, where the event heap is as large as it gets.
 */
#include <stdio.h>

#include "bench.h"

#define SLOTS		64
#define QUEUES_PER_DIE	4
#define PIECE		4096
#define RECORDS		64

struct load {
	struct cmx_cq *cq;
	struct cmx_queue **queues;
	struct cmx_mem **mems;
	uint32_t num_queues;
	uint32_t num_dies;
};

static void push_copy(struct load *l, uint32_t q, uint32_t k, uint32_t flags)
{
	uint32_t die = q % l->num_dies, peer = (die + k + 1) % l->num_dies;

	MUST(cmx_queue_copy(l->queues[q], cmx_mem_va(l->mems[peer]), cmx_mem_va(l->mems[die]),
			    PIECE, flags, q));
}

static void push_launch(struct load *l, uint32_t q, uint32_t k, uint32_t flags)
{
	struct cmx_launch_desc desc = {
		.grid = 1,
		.launch_flags = CMX_LAUNCH_TIME_ONLY,
		.first_ps = UINT64_MAX,
		.cost = { .cube_ops = 1000000 + 1000 * (uint64_t)k, .mem_bytes = 100000 + q },
	};

	MUST(cmx_queue_launch(l->queues[q], &desc, flags, q));
}

typedef void (*push_fn)(struct load *l, uint32_t q, uint32_t k, uint32_t flags);

/* @each entries on each queue, the last of each with a completion. Return: ns of one entry. */
static double measure(struct bench *b, struct load *l, push_fn push, uint32_t each)
{
	uint32_t n = bench_rounds(b, l->num_queues > 1 ? 10 : 1000);
	uint64_t *ticks = bench_alloc(n * sizeof(*ticks));
	uint64_t start;
	double ns;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t q = 0; q < l->num_queues; q++)
			for (uint32_t k = 0; k < each; k++)
				push(l, q, k, k == each - 1 ? CMX_ENTRY_COMPLETE : 0);
		start = bench_ticks();
		for (uint32_t q = 0; q < l->num_queues; q++)
			MUST(cmx_queue_submit(l->queues[q]));
		bench_finish(l->cq, l->num_queues);
		ticks[i] = bench_ticks() - start;
	}
	ns = bench_rank_ns(b, ticks, n, 500) / ((double)l->num_queues * each);
	free(ticks);
	return ns;
}

static void report(struct bench *b, struct load *l, push_fn push, uint32_t each, const char *what)
{
	double ns = measure(b, l, push, each);
	char text[64];

	snprintf(text, sizeof(text), "%s, %u queue%s", what, l->num_queues,
		 l->num_queues > 1 ? "s" : "");
	bench_host(b, text, 1e9 / ns, "commands/s");
	snprintf(text, sizeof(text), "  each of %s, %u queue%s", what, l->num_queues,
		 l->num_queues > 1 ? "s" : "");
	bench_host(b, text, ns, "ns");
}

static void setup(struct bench *b, struct load *l, uint32_t num_queues)
{
	l->num_dies = cmx_device(b->ctx)->num_dies;
	l->num_queues = num_queues;
	l->cq = bench_cq(b, 16384);
	l->queues = bench_alloc(num_queues * sizeof(struct cmx_queue *));
	l->mems = bench_alloc(l->num_dies * sizeof(struct cmx_mem *));
	for (uint32_t i = 0; i < l->num_dies; i++)
		l->mems[i] = bench_memory(b, i, 1 << 20, CMX_MEM_NO_DATA);
	for (uint32_t i = 0; i < num_queues; i++)
		l->queues[i] = bench_queue(b, l->cq, i % l->num_dies, CMX_QUEUE_STREAM,
					   num_queues > 1 ? SLOTS : 1024);
}

static void teardown(struct load *l)
{
	for (uint32_t i = 0; i < l->num_queues; i++)
		MUST(cmx_queue_destroy(l->queues[i]));
	MUST(cmx_cq_destroy(l->cq));
	for (uint32_t i = 0; i < l->num_dies; i++)
		cmx_mem_free(l->mems[i]);
	free(l->queues);
	free(l->mems);
}

/* Launches with RECORDS writes to other dies, against launches without. */
static void records(struct bench *b, struct load *l)
{
	uint32_t n = bench_rounds(b, 2000);
	struct cmx_mem *list = bench_memory(b, 0, RECORDS * sizeof(struct cmx_record), 0);
	struct cmx_record *r = cmx_mem_ptr(list);
	struct cmx_launch_desc desc = { .grid = 1, .launch_flags = CMX_LAUNCH_TIME_ONLY,
					.cost = { .mem_bytes = 100000 } };
	uint64_t *ticks = bench_alloc(n * sizeof(*ticks));
	double ns[2];

	for (uint32_t i = 0; i < RECORDS; i++)
		r[i] = (struct cmx_record){
			.opcode = UB_OP_WRITE, .messages = 1, .at_ps = 1000 * (uint64_t)i,
			.va = cmx_mem_va(l->mems[(i + 1) % l->num_dies]),
			.src_va = cmx_mem_va(l->mems[0]), .len = 512,
		};
	for (uint32_t with = 0; with < 2; with++) {
		uint64_t start;

		desc.record_va = with ? cmx_mem_va(list) : 0;
		desc.record_count = with ? RECORDS : 0;
		for (uint32_t i = 0; i < n; i++) {
			start = bench_ticks();
			MUST(cmx_queue_launch(l->queues[0], &desc, CMX_ENTRY_COMPLETE, i));
			MUST(cmx_queue_submit(l->queues[0]));
			bench_finish(l->cq, 1);
			MUST(cmx_wait_idle(b->ctx, NULL));
			ticks[i] = bench_ticks() - start;
		}
		ns[with] = bench_rank_ns(b, ticks, n, 500);
	}
	free(ticks);
	bench_host(b, "a record of a time-only launch", (ns[1] - ns[0]) / RECORDS, "ns");
	cmx_mem_free(list);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct load l;

	bench_begin(&b, argc, argv, "time only");
	setup(&b, &l, 1);
	report(&b, &l, push_copy, 256, "NO_DATA copies");
	report(&b, &l, push_launch, 256, "time-only launches");
	records(&b, &l);
	teardown(&l);
	setup(&b, &l, QUEUES_PER_DIE * cmx_device(b.ctx)->num_dies);
	report(&b, &l, push_copy, SLOTS / 2, "NO_DATA copies");
	report(&b, &l, push_launch, SLOTS / 2, "time-only launches");
	teardown(&l);
	return bench_end(&b);
}
