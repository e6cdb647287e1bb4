/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rounds of the expert-parallel library: ranks with queues and memory, seeded choices, an
 * expert's kernel between dispatch and combine, and a plain model of what must come out.
 */
#ifndef PARTY_H
#define PARTY_H

#include "bed.h"

#define PARTY_MAX_RANKS		320
#define PARTY_MAX_ROUNDS	8
#define PARTY_PAD		0x5a	/* between rows, and behind the last one */

/* How the tokens of a round are drawn. */
enum party_draw {
	PARTY_RANDOM,		/* any number of tokens, some choices -1, some tokens inactive */
	PARTY_FULL,		/* max_tokens, each with topk choices */
	PARTY_ONE_EXPERT,	/* max_tokens, each chose expert 0 alone */
	PARTY_NOBODY,		/* no choices at all */
	PARTY_ONE_RANK,		/* tokens on rank 0 only */
};

enum party_call { PARTY_POST, PARTY_WAIT, PARTY_RETURN, PARTY_SUM, PARTY_CALLS };

/* What one rank has in one round. */
struct party_round {
	struct cmx_mem *mem;
	uint32_t tokens;
	float *x, *shared, *out, *weights;
	int32_t *ids;
	uint8_t *active;
	float *y;
	/* What the expert's kernel saw. */
	uint32_t *plan;
	unsigned char *rows;
	uint32_t stride;
};

struct party {
	struct cmx_ctx *ctx;
	struct cmx_timeline *clock;
	struct cmx_cq *cq;
	struct cmx_ep *ep;
	struct cmx_ep_desc desc;
	uint32_t entities[PARTY_MAX_RANKS];
	int32_t *placement;
	bool failed[PARTY_MAX_RANKS];
	struct cmx_queue *queues[PARTY_MAX_RANKS][2];
	struct party_round rounds[PARTY_MAX_ROUNDS][PARTY_MAX_RANKS];
	uint32_t num_rounds, first;	/* those of the next run */
	uint32_t seed;
	uint64_t jitter_ps;		/* ranks are up to so much late before each call */
	uint64_t slow_ps;		/* rank 1 is before it waits for round 0 */
	uint64_t expert;		/* kernel */
	/* Virtual time of the end of every call. */
	uint64_t times[PARTY_MAX_ROUNDS][PARTY_CALLS][PARTY_MAX_RANKS];
	struct cmx_cqe bad;		/* first completion that failed */
};

/* @party->desc is filled but for tables; NULL @placement: experts in turn, over all places. */
int party_open(struct party *party, const int32_t *placement);
void party_close(struct party *party);

/*
 * Append @n rounds, two in flight on two queues of each rank, then let them run; @threads
 * beside the caller's. 0, or the library's error; -EIO with party->bad.
 */
int party_run(struct party *party, const enum party_draw *draws, uint32_t n);

/* Compare what came out with the model: the number of differences, the first one printed. */
uint32_t party_check(const struct party *party);

#endif /* PARTY_H */
