// SPDX-License-Identifier: GPL-2.0-only
/* Positions: rotated queries, and the rows of the latent cache. */
#include "cmx_level.h"
#include "cmx_rms.h"

/* Rotates the pairs (2i, 2i + 1) by the angles of one position. */
static void rotate(const float *x, const float *angle, uint32_t dim, float *out)
{
	for (uint32_t i = 0; i < dim; i += 2) {
		float a = x[i], b = x[i + 1], c = angle[i], s = angle[i + 1];

		out[i] = a * c - b * s;
		out[i + 1] = a * s + b * c;
	}
}

void CMX_K(cmx_k_rope)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_rope *a = args;
	uint32_t qk = a->nope + a->rope;
	uint64_t lo, hi;

	cmx_block_share((uint64_t)a->tokens * a->heads, block, nblocks, &lo, &hi);
	for (uint64_t u = lo; u < hi; u++) {
		float *q = a->q + u * qk + a->nope;

		rotate(q, a->table + (uint64_t)a->rows[u / a->heads].pos * a->rope, a->rope, q);
	}
}

void CMX_K(cmx_k_kv_store)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_kv_store *a = args;
	uint32_t width = a->kv_lora + a->rope;
	uint64_t lo, hi;

	cmx_block_share(a->tokens, block, nblocks, &lo, &hi);
	for (uint64_t t = lo; t < hi; t++) {
		const struct cmx_row *r = &a->rows[t];
		const float *kv = a->kv + t * width;
		float *out = a->cache + (uint64_t)r->cell * width;

		norm_row(kv, a->norm, out, a->kv_lora, a->eps);
		rotate(kv + a->kv_lora, a->table + (uint64_t)r->pos * a->rope, a->rope,
		       out + a->kv_lora);
	}
}

/* Rows [lo, hi) of what the span fills, those of them that it has. */
static void gather_span(const struct cmx_k_kv_gather *a, const struct cmx_span *s, uint64_t lo,
			uint64_t hi)
{
	uint32_t mask = (1u << a->page_shift) - 1;

	if (lo < s->out)
		lo = s->out;
	if (hi > (uint64_t)s->out + s->n)
		hi = (uint64_t)s->out + s->n;
	for (uint64_t i = lo; i < hi; i++) {
		uint32_t pos = s->pos + (uint32_t)(i - s->out);
		uint64_t page = a->tables[s->table + (pos >> a->page_shift)];
		uint64_t cell = page << a->page_shift | (pos & mask);

		memcpy(a->out + i * a->width, a->cache + cell * a->width,
		       a->width * sizeof(float));
	}
}

void CMX_K(cmx_k_kv_gather)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_kv_gather *a = args;
	uint64_t lo, hi;

	cmx_block_share(a->rows, block, nblocks, &lo, &hi);
	for (uint32_t i = 0; i < a->n_spans; i++)
		gather_span(a, &a->spans[i], lo, hi);
}
