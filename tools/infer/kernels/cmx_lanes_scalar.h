/* SPDX-License-Identifier: GPL-2.0-only */
/* Sixteen f32 lanes in plain C: the reference of the SIMD levels. */
#ifndef CMX_LANES_SCALAR_H
#define CMX_LANES_SCALAR_H

#define CMX_TILE_TOKENS		2
#define CMX_STREAM_TOKENS	1
#define CMX_TILE_PANELS		1
#define CMX_RUN_PANELS		1
#define CMX_BLOCK_PANELS	1

struct lanes {
	float f[16];
};

#define LANES_EACH(expr) \
	do { \
		for (int i = 0; i < 16; i++) \
			r.f[i] = (expr); \
	} while (0)

static inline struct lanes lanes_set(float v)
{
	struct lanes r;

	LANES_EACH(v);
	return r;
}

static inline struct lanes lanes_load(const float *p)
{
	struct lanes r;

	memcpy(r.f, p, sizeof(r.f));
	return r;
}

static inline void lanes_store(float *p, struct lanes a)
{
	memcpy(p, a.f, sizeof(a.f));
}

static inline struct lanes lanes_add(struct lanes a, struct lanes b)
{
	struct lanes r;

	LANES_EACH(a.f[i] + b.f[i]);
	return r;
}

static inline struct lanes lanes_sub(struct lanes a, struct lanes b)
{
	struct lanes r;

	LANES_EACH(a.f[i] - b.f[i]);
	return r;
}

static inline struct lanes lanes_mul(struct lanes a, struct lanes b)
{
	struct lanes r;

	LANES_EACH(a.f[i] * b.f[i]);
	return r;
}

/* a * b + c, rounded twice. */
static inline struct lanes lanes_fma(struct lanes a, struct lanes b, struct lanes c)
{
	struct lanes r;

	LANES_EACH(a.f[i] * b.f[i] + c.f[i]);
	return r;
}

static inline struct lanes lanes_div(struct lanes a, struct lanes b)
{
	struct lanes r;

	LANES_EACH(a.f[i] / b.f[i]);
	return r;
}

/* As MAXPS and MINPS: the second operand unless the first one wins. */
static inline struct lanes lanes_max(struct lanes a, struct lanes b)
{
	struct lanes r;

	LANES_EACH(a.f[i] > b.f[i] ? a.f[i] : b.f[i]);
	return r;
}

static inline struct lanes lanes_min(struct lanes a, struct lanes b)
{
	struct lanes r;

	LANES_EACH(a.f[i] < b.f[i] ? a.f[i] : b.f[i]);
	return r;
}

/* x where x is a NaN, 0 where x < lo, else y. */
static inline struct lanes lanes_exp_select(struct lanes x, float lo, struct lanes y)
{
	struct lanes r;

	LANES_EACH(x.f[i] != x.f[i] ? x.f[i] : x.f[i] < lo ? 0.0f : y.f[i]);
	return r;
}

/* 2^n, where t = n + 1.5 * 2^23. */
static inline struct lanes lanes_pow2(struct lanes t)
{
	struct lanes r;

	LANES_EACH(cmx_float((cmx_bits(t.f[i]) - 0x4b400000u + 127u) << 23));
	return r;
}

static inline struct lanes lanes_load_f16(const void *p)
{
	struct lanes r;
	uint16_t h[16];

	memcpy(h, p, sizeof(h));
	LANES_EACH(cmx_f16(h[i]));
	return r;
}

static inline struct lanes lanes_load_bf16(const void *p)
{
	struct lanes r;
	uint16_t h[16];

	memcpy(h, p, sizeof(h));
	LANES_EACH(cmx_float((uint32_t)h[i] << 16));
	return r;
}

static inline struct lanes lanes_load_i8(const void *p)
{
	struct lanes r;
	int8_t b[16];

	memcpy(b, p, sizeof(b));
	LANES_EACH((float)b[i]);
	return r;
}

/* Low or high halves of sixteen bytes, less @bias. */
static inline struct lanes lanes_load_u4(const void *p, uint32_t high, int bias)
{
	const uint8_t *b = p;
	struct lanes r;

	LANES_EACH((float)((b[i] >> 4 * high & 15) - bias));
	return r;
}

/* The same with two more bits on top, from @up's bit @shift on, less 32. */
static inline struct lanes lanes_load_u6(const void *low, uint32_t high, const void *up,
					 uint32_t shift)
{
	const uint8_t *b = low, *u = up;
	struct lanes r;

	LANES_EACH((float)(((b[i] >> 4 * high & 15) | (u[i] >> shift & 3) << 4) - 32));
	return r;
}

/* Numbers packed in sixteen words, as panels have them. */
static inline struct lanes lanes_words(const void *p, uint32_t shift, uint32_t mask)
{
	struct lanes r;
	uint32_t w[16];

	memcpy(w, p, sizeof(w));
	LANES_EACH((float)(int32_t)(w[i] << shift & mask));
	return r;
}

/* Number @j of four signed bytes, times 2^24. */
static inline struct lanes lanes_top8(const void *p, uint32_t j)
{
	return lanes_words(p, 24 - 8 * j, 0xff000000u);
}

/* Number @j of eight signed fours of bits, times 2^28. */
static inline struct lanes lanes_top4(const void *p, uint32_t j)
{
	return lanes_words(p, 28 - 4 * j, 0xf0000000u);
}

/* The same without a sign, times 1. */
static inline struct lanes lanes_low4(const void *p, uint32_t j)
{
	struct lanes r;
	uint32_t w[16];

	memcpy(w, p, sizeof(w));
	LANES_EACH((float)(w[i] >> 4 * j & 15));
	return r;
}

/* Six signed bits, the upper two number @up of sixteen pairs, times 2^26. */
static inline struct lanes lanes_top6(const void *low, uint32_t j, const void *pairs, uint32_t up)
{
	struct lanes r;
	uint32_t w[16], u[16];

	memcpy(w, low, sizeof(w));
	memcpy(u, pairs, sizeof(u));
	LANES_EACH((float)(int32_t)((w[i] << (28 - 4 * j) & 0xf0000000u) >> 2 |
				    (u[i] << (30 - 2 * up) & 0xc0000000u)));
	return r;
}

/* Number @j of two bf16. */
static inline struct lanes lanes_bf16_of_two(const void *p, uint32_t j)
{
	struct lanes r;
	uint32_t w[16];

	memcpy(w, p, sizeof(w));
	LANES_EACH(cmx_float(w[i] << (16 - 16 * j) & 0xffff0000u));
	return r;
}

static inline float lanes_sum(struct lanes a)
{
	for (int n = 8; n; n /= 2) {
		for (int i = 0; i < n; i++)
			a.f[i] += a.f[i + n];
	}
	return a.f[0];
}

static inline float lanes_top(struct lanes a)
{
	for (int n = 8; n; n /= 2) {
		for (int i = 0; i < n; i++)
			a.f[i] = a.f[i] > a.f[i + n] ? a.f[i] : a.f[i + n];
	}
	return a.f[0];
}

#undef LANES_EACH

#endif
