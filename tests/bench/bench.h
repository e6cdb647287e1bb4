/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Benches: numbers with their unit and their clock. Nothing here passes or fails; what
 * counts are ratios of numbers of one run.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmx/cmx.h>

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#else
#include <time.h>
#endif

struct bench_row {
	char name[64];
	double value;
	const char *unit;
	const char *clock;
};

struct bench {
	const char *title;
	struct cmx_ctx *ctx;
	bool json;
	/* Divides the number of rounds. */
	uint32_t quick;
	double ticks_per_ns;
	struct bench_row rows[64];
	uint32_t num_rows;
};

/*
 * The processor's counter: in User Mode Linux a call of clock_gettime() takes longer
 * than most of what is measured.
 */
static inline uint64_t bench_ticks(void)
{
#if defined(__x86_64__) || defined(__i386__)
	uint64_t ticks;

	_mm_lfence();
	ticks = __rdtsc();
	_mm_lfence();
	return ticks;
#else
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
#endif
}

/* Options, the context and the counter's rate; ends the program with a text if it cannot. */
void bench_begin(struct bench *b, int argc, char **argv, const char *title);
/* Prints what was put. Return: exit status of the program. */
int bench_end(struct bench *b);

double bench_ns(const struct bench *b, uint64_t ticks);
/* Sorts @ticks; the @permille-th of them in ns. */
double bench_rank_ns(const struct bench *b, uint64_t *ticks, uint32_t n, uint32_t permille);
uint32_t bench_rounds(const struct bench *b, uint32_t rounds);

/* A number in host time, or of the virtual clock. */
void bench_host(struct bench *b, const char *name, double value, const char *unit);
void bench_virtual(struct bench *b, const char *name, double value, const char *unit);

/* The library's call must succeed. */
void bench_must(int ret, const char *what);
#define MUST(call)	bench_must((call), #call)

void *bench_alloc(size_t size);
struct cmx_mem *bench_memory(struct bench *b, uint32_t entity, uint64_t size, uint32_t flags);
struct cmx_cq *bench_cq(struct bench *b, uint32_t entries);
struct cmx_queue *bench_queue(struct bench *b, struct cmx_cq *cq, uint32_t entity,
			      uint32_t queue_class, uint32_t slots);
/* Wait for @n completions and take them; all must have succeeded. */
void bench_finish(struct cmx_cq *cq, uint32_t n);

#endif /* BENCH_H */
