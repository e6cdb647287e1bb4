/* SPDX-License-Identifier: GPL-2.0-only */
/* Byte-level tokenizer: text to ids and ids to text, by the model's own vocabulary. */
#ifndef CMX_TOKENIZER_H
#define CMX_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmx_gguf.h"

struct cmx_token {
	uint32_t at;		/* first byte in the pool */
	uint32_t len;		/* 0: prints nothing (control and unused tokens) */
};

struct cmx_tokenizer {
	struct cmx_token *token;
	uint32_t n_tokens;
	char *pool;
	uint32_t byte_id[256];	/* token of a single byte, or UINT32_MAX */
	bool has_merges;
	bool add_bos;
	uint32_t bos;		/* UINT32_MAX: none */
	uint32_t eos;		/* UINT32_MAX: none */
};

/* Text on its way out: holds back the bytes of an unfinished character. */
struct cmx_text_stream {
	uint8_t held[4];
	uint32_t n;
};

#define CMX_TEXT_MAX 16		/* most bytes one input byte can release */

int cmx_tokenizer_init(struct cmx_tokenizer *t, const struct cmx_gguf *g, uint32_t vocab,
		       struct cmx_infer_err *err);
void cmx_tokenizer_free(struct cmx_tokenizer *t);

/* Ids of @text, with the start token if the model asks for it; free(*ids). */
int cmx_tokenizer_encode(const struct cmx_tokenizer *t, const char *text, size_t len,
			 uint32_t **ids, uint32_t *n, struct cmx_infer_err *err);
/* Bytes of a token; NULL and 0 if it prints nothing. */
const char *cmx_tokenizer_bytes(const struct cmx_tokenizer *t, uint32_t id, uint32_t *len);

/*
 * Next byte of the text. Writes whole characters only, and U+FFFD for each byte
 * that is part of none, to @out of CMX_TEXT_MAX bytes. Returns how many.
 */
uint32_t cmx_text_put(struct cmx_text_stream *s, uint8_t byte, char *out);
/* The text is over: what is still held back was no character. */
uint32_t cmx_text_end(struct cmx_text_stream *s, char *out);

#endif
