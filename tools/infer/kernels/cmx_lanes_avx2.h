/* SPDX-License-Identifier: GPL-2.0-only */
/* Sixteen f32 lanes as two AVX registers. No FMA: it would round differently. */
#ifndef CMX_LANES_AVX2_H
#define CMX_LANES_AVX2_H

#include <immintrin.h>

#define CMX_TOKEN_TILE 4

struct lanes {
	__m256 a, b;
};

#define LANES_OP2(name, op) \
static inline struct lanes name(struct lanes x, struct lanes y) \
{ \
	return (struct lanes){ op(x.a, y.a), op(x.b, y.b) }; \
}

LANES_OP2(lanes_add, _mm256_add_ps)
LANES_OP2(lanes_sub, _mm256_sub_ps)
LANES_OP2(lanes_mul, _mm256_mul_ps)
LANES_OP2(lanes_div, _mm256_div_ps)
LANES_OP2(lanes_max, _mm256_max_ps)
LANES_OP2(lanes_min, _mm256_min_ps)
#undef LANES_OP2

static inline struct lanes lanes_set(float v)
{
	__m256 x = _mm256_set1_ps(v);

	return (struct lanes){ x, x };
}

static inline struct lanes lanes_load(const float *p)
{
	return (struct lanes){ _mm256_loadu_ps(p), _mm256_loadu_ps(p + 8) };
}

static inline void lanes_store(float *p, struct lanes x)
{
	_mm256_storeu_ps(p, x.a);
	_mm256_storeu_ps(p + 8, x.b);
}

static inline __m256 exp_select8(__m256 x, __m256 lo, __m256 y)
{
	__m256 nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
	__m256 keep = _mm256_andnot_ps(_mm256_cmp_ps(x, lo, _CMP_LT_OQ), y);

	return _mm256_blendv_ps(keep, x, nan);
}

static inline struct lanes lanes_exp_select(struct lanes x, float lo, struct lanes y)
{
	__m256 l = _mm256_set1_ps(lo);

	return (struct lanes){ exp_select8(x.a, l, y.a), exp_select8(x.b, l, y.b) };
}

static inline __m256 pow2_8(__m256 t)
{
	__m256i n = _mm256_sub_epi32(_mm256_castps_si256(t),
				     _mm256_set1_epi32(0x4b400000 - 127));

	return _mm256_castsi256_ps(_mm256_slli_epi32(n, 23));
}

static inline struct lanes lanes_pow2(struct lanes t)
{
	return (struct lanes){ pow2_8(t.a), pow2_8(t.b) };
}

/* Eight f16 in the low halves of 32-bit lanes: rescale the shifted bits by 2^112. */
static inline __m256 f16_8(__m128i p)
{
	__m256i h = _mm256_cvtepu16_epi32(p);
	__m256i mag = _mm256_and_si256(h, _mm256_set1_epi32(0x7fff));
	__m256i special = _mm256_cmpgt_epi32(mag, _mm256_set1_epi32(0x7bff));
	__m256i sign = _mm256_slli_epi32(_mm256_and_si256(h, _mm256_set1_epi32(0x8000)), 16);
	__m256 v = _mm256_mul_ps(_mm256_castsi256_ps(_mm256_slli_epi32(mag, 13)),
				 _mm256_set1_ps(0x1p112f));

	special = _mm256_and_si256(special, _mm256_set1_epi32(0x7f800000));
	return _mm256_or_ps(v, _mm256_castsi256_ps(_mm256_or_si256(special, sign)));
}

static inline struct lanes lanes_load_f16(const void *p)
{
	return (struct lanes){ f16_8(_mm_loadu_si128(p)),
			       f16_8(_mm_loadu_si128((const __m128i *)p + 1)) };
}

static inline __m256 bf16_8(__m128i p)
{
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(p), 16));
}

static inline struct lanes lanes_load_bf16(const void *p)
{
	return (struct lanes){ bf16_8(_mm_loadu_si128(p)),
			       bf16_8(_mm_loadu_si128((const __m128i *)p + 1)) };
}

static inline struct lanes lanes_from_i8(__m128i v)
{
	return (struct lanes){ _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(v)),
			       _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(v, 8))) };
}

static inline struct lanes lanes_load_i8(const void *p)
{
	return lanes_from_i8(_mm_loadu_si128(p));
}

#include "cmx_lanes_bytes.h"

static inline float lanes_sum(struct lanes x)
{
	__m256 e = _mm256_add_ps(x.a, x.b);
	__m128 s = _mm_add_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));

	s = _mm_add_ps(s, _mm_movehl_ps(s, s));
	return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

static inline float lanes_top(struct lanes x)
{
	__m256 e = _mm256_max_ps(x.a, x.b);
	__m128 s = _mm_max_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));

	s = _mm_max_ps(s, _mm_movehl_ps(s, s));
	return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}

#endif
