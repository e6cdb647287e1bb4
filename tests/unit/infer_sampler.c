// SPDX-License-Identifier: GPL-2.0-only
/* Choice of the next token. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "kernels/cmx_npu.h"

#define VOCAB 37u

static float logits[VOCAB], prob[VOCAB];
static uint32_t order[VOCAB], ids[16];
static struct cmx_sampled got;

static struct cmx_sample_row sample(float temp, float top_p)
{
	return (struct cmx_sample_row){ .seed = 7, .temp = temp, .top_p = top_p, .penalty = 1 };
}

static uint32_t pick(enum cmx_isa isa, const struct cmx_sample_row *row)
{
	const struct cmx_k_sample a = {
		.logits = logits, .rows = row, .ids = ids, .order = order, .prob = prob,
		.out = &got, .vocab = VOCAB, .n = 1,
	};

	cmx_npu_kernels(isa)[CMX_NPU_SAMPLE].fn(&a, 0, 1);
	return got.id;
}

static void set_history(struct cmx_sample_row *row, const uint32_t *history, uint32_t n)
{
	memcpy(ids, history, n * sizeof(*ids));
	row->n_history = n;
}

TEST(greedy_takes_the_lower_of_equal_ones)
{
	const struct cmx_sample_row a = sample(0, 1);

	memset(logits, 0, sizeof(logits));
	EXPECT_EQ(0, pick(CMX_ISA_SCALAR, &a));
	logits[20] = 1;
	logits[9] = 1;
	EXPECT_EQ(9, pick(CMX_ISA_SCALAR, &a));
	EXPECT_EQ(9, ids[0]);
	EXPECT_EQ(0, got.bad);
}

TEST(logits_that_are_not_finite)
{
	const struct cmx_sample_row a = sample(1, 0.5f);

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
	struct cmx_sample_row a = sample(1, 1);
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
	struct cmx_sample_row a = sample(1, 0.74f);

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
	struct cmx_sample_row a = sample(1, 0.9f);
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
	struct cmx_sample_row a = sample(1e-3f, 1);

	memset(logits, 0, sizeof(logits));
	logits[17] = 1;
	for (a.index = 0; a.index < 100; a.index++)
		EXPECT_EQ(17, pick(CMX_ISA_SCALAR, &a));
}

static uint64_t state;

static double uniform(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 11) * 0x1p-53;
}

static int by_logit(const void *a, const void *b)
{
	float x = logits[*(const uint32_t *)a], y = logits[*(const uint32_t *)b];

	return x < y ? 1 : x > y ? -1 : *(const uint32_t *)a > *(const uint32_t *)b ? 1 : -1;
}

/* Probabilities after the cuts as they are described, in double; 0 for what is cut off. */
static void by_definition(const struct cmx_sample_row *a, double *p)
{
	uint32_t id[VOCAB], n = a->top_k && a->top_k < VOCAB ? a->top_k : VOCAB, kept = 0;
	double sum = 0, have = 0;

	for (uint32_t i = 0; i < VOCAB; i++)
		id[i] = i;
	qsort(id, VOCAB, sizeof(*id), by_logit);
	memset(p, 0, VOCAB * sizeof(*p));
	for (uint32_t i = 0; i < n; i++)
		sum += exp(((double)logits[id[i]] - (double)logits[id[0]]) / (double)a->temp);
	for (; kept < n && have < (double)a->top_p * sum; kept++) {
		p[id[kept]] = exp(((double)logits[id[kept]] - (double)logits[id[0]]) /
				  (double)a->temp);
		have += p[id[kept]];
	}
	for (uint32_t i = 0; i < kept; i++) {
		if (p[id[i]] < (double)a->min_p)
			p[id[i]] = 0;
	}
}

/* Whether a sum is just at its limit depends on rounding: such cases say nothing. */
static int is_close(const struct cmx_sample_row *a)
{
	struct cmx_sample_row less = *a, more = *a;
	double p[VOCAB], q[VOCAB];
	uint32_t differs = 0;

	less.top_p *= 0.9999f;
	less.min_p *= 1.0001f;
	more.top_p *= 1.0001f;
	more.min_p *= 0.9999f;
	by_definition(&less, p);
	by_definition(&more, q);
	for (uint32_t i = 0; i < VOCAB; i++)
		differs += !p[i] != !q[i];
	return differs > 0 && a->top_p < 1;
}

