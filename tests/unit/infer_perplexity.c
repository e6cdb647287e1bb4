// SPDX-License-Identifier: GPL-2.0-only
/* Negative log-likelihoods and the windows of a text. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_perplexity.h"

static struct cmx_infer_err err;

/* Against the same sum in long double. */
TEST(nll_is_exact)
{
	enum { VOCAB = 1000 };
	static float logits[VOCAB];
	uint32_t rng = 1;

	for (int scale = 1; scale <= 1000; scale *= 10) {
		long double sum = 0;

		for (int i = 0; i < VOCAB; i++) {
			rng = rng * 1664525 + 1013904223;
			logits[i] = (float)(int32_t)rng * 0x1p-31f * (float)scale;
		}
		for (int i = 0; i < VOCAB; i++)
			sum += expl((long double)logits[i] - scale);
		for (uint32_t t = 0; t < VOCAB; t += 37) {
			long double want = logl(sum) + scale - (long double)logits[t];
			double got;

			ASSERT_EQ(0, cmx_nll(logits, VOCAB, t, &got, &err));
			EXPECT_LT(fabsl(want - (long double)got), 1e-13L * (1 + want));
		}
	}
}

TEST(nll_of_extremes)
{
	const float even[] = { 3e38f, 3e38f }, far[] = { 3e38f, -3e38f }, one[] = { -5 };
	double nll;

	ASSERT_EQ(0, cmx_nll(even, 2, 1, &nll, &err));
	EXPECT_LT(fabs(nll - log(2)), 1e-15);
	ASSERT_EQ(0, cmx_nll(far, 2, 1, &nll, &err));
	EXPECT_EQ((double)3e38f * 2, nll);
	ASSERT_EQ(0, cmx_nll(far, 2, 0, &nll, &err));
	EXPECT_EQ(0.0, nll);
	ASSERT_EQ(0, cmx_nll(one, 1, 0, &nll, &err));
	EXPECT_EQ(0.0, nll);
}

TEST(bug16_logits_that_are_not_finite)
{
	const float nan[] = { 0, NAN, 1 }, inf[] = { 0, 1, INFINITY }, low[] = { -INFINITY, 1, 1 };
	double nll;

	EXPECT_EQ(-EDOM, cmx_nll(nan, 3, 0, &nll, &err));
	EXPECT_NE(NULL, strstr(err.text, "logit 1 is not finite"));
	EXPECT_EQ(-EDOM, cmx_nll(inf, 3, 0, &nll, &err));
	EXPECT_EQ(-EDOM, cmx_nll(low, 3, 1, &nll, &err));
}

TEST(mean_and_error)
{
	struct cmx_perplexity p = { 0 };

	EXPECT_EQ(0.0, cmx_perplexity_mean(&p));
	EXPECT_EQ(0.0, cmx_perplexity_error(&p));
	for (int i = 1; i <= 4; i++)
		cmx_perplexity_add(&p, i);
	EXPECT_EQ(2.5, cmx_perplexity_mean(&p));
	EXPECT_LT(fabs(cmx_perplexity_error(&p) - sqrt(1.25 / 3)), 1e-15);
	EXPECT_LT(fabs(cmx_perplexity_value(&p) - exp(2.5)), 1e-12);
	cmx_perplexity_add(&p, 1e6);
	EXPECT_TRUE(isinf(cmx_perplexity_value(&p)));
}

/* Whatever the sizes, every token but the first is scored once, behind another of its window. */
TEST(windows_score_each_token_once)
{
	struct cmx_text_window w;

	for (uint64_t tokens = 2; tokens < 60; tokens++) {
		for (uint32_t ctx = 2; ctx < 20; ctx++) {
			for (uint32_t stride = 1; stride < ctx; stride++) {
				uint64_t next = 1;

				for (uint64_t i = 0;
				     cmx_text_window(tokens, ctx, stride, i, &w); i++) {
					ASSERT_EQ(i * stride, w.first);
					ASSERT_LE(w.n, ctx);
					ASSERT_LE(w.first + w.n, tokens);
					ASSERT_GE(w.score, 1u);
					ASSERT_LT(w.score, w.n);
					ASSERT_EQ(next, w.first + w.score);
					next = w.first + w.n;
				}
				ASSERT_EQ(tokens, next);
			}
		}
	}
}

TEST_HARNESS_MAIN
