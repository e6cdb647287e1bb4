// SPDX-License-Identifier: GPL-2.0-only
/* What a launch costs beside its kernel: the kernel here is empty. */
#include <stdio.h>

#include "bench.h"

#define CHAIN	64
#define ROUNDS	1000

static int nothing(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	return 0;
}

/* Chains of @chain launches, then one completion. Return: median ns of a chain. */
static double chains(struct bench *b, struct cmx_queue *q, struct cmx_cq *cq, uint64_t kernel,
		     uint32_t chain)
{
	struct cmx_launch_desc desc = { .kernel = kernel, .grid = 1, .first_ps = UINT64_MAX };
	uint32_t n = bench_rounds(b, ROUNDS);
	uint64_t *ticks = bench_alloc(n * sizeof(*ticks));
	double ns;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t start = bench_ticks();

		for (uint32_t k = 0; k < chain; k++)
			MUST(cmx_queue_launch(q, &desc, k + 1 < chain ? 0 : CMX_ENTRY_COMPLETE,
					      k));
		MUST(cmx_queue_submit(q));
		bench_finish(cq, 1);
		ticks[i] = bench_ticks() - start;
	}
	ns = bench_rank_ns(b, ticks, n, 500);
	free(ticks);
	return ns;
}

int main(int argc, char **argv)
{
	struct cmx_timeline *tl;
	struct bench b;
	struct cmx_queue *q;
	struct cmx_cq *cq;
	uint64_t kernel, start;
	double one, chain;

	bench_begin(&b, argc, argv, "empty launch");
	cq = bench_cq(&b, 64);
	q = bench_queue(&b, cq, 0, CMX_QUEUE_STREAM, 256);
	tl = cmx_timeline_default(b.ctx);
	MUST(cmx_kernel_register(b.ctx, "nothing", nothing, &kernel));

	one = chains(&b, q, cq, kernel, 1);
	bench_host(&b, "one launch, post to completion", one, "ns");
	chain = chains(&b, q, cq, kernel, CHAIN);
	bench_host(&b, "a launch in a chain of 64", chain / CHAIN, "ns");
	bench_host(&b, "chain of 64: launches/s", 1e9 * CHAIN / chain, "1/s");
	start = cmx_timeline_now(tl);
	MUST(cmx_queue_launch(q, &(struct cmx_launch_desc){ .kernel = kernel, .grid = 1 },
			      CMX_ENTRY_COMPLETE, 0));
	MUST(cmx_queue_submit(q));
	bench_finish(cq, 1);
	bench_virtual(&b, "one empty launch", (double)(cmx_timeline_now(tl) - start) / 1000, "ns");
	return bench_end(&b);
}
