/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ranks on the dies of a machine with two groups of collectives over them, programs of random
 * calls, and a plain model of what these do to the ranks' memory.
 */
#ifndef GROUP_H
#define GROUP_H

#include <stdbool.h>

#include "bed.h"

#define GROUP_MAX	16u
#define GROUP_MAX_BYTES	(80u << 10)	/* of a rank in one call */
#define GROUP_ARENA	(24u << 20)	/* memory of a rank */

enum group_op {
	GROUP_GATHER,
	GROUP_SCATTER,
	GROUP_REDUCE,
	GROUP_ALLTOALL,
	GROUP_ALLTOALLV,
	GROUP_BROADCAST,
	GROUP_BARRIER,
	GROUP_OPS,
};

/* Source and destination are offsets into each rank's memory. */
struct group_call {
	uint32_t op, dtype, root, backward;	/* backward: by the group in reverse order */
	uint64_t size;				/* elements or bytes */
	uint64_t dst, src;
	bool in_place;				/* of two, at the rank's own part */
	uint64_t pieces[GROUP_MAX][GROUP_MAX];	/* all-to-all-v: [from][to], by rank */
};

struct group {
	struct cmx_ctx *ctx;
	struct cmx_cq *cq;
	uint32_t n;
	bool time_only;
	struct cmx_queue *q[GROUP_MAX];
	struct cmx_mem *mem[GROUP_MAX];
	struct cmx_ccl *ccl[2];			/* ranks as dies, and in reverse order */
};

int group_open(struct group *g, uint32_t n, uint32_t flags, uint32_t threads);
void group_close(struct group *g);

/* Fill @calls with random ones of disjoint memory; bytes behind the last of it are spare. */
uint64_t group_draw(struct group_call *calls, uint32_t count, uint32_t n, uint32_t seed);

/* What a rank's memory has before, by what reads it; the same in @bytes for the model. */
void group_fill(const struct group_call *calls, uint32_t count, uint32_t n, uint32_t rank,
		uint64_t size, uint8_t *bytes, uint32_t seed);

/* The calls, one after another, on memory of the ranks. */
void group_model(const struct group_call *calls, uint32_t count, uint32_t n, uint8_t **bytes);

/* Append a call of one die. */
int group_call(struct group *g, const struct group_call *call, uint32_t die, uint64_t user_ctx);

/* Submit all, and take @n completions; times[user_ctx]. */
int group_finish(struct group *g, uint32_t n, uint64_t *times);

#endif /* GROUP_H */
