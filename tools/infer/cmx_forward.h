/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The forward pass of a batch: turns steps into kernel launches. Nothing is
 * computed here. Several dies take a step together if their experts are shared
 * out (cmx_exchange.h). After cmx_die_finish() the host finds the chosen ids in
 * f->sampled. Logits, hidden states and chosen experts can be looked at where
 * they are, on the die, unless it is time-only.
 */
#ifndef CMX_FORWARD_H
#define CMX_FORWARD_H

#include "cmx_exchange.h"
#include "cmx_model.h"
#include "cmx_step.h"

/* Keys that the plain form of attention expands at a time, a multiple of CMX_KEY_TILE. */
#define CMX_KEY_WINDOW	1024u

/* Most tokens of a step. */
#define CMX_MAX_STEP_ROWS	(1u << 24)

struct cmx_forward_options {
	uint32_t ctx;		/* most positions of a sequence */
	uint32_t rows;		/* most tokens of a step */
	uint32_t seqs;		/* most sequences of a step */
	uint32_t drafts;	/* most guessed tokens of a sequence in a step */
	uint32_t pages;		/* of the cache */
	uint32_t page_shift;	/* a page has 2^page_shift positions */
	uint32_t window;	/* keys that are expanded at a time; 0: CMX_KEY_WINDOW */
	bool all_logits;	/* room for logits of all tokens of a step */
	bool absorb;		/* prompts take the absorbed form as well */
	bool hidden;		/* keep all rows after the final norm */
	bool mtp;		/* room for what cmx_mtp.h does, hidden states included */
	/* Time-only: of INT8 models activations and cache take the two bytes of the device. */
	bool narrow;
	/* With an exchange: most rows that the die's experts get; 0: it has all the experts. */
	uint32_t received;
};

/* Buffers are on the die but for those marked (host). */
struct cmx_forward {
	const struct cmx_model *m;
	struct cmx_die *die;
	struct cmx_forward_options opt;
	struct cmx_step_limits max, mtp_max;
	struct cmx_exchange *exchange;	/* NULL: all experts are here */
	uint32_t rank;			/* in it */
	int32_t *routing;		/* (host) time-only: choices for the exchange */
	/* Called before each launch with its arguments; NULL: nobody looks. 0 or a failure. */
	int (*observe)(void *arg, enum cmx_npu_id id, const void *args);
	void *observe_arg;
	uint64_t die_bytes;		/* of the buffers below, but for the cache */
	uint64_t cache_bytes;
	float scale;			/* of attention scores */
	struct cmx_step step;		/* the last one */
	char *step_host;		/* (host) its block */
	char *step_die;
	struct cmx_step mtp_step;	/* the MTP block's last one */
	char *mtp_step_host;		/* (host) */
	char *mtp_step_die;
	struct cmx_sampled *drafted;	/* (host) what it chose, in its order */
	float *pair;			/* what the block starts from, [row][2 hidden] */
	uint32_t *prompt;		/* (host) ids on their way to the die, [seq][ids_stride] */
	struct cmx_sampled *sampled;	/* (host) what the last step chose, in its order */
	uint32_t *ids;			/* [seq][ids_stride]: prompt, output, guesses */
	struct cmx_sampled *sample_out;
	float *rope;
	float *cache;			/* [layer, MTP last][page][position][kv row] */
	float *x, *h;			/* [row][hidden] */
	float *hidden;			/* [row][hidden] after the final norm, if opt.hidden */
	float *q_a, *q, *kv;
	float *latent;			/* gathered cache rows, [window][kv row] */
	float *keys;			/* expanded, [head][window][nope] */
	float *values;			/* [head][window][v] */
	float *state;			/* of softmaxes between windows, [row][head][2] */
	float *q_latent, *o_latent;	/* [absorbed row][head][kv_lora] */
	float *heads;			/* [row][head][v] */
	float *glu;			/* dense and shared experts */
	char *in_i8, *mid_i8;		/* INT8 rows: of a half layer's input, of later ones */
	float *shared;
	float *router;
	uint32_t *experts;		/* [MoE layer, MTP last][row][used] */
	float *weights;
	struct cmx_plan *plan;
	uint32_t *slot_token, *token_slot;
	float *slot_glu, *slot_out;
	float *logits;			/* [wanted row][vocab] */
	uint32_t *order;
	float *prob;
};

/* The die's memory that the cache and the other buffers will take. */
void cmx_forward_bytes(const struct cmx_model_config *c, const struct cmx_forward_options *opt,
		       uint64_t *cache, uint64_t *buffers);
/* Allocates the buffers and launches what is done once; cmx_forward_free() in any case. */
int cmx_forward_init(struct cmx_forward *f, const struct cmx_model *m, struct cmx_die *die,
		     const struct cmx_forward_options *opt, struct cmx_infer_err *err);
/* The buffers live as long as the die. */
void cmx_forward_free(struct cmx_forward *f);
/* Copies a prompt to the place that the die has for the ids of sequence @slot. */
int cmx_forward_prompt(struct cmx_forward *f, uint32_t slot, const uint32_t *ids, uint32_t n,
		       struct cmx_infer_err *err);
/* Takes part in an exchange as @rank from now on; opt.received must have been given. */
int cmx_forward_join(struct cmx_forward *f, struct cmx_exchange *x, uint32_t rank,
		     struct cmx_infer_err *err);

/* What one die does in a step; with @n 0 only its experts work. */
struct cmx_turn {
	struct cmx_forward *f;
	struct cmx_part *part;
	uint32_t n;
};

/* Launches a step on all ranks of an exchange, in their order; or on one die without. */
int cmx_forward_steps(const struct cmx_turn *turn, uint32_t ranks, struct cmx_infer_err *err);
/* Launches a step of one die. The parts must live until it is finished. */
int cmx_forward_step(struct cmx_forward *f, struct cmx_part *part, uint32_t n,
		     struct cmx_infer_err *err);

/* What the gate chose for a row of the last step in MoE layer @moe (from 0). */
static inline const uint32_t *cmx_forward_experts(const struct cmx_forward *f, uint32_t moe,
						  uint32_t row)
{
	return f->experts + ((uint64_t)moe * f->opt.rows + row) * f->m->cfg.n_used;
}

/* The same, as decisions have it. */
static inline void cmx_forward_note(const struct cmx_forward *f, uint32_t moe, uint32_t row,
				    uint16_t *to)
{
	const uint32_t *from = cmx_forward_experts(f, moe, row);

	for (uint32_t i = 0; i < f->m->cfg.n_used; i++)
		to[i] = (uint16_t)from[i];
}

/* Rows that take the absorbed form, at most. */
static inline uint32_t cmx_forward_absorbed(const struct cmx_forward_options *opt)
{
	uint32_t decode = opt->seqs * (1 + opt->drafts);

	return opt->absorb || decode > opt->rows ? opt->rows : decode;
}

#endif
