// SPDX-License-Identifier: GPL-2.0-only
/*
 * The SIMD levels against the scalar one on odd sizes, tails, denormals, infinities
 * and NaN: products within PRODUCT_ULP, all else bit for bit. And: neither the grid
 * nor the batch changes bits.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_tinymoe.h"
#include "kernels/cmx_npu.h"
#include "kernels/cmx_panel.h"

#define MAX_FLOATS (1u << 17)

/*
 * Levels with FMA round a step once, the others twice. Apart they are at most so many ulp of
 * the sum of the products' magnitudes.
 */
#define PRODUCT_ULP 4

static float x[MAX_FLOATS], w_f32[MAX_FLOATS], res[MAX_FLOATS];
static uint8_t weights[MAX_FLOATS * 4];
static uint8_t packed[MAX_FLOATS * 4];
static float out[CMX_ISA_COUNT][MAX_FLOATS];
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

/* Mostly plain numbers; with @odd also zeros, denormals and other extremes. */
static void fill(float *p, uint32_t n, int odd)
{
	static const float extremes[] = { 0.0f, -0.0f, 1e-42f, -3e-39f, 1e18f, -1e18f };

	for (uint32_t i = 0; i < n; i++) {
		p[i] = uniform();
		if (odd && random_u32() % 7 == 0)
			p[i] = extremes[random_u32() % 6];
	}
}

static uint16_t random_half(int odd)
{
	uint16_t h = (uint16_t)random_u32();

	/* Exponents that are neither infinite nor, unless asked for, denormal. */
	if ((h & 0x7c00) == 0x7c00 || (!odd && !(h & 0x7c00)))
		h = (h & 0x83ff) | 0x3800;
	return h;
}

/* Where the half floats of a block are; the rest of it is small integers, all of them legal. */
static void fill_blocks(uint32_t type, uint32_t n, int odd)
{
	uint32_t halves = type == CMX_TENSOR_Q4_K ? 2 : 1, at = type == CMX_TENSOR_Q6_K ? 208 : 0;
	struct cmx_tensor_block b = cmx_tensor_block(type);

	for (uint32_t i = 0; i < n / b.values * b.bytes; i++)
		weights[i] = (uint8_t)random_u32();
	for (uint32_t i = 0; i < n / b.values; i++) {
		for (uint32_t h = 0; h < halves; h++)
			memcpy(weights + i * b.bytes + at + 2 * h,
			       &(uint16_t){ random_half(odd) }, 2);
	}
}

static void fill_weights(uint32_t type, uint32_t n, int odd)
{
	if (type == CMX_TENSOR_F32) {
		fill(w_f32, n, odd);
		memcpy(weights, w_f32, n * sizeof(float));
		return;
	}
	if (cmx_tensor_block(type).values > 1) {
		fill_blocks(type, n, odd);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint16_t h = random_half(odd);

		/* Sums of their products must stay finite: beyond, levels differ. */
		if (type == CMX_TENSOR_BF16)
			h &= 0xbfff;
		memcpy(weights + i * 2, &h, 2);
	}
}

/* Equal bits, where any NaN stands for any other. */
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

static void run(enum cmx_isa isa, enum cmx_npu_id id, const void *args, uint32_t blocks)
{
	for (uint32_t b = blocks; b-- > 0;)
		cmx_npu_kernels(isa)[id].fn(args, b, blocks);
}

/*
 * Runs a launch on every level with different grids; @where is the argument
 * structure's output pointer. True if all outputs are the same.
 */
static int levels_agree(enum cmx_npu_id id, void *args, float **where, uint32_t n)
{
	int ok = 1;

	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		memset(out[isa], 0, n * sizeof(float));
		*where = out[isa];
		run(isa, id, args, 1 + (uint32_t)isa * 3);
		ok = ok && same(out[CMX_ISA_SCALAR], out[isa], n);
	}
	return ok;
}

