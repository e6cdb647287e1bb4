/* SPDX-License-Identifier: GPL-2.0-only */
/* Names for the kernel sources, each of which is compiled once per SIMD level. */
#ifndef CMX_LEVEL_H
#define CMX_LEVEL_H

#include "cmx_gemm.h"
#include "cmx_i8.h"
#include "cmx_npu.h"
#include "cmx_lanes.h"
#include "cmx_panel.h"

#if CMX_LEVEL == CMX_LEVEL_AVX512
#define CMX_K(name) name##_avx512
#elif CMX_LEVEL == CMX_LEVEL_AVX2
#define CMX_K(name) name##_avx2
#elif CMX_LEVEL == CMX_LEVEL_SSE2
#define CMX_K(name) name##_sse2
#else
#define CMX_K(name) name##_scalar
#endif

#define CMX_NPU_DECLARE(name) \
	void CMX_K(name)(const void *args, uint32_t block, uint32_t nblocks)

CMX_NPU_DECLARE(cmx_k_embed);
CMX_NPU_DECLARE(cmx_k_norm);
CMX_NPU_DECLARE(cmx_k_quantise);
CMX_NPU_DECLARE(cmx_k_matmul);
CMX_NPU_DECLARE(cmx_k_latent);
CMX_NPU_DECLARE(cmx_k_glu);
CMX_NPU_DECLARE(cmx_k_expert_glu);
CMX_NPU_DECLARE(cmx_k_expert_down);
CMX_NPU_DECLARE(cmx_k_rope_table);
CMX_NPU_DECLARE(cmx_k_rope);
CMX_NPU_DECLARE(cmx_k_kv_store);
CMX_NPU_DECLARE(cmx_k_kv_gather);
CMX_NPU_DECLARE(cmx_k_attention);
CMX_NPU_DECLARE(cmx_k_mla);
CMX_NPU_DECLARE(cmx_k_gate);
CMX_NPU_DECLARE(cmx_k_route);
CMX_NPU_DECLARE(cmx_k_combine);
CMX_NPU_DECLARE(cmx_k_sample);

#define CMX_NPU_DECLARE_END(name) \
	void CMX_K(name##_end)(const void *args)

CMX_NPU_DECLARE_END(cmx_k_matmul);
CMX_NPU_DECLARE_END(cmx_k_latent);
CMX_NPU_DECLARE_END(cmx_k_glu);
CMX_NPU_DECLARE_END(cmx_k_expert_glu);
CMX_NPU_DECLARE_END(cmx_k_gate);
CMX_NPU_DECLARE_END(cmx_k_route);

/*
 * The sums of panels [panel, panel + np) and tokens [t, t + nt), at most
 * CMX_GEMM_CELLS of both together: c[panel][token][row].
 */
void CMX_K(cmx_gemm)(const struct cmx_gemm *g, uint32_t panel, uint32_t np, uint32_t t,
		     uint32_t nt, float *c);

/* The same for INT8 weights; token rows are those of the quantise kernel. */
void CMX_K(cmx_gemm_i8)(const struct cmx_gemm *g, uint32_t panel, uint32_t np, uint32_t t,
			uint32_t nt, float *c);

/* What @end says of rows [lo, hi) of @width values. */
void CMX_K(cmx_end_rows)(const struct cmx_row_end *end, const float *x, uint32_t width,
			 uint64_t lo, uint64_t hi);

/* @k values to a token row of INT8 products. */
void CMX_K(cmx_round_row)(const float *x, uint32_t k, char *row);

#endif
