// SPDX-License-Identifier: GPL-2.0-only
/* Routing rules, each with a fixture where a known mistake gives another answer. */
#include <math.h>
#include <string.h>

#include <kselftest_harness.h>

#include "kernels/cmx_npu.h"

static uint32_t ids[64];
static float weights[64];

/* Sigmoid gate over 8 experts in 4 groups of 2 keep 2, top-2, unless changed. */
static struct cmx_k_gate gate(const float *logits, const float *bias)
{
	return (struct cmx_k_gate){
		.logits = logits, .bias = bias, .ids = ids, .weights = weights, .n_expert = 8,
		.n_used = 2, .n_group = 4, .n_group_used = 2, .func = CMX_GATE_SIGMOID,
		.group_rule = CMX_GROUP_TOP2, .norm = 1, .scale = 1, .tokens = 1,
	};
}

/* All levels must agree; the result is in ids and weights. */
static int route(const struct cmx_k_gate *a)
{
	uint32_t n = a->tokens * a->n_used, first_ids[64];
	float first_weights[64];

	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		memset(ids, 0xff, sizeof(ids));
		cmx_npu_kernels(isa)[CMX_NPU_GATE].fn(a, 0, 1);
		if (isa == CMX_ISA_SCALAR) {
			memcpy(first_ids, ids, sizeof(ids));
			memcpy(first_weights, weights, sizeof(weights));
		} else if (memcmp(first_ids, ids, n * sizeof(*ids)) ||
			   memcmp(first_weights, weights, n * sizeof(*weights))) {
			return 0;
		}
	}
	return 1;
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

#define NEAR(a, b) (fabs((double)(a) - (double)(b)) < 1e-6)

TEST(bug01_weights_come_from_unbiased_scores)
{
	const float logits[8] = { 2, 1, 0, 0, -1, -1, -2, -2 };
	const float bias[8] = { 0, 0, 0, 0, 5, 5, 0, 0 };
	struct cmx_k_gate a = gate(logits, bias);

	a.norm = 0;
	ASSERT_TRUE(route(&a));
	EXPECT_EQ(4, ids[0]);
	EXPECT_EQ(5, ids[1]);
	EXPECT_TRUE(NEAR(weights[0], sigmoid(-1)));
	EXPECT_TRUE(NEAR(weights[1], sigmoid(-1)));
}

TEST(bug03_group_score_is_the_top_two_sum_or_the_max)
{
	/* Group 0 has the best expert, groups 1 and 2 the best pairs. */
	const float logits[8] = { 3, -8, 1, 1, 1.1f, 0.9f, -8, -8 };
	const float bias[8] = { 0 };
	struct cmx_k_gate a = gate(logits, bias);

	ASSERT_TRUE(route(&a));
	EXPECT_EQ(4, ids[0]);
	EXPECT_EQ(2, ids[1]);
	a.group_rule = CMX_GROUP_MAX;
	ASSERT_TRUE(route(&a));
	EXPECT_EQ(0, ids[0]);
	EXPECT_EQ(4, ids[1]);
}

TEST(bug04_masked_groups_lose_to_negative_scores)
{
	const float logits[8] = { 1, 1, 0.5f, 0.5f, -1, -1, -1, -1 };
	const float bias[8] = { -9, -9, -9, -9, -20, -20, -20, -20 };
	struct cmx_k_gate a = gate(logits, bias);

	a.n_used = 4;
	ASSERT_TRUE(route(&a));
	for (uint32_t j = 0; j < 4; j++)
		EXPECT_EQ(j, ids[j]);
}

TEST(bug06_one_group_means_no_groups)
{
	const float logits[8] = { 0, 5, 0, 4, 0, 3, 0, 2 };
	struct cmx_k_gate a = gate(logits, NULL);

	a.n_used = 4;
	for (uint32_t n = 0; n < 2; n++) {
		a.n_group = n;
		a.n_group_used = n;
		ASSERT_TRUE(route(&a));
		for (uint32_t j = 0; j < 4; j++)
			EXPECT_EQ(2 * j + 1, ids[j]);
	}
}

TEST(bug07_norm_then_scale)
{
	const float logits[8] = { 1, 0, 0.5f, 0, -3, -3, -3, -3 };
	struct cmx_k_gate a = gate(logits, NULL);
	double s0 = sigmoid(1), s1 = sigmoid(0.5);

	a.scale = 2.5f;
	ASSERT_TRUE(route(&a));
	EXPECT_TRUE(NEAR(weights[0], 2.5 * s0 / (s0 + s1)));
	EXPECT_TRUE(NEAR(weights[1], 2.5 * s1 / (s0 + s1)));
	a.norm = 0;
	ASSERT_TRUE(route(&a));
	EXPECT_TRUE(NEAR(weights[0], 2.5 * s0));
}