static const uint32_t types[] = { CMX_TENSOR_F32, CMX_TENSOR_F16, CMX_TENSOR_BF16,
				  CMX_TENSOR_Q8_0, CMX_TENSOR_Q4_0, CMX_TENSOR_Q4_K,
				  CMX_TENSOR_Q6_K };

#define N_TYPES (sizeof(types) / sizeof(types[0]))

/* @n matrices of @rows rows from weights[] to packed[]. */
static void pack(uint32_t type, uint32_t n, uint32_t rows, uint32_t k)
{
	const uint8_t *from = weights;
	uint8_t *to = packed;

	for (; n; n--) {
		for (uint32_t r = 0; r < rows; r += CMX_PANEL) {
			uint32_t some = rows - r < CMX_PANEL ? rows - r : CMX_PANEL;

			cmx_panel_pack(type, k, from, some, to);
			from += cmx_tensor_bytes(type, (uint64_t)some * k);
			to += cmx_panel_bytes(type, k);
		}
	}
}

/* weights[] as numbers to w_f32[], by the kernel that looks rows up. */
static void restore(uint32_t type, uint32_t rows, uint32_t k)
{
	for (uint32_t r = 0; r < rows; r++) {
		const struct cmx_k_embed e = {
			.ids = &r, .table = weights, .out = w_f32 + r * k, .type = type,
			.hidden = k, .vocab = rows, .tokens = 1,
		};

		cmx_npu_kernels(CMX_ISA_SCALAR)[CMX_NPU_EMBED].fn(&e, 0, 1);
	}
}

/* The same number, where it is one, within @slack; any NaN for any other. */
static int near(const float *a, const float *b, const double *slack, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (memcmp(&a[i], &b[i], sizeof(*a)) && !(isnan(a[i]) && isnan(b[i])) &&
		    !(fabs((double)a[i] - b[i]) <= slack[i])) {
			fprintf(stderr, "element %u: %a and %a, slack %g\n", i, (double)a[i],
				(double)b[i], slack[i]);
			return 0;
		}
	}
	return 1;
}

/* How far apart levels may be, per output; w_f32 has the weights. */
static void find_slack(const struct cmx_k_matmul *a, double *slack)
{
	for (uint32_t i = 0; i < a->tokens * a->heads * a->rows; i++) {
		uint32_t t = i / a->rows / a->heads, h = i / a->rows % a->heads, r = i % a->rows;
		const float *v = a->x + t * a->x_stride + h * a->x_head;
		uint32_t at = t * a->out_stride + h * a->out_head + r;
		double mag = a->res ? fabs((double)a->res[at]) : 0;

		for (uint32_t k = 0; k < a->k; k++) {
			uint32_t row = a->transposed ? h * a->k + k : h * a->rows + r;
			uint32_t at_k = a->transposed ? row * a->rows + r : row * a->k + k;

			mag += fabs((double)w_f32[at_k] * v[k]);
		}
		slack[at] = PRODUCT_ULP * 0x1p-23 * mag + 0x1p-140;
	}
}

/* On every level, with different grids. */
static int products_agree(struct cmx_k_matmul *a)
{
	static double slack[MAX_FLOATS];
	uint32_t n = a->tokens * a->out_stride;
	int ok = 1;

	memset(slack, 0, n * sizeof(*slack));
	find_slack(a, slack);
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		memset(out[isa], 0, n * sizeof(float));
		a->out = out[isa];
		run(isa, CMX_NPU_MATMUL, a, 1 + (uint32_t)isa * 3);
		if (isa == CMX_ISA_SSE2)
			ok = ok && same(out[CMX_ISA_SCALAR], out[isa], n);
		else
			ok = ok && near(out[CMX_ISA_SCALAR], out[isa], slack, n);
		if (isa == CMX_ISA_AVX512)
			ok = ok && same(out[CMX_ISA_AVX2], out[isa], n);
	}
	return ok;
}

