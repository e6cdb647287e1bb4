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

/* The true cost, known now that the gate has chosen. */
#define POST(ID, base) \
static int post_##base(struct cmx_launch_ctx *lc, const void *args) \
{ \
	const struct cmx_npu_load load = cmx_npu_true_load(CMX_NPU_##ID, args); \
	struct cmx_cost cost; \
	\
	cmx_npu_cost(CMX_NPU_##ID, args, &load, cmx_npu_is_int8(CMX_NPU_##ID, args), &cost); \
	return cmx_launch_set_cost(lc, &cost); \
}

RUN(EMBED, embed)
RUN(NORM, norm)
RUN(QUANTISE, quantise)
RUN(MATMUL, matmul)
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
RUN(PLAN, plan)
RUN(COMBINE, combine)
RUN(SAMPLE, sample)
POST(QUANTISE, quantise)
POST(EXPERT_GLU, expert_glu)
POST(EXPERT_DOWN, expert_down)

#define ENTRY(id, base, after) \
	[CMX_NPU_##id] = { .name = "cmx." #base, .run = run_##base, .post = (after), \
			   .flags = CMX_KERNEL_LOCAL, .args_size = sizeof(struct cmx_k_##base) }

const struct cmx_kernel_desc CMX_K(cmx_npu_entry)[CMX_NPU_COUNT] = {
	ENTRY(EMBED, embed, NULL),
	ENTRY(NORM, norm, NULL),
	ENTRY(QUANTISE, quantise, post_quantise),
	ENTRY(MATMUL, matmul, NULL),
	ENTRY(GLU, glu, NULL),
	ENTRY(EXPERT_GLU, expert_glu, post_expert_glu),
	ENTRY(EXPERT_DOWN, expert_down, post_expert_down),
	ENTRY(ROPE_TABLE, rope_table, NULL),
	ENTRY(ROPE, rope, NULL),
	ENTRY(KV_STORE, kv_store, NULL),
	ENTRY(KV_GATHER, kv_gather, NULL),
	ENTRY(ATTENTION, attention, NULL),
	ENTRY(MLA, mla, NULL),
	ENTRY(GATE, gate, NULL),
	ENTRY(PLAN, plan, NULL),
	ENTRY(COMBINE, combine, NULL),
	ENTRY(SAMPLE, sample, NULL),
};

#define FITS(base) \
	_Static_assert(sizeof(struct cmx_k_##base) <= CMX_LAUNCH_MAX_ARGS, "fits a launch")

FITS(embed);
FITS(norm);
FITS(quantise);
FITS(matmul);
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
FITS(plan);
FITS(combine);
FITS(sample);
