// SPDX-License-Identifier: GPL-2.0-only
/* Rotary angles and YaRN against the formula in long double. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "kernels/cmx_f64math.h"
#include "kernels/cmx_npu.h"

#define POSITIONS 163840u

static const uint32_t probes[] = { 0, 1, 2, 100, 4095, 4096, 5000, 65536, POSITIONS - 1 };

static long double corner(const struct cmx_k_rope_table *a, long double turns)
{
	return a->dim * logl(a->yarn.original_ctx / (turns * 2 * M_PIl)) / (2 * logl(a->base));
}

static long double frequency(const struct cmx_k_rope_table *a, uint32_t i)
{
	long double f = powl(a->base, -2.0L * i / a->dim), lo, hi, ramp;

	if (!a->yarn.on)
		return f;
	lo = fmaxl(floorl(corner(a, a->yarn.beta_fast)), 0);
	hi = fminl(ceill(corner(a, a->yarn.beta_slow)), a->dim - 1);
	ramp = (i - lo) / fmaxl(hi - lo, 0.001L);
	ramp = fminl(fmaxl(ramp, 0), 1);
	return f / a->yarn.factor * ramp + f * (1 - ramp);
}

static long double worst(const struct cmx_k_rope_table *a)
{
	long double max = 0;

	cmx_npu_kernels(CMX_ISA_SCALAR)[CMX_NPU_ROPE_TABLE].fn(a, 0, 1);
	for (uint32_t p = 0; p < sizeof(probes) / sizeof(probes[0]); p++) {
		for (uint32_t i = 0; i < a->dim / 2; i++) {
			long double angle = probes[p] * frequency(a, i);
			const float *got = a->table + (uint64_t)probes[p] * a->dim + 2 * i;

			max = fmaxl(max, fabsl(cosl(angle) - got[0]));
			max = fmaxl(max, fabsl(sinl(angle) - got[1]));
		}
	}
	return max;
}

TEST(bug12_angles_up_to_the_last_position)
{
	float *table = malloc(POSITIONS * 64ull * sizeof(*table));
	struct cmx_k_rope_table a = { .table = table, .positions = POSITIONS, .base = 10000 };

	for (uint32_t dim = 8; dim <= 64; dim *= 2) {
		a.dim = dim;
		a.yarn.on = false;
		EXPECT_GT(7e-8L, worst(&a));
		a.yarn = (struct cmx_yarn){ true, 40, 4096, 32, 1, 0.1f, 1 };
		EXPECT_GT(7e-8L, worst(&a));
	}
	free(table);
}

/* Where mscale is not mscale_all_dim, cosine and sine carry what is between them. */
TEST(bug12_magnitude_where_the_two_mscales_differ)
{
	float plain[4 * 8], scaled[4 * 8];
	struct cmx_k_rope_table a = {
		.table = plain, .positions = 4, .dim = 8, .base = 10000,
		.yarn = { true, 40, 4096, 32, 1, 0.1f, 1 },
	};

	cmx_npu_kernels(CMX_ISA_SCALAR)[CMX_NPU_ROPE_TABLE].fn(&a, 0, 1);
	a.table = scaled;
	a.yarn.magnitude = 1.25f;
	cmx_npu_kernels(CMX_ISA_SCALAR)[CMX_NPU_ROPE_TABLE].fn(&a, 0, 1);
	for (int i = 0; i < 32; i++)
		EXPECT_GE(1e-7, fabs(1.25 * (double)plain[i] - (double)scaled[i]));
}

TEST(levels_and_grids_agree)
{
	static float table[CMX_ISA_COUNT][100 * 16];

	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		const struct cmx_k_rope_table a = {
			.table = table[isa], .positions = 100, .dim = 16, .base = 10000,
			.yarn = { true, 40, 4096, 32, 1, 0.1f, 1 },
		};

		if (!cmx_npu_kernels(isa))
			continue;
		for (uint32_t b = 0; b < 5; b++)
			cmx_npu_kernels(isa)[CMX_NPU_ROPE_TABLE].fn(&a, b, 5);
		EXPECT_EQ(0, memcmp(table[0], table[isa], sizeof(table[0])));
	}
}

TEST(pairs_are_neighbours)
{
	const float table[8] = { 1, 0, 1, 0, 0, 1, -1, 0 };
	float q[2 * 2 * 6];
	const struct cmx_row row = { .pos = 1 };
	const struct cmx_k_rope a = {
		.q = q, .table = table, .rows = &row, .heads = 2, .nope = 2, .rope = 4,
		.tokens = 1,
	};

	for (int i = 0; i < 12; i++)
		q[i] = (float)i;
	cmx_npu_kernels(CMX_ISA_SCALAR)[CMX_NPU_ROPE].fn(&a, 0, 1);
	/* A quarter turn of the first pair, half a turn of the second. */
	for (int h = 0; h < 2; h++) {
		EXPECT_EQ(6 * h, q[6 * h]);
		EXPECT_EQ(6 * h + 1, q[6 * h + 1]);
		EXPECT_EQ(-(6 * h + 3), q[6 * h + 2]);
		EXPECT_EQ(6 * h + 2, q[6 * h + 3]);
		EXPECT_EQ(-(6 * h + 4), q[6 * h + 4]);
		EXPECT_EQ(-(6 * h + 5), q[6 * h + 5]);
	}
}

TEST(double_functions)
{
	for (int i = -4000; i <= 4000; i++) {
		double x = i / 50.0, s, c;

		EXPECT_GE(4e-16 * exp(x), fabs(cmx_f64_exp(x) - exp(x)));
		cmx_f64_sincos(x * 1000, &s, &c);
		EXPECT_GE(4e-16, fabs(s - sin(x * 1000)));
		EXPECT_GE(4e-16, fabs(c - cos(x * 1000)));
		if (i > 0)
			EXPECT_GE(4e-16 * (1 + fabs(log(x))), fabs(cmx_f64_log(x) - log(x)));
	}
}

TEST_HARNESS_MAIN
