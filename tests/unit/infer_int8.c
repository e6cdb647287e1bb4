// SPDX-License-Identifier: GPL-2.0-only
/*
 * INT8 kernels and the rounding of weights: products against exact sums, on every
 * level, grid and batch; scales against the plain rule; what is not finite.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_quantise.h"
#include "kernels/cmx_i8.h"
#include "kernels/cmx_npu.h"
#include "kernels/cmx_npu_cost.h"

#define MAX_FLOATS	(1u << 18)

static struct cmx_infer_err err;
static float x[MAX_FLOATS], out[MAX_FLOATS], want[MAX_FLOATS], res[MAX_FLOATS];
static char token_rows[1u << 20];
static uint64_t rng = 1;

static uint32_t random_u32(void)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 32);
}

static float uniform(void)
{
	return (float)(int32_t)random_u32() * 0x1p-31f;
}

static void fill(float *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		p[i] = uniform();
}

/* Random weights and their packed form, several matrices one behind the other. */
struct matrix {
	uint32_t rows, k, n;
	int8_t *q;
	float *scale;
	char *packed;
};

static void matrix_init(struct matrix *m, uint32_t rows, uint32_t k, uint32_t n)
{
	size_t size = cmx_i8_packed_bytes(rows, k), panel = cmx_i8_panel_bytes(k);

	*m = (struct matrix){ .rows = rows, .k = k, .n = n };
	m->q = malloc((size_t)n * rows * k);
	m->scale = malloc(n * rows * sizeof(*m->scale));
	m->packed = aligned_alloc(64, (n * size + 63) / 64 * 64);
	for (size_t i = 0; i < (size_t)n * rows * k; i++)
		m->q[i] = (int8_t)((int32_t)(random_u32() % 255) - 127);
	for (uint32_t i = 0; i < n * rows; i++)
		m->scale[i] = (uniform() + 1.5f) / 127;
	for (uint32_t e = 0; e < n; e++) {
		for (uint32_t r = 0; r < rows; r += CMX_I8_PANEL) {
			size_t at = (size_t)e * rows + r;

			cmx_i8_pack(m->q + at * k, m->scale + at,
				    rows - r < CMX_I8_PANEL ? rows - r : CMX_I8_PANEL, k,
				    m->packed + e * size + r / CMX_I8_PANEL * panel);
		}
	}
}

static void matrix_free(struct matrix *m)
{
	free(m->q);
	free(m->scale);
	free(m->packed);
}

static void run(int isa, enum cmx_npu_id id, const void *args, uint32_t blocks)
{
	for (uint32_t b = blocks; b-- > 0;)
		cmx_npu_kernels(isa)[id].fn(args, b, blocks);
}

static void quantise(int isa, const float *from, char *to, uint32_t rows, uint32_t k)
{
	const struct cmx_k_quantise a = { .x = from, .out = to, .rows = rows, .k = k };

	run(isa, CMX_NPU_QUANTISE, &a, 3);
}

static float row_scale(const char *rows, uint32_t k, uint32_t t)
{
	float s;

	memcpy(&s, rows + t * cmx_i8_row_bytes(k), sizeof(s));
	return s;
}

static const int8_t *row_values(const char *rows, uint32_t k, uint32_t t)
{
	return (const int8_t *)rows + t * cmx_i8_row_bytes(k) + CMX_I8_HEAD;
}

/* Row @r of matrix @e times token row @t, as the kernels define it. */
static float product(const struct matrix *m, uint32_t e, uint32_t r, uint32_t t)
{
	size_t row = (size_t)e * m->rows + r;
	const int8_t *v = row_values(token_rows, m->k, t);
	int64_t sum = 0;

	for (uint32_t i = 0; i < m->k; i++)
		sum += m->q[row * m->k + i] * v[i];
	return (float)sum * (m->scale[row] * row_scale(token_rows, m->k, t));
}

static int same(const float *a, const float *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (memcmp(&a[i], &b[i], sizeof(*a)) && !(isnan(a[i]) && isnan(b[i]))) {
			fprintf(stderr, "element %u: %a and %a\n", i, (double)a[i], (double)b[i]);
			return 0;
		}
	}
	return 1;
}

