// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_level.h"
#include "cmx_npu_table.h"

#define ENTRY(id, base) \
	[CMX_NPU_##id] = { "cmx." #base, CMX_K(cmx_k_##base), sizeof(struct cmx_k_##base) }

const struct cmx_npu_kernel CMX_K(cmx_npu_table)[CMX_NPU_COUNT] = {
	ENTRY(EMBED, embed),
	ENTRY(NORM, norm),
	ENTRY(QUANTISE, quantise),
	ENTRY(MATMUL, matmul),
	ENTRY(GLU, glu),
	ENTRY(EXPERT_GLU, expert_glu),
	ENTRY(EXPERT_DOWN, expert_down),
	ENTRY(ROPE_TABLE, rope_table),
	ENTRY(ROPE, rope),
	ENTRY(KV_STORE, kv_store),
	ENTRY(KV_GATHER, kv_gather),
	ENTRY(ATTENTION, attention),
	ENTRY(MLA, mla),
	ENTRY(GATE, gate),
	ENTRY(PLAN, plan),
	ENTRY(COMBINE, combine),
	ENTRY(SAMPLE, sample),
};
