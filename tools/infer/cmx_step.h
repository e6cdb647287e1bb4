/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One step of a batch: tokens of several sequences that go through the layers
 * together. What the kernels must know of them is laid out in one block, so
 * that one copy takes it to the die.
 */
#ifndef CMX_STEP_H
#define CMX_STEP_H

#include "cmx_decisions.h"
#include "cmx_die.h"
#include "kernels/cmx_npu_cost.h"

/* In the order in which they are applied; struct cmx_sample_row says how. */
struct cmx_sampling {
	float penalty;		/* on tokens of prompt and output so far; 1: none */
	float temp;		/* 0: greedy */
	uint32_t top_k;		/* 0: no cut */
	float top_p;		/* 1: no cut */
	float min_p;		/* 0: no cut */
	uint64_t seed;
};

struct cmx_step_limits {
	uint32_t rows;		/* most tokens of a step */
	uint32_t parts;		/* most sequences of a step */
	uint32_t want;		/* most logits rows */
	uint32_t samples;	/* most tokens to choose */
	uint32_t ctx;		/* positions of a sequence */
	uint32_t window;	/* keys that the plain form has at hand at a time */
	uint32_t page_shift;
	uint32_t ids_stride;	/* from the ids of one sequence to the next one's */
	bool sources;		/* parts have a source */
};

/* Tokens [pos, pos + n) of one sequence. */
struct cmx_part {
	const uint32_t *pages;	/* page table, to position pos + n - 1 at least */
	uint32_t slot;		/* where its ids are */
	uint32_t pos;
	uint32_t n;
	bool absorbed;		/* attention on the latent cache, else in the plain form */
	uint32_t want;		/* of how many of its last tokens logits are wanted */
	uint32_t sample;	/* after how many of its last tokens one is chosen; <= want */
	uint64_t index;		/* of the first token chosen, in the sequence's output */
	const struct cmx_sampling *sampling;	/* may be NULL if none is chosen */
	uint32_t source;	/* MTP: the row of another step that belongs to its first token */
	uint32_t guesses;	/* how many of its last tokens are guesses */
	const struct cmx_decisions *replay;	/* time-only: what the gate chose */
	uint32_t first_guess;	/* time-only: which of the replay's guesses come first */
	/* Filled in: where its first ones are. */
	uint32_t first_row;
	uint32_t first_logits;
	uint32_t first_sample;
};

/* Keys at [first, end) of one sequence, or all keys of several: what is at hand at a time. */
struct cmx_window {
	uint32_t row;		/* tokens that have keys here */
	uint32_t rows;
	uint32_t span;
	uint32_t spans;
	uint32_t keys;
	uint32_t first;
	uint32_t end;
	struct cmx_key_work work;
};

/* The block's arrays, on the host or on the die. */
struct cmx_step_arrays {
	struct cmx_sample_row *samples;
	struct cmx_row *rows;
	struct cmx_span *spans;
	uint32_t *want;		/* rows of the step */
	uint32_t *tables;
	uint32_t *sources;	/* by row; none without max.sources */
};

struct cmx_step {
	struct cmx_step_limits max;
	char *host;		/* the block */
	char *die;
	uint64_t bytes;		/* of the block in use */
	const struct cmx_part *part;
	uint32_t n_parts;
	uint32_t n_rows;
	uint32_t n_absorbed;	/* they come first */
	uint32_t n_want;
	uint32_t n_samples;
	uint32_t n_tables;
	uint32_t n_spans;
	uint32_t n_windows;
	struct cmx_window *window;
	struct cmx_key_work absorbed;
	struct cmx_step_arrays at;	/* on the die */
	/* For the cost of choosing. */
	uint32_t n_draw;
	uint32_t n_sort;
	uint32_t n_penalty;
	uint64_t n_history;
};

/* Most bytes of a block. */
uint64_t cmx_step_bytes(const struct cmx_step_limits *max);
/* @host and @die have room for cmx_step_bytes(). */
int cmx_step_init(struct cmx_step *st, const struct cmx_step_limits *max, void *host, void *die,
		  struct cmx_infer_err *err);
void cmx_step_free(struct cmx_step *st);

/* A step without tokens. */
void cmx_step_clear(struct cmx_step *st);
/*
 * Lays out a step of @n parts, which must live as long; absorbed ones may stand
 * anywhere among them. -ENOSPC names what is more than the limits allow.
 */
int cmx_step_build(struct cmx_step *st, struct cmx_part *part, uint32_t n,
		   struct cmx_infer_err *err);

/* What each row chose in one MoE layer, [row][n_used]; -EINVAL if not known. */
int cmx_step_choices(const struct cmx_step *st, uint32_t moe, uint32_t n_used, int32_t *ids,
		     struct cmx_infer_err *err);
/* Experts that all tokens of the step together chose in one MoE layer; -EINVAL if not known. */
int cmx_step_active(const struct cmx_step *st, uint32_t moe, uint32_t *active,
		    struct cmx_infer_err *err);

#endif