/* Half a step at most, the same bytes on all levels, zeros behind the values. */
TEST(token_rows_are_rounded)
{
	static const uint32_t ks[] = { 1, 3, 15, 16, 17, 63, 64, 65, 100, 1000 };
	static char other[sizeof(token_rows)];

	for (size_t i = 0; i < sizeof(ks) / sizeof(ks[0]); i++) {
		uint32_t k = ks[i];

		fill(x, 5 * k);
		memset(token_rows, 0x55, sizeof(token_rows));
		quantise(CMX_ISA_SCALAR, x, token_rows, 5, k);
		for (int isa = 1; isa < CMX_ISA_COUNT; isa++) {
			memset(other, 0xaa, sizeof(other));
			if (cmx_npu_kernels(isa))
				quantise(isa, x, other, 5, k);
			if (cmx_npu_kernels(isa))
				ASSERT_EQ(0, memcmp(other, token_rows, 5 * cmx_i8_row_bytes(k)));
		}
		for (uint32_t t = 0; t < 5; t++) {
			const int8_t *q = row_values(token_rows, k, t);
			float s = row_scale(token_rows, k, t), max = 0;

			for (uint32_t j = 0; j < k; j++) {
				float v = x[t * k + j];

				max = fmaxf(max, fabsf(v));
				EXPECT_LE(fabs((double)v - (double)s * q[j]),
					  0.5 * (double)s * (1 + 1e-5));
			}
			EXPECT_EQ(max / 127, s);
			for (size_t j = k; j < cmx_i8_row_bytes(k) - CMX_I8_HEAD; j++)
				EXPECT_EQ(0, q[j]);
		}
	}
}

/* The norm kernel's rounded rows are what the quantise kernel makes of its rows. */
TEST(norm_rounds_its_own_rows)
{
	static const uint32_t dims[] = { 1, 15, 16, 17, 64, 65, 333 };
	static char rounded[1u << 16];

	for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++) {
		struct cmx_k_norm a = {
			.x = x, .w = res, .rounded = rounded, .dim = dims[i], .tokens = 7,
			.x_stride = dims[i] + 3, .out_stride = dims[i], .eps = 1e-6f,
		};

		fill(x, 7 * (dims[i] + 3));
		fill(res, dims[i]);
		for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
			if (!cmx_npu_kernels(isa))
				continue;
			memset(rounded, 0x55, sizeof(rounded));
			a.rounded = rounded;
			a.out = out;
			run(isa, CMX_NPU_NORM, &a, 1 + (uint32_t)isa);
			quantise(isa, out, token_rows, 7, dims[i]);
			EXPECT_EQ(0, memcmp(rounded, token_rows, 7 * cmx_i8_row_bytes(dims[i])));
			a.rounded = NULL;
			a.out = want;
			run(isa, CMX_NPU_NORM, &a, 3);
			EXPECT_TRUE(same(want, out, 7 * dims[i]));
		}
	}
}

TEST(ties_go_to_even)
{
	const float row[] = { 127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, -2.5f, -127 };
	static const int8_t expect[] = { 127, 0, 2, 2, 0, -2, -2, -127 };

	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		quantise(isa, row, token_rows, 1, 8);
		EXPECT_EQ(1.0f, row_scale(token_rows, 8, 0));
		EXPECT_EQ(0, memcmp(expect, row_values(token_rows, 8, 0), 8));
	}
}

/* Rows of zeros and of numbers too small for a scale; extremes of the range. */
TEST(small_and_large_rows)
{
	const float rows[] = { 0, -0.0f, 0, 0, 1e-31f, -1e-40f, 0, 0, 3e38f, -3e38f, 1e37f, 0 };

	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		quantise(isa, rows, token_rows, 3, 4);
		EXPECT_EQ(0.0f, row_scale(token_rows, 4, 0));
		EXPECT_EQ(0.0f, row_scale(token_rows, 4, 1));
		EXPECT_EQ(0, row_values(token_rows, 4, 1)[0]);
		EXPECT_EQ(3e38f / 127, row_scale(token_rows, 4, 2));
		EXPECT_EQ(-127, row_values(token_rows, 4, 2)[1]);
		EXPECT_EQ(4, row_values(token_rows, 4, 2)[2]);
	}
}

