/* SPDX-License-Identifier: GPL-2.0-only */
/* The tokens of a model: their text, and which of them a text starts with. */
#ifndef CMX_VOCABULARY_H
#define CMX_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmx_infer_err.h"

#define CMX_NO_TOKEN		UINT32_MAX
#define CMX_VOCABULARY_MAX	(1u << 24)
#define CMX_MARKER_MAX		512	/* bytes of a token found as such in text */

/* Numbered as in GGUF files. */
enum cmx_token_kind {
	CMX_TOKEN_NORMAL = 1,	/* made by merges; the text is bytes */
	CMX_TOKEN_UNKNOWN = 2,
	CMX_TOKEN_CONTROL = 3,	/* a marker: never printed, found in text only if allowed */
	CMX_TOKEN_USER = 4,	/* literal text, found as a whole before all else */
	CMX_TOKEN_UNUSED = 5,
	CMX_TOKEN_BYTE = 6,	/* <0x41>: one byte */
};

struct cmx_token {
	uint32_t at;		/* first byte in the pool */
	uint32_t len;
	uint32_t kind;		/* enum cmx_token_kind */
};

struct cmx_vocabulary {
	struct cmx_token *token;
	uint32_t n;
	char *pool;
	size_t pool_len, pool_cap;
	uint32_t byte_id[256];	/* token of a single byte, or CMX_NO_TOKEN */
	uint32_t *normal;	/* ids by text, the lower of equal ones first */
	uint32_t n_normal;
	uint32_t *literal;	/* control and user tokens, likewise */
	uint32_t n_literals;
	bool starts[256];	/* some literal starts with this byte */
};

/* All @n tokens are unused at first. */
int cmx_vocabulary_init(struct cmx_vocabulary *v, uint32_t n, struct cmx_infer_err *err);
void cmx_vocabulary_free(struct cmx_vocabulary *v);
/*
 * Gives @id the text of its file: in the byte alphabet if normal, else as it
 * is. A user token that is written like a marker, <|...|>, becomes a control
 * token.
 */
int cmx_vocabulary_set(struct cmx_vocabulary *v, uint32_t id, uint32_t kind, const char *s,
		       size_t len, struct cmx_infer_err *err);
/* After the last set and before any look-up. */
int cmx_vocabulary_index(struct cmx_vocabulary *v, struct cmx_infer_err *err);

/* The normal token with these bytes, or CMX_NO_TOKEN. */
uint32_t cmx_vocabulary_find(const struct cmx_vocabulary *v, const char *bytes, size_t len);
/* The control or user token with this text, or CMX_NO_TOKEN. */
uint32_t cmx_vocabulary_find_literal(const struct cmx_vocabulary *v, const char *s, size_t len);
/* The longest user token, with @control also control token, that @s starts with. */
uint32_t cmx_vocabulary_match(const struct cmx_vocabulary *v, const char *s, size_t len,
			      bool control);

#endif
