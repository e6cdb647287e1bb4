// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>

#include "cmx_level.h"
#include "cmx_dot.h"

#if CMX_LEVEL >= CMX_LEVEL_AVX2
#ifndef CMX_SIMDE
#include <immintrin.h>
#endif

#define TILE_TOKENS	4

/*
 * Unsigned by signed bytes, where the signs of the weights went over to the token:
 * a pair of products is at most 2 x 128 x 127, which 16 bits hold.
 */
cmx_inline void sum_panel(const char *w, const int8_t *const *x, uint32_t nt, uint32_t k,
			  int32_t (*sum)[CMX_I8_PANEL])
{
	const __m256i ones = _mm256_set1_epi16(1);
	__m256i acc[TILE_TOKENS][2];

#pragma GCC unroll 8
	for (uint32_t t = 0; t < 2 * nt; t++)
		acc[t / 2][t % 2] = _mm256_setzero_si256();
	for (uint32_t i = 0; i < k; i += 4, w += 4 * CMX_I8_PANEL) {
#pragma GCC unroll 8
		for (uint32_t h = 0; h < 2; h++) {
			__m256i v = _mm256_loadu_si256((const __m256i *)w + h);
			__m256i mag = _mm256_abs_epi8(v);

#pragma GCC unroll 8
			for (uint32_t t = 0; t < nt; t++) {
				int32_t four;
				__m256i p;

				memcpy(&four, x[t] + i, sizeof(four));
				p = _mm256_sign_epi8(_mm256_set1_epi32(four), v);
				p = _mm256_madd_epi16(_mm256_maddubs_epi16(mag, p), ones);
				acc[t][h] = _mm256_add_epi32(acc[t][h], p);
			}
		}
	}
#pragma GCC unroll 8
	for (uint32_t t = 0; t < nt; t++) {
		_mm256_storeu_si256((__m256i *)sum[t], acc[t][0]);
		_mm256_storeu_si256((__m256i *)sum[t] + 1, acc[t][1]);
	}
}
#elif CMX_LEVEL == CMX_LEVEL_SSE2
#include <emmintrin.h>

#define TILE_TOKENS	1

/* Bytes widened to 16 bits with their sign: the low or the high eight of @v. */
cmx_inline __m128i widen(__m128i v, uint32_t high)
{
	__m128i sign = _mm_cmpgt_epi8(_mm_setzero_si128(), v);

	return high ? _mm_unpackhi_epi8(v, sign) : _mm_unpacklo_epi8(v, sign);
}

/* Each of the eight accumulators has two sums for each of two rows. */
cmx_inline void sum_panel(const char *w, const int8_t *const *x, uint32_t nt, uint32_t k,
			  int32_t (*sum)[CMX_I8_PANEL])
{
	__m128i acc[8];
	int32_t pair[32];

	(void)nt;
#pragma GCC unroll 8
	for (uint32_t j = 0; j < 8; j++)
		acc[j] = _mm_setzero_si128();
	for (uint32_t i = 0; i < k; i += 4, w += 4 * CMX_I8_PANEL) {
		int32_t four;
		__m128i v;

		memcpy(&four, x[0] + i, sizeof(four));
		v = widen(_mm_set1_epi32(four), 0);
#pragma GCC unroll 8
		for (uint32_t j = 0; j < 8; j++) {
			__m128i p = _mm_loadu_si128((const __m128i *)w + j / 2);

			acc[j] = _mm_add_epi32(acc[j], _mm_madd_epi16(widen(p, j & 1), v));
		}
	}
#pragma GCC unroll 8
	for (uint32_t j = 0; j < 8; j++)
		_mm_storeu_si128((__m128i *)pair + j, acc[j]);
	for (uint32_t r = 0; r < CMX_I8_PANEL; r++)
		sum[0][r] = pair[2 * r] + pair[2 * r + 1];
}
#else
#define TILE_TOKENS	1

cmx_inline void sum_panel(const char *w, const int8_t *const *x, uint32_t nt, uint32_t k,
			  int32_t (*sum)[CMX_I8_PANEL])
{
	const int8_t *v = (const int8_t *)w;

	(void)nt;
	memset(sum[0], 0, sizeof(sum[0]));
	for (uint32_t i = 0; i < k; i += 4, v += 4 * CMX_I8_PANEL) {
		for (uint32_t r = 0; r < CMX_I8_PANEL; r++) {
			for (uint32_t j = 0; j < 4; j++)
				sum[0][r] += v[4 * r + j] * x[0][i + j];
		}
	}
}
#endif

