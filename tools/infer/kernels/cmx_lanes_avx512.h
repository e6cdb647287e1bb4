/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sixteen f32 lanes as one register of AVX-512 (F, BW, DQ, VL). Equal to AVX2 bit for
 * bit. What is not in a product's innermost loop goes through halves of eight.
 */
#ifndef CMX_LANES_AVX512_H
#define CMX_LANES_AVX512_H

#ifdef CMX_SIMDE
#include "simde_avx512.h"
#else
#include <immintrin.h>
#endif

#define CMX_TILE_TOKENS		12
#define CMX_STREAM_TOKENS	4
#define CMX_TILE_PANELS		4
#define CMX_RUN_PANELS		4
#define CMX_BLOCK_PANELS	2

struct lanes {
	__m512 v;
};

#define LANES_OP2(name, op) \
static inline struct lanes name(struct lanes x, struct lanes y) \
{ \
	return (struct lanes){ op(x.v, y.v) }; \
}

LANES_OP2(lanes_add, _mm512_add_ps)
LANES_OP2(lanes_sub, _mm512_sub_ps)
LANES_OP2(lanes_mul, _mm512_mul_ps)
LANES_OP2(lanes_div, _mm512_div_ps)
#undef LANES_OP2

/* As MAXPS and MINPS: the second operand unless the first one wins. */
static inline struct lanes lanes_max(struct lanes x, struct lanes y)
{
	return (struct lanes){ _mm512_mask_mov_ps(y.v, _mm512_cmp_ps_mask(x.v, y.v, _CMP_GT_OQ),
						  x.v) };
}

static inline struct lanes lanes_min(struct lanes x, struct lanes y)
{
	return (struct lanes){ _mm512_mask_mov_ps(y.v, _mm512_cmp_ps_mask(x.v, y.v, _CMP_LT_OQ),
						  x.v) };
}

/* Rounds once. */
static inline struct lanes lanes_fma(struct lanes x, struct lanes y, struct lanes z)
{
	return (struct lanes){ _mm512_fmadd_ps(x.v, y.v, z.v) };
}

static inline struct lanes lanes_set(float v)
{
	return (struct lanes){ _mm512_set1_ps(v) };
}

static inline struct lanes lanes_load(const float *p)
{
	return (struct lanes){ _mm512_loadu_ps(p) };
}

static inline void lanes_store(float *p, struct lanes x)
{
	_mm512_storeu_ps(p, x.v);
}

static inline struct lanes lanes_exp_select(struct lanes x, float lo, struct lanes y)
{
	__mmask16 low = _mm512_cmp_ps_mask(x.v, _mm512_set1_ps(lo), _CMP_LT_OQ);
	__mmask16 nan = _mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q);

	y.v = _mm512_mask_mov_ps(y.v, low, _mm512_set1_ps(0));
	return (struct lanes){ _mm512_mask_mov_ps(y.v, nan, x.v) };
}

static inline struct lanes lanes_pow2(struct lanes t)
{
	__m512i n = _mm512_sub_epi32(_mm512_castps_si512(t.v),
				     _mm512_set1_epi32(0x4b400000 - 127));

	return (struct lanes){ _mm512_castsi512_ps(_mm512_slli_epi32(n, 23)) };
}

static inline struct lanes join(__m256 a, __m256 b)
{
	return (struct lanes){ _mm512_insertf32x8(_mm512_castps256_ps512(a), b, 1) };
}

static inline struct lanes lanes_load_f16(const void *p)
{
	return join(_mm256_cvtph_ps(_mm_loadu_si128(p)),
		    _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p + 1)));
}

static inline __m256 bf16_8(__m128i p)
{
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(p), 16));
}

static inline struct lanes lanes_load_bf16(const void *p)
{
	return join(bf16_8(_mm_loadu_si128(p)), bf16_8(_mm_loadu_si128((const __m128i *)p + 1)));
}

static inline struct lanes lanes_from_i8(__m128i v)
{
	return join(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(v)),
		    _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(v, 8))));
}

static inline struct lanes lanes_load_i8(const void *p)
{
	return lanes_from_i8(_mm_loadu_si128(p));
}

#include "cmx_lanes_bytes.h"

static inline __m512i top_bits(const void *p, uint32_t shift, uint32_t mask)
{
	__m512i v = _mm512_slli_epi32(_mm512_loadu_si512(p), shift);

	return _mm512_and_si512(v, _mm512_set1_epi32((int)mask));
}

static inline struct lanes lanes_top8(const void *p, uint32_t j)
{
	return (struct lanes){ _mm512_cvtepi32_ps(top_bits(p, 24 - 8 * j, 0xff000000)) };
}

static inline struct lanes lanes_top4(const void *p, uint32_t j)
{
	return (struct lanes){ _mm512_cvtepi32_ps(top_bits(p, 28 - 4 * j, 0xf0000000)) };
}

static inline struct lanes lanes_low4(const void *p, uint32_t j)
{
	__m512i v = _mm512_srli_epi32(_mm512_loadu_si512(p), 4 * j);

	return (struct lanes){ _mm512_cvtepi32_ps(_mm512_and_si512(v, _mm512_set1_epi32(15))) };
}

static inline struct lanes lanes_bf16_of_two(const void *p, uint32_t j)
{
	return (struct lanes){ _mm512_castsi512_ps(top_bits(p, 16 - 16 * j, 0xffff0000)) };
}

static inline struct lanes lanes_top6(const void *low, uint32_t j, const void *pairs, uint32_t up)
{
	__m512i v = _mm512_srli_epi32(top_bits(low, 28 - 4 * j, 0xf0000000), 2);

	v = _mm512_or_si512(v, top_bits(pairs, 30 - 2 * up, 0xc0000000));
	return (struct lanes){ _mm512_cvtepi32_ps(v) };
}

/* Down the tree of the other levels. */
static inline float lanes_sum(struct lanes x)
{
	float f[16];
	__m256 e;
	__m128 s;

	lanes_store(f, x);
	e = _mm256_add_ps(_mm256_loadu_ps(f), _mm256_loadu_ps(f + 8));
	s = _mm_add_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));
	s = _mm_add_ps(s, _mm_movehl_ps(s, s));
	return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

static inline float lanes_top(struct lanes x)
{
	float f[16];
	__m256 e;
	__m128 s;

	lanes_store(f, x);
	e = _mm256_max_ps(_mm256_loadu_ps(f), _mm256_loadu_ps(f + 8));
	s = _mm_max_ps(_mm256_castps256_ps128(e), _mm256_extractf128_ps(e, 1));
	s = _mm_max_ps(s, _mm_movehl_ps(s, s));
	return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}

#endif
