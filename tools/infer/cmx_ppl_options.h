/* SPDX-License-Identifier: GPL-2.0-only */
/* Command line of `cmx infer ppl`. */
#ifndef CMX_PPL_OPTIONS_H
#define CMX_PPL_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "cmx_text_run.h"

struct cmx_ppl_options {
	struct cmx_text_options text;
	uint32_t stride;	/* 0: one less than the context */
	bool json;
	bool help;
};

int cmx_ppl_options_parse(struct cmx_ppl_options *o, int argc, char **argv,
			  struct cmx_infer_err *err);
void cmx_ppl_usage(FILE *f);

#endif
