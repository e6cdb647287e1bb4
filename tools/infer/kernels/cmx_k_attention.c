// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attention with an online softmax over tiles of positions that start at
 * multiples of CMX_KEY_TILE: the order of every sum depends on the token's
 * position alone, not on the chunk it came in.
 */
#include "cmx_level.h"
#include "cmx_dot.h"

#include <math.h>

struct softmax_state {
	float top;
	float sum;
};

static float dot_f32(const float *a, const float *b, uint32_t k)
{
	float out;

	dot_tile(CMX_TENSOR_F32, (const char *)a, &b, 1, k, &out);
	return out;
}

static void key_scores(const struct cmx_k_attention *a, const float *q1, const float *q2,
		       uint32_t head, uint32_t s, uint32_t n, float *score)
{
	for (uint32_t i = 0; i < n; i++) {
		const float *k1 = a->k1 + (size_t)(s + i) * a->k1_stride +
				  (size_t)head * a->k1_head;
		const float *k2 = a->k2 + (size_t)(s + i) * a->k2_stride;

		score[i] = (dot_f32(q1, k1, a->d1) + dot_f32(q2, k2, a->d2)) * a->scale;
	}
	for (uint32_t i = n; i < CMX_KEY_TILE; i++)
		score[i] = -INFINITY;
}

/* Turns the scores into weights and returns the factor for what was summed before. */
static float softmax_tile(struct softmax_state *st, float *score)
{
	struct lanes top = lanes_load(score), sum = lanes_set(0), m;
	float old = st->top, best, shrink[CMX_LANES];

	for (uint32_t i = CMX_LANES; i < CMX_KEY_TILE; i += CMX_LANES)
		top = lanes_max(top, lanes_load(score + i));
	best = lanes_top(top);
	st->top = best > old ? best : old;
	m = lanes_set(st->top);
	for (uint32_t i = 0; i < CMX_KEY_TILE; i += CMX_LANES) {
		struct lanes p = lanes_exp(lanes_sub(lanes_load(score + i), m));

		lanes_store(score + i, p);
		sum = lanes_add(sum, p);
	}
	lanes_store(shrink, lanes_exp(lanes_set(old - st->top)));
	st->sum = st->sum * shrink[0] + lanes_sum(sum);
	return shrink[0];
}

static void add_values(const struct cmx_k_attention *a, uint32_t head, uint32_t s, uint32_t n,
		       const float *p, float shrink, float *out)
{
	for (uint32_t c = 0; c < a->dv; c += CMX_LANES) {
		const float *v = a->v + (size_t)s * a->v_stride + (size_t)head * a->v_head + c;
		struct lanes acc = lanes_set(0);

		if (s)
			acc = lanes_mul(lanes_load_to(out + c, a->dv - c, 0), lanes_set(shrink));
		for (uint32_t i = 0; i < n; i++, v += a->v_stride)
			acc = lanes_add(acc, lanes_mul(lanes_load_to(v, a->dv - c, 0),
						       lanes_set(p[i])));
		lanes_store_to(out + c, a->dv - c, acc);
	}
}

static void attend(const struct cmx_k_attention *a, uint32_t token, uint32_t head)
{
	const float *q1 = a->q1 + (size_t)token * a->q1_stride + (size_t)head * a->q1_head;
	const float *q2 = a->q2 + (size_t)token * a->q2_stride + (size_t)head * a->q2_head;
	float *out = a->out + (size_t)token * a->out_stride + (size_t)head * a->out_head;
	struct softmax_state st = { .top = -INFINITY };
	uint32_t end = a->pos + token + 1;

	for (uint32_t s = 0; s < end; s += CMX_KEY_TILE) {
		uint32_t n = end - s < CMX_KEY_TILE ? end - s : CMX_KEY_TILE;
		float score[CMX_KEY_TILE];

		key_scores(a, q1, q2, head, s, n, score);
		add_values(a, head, s, n, score, softmax_tile(&st, score), out);
	}
	for (uint32_t c = 0; c < a->dv; c += CMX_LANES) {
		struct lanes v = lanes_load_to(out + c, a->dv - c, 0);

		lanes_store_to(out + c, a->dv - c, lanes_div(v, lanes_set(st.sum)));
	}
}

void CMX_K(cmx_k_attention)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_attention *a = args;
	uint64_t lo, hi;

	cmx_block_share((uint64_t)a->tokens * a->heads, block, nblocks, &lo, &hi);
	for (uint64_t u = lo; u < hi; u++)
		attend(a, (uint32_t)(u / a->heads), (uint32_t)(u % a->heads));
}