/* One value that is not finite makes all products of its token NaN, and no other token's. */
TEST(bug16_not_finite_is_never_hidden)
{
	static const float odd[] = { NAN, INFINITY, -INFINITY };
	struct matrix m;

	matrix_init(&m, 20, 37, 1);
	for (int i = 0; i < 3 * CMX_ISA_COUNT; i++) {
		int isa = i / 3;
		const struct cmx_k_matmul a = {
			.w = m.packed, .type = CMX_TENSOR_I8, .x = (const float *)token_rows,
			.out = out, .rows = 20, .k = 37, .heads = 1, .tokens = 3,
			.x_stride = 37, .out_stride = 20,
		};

		if (!cmx_npu_kernels(isa))
			continue;
		fill(x, 3 * 37);
		x[37 + i * 7 % 37] = odd[i % 3];
		quantise(isa, x, token_rows, 3, 37);
		run(isa, CMX_NPU_MATMUL, &a, 2);
		for (uint32_t r = 0; r < 20; r++) {
			EXPECT_TRUE(isfinite(out[r]));
			EXPECT_TRUE(isnan(out[20 + r]));
			EXPECT_TRUE(isfinite(out[40 + r]));
		}
	}
	matrix_free(&m);
}

/* A row's scale comes from its own values alone, whatever surrounds them. */
TEST(bug26_padding_leaves_scales_alone)
{
	enum { K = 19 };
	static char padded[4096];

	fill(x, 3 * K);
	quantise(CMX_ISA_SCALAR, x, token_rows, 3, K);
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		for (int i = 0; i < 3 * K; i++)
			x[i] = i >= K && i < 2 * K ? x[i] : 1e30f;
		memset(padded, 0x7f, sizeof(padded));
		quantise(isa, x + K, padded, 1, K);
		EXPECT_EQ(0, memcmp(padded, token_rows + cmx_i8_row_bytes(K),
				    cmx_i8_row_bytes(K)));
	}
}

/* Every level, grid and number of tokens against exact sums. */
TEST(matmul_is_exact)
{
	static const uint32_t shapes[][3] = {	/* rows, k, tokens */
		{ 1, 1, 1 }, { 16, 4, 1 }, { 17, 5, 2 }, { 33, 63, 3 }, { 48, 64, 4 },
		{ 15, 100, 5 }, { 40, 257, 7 }, { 64, 1000, 9 }, { 20, 30, 70 }, { 80, 48, 130 },
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		uint32_t rows = shapes[i][0], k = shapes[i][1], n = shapes[i][2];
		struct cmx_k_matmul a = {
			.type = CMX_TENSOR_I8, .x = (const float *)token_rows, .out = out,
			.rows = rows, .k = k, .heads = 1, .tokens = n, .x_stride = k,
			.out_stride = rows,
		};
		struct matrix m;

		matrix_init(&m, rows, k, 1);
		a.w = m.packed;
		fill(x, n * k);
		fill(res, n * rows);
		quantise(CMX_ISA_SCALAR, x, token_rows, n, k);
		for (int with = 0; with < 2; with++) {
			a.res = with ? res : NULL;
			for (uint32_t t = 0; t < n; t++) {
				for (uint32_t r = 0; r < rows; r++)
					want[t * rows + r] = (with ? res[t * rows + r] : 0) +
							     product(&m, 0, r, t);
			}
			for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
				if (!cmx_npu_kernels(isa))
					continue;
				memset(out, 0xff, n * rows * sizeof(*out));
				run(isa, CMX_NPU_MATMUL, &a, 1 + (uint32_t)isa * 2);
				ASSERT_TRUE(same(out, want, n * rows));
			}
		}
		matrix_free(&m);
	}
}

