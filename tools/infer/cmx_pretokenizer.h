/* SPDX-License-Identifier: GPL-2.0-only */
/* Cuts text into the words that merges stay within. */
#ifndef CMX_PRETOKENIZER_H
#define CMX_PRETOKENIZER_H

#include "cmx_split.h"

#define CMX_PRETOKENIZER_MAX	16

struct cmx_pretokenizer {
	struct cmx_split split[CMX_PRETOKENIZER_MAX];	/* applied in this order */
	uint32_t n;
};

int cmx_pretokenizer_add(struct cmx_pretokenizer *p, const char *pattern, size_t len,
			 struct cmx_infer_err *err);
/* The steps that the name tokenizer.ggml.pre of a GGUF file stands for. */
int cmx_pretokenizer_preset(struct cmx_pretokenizer *p, const char *name, size_t len,
			    struct cmx_infer_err *err);
void cmx_pretokenizer_free(struct cmx_pretokenizer *p);

/*
 * Fills @c, room for @len, with the characters of @text, cut before each word
 * but the first. Returns how many characters there are.
 */
size_t cmx_pretokenizer_cut(const struct cmx_pretokenizer *p, const char *text, size_t len,
			    struct cmx_char *c);

#endif