static int matmul_agrees(uint32_t type, uint32_t rows, uint32_t k, uint32_t tokens, int transposed,
			 int odd)
{
	struct cmx_k_matmul a = {
		.w = packed, .type = type, .x = x, .rows = rows, .k = k, .heads = 2,
		.tokens = tokens, .x_stride = 2 * k + 3, .x_head = k, .out_stride = 2 * rows + 1,
		.out_head = rows, .transposed = (uint32_t)transposed, .res = odd ? res : NULL,
	};
	uint32_t n = transposed ? k : rows, width = transposed ? rows : k;

	a.w_head = cmx_packed_bytes(type, n, width);
	fill_weights(type, 2 * n * width, odd);
	pack(type, 2, n, width);
	restore(type, 2 * n, width);
	fill(x, tokens * a.x_stride, odd);
	fill(res, tokens * a.out_stride, odd);
	if (products_agree(&a))
		return 1;
	fprintf(stderr, "type %u, %u x %u, %u tokens, %d\n", type, rows, k, tokens, transposed);
	return 0;
}

/* Also of a four-bit type that once had its own layout in a fast kernel: every level, odd sizes. */
TEST(bug17_matmul_of_every_type_and_level)
{
	static const uint32_t sizes[] = { 1, 2, 15, 16, 17, 31, 33, 50, 64 };

	for (uint32_t t = 0; t < N_TYPES; t++) {
		for (uint32_t i = 0; i < 9; i++) {
			uint32_t block = cmx_tensor_block(types[t]).values;
			uint32_t k = block > 1 ? block * (i % 3 + 1) : sizes[i];
			uint32_t rows = sizes[8 - i];

			EXPECT_TRUE(matmul_agrees(types[t], rows, k, i % 7 + 1, 0, i & 1));
			/* The rows of a transposed matrix are what is stored. */
			EXPECT_TRUE(matmul_agrees(types[t], k, rows, i % 7 + 1, 1, i & 1));
		}
		/* Several blocks of K, the last one of them cut, and whole tiles of tokens. */
		EXPECT_TRUE(matmul_agrees(types[t], 35, types[t] > 1 && types[t] < 30 ? 768 : 547,
					  13, 0, 0));
	}
}

TEST(matmul_with_nan_and_infinity)
{
	struct cmx_k_matmul a = {
		.w = packed, .type = CMX_TENSOR_F32, .x = x, .rows = 20, .k = 37, .heads = 1,
		.tokens = 5, .x_stride = 37, .out_stride = 20,
	};

	fill_weights(CMX_TENSOR_F32, 20 * 37, 1);
	pack(CMX_TENSOR_F32, 1, 20, 37);
	restore(CMX_TENSOR_F32, 20, 37);
	fill(x, 5 * 37, 0);
	x[40] = NAN;
	x[36] = INFINITY;
	x[37 * 3 + 16] = -INFINITY;
	EXPECT_TRUE(products_agree(&a));
	EXPECT_TRUE(isnan(out[0][20]));
}

/* What the bytes stand for, by the plain rules that the writer of the test models keeps. */
static int embed_is(uint32_t type, uint32_t row, uint32_t k)
{
	uint32_t values = cmx_tensor_block(type).values, size = cmx_tensor_bytes(type, values);
	const uint8_t *at = weights + row * cmx_tensor_bytes(type, k);

	for (uint32_t i = 0; i < k; i += values, at += size) {
		double want[256];

		tinymoe_restore((enum tinymoe_type)type, at, values, want);
		for (uint32_t j = 0; j < values; j++) {
			if (out[1][i + j] != (float)want[j])
				return 0;
		}
	}
	return 1;
}

