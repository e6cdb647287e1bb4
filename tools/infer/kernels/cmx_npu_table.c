// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_level.h"
#include "cmx_npu_table.h"

#define ENTRY(id, base) \
	[CMX_NPU_##id] = { "cmx." #base, CMX_K(cmx_k_##base), NULL, sizeof(struct cmx_k_##base) }
#define ENTRY_END(id, base) \
	[CMX_NPU_##id] = { "cmx." #base, CMX_K(cmx_k_##base), CMX_K(cmx_k_##base##_end), \
			   sizeof(struct cmx_k_##base) }

const struct cmx_npu_kernel CMX_K(cmx_npu_table)[CMX_NPU_COUNT] = {
	ENTRY(EMBED, embed),
	ENTRY(NORM, norm),
	ENTRY(QUANTISE, quantise),
	ENTRY_END(MATMUL, matmul),
	ENTRY_END(LATENT, latent),
	ENTRY_END(GLU, glu),
	ENTRY_END(EXPERT_GLU, expert_glu),
	ENTRY(EXPERT_DOWN, expert_down),
	ENTRY(ROPE_TABLE, rope_table),
	ENTRY(ROPE, rope),
	ENTRY(KV_STORE, kv_store),
	ENTRY(KV_GATHER, kv_gather),
	ENTRY(ATTENTION, attention),
	ENTRY(MLA, mla),
	ENTRY_END(GATE, gate),
	ENTRY_END(ROUTE, route),
	ENTRY(COMBINE, combine),
	ENTRY(SAMPLE, sample),
};
