/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What dies send each other in a MoE layer: each token's row to the dies of the experts it
 * chose, and back what these made of it. A rank is one of the dies. All of them take part in
 * every round, with no tokens if they have none, and in step: whatever a rank appends here,
 * all ranks append before any of them goes on to what comes next.
 */
#ifndef CMX_EXCHANGE_H
#define CMX_EXCHANGE_H

#include "cmx_die.h"

struct cmx_exchange;

struct cmx_exchange_shape {
	uint32_t ranks;
	uint32_t hidden;
	uint32_t n_expert;
	uint32_t n_used;
	uint32_t rows;			/* most tokens of a rank in a round */
	uint32_t received;		/* most rows that a rank's experts get */
	uint32_t local;			/* experts of a rank */
	const int32_t *placement;	/* [ranks][local]; those that stand twice are replicas */
	/* Rows of the quantise kernel go, BF16 comes back; else F32 both ways. */
	bool int8;
};

/* What a rank's experts got, by expert, then by rank, then in the order of its tokens. */
struct cmx_received {
	const float *rows;
	uint32_t stride;		/* bytes from row to row */
	const struct cmx_plan *plan;
	struct cmx_npu_load load;	/* time-only */
};

/* Rows that a rank can get at most, whatever is chosen. */
uint64_t cmx_exchange_most(uint32_t ranks, uint32_t rows, uint32_t n_used, uint32_t local);
/* Bytes of buffers on each die. */
int cmx_exchange_bytes(const struct cmx_exchange_shape *shape, uint64_t *bytes,
		       struct cmx_infer_err *err);
/* @die has one for each rank; all are of one machine. Closed before it. */
int cmx_exchange_open(struct cmx_die *const *die, const struct cmx_exchange_shape *shape,
		      struct cmx_exchange **out, struct cmx_infer_err *err);
void cmx_exchange_close(struct cmx_exchange *x);

/* Time-only: what the rank's gate chose, [tokens][n_used]. All ranks, before any sends. */
int cmx_exchange_route(struct cmx_exchange *x, uint32_t rank, const int32_t *ids,
		       uint32_t tokens, struct cmx_infer_err *err);
/* @rows and @ids are on the rank's die and stay until the round is over. */
int cmx_exchange_send(struct cmx_exchange *x, uint32_t rank, const void *rows,
		      const uint32_t *ids, uint32_t tokens, struct cmx_infer_err *err);
int cmx_exchange_receive(struct cmx_exchange *x, uint32_t rank, struct cmx_received *got,
			 struct cmx_infer_err *err);
/* @y has a row of floats for each row received. */
int cmx_exchange_return(struct cmx_exchange *x, uint32_t rank, const float *y,
			struct cmx_infer_err *err);
/* @y: [token][n_used][hidden] of the rank's own tokens, there until the next round but one. */
int cmx_exchange_collect(struct cmx_exchange *x, uint32_t rank, const void **y,
			 struct cmx_infer_err *err);

#endif