/* Against double, on the very values that the stored weights stand for. */
TEST(matmul_is_exact_to_its_weights)
{
	float *w = w_f32;

	for (uint32_t t = 1; t < N_TYPES; t++) {
		uint32_t cols = cmx_tensor_block(types[t]).values == 256 ? 256 : 64;
		struct cmx_k_matmul a = {
			.w = packed, .type = types[t], .x = x, .out = out[0], .rows = 64,
			.k = cols, .heads = 1, .tokens = 1, .x_stride = cols, .out_stride = 64,
		};

		fill_weights(types[t], 64 * cols, 0);
		pack(types[t], 1, 64, cols);
		for (uint32_t col = 0; col < cols; col++) {
			memset(x, 0, cols * sizeof(float));
			x[col] = 1;
			run(CMX_ISA_SCALAR, CMX_NPU_MATMUL, &a, 1);
			for (uint32_t r = 0; r < 64; r++)
				w[r * cols + col] = out[0][r];
		}
		/* The unit vectors give the weights back; the embed kernel must agree. */
		for (uint32_t r = 0; r < 64; r++) {
			const struct cmx_k_embed e = {
				.ids = &r, .table = weights, .out = out[1], .type = types[t],
				.hidden = cols, .vocab = 64, .tokens = 1,
			};

			run(CMX_ISA_SCALAR, CMX_NPU_EMBED, &e, 1);
			for (uint32_t k = 0; k < cols; k++)
				EXPECT_EQ(out[1][k], w[r * cols + k]);
			EXPECT_TRUE(embed_is(types[t], r, cols)) TH_LOG("type %u", types[t]);
		}
		fill(x, cols, 0);
		run(CMX_ISA_SCALAR, CMX_NPU_MATMUL, &a, 1);
		for (uint32_t r = 0; r < 64; r++) {
			double sum = 0, mag = 0;

			for (uint32_t k = 0; k < cols; k++) {
				sum += (double)w[r * cols + k] * x[k];
				mag += fabs((double)w[r * cols + k] * x[k]);
			}
			EXPECT_GT(1e-6 * mag + 1e-30, fabs(sum - out[0][r]));
		}
	}
}

/* A block whose scale is infinite or no number gives the same on every level. */
TEST(blocks_with_nan_and_infinity)
{
	static const uint16_t halves[] = { 0x7c00, 0xfc00, 0x7e00, 0x0001, 0x8000 };
	const uint32_t ids[] = { 0, 1, 2, 3, 4 };

	for (uint32_t t = 3; t < N_TYPES; t++) {
		struct cmx_tensor_block b = cmx_tensor_block(types[t]);
		struct cmx_k_embed a = {
			.ids = ids, .table = weights, .type = types[t], .hidden = b.values,
			.vocab = 5, .tokens = 5,
		};

		fill_blocks(types[t], 5 * b.values, 0);
		for (uint32_t i = 0; i < 5; i++)
			memcpy(weights + i * b.bytes + (types[t] == CMX_TENSOR_Q6_K ? 208 : 0),
			       &halves[i], 2);
		EXPECT_TRUE(levels_agree(CMX_NPU_EMBED, &a, &a.out, 5 * b.values));
		EXPECT_FALSE(isfinite(out[0][0]));
	}
}

TEST(every_half)
{
	for (uint32_t h = 0; h < 65536; h += 16) {
		const uint32_t id = 0;
		struct cmx_k_embed a = {
			.ids = &id, .table = weights, .type = CMX_TENSOR_F16, .hidden = 16,
			.vocab = 1, .tokens = 1,
		};

		for (uint32_t i = 0; i < 16; i++) {
			uint16_t bits = (uint16_t)(h + i);

			memcpy(weights + 2 * i, &bits, 2);
		}
		ASSERT_TRUE(levels_agree(CMX_NPU_EMBED, &a, &a.out, 16));
		for (uint32_t i = 0; i < 16; i++) {
			uint32_t bits = h + i, e = bits >> 10 & 31, m = bits & 1023;
			double v = e ? ldexp(1024 + m, (int)e - 25) : ldexp(m, -24);

			if (e == 31)
				v = m ? NAN : INFINITY;
			EXPECT_TRUE((double)out[0][i] == (bits & 0x8000 ? -v : v) ||
				    (isnan(v) && isnan(out[0][i])));
		}
	}
}