TEST(cuts_by_definition)
{
	uint32_t tried = 0;

	state = 11;
	for (uint32_t round = 0; round < 300; round++) {
		struct cmx_sample_row a = sample((float)(0.2 + 2 * uniform()), 1);
		double p[VOCAB], sum = 0;
		uint32_t count[VOCAB] = { 0 };

		for (uint32_t i = 0; i < VOCAB; i++)
			logits[i] = (float)(8 * uniform() - 4);
		a.top_k = round & 1 ? 1 + (uint32_t)(40 * uniform()) : 0;
		a.top_p = round & 2 ? (float)(0.05 + 0.95 * uniform()) : 1;
		a.min_p = round & 4 ? (float)uniform() : 0;
		if (is_close(&a))
			continue;
		tried++;
		by_definition(&a, p);
		for (uint32_t i = 0; i < VOCAB; i++)
			sum += p[i];
		for (a.index = 0; a.index < 1000; a.index++)
			count[pick(CMX_ISA_SCALAR, &a)]++;
		for (uint32_t i = 0; i < VOCAB; i++) {
			double want = 1000 * p[i] / sum;

			ASSERT_TRUE(p[i] > 0 || !count[i]) TH_LOG("round %u token %u", round, i);
			ASSERT_GT(6 * sqrt(want) + 1, fabs(count[i] - want));
		}
	}
	EXPECT_LT(200, tried);
}

TEST(top_k_of_one_is_greedy)
{
	struct cmx_sample_row a = sample(50, 1);

	for (uint32_t i = 0; i < VOCAB; i++)
		logits[i] = (float)(i * 11 % VOCAB);
	a.top_k = 1;
	for (a.index = 0; a.index < 200; a.index++)
		EXPECT_EQ((float)(VOCAB - 1), logits[pick(CMX_ISA_SCALAR, &a)]);
}

TEST(min_p_of_one_keeps_the_best)
{
	struct cmx_sample_row a = sample(50, 1);

	memset(logits, 0, sizeof(logits));
	logits[5] = 1;
	logits[6] = 1;
	a.min_p = 1;
	for (a.index = 0; a.index < 100; a.index++) {
		uint32_t id = pick(CMX_ISA_SCALAR, &a);

		EXPECT_TRUE(id == 5 || id == 6);
	}
}

TEST(repetition_penalty)
{
	static const uint32_t history[] = { 3, 3, 3, 9, 4000000000u };
	struct cmx_sample_row a = sample(0, 1);
	float before[VOCAB];

	memset(logits, 0, sizeof(logits));
	logits[3] = 4;
	logits[8] = 2.5f;
	set_history(&a, history, 5);
	EXPECT_EQ(3, pick(CMX_ISA_SCALAR, &a));
	/* Once for all its places: 4 / 1.5 is still above 2.5. */
	a.penalty = 1.5f;
	EXPECT_EQ(3, pick(CMX_ISA_SCALAR, &a));
	a.penalty = 2;
	memcpy(before, logits, sizeof(before));
	EXPECT_EQ(8, pick(CMX_ISA_SCALAR, &a));
	EXPECT_EQ(0, memcmp(before, logits, sizeof(before)));
	/* A negative one moves away too. */
	for (uint32_t i = 0; i < VOCAB; i++)
		logits[i] = -5;
	logits[9] = -1;
	logits[10] = -1.5f;
	EXPECT_EQ(10, pick(CMX_ISA_SCALAR, &a));
	set_history(&a, history, 3);
	EXPECT_EQ(9, pick(CMX_ISA_SCALAR, &a));
	/* With a draw as well: 3 gets rare. */
	memset(logits, 0, sizeof(logits));
	logits[3] = 40;
	a.temp = 1;
	a.penalty = 10;
	a.top_k = 1;
	EXPECT_EQ(3, pick(CMX_ISA_SCALAR, &a));
	logits[8] = 4.5f;
	EXPECT_EQ(8, pick(CMX_ISA_SCALAR, &a));
}

