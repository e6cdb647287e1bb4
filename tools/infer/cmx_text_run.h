/* SPDX-License-Identifier: GPL-2.0-only */
/* A model on a die and a text that it reads, window by window: no output, no sampling. */
#ifndef CMX_TEXT_RUN_H
#define CMX_TEXT_RUN_H

#include "cmx_forward.h"
#include "cmx_option.h"
#include "cmx_perplexity.h"
#include "cmx_tokenizer.h"

struct cmx_text_options {
	const char *model;
	const char *text;	/* a file; one of the two */
	const char *ids;
	const char *tokenizer;	/* NULL: the model's own */
	uint64_t max_tokens;	/* of the text; 0: all */
	uint32_t ctx;		/* 0: the model's, at most CMX_TEXT_CTX */
	uint32_t chunk;
	uint32_t threads;
	uint32_t die;
	bool verify;
	bool int8;		/* quantise as the model is loaded */
};

/* The options that all commands with a text have, as rows of a table of options. */
#define CMX_TEXT_OPTIONS(o)							\
	{ "model", 'm', .text = &(o)->model },					\
	{ "verify", .flag = &(o)->verify },					\
	{ "ids", .text = &(o)->ids },						\
	{ "tokenizer", .text = &(o)->tokenizer },				\
	{ "max-tokens", .u64 = &(o)->max_tokens, .min = 2, .max = CMX_MAX_TOKENS }, \
	{ "ctx", .u32 = &(o)->ctx, .min = 2, .max = CMX_MAX_TOKENS },		\
	{ "chunk", .u32 = &(o)->chunk, .min = 1, .max = CMX_MAX_TOKENS },	\
	{ "die", .u32 = &(o)->die, .max = UINT32_MAX },				\
	{ "threads", .u32 = &(o)->threads, .min = 1, .max = CMX_MAX_THREADS }

#define CMX_TEXT_CTX	2048u
#define CMX_TEXT_CHUNK	256u

struct cmx_text_run {
	const struct cmx_text_options *opt;
	struct cmx_source *source;
	struct cmx_tokenizer tok;
	struct cmx_machine *machine;
	struct cmx_die *die;
	struct cmx_model model;
	struct cmx_forward fwd;
	uint32_t *ids;
	uint32_t n_ids;
	uint32_t *pages;	/* of the cache, all of them in a row */
	const char *isa, *isa_why;
	double load_s;
	struct cmx_infer_err *err;
};

/* Reads the text, then loads the model. cmx_text_run_close() undoes any part of it. */
int cmx_text_run_open(struct cmx_text_run *r, const struct cmx_text_options *opt,
		      struct cmx_infer_err *err);
void cmx_text_run_close(struct cmx_text_run *r);

/*
 * Reads one window; @seen (may be NULL) gets the logits of each token as soon as
 * they are there: those of position @pos predict the token behind it.
 */
int cmx_text_run_window(struct cmx_text_run *r, const struct cmx_text_window *w,
			int (*seen)(void *arg, const struct cmx_text_window *w, uint32_t pos,
				    const float *logits), void *arg);

#endif
