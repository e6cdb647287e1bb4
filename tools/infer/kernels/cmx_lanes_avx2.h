/* SPDX-License-Identifier: GPL-2.0-only */
/* Sixteen f32 lanes as two AVX registers, with the FMA and half floats that came with AVX2. */
#ifndef CMX_LANES_AVX2_H
#define CMX_LANES_AVX2_H

#include <immintrin.h>

#define CMX_TILE_TOKENS		6
#define CMX_STREAM_TOKENS	4
#define CMX_TILE_PANELS		4
#define CMX_RUN_PANELS		2
#define CMX_BLOCK_PANELS	1

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

/* Rounds once. */
static inline struct lanes lanes_fma(struct lanes x, struct lanes y, struct lanes z)
{
	return (struct lanes){ _mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b) };
}

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

static inline struct lanes lanes_load_f16(const void *p)
{
	return (struct lanes){ _mm256_cvtph_ps(_mm_loadu_si128(p)),
			       _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p + 1)) };
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

/* Eight words at @p, number @i of two. */
static inline __m256i word8(const void *p, uint32_t i)
{
	return _mm256_loadu_si256((const __m256i *)p + i);
}

#define LANES_WORDS(name, op) \
static inline struct lanes name(const void *p, uint32_t j) \
{ \
	return (struct lanes){ op(word8(p, 0), j), op(word8(p, 1), j) }; \
}

static inline __m256i words8(uint32_t v)
{
	return _mm256_set1_epi32((int)v);
}

static inline __m256i top_bits8(__m256i v, uint32_t shift, uint32_t mask)
{
	return _mm256_and_si256(_mm256_slli_epi32(v, (int)shift), words8(mask));
}

static inline __m256 top8_8(__m256i v, uint32_t j)
{
	if (j < 3)
		v = _mm256_slli_epi32(v, 24 - 8 * (int)j);
	/* Below the first byte there are zeros now. */
	if (j > 0)
		v = _mm256_and_si256(v, words8(0xff000000));
	return _mm256_cvtepi32_ps(v);
}

static inline __m256 top4_8(__m256i v, uint32_t j)
{
	return _mm256_cvtepi32_ps(top_bits8(v, 28 - 4 * j, 0xf0000000));
}

static inline __m256 low4_8(__m256i v, uint32_t j)
{
	v = _mm256_srli_epi32(v, 4 * (int)j);
	return _mm256_cvtepi32_ps(_mm256_and_si256(v, _mm256_set1_epi32(15)));
}

static inline __m256 bf16_of_two8(__m256i v, uint32_t j)
{
	return _mm256_castsi256_ps(top_bits8(v, 16 - 16 * j, 0xffff0000));
}

LANES_WORDS(lanes_top8, top8_8)
LANES_WORDS(lanes_top4, top4_8)
LANES_WORDS(lanes_low4, low4_8)
LANES_WORDS(lanes_bf16_of_two, bf16_of_two8)
#undef LANES_WORDS

static inline __m256 top6_8(__m256i low, uint32_t j, __m256i pairs, uint32_t up)
{
	low = _mm256_srli_epi32(top_bits8(low, 28 - 4 * j, 0xf0000000), 2);
	return _mm256_cvtepi32_ps(_mm256_or_si256(low, top_bits8(pairs, 30 - 2 * up,
								 0xc0000000)));
}

static inline struct lanes lanes_top6(const void *low, uint32_t j, const void *pairs, uint32_t up)
{
	return (struct lanes){ top6_8(word8(low, 0), j, word8(pairs, 0), up),
			       top6_8(word8(low, 1), j, word8(pairs, 1), up) };
}

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
