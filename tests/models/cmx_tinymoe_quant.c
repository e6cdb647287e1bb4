// SPDX-License-Identifier: GPL-2.0-only
/* Number formats: how values are rounded and stored, and what the bytes stand for. */
#include "cmx_tinymoe.h"

#include <math.h>
#include <string.h>

struct format {
	enum tinymoe_type type;
	const char *name;
	uint32_t values;
	uint32_t bytes;
};

static const struct format formats[] = {
	{ TINYMOE_F32, "f32", 1, 4 }, { TINYMOE_F16, "f16", 1, 2 }, { TINYMOE_BF16, "bf16", 1, 2 },
	{ TINYMOE_Q8_0, "q8_0", 32, 34 }, { TINYMOE_Q4_0, "q4_0", 32, 18 },
	{ TINYMOE_Q4_K, "q4_k", 256, 144 }, { TINYMOE_Q6_K, "q6_k", 256, 210 },
	{ TINYMOE_FP8, "fp8", 1, 1 },
};

static const struct format *format_of(enum tinymoe_type type)
{
	size_t i = 0;

	while (formats[i].type != type)
		i++;
	return &formats[i];
}

const char *tinymoe_type_name(enum tinymoe_type type)
{
	return format_of(type)->name;
}

uint64_t tinymoe_bytes(enum tinymoe_type type, uint64_t n)
{
	const struct format *f = format_of(type);

	return n / f->values * f->bytes;
}

enum tinymoe_type tinymoe_type_of(const struct tinymoe_tensor *t, enum tinymoe_type type)
{
	uint64_t row = t->dims[t->n_dims - 1];

	if (!t->matrix)
		return TINYMOE_F32;
	if (type == TINYMOE_Q4_K && row % format_of(type)->values)
		type = TINYMOE_Q4_0;
	if (type == TINYMOE_Q6_K && row % format_of(type)->values)
		type = TINYMOE_Q8_0;
	return row % format_of(type)->values ? TINYMOE_F32 : type;
}

/* Published FP8 folders keep embeddings and head in BF16, norms and router too, the bias in F32. */
enum tinymoe_type tinymoe_hf_type_of(const struct tinymoe_tensor *t, enum tinymoe_type type)
{
	bool ends = !strcmp(t->name, "token_embd.weight") || !strcmp(t->name, "output.weight");

	if (type == TINYMOE_FP8 && (ends || !t->matrix))
		return strstr(t->name, ".bias") ? TINYMOE_F32 : TINYMOE_BF16;
	return t->matrix ? type : TINYMOE_F32;
}

static uint32_t float_bits(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	return u;
}