/* Tokens one at a time and all together. */
TEST(batch_changes_no_bit)
{
	enum { ROWS = 50, K = 77, N = 23 };
	struct cmx_k_matmul a = {
		.type = CMX_TENSOR_I8, .out = out, .rows = ROWS, .k = K, .heads = 1,
		.x_stride = K, .out_stride = ROWS,
	};
	struct matrix m;

	matrix_init(&m, ROWS, K, 1);
	fill(x, N * K);
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		quantise(isa, x, token_rows, N, K);
		a.w = m.packed;
		a.x = (const float *)token_rows;
		a.tokens = N;
		a.out = want;
		run(isa, CMX_NPU_MATMUL, &a, 2);
		for (uint32_t t = 0; t < N; t++) {
			quantise(isa, x + t * K, token_rows, 1, K);
			a.tokens = 1;
			a.out = out + t * ROWS;
			run(isa, CMX_NPU_MATMUL, &a, 3);
		}
		EXPECT_TRUE(same(out, want, N * ROWS));
	}
	matrix_free(&m);
}

/* The longest rows there may be, all values as large as they get. */
TEST(longest_sums_do_not_overflow)
{
	static int8_t q[2 * CMX_I8_MAX_K];
	static float longest[CMX_I8_MAX_K];
	const float scale[] = { 1, 1 };
	char *panel = aligned_alloc(64, cmx_i8_panel_bytes(CMX_I8_MAX_K));
	const struct cmx_k_matmul a = {
		.w = panel, .type = CMX_TENSOR_I8, .x = (const float *)token_rows, .out = out,
		.rows = 2, .k = CMX_I8_MAX_K, .heads = 1, .tokens = 1, .x_stride = CMX_I8_MAX_K,
		.out_stride = 2,
	};

	/* A file may hold -128. */
	memset(q, 127, CMX_I8_MAX_K);
	memset(q + CMX_I8_MAX_K, -128, CMX_I8_MAX_K);
	for (uint32_t i = 0; i < CMX_I8_MAX_K; i++)
		longest[i] = 127;
	cmx_i8_pack(q, scale, 2, CMX_I8_MAX_K, panel);
	quantise(CMX_ISA_SCALAR, longest, token_rows, 1, CMX_I8_MAX_K);
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		run(isa, CMX_NPU_MATMUL, &a, 1);
		EXPECT_EQ((float)(127 * 127 * (int64_t)CMX_I8_MAX_K), out[0]);
		EXPECT_EQ((float)(-128 * 127 * (int64_t)CMX_I8_MAX_K), out[1]);
	}
	free(panel);
}

/* Experts with many, one and no tokens; the last rows of a matrix fill no panel. */
TEST(experts_are_exact)
{
	enum { E = 5, ROWS = 23, K = 41, TOKENS = 11, USED = 2, SLOTS = TOKENS * USED };
	static const uint32_t first[E + 1] = { 0, 9, 9, 10, 22, 22 };
	static struct cmx_plan plan = { .n_active = 3 };
	uint32_t slot_token[SLOTS];
	struct matrix gate, up;
	struct cmx_k_expert_glu glu = {
		.plan = &plan, .slot_token = slot_token, .x = (const float *)token_rows,
		.out = out, .gate_type = CMX_TENSOR_I8, .up_type = CMX_TENSOR_I8, .rows = ROWS,
		.k = K, .n_expert = E, .tokens = TOKENS, .n_used = USED,
	};
	struct cmx_k_expert_down down = {
		.plan = &plan, .x = (const float *)token_rows, .out = out, .type = CMX_TENSOR_I8,
		.rows = ROWS, .k = K, .n_expert = E, .tokens = TOKENS, .n_used = USED,
	};

	memcpy(plan.first, first, sizeof(first));
	for (uint32_t s = 0; s < SLOTS; s++)
		slot_token[s] = random_u32() % TOKENS;
	matrix_init(&gate, ROWS, K, E);
	matrix_init(&up, ROWS, K, E);
	glu.gate = gate.packed;
	glu.up = up.packed;
	down.w = up.packed;
	fill(x, SLOTS * K);
	quantise(CMX_ISA_SCALAR, x, token_rows, SLOTS, K);
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		run(isa, CMX_NPU_EXPERT_DOWN, &down, 1 + (uint32_t)isa);
		for (uint32_t e = 0; e < E; e++) {
			for (uint32_t s = first[e]; s < first[e + 1]; s++) {
				for (uint32_t r = 0; r < ROWS; r++)
					ASSERT_EQ(product(&up, e, r, s), out[s * ROWS + r]);
			}
		}
		run(isa, CMX_NPU_EXPERT_GLU, &glu, 1 + (uint32_t)isa * 2);
		for (uint32_t e = 0; e < E; e++) {
			for (uint32_t s = first[e]; s < first[e + 1]; s++) {
				for (uint32_t r = 0; r < ROWS; r++) {
					double g = (double)product(&gate, e, r, slot_token[s]);
					double u = (double)product(&up, e, r, slot_token[s]);
					double v = g / (1 + exp(-g)) * u;

					ASSERT_LT(fabs(v - (double)out[s * ROWS + r]),
						  1e-6 * (1 + fabs(v)));
				}
			}
		}
		if (isa == CMX_ISA_SCALAR)
			memcpy(want, out, SLOTS * ROWS * sizeof(*out));
	}
	matrix_free(&gate);
	matrix_free(&up);
}

