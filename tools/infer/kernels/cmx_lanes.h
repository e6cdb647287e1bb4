/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sixteen f32 lanes, the unit all kernels compute in. A sum over lanes runs over k %
 * 16 and then down one fixed tree, a product in the order of cmx_gemm.h: on one level
 * bits never depend on the batch, the grid or the threads.
 *
 * Across levels lanes do the same IEEE operations, but for lanes_fma(): AVX2 and
 * AVX-512 round it once, scalar and SSE2 twice. So the levels of each kind give equal
 * bits, and kernels that do not use it give equal bits on all levels. Products of the
 * two kinds differ by at most 4 ulp of the sum of the terms' magnitudes (what tests
 * find; K times half an ulp can be proven), and in what is infinite or NaN only where
 * a sum of finite terms overflows.
 */
#ifndef CMX_LANES_H
#define CMX_LANES_H

#include <stdint.h>
#include <string.h>

#define CMX_LANES 16

#define CMX_LEVEL_SCALAR	0
#define CMX_LEVEL_SSE2		1
#define CMX_LEVEL_AVX2		2
#define CMX_LEVEL_AVX512	3

#ifndef CMX_LEVEL
#define CMX_LEVEL CMX_LEVEL_SCALAR
#endif

static inline uint32_t cmx_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static inline float cmx_float(uint32_t u)
{
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

/* IEEE half to single, exact; a NaN keeps its bits. */
static inline float cmx_f16(uint16_t h)
{
	float mag = cmx_float((uint32_t)(h & 0x7fff) << 13) * 0x1p112f;
	uint32_t special = (h & 0x7fff) > 0x7bff ? 0x7f800000u : 0;

	return cmx_float(cmx_bits(mag) | special | (uint32_t)(h & 0x8000) << 16);
}

/*
 * Each level says what its registers can hold of a product:
 * CMX_TILE_TOKENS	tokens of a tile
 * CMX_BLOCK_PANELS	panels of a tile of many tokens
 * CMX_TILE_PANELS	panels of a tile of one token
 * CMX_RUN_PANELS	the same of the types that have scales
 * CMX_STREAM_TOKENS	up to so many tokens weights are best restored in registers
 */
#if CMX_LEVEL == CMX_LEVEL_AVX512
#include "cmx_lanes_avx512.h"
#elif CMX_LEVEL == CMX_LEVEL_AVX2
#include "cmx_lanes_avx2.h"
#elif CMX_LEVEL == CMX_LEVEL_SSE2
#include "cmx_lanes_sse2.h"
#else
#include "cmx_lanes_scalar.h"
#endif

/* out[j][i] = in[i][j], both sixteen rows of sixteen. */
static inline void lanes_transpose(const float *in, float *out)
{
	for (uint32_t i = 0; i < CMX_LANES; i++) {
		for (uint32_t j = 0; j < CMX_LANES; j++)
			out[j * CMX_LANES + i] = in[i * CMX_LANES + j];
	}
}

#define CMX_EXP_LO	-87.0f
#define CMX_EXP_HI	88.0f

/*
 * e^x to about one ulp: 0 below CMX_EXP_LO, saturated above CMX_EXP_HI, a NaN
 * stays. Split at multiples of ln 2, then a polynomial of degree 7.
 */
static inline struct lanes lanes_exp(struct lanes x)
{
	static const float coef[] = { 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1, 1 };
	const struct lanes magic = lanes_set(0x1.8p23f);
	struct lanes c = lanes_min(lanes_max(x, lanes_set(CMX_EXP_LO)), lanes_set(CMX_EXP_HI));
	struct lanes t = lanes_add(lanes_mul(c, lanes_set(1.44269504f)), magic);
	struct lanes n = lanes_sub(t, magic);
	struct lanes r, p = lanes_set(1.0f / 5040);

	/* The high part of ln 2 has trailing zeros, so n times it is exact. */
	r = lanes_sub(c, lanes_mul(n, lanes_set(0x1.62e4p-1f)));
	r = lanes_sub(r, lanes_mul(n, lanes_set(0x1.7f7d1cp-20f)));
	for (unsigned int i = 0; i < sizeof(coef) / sizeof(coef[0]); i++)
		p = lanes_add(lanes_mul(p, r), lanes_set(coef[i]));
	return lanes_exp_select(x, CMX_EXP_LO, lanes_mul(p, lanes_pow2(t)));
}

static inline struct lanes lanes_sigmoid(struct lanes x)
{
	const struct lanes one = lanes_set(1);

	return lanes_div(one, lanes_add(one, lanes_exp(lanes_sub(lanes_set(0), x))));
}

static inline struct lanes lanes_silu(struct lanes x)
{
	return lanes_div(x, lanes_add(lanes_set(1), lanes_exp(lanes_sub(lanes_set(0), x))));
}

/* The first n < 16 lanes from p, the others @fill. */
static inline struct lanes lanes_load_part(const float *p, uint32_t n, float fill)
{
	float buf[CMX_LANES];

	for (uint32_t i = 0; i < CMX_LANES; i++)
		buf[i] = i < n ? p[i] : fill;
	return lanes_load(buf);
}

static inline void lanes_store_part(float *p, uint32_t n, struct lanes a)
{
	float buf[CMX_LANES];

	lanes_store(buf, a);
	memcpy(p, buf, n * sizeof(*p));
}

static inline struct lanes lanes_load_to(const float *p, uint32_t left, float fill)
{
	return left >= CMX_LANES ? lanes_load(p) : lanes_load_part(p, left, fill);
}

static inline void lanes_store_to(float *p, uint32_t left, struct lanes a)
{
	if (left >= CMX_LANES)
		lanes_store(p, a);
	else
		lanes_store_part(p, left, a);
}

#endif
