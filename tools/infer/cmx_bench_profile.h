/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a die's time goes: by operator and by layer, from the times of its commands. */
#ifndef CMX_BENCH_PROFILE_H
#define CMX_BENCH_PROFILE_H

#include <stdint.h>

#include "cmx_infer_err.h"
#include "cmx_trace.h"

struct cmx_operator_time {
	const char *label;
	uint64_t count;
	uint64_t ps;
};

struct cmx_bench_profile {
	struct cmx_operator_time *op;	/* the longest first */
	uint32_t n_ops;
	uint64_t *layer_ps;		/* [n_layers]; the MTP block's is the last one */
	uint32_t n_layers;
	uint64_t other_ps;		/* before the first and behind the last layer of a pass */
	uint64_t ps;			/* of all commands */
};

/*
 * Of events that lie in [start_ps, end_ps], of passes through a model with @n_layers.
 * cmx_bench_profile_free() in any case.
 */
int cmx_bench_profile(struct cmx_bench_profile *p, const struct cmx_trace_event *e, uint64_t n,
		      uint64_t start_ps, uint64_t end_ps, uint32_t n_layers,
		      struct cmx_infer_err *err);
void cmx_bench_profile_free(struct cmx_bench_profile *p);

#endif