/* The rate of INT8, a byte a weight, a scale for each row, and activations as BF16. */
TEST(cost_of_int8)
{
	struct cmx_k_matmul a = { .type = CMX_TENSOR_F32, .rows = 256, .k = 1024, .heads = 1,
				  .tokens = 10 };
	struct cmx_cost f32, i8;

	cmx_npu_cost(CMX_NPU_MATMUL, &a, NULL, false, &f32);
	a.type = CMX_TENSOR_I8;
	cmx_npu_cost(CMX_NPU_MATMUL, &a, NULL, true, &i8);
	EXPECT_EQ(CMX_OPS_F32, f32.op_class);
	EXPECT_EQ(CMX_OPS_INT8, i8.op_class);
	EXPECT_EQ(f32.cube_ops, i8.cube_ops);
	EXPECT_EQ(256u * 1024 + 256 * 4 + 10 * (1024 + 4) + 10 * 256 * 2, i8.mem_bytes);
	EXPECT_EQ(4u * 256 * 1024 + 10 * 1024 * 4 + 10 * 256 * 4, f32.mem_bytes);
}

/* Attention of INT8 models is in BF16, on cache rows of 576 x 2 bytes for DeepSeek's. */
TEST(cost_of_attention_in_bf16)
{
	const struct cmx_k_mla a = {
		.pairs = 4000, .key_rows = 1000, .nope = 128, .rope = 64, .kv_lora = 512,
		.heads = 128, .tokens = 1,
	};
	struct cmx_cost f32, bf16;

	cmx_npu_cost(CMX_NPU_MLA, &a, NULL, false, &f32);
	cmx_npu_cost(CMX_NPU_MLA, &a, NULL, true, &bf16);
	EXPECT_EQ(CMX_OPS_F32, f32.op_class);
	EXPECT_EQ(CMX_OPS_BF16, bf16.op_class);
	EXPECT_EQ(f32.cube_ops, bf16.cube_ops);
	EXPECT_EQ(1000u * 1152 + 128 * (576 + 512) * 2, bf16.mem_bytes);
	EXPECT_EQ(2 * bf16.mem_bytes, f32.mem_bytes);
}

/* What comes back as BF16 is BF16 for one die, too. */
TEST(cost_of_combine)
{
	struct cmx_k_combine a = { .hidden = 64, .n_used = 4, .tokens = 3,
				   .form = CMX_COMBINE_ROUNDED };
	struct cmx_cost one, many;

	cmx_npu_cost(CMX_NPU_COMBINE, &a, NULL, true, &one);
	a.form = CMX_COMBINE_BF16;
	cmx_npu_cost(CMX_NPU_COMBINE, &a, NULL, true, &many);
	EXPECT_EQ(one.mem_bytes, many.mem_bytes);
	EXPECT_EQ(3u * 64 * 6 * 2 + 2 * 3 * 4 * 2, one.mem_bytes);
}

