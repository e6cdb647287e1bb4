/* SPDX-License-Identifier: GPL-2.0-only */
/* What a run did, for people and as JSON. */
#ifndef CMX_INFER_REPORT_H
#define CMX_INFER_REPORT_H

#include <stdio.h>

#include "cmx_die.h"
#include "cmx_job.h"

/* Ticks of a phase, as kernels/cmx_kernel_clock.h counts them. */
struct cmx_host_phase {
	uint64_t start;
	uint64_t ticks;
	uint64_t kernel_ticks;		/* of them in kernels, summed over threads */
};

struct cmx_infer_report {
	const struct cmx_infer_options *opt;
	const struct cmx_model_config *cfg;
	const struct cmx_jobs *jobs;
	const struct cmx_engine *engine;
	const char *isa;
	const char *isa_why;
	uint64_t weight_bytes;
	double load_s;			/* host time */
	double prefill_s;		/* until the first output token, of a single run */
	double decode_s;		/* from then on */
	struct cmx_host_phase prefill;	/* the same phases; a batch is all decode */
	struct cmx_host_phase decode;
	uint64_t start_ps;		/* virtual time when the prompts were handed over */
	struct cmx_machine_stats load;	/* after loading */
	struct cmx_machine_stats done;
};

/* A run of one job. */
void cmx_infer_report_text(const struct cmx_infer_report *r, FILE *f);
void cmx_infer_report_json(const struct cmx_infer_report *r, FILE *f);
/* One job of a batch, on one line; nothing in it depends on the host. */
void cmx_infer_report_job(const struct cmx_job *j, uint32_t number, FILE *f);
/* All jobs of a batch together. */
void cmx_infer_report_batch_text(const struct cmx_infer_report *r, FILE *f);
void cmx_infer_report_batch_json(const struct cmx_infer_report *r, FILE *f);
/* Chosen experts: {"experts": {"LAYER": [[ids of a token], ...], ...}}. */
void cmx_infer_write_experts(const struct cmx_decisions *d, uint32_t first_layer, FILE *f);

#endif
