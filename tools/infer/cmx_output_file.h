/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that appears under its name only when it is complete. */
#ifndef CMX_OUTPUT_FILE_H
#define CMX_OUTPUT_FILE_H

#include <stdio.h>

#include "cmx_infer_err.h"

struct cmx_output_file {
	FILE *f;		/* NULL: not open */
	const char *path;
	char temp[4096];
};

int cmx_output_open(struct cmx_output_file *o, const char *path, struct cmx_infer_err *err);
/* Flushes and renames; a failure leaves no file behind. */
int cmx_output_commit(struct cmx_output_file *o, struct cmx_infer_err *err);
/* Drops what was written; does nothing after a commit. */
void cmx_output_abort(struct cmx_output_file *o);

#endif
