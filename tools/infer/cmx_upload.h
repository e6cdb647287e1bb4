/* SPDX-License-Identifier: GPL-2.0-only */
/* Brings tensors from a model file to the die, through a window in host memory. */
#ifndef CMX_UPLOAD_H
#define CMX_UPLOAD_H

#include "cmx_die.h"
#include "cmx_gguf.h"

struct cmx_upload {
	struct cmx_die *die;
	char *window;
	uint64_t used;
};

int cmx_upload_init(struct cmx_upload *u, struct cmx_die *die, struct cmx_infer_err *err);
/* Complete after cmx_die_finish(). A time-only die sees the same copies, without bytes. */
int cmx_upload_tensor(struct cmx_upload *u, const struct cmx_gguf *g,
		      const struct cmx_gguf_tensor *t, char *dst, struct cmx_infer_err *err);

#endif
