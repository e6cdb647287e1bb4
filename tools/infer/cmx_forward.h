/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The forward pass of a sequence: turns chunks of tokens into kernel launches.
 * Nothing is computed here. The host puts the prompt's ids into f->prompt and,
 * after cmx_die_finish(), finds the sampled id in f->sampled. Logits and chosen
 * experts can be looked at where they are, on the die, unless it is time-only.
 */
#ifndef CMX_FORWARD_H
#define CMX_FORWARD_H

#include "cmx_decisions.h"
#include "cmx_model.h"

/* In the order in which they are applied; struct cmx_k_sample says how. */
struct cmx_sampling {
	float penalty;		/* on tokens of prompt and output so far; 1: none */
	float temp;		/* 0: greedy */
	uint32_t top_k;		/* 0: no cut */
	float top_p;		/* 1: no cut */
	float min_p;		/* 0: no cut */
	uint64_t seed;
};

struct cmx_forward_options {
	uint32_t ctx;		/* positions in the cache */
	uint32_t chunk;		/* most tokens of one chunk */
	bool all_logits;	/* for every token of a chunk, not only its last one */
	struct cmx_sampling sampling;
};

/* Buffers are on the die but for those marked (host). */
struct cmx_forward {
	const struct cmx_model *m;
	struct cmx_die *die;
	struct cmx_forward_options opt;
	const struct cmx_decisions *replay;	/* time-only: what the gate chose */
	uint64_t die_bytes;		/* of the buffers below */
	float scale;			/* of attention scores */
	uint32_t *prompt;		/* (host) ids to embed, by position */
	struct cmx_sampled *sampled;	/* (host) what the last sample gave */
	uint32_t *ids;			/* the same on the die, and what follows the prompt */
	struct cmx_sampled *sample_out;
	float *rope;
	float *cache;			/* [layer][ctx][kv row] */
	float *x, *h;			/* [chunk][hidden] */
	float *q_a, *q, *kv;
	float *expanded;		/* keys and values of all heads, [ctx][head][nope + v] */
	float *q_latent, *o_latent;	/* [chunk][head][kv_lora] */
	float *heads;			/* [chunk][head][v] */
	float *glu;			/* dense and shared experts */
	float *shared;
	float *router;
	uint32_t *experts;		/* [MoE layer][chunk][used] */
	float *weights;
	struct cmx_plan *plan;
	uint32_t *slot_token, *token_slot;
	float *slot_glu, *slot_out;
	float *logits;			/* [chunk or 1][vocab] */
	uint32_t *order;
	float *prob;
};

/* The die's memory that the buffers will take. */
uint64_t cmx_forward_bytes(const struct cmx_model_config *c, const struct cmx_forward_options *opt);
/* Allocates the buffers and launches what is done once. */
int cmx_forward_init(struct cmx_forward *f, const struct cmx_model *m, struct cmx_die *die,
		     const struct cmx_forward_options *opt, const struct cmx_decisions *replay,
		     struct cmx_infer_err *err);
/* Copies the first @n ids of f->prompt to the die. */
int cmx_forward_prompt(struct cmx_forward *f, uint32_t n, struct cmx_infer_err *err);
/*
 * Launches a chunk: the tokens at positions [pos, pos + n). With @sample >= 0
 * also the choice of output token number @sample, which becomes the id at
 * position pos + n and, copied back, f->sampled.
 */
int cmx_forward_chunk(struct cmx_forward *f, uint32_t pos, uint32_t n, int64_t sample,
		      struct cmx_infer_err *err);

/* What the gate chose for token @t of the last chunk in MoE layer @moe (from 0). */
static inline const uint32_t *cmx_forward_experts(const struct cmx_forward *f, uint32_t moe,
						  uint32_t t)
{
	return f->experts + ((uint64_t)moe * f->opt.chunk + t) * f->m->cfg.n_used;
}

#endif
