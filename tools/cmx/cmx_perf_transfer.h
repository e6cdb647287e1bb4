/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Measured transfers: flows between entities, one after another and as fast as it goes.
 */
#ifndef CMX_PERF_TRANSFER_H
#define CMX_PERF_TRANSFER_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_libprofile.h"
#include "cmx_rig.h"

enum cmx_transfer_op {
	CMX_TRANSFER_READ,
	CMX_TRANSFER_WRITE,
	CMX_TRANSFER_COPY,
	CMX_TRANSFER_ATOMIC,
};

enum cmx_collective_op {
	CMX_COLLECTIVE_ALLTOALL,
	CMX_COLLECTIVE_ALLGATHER,
	CMX_COLLECTIVE_ALLREDUCE,
	CMX_COLLECTIVE_REDUCESCATTER,
};

/* Flow i: the entity from[i] works on memory of to[i]. */
struct cmx_transfer_spec {
	enum cmx_transfer_op op;
	const uint32_t *from, *to;
	uint32_t flows;
	uint64_t size;
	uint32_t iterations;	/* 0: as many as make sense for the size */
	uint32_t planes;	/* mask of queue creation */
	bool data;		/* bytes are moved and checked */
	struct cmx_libprofile *lib;	/* or NULL: the bare operation */
};

struct cmx_transfer_result {
	uint32_t iterations;
	uint64_t latency_ps;	/* of one, nothing else of its flow under way; mean */
	uint64_t total_ps;	/* until the slowest flow was through */
	double gbps;		/* all flows together */
	double slowest_gbps, fastest_gbps;	/* of one flow */
	uint64_t host_ns;
	bool extrapolated;
	char error[640];
};

int cmx_transfer_run(struct cmx_ctx *ctx, const struct cmx_transfer_spec *spec,
		     struct cmx_transfer_result *result);

/* Ranks are the entities in @ranks; @size bytes from each to each, or of an all-reduce. */
struct cmx_collective_spec {
	enum cmx_collective_op op;
	const uint32_t *ranks;
	uint32_t count;
	uint64_t size;
	uint32_t planes;
	bool data;
	uint32_t dtype;		/* of reductions: enum cmx_ccl_dtype */
	struct cmx_libprofile *lib;	/* or NULL; none for reductions */
};

struct cmx_collective_result {
	uint64_t mean_ps, min_ps, max_ps;	/* over the ranks */
	uint32_t steps;		/* of a reduction */
	double gbps;		/* a rank sends, until the last rank is through */
	uint64_t host_ns;
	bool extrapolated;
	char error[640];
};

int cmx_collective_run(struct cmx_ctx *ctx, const struct cmx_collective_spec *spec,
		       struct cmx_collective_result *result);
/* All-reduce and reduce-scatter. */
int cmx_reduction_run(struct cmx_ctx *ctx, const struct cmx_collective_spec *spec,
		      struct cmx_collective_result *result);
/* Mean, least and most of @count ranks' ends. */
void cmx_collective_times(const uint64_t *ends, uint32_t count,
			  struct cmx_collective_result *result);

/* Bytes that tell who sent them where. */
void cmx_transfer_fill(void *bytes, uint64_t size, uint64_t key);
bool cmx_transfer_same(const void *bytes, uint64_t size, uint64_t key);

#endif