static uint16_t to_bf16(float f)
{
	uint32_t u = float_bits(f);

	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static float from_bf16(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

float tinymoe_to_bf16_float(float f)
{
	return from_bf16(to_bf16(f));
}

/* Nearest, ties to even; the weights are finite and below 65504. */
static uint16_t to_f16(float f)
{
	float mag = fabsf(f), step;
	uint16_t sign = signbit(f) ? 0x8000 : 0;
	int e;

	if (mag == 0)
		return sign;
	frexpf(mag, &e);
	e = e < -13 ? -13 : e;
	/* In units of the last place rintf() rounds as wanted; it may carry into the exponent. */
	step = rintf(ldexpf(mag, 11 - e));
	return sign | (uint16_t)((uint32_t)(e + 13) * 1024 + (uint32_t)step);
}

static double from_f16(const uint8_t *p)
{
	uint32_t h = p[0] | (uint32_t)p[1] << 8, e = h >> 10 & 31, m = h & 1023;
	double v = e ? ldexp(1024 + m, (int)e - 25) : ldexp(m, -24);

	return h & 0x8000 ? -v : v;
}

static void put_half(uint8_t *p, float f)
{
	uint16_t h = to_f16(f);

	memcpy(p, &h, sizeof(h));
}

/* Sign, four bits of exponent with bias 7, three of fraction; all ones is a NaN, 448 the end. */
double tinymoe_from_fp8(uint8_t b)
{
	int e = b >> 3 & 15, m = b & 7;
	double v = e ? ldexp(8 + m, e - 10) : ldexp(m, -9);

	return b & 0x80 ? -v : v;
}

uint8_t tinymoe_to_fp8(float f)
{
	float mag = fminf(fabsf(f), 448), step;
	uint8_t sign = signbit(f) ? 0x80 : 0;
	int e;

	if (mag == 0)
		return sign;
	frexpf(mag, &e);
	e = e < -5 ? -5 : e;
	step = rintf(ldexpf(mag, 4 - e));
	return sign | (uint8_t)((e + 5) * 8 + (int)step);
}

static int clamp(float x, int lo, int hi)
{
	int i = (int)roundf(x);

	return i < lo ? lo : i > hi ? hi : i;
}

/* The value farthest from 0, with its sign. */
static float extreme(const float *x, uint32_t n)
{
	float best = 0;

	for (uint32_t i = 0; i < n; i++)
		best = fabsf(x[i]) > fabsf(best) ? x[i] : best;
	return best;
}

static float inverse(float d)
{
	return d != 0 ? 1 / d : 0;
}

static void store_q8_0(const float *x, uint8_t *out)
{
	float d = fabsf(extreme(x, 32)) / 127;

	put_half(out, d);
	for (uint32_t i = 0; i < 32; i++)
		out[2 + i] = (uint8_t)(int8_t)roundf(x[i] * inverse(d));
}

static void store_q4_0(const float *x, uint8_t *out)
{
	float inv = inverse(extreme(x, 32) / -8);

	put_half(out, extreme(x, 32) / -8);
	for (uint32_t i = 0; i < 16; i++)
		out[2 + i] = (uint8_t)(clamp(x[i] * inv + 8, 0, 15) |
				       clamp(x[i + 16] * inv + 8, 0, 15) << 4);
}

/* Six-bit scales and minima of the eight runs of 32. */
static void q4_k_pack(const int *s, const int *m, uint8_t *out)
{
	for (int i = 0; i < 4; i++) {
		out[i] = (uint8_t)(s[i] | s[i + 4] >> 4 << 6);
		out[i + 4] = (uint8_t)(m[i] | m[i + 4] >> 4 << 6);
		out[i + 8] = (uint8_t)((s[i + 4] & 15) | (m[i + 4] & 15) << 4);
	}
}

static void q4_k_ranges(const float *x, float *scale, float *min)
{
	for (int r = 0; r < 8; r++) {
		float lo = 0, hi = x[r * 32];

		for (int i = 0; i < 32; i++) {
			lo = fminf(lo, x[r * 32 + i]);
			hi = fmaxf(hi, x[r * 32 + i]);
		}
		scale[r] = (hi - lo) / 15;
		min[r] = -lo;
	}
}

static void store_q4_k(const float *x, uint8_t *out)
{
	float scale[8], min[8], d, dmin;
	int s[8], m[8];

	q4_k_ranges(x, scale, min);
	put_half(out, fabsf(extreme(scale, 8)) / 63);
	put_half(out + 2, fabsf(extreme(min, 8)) / 63);
	d = (float)from_f16(out);
	dmin = (float)from_f16(out + 2);
	for (int r = 0; r < 8; r++) {
		s[r] = clamp(scale[r] * inverse(d), 0, 63);
		m[r] = clamp(min[r] * inverse(dmin), 0, 63);
	}
	q4_k_pack(s, m, out + 4);
	memset(out + 16, 0, 128);
	for (int i = 0; i < 256; i++) {
		int r = i / 32;
		int q = clamp((x[i] + dmin * (float)m[r]) * inverse(d * (float)s[r]), 0, 15);

		out[16 + r / 2 * 32 + i % 32] |= (uint8_t)(q << 4 * (r & 1));
	}
}

static void store_q6_k(const float *x, uint8_t *out)
{
	float scale[16], d;

	for (int r = 0; r < 16; r++)
		scale[r] = extreme(x + r * 16, 16) / -32;
	put_half(out + 208, fabsf(extreme(scale, 16)) / 127);
	d = (float)from_f16(out + 208);
	memset(out, 0, 192);
	for (int r = 0; r < 16; r++)
		out[192 + r] = (uint8_t)(int8_t)clamp(scale[r] * inverse(d), -128, 127);
	for (int i = 0; i < 256; i++) {
		int half = i / 128, quarter = i % 128 / 32, at = i % 32;
		float step = d * (float)(int8_t)out[192 + i / 16];
		int q = clamp(x[i] * inverse(step), -32, 31) + 32;

		out[half * 64 + (quarter & 1) * 32 + at] |= (uint8_t)((q & 15) << quarter / 2 * 4);
		out[128 + half * 32 + at] |= (uint8_t)(q >> 4 << 2 * quarter);
	}
}

static void store_block(enum tinymoe_type type, const float *x, uint8_t *out)
{
	uint16_t h;

	switch (type) {
	case TINYMOE_F32:
		memcpy(out, x, sizeof(*x));
		break;
	case TINYMOE_F16:
		put_half(out, *x);
		break;
	case TINYMOE_BF16:
		h = to_bf16(*x);
		memcpy(out, &h, sizeof(h));
		break;
	case TINYMOE_Q8_0:
		store_q8_0(x, out);
		break;
	case TINYMOE_Q4_0:
		store_q4_0(x, out);
		break;
	case TINYMOE_Q4_K:
		store_q4_k(x, out);
		break;
	case TINYMOE_Q6_K:
		store_q6_k(x, out);
		break;
	case TINYMOE_FP8:
		*out = tinymoe_to_fp8(*x);
		break;
	}
}

void tinymoe_store(enum tinymoe_type type, const float *x, uint32_t n, uint8_t *out)
{
	const struct format *f = format_of(type);

	for (uint32_t i = 0; i < n; i += f->values, out += f->bytes)
		store_block(type, x + i, out);
}

static double q4_k_value(const uint8_t *b, uint32_t i)
{
	const uint8_t *s = b + 4;
	uint32_t r = i / 32, q = b[16 + r / 2 * 32 + i % 32] >> 4 * (r & 1) & 15;
	uint32_t scale, min;

	if (r < 4) {
		scale = s[r] & 63;
		min = s[r + 4] & 63;
	} else {
		scale = (s[r + 4] & 15u) | (uint32_t)s[r - 4] >> 6 << 4;
		min = s[r + 4] >> 4 | (uint32_t)s[r] >> 6 << 4;
	}
	return from_f16(b) * scale * q - from_f16(b + 2) * min;
}

static double q6_k_value(const uint8_t *b, uint32_t i)
{
	uint32_t half = i / 128, quarter = i % 128 / 32, at = i % 32;
	uint32_t low = b[half * 64 + (quarter % 2) * 32 + at] >> (quarter / 2 * 4) & 15;
	uint32_t up = b[128 + half * 32 + at] >> 2 * quarter & 3;

	return from_f16(b + 208) * (int8_t)b[192 + i / 16] * ((int)(up << 4 | low) - 32);
}

static double block_value(enum tinymoe_type type, const uint8_t *b, uint32_t i)
{
	uint16_t h;
	float f;

	switch (type) {
	case TINYMOE_F32:
		memcpy(&f, b, sizeof(f));
		return f;
	case TINYMOE_BF16:
		memcpy(&h, b, sizeof(h));
		return from_bf16(h);
	case TINYMOE_F16:
		return from_f16(b);
	case TINYMOE_Q8_0:
		return from_f16(b) * (int8_t)b[2 + i];
	case TINYMOE_Q4_0:
		return from_f16(b) * ((b[2 + i % 16] >> i / 16 * 4 & 15) - 8);
	case TINYMOE_Q4_K:
		return q4_k_value(b, i);
	case TINYMOE_Q6_K:
		return q6_k_value(b, i);
	default:
		return tinymoe_from_fp8(*b);
	}
}

void tinymoe_restore(enum tinymoe_type type, const uint8_t *in, uint32_t n, double *x)
{
	const struct format *f = format_of(type);

	for (uint32_t i = 0; i < n; i++)
		x[i] = block_value(type, in + i / f->values * f->bytes, i % f->values);
}
