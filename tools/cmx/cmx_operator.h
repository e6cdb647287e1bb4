/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Dispatch and combine of the expert-parallel library, measured: a rank is a die with one
 * stream queue.
 */
#ifndef CMX_OPERATOR_H
#define CMX_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_libprofile.h"
#include "cmx_operator_routing.h"
#include "cmx_rig.h"

enum cmx_operator_kind {
	CMX_OPERATOR_DISPATCH,
	CMX_OPERATOR_COMBINE,
};

struct cmx_operator_options {
	struct cmx_routing_options routing;	/* experts: from the profile when 0 */
	bool data;		/* launches are executed and the bytes checked */
	uint32_t threads;	/* beside the caller's, in data mode */
};

struct cmx_operator_result {
	uint64_t mean_ps, min_ps, max_ps;	/* over the ranks */
	uint64_t bytes;		/* a rank sends, the ones to itself included */
	uint32_t experts;
	uint32_t busiest;	/* rows of the rank that has most experts' rows */
	uint64_t checked;	/* rows or tokens that were looked at, data mode */
	bool extrapolated;
	uint64_t host_ns;
	char error[640];
};

/* 0 or -errno with @result->error. */
int cmx_operator_run(struct cmx_ctx *ctx, enum cmx_operator_kind kind,
		     struct cmx_libprofile *profile, const struct cmx_operator_options *opt,
		     struct cmx_operator_result *result);

const char *cmx_operator_name(enum cmx_operator_kind kind);

/* ------------------------------------------------------------- inside the operators */

struct cmx_operator_rank {
	struct cmx_queue *queue;
	struct cmx_ep_received received;
	/* Data mode: in one piece of memory. */
	float *x, *out, *y, *weights;
	int32_t *ids;
};

struct cmx_operator {
	struct cmx_rig rig;
	struct cmx_libprofile *profile;
	struct cmx_operator_options opt;
	struct cmx_routing routing;
	enum cmx_operator_kind kind;
	struct cmx_ep *ep;
	struct cmx_operator_rank *ranks;
	uint32_t local;			/* pieces of experts that a rank has, at most */
	uint32_t *order;		/* rows of routing.inbox as a rank receives them */
	uint64_t *ends;
};

/*
 * The piece of @row's expert that its rank has, as the library's expert: which replica a row
 * goes to is the routing's business.
 */
int32_t cmx_operator_piece(const struct cmx_operator *op, const struct cmx_row *row);

/* Executed launches: the input, the experts, and the check of the output (-EILSEQ). */
int cmx_operator_data_make(struct cmx_operator *op, uint32_t rank);
void cmx_operator_data_experts(struct cmx_operator *op, uint32_t rank);
int cmx_operator_data_check(struct cmx_operator *op, uint32_t rank, uint64_t *checked);

static inline uint32_t cmx_operator_received(const struct cmx_operator *op, uint32_t rank)
{
	return op->routing.first[rank + 1] - op->routing.first[rank];
}

/* The @i-th row that @rank receives. */
static inline const struct cmx_row *cmx_operator_row(const struct cmx_operator *op, uint32_t rank,
						     uint32_t i)
{
	return &op->routing.inbox[op->order[op->routing.first[rank] + i]];
}

static inline uint64_t cmx_operator_constant(const struct cmx_operator *op,
					     enum cmx_lib_constant c)
{
	return op->profile->value[c];
}

#endif
