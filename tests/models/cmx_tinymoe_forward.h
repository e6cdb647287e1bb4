/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A forward pass in double over the rounded weights of a test model, written
 * apart from the engine: naive attention, one token's expert at a time.
 */
#ifndef CMX_TINYMOE_FORWARD_H
#define CMX_TINYMOE_FORWARD_H

#include "cmx_tinymoe.h"

struct tinymoe_model {
	const struct tinymoe_preset *p;
	struct tinymoe_tensor *t;
	double **w;		/* of each tensor, rounded as a file of this type has it */
	uint32_t n;
	bool legacy;
	/* What projections and experts take instead of @x; NULL: @x itself. */
	void (*round)(void *arg, uint32_t layer, const char *suffix, uint64_t expert,
		      uint32_t token, const double *x, uint64_t k, double *out);
	/* What becomes of a routed expert's output, in place; NULL: nothing. */
	void (*settle)(void *arg, uint32_t layer, uint64_t expert, uint32_t token, double *y,
		       uint64_t n);
	void *round_arg;
};

/* @hf: as a Hugging Face folder rounds them, which has the legacy form. 0 or -errno. */
int tinymoe_model_init(struct tinymoe_model *m, const struct tinymoe_preset *p,
		       enum tinymoe_type type, bool legacy, bool hf, uint64_t seed);
void tinymoe_model_free(struct tinymoe_model *m);

/*
 * Logits [n][vocab] of the prompt. With @experts, ids [MoE layer][n][top_k], the
 * routing is theirs; else the gate's own, which is written to @chosen (may be NULL).
 */
int tinymoe_forward(const struct tinymoe_model *m, const uint32_t *ids, uint32_t n,
		    const uint32_t *experts, uint32_t *chosen, double *logits);
/*
 * Logits [n - 1][vocab] of the MTP block's head; @n from 2. With @normed unset
 * the block gets the hidden states as they are before the main model's last
 * norm, a mistake that a test can look for.
 */
int tinymoe_mtp(const struct tinymoe_model *m, const uint32_t *ids, uint32_t n, bool normed,
		double *logits);

#endif
