// SPDX-License-Identifier: GPL-2.0-only
/*
 * Launches that do more than one thing: their bits are those of the launches that they stand
 * for, on every level and grid, and so are their operations.
 */
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "kernels/cmx_i8.h"
#include "kernels/cmx_npu.h"
#include "kernels/cmx_npu_cost.h"
#include "kernels/cmx_panel.h"

#define TOKENS	7u
#define WIDE	333u	/* rows of an input */
#define OUT	83u	/* rows of an output: panels have a tail */
#define LORA	48u
#define ROPE	6u
#define KV	(LORA + ROPE)
#define EPS	1e-6f
#define MAX	(1u << 15)

/* What the launches alone leave, and what the one launch does. */
struct results {
	float a[MAX], b[MAX], c[MAX];
	char rounded[MAX];
	struct cmx_plan plan;
	uint32_t ids[64], slot_token[64], token_slot[64];
};

static float x[MAX], w[MAX], w2[MAX], res[MAX], norm[MAX], norm2[MAX], angles[MAX];
static const struct cmx_row pos[TOKENS] = {
	{ .pos = 3, .cell = 9 }, { .pos = 0, .cell = 4 }, { .pos = 40, .cell = 2 },
	{ .pos = 41, .cell = 3 }, { .pos = 7, .cell = 31 }, { .pos = 1, .cell = 0 },
	{ .pos = 2, .cell = 11 },
};

static uint64_t rng = 1;
static struct results alone, one;

static void fill(float *p)
{
	for (uint32_t i = 0; i < MAX; i++) {
		rng = rng * 6364136223846793005ull + 1442695040888963407ull;
		p[i] = (float)(int32_t)(rng >> 32) * 0x1p-31f;
	}
}

static void start(void)
{
	fill(x);
	fill(w);
	fill(w2);
	fill(res);
	fill(norm);
	fill(norm2);
	fill(angles);
	memset(&alone, 0x55, sizeof(alone));
	memset(&one, 0x55, sizeof(one));
}

static void run(int isa, enum cmx_npu_id id, const void *args, uint32_t blocks)
{
	const struct cmx_npu_kernel *k = &cmx_npu_kernels(isa)[id];

	for (uint32_t b = blocks; b-- > 0;)
		k->fn(args, b, blocks);
	if (k->end)
		k->end(args);
}

static bool alike(void)
{
	return !memcmp(&alone, &one, sizeof(one));
}

static struct cmx_cost cost(enum cmx_npu_id id, const void *args)
{
	const struct cmx_npu_load load = cmx_npu_least_load(id, args);
	struct cmx_cost c;

	cmx_npu_cost(id, args, &load, false, &c);
	return c;
}

static void quantise(int isa, const float *from, char *to, uint32_t rows, uint32_t k)
{
	const struct cmx_k_quantise a = { .x = from, .out = to, .rows = rows, .k = k };

	run(isa, CMX_NPU_QUANTISE, &a, 2);
}

static struct cmx_k_norm norm_of(float *from, float *out, const float *weights, uint32_t dim)
{
	return (struct cmx_k_norm){
		.x = from, .w = weights, .out = out, .dim = dim, .tokens = TOKENS,
		.x_stride = dim, .out_stride = dim, .eps = EPS,
	};
}

static struct cmx_k_matmul product(const float *weights, float *out, uint32_t rows)
{
	return (struct cmx_k_matmul){
		.w = weights, .type = CMX_TENSOR_F32, .x = x, .out = out, .rows = rows, .k = WIDE,
		.heads = 1, .tokens = TOKENS, .x_stride = WIDE, .out_stride = rows,
	};
}

TEST(product_and_norm)
{
	start();
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		struct cmx_k_matmul a = product(w, alone.a, OUT), b = product(w, one.a, OUT);
		const struct cmx_k_norm n = norm_of(alone.a, alone.b, norm, OUT);

		if (!cmx_npu_kernels(isa))
			continue;
		a.res = res;
		b.res = res;
		b.end = (struct cmx_row_end){ norm, one.b, one.rounded, EPS, 0 };
		run(isa, CMX_NPU_MATMUL, &a, 1 + (uint32_t)isa);
		run(isa, CMX_NPU_NORM, &n, 2);
		quantise(isa, alone.b, alone.rounded, TOKENS, OUT);
		run(isa, CMX_NPU_MATMUL, &b, 4);
		EXPECT_TRUE(alike());
		b.end.rounded = NULL;
		EXPECT_EQ(cost(CMX_NPU_MATMUL, &a).vector_ops + cost(CMX_NPU_NORM, &n).vector_ops,
			  cost(CMX_NPU_MATMUL, &b).vector_ops);
		EXPECT_GT(cost(CMX_NPU_MATMUL, &a).mem_bytes + cost(CMX_NPU_NORM, &n).mem_bytes,
			  cost(CMX_NPU_MATMUL, &b).mem_bytes);
	}
}

