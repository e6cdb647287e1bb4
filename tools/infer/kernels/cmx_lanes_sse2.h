/* SPDX-License-Identifier: GPL-2.0-only */
/* Sixteen f32 lanes as four SSE registers. */
#ifndef CMX_LANES_SSE2_H
#define CMX_LANES_SSE2_H

#include <emmintrin.h>

#define CMX_TILE_TOKENS		2
#define CMX_STREAM_TOKENS	2
#define CMX_TILE_PANELS		2
#define CMX_RUN_PANELS		2
#define CMX_BLOCK_PANELS	1

struct lanes {
	__m128 a, b, c, d;
};

#define LANES_OP2(name, op) \
static inline struct lanes name(struct lanes x, struct lanes y) \
{ \
	return (struct lanes){ op(x.a, y.a), op(x.b, y.b), op(x.c, y.c), op(x.d, y.d) }; \
}

LANES_OP2(lanes_add, _mm_add_ps)
LANES_OP2(lanes_sub, _mm_sub_ps)
LANES_OP2(lanes_mul, _mm_mul_ps)
LANES_OP2(lanes_div, _mm_div_ps)
LANES_OP2(lanes_max, _mm_max_ps)
LANES_OP2(lanes_min, _mm_min_ps)
#undef LANES_OP2

/* Rounds twice: the level has no FMA. */
static inline struct lanes lanes_fma(struct lanes x, struct lanes y, struct lanes z)
{
	return lanes_add(lanes_mul(x, y), z);
}

static inline struct lanes lanes_set(float v)
{
	__m128 x = _mm_set1_ps(v);

	return (struct lanes){ x, x, x, x };
}

static inline struct lanes lanes_load(const float *p)
{
	return (struct lanes){ _mm_loadu_ps(p), _mm_loadu_ps(p + 4), _mm_loadu_ps(p + 8),
			       _mm_loadu_ps(p + 12) };
}

static inline void lanes_store(float *p, struct lanes x)
{
	_mm_storeu_ps(p, x.a);
	_mm_storeu_ps(p + 4, x.b);
	_mm_storeu_ps(p + 8, x.c);
	_mm_storeu_ps(p + 12, x.d);
}

static inline __m128 exp_select4(__m128 x, __m128 lo, __m128 y)
{
	__m128 nan = _mm_cmpunord_ps(x, x);
	__m128 keep = _mm_andnot_ps(_mm_cmplt_ps(x, lo), y);

	return _mm_or_ps(_mm_and_ps(nan, x), _mm_andnot_ps(nan, keep));
}

static inline struct lanes lanes_exp_select(struct lanes x, float lo, struct lanes y)
{
	__m128 l = _mm_set1_ps(lo);

	return (struct lanes){ exp_select4(x.a, l, y.a), exp_select4(x.b, l, y.b),
			       exp_select4(x.c, l, y.c), exp_select4(x.d, l, y.d) };
}

static inline __m128 pow2_4(__m128 t)
{
	__m128i n = _mm_sub_epi32(_mm_castps_si128(t), _mm_set1_epi32(0x4b400000 - 127));

	return _mm_castsi128_ps(_mm_slli_epi32(n, 23));
}

static inline struct lanes lanes_pow2(struct lanes t)
{
	return (struct lanes){ pow2_4(t.a), pow2_4(t.b), pow2_4(t.c), pow2_4(t.d) };
}

/* Four f16 in the low halves of 32-bit lanes: rescale the shifted bits by 2^112. */
static inline __m128 f16_4(__m128i h)
{
	__m128i mag = _mm_and_si128(h, _mm_set1_epi32(0x7fff));
	__m128i special = _mm_cmpgt_epi32(mag, _mm_set1_epi32(0x7bff));
	__m128i sign = _mm_slli_epi32(_mm_and_si128(h, _mm_set1_epi32(0x8000)), 16);
	__m128 v = _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(mag, 13)), _mm_set1_ps(0x1p112f));

	special = _mm_and_si128(special, _mm_set1_epi32(0x7f800000));
	return _mm_or_ps(v, _mm_castsi128_ps(_mm_or_si128(special, sign)));
}

static inline struct lanes lanes_load_f16(const void *p)
{
	__m128i lo = _mm_loadu_si128(p), hi = _mm_loadu_si128((const __m128i *)p + 1);
	__m128i z = _mm_setzero_si128();

	return (struct lanes){ f16_4(_mm_unpacklo_epi16(lo, z)), f16_4(_mm_unpackhi_epi16(lo, z)),
			       f16_4(_mm_unpacklo_epi16(hi, z)), f16_4(_mm_unpackhi_epi16(hi, z)) };
}

