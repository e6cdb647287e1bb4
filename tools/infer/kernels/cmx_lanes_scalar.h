/* SPDX-License-Identifier: GPL-2.0-only */
/* Sixteen f32 lanes in plain C: the reference the SIMD levels must equal bit for bit. */
#ifndef CMX_LANES_SCALAR_H
#define CMX_LANES_SCALAR_H

#define CMX_TOKEN_TILE 2

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
