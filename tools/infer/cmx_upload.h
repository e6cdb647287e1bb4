/* SPDX-License-Identifier: GPL-2.0-only */
/* Brings weights from a model's files to the die, through a window in host memory. */
#ifndef CMX_UPLOAD_H
#define CMX_UPLOAD_H

#include "cmx_die.h"
#include "cmx_model_source.h"
#include "cmx_packing.h"

#define CMX_UPLOAD_WINDOW	(8ull << 20)

struct cmx_upload {
	struct cmx_die *die;
	char *window;
	uint64_t used;
	float *scale;		/* of the FP8 or INT8 piece on its way */
	/* Called as stored bytes are read; may be NULL. */
	void (*progress)(void *ctx, uint64_t done);
	void *progress_ctx;
	uint64_t done;
};

int cmx_upload_init(struct cmx_upload *u, struct cmx_die *die, struct cmx_infer_err *err);
void cmx_upload_fini(struct cmx_upload *u);
/*
 * Packs the piece's rows as @layout says, or, if that is NULL, takes them as they are. Complete
 * after cmx_die_finish(). A time-only die sees the same copies, without bytes. Pages that were
 * read leave the page cache.
 */
int cmx_upload_piece(struct cmx_upload *u, const struct cmx_piece *p,
		     const struct cmx_layout *layout, char *dst, struct cmx_infer_err *err);
/* @done bytes of all files are through; @in_window more bytes of the window are in use. */
void cmx_upload_advance(struct cmx_upload *u, uint64_t done, uint64_t in_window);

#endif
