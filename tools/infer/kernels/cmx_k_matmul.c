// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_level.h"

/* Sums of @np panels and @nt tokens to where they belong. */
static void store_sums(const struct cmx_k_matmul *a, uint32_t head, uint32_t panel, uint32_t np,
		       uint32_t t, uint32_t nt, const float *c)
{
	for (uint32_t i = 0; i < nt; i++) {
		size_t at = (size_t)(t + i) * a->out_stride + (size_t)head * a->out_head;

		for (uint32_t p = 0; p < np; p++) {
			uint32_t row = (panel + p) * CMX_PANEL, left = a->rows - row;
			struct lanes sum = lanes_load(c + (p * nt + i) * CMX_PANEL);

			if (a->res)
				sum = lanes_add(lanes_load_to(a->res + at + row, left, 0), sum);
			lanes_store_to(a->out + at + row, left, sum);
		}
	}
}

static void matmul_panels(const struct cmx_k_matmul *a, uint32_t head, uint32_t panel, uint32_t np)
{
	const struct cmx_gemm g = {
		.w = (const char *)a->w + head * a->w_head, .type = a->type, .k = a->k,
		.stored_k = a->transposed ? a->rows : 0, .x_stride = a->x_stride,
		.x = a->x + (size_t)head * a->x_head,
	};
	float c[CMX_GEMM_CELLS * CMX_PANEL];

	for (uint32_t t = 0, nt; t < a->tokens; t += nt) {
		nt = cmx_gemm_min(a->tokens - t, CMX_GEMM_TOKENS);
		CMX_K(cmx_gemm)(&g, panel, np, t, nt, c);
		store_sums(a, head, panel, np, t, nt, c);
	}
}

void CMX_K(cmx_k_matmul)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_matmul *a = args;
	uint32_t panels = (a->rows + CMX_PANEL - 1) / CMX_PANEL, most = cmx_gemm_panels(a->tokens);
	uint64_t lo, hi;

	cmx_block_share((uint64_t)panels * a->heads, block, nblocks, &lo, &hi);
	while (lo < hi) {
		uint32_t panel = (uint32_t)(lo % panels), np = cmx_gemm_min(panels - panel, most);

		if (np > hi - lo)
			np = (uint32_t)(hi - lo);
		matmul_panels(a, (uint32_t)(lo / panels), panel, np);
		lo += np;
	}
}
