/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which rank has which experts: evenly, or by how often each was chosen, with more copies of
 * the busy ones; and which weights have to move from one placement to the next. Same input,
 * same placement.
 */
#ifndef CMX_PLACEMENT_H
#define CMX_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_infer_err.h"

#define CMX_PLACEMENT_MAX_RANKS		1024u
#define CMX_PLACEMENT_MAX_EXPERTS	4096u
#define CMX_PLACEMENT_MAX_COUNT		(1ull << 40)	/* tokens of an expert */
#define CMX_PLACEMENT_NONE		(-1)
#define CMX_PLACEMENT_HOST		(-1)	/* source: no rank that lives has it */

struct cmx_placement_shape {
	uint32_t ranks, experts;
	uint32_t local;			/* places of a rank */
	/* Copies of all experts together: experts to places of live ranks; 0: experts. */
	uint32_t physical;
	const uint64_t *failed;		/* bit of each rank that has to stay empty; NULL: none */
};

struct cmx_placement {
	uint32_t ranks, experts, local;
	int32_t *table;			/* [ranks][local]: expert, or CMX_PLACEMENT_NONE */
};

/*
 * A placement of each expert's copies on live ranks, never two of one expert on a rank. -EINVAL
 * for a shape out of range, -ENOSPC when experts or copies do not fit. Free @out with
 * cmx_placement_free().
 */
int cmx_placement_even(const struct cmx_placement_shape *shape, struct cmx_placement *out,
		       struct cmx_infer_err *err);
/*
 * The same by @counts, tokens of each expert. Copies go one by one to the expert that has the
 * most tokens for each of those it has; then the heaviest copy goes to the rank with the least
 * to do, and the busiest rank swaps with others while that helps. No rank has more to do than
 * the busiest of the even placement.
 */
int cmx_placement_balance(const struct cmx_placement_shape *shape, const uint64_t *counts,
			  struct cmx_placement *out, struct cmx_infer_err *err);
void cmx_placement_free(struct cmx_placement *p);

/* Copies of an expert. */
uint32_t cmx_placement_copies(const struct cmx_placement *p, uint32_t expert);
bool cmx_placement_has(const struct cmx_placement *p, uint32_t rank, uint32_t expert);

/* 1024ths of tokens: copies of an expert share its tokens evenly. */
uint64_t cmx_placement_load(const struct cmx_placement *p, const uint64_t *counts, uint32_t rank);
uint64_t cmx_placement_busiest(const struct cmx_placement *p, const uint64_t *counts);

struct cmx_placement_move {
	uint32_t expert;
	int32_t from_rank;		/* or CMX_PLACEMENT_HOST */
	uint32_t from_place;
	uint32_t to_rank, to_place;
	int32_t stash;			/* or CMX_PLACEMENT_NONE */
};

/*
 * Moves of weights. Those with a stash are read first, each into that stash of its to_rank; then
 * all are made in order, these from their stash. So none reads what was overwritten.
 */
struct cmx_placement_plan {
	struct cmx_placement_move *moves;
	uint32_t count;
	uint32_t stashes;		/* of one rank at most */
};

/*
 * From @old to @next. What ranks have in @next is first handed out anew among live ranks, and put
 * in other places, so that the fewest weights move. @failed: ranks that can't be read.
 */
int cmx_placement_plan(const struct cmx_placement *old, struct cmx_placement *next,
		       const uint64_t *failed, struct cmx_placement_plan *plan,
		       struct cmx_infer_err *err);
void cmx_placement_plan_free(struct cmx_placement_plan *plan);

static inline bool cmx_placement_failed(const uint64_t *failed, uint32_t rank)
{
	return failed && failed[rank / 64] >> (rank % 64) & 1;
}

static inline int32_t *cmx_placement_of(const struct cmx_placement *p, uint32_t rank)
{
	return p->table + (uint64_t)rank * p->local;
}

/* An empty table of the shape, which is checked. @live: out: ranks that have not failed. */
int cmx_placement_begin(const struct cmx_placement_shape *shape, struct cmx_placement *out,
			uint32_t *live, struct cmx_infer_err *err);

#endif