#if CMX_LEVEL == CMX_LEVEL_AVX512
/* Machines with AVX-512 need not have its products of bytes. */
#ifdef CMX_SIMDE
#define VNNI_CODE
static bool has_vnni(void)
{
	return true;
}
#else
#define VNNI_CODE __attribute__((target("avx512vnni")))
static bool has_vnni(void)
{
	return __builtin_cpu_supports("avx512vnni");
}
#endif

/*
 * Unsigned by signed bytes: tokens go up by 128, and what that adds is taken off
 * again. Sums may wrap on the way, but not in the end.
 */
static VNNI_CODE __attribute__((noinline)) void sum_vnni(const char *w, const int8_t *const *x,
							 uint32_t nt, uint32_t k,
							 int32_t (*sum)[CMX_I8_PANEL])
{
	const __m512i more = _mm512_loadu_si512(w + cmx_i8_weights_bytes(k) +
						CMX_I8_PANEL * sizeof(float));
	__m512i acc[TILE_TOKENS];

#pragma GCC unroll 4
	for (uint32_t t = 0; t < TILE_TOKENS; t++)
		acc[t] = _mm512_setzero_si512();
	for (uint32_t i = 0; i < k; i += 4, w += 4 * CMX_I8_PANEL) {
		const __m512i v = _mm512_loadu_si512(w);

#pragma GCC unroll 4
		for (uint32_t t = 0; t < TILE_TOKENS; t++) {
			uint32_t four;

			/* The tile's missing tokens are its first one. */
			memcpy(&four, x[t < nt ? t : 0] + i, sizeof(four));
			acc[t] = _mm512_dpbusd_epi32(acc[t],
						     _mm512_set1_epi32((int)(four ^ 0x80808080u)),
						     v);
		}
	}
	for (uint32_t t = 0; t < nt; t++)
		_mm512_storeu_si512(sum[t], _mm512_sub_epi32(acc[t], more));
}
#endif

static __attribute__((noinline)) void sum_tile(const char *w, const int8_t *const *x, uint32_t k,
					       int32_t (*sum)[CMX_I8_PANEL])
{
	sum_panel(w, x, TILE_TOKENS, k, sum);
}

static __attribute__((noinline)) void sum_one(const char *w, const int8_t *const *x, uint32_t k,
					      int32_t (*sum)[CMX_I8_PANEL])
{
	sum_panel(w, x, 1, k, sum);
}

static void sum_tokens(const char *w, const int8_t *const *x, uint32_t n, uint32_t k,
		       int32_t (*sum)[CMX_I8_PANEL])
{
#if CMX_LEVEL == CMX_LEVEL_AVX512
	if (has_vnni()) {
		sum_vnni(w, x, n, k, sum);
		return;
	}
#endif
	if (n == TILE_TOKENS) {
		sum_tile(w, x, k, sum);
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		sum_one(w, x + i, k, sum + i);
}

static void scale_sums(const int32_t *sum, const float *scale, float token, float *c)
{
	for (uint32_t r = 0; r < CMX_I8_PANEL; r++)
		c[r] = (float)sum[r] * (scale[r] * token);
}

/* Up to TILE_TOKENS tokens from number @t on. */
static void panel_tokens(const struct cmx_gemm *g, const char *w, uint32_t t, uint32_t n,
			 float *c)
{
	int32_t sum[TILE_TOKENS][CMX_I8_PANEL];
	const int8_t *x[TILE_TOKENS];
	float scale[CMX_I8_PANEL], token[TILE_TOKENS];
	size_t bytes = g->x_bytes ? g->x_bytes : cmx_i8_row_bytes(g->k);

	memcpy(scale, w + cmx_i8_weights_bytes(g->k), sizeof(scale));
	for (uint32_t i = 0; i < n; i++) {
		const char *row = (const char *)g->x +
				  (g->x_row ? g->x_row[t + i] : t + i) * bytes;

		memcpy(&token[i], row, sizeof(token[i]));
		x[i] = (const int8_t *)row + CMX_I8_HEAD;
	}
	sum_tokens(w, x, n, g->k, sum);
	for (uint32_t i = 0; i < n; i++)
		scale_sums(sum[i], scale, token[i], c + i * CMX_I8_PANEL);
}

void CMX_K(cmx_gemm_i8)(const struct cmx_gemm *g, uint32_t panel, uint32_t np, uint32_t t,
			uint32_t nt, float *c)
{
	size_t bytes = cmx_i8_panel_bytes(g->k);

	for (uint32_t p = 0; p < np; p++, c += nt * CMX_I8_PANEL) {
		const char *w = g->w + (panel + p) * bytes;

		for (uint32_t i = 0; i < nt; i += TILE_TOKENS)
			panel_tokens(g, w, t + i, nt - i < TILE_TOKENS ? nt - i : TILE_TOKENS,
				     c + i * CMX_I8_PANEL);
	}
}
