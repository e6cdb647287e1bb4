/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_UPLOAD_I8_H
#define CMX_UPLOAD_I8_H

#include "cmx_upload.h"

/* cmx_upload_piece() for a piece that becomes INT8; FP8 or row scales are in u->scale. */
int cmx_upload_i8(struct cmx_upload *u, const struct cmx_piece *p, char *dst,
		  struct cmx_infer_err *err);

#endif
