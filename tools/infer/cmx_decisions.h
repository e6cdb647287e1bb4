/* SPDX-License-Identifier: GPL-2.0-only */
/* What was decided for a sequence: the experts its gates chose, the tokens sampled. */
#ifndef CMX_DECISIONS_H
#define CMX_DECISIONS_H

#include <stdint.h>

#include "cmx_gates.h"

#define CMX_NOT_ROUTED	UINT16_MAX

enum cmx_end_reason {
	CMX_END_LENGTH = 0,	/* as many tokens as were asked for */
	CMX_END_EOS = 1,	/* an end token was sampled; it is the last output id */
	CMX_END_STOP = 2,	/* the last output id completes a stop string */
	CMX_END_ERROR = 3,	/* refused (no output then), or the last logits were not finite */
	CMX_END_CANCEL = 4,	/* nobody wants the rest; in no file */
};

struct cmx_decisions {
	uint32_t n_moe;		/* with guesses the MTP block's too, which is the last */
	uint32_t n_used;
	uint32_t n_prompt;
	uint32_t n_output;
	uint32_t most;		/* output tokens that were asked for */
	uint32_t end;		/* enum cmx_end_reason */
	/* What else the command stream depends on. */
	uint32_t top_k;
	float temp;
	float top_p;
	float min_p;
	float penalty;
	uint32_t capacity;	/* positions there is room for */
	uint32_t *ids;		/* prompt, then output */
	uint16_t *experts;	/* [position][moe layer][used]; NULL: the gates know */
	const struct cmx_gates *gates;
	uint64_t stream;	/* the sequence, for the gates */
	uint32_t turn;		/* is added to rows, for gates that take turns */
	/* Tokens that were guessed and put to the test, right or wrong. */
	uint32_t n_guesses;
	uint32_t max_guesses;	/* there is room for */
	uint32_t *guesses;
	uint16_t *guess_experts;	/* [guess][moe layer of the main model][used] */
};

/* Room for @capacity positions of a model and, with @mtp, @guesses; nothing decided yet. */
int cmx_decisions_init(struct cmx_decisions *d, const struct cmx_model_config *c,
		       uint32_t capacity, bool mtp, uint32_t guesses, struct cmx_infer_err *err);
/* Without room for experts: what is not computed has none of its own. */
int cmx_decisions_init_ids(struct cmx_decisions *d, uint32_t capacity, uint32_t guesses,
			   struct cmx_infer_err *err);
void cmx_decisions_free(struct cmx_decisions *d);

/* Entries of guess_experts for @guesses. */
uint64_t cmx_decisions_guess_entries(const struct cmx_decisions *d, uint32_t guesses);
/* Positions that went through the layers. */
uint32_t cmx_decisions_positions(const struct cmx_decisions *d);
uint16_t *cmx_decisions_at(const struct cmx_decisions *d, uint32_t pos, uint32_t moe);
uint16_t *cmx_decisions_guess_at(const struct cmx_decisions *d, uint32_t guess, uint32_t moe);
/*
 * Copies what was chosen at a position in one MoE layer; @row is where its token stands in the
 * step. False if it was not decided.
 */
bool cmx_decisions_get(const struct cmx_decisions *d, uint32_t moe, uint32_t pos, uint32_t row,
		       uint16_t *experts);
/* The same for a guess. */
bool cmx_decisions_get_guess(const struct cmx_decisions *d, uint32_t moe, uint32_t guess,
			     uint32_t row, uint16_t *experts);

#endif