/* What a level's own products make in double. */
static int glu_is(const struct cmx_k_glu *a, const float *gate, const float *up)
{
	for (uint32_t i = 0; i < a->tokens * a->rows; i++) {
		double y = gate[i] / (1 + exp(-(double)gate[i])) * up[i];

		/* Beyond that the exponential saturates. */
		if (fabsf(gate[i]) < 80 && !(fabs(y - a->out[i]) <= 6e-7 * fabs(y) + 1e-37))
			return 0;
	}
	return 1;
}

TEST(glu)
{
	for (uint32_t i = 1; i < 40; i += 3) {
		struct cmx_k_glu a = {
			.gate = packed, .up = packed, .x = x, .gate_type = types[i % 3],
			.up_type = types[i % 3], .rows = i, .k = 70 - i, .tokens = i % 7 + 1,
		};
		struct cmx_k_matmul m = {
			.w = packed, .type = types[i % 3], .x = x, .rows = i, .k = 70 - i,
			.heads = 1, .tokens = a.tokens, .x_stride = a.k, .out_stride = i,
			.out = res,
		};

		fill_weights(types[i % 3], i * (70 - i), i & 1);
		pack(types[i % 3], 1, i, 70 - i);
		fill(x, 7 * 70, i & 1);
		for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
			if (!cmx_npu_kernels(isa))
				continue;
			a.out = out[isa];
			run(isa, CMX_NPU_MATMUL, &m, 2);
			run(isa, CMX_NPU_GLU, &a, 1 + (uint32_t)isa);
			EXPECT_TRUE(glu_is(&a, res, res));
		}
		EXPECT_TRUE(same(out[CMX_ISA_SCALAR], out[CMX_ISA_SSE2], i * a.tokens) ||
			    !cmx_npu_kernels(CMX_ISA_SSE2));
	}
}

TEST(silu_of_any_size)
{
	/* One weight of 1 and an input that grows: silu(x) * x against double. */
	static const float one = 1;
	const struct cmx_k_glu a = {
		.gate = packed, .up = packed, .x = x, .out = out[0], .rows = 1, .k = 1,
		.tokens = 600,
	};

	cmx_panel_pack(CMX_TENSOR_F32, 1, &one, 1, packed);
	for (uint32_t i = 0; i < 600; i++)
		x[i] = ((float)i - 300) / 4;
	run(CMX_ISA_SCALAR, CMX_NPU_GLU, &a, 1);
	for (uint32_t i = 0; i < 600; i++) {
		double v = x[i], y = v / (1 + exp(-v)) * v;

		EXPECT_GE(4e-7 * fabs(y) + 1e-30, fabs(y - out[0][i]));
	}
}

/* Rows of a product do not know who else is in the batch. */
TEST(bug16_batch_does_not_change_bits_of_any_type)
{
	for (uint32_t t = 0; t < N_TYPES; t++) {
		struct cmx_k_matmul a = {
			.w = packed, .type = types[t], .x = x, .rows = 21, .k = 512, .heads = 1,
			.x_stride = 512, .out_stride = 21,
		};

		fill_weights(types[t], 21 * 512, 0);
		pack(types[t], 1, 21, 512);
		fill(x, 15 * 512, 0);
		for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
			if (!cmx_npu_kernels(isa))
				continue;
			a.x = x;
			a.tokens = 15;
			a.out = out[0];
			run(isa, CMX_NPU_MATMUL, &a, 1);
			a.out = out[1];
			for (uint32_t i = 0; i < 15; i += a.tokens) {
				a.tokens = i % 7 + 1 < 15 - i ? i % 7 + 1 : 15 - i;
				a.x = x + i * 512;
				run(isa, CMX_NPU_MATMUL, &a, 2);
				EXPECT_TRUE(same(out[0] + i * 21, out[1], a.tokens * 21));
			}
		}
	}
}