static inline struct lanes lanes_load_bf16(const void *p)
{
	__m128i lo = _mm_loadu_si128(p), hi = _mm_loadu_si128((const __m128i *)p + 1);
	__m128i z = _mm_setzero_si128();

	return (struct lanes){ _mm_castsi128_ps(_mm_unpacklo_epi16(z, lo)),
			       _mm_castsi128_ps(_mm_unpackhi_epi16(z, lo)),
			       _mm_castsi128_ps(_mm_unpacklo_epi16(z, hi)),
			       _mm_castsi128_ps(_mm_unpackhi_epi16(z, hi)) };
}

#define I8_4(n)		(n), (n) + 1, (n) + 2, (n) + 3
#define I8_16(n)	I8_4(n), I8_4((n) + 4), I8_4((n) + 8), I8_4((n) + 12)
#define I8_64(n)	I8_16(n), I8_16((n) + 16), I8_16((n) + 32), I8_16((n) + 48)

/*
 * By table, since this is the level of emulated machines, where a conversion
 * instruction costs far more than sixteen loads.
 */
static inline struct lanes lanes_load_i8(const void *p)
{
	static const float value[256] = { I8_64(0), I8_64(64), I8_64(-128), I8_64(-64) };
	const uint8_t *b = p;
	float f[16];

	for (int i = 0; i < 16; i++)
		f[i] = value[b[i]];
	return lanes_load(f);
}

static inline struct lanes lanes_from_i8(__m128i v)
{
	uint8_t b[16];

	_mm_storeu_si128((__m128i *)b, v);
	return lanes_load_i8(b);
}

#undef I8_4
#undef I8_16
#undef I8_64

#include "cmx_lanes_bytes.h"

/* Four words at @p, number @i of four. */
static inline __m128i word4(const void *p, uint32_t i)
{
	return _mm_loadu_si128((const __m128i *)p + i);
}

#define LANES_WORDS(name, op) \
static inline struct lanes name(const void *p, uint32_t j) \
{ \
	return (struct lanes){ op(word4(p, 0), j), op(word4(p, 1), j), op(word4(p, 2), j), \
			       op(word4(p, 3), j) }; \
}

static inline __m128i words4(uint32_t v)
{
	return _mm_set1_epi32((int)v);
}

static inline __m128i top_bits4(__m128i v, uint32_t shift, uint32_t mask)
{
	return _mm_and_si128(_mm_sll_epi32(v, _mm_cvtsi32_si128((int)shift)), words4(mask));
}

static inline __m128 top4_4(__m128i v, uint32_t j)
{
	return _mm_cvtepi32_ps(top_bits4(v, 28 - 4 * j, 0xf0000000));
}

static inline __m128 low4_4(__m128i v, uint32_t j)
{
	v = _mm_srl_epi32(v, _mm_cvtsi32_si128(4 * (int)j));
	return _mm_cvtepi32_ps(_mm_and_si128(v, _mm_set1_epi32(15)));
}

static inline __m128 bf16_of_two4(__m128i v, uint32_t j)
{
	return _mm_castsi128_ps(top_bits4(v, 16 - 16 * j, 0xffff0000));
}

LANES_WORDS(lanes_top4, top4_4)
LANES_WORDS(lanes_low4, low4_4)
LANES_WORDS(lanes_bf16_of_two, bf16_of_two4)
#undef LANES_WORDS

/* By table too. */
static inline struct lanes lanes_top8(const void *p, uint32_t j)
{
	const uint8_t *b = p;
	uint8_t v[16];

	for (int i = 0; i < 16; i++)
		v[i] = b[4 * i + j];
	return lanes_mul(lanes_load_i8(v), lanes_set(0x1p24f));
}

static inline __m128 top6_4(__m128i low, uint32_t j, __m128i pairs, uint32_t up)
{
	low = _mm_srli_epi32(top_bits4(low, 28 - 4 * j, 0xf0000000), 2);
	return _mm_cvtepi32_ps(_mm_or_si128(low, top_bits4(pairs, 30 - 2 * up, 0xc0000000)));
}

static inline struct lanes lanes_top6(const void *low, uint32_t j, const void *pairs, uint32_t up)
{
	return (struct lanes){ top6_4(word4(low, 0), j, word4(pairs, 0), up),
			       top6_4(word4(low, 1), j, word4(pairs, 1), up),
			       top6_4(word4(low, 2), j, word4(pairs, 2), up),
			       top6_4(word4(low, 3), j, word4(pairs, 3), up) };
}

static inline float lanes_sum(struct lanes x)
{
	__m128 s = _mm_add_ps(_mm_add_ps(x.a, x.c), _mm_add_ps(x.b, x.d));

	s = _mm_add_ps(s, _mm_movehl_ps(s, s));
	return _mm_cvtss_f32(_mm_add_ss(s, _mm_shuffle_ps(s, s, 1)));
}

static inline float lanes_top(struct lanes x)
{
	__m128 s = _mm_max_ps(_mm_max_ps(x.a, x.c), _mm_max_ps(x.b, x.d));

	s = _mm_max_ps(s, _mm_movehl_ps(s, s));
	return _mm_cvtss_f32(_mm_max_ss(s, _mm_shuffle_ps(s, s, 1)));
}

#endif
