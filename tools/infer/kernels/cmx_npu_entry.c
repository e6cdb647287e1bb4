// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_npu_entry.h"

#include <errno.h>

#include "cmx_kernel_clock.h"
#include "cmx_level.h"
#include "cmx_npu_cost.h"
#include "cmx_stop.h"

/* Once the program is to end nobody looks at results: give up. */
#define RUN(ID, base) \
static int run_##base(struct cmx_launch_ctx *lc, const void *args, uint32_t block) \
{ \
	uint64_t start = cmx_kernel_clock_now(); \
	\
	if (cmx_stopped()) \
		return -ECANCELED; \
	CMX_K(cmx_k_##base)(args, block, cmx_launch_grid(lc)); \
	cmx_kernel_clock_block(CMX_NPU_##ID, block, cmx_launch_grid(lc), start); \
	return 0; \
}

/* What is left to do when all blocks are done. */
#define END(ID, base) \
static int end_##base(struct cmx_launch_ctx *lc, const void *args) \
{ \
	uint32_t grid = cmx_launch_grid(lc); \
	uint64_t start = cmx_kernel_clock_now(); \
	\
	if (cmx_stopped()) \
		return -ECANCELED; \
	CMX_K(cmx_k_##base##_end)(args); \
	cmx_kernel_clock_block(CMX_NPU_##ID, grid, grid, start); \
	return 0; \
}

/* The true cost, known now that the gate has chosen. */
static int set_cost(struct cmx_launch_ctx *lc, enum cmx_npu_id id, const void *args)
{
	const struct cmx_npu_load load = cmx_npu_true_load(id, args);
	struct cmx_cost cost;

	cmx_npu_cost(id, args, &load, cmx_npu_is_int8(id, args), &cost);
	return cmx_launch_set_cost(lc, &cost);
}

RUN(EMBED, embed)
RUN(NORM, norm)
RUN(QUANTISE, quantise)
RUN(MATMUL, matmul)
RUN(LATENT, latent)
RUN(GLU, glu)
RUN(EXPERT_GLU, expert_glu)
RUN(EXPERT_DOWN, expert_down)
RUN(ROPE_TABLE, rope_table)
RUN(ROPE, rope)
RUN(KV_STORE, kv_store)
RUN(KV_GATHER, kv_gather)
RUN(ATTENTION, attention)
RUN(MLA, mla)
RUN(GATE, gate)
RUN(ROUTE, route)
RUN(COMBINE, combine)
RUN(SAMPLE, sample)
END(MATMUL, matmul)
END(LATENT, latent)
END(GLU, glu)
END(EXPERT_GLU, expert_glu)
END(GATE, gate)
END(ROUTE, route)

static int post_quantise(struct cmx_launch_ctx *lc, const void *args)
{
	return set_cost(lc, CMX_NPU_QUANTISE, args);
}

static int post_expert_glu(struct cmx_launch_ctx *lc, const void *args)
{
	int ret = end_expert_glu(lc, args);

	return ret ? ret : set_cost(lc, CMX_NPU_EXPERT_GLU, args);
}

static int post_expert_down(struct cmx_launch_ctx *lc, const void *args)
{
	return set_cost(lc, CMX_NPU_EXPERT_DOWN, args);
}

#define ENTRY(id, base, after) \
	[CMX_NPU_##id] = { .name = "cmx." #base, .run = run_##base, .post = (after), \
			   .flags = CMX_KERNEL_LOCAL, .args_size = sizeof(struct cmx_k_##base) }

const struct cmx_kernel_desc CMX_K(cmx_npu_entry)[CMX_NPU_COUNT] = {
	ENTRY(EMBED, embed, NULL),
	ENTRY(NORM, norm, NULL),
	ENTRY(QUANTISE, quantise, post_quantise),
	ENTRY(MATMUL, matmul, end_matmul),
	ENTRY(LATENT, latent, end_latent),
	ENTRY(GLU, glu, end_glu),
	ENTRY(EXPERT_GLU, expert_glu, post_expert_glu),
	ENTRY(EXPERT_DOWN, expert_down, post_expert_down),
	ENTRY(ROPE_TABLE, rope_table, NULL),
	ENTRY(ROPE, rope, NULL),
	ENTRY(KV_STORE, kv_store, NULL),
	ENTRY(KV_GATHER, kv_gather, NULL),
	ENTRY(ATTENTION, attention, NULL),
	ENTRY(MLA, mla, NULL),
	ENTRY(GATE, gate, end_gate),
	ENTRY(ROUTE, route, end_route),
	ENTRY(COMBINE, combine, NULL),
	ENTRY(SAMPLE, sample, NULL),
};

#define FITS(base) \
	_Static_assert(sizeof(struct cmx_k_##base) <= CMX_LAUNCH_MAX_ARGS, "fits a launch")

FITS(embed);
FITS(norm);
FITS(quantise);
FITS(matmul);
FITS(latent);
FITS(glu);
FITS(expert_glu);
FITS(expert_down);
FITS(rope_table);
FITS(rope);
FITS(kv_store);
FITS(kv_gather);
FITS(attention);
FITS(mla);
FITS(gate);
FITS(route);
FITS(combine);
FITS(sample);