TEST(softmax_runs_over_all_experts)
{
	const float logits[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	struct cmx_k_gate a = gate(logits, NULL);
	double sum = 0;

	for (int i = 1; i <= 8; i++)
		sum += exp(i);
	a.func = CMX_GATE_SOFTMAX;
	a.norm = 0;
	a.scale = 16;
	a.group_rule = CMX_GROUP_MAX;
	ASSERT_TRUE(route(&a));
	EXPECT_EQ(7, ids[0]);
	EXPECT_EQ(6, ids[1]);
	EXPECT_TRUE(NEAR(weights[0], 16 * exp(8) / sum));
	EXPECT_TRUE(NEAR(weights[1], 16 * exp(7) / sum));
}

TEST(bug09_near_ties_need_f32)
{
	/* Scores that are one and the same in bf16. */
	const float logits[8] = { 0.5f, 0.50001f, 0.50002f, 0.49999f, 0.5f, 0.5f, 0.5f, 0.5f };
	struct cmx_k_gate a = gate(logits, NULL);

	a.n_group = 1;
	ASSERT_TRUE(route(&a));
	EXPECT_EQ(2, ids[0]);
	EXPECT_EQ(1, ids[1]);
}

TEST(equal_scores_go_to_the_lower_id)
{
	const float logits[8] = { 0 };
	struct cmx_k_gate a = gate(logits, NULL);

	a.n_used = 4;
	ASSERT_TRUE(route(&a));
	for (uint32_t j = 0; j < 4; j++)
		EXPECT_EQ(j, ids[j]);
}

TEST(nan_loses_and_stays_in_range)
{
	float logits[8] = { NAN, 1, NAN, 2, NAN, 3, NAN, 4 };
	struct cmx_k_gate a = gate(logits, NULL);

	a.n_group = 1;
	ASSERT_TRUE(route(&a));
	EXPECT_EQ(7, ids[0]);
	EXPECT_EQ(5, ids[1]);
	for (int i = 0; i < 8; i++)
		logits[i] = NAN;
	a.n_group = 4;
	cmx_npu_kernels(CMX_ISA_SCALAR)[CMX_NPU_GATE].fn(&a, 0, 1);
	EXPECT_GT(8, ids[0]);
	EXPECT_GT(8, ids[1]);
	EXPECT_NE(ids[0], ids[1]);
}

static int topology(uint32_t n_expert, uint32_t used, uint32_t groups, uint32_t groups_used)
{
	const struct cmx_model_config c = {
		.n_expert = n_expert, .n_used = used, .n_group = groups,
		.n_group_used = groups_used,
	};
	static const struct cmx_gate_keys keys = { "experts", "used", "groups", "groups used" };
	struct cmx_infer_err err = { .text = "" };

	return cmx_model_config_check_gate(&c, &keys, &err);
}

TEST(bug05_illegal_topologies)
{
	EXPECT_EQ(0, topology(256, 8, 8, 4));
	EXPECT_EQ(0, topology(160, 6, 8, 3));
	EXPECT_EQ(0, topology(64, 6, 1, 1));
	EXPECT_EQ(0, topology(64, 6, 0, 0));
	EXPECT_NE(0, topology(16, 17, 1, 1));
	EXPECT_NE(0, topology(16, 4, 16, 4));
	EXPECT_NE(0, topology(16, 4, 3, 2));
	EXPECT_NE(0, topology(16, 4, 4, 0));
	EXPECT_NE(0, topology(16, 4, 4, 5));
	EXPECT_NE(0, topology(16, 5, 4, 1));
}

TEST(plan_sorts_by_expert_and_keeps_token_order)
{
	static struct cmx_plan plan;
	uint32_t chosen[8] = { 3, 1, 3, 0, 1, 3, 3, 1 };
	uint32_t slot_token[8], token_slot[8];
	struct cmx_k_gate a = {
		.plan = &plan, .slot_token = slot_token, .token_slot = token_slot,
		.n_expert = 5, .n_used = 2, .tokens = 4,
	};
	static const uint32_t first[6] = { 0, 1, 4, 4, 8, 8 };
	static const uint32_t tokens[8] = { 1, 0, 2, 3, 0, 1, 2, 3 };

	a.ids = chosen;
	cmx_npu_kernels(CMX_ISA_SCALAR)[CMX_NPU_GATE].end(&a);
	EXPECT_EQ(3, plan.n_active);
	EXPECT_EQ(0, memcmp(plan.first, first, sizeof(first)));
	EXPECT_EQ(0, memcmp(slot_token, tokens, sizeof(tokens)));
	for (uint32_t i = 0; i < 8; i++)
		EXPECT_EQ(i / 2, slot_token[token_slot[i]]);
}

TEST_HARNESS_MAIN
