/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How well a model predicts a text: e to the mean negative log-likelihood of
 * its tokens. A text longer than the context is read in windows; each token but
 * the first is scored once, by the first window that holds it behind another.
 */
#ifndef CMX_PERPLEXITY_H
#define CMX_PERPLEXITY_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_infer_err.h"

struct cmx_perplexity {
	uint64_t n;		/* tokens scored */
	double nll;		/* sum, in nats, in the text's order */
	double nll_square;	/* sum of squares */
};

/*
 * -log softmax(logits)[target], in double: exact to about 1e-14 whatever the
 * level the logits were computed on. -EDOM if a logit is not finite.
 */
int cmx_nll(const float *logits, uint32_t vocab, uint32_t target, double *nll,
	    struct cmx_infer_err *err);
void cmx_perplexity_add(struct cmx_perplexity *p, double nll);
/* Nats; 0 if nothing was scored. */
double cmx_perplexity_mean(const struct cmx_perplexity *p);
/* Standard error of the mean as if tokens were independent. */
double cmx_perplexity_error(const struct cmx_perplexity *p);
/* Infinite from e^700 on. */
double cmx_perplexity_value(const struct cmx_perplexity *p);

struct cmx_text_window {
	uint64_t first;		/* token that is at position 0 */
	uint32_t n;
	uint32_t score;		/* position of the first token to score, from 1 */
};

/*
 * Window number @i of a text of @tokens, of at most @ctx tokens, each @stride
 * (1..ctx - 1) behind the one before. False past the last one.
 */
bool cmx_text_window(uint64_t tokens, uint32_t ctx, uint32_t stride, uint64_t i,
		     struct cmx_text_window *w);

#endif
