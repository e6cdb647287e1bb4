// SPDX-License-Identifier: GPL-2.0-only
/* Token rows to eight bits: what INT8 products take. */
#include "cmx_level.h"

/* Below this the scale's reciprocal might overflow: such a row counts as zeros. */
#define LEAST_MAX	0x1p-100f

typedef int32_t ints __attribute__((vector_size(16)));

/* The bits of the largest magnitude, which order as the magnitudes do; NaN is above infinity. */
static uint32_t max_bits(const float *x, uint32_t k)
{
	ints max[4] = { { 0 } };
	uint32_t i = 0, most = 0;

	for (; i + CMX_LANES <= k; i += CMX_LANES) {
		for (uint32_t j = 0; j < 4; j++) {
			ints v, greater;

			memcpy(&v, x + i + 4 * j, sizeof(v));
			v &= 0x7fffffff;
			greater = v > max[j];
			max[j] = (v & greater) | (max[j] & ~greater);
		}
	}
	for (uint32_t j = 0; j < CMX_LANES; j++)
		most = (uint32_t)max[j / 4][j % 4] > most ? (uint32_t)max[j / 4][j % 4] : most;
	for (; i < k; i++) {
		uint32_t u = cmx_bits(x[i]) & 0x7fffffff;

		most = u > most ? u : most;
	}
	return most;
}

#if CMX_LEVEL == CMX_LEVEL_SCALAR
/* Sixteen values, rounded to nearest, ties to even: by hand what the others have as one step. */
static void quantise16(const float *x, float inv, int8_t *out)
{
	for (uint32_t i = 0; i < CMX_LANES; i++)
		out[i] = (int8_t)(x[i] * inv + 0x1.8p23f - 0x1.8p23f);
}
#else
#include <emmintrin.h>

static inline __m128i quantise4(const float *x, __m128 inv)
{
	return _mm_cvtps_epi32(_mm_mul_ps(_mm_loadu_ps(x), inv));
}

static inline void quantise16(const float *x, float inv, int8_t *out)
{
	const __m128 f = _mm_set1_ps(inv);
	__m128i lo = _mm_packs_epi32(quantise4(x, f), quantise4(x + 4, f));
	__m128i hi = _mm_packs_epi32(quantise4(x + 8, f), quantise4(x + 12, f));

	_mm_storeu_si128((__m128i *)out, _mm_packs_epi16(lo, hi));
}
#endif

void CMX_K(cmx_round_row)(const float *x, uint32_t k, char *row)
{
	uint32_t bits = max_bits(x, k), i = 0;
	float max = cmx_float(bits), scale, inv;
	int8_t *out = (int8_t *)row + CMX_I8_HEAD;

	memset(row, 0, CMX_I8_HEAD);
	memset(out + k, 0, cmx_i8_row_bytes(k) - CMX_I8_HEAD - k);
	/* What is not finite makes the token's products so: no scale could hold it. */
	scale = bits >= 0x7f800000 ? cmx_float(0x7fc00000) : max / CMX_I8_MAX;
	if (max < LEAST_MAX)
		scale = 0;
	memcpy(row, &scale, sizeof(scale));
	if (!(scale > 0)) {
		memset(out, 0, k);
		return;
	}
	inv = CMX_I8_MAX / max;
	for (; i + CMX_LANES <= k; i += CMX_LANES)
		quantise16(x + i, inv, out + i);
	if (i < k) {
		float tail[CMX_LANES] = { 0 };

		memcpy(tail, x + i, (k - i) * sizeof(*x));
		quantise16(tail, inv, out + i);
	}
}

void CMX_K(cmx_k_quantise)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_quantise *a = args;
	uint64_t lo, hi;

	cmx_block_share(a->plan ? a->plan->n_rows : a->rows, block, nblocks, &lo, &hi);
	for (uint64_t t = lo; t < hi; t++)
		CMX_K(cmx_round_row)(a->x + t * a->k, a->k, a->out + t * cmx_i8_row_bytes(a->k));
}
