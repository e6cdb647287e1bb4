/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Byte-level tokenizer: text to ids and ids to text, by the model's own
 * vocabulary, merges and pre-tokeniser. Any bytes can be encoded if the
 * vocabulary has the 256 bytes, and come back as they were.
 */
#ifndef CMX_TOKENIZER_H
#define CMX_TOKENIZER_H

#include "cmx_gguf.h"
#include "cmx_merges.h"
#include "cmx_pretokenizer.h"
#include "cmx_vocabulary.h"

#define CMX_TOKENIZER_ENDS	4

struct cmx_tokenizer {
	struct cmx_vocabulary vocab;
	struct cmx_merges merges;
	struct cmx_pretokenizer pre;
	bool ignore_merges;	/* a word that is a token is not merged */
	bool add_bos;
	uint32_t bos;		/* CMX_NO_TOKEN: none */
	uint32_t end[CMX_TOKENIZER_ENDS];	/* tokens that end the output */
	uint32_t n_ends;
	char *chat_template;	/* as the file has it; NULL: none */
};

/* Ids that grow; free() with cmx_ids_free(). */
struct cmx_ids {
	uint32_t *id;
	uint32_t n;
	uint32_t cap;
};

/* From the tokenizer.ggml keys; @vocab is the model's number of tokens. */
int cmx_tokenizer_init(struct cmx_tokenizer *t, const struct cmx_gguf *g, uint32_t vocab,
		       struct cmx_infer_err *err);
/*
 * From a tokenizer.json, and what the tokenizer_config.json beside it says of
 * start, end and chat template. Ids past those in the file are unused.
 */
int cmx_tokenizer_init_json(struct cmx_tokenizer *t, const char *path, uint32_t vocab,
			    struct cmx_infer_err *err);
void cmx_tokenizer_free(struct cmx_tokenizer *t);

/* Appends the ids of @text; control tokens in it are found only with @control. */
int cmx_tokenizer_append(const struct cmx_tokenizer *t, const char *text, size_t len,
			 bool control, struct cmx_ids *ids, struct cmx_infer_err *err);
/* The same, after the start token if the model asks for it; free(*ids). */
int cmx_tokenizer_encode(const struct cmx_tokenizer *t, const char *text, size_t len,
			 bool control, uint32_t **ids, uint32_t *n, struct cmx_infer_err *err);
/* Bytes of a token; NULL and 0 if it prints nothing. */
const char *cmx_tokenizer_bytes(const struct cmx_tokenizer *t, uint32_t id, uint32_t *len);
/* Does this token end the output? */
bool cmx_tokenizer_is_end(const struct cmx_tokenizer *t, uint32_t id);

int cmx_ids_push(struct cmx_ids *ids, uint32_t id, struct cmx_infer_err *err);
void cmx_ids_free(struct cmx_ids *ids);

/* For those that read tokenizers from files. */
void cmx_tokenizer_add_end(struct cmx_tokenizer *t, uint32_t id);
/* "left right" in the byte alphabet, the next lower rank; errors name merge number @rank. */
int cmx_tokenizer_add_merge(struct cmx_tokenizer *t, uint64_t rank, const char *left,
			    size_t left_len, const char *right, size_t right_len,
			    struct cmx_infer_err *err);
int cmx_tokenizer_add_merge_line(struct cmx_tokenizer *t, uint64_t rank, const char *line,
				 size_t len, struct cmx_infer_err *err);

#endif
