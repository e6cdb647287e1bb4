// SPDX-License-Identifier: GPL-2.0-only
/* Rotary angles with YaRN scaling, in double until the last step. */
#include "cmx_level.h"
#include "cmx_f64math.h"

#define TWO_PI 6.283185307179586

/* Pair index at which a rotation of @turns fits the original context once. */
static double yarn_corner(const struct cmx_k_rope_table *a, double turns)
{
	double n = a->yarn.original_ctx / (turns * TWO_PI);

	return a->dim * cmx_f64_log(n) / (2 * cmx_f64_log(a->base));
}

static double clamp(double x, double lo, double hi)
{
	return x < lo ? lo : x > hi ? hi : x;
}

/* Angle per position of pair @i: slow pairs are stretched, fast ones are not. */
static double rope_frequency(const struct cmx_k_rope_table *a, uint32_t i)
{
	double f = cmx_f64_exp(-2.0 * i / a->dim * cmx_f64_log(a->base));
	double lo, hi, ramp;

	if (!a->yarn.on)
		return f;
	lo = clamp(__builtin_floor(yarn_corner(a, a->yarn.beta_fast)), 0, a->dim - 1);
	hi = clamp(__builtin_ceil(yarn_corner(a, a->yarn.beta_slow)), 0, a->dim - 1);
	ramp = clamp((i - lo) / (hi - lo > 0.001 ? hi - lo : 0.001), 0, 1);
	return f / a->yarn.factor * ramp + f * (1 - ramp);
}

void CMX_K(cmx_k_rope_table)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_rope_table *a = args;
	double magnitude = a->yarn.on ? (double)a->yarn.magnitude : 1;
	uint64_t lo, hi;

	cmx_block_share(a->dim / 2, block, nblocks, &lo, &hi);
	for (uint64_t i = lo; i < hi; i++) {
		double f = rope_frequency(a, (uint32_t)i);

		for (uint64_t pos = 0; pos < a->positions; pos++) {
			float *out = a->table + pos * a->dim + 2 * i;
			double s, c;

			cmx_f64_sincos((double)pos * f, &s, &c);
			out[0] = (float)(c * magnitude);
			out[1] = (float)(s * magnitude);
		}
	}
}
