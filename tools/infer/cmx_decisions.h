/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a run decided: the experts its gates chose and the tokens it sampled.
 * A time-only run replays them.
 *
 * File, little-endian: 8 bytes "CMXDECIS", then u32 version (2), moe layers,
 * experts, experts used, vocabulary, prompt tokens, output tokens, end reason,
 * chunk, context, all logits (0 or 1), top-k; f32 temperature, top-p, min-p,
 * repetition penalty; u32 ids of prompt and output; u16 chosen experts
 * [position][moe layer][used] for all positions that went through the layers,
 * prompt + output - 1 (prompt alone without output); u32 CRC-32C of everything
 * before it.
 */
#ifndef CMX_DECISIONS_H
#define CMX_DECISIONS_H

#include <stdint.h>
#include <stdio.h>

#include "cmx_infer_err.h"
#include "cmx_model_config.h"

enum cmx_end_reason {
	CMX_END_LENGTH = 0,	/* as many tokens as were asked for */
	CMX_END_EOS = 1,	/* an end token was sampled; it is the last output id */
	CMX_END_STOP = 2,	/* the last output id completes a stop string */
};

struct cmx_decisions {
	uint32_t n_moe;
	uint32_t n_expert;
	uint32_t n_used;
	uint32_t vocab;
	uint32_t n_prompt;
	uint32_t n_output;
	uint32_t end;		/* enum cmx_end_reason */
	/* What else the command stream depends on. */
	uint32_t chunk;
	uint32_t ctx;
	uint32_t all_logits;
	uint32_t top_k;
	float temp;
	float top_p;
	float min_p;
	float penalty;
	uint32_t capacity;	/* positions there is room for */
	uint32_t *ids;		/* prompt, then output */
	uint16_t *experts;	/* [position][moe layer][used] */
};

/* Room for @capacity positions of a model; nothing decided yet. */
int cmx_decisions_init(struct cmx_decisions *d, const struct cmx_model_config *c,
		       uint32_t capacity, struct cmx_infer_err *err);
void cmx_decisions_free(struct cmx_decisions *d);

/* Positions that went through the layers. */
uint32_t cmx_decisions_positions(const struct cmx_decisions *d);
uint16_t *cmx_decisions_at(const struct cmx_decisions *d, uint32_t pos, uint32_t moe);
/* Distinct experts of positions [pos, pos + n) in one MoE layer. */
uint32_t cmx_decisions_active(const struct cmx_decisions *d, uint32_t moe, uint32_t pos,
			      uint32_t n);

int cmx_decisions_write(const struct cmx_decisions *d, FILE *f, struct cmx_infer_err *err);
int cmx_decisions_read(struct cmx_decisions *d, int fd, struct cmx_infer_err *err);
/* -EINVAL unless the decisions are those of such a model. */
int cmx_decisions_match(const struct cmx_decisions *d, const struct cmx_model_config *c,
			struct cmx_infer_err *err);

#endif
