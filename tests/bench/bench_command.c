// SPDX-License-Identifier: GPL-2.0-only
/* What a command costs that does nothing: alone, and in batches. */
#include <stdio.h>

#include "bench.h"

#define BATCH	256
#define LATENCY_ROUNDS	4000
#define BATCH_ROUNDS	400

static void push_nop(struct cmx_queue *q, uint32_t flags, uint64_t user_ctx)
{
	struct cmx_entry_sync e = { 0 };

	cmx_entry_header_set(&e.header, 1, UB_OP_NOP, flags, user_ctx);
	MUST(cmx_queue_push(q, &e));
}

static void latency(struct bench *b, struct cmx_queue *q, struct cmx_cq *cq)
{
	uint32_t n = bench_rounds(b, LATENCY_ROUNDS);
	uint64_t *ticks = bench_alloc(n * sizeof(*ticks));

	for (uint32_t i = 0; i < n; i++) {
		uint64_t start = bench_ticks();

		push_nop(q, CMX_ENTRY_COMPLETE, i);
		MUST(cmx_queue_submit(q));
		bench_finish(cq, 1);
		ticks[i] = bench_ticks() - start;
	}
	bench_host(b, "NOP, post to completion, median", bench_rank_ns(b, ticks, n, 500), "ns");
	bench_host(b, "NOP, post to completion, 99 %", bench_rank_ns(b, ticks, n, 990), "ns");
	free(ticks);
}

/* What the ways into and out of the kernel take: a RUN that has nothing to do. */
static double empty_run(struct bench *b)
{
	uint32_t n = bench_rounds(b, LATENCY_ROUNDS);
	uint64_t *ticks = bench_alloc(n * sizeof(*ticks));
	double ns;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t start = bench_ticks();

		MUST(cmx_wait_idle(b->ctx, NULL));
		ticks[i] = bench_ticks() - start;
	}
	ns = bench_rank_ns(b, ticks, n, 500);
	bench_host(b, "RUN that finds nothing to do, median", ns, "ns");
	free(ticks);
	return ns;
}

static void batches(struct bench *b, struct cmx_queue *q, struct cmx_cq *cq, bool all,
		    const char *name)
{
	uint32_t n = bench_rounds(b, BATCH_ROUNDS);
	uint64_t *ticks = bench_alloc(n * sizeof(*ticks));
	char text[64];
	double ns;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t start = bench_ticks();

		for (uint32_t k = 0; k < BATCH; k++)
			push_nop(q, all || k == BATCH - 1 ? CMX_ENTRY_COMPLETE : 0, k);
		MUST(cmx_queue_submit(q));
		bench_finish(cq, all ? BATCH : 1);
		ticks[i] = bench_ticks() - start;
	}
	ns = bench_rank_ns(b, ticks, n, 500) / BATCH;
	snprintf(text, sizeof(text), "batches of %u, %s", BATCH, name);
	bench_host(b, text, 1e9 / ns, "commands/s");
	snprintf(text, sizeof(text), "  each of %u, %s", BATCH, name);
	bench_host(b, text, ns, "ns");
	free(ticks);
}

int main(int argc, char **argv)
{
	struct bench b;
	struct cmx_queue *q;
	struct cmx_cq *cq;

	bench_begin(&b, argc, argv, "empty command");
	cq = bench_cq(&b, 1024);
	q = bench_queue(&b, cq, 0, CMX_QUEUE_STREAM, 1024);
	latency(&b, q, cq);
	empty_run(&b);
	batches(&b, q, cq, true, "all with a completion");
	batches(&b, q, cq, false, "the last with a completion");
	return bench_end(&b);
}
