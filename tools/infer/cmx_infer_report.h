/* SPDX-License-Identifier: GPL-2.0-only */
/* What a run did, for people and as JSON. */
#ifndef CMX_INFER_REPORT_H
#define CMX_INFER_REPORT_H

#include <stdio.h>

#include "cmx_decisions.h"
#include "cmx_die.h"
#include "cmx_infer_options.h"

struct cmx_infer_report {
	const struct cmx_infer_options *opt;
	const struct cmx_model_config *cfg;
	const struct cmx_decisions *run;	/* ids, in data mode experts as well */
	const char *text;		/* of the output, for JSON */
	size_t text_len;
	const char *isa;
	const char *isa_why;
	uint64_t weight_bytes;
	double load_s;			/* host time */
	double prefill_s;
	double decode_s;
	uint64_t start_ps;		/* virtual time when the prompt was handed over */
	uint64_t *token_ps;		/* virtual time when each output token was there */
	uint64_t end_ps;
	struct cmx_die_stats load;	/* after loading */
	struct cmx_die_stats done;
};

void cmx_infer_report_text(const struct cmx_infer_report *r, FILE *f);
void cmx_infer_report_json(const struct cmx_infer_report *r, FILE *f);
/* Chosen experts: {"experts": {"LAYER": [[ids of a token], ...], ...}}. */
void cmx_infer_write_experts(const struct cmx_decisions *d, uint32_t first_layer, FILE *f);

#endif
