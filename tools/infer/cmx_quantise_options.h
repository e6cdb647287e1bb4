/* SPDX-License-Identifier: GPL-2.0-only */
/* Command line of `cmx infer quantize`. */
#ifndef CMX_QUANTISE_OPTIONS_H
#define CMX_QUANTISE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "cmx_text_run.h"

struct cmx_quantise_command {
	struct cmx_text_options text;	/* the model; text and ids are those to calibrate with */
	const char *out;
	bool smooth;
	float alpha;
	bool help;
};

int cmx_quantise_options_parse(struct cmx_quantise_command *o, int argc, char **argv,
			       struct cmx_infer_err *err);
void cmx_quantise_usage(FILE *f);

#endif