TEST(scale_is_never_worse_than_max)
{
	static float w[1000], importance[1000];
	static int8_t q[1000];
	uint32_t better = 0;

	for (uint32_t n = 0; n < 300; n++) {
		uint32_t k = 1 + random_u32() % 1000;
		const float *by = n & 1 ? importance : NULL;
		float max = 0, scale;
		double plain = 0, e;

		for (uint32_t i = 0; i < k; i++) {
			float u = uniform();

			/* Plain rows, heavy tails, single outliers. */
			w[i] = n % 3 == 0 ? u : n % 3 == 1 ? u * u * u * u * u : u / 50;
			importance[i] = 1 + uniform();
		}
		if (n % 3 == 2)
			w[random_u32() % k] = 1;
		for (uint32_t i = 0; i < k; i++)
			max = fmaxf(max, fabsf(w[i]));
		for (uint32_t i = 0; i < k; i++) {
			float s = max / 127;
			double d = (double)w[i] - (double)s * rint((double)w[i] / (double)s);

			plain += d * d * (by ? (double)by[i] : 1);
		}
		scale = cmx_quantise_row(w, by, k, q);
		e = cmx_quantise_error(w, by, k, q, scale);
		ASSERT_LE(e, plain * (1 + 1e-5) + 1e-30);
		better += e < plain * 0.999;
		for (uint32_t i = 0; i < k; i++)
			ASSERT_GE(q[i], -127);
	}
	TH_LOG("%u of 300 rows gain more than 0.1 %%", better);
	EXPECT_GT(better, 80u);
}

/* What matters more is kept better. */
TEST(importance_moves_the_scale)
{
	enum { K = 512 };
	static float w[K], high[K];
	static int8_t q[K];
	float scale;
	double even;

	for (uint32_t i = 0; i < K; i++) {
		w[i] = uniform() / 8;
		high[i] = 1;
	}
	w[7] = 1;
	high[7] = 1e-6f;
	scale = cmx_quantise_row(w, NULL, K, q);
	even = cmx_quantise_error(w, high, K, q, scale);
	scale = cmx_quantise_row(w, high, K, q);
	EXPECT_LT(cmx_quantise_error(w, high, K, q, scale), even);
	EXPECT_LT(scale, 1.0f / 127);
	EXPECT_EQ(127, q[7]);
}

TEST(rows_without_a_scale)
{
	const float zero[] = { 0, -0.0f, 0 }, tiny[] = { 1e-31f, -1e-40f, 0 };
	const float nan[] = { 1, NAN, 0 }, inf[] = { 1, 2, -INFINITY };
	int8_t q[3] = { 1, 1, 1 };

	EXPECT_EQ(0.0f, cmx_quantise_row(zero, NULL, 3, q));
	EXPECT_EQ(0, q[0] | q[1] | q[2]);
	EXPECT_EQ(0.0f, cmx_quantise_row(tiny, NULL, 3, q));
	EXPECT_EQ(0, cmx_quantise_check(tiny, 3, &err));
	EXPECT_EQ(-EDOM, cmx_quantise_check(nan, 3, &err));
	EXPECT_NE(NULL, strstr(err.text, "column 1 is not finite"));
	EXPECT_EQ(-EDOM, cmx_quantise_check(inf, 3, &err));
}

/* Powers of two times whole numbers come back as they were. */
TEST(exact_rows_stay_exact)
{
	static float w[300];
	static int8_t q[300];

	for (int i = 0; i < 300; i++)
		w[i] = (float)((int)(random_u32() % 255) - 127) * 0x1p-9f;
	w[5] = 127 * 0x1p-9f;
	EXPECT_EQ(0x1p-9f, cmx_quantise_row(w, NULL, 300, q));
	for (int i = 0; i < 300; i++)
		EXPECT_EQ(w[i], (float)q[i] * 0x1p-9f);
}

TEST_HARNESS_MAIN