/* The outputs of all heads are one row. */
TEST(heads_and_rounding)
{
	start();
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		struct cmx_k_matmul a = product(w, alone.a, 20), b;

		if (!cmx_npu_kernels(isa))
			continue;
		a.heads = 3;
		a.k = 40;
		a.w_head = cmx_packed_bytes(CMX_TENSOR_F32, a.rows, a.k);
		a.x_head = 40;
		a.out_stride = 60;
		a.out_head = 20;
		b = a;
		b.out = one.a;
		b.end.rounded = one.rounded;
		run(isa, CMX_NPU_MATMUL, &a, 2);
		quantise(isa, alone.a, alone.rounded, TOKENS, 60);
		run(isa, CMX_NPU_MATMUL, &b, 1 + (uint32_t)isa);
		EXPECT_TRUE(alike());
	}
}

TEST(query_and_rotation)
{
	const uint32_t heads = 3, nope = 11, rows = heads * (nope + ROPE);

	start();
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		struct cmx_k_matmul a = product(w, alone.a, rows), b = product(w, one.a, rows);
		const struct cmx_k_rope rope = {
			.q = alone.a, .table = angles, .rows = pos, .heads = heads, .nope = nope,
			.rope = ROPE, .tokens = TOKENS,
		};

		if (!cmx_npu_kernels(isa))
			continue;
		b.table = angles;
		b.pos = pos;
		b.nope = nope;
		b.rope = ROPE;
		run(isa, CMX_NPU_MATMUL, &a, 3);
		run(isa, CMX_NPU_ROPE, &rope, 2);
		run(isa, CMX_NPU_MATMUL, &b, 1 + (uint32_t)isa);
		EXPECT_TRUE(alike());
		EXPECT_EQ(cost(CMX_NPU_MATMUL, &a).vector_ops +
				  cost(CMX_NPU_ROPE, &rope).vector_ops,
			  cost(CMX_NPU_MATMUL, &b).vector_ops);
	}
}

static struct cmx_k_latent latent(void)
{
	return (struct cmx_k_latent){
		.w_q = w, .w_kv = w2, .x = x, .q = one.a, .kv = one.b, .q_rows = OUT,
		.kv_lora = LORA, .rope = ROPE, .k = WIDE, .tokens = TOKENS,
	};
}

static void latent_alone(int isa, const struct cmx_k_kv_store *store)
{
	struct cmx_k_matmul q = product(w, alone.a, OUT), kv = product(w2, alone.b, KV);
	struct cmx_k_norm n = norm_of(alone.a, alone.a, norm, OUT);

	run(isa, CMX_NPU_MATMUL, &q, 2);
	run(isa, CMX_NPU_MATMUL, &kv, 3);
	if (!store)
		return;
	n.rounded = alone.rounded;
	run(isa, CMX_NPU_NORM, &n, 1);
	run(isa, CMX_NPU_KV_STORE, store, 2);
}

/* Two products in one launch, however their panels fall on the blocks. */
TEST(query_beside_latent)
{
	start();
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		const struct cmx_k_latent a = latent();

		if (!cmx_npu_kernels(isa))
			continue;
		latent_alone(isa, NULL);
		for (uint32_t blocks = 1; blocks < 13; blocks++) {
			memset(one.a, 0x55, sizeof(one.a));
			memset(one.b, 0x55, sizeof(one.b));
			run(isa, CMX_NPU_LATENT, &a, blocks);
			ASSERT_TRUE(alike());
		}
	}
}

TEST(latent_is_normed_and_stored)
{
	start();
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		struct cmx_k_latent a = latent(), apart = latent();
		const struct cmx_k_kv_store store = {
			.kv = alone.b, .norm = norm2, .table = angles, .rows = pos,
			.cache = alone.c, .kv_lora = LORA, .rope = ROPE, .tokens = TOKENS,
			.eps = EPS,
		};

		if (!cmx_npu_kernels(isa))
			continue;
		a.q_norm = norm;
		a.q_rounded = one.rounded;
		a.kv_norm = norm2;
		a.table = angles;
		a.pos = pos;
		a.cache = one.c;
		a.eps = EPS;
		latent_alone(isa, &store);
		run(isa, CMX_NPU_LATENT, &a, 1 + (uint32_t)isa);
		EXPECT_TRUE(alike());
		EXPECT_EQ(cost(CMX_NPU_LATENT, &apart).cube_ops, cost(CMX_NPU_LATENT, &a).cube_ops);
		EXPECT_LT(cost(CMX_NPU_LATENT, &apart).vector_ops +
				  cost(CMX_NPU_KV_STORE, &store).vector_ops,
			  cost(CMX_NPU_LATENT, &a).vector_ops);
	}
}

