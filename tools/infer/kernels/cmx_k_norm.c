// SPDX-License-Identifier: GPL-2.0-only
/* Per-token vector work: embedding rows and RMS norms, and the cache store. */
#include "cmx_level.h"
#include "cmx_dot.h"

void CMX_K(cmx_k_embed)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_embed *a = args;
	size_t row_bytes = weight_row_bytes(a->type, a->hidden);
	uint64_t lo, hi;

	cmx_block_share(a->tokens, block, nblocks, &lo, &hi);
	for (uint64_t t = lo; t < hi; t++) {
		/* An id out of range cannot come from the host; stay inside the table anyway. */
		uint32_t id = a->ids[t] < a->vocab ? a->ids[t] : 0;
		const char *row = (const char *)a->table + id * row_bytes;

		for (uint32_t i = 0; i < a->hidden; i += CMX_LANES)
			lanes_store_to(a->out + t * a->hidden + i, a->hidden - i,
				       weight_to(a->type, row, i, a->hidden));
	}
}

/* 1 / sqrt(mean square + eps) */
static float rms_factor(const float *x, uint32_t dim, float eps)
{
	struct lanes acc = lanes_set(0);

	for (uint32_t i = 0; i < dim; i += CMX_LANES) {
		struct lanes v = lanes_load_to(x + i, dim - i, 0);

		acc = lanes_add(acc, lanes_mul(v, v));
	}
	return 1.0f / __builtin_sqrtf(lanes_sum(acc) / (float)dim + eps);
}

static void norm_row(const float *x, const float *w, float *out, uint32_t dim, float eps)
{
	struct lanes f = lanes_set(rms_factor(x, dim, eps));

	for (uint32_t i = 0; i < dim; i += CMX_LANES) {
		struct lanes v = lanes_mul(lanes_load_to(x + i, dim - i, 0), f);

		lanes_store_to(out + i, dim - i, lanes_mul(v, lanes_load_to(w + i, dim - i, 0)));
	}
}

void CMX_K(cmx_k_norm)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_norm *a = args;
	uint64_t lo, hi;

	cmx_block_share(a->tokens, block, nblocks, &lo, &hi);
	for (uint64_t t = lo; t < hi; t++)
		norm_row(a->x + t * a->x_stride, a->w, a->out + t * a->out_stride, a->dim, a->eps);
}

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

		rotate(q, a->table + (a->pos + u / a->heads) * a->rope, a->rope, q);
	}
}

void CMX_K(cmx_k_kv_store)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_kv_store *a = args;
	uint32_t row = a->kv_lora + a->rope;
	uint64_t lo, hi;

	cmx_block_share(a->tokens, block, nblocks, &lo, &hi);
	for (uint64_t t = lo; t < hi; t++) {
		const float *kv = a->kv + t * row;
		float *out = a->cache + (a->pos + t) * row;

		norm_row(kv, a->norm, out, a->kv_lora, a->eps);
		rotate(kv + a->kv_lora, a->table + (a->pos + t) * a->rope, a->rope,
		       out + a->kv_lora);
	}
}
