/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The decisions of a run as a file, which a time-only run replays.
 *
 * Little-endian: 8 bytes "CMXDECIS", then u32 version (5), moe layers (the
 * MTP block's too if it made guesses), experts, experts used, vocabulary,
 * sequences, tokens of a step, sequences of a step, context, pages, log2 of a
 * page's positions, each 0 or 1: all logits, absorbed prompts, no reuse of
 * prompts, MTP; and dies that share the experts, groups that share the
 * sequences, dies of a group.
 * For each sequence: u32 prompt tokens, output tokens, most output
 * tokens, end reason, guesses, top-k; f32 temperature, top-p, min-p, repetition
 * penalty. Then for each sequence: u32 ids of prompt and output; u16 chosen
 * experts [position][moe layer][used] for all positions that went through the
 * layers, prompt + output - 1 (prompt alone without output, none if it was
 * refused), 65535 for those taken from another sequence and for pairs that the
 * MTP block was not asked for; u32 ids of guesses; u16 their experts [guess][moe
 * layer of the main model][used]. Last u32 CRC-32C of everything before it.
 */
#ifndef CMX_RECORDING_H
#define CMX_RECORDING_H

#include <stdio.h>

#include "cmx_decisions.h"

#define CMX_MAX_SEQUENCES	(1u << 16)

/* All sequences of a run, and before them what its steps were made by. */
struct cmx_recording {
	uint32_t n_moe;
	uint32_t n_expert;
	uint32_t n_used;
	uint32_t vocab;
	uint32_t n;
	uint32_t chunk;
	uint32_t max_batch;
	uint32_t ctx;
	uint32_t pages;
	uint32_t page_shift;
	uint32_t all_logits;
	uint32_t absorb;
	uint32_t no_reuse;
	uint32_t mtp;
	uint32_t ep;
	uint32_t dp;
	uint32_t tp;
	struct cmx_decisions **seq;
};

int cmx_recording_write(const struct cmx_recording *r, FILE *f, struct cmx_infer_err *err);
/* cmx_recording_free() also after a failure. */
int cmx_recording_read(struct cmx_recording *r, int fd, struct cmx_infer_err *err);
void cmx_recording_free(struct cmx_recording *r);
/* -EINVAL unless the decisions are those of such a model. */
int cmx_recording_match(const struct cmx_recording *r, const struct cmx_model_config *c,
			struct cmx_infer_err *err);

#endif
