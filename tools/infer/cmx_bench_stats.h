/* SPDX-License-Identifier: GPL-2.0-only */
/* What a bench measured, in the terms of serving benchmarks. All times are virtual. */
#ifndef CMX_BENCH_STATS_H
#define CMX_BENCH_STATS_H

#include "cmx_engine.h"

/* Of many times, in ms; zeros if there were none. */
struct cmx_spread {
	uint64_t n;
	double mean;
	double median;
	double std;
	double p99;
};

/* A list of times that grows. */
struct cmx_times {
	double *ms;
	uint64_t n;
	uint64_t room;
};

int cmx_times_add(struct cmx_times *t, double ms, struct cmx_infer_err *err);
void cmx_times_free(struct cmx_times *t);
/* Sorts the list. Percentiles lie between two times in proportion. */
struct cmx_spread cmx_times_spread(struct cmx_times *t);

struct cmx_bench_stats {
	uint64_t steps;			/* measured */
	uint64_t start_ps, end_ps;	/* of what was measured */
	uint64_t completed;		/* requests that came to their end in it */
	uint64_t input;			/* prompt tokens that were computed or found in the cache */
	uint64_t output;		/* tokens that came out */
	uint64_t drafted, accepted;
	struct cmx_spread ttft;		/* time to the first token */
	struct cmx_spread tpot;		/* of a request: mean distance of its tokens */
	struct cmx_spread itl;		/* from one arrival of tokens to the next */
	struct cmx_spread e2el;		/* to the last token, of completed requests */
};

/*
 * Of the tokens that came out in [start_ps, end_ps]; times to the first token only of requests
 * whose prompt was computed. @st has steps, start_ps and end_ps.
 */
int cmx_bench_stats(struct cmx_sequence *const *seq, uint32_t n, struct cmx_bench_stats *st,
		    struct cmx_infer_err *err);

#endif
