/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that a run writes: they appear when all else has succeeded. */
#ifndef CMX_INFER_OUTPUTS_H
#define CMX_INFER_OUTPUTS_H

#include "cmx_infer_options.h"
#include "cmx_output_file.h"

struct cmx_infer_outputs {
	struct cmx_output_file logits, trace, record, experts, blocks;
};

/* Before the long work, so that a bad path fails at once. None may replace another or an input. */
int cmx_infer_outputs_open(struct cmx_infer_outputs *out, const struct cmx_infer_options *o,
			   struct cmx_infer_err *err);
int cmx_infer_outputs_commit(struct cmx_infer_outputs *out, const struct cmx_infer_options *o,
			     struct cmx_infer_err *err);
void cmx_infer_outputs_abort(struct cmx_infer_outputs *out);

#endif
