/* SPDX-License-Identifier: GPL-2.0-only */
/* A die's step on its way through the layers; after a failure the rest does nothing. */
#ifndef CMX_PASS_H
#define CMX_PASS_H

#include "cmx_forward.h"

/*
 * With up to so many rows, work on whole rows is done at the end of the launch that makes
 * them; more are worth the blocks of a launch of their own. The bits are the same.
 */
#define CMX_PASS_FEW	8u

/* The norm that follows on f->x, and a product that takes its rows. */
struct cmx_next {
	const struct cmx_weight *norm;	/* NULL: none follows */
	const struct cmx_weight *w;
	const char *label;
};

struct cmx_pass {
	const struct cmx_forward *f;
	const struct cmx_step *step;
	const struct cmx_layer *y;
	const float *in;	/* the normed input as the products of this half layer take it */
	uint32_t layer;
	uint32_t end;		/* the layer behind the last one of this pass */
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

static inline bool cmx_pass_few(const struct cmx_pass *p)
{
	return p->n <= CMX_PASS_FEW;
}

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
/* f->x normed to f->h; p->in becomes what products take of it. */
void cmx_pass_next(struct cmx_pass *p, const struct cmx_next *next);
/* The same as the end of the launch that makes f->x. */
struct cmx_row_end cmx_pass_next_end(struct cmx_pass *p, const struct cmx_next *next);
/* f->x += w x, and what follows. */
void cmx_pass_add(struct cmx_pass *p, const struct cmx_weight *w, uint32_t k, const float *x,
		  const struct cmx_next *next, const char *label);
/*
 * f->x of all ranks through layers [first, end); the MTP block's is the one behind the main
 * model's.
 */
void cmx_pass_layers(struct cmx_pass *p, uint32_t ranks, uint32_t first, uint32_t end);

#endif
