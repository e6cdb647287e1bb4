// SPDX-License-Identifier: GPL-2.0-only
/* What gates choose where nothing is computed: the law of popularity, and turns. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_gates.h"

static struct cmx_infer_err err;

/* As DeepSeek-R1 has them, with its MTP block. */
static const struct cmx_gates_options r1 = {
	.n_moe = 59, .n_expert = 256, .n_used = 8, .seed = 5,
};

static struct cmx_gates *gates(const struct cmx_gates_options *opt)
{
	struct cmx_gates *g = NULL;

	if (cmx_gates_new(opt, &g, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	return g;
}

/* Times the mean, of a layer's hottest expert; and the share of experts above the mean. */
static double hottest(const struct cmx_gates *g, const struct cmx_gates_options *o, uint32_t moe,
		      double *above)
{
	double mean = (double)o->n_used / o->n_expert, most = 0;

	*above = 0;
	for (uint32_t e = 0; e < o->n_expert; e++) {
		double s = cmx_gates_share(g, moe, e);

		most = s > most ? s : most;
		*above += (s > mean) / (double)o->n_expert;
	}
	return most / mean;
}

/* The two published figures: 30 times the mean in one layer, 20 % of experts above it. */
TEST(law_has_the_published_figures)
{
	struct cmx_gates *g = gates(&r1);
	double above, mean = 0, most = 0;

	for (uint32_t l = 0; l < r1.n_moe; l++) {
		double h = hottest(g, &r1, l, &above);

		EXPECT_GT(h, most);
		most = h;
		mean += above / r1.n_moe;
	}
	EXPECT_GT(30.01, most);
	EXPECT_LT(29.99, most);
	EXPECT_GT(0.205, mean);
	EXPECT_LT(0.195, mean);
	cmx_gates_free(g);
}

/* In all layers the same experts are popular. */
TEST(ranks_are_alike_in_all_layers)
{
	struct cmx_gates *g = gates(&r1);

	for (uint32_t e = 1; e < r1.n_expert; e++) {
		bool more = cmx_gates_share(g, 0, e) > cmx_gates_share(g, 0, e - 1);

		for (uint32_t l = 1; l < r1.n_moe; l++)
			EXPECT_EQ(more, cmx_gates_share(g, l, e) > cmx_gates_share(g, l, e - 1));
	}
	cmx_gates_free(g);
}

/* Draws come to the shares, and each draw has different experts. */
static void count(struct __test_metadata *_metadata, const struct cmx_gates_options *o,
		  uint32_t moe, uint32_t draws, double slack)
{
	struct cmx_gates *g = gates(o);
	uint32_t *n = calloc(o->n_expert, sizeof(*n));
	double sum = 0;

	for (uint32_t i = 0; i < draws; i++) {
		const struct cmx_gate_token t = { .stream = i / 50, .pos = i % 50, .row = i };
		uint8_t seen[CMX_MAX_EXPERTS] = { 0 };
		uint16_t e[CMX_MAX_EXPERTS_USED];

		cmx_gates_choose(g, moe, &t, e);
		for (uint32_t k = 0; k < o->n_used; k++) {
			ASSERT_LT(e[k], o->n_expert);
			ASSERT_FALSE(seen[e[k]]);
			seen[e[k]] = 1;
			n[e[k]]++;
		}
	}
	for (uint32_t e = 0; e < o->n_expert; e++) {
		double want = cmx_gates_share(g, moe, e), got = (double)n[e] / draws;

		sum += want;
		EXPECT_GT(slack, got > want ? got - want : want - got);
	}
	EXPECT_GT(1e-6, sum > o->n_used ? sum - o->n_used : o->n_used - sum);
	free(n);
	cmx_gates_free(g);
}

TEST(draws_have_the_shares)
{
	/* Four standard deviations of a share of one half. */
	count(_metadata, &r1, 0, 40000, 0.01);
	count(_metadata, &r1, 58, 40000, 0.01);
}

/* Where all tokens choose half of the experts the law cannot be had: no expert twice. */
TEST(few_experts)
{
	const struct cmx_gates_options few = { .n_moe = 1, .n_expert = 8, .n_used = 4 };
	const struct cmx_gates_options all = { .n_moe = 3, .n_expert = 6, .n_used = 6 };
	const struct cmx_gates_options one = { .n_moe = 3, .n_expert = 1, .n_used = 1 };
	struct cmx_gates *g = gates(&few);
	double above;

	EXPECT_EQ(2, hottest(g, &few, 0, &above));
	cmx_gates_free(g);
	count(_metadata, &few, 0, 20000, 0.015);
	count(_metadata, &all, 1, 100, 1e-9);
	count(_metadata, &one, 2, 100, 1e-9);
}

TEST(turns_are_even)
{
	struct cmx_gates_options o = r1;

	o.balance = CMX_BALANCE_PERFECT;
	count(_metadata, &o, 3, 32, 1e-9);
	o.n_expert = 64;
	o.n_used = 6;
	count(_metadata, &o, 3, 64, 1e-9);
}

static bool same(const struct cmx_gates_options *a, const struct cmx_gates_options *b,
		 uint32_t moe_b, uint64_t stream_b, uint32_t pos_b)
{
	const struct cmx_gate_token t = { .stream = 3, .pos = 4 }, u = { stream_b, pos_b, 9 };
	struct cmx_gates *x = gates(a), *y = gates(b);
	uint16_t e[8], f[8];

	cmx_gates_choose(x, 2, &t, e);
	cmx_gates_choose(y, moe_b, &u, f);
	cmx_gates_free(x);
	cmx_gates_free(y);
	return !memcmp(e, f, sizeof(e));
}

TEST(choices_follow_from_seed_layer_and_token)
{
	struct cmx_gates_options other = r1;

	EXPECT_TRUE(same(&r1, &r1, 2, 3, 4));
	EXPECT_FALSE(same(&r1, &r1, 1, 3, 4));
	EXPECT_FALSE(same(&r1, &r1, 2, 2, 4));
	EXPECT_FALSE(same(&r1, &r1, 2, 3, 5));
	other.seed++;
	EXPECT_FALSE(same(&r1, &other, 2, 3, 4));
}

TEST(what_cannot_be)
{
	const struct cmx_gates_options bad[] = {
		{ .n_moe = 0, .n_expert = 8, .n_used = 2 },
		{ .n_moe = 1, .n_expert = 8, .n_used = 0 },
		{ .n_moe = 1, .n_expert = 8, .n_used = 9 },
		{ .n_moe = 1, .n_expert = CMX_MAX_EXPERTS + 1, .n_used = 9 },
	};
	struct cmx_gates *g = NULL;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(-EINVAL, cmx_gates_new(&bad[i], &g, &err));
	EXPECT_EQ(NULL, g);
}

TEST_HARNESS_MAIN
