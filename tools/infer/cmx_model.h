/* SPDX-License-Identifier: GPL-2.0-only */
/* The weights of a model on a die. */
#ifndef CMX_MODEL_H
#define CMX_MODEL_H

#include "cmx_die.h"
#include "cmx_model_config.h"
#include "cmx_model_source.h"

struct cmx_weight {
	const char *va;		/* device address; NULL if the model has no such tensor */
	uint32_t type;
};

struct cmx_layer {
	struct cmx_weight attn_norm;
	struct cmx_weight q;
	struct cmx_weight q_a, q_a_norm, q_b;
	struct cmx_weight kv_a, kv_a_norm;
	struct cmx_weight kv_b;			/* legacy form */
	struct cmx_weight k_b, v_b;		/* split form */
	struct cmx_weight attn_out;
	struct cmx_weight ffn_norm;
	struct cmx_weight gate, up, down;	/* dense layers */
	struct cmx_weight router, bias;
	struct cmx_weight exp_gate, exp_up, exp_down;
	struct cmx_weight sh_gate, sh_up, sh_down;
};

/* What predicts a second token, besides its layer. */
struct cmx_mtp_weights {
	struct cmx_weight enorm, hnorm;		/* of the next token's row and the hidden state */
	struct cmx_weight eh_proj;
	struct cmx_weight head_norm;
	struct cmx_weight embed, head;		/* the main model's if it has no others */
};

struct cmx_model {
	struct cmx_model_config cfg;
	struct cmx_weight embed, out_norm, out;
	struct cmx_layer *layer;	/* with MTP one more, which is the MTP block's */
	bool has_mtp;
	struct cmx_mtp_weights mtp;
	uint64_t weight_bytes;
	uint32_t n_local;	/* experts on this die */
};

struct cmx_load_options {
	bool mtp;		/* load the first MTP block too; the model must have one */
	const int32_t *experts;	/* those that come to this die, in this order; NULL: all */
	uint32_t n_experts;
	/* Of the die's memory that the run needs besides the weights. */
	uint64_t cache_bytes;
	uint64_t buffer_bytes;
	/* Called with stored bytes read so far and in all; may be NULL. */
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *progress_ctx;
};

/*
 * Checks every tensor the architecture needs, those of MTP blocks that are not
 * loaded too, and that the others fit, before it puts these into the die's
 * memory. A time-only die gets the addresses and no bytes.
 */
int cmx_model_load(const struct cmx_source *src, struct cmx_die *die,
		   const struct cmx_load_options *opt, struct cmx_model *m,
		   struct cmx_infer_err *err);
void cmx_model_free(struct cmx_model *m);

#endif
