// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_quantise.h"

#include <errno.h>
#include <string.h>

#include "kernels/cmx_i8.h"
#include "kernels/cmx_lanes.h"

/* Candidates for the scale: max / 127 times 1, 1 - 1/32, and so on down to about a half. */
#define CANDIDATES	16
#define CANDIDATE_STEP	(1.0f / 32)
/* So many in a row that are no better end the search. */
#define PATIENCE	4

/* Rows with no larger weight than this become zeros: a scale's reciprocal might overflow. */
#define LEAST_MAX	0x1p-100f

/* What any machine has in one register. */
#define WIDE	4u
typedef float floats __attribute__((vector_size(16)));
typedef int32_t ints __attribute__((vector_size(16)));
typedef int8_t bytes __attribute__((vector_size(4)));

int cmx_quantise_check(const float *w, uint32_t k, struct cmx_infer_err *err)
{
	for (uint32_t i = 0; i < k; i++) {
		if ((cmx_bits(w[i]) & 0x7f800000) == 0x7f800000)
			return cmx_infer_fail(err, -EDOM, "column %u is not finite", i);
	}
	return 0;
}

static float row_max(const float *w, uint32_t k)
{
	float max = 0;

	for (uint32_t i = 0; i < k; i++) {
		float mag = __builtin_fabsf(w[i]);

		max = mag > max ? mag : max;
	}
	return max;
}

/* Nearest multiple of a scale, ties to even, as a float in -127..127. */
static inline void round4(const floats *w, float inv, floats *out)
{
	const floats max = (floats){ 0 } + CMX_I8_MAX, min = -max;
	floats v = *w * inv;
	ints over = v > max, under = v < min;

	v = (floats)(((ints)v & ~(over | under)) | ((ints)max & over) | ((ints)min & under));
	*out = v + 0x1.8p23f - 0x1.8p23f;
}

static inline void load4(const float *p, floats *out)
{
	memcpy(out, p, sizeof(*out));
}

/* The last @n < WIDE of a row, and zeros. */
static inline void load_tail(const float *p, uint32_t n, floats *out)
{
	*out = (floats){ 0 };
	memcpy(out, p, n * sizeof(*p));
}

static inline void add_error(const floats *w, const floats *importance, float scale, floats *acc)
{
	floats q, e;

	round4(w, 1 / scale, &q);
	e = *w - q * scale;
	*acc += e * e * *importance;
}

/* Four running sums: quick, and good enough to choose by. */
static float rough_error(const float *w, const float *importance, uint32_t k, float scale)
{
	floats acc = { 0 }, v, m = (floats){ 0 } + 1;
	uint32_t i = 0;
	float sum = 0;

	for (; i + WIDE <= k; i += WIDE) {
		load4(w + i, &v);
		if (importance)
			load4(importance + i, &m);
		add_error(&v, &m, scale, &acc);
	}
	if (i < k) {
		load_tail(w + i, k - i, &v);
		if (importance)
			load_tail(importance + i, k - i, &m);
		add_error(&v, &m, scale, &acc);
	}
	for (i = 0; i < WIDE; i++)
		sum += acc[i];
	return sum;
}

static void store4(const floats *v, int8_t *q)
{
	bytes b = __builtin_convertvector(__builtin_convertvector(*v, ints), bytes);

	memcpy(q, &b, sizeof(b));
}

static void round_row(const float *w, uint32_t k, float scale, int8_t *q)
{
	uint32_t i = 0;
	int8_t tail[WIDE];
	floats v;

	for (; i + WIDE <= k; i += WIDE) {
		load4(w + i, &v);
		round4(&v, 1 / scale, &v);
		store4(&v, q + i);
	}
	if (i == k)
		return;
	load_tail(w + i, k - i, &v);
	round4(&v, 1 / scale, &v);
	store4(&v, tail);
	memcpy(q + i, tail, k - i);
}

/* Eight running sums in double. */
double cmx_quantise_error(const float *w, const float *importance, uint32_t k, const int8_t *q,
			  float scale)
{
	double acc[8] = { 0 };

	for (uint32_t i = 0; i < k; i++) {
		double e = (double)w[i] - (double)scale * q[i];

		acc[i % 8] += e * e * (importance ? (double)importance[i] : 1);
	}
	return (acc[0] + acc[1] + (acc[2] + acc[3])) + (acc[4] + acc[5] + (acc[6] + acc[7]));
}

/* The scale that fits best what was rounded by another one. */
static float refit(const float *w, const float *importance, uint32_t k, const int8_t *q)
{
	double wq[8] = { 0 }, qq[8] = { 0 };

	for (uint32_t i = 0; i < k; i++) {
		double m = importance ? (double)importance[i] : 1;

		wq[i % 8] += m * (double)w[i] * q[i];
		qq[i % 8] += m * q[i] * q[i];
	}
	for (uint32_t i = 1; i < 8; i++) {
		wq[0] += wq[i];
		qq[0] += qq[i];
	}
	return qq[0] > 0 ? (float)(wq[0] / qq[0]) : 0;
}

static float best_candidate(const float *w, const float *importance, uint32_t k, float max)
{
	float best = max / CMX_I8_MAX, least = rough_error(w, importance, k, best);
	uint32_t at = 0;

	for (uint32_t i = 1; i < CANDIDATES && i - at <= PATIENCE && least > 0; i++) {
		float scale = max * (1 - CANDIDATE_STEP * (float)i) / CMX_I8_MAX;
		float e = rough_error(w, importance, k, scale);

		if (e < least) {
			least = e;
			best = scale;
			at = i;
		}
	}
	return best;
}

float cmx_quantise_row(const float *w, const float *importance, uint32_t k, int8_t *q)
{
	float max = row_max(w, k), plain = max / CMX_I8_MAX, scale, fit;
	double plain_error, error, fit_error;

	memset(q, 0, k);
	if (max < LEAST_MAX)
		return 0;
	scale = best_candidate(w, importance, k, max);
	round_row(w, k, plain, q);
	plain_error = cmx_quantise_error(w, importance, k, q, plain);
	error = plain_error;
	if (scale < plain) {
		round_row(w, k, scale, q);
		error = cmx_quantise_error(w, importance, k, q, scale);
	}
	fit = refit(w, importance, k, q);
	fit_error = cmx_quantise_error(w, importance, k, q, fit);
	if (fit > 0 && fit_error < error) {
		error = fit_error;
		scale = fit;
	}
	if (error <= plain_error)
		return scale;
	round_row(w, k, plain, q);
	return plain;
}
