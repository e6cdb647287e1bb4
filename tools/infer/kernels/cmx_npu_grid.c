// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_npu_grid.h"

#include "cmx_npu_cost.h"

/* No more for one thread: it can be interrupted often enough. */
#define GRID_LEAST_LIMIT	64u

/* A block turns the keys it reads for all its heads; that takes as long as this many heads. */
#define KEYS_AS_HEADS		8u

/* Heads of a token are parted so that the threads are done soonest, if all sequences are alike. */
static uint64_t mla_parts(const struct cmx_k_mla *a, uint32_t threads)
{
	uint64_t best = UINT64_MAX, parts = 1;

	for (uint32_t heads = CMX_HEAD_TILE; heads >= CMX_HEAD_GROUP; heads /= 2) {
		uint64_t n = (uint64_t)a->tokens * ((a->heads + heads - 1) / heads);
		uint64_t took = (n + threads - 1) / threads * (heads + KEYS_AS_HEADS);

		if (took < best) {
			best = took;
			parts = n;
		}
	}
	return parts;
}

uint32_t cmx_npu_grid(enum cmx_npu_id id, const void *args, const struct cmx_cost *likely,
		      uint32_t threads)
{
	uint64_t blocks = 1 + (likely->cube_ops + likely->vector_ops) / CMX_GRID_OPS;
	uint64_t limit = GRID_LEAST_LIMIT, units = cmx_npu_units(id, args);

	if (id == CMX_NPU_MLA)
		units = mla_parts(args, threads);
	if (limit < (uint64_t)CMX_GRID_SHARE * threads)
		limit = (uint64_t)CMX_GRID_SHARE * threads;
	if (blocks > units)
		blocks = units ? units : 1;
	return (uint32_t)(blocks < limit ? blocks : limit);
}
