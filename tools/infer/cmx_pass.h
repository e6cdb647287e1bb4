/* SPDX-License-Identifier: GPL-2.0-only */
/* A die's step on its way through the layers; after a failure the rest does nothing. */
#ifndef CMX_PASS_H
#define CMX_PASS_H

#include "cmx_forward.h"

struct cmx_pass {
	const struct cmx_forward *f;
	const struct cmx_step *step;
	const struct cmx_layer *y;
	const float *in;	/* the normed input as the products of this half layer take it */
	uint32_t layer;
	uint32_t n;		/* rows */
	int ret;
	struct cmx_received got;	/* in a MoE layer, of an exchange */
	struct cmx_infer_err *err;
};

/* Lays out the die's part of a step, which may have no tokens, and takes it to the die. */
void cmx_pass_start(struct cmx_pass *p, const struct cmx_turn *turn, struct cmx_step *st,
		    const char *label, struct cmx_infer_err *err);
/* Each rank in turn; a failure of one ends the work of all. */
void cmx_pass_ranks(struct cmx_pass *p, uint32_t ranks, void (*fn)(struct cmx_pass *p));

void cmx_pass_launch(struct cmx_pass *p, enum cmx_npu_id id, const void *args,
		     const char *label, const struct cmx_npu_load *load);
/*
 * @rows rows of @k values as the product with @w takes them: quantised to @room if it is
 * INT8, else @x itself.
 */
const float *cmx_pass_input(struct cmx_pass *p, const struct cmx_weight *w, const float *x,
			    uint32_t k, uint32_t rows, char *room, const char *label);
/* out[t] = res[t] + w x[t] for all rows; @res may be NULL. */
void cmx_pass_matmul(struct cmx_pass *p, const struct cmx_weight *w, uint32_t rows, uint32_t k,
		     const float *x, const float *res, float *out, const char *label);
/* Row t is made from row pick[t] of @x, or from row t if @pick is NULL. */
void cmx_pass_norm(struct cmx_pass *p, const float *x, const uint32_t *pick,
		   const struct cmx_weight *w, float *out, uint32_t dim, uint32_t tokens,
		   const char *label);
/*
 * Rows of @x normed to @out, all of the step, as the product with @w takes them: rounded to
 * @room by the same launch if it is INT8, else @out itself.
 */
const float *cmx_pass_norm_for(struct cmx_pass *p, const float *x, const struct cmx_weight *norm,
			       float *out, uint32_t dim, const struct cmx_weight *w, char *room,
			       const char *label);
/*
 * f->x of all ranks through layer @layer; the MTP block's is the one behind the main
 * model's.
 */
void cmx_pass_layer(struct cmx_pass *p, uint32_t ranks, uint32_t layer);

#endif