TEST(a_penalty_that_leaves_the_range)
{
	static const uint32_t history[] = { 1 };
	struct cmx_sample_row a = sample(1, 0.9f);

	memset(logits, 0, sizeof(logits));
	logits[1] = -3e38f;
	set_history(&a, history, 1);
	a.penalty = 10;
	pick(CMX_ISA_SCALAR, &a);
	EXPECT_EQ(1, got.bad);
	logits[1] = NAN;
	pick(CMX_ISA_SCALAR, &a);
	EXPECT_EQ(1, got.bad);
	logits[1] = -3e37f;
	pick(CMX_ISA_SCALAR, &a);
	EXPECT_EQ(0, got.bad);
}

/* Every cut at once, on every level. */
TEST(levels_agree_with_all_cuts)
{
	static const uint32_t history[] = { 1, 2, 5, 7 };
	struct cmx_sample_row a = sample(0.8f, 0.95f);

	set_history(&a, history, 4);
	a.top_k = 20;
	a.min_p = 0.02f;
	a.penalty = 1.3f;
	for (uint32_t i = 0; i < VOCAB; i++)
		logits[i] = (float)(i * 7 % 11) / 3 - 1;
	for (a.index = 0; a.index < 100; a.index++) {
		uint32_t id = pick(CMX_ISA_SCALAR, &a);

		for (int isa = 0; isa < CMX_ISA_COUNT; isa++) {
			if (cmx_npu_kernels(isa))
				EXPECT_EQ(id, pick(isa, &a));
		}
	}
}

/* Rows of several sequences, some behind one another in one sequence, for every grid. */
TEST(rows_do_not_depend_on_each_other)
{
	enum { ROWS = 7, STRIDE = 8 };
	static float many[ROWS * VOCAB], scratch[ROWS * VOCAB];
	static uint32_t sorted[ROWS * VOCAB];
	struct cmx_sample_row row[ROWS];
	struct cmx_sampled want[ROWS], out[ROWS];
	uint32_t all[ROWS * STRIDE] = { 0 }, first[ROWS * STRIDE];
	struct cmx_k_sample a = {
		.logits = many, .rows = row, .ids = all, .order = sorted, .prob = scratch,
		.out = out, .vocab = VOCAB, .n = ROWS,
	};

	for (uint32_t i = 0; i < ROWS * VOCAB; i++)
		many[i] = (float)(i * 29 % 31) / 5;
	for (uint32_t i = 0; i < ROWS; i++) {
		row[i] = sample(0.9f, 0.9f);
		row[i].logits = (i * 3) % ROWS;
		row[i].penalty = 2;
		row[i].index = i;
		row[i].follows = i == 1 || i == 4 || i == 5;
		row[i].history = row[i].follows ? row[i - 1].history : i * STRIDE;
		row[i].n_history = row[i].follows ? row[i - 1].n_history + 1 : 2;
	}
	/* One row at a time, in order, is what it has to be like. */
	for (uint32_t i = 0; i < ROWS; i++) {
		struct cmx_k_sample one = a;
		struct cmx_sample_row alone = row[i];

		alone.follows = 0;
		one.rows = &alone;
		one.out = &want[i];
		one.n = 1;
		cmx_npu_kernels(CMX_ISA_SCALAR)[CMX_NPU_SAMPLE].fn(&one, 0, 1);
	}
	memcpy(first, all, sizeof(all));
	for (uint32_t blocks = 1; blocks < 10; blocks++) {
		memset(all, 0, sizeof(all));
		memset(out, 0xff, sizeof(out));
		for (uint32_t b = blocks; b-- > 0;)
			cmx_npu_kernels(CMX_ISA_SCALAR)[CMX_NPU_SAMPLE].fn(&a, b, blocks);
		EXPECT_EQ(0, memcmp(want, out, sizeof(out))) TH_LOG("%u blocks", blocks);
		EXPECT_EQ(0, memcmp(first, all, sizeof(all)));
	}
}

TEST_HARNESS_MAIN
