/* SPDX-License-Identifier: GPL-2.0-only */
/* Bounded forward reading of a model file's header. */
#ifndef CMX_GGUF_CURSOR_H
#define CMX_GGUF_CURSOR_H

#include <stdint.h>

#include "cmx_weight_file.h"

/* To begin: an open file, and zeros. */
struct cmx_gguf_cursor {
	uint8_t *buf;		/* bytes 0..have of the file; moves when it grows */
	uint64_t have;
	uint64_t pos;
	struct cmx_weight_file file;
};

void cmx_gguf_cursor_fini(struct cmx_gguf_cursor *c);

/* Each names @what, with the numbers, when the file ends too early. */
int cmx_gguf_skip(struct cmx_gguf_cursor *c, uint64_t n, const char *what,
		  struct cmx_infer_err *err);
int cmx_gguf_get_u32(struct cmx_gguf_cursor *c, uint32_t *val, const char *what,
		     struct cmx_infer_err *err);
int cmx_gguf_get_u64(struct cmx_gguf_cursor *c, uint64_t *val, const char *what,
		     struct cmx_infer_err *err);

/* A position that was skipped over; valid until the next skip or get. */
static inline const uint8_t *cmx_gguf_at(const struct cmx_gguf_cursor *c, uint64_t pos)
{
	return c->buf + pos;
}

#endif
