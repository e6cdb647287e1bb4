/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A GGUF model as INT8: each projection as a tensor of type I8, row by row, and
 * behind it "NAME.scale", the scales of its rows. Other tensors and the metadata are
 * copied; cmx.quant.type says "int8".
 */
#ifndef CMX_QUANTISE_FILE_H
#define CMX_QUANTISE_FILE_H

#include <stdio.h>

#include "cmx_calibration.h"
#include "cmx_gguf.h"

struct cmx_quantise_options {
	struct cmx_calibration *calibration;	/* NULL: weights alone decide */
	uint32_t tokens;		/* that it saw */
	bool smooth;			/* needs a calibration */
	float alpha;
	/* Called with bytes read so far and in all; may be NULL. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *progress_ctx;
};

struct cmx_quantise_result {
	uint64_t tensors;	/* that became INT8 */
	uint64_t bytes;		/* of the new file */
	double error;		/* sum of squares over that of the weights, of all INT8 tensors */
};

/* One tensor's rows are in memory at a time, never a whole tensor. */
int cmx_quantise_file(const struct cmx_gguf *in, FILE *out, const struct cmx_quantise_options *opt,
		      struct cmx_quantise_result *result, struct cmx_infer_err *err);

#endif
