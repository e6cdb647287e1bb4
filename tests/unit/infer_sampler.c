// SPDX-License-Identifier: GPL-2.0-only
/* Choice of the next token. */
#include <math.h>
#include <string.h>

#include <kselftest_harness.h>

#include "kernels/cmx_npu.h"

#define VOCAB 37u

static float logits[VOCAB], prob[VOCAB];
static uint32_t order[VOCAB], next;
static struct cmx_sampled got;

static struct cmx_k_sample sample(float temp, float top_p)
{
	return (struct cmx_k_sample){
		.logits = logits, .order = order, .prob = prob, .out = &got, .next = &next,
		.seed = 7, .vocab = VOCAB, .temp = temp, .top_p = top_p,
	};
}

static uint32_t pick(enum cmx_isa isa, const struct cmx_k_sample *a)
{
	cmx_npu_kernels(isa)[CMX_NPU_SAMPLE].fn(a, 0, 1);
	return got.id;
}

TEST(greedy_takes_the_lower_of_equal_ones)
{
	const struct cmx_k_sample a = sample(0, 1);

	memset(logits, 0, sizeof(logits));
	EXPECT_EQ(0, pick(CMX_ISA_SCALAR, &a));
	logits[20] = 1;
	logits[9] = 1;
	EXPECT_EQ(9, pick(CMX_ISA_SCALAR, &a));
	EXPECT_EQ(9, next);
	EXPECT_EQ(0, got.bad);
}

TEST(logits_that_are_not_finite)
{
	const struct cmx_k_sample a = sample(1, 0.5f);

	memset(logits, 0, sizeof(logits));
	logits[36] = NAN;
	pick(CMX_ISA_SCALAR, &a);
	EXPECT_EQ(1, got.bad);
	logits[36] = INFINITY;
	pick(CMX_ISA_SCALAR, &a);
	EXPECT_EQ(1, got.bad);
	logits[36] = 3;
	pick(CMX_ISA_SCALAR, &a);
	EXPECT_EQ(0, got.bad);
}

TEST(draws_follow_the_probabilities)
{
	struct cmx_k_sample a = sample(1, 1);
	uint32_t count[VOCAB] = { 0 };
	double sum = 0;

	for (uint32_t i = 0; i < VOCAB; i++) {
		logits[i] = -(float)(i % 5);
		sum += exp((double)logits[i]);
	}
	for (a.index = 0; a.index < 20000; a.index++)
		count[pick(CMX_ISA_SCALAR, &a)]++;
	for (uint32_t i = 0; i < VOCAB; i++) {
		double want = 20000 * exp((double)logits[i]) / sum;

		EXPECT_GT(5 * sqrt(want), fabs(count[i] - want));
	}
}

TEST(top_p_cuts_the_tail)
{
	struct cmx_k_sample a = sample(1, 0.74f);

	/* 0.5, 0.25, 0.125... : two tokens hold 0.74. */
	for (uint32_t i = 0; i < VOCAB; i++)
		logits[(i * 5 + 3) % VOCAB] = -(float)i * 0.693147f;
	for (a.index = 0; a.index < 500; a.index++) {
		uint32_t id = pick(CMX_ISA_SCALAR, &a);

		EXPECT_TRUE(id == 3 || id == 8);
	}
	a.top_p = 1e-6f;
	EXPECT_EQ(3, pick(CMX_ISA_SCALAR, &a));
}

TEST(seed_and_index_decide)
{
	struct cmx_k_sample a = sample(1, 0.9f);
	uint32_t first[50], differs = 0;

	for (uint32_t i = 0; i < VOCAB; i++)
		logits[i] = (float)(i * 7 % 11) / 4;
	for (a.index = 0; a.index < 50; a.index++)
		first[a.index] = pick(CMX_ISA_SCALAR, &a);
	for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
		if (!cmx_npu_kernels(isa))
			continue;
		for (a.index = 50; a.index-- > 0;)
			EXPECT_EQ(first[a.index], pick(isa, &a));
	}
	a.seed = 8;
	for (a.index = 0; a.index < 50; a.index++)
		differs += pick(CMX_ISA_SCALAR, &a) != first[a.index];
	EXPECT_LT(10, differs);
}

TEST(a_low_temperature_is_greedy)
{
	struct cmx_k_sample a = sample(1e-3f, 1);

	memset(logits, 0, sizeof(logits));
	logits[17] = 1;
	for (a.index = 0; a.index < 100; a.index++)
		EXPECT_EQ(17, pick(CMX_ISA_SCALAR, &a));
}

TEST_HARNESS_MAIN