TEST(glu_and_rounding)
{
	start();
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		struct cmx_k_glu a = {
			.gate = w, .up = w2, .x = x, .out = alone.a, .rows = OUT, .k = WIDE,
			.tokens = TOKENS,
		}, b = a;

		if (!cmx_npu_kernels(isa))
			continue;
		b.out = one.a;
		b.rounded = one.rounded;
		run(isa, CMX_NPU_GLU, &a, 2);
		quantise(isa, alone.a, alone.rounded, TOKENS, OUT);
		run(isa, CMX_NPU_GLU, &b, 1 + (uint32_t)isa);
		EXPECT_TRUE(alike());
	}
}

static struct cmx_k_gate gate(struct results *r)
{
	return (struct cmx_k_gate){
		.logits = r->a, .ids = r->ids, .weights = r->b, .plan = &r->plan,
		.slot_token = r->slot_token, .token_slot = r->token_slot, .n_expert = 5,
		.n_used = 2, .n_group = 1, .func = CMX_GATE_SIGMOID, .scale = 1, .tokens = TOKENS,
	};
}

TEST(router_and_gate)
{
	start();
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		struct cmx_k_matmul m = product(w, alone.a, 5);
		const struct cmx_k_gate g = gate(&alone);
		const struct cmx_k_route a = {
			.w = w, .x = x, .logits = one.a, .k = WIDE, .gate = gate(&one),
		};

		if (!cmx_npu_kernels(isa))
			continue;
		run(isa, CMX_NPU_MATMUL, &m, 1);
		run(isa, CMX_NPU_GATE, &g, 3);
		run(isa, CMX_NPU_ROUTE, &a, 1 + (uint32_t)isa);
		EXPECT_TRUE(alike());
		EXPECT_EQ(TOKENS * 2, one.plan.first[5]);
		EXPECT_EQ(cost(CMX_NPU_MATMUL, &m).vector_ops + cost(CMX_NPU_GATE, &g).vector_ops,
			  cost(CMX_NPU_ROUTE, &a).vector_ops);
	}
}

static struct cmx_k_expert_glu experts(struct results *r)
{
	return (struct cmx_k_expert_glu){
		.plan = &r->plan, .slot_token = r->slot_token, .gate = w, .up = w2, .x = x,
		.out = r->c, .rows = 19, .k = 200, .n_expert = 5, .n_used = 2, .tokens = TOKENS,
	};
}

/* Rows of all slots; the gate's choice is random but the same. */
TEST(experts_and_rounding)
{
	start();
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		const struct cmx_k_gate g = gate(&alone);
		struct cmx_k_expert_glu a = experts(&alone), b = experts(&one);

		if (!cmx_npu_kernels(isa))
			continue;
		fill(alone.a);
		run(isa, CMX_NPU_GATE, &g, 1);
		one = alone;
		memset(one.c, 0x33, sizeof(one.c));
		b.rounded = one.rounded;
		run(isa, CMX_NPU_EXPERT_GLU, &a, 2);
		quantise(isa, alone.c, alone.rounded, TOKENS * 2, 19);
		run(isa, CMX_NPU_EXPERT_GLU, &b, 1 + (uint32_t)isa);
		EXPECT_EQ(0, memcmp(alone.c, one.c, TOKENS * 2 * 19 * sizeof(float)));
		EXPECT_EQ(0, memcmp(alone.rounded, one.rounded, TOKENS * 2 * cmx_i8_row_bytes(19)));
	}
}

TEST(sum_of_experts_and_norm)
{
	const uint32_t slot[TOKENS * 2] = { 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12 };

	start();
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		struct cmx_k_combine a = {
			.x = x, .y = w, .weights = w2, .token_slot = slot, .shared = res,
			.out = alone.a, .hidden = WIDE, .n_used = 2, .tokens = TOKENS,
		}, b = a;
		const struct cmx_k_norm n = norm_of(alone.a, alone.b, norm, WIDE);

		if (!cmx_npu_kernels(isa))
			continue;
		b.out = one.a;
		b.end = (struct cmx_row_end){ norm, one.b, one.rounded, EPS, 0 };
		run(isa, CMX_NPU_COMBINE, &a, 2);
		run(isa, CMX_NPU_NORM, &n, 3);
		quantise(isa, alone.b, alone.rounded, TOKENS, WIDE);
		run(isa, CMX_NPU_COMBINE, &b, 1 + (uint32_t)isa);
		EXPECT_TRUE(alike());
		b.end.rounded = NULL;
		EXPECT_EQ(cost(CMX_NPU_COMBINE, &a).vector_ops + cost(CMX_NPU_NORM, &n).vector_ops,
			  cost(CMX_NPU_COMBINE, &b).vector_ops);
	}
}

TEST_HARNESS_MAIN