/* A level is used if it is named, and refused where the machine lacks it. */
TEST(levels_by_name)
{
	const char *why;
	enum cmx_isa isa;

	for (int i = 0; i < CMX_ISA_COUNT; i++) {
		struct cmx_infer_err err = { .text = "" };
		int ret;

		setenv("CMX_ISA", cmx_isa_name(i), 1);
		ret = cmx_isa_choose(&isa, &why, &err);
		EXPECT_EQ(cmx_npu_kernels(i) ? 0 : -ENOTSUP, ret);
		EXPECT_EQ(i, (int)isa);
		if (ret)
			EXPECT_NE(NULL, strstr(err.text, cmx_isa_name(i)));
	}
	setenv("CMX_ISA", "avx3", 1);
	EXPECT_EQ(-EINVAL, cmx_isa_choose(&isa, &why, NULL));
	unsetenv("CMX_ISA");
	EXPECT_EQ(0, cmx_isa_choose(&isa, &why, NULL));
	EXPECT_NE(NULL, cmx_npu_kernels(isa));
}

/* Between the rows of a batch, and behind the last one: nothing of it may get into a result. */
TEST(bug26_what_is_between_rows_does_not_count)
{
	const uint32_t k = 256, rows = 21, tokens = 5, stride = 300;

	for (uint32_t t = 0; t < N_TYPES; t++) {
		struct cmx_k_matmul a = {
			.w = weights, .type = types[t], .x = x, .rows = rows, .k = k, .heads = 1,
			.tokens = tokens, .x_stride = stride, .out_stride = rows,
		};

		fill_weights(types[t], rows * k, 0);
		for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
			if (!cmx_npu_kernels(isa))
				continue;
			fill(x, (tokens + 1) * stride, 0);
			a.out = out[0];
			run(isa, CMX_NPU_MATMUL, &a, 2);
			for (uint32_t i = 0; i < (tokens + 1) * stride; i++) {
				if (i % stride >= k || i / stride == tokens)
					x[i] = i % 3 ? NAN : 1e38f;
			}
			a.out = out[1];
			run(isa, CMX_NPU_MATMUL, &a, 2);
			EXPECT_TRUE(same(out[0], out[1], tokens * rows));
		}
	}
}

TEST(norm)
{
	for (uint32_t dim = 1; dim < 70; dim += 4) {
		struct cmx_k_norm a = {
			.x = x, .w = w_f32, .dim = dim, .tokens = 3, .x_stride = dim + 1,
			.out_stride = dim, .eps = 1e-6f,
		};

		fill(x, 3 * (dim + 1), 0);
		fill(w_f32, dim, 1);
		EXPECT_TRUE(levels_agree(CMX_NPU_NORM, &a, &a.out, 3 * dim));
	}
}

TEST(exp_is_monotonic_enough_for_softmax)
{
	/* A gate with two experts turns a difference into exp(d) / (1 + exp(d)). */
	float logits[2] = { 0 }, weight[2];
	uint32_t ids[2];
	const struct cmx_k_gate a = {
		.logits = logits, .ids = ids, .weights = weight, .n_expert = 2, .n_used = 2,
		.n_group = 1, .func = CMX_GATE_SOFTMAX, .scale = 1, .tokens = 1,
	};

	for (int i = -2000; i <= 0; i++) {
		double d = (double)((float)i / 25.0f), want = exp(d) / (1 + exp(d));

		logits[1] = (float)d;
		for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
			if (!cmx_npu_kernels(isa))
				continue;
			run(isa, CMX_NPU_GATE, &a, 1);
			EXPECT_GE(3e-7 * want + 1e-37, fabs(weight[1] - want));
		}
	}
}

TEST_HARNESS_MAIN
