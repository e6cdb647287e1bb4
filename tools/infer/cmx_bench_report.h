/* SPDX-License-Identifier: GPL-2.0-only */
/* The result of a bench as text and as JSON. */
#ifndef CMX_BENCH_REPORT_H
#define CMX_BENCH_REPORT_H

#include "cmx_bench_options.h"
#include "cmx_bench_profile.h"
#include "cmx_bench_stats.h"

/* INT8 operations of an NPU in 10^12 a second: what published figures are divided by. */
#define CMX_BENCH_NPU_TOPS	1504.0

struct cmx_bench_report {
	const struct cmx_bench_options *opt;
	const struct cmx_model_config *cfg;
	const struct cmx_bench_stats *stats;
	const struct cmx_bench_profile *profile;	/* of the first die */
	uint32_t requests;	/* at a time, on all dies */
	uint64_t weight_bytes;	/* on the first die, as the two below */
	uint64_t cache_bytes;
	uint64_t buffer_bytes;
	uint64_t launches;
	double host_s;
};

/* Headline figures. */
struct cmx_bench_figures {
	double s;			/* virtual seconds */
	double step_ms;
	double tpot_ms;
	double tokens_per_s_per_npu;	/* output in decode, input in prefill */
};

struct cmx_bench_figures cmx_bench_figures(const struct cmx_bench_report *r);
void cmx_bench_report_text(const struct cmx_bench_report *r, FILE *f);
void cmx_bench_report_json(const struct cmx_bench_report *r, FILE *f);

#endif
