/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of cmx infer bench. */
#ifndef CMX_BENCH_OPTIONS_H
#define CMX_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmx_gates.h"
#include "cmx_infer_err.h"

enum cmx_bench_phase {
	CMX_BENCH_DECODE,
	CMX_BENCH_PREFILL,
};

struct cmx_bench_options {
	const char *model;
	uint32_t type;		/* of matrices: CMX_TENSOR_I8, _BF16 or _F32 */
	enum cmx_bench_phase phase;
	uint32_t ep;		/* dies */
	uint32_t npus;		/* two dies each, the last one may have one */
	uint32_t batch;		/* requests of an NPU */
	uint32_t input;
	uint32_t output;
	uint32_t steps;		/* that are measured, 0: to the end of all outputs */
	uint32_t chunk;		/* most tokens of a die's step; 0: what the batch needs */
	bool mtp;
	bool mtp_given;		/* else a model without the block does without */
	float acceptance;
	enum cmx_balance balance;
	uint32_t redundant;	/* copies of experts on each die besides those that all need */
	float reuse;		/* share of each prompt that is in the cache already */
	uint64_t seed;
	uint32_t die;		/* the first one */
	uint32_t threads;
	const char *trace;
	bool json;
	bool help;
};

/* -EINVAL names the option, its value and what it may be. */
int cmx_bench_options_parse(struct cmx_bench_options *o, int argc, char **argv,
			    struct cmx_infer_err *err);
void cmx_bench_usage(FILE *f);

/* Requests of the die that is @rank-th; two share an NPU's. */
uint32_t cmx_bench_die_batch(const struct cmx_bench_options *o, uint32_t rank);
/* Of the one with the most. */
uint32_t cmx_bench_most_batch(const struct cmx_bench_options *o);

#endif
