/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * MoE operators as command streams: a rank is a die with one stream queue.
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
	struct cmx_mem *flags;		/* words others signal, then the fence's */
	struct cmx_mem *records;	/* time only */
	struct cmx_mem *outbox;		/* bytes it sends */
	struct cmx_mem *inbox;		/* where others write */
	struct cmx_mem *out;		/* result */
	uint32_t num_records;		/* of those in @records */
	int failed;			/* of an executed launch: what was wrong */
};

struct cmx_operator {
	struct cmx_rig rig;
	struct cmx_libprofile *profile;
	struct cmx_operator_options opt;
	struct cmx_routing routing;
	enum cmx_operator_kind kind;
	struct cmx_operator_rank *ranks;
	uint32_t cores;			/* vector cores of a die */
	uint32_t dies_per_npu;
	uint64_t kernels[8];		/* enum cmx_operator_kernel */
	uint32_t *order;		/* combine: places in the inbox, as they are sent */
	uint64_t *ends;
};

enum cmx_operator_kernel {
	CMX_KERNEL_DISPATCH_SEND,
	CMX_KERNEL_DISPATCH_FLAG,
	CMX_KERNEL_DISPATCH_COLLECT,
	CMX_KERNEL_COMBINE_SEND,
	CMX_KERNEL_COMBINE_REDUCE,
	CMX_OPERATOR_KERNELS,
};

/* Argument bytes of every executed kernel. */
struct cmx_operator_args {
	struct cmx_operator *op;
	uint64_t rank;
	uint64_t pace_ps;
};

/* Record @i of a launch on @rank whose work takes @pace_ps after its overhead. */
typedef void (*cmx_operator_record_fn)(const struct cmx_operator *op, uint32_t rank, uint32_t i,
				       uint64_t pace_ps, struct cmx_record *record);

/* A launch: its cost, and the records it leaves. */
struct cmx_operator_step {
	enum cmx_operator_kernel kernel;
	uint32_t grid;			/* blocks when executed */
	struct cmx_cost cost;
	uint32_t num_records;
	cmx_operator_record_fn record;
};

int cmx_operator_launch(struct cmx_operator *op, uint32_t rank,
			const struct cmx_operator_step *step, uint32_t flags);
/* Hold the rank's queue until words 0 to n - 1 of its flags compare with @value. */
int cmx_operator_wait(struct cmx_operator *op, uint32_t rank, uint32_t n, uint32_t cond,
		      uint64_t value);
/* Time of @ps for each of @n items that the die's cores share. */
int cmx_operator_share(struct cmx_operator *op, uint32_t rank, uint64_t n,
		       enum cmx_lib_constant ps);
int cmx_operator_memory(struct cmx_operator *op, uint32_t rank, uint64_t size, bool flags,
			struct cmx_mem **mem);

/* Memory of one rank, and what its queue does. */
int cmx_dispatch_memory(struct cmx_operator *op, uint32_t rank);
int cmx_dispatch_program(struct cmx_operator *op, uint32_t rank);
void cmx_dispatch_row_record(const struct cmx_operator *op, uint32_t rank, uint32_t i,
			     uint64_t pace_ps, struct cmx_record *record);
void cmx_dispatch_flag_record(const struct cmx_operator *op, uint32_t rank, uint32_t i,
			      uint64_t pace_ps, struct cmx_record *record);
/* The order in which ranks send; before the programs. */
int cmx_combine_order(struct cmx_operator *op);
int cmx_combine_memory(struct cmx_operator *op, uint32_t rank);
int cmx_combine_program(struct cmx_operator *op, uint32_t rank);
void cmx_combine_record(const struct cmx_operator *op, uint32_t rank, uint32_t i,
			uint64_t pace_ps, struct cmx_record *record);

/* Executed launches: register them, make the input, check the output (-EILSEQ). */
int cmx_operator_data_kernels(struct cmx_operator *op);
void cmx_operator_data_fill(struct cmx_operator *op, uint32_t rank);
int cmx_operator_data_check(struct cmx_operator *op, uint32_t rank, uint64_t *checked);

static inline uint32_t cmx_operator_received(const struct cmx_operator *op, uint32_t rank)
{
	return op->routing.first[rank + 1] - op->routing.first[rank];
}

static inline uint64_t cmx_operator_constant(const struct cmx_operator *op,
					     enum cmx_lib_constant c)
{
	return op->profile->value[c];
}

#endif
