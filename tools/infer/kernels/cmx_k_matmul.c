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

static uint32_t panels_of(const struct cmx_k_matmul *a)
{
	return (a->rows + CMX_PANEL - 1) / CMX_PANEL;
}

/* Panels [lo, hi) of all heads' together. */
static void matmul_share(const struct cmx_k_matmul *a, uint64_t lo, uint64_t hi)
{
	uint32_t panels = panels_of(a), most = cmx_gemm_panels(a->tokens);

	while (lo < hi) {
		uint32_t panel = (uint32_t)(lo % panels), np = cmx_gemm_min(panels - panel, most);

		if (np > hi - lo)
			np = (uint32_t)(hi - lo);
		matmul_panels(a, (uint32_t)(lo / panels), panel, np);
		lo += np;
	}
}

void CMX_K(cmx_k_matmul)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_matmul *a = args;
	uint64_t lo, hi;

	cmx_block_share((uint64_t)panels_of(a) * a->heads, block, nblocks, &lo, &hi);
	matmul_share(a, lo, hi);
}

void CMX_K(cmx_k_matmul_end)(const void *args)
{
	const struct cmx_k_matmul *a = args;
	const struct cmx_k_rope rope = {
		.q = a->out, .table = a->table, .rows = a->pos, .nope = a->nope, .rope = a->rope,
		.tokens = a->tokens,
		.heads = a->table ? a->out_stride / (a->nope + a->rope) : 0,
	};

	if (a->table)
		CMX_K(cmx_k_rope)(&rope, 0, 1);
	else
		CMX_K(cmx_end_rows)(&a->end, a->out, a->out_stride, 0, a->tokens);
}

/* Its two products. */
static void latent_products(const struct cmx_k_latent *a, struct cmx_k_matmul *q,
			    struct cmx_k_matmul *kv)
{
	*q = (struct cmx_k_matmul){
		.w = a->w_q, .x = a->x, .out = a->q, .type = a->q_type, .rows = a->q_rows,
		.k = a->k, .heads = 1, .tokens = a->tokens, .x_stride = a->k,
		.out_stride = a->q_rows,
	};
	*kv = *q;
	kv->w = a->w_kv;
	kv->out = a->kv;
	kv->type = a->kv_type;
	kv->rows = a->kv_lora + a->rope;
	kv->out_stride = kv->rows;
}

void CMX_K(cmx_k_latent)(const void *args, uint32_t block, uint32_t nblocks)
{
	struct cmx_k_matmul q, kv;
	uint64_t lo, hi, n;

	latent_products(args, &q, &kv);
	n = panels_of(&q);
	cmx_block_share(n + panels_of(&kv), block, nblocks, &lo, &hi);
	if (lo < n)
		matmul_share(&q, lo, hi < n ? hi : n);
	if (hi > n)
		matmul_share(&kv, lo > n ? lo - n : 0, hi - n);
}

void CMX_K(cmx_k_latent_end)(const void *args)
{
	const struct cmx_k_latent *a = args;
	const struct cmx_row_end end = {
		.norm = a->q_norm, .normed = a->q, .rounded = a->q_rounded, .eps = a->eps,
	};
	const struct cmx_k_kv_store store = {
		.kv = a->kv, .norm = a->kv_norm, .table = a->table, .rows = a->pos,
		.cache = a->cache, .kv_lora = a->kv_lora, .rope = a->rope, .tokens = a->tokens,
		.eps = a->eps,
	};

	if (!a->cache)
		return;
	CMX_K(cmx_end_rows)(&end, a->q, a->q_rows, 0, a->tokens);
	CMX_K(cmx_k_kv_store)(&store, 0, 1);
}
