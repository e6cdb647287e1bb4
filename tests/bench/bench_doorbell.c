// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the doorbell and NEED_WAKEUP live: one page of bits for all rings of a timeline,
 * as the ABI has it, or a page for each ring. Both are measured on ordinary memory, the
 * submitter's side and the side of a runner that looks for work.
 */
#include <stdio.h>
#include <sys/mman.h>

#include "bench.h"

#define RINGS	3072
#define PAGE	4096
#define ROUNDS	200

static unsigned char *pages(size_t count)
{
	unsigned char *p = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p != MAP_FAILED)
		return p;
	perror("mmap");
	exit(1);
}

static uint64_t *word_of(unsigned char *p, size_t page)
{
	return (uint64_t *)(p + page * PAGE);
}

/* Ring by ring: the tail, the doorbell, a full barrier, NEED_WAKEUP. */
static double submit_ns(struct bench *b, unsigned char *rings, unsigned char *bells,
			unsigned char *status, bool one)
{
	uint32_t n = bench_rounds(b, ROUNDS);
	uint64_t start = bench_ticks(), sum = 0;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t r = 0; r < RINGS; r++) {
			uint64_t *bell = word_of(bells, one ? 0 : r) + (one ? r / 64 : 0);

			__atomic_store_n(word_of(rings, r), i, __ATOMIC_RELEASE);
			if (one)
				__atomic_fetch_or(bell, 1ULL << (r % 64), __ATOMIC_RELEASE);
			else
				__atomic_store_n(bell, 1, __ATOMIC_RELEASE);
			__atomic_thread_fence(__ATOMIC_SEQ_CST);
			sum += __atomic_load_n(word_of(status, one ? 0 : r), __ATOMIC_RELAXED);
		}
	if (sum)
		fprintf(stderr, "a status page changed by itself\n");
	return bench_ns(b, bench_ticks() - start) / n / RINGS;
}

/* All bells are looked at; one of them rang. */
static double look_ns(struct bench *b, unsigned char *bells, bool one)
{
	uint32_t n = bench_rounds(b, ROUNDS), found = 0;
	uint32_t words = one ? RINGS / 64 : RINGS;
	uint64_t *ticks = bench_alloc(n * sizeof(*ticks));
	uint64_t start;
	double ns;

	for (uint32_t w = 0; w < words; w++)
		*(one ? word_of(bells, 0) + w : word_of(bells, w)) = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t rung = (i * 977) % words;

		*(one ? word_of(bells, 0) + rung : word_of(bells, rung)) = 1;
		start = bench_ticks();
		for (uint32_t w = 0; w < words; w++) {
			uint64_t *bell = one ? word_of(bells, 0) + w : word_of(bells, w);

			if (__atomic_load_n(bell, __ATOMIC_RELAXED) &&
			    __atomic_exchange_n(bell, 0, __ATOMIC_SEQ_CST))
				found++;
		}
		ticks[i] = bench_ticks() - start;
	}
	if (found != n)
		fprintf(stderr, "%u of %u bells were heard\n", found, n);
	ns = bench_rank_ns(b, ticks, n, 500);
	free(ticks);
	return ns;
}

static double sleep_ns(struct bench *b, unsigned char *status, bool one)
{
	uint32_t n = bench_rounds(b, ROUNDS);
	uint64_t start = bench_ticks();

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t r = 0; r < (one ? 1 : RINGS); r++)
			__atomic_store_n(word_of(status, r), 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		for (uint32_t r = 0; r < (one ? 1 : RINGS); r++)
			__atomic_store_n(word_of(status, r), 0, __ATOMIC_RELAXED);
	}
	return bench_ns(b, bench_ticks() - start) / n;
}

int main(int argc, char **argv)
{
	unsigned char *rings = pages(RINGS), *bells = pages(RINGS), *status = pages(RINGS);
	struct bench b;

	bench_begin(&b, argc, argv, "doorbells of 3072 rings");
	submit_ns(&b, rings, bells, status, true);
	bench_host(&b, "submit, one page", submit_ns(&b, rings, bells, status, true), "ns");
	submit_ns(&b, rings, bells, status, false);
	bench_host(&b, "submit, a page for each ring", submit_ns(&b, rings, bells, status, false),
		   "ns");
	bench_host(&b, "runner looks at all, one page", look_ns(&b, bells, true), "ns");
	bench_host(&b, "runner looks at all, a page for each ring", look_ns(&b, bells, false),
		   "ns");
	bench_host(&b, "runner sets and clears NEED_WAKEUP, one page", sleep_ns(&b, status, true),
		   "ns");
	bench_host(&b, "runner sets and clears it, a page for each ring",
		   sleep_ns(&b, status, false), "ns");
	return bench_end(&b);
}
