// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mistakes that other engines made with this architecture, each where the whole
 * model shows it: docs/engine.md has the list. The reference is a pass in double
 * over the same weights.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "model_run.h"

#define N_IDS	12u
#define BOUND	1e-4

static const uint32_t ids[N_IDS] = { 0, 445, 163, 385, 217, 229, 161, 320, 111, 9, 500, 77 };

/* For the time that the harness gives to tests of fixtures. */
FIXTURE(slow)
{
};

FIXTURE_SETUP(slow)
{
}

FIXTURE_TEARDOWN(slow)
{
}

/* Opens engine and reference; the two know nothing of each other. */
static int open_both(const struct model_form *form, uint32_t n, struct model_run *r,
		     struct tinymoe_model *m)
{
	memset(r, 0, sizeof(*r));
	if (tinymoe_model_init(m, form->p, form->type, form->legacy, form->hf, MODEL_RUN_SEED))
		return -1;
	return model_run_open(r, form, n, n);
}

static void close_both(struct model_run *r, struct tinymoe_model *m)
{
	model_run_close(r);
	tinymoe_model_free(m);
}

/* For one token at a time and for all at once. */
static double worst_of_chunks(const struct model_form *form)
{
	struct tinymoe_model m = { 0 };
	struct model_run r;
	int ret = open_both(form, N_IDS, &r, &m);
	double max = 0;

	for (uint32_t chunk = 1; chunk <= N_IDS && !ret; chunk += N_IDS - 1) {
		ret = model_run_prompt(&r, ids, N_IDS, chunk);
		if (!ret)
			max = fmax(max, model_run_distance(&r, &m, ids));
	}
	close_both(&r, &m);
	return ret ? INFINITY : max;
}

/* The gate's own choice in double, unlike elsewhere: what is chosen is what is tested. */
static int chooses_and_weighs(float bias, float spread)
{
	struct tinymoe_preset p = *tinymoe_find("v3tiny");
	const struct model_form form = { &p, TINYMOE_F32, false, false };
	uint32_t n = (p.layers - p.dense) * N_IDS * p.top_k, chosen[n];
	double *logits = calloc((size_t)N_IDS * p.vocab, sizeof(*logits)), diff = INFINITY;
	struct tinymoe_model m = { 0 };
	struct model_run r;
	int same = 0;

	p.bias = bias;
	p.bias_spread = spread;
	if (!open_both(&form, N_IDS, &r, &m) && !model_run_prompt(&r, ids, N_IDS, N_IDS) &&
	    !tinymoe_forward(&m, ids, N_IDS, NULL, chosen, logits)) {
		diff = model_run_max_diff(r.logits, logits, (size_t)N_IDS * p.vocab);
		same = !memcmp(chosen, r.experts, n * sizeof(*chosen));
	}
	printf("# bias %g, spread %g: %.1e\n", (double)bias, (double)spread, diff);
	close_both(&r, &m);
	free(logits);
	return same && diff < BOUND;
}

TEST_F_TIMEOUT(slow, bug02_large_biases_choose_but_do_not_weigh, 300)
{
	EXPECT_TRUE(chooses_and_weighs(0, 6));
	EXPECT_TRUE(chooses_and_weighs(30, 6));
}

TEST_F_TIMEOUT(slow, bug04_negative_biases_do_not_bring_back_dropped_groups, 300)
{
	EXPECT_TRUE(chooses_and_weighs(-2, 0.5f));
	EXPECT_TRUE(chooses_and_weighs(-30, 6));
}

/* Factor 2.5 behind the norm, factor 4 without one, one and two shared experts. */
TEST_F_TIMEOUT(slow, bug07_every_path_scales_the_experts_once, 300)
{
	static const char * const presets[] = { "v3tiny", "v2tiny" };

	for (int i = 0; i < 2; i++) {
		struct model_form form = { tinymoe_find(presets[i]), TINYMOE_F32, false, false };

		EXPECT_GT(BOUND, worst_of_chunks(&form));
		form.legacy = true;
		EXPECT_GT(BOUND, worst_of_chunks(&form));
		form.hf = true;
		EXPECT_GT(BOUND, worst_of_chunks(&form));
	}
}

TEST(bug07_a_factor_too_many_is_seen)
{
	const struct model_form form = { tinymoe_find("v3tiny"), TINYMOE_F32, false, false };
	struct tinymoe_model m;
	struct model_run r;

	ASSERT_EQ(0, open_both(&form, N_IDS, &r, &m));
	r.model.cfg.weight_scale *= 2.5f;
	ASSERT_EQ(0, model_run_prompt(&r, ids, N_IDS, N_IDS));
	EXPECT_LT(0.1, model_run_distance(&r, &m, ids));
	close_both(&r, &m);
}

TEST_F_TIMEOUT(slow, bug08_no_one_and_three_dense_layers, 300)
{
	static const uint32_t dense[] = { 0, 1, 3 };

	for (int i = 0; i < 3; i++) {
		struct tinymoe_preset p = *tinymoe_find("v3tiny");
		const struct model_form form = { &p, TINYMOE_F16, false, i & 1 };

		p.dense = dense[i];
		EXPECT_GT(BOUND, worst_of_chunks(&form)) TH_LOG("%u dense layers", p.dense);
	}
}

static float largest(const float *x, size_t n)
{
	float max = 0;

	for (size_t i = 0; i < n; i++)
		max = fmaxf(max, fabsf(x[i]));
	return max;
}

/* More than F16 holds, which nothing but the weights may be in. */
TEST(bug08_residuals_over_65504_with_f16_weights)
{
	struct tinymoe_preset p = *tinymoe_find("v3tiny");
	const struct model_form form = { &p, TINYMOE_F16, false, false };
	struct tinymoe_model m;
	struct model_run r;

	p.dense = 3;
	p.ffn_gain = 3000;
	ASSERT_EQ(0, open_both(&form, N_IDS, &r, &m));
	ASSERT_EQ(0, model_run_prompt(&r, ids, N_IDS, N_IDS));
	EXPECT_LT(65504, largest(r.fwd.x, (size_t)N_IDS * p.hidden));
	EXPECT_GT(BOUND, model_run_distance(&r, &m, ids));
	close_both(&r, &m);
}

/* The plain form has the same bits however it is cut; the absorbed one, by the token, is near. */
TEST_F_TIMEOUT(slow, bug10_chunks_against_the_pass_in_double, 300)
{
	const struct model_form form = { tinymoe_find("v3tiny"), TINYMOE_F32, false, false };
	size_t vocab = form.p->vocab;
	struct tinymoe_model m;
	struct model_run r;
	float *whole;

	ASSERT_EQ(0, open_both(&form, N_IDS, &r, &m));
	ASSERT_EQ(0, model_run_prompt(&r, ids, N_IDS, N_IDS));
	EXPECT_GT(BOUND, model_run_distance(&r, &m, ids));
	whole = r.logits;
	r.logits = NULL;
	ASSERT_EQ(0, model_run_prompt(&r, ids, N_IDS, 1));
	EXPECT_GT(BOUND, model_run_distance(&r, &m, ids));
	for (uint32_t chunk = 2; chunk < N_IDS; chunk++) {
		ASSERT_EQ(0, model_run_prompt(&r, ids, N_IDS, chunk));
		EXPECT_EQ(0, memcmp(whole, r.logits, N_IDS * vocab * sizeof(*whole)));
	}
	free(whole);
	close_both(&r, &m);
}

/* DeepSeek's head widths; what tiles and pages have, one less, one more, and primes. */
TEST_F_TIMEOUT(slow, bug11_lengths_around_a_tile, 300)
{
	static const uint32_t lengths[] = { 1, 2, 63, 64, 65, 67, 127, 128, 129, 131 };
	struct tinymoe_preset p = *tinymoe_find("v3tiny");
	const struct model_form form = { &p, TINYMOE_F32, false, false };
	const uint32_t longest = 131;
	uint32_t prompt[131];
	double *want = calloc((size_t)longest * p.vocab, sizeof(*want));
	struct tinymoe_model m;
	struct model_run r;

	p.layers = 1;
	p.heads = 2;
	p.nope = 128;
	p.rope = 64;
	p.v = 128;
	for (uint32_t i = 0; i < longest; i++)
		prompt[i] = i * 73 % p.vocab;
	ASSERT_EQ(0, open_both(&form, longest, &r, &m));
	ASSERT_EQ(0, tinymoe_forward(&m, prompt, longest, NULL, NULL, want));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t n = lengths[i];

		for (uint32_t chunk = 1; chunk <= n; chunk += n > 1 ? n - 1 : 1) {
			ASSERT_EQ(0, model_run_prompt(&r, prompt, n, chunk));
			EXPECT_GT(BOUND, model_run_max_diff(r.logits, want, (size_t)n * p.vocab))
				TH_LOG("%u tokens, chunk %u", n, chunk);
		}
	}
	free(want);
	close_both(&r, &m);
}

#define LONG_IDS 5001u

/* Far behind the first token, where a wrong temperature shows. */
static double worst_of_long(double mscale)
{
	struct tinymoe_preset p = *tinymoe_find("v2litetiny");
	const struct model_form form = { &p, TINYMOE_F32, true, false };
	uint32_t prompt[LONG_IDS];
	struct tinymoe_model m = { 0 };
	struct model_run r;
	double diff = INFINITY;

	p.layers = 1;
	p.mscale = mscale;
	for (uint32_t i = 0; i < LONG_IDS; i++)
		prompt[i] = i * 73 % p.vocab;
	memset(&r, 0, sizeof(r));
	if (!tinymoe_model_init(&m, &p, form.type, true, false, MODEL_RUN_SEED) &&
	    !model_run_open(&r, &form, LONG_IDS, 256) &&
	    !model_run_prompt(&r, prompt, LONG_IDS, 256))
		diff = model_run_distance(&r, &m, prompt);
	printf("# mscale %g, %u positions: %.1e\n", mscale, LONG_IDS, diff);
	close_both(&r, &m);
	return diff;
}

TEST_F_TIMEOUT(slow, bug12_mscale_up_to_position_5000, 300)
{
	EXPECT_GT(BOUND, worst_of_long(1));
	EXPECT_GT(BOUND, worst_of_long(0.707));
}

/* The first position cannot tell, so it must not be the only one looked at. */
TEST(bug12_a_forgotten_mscale_is_seen_behind_position_0)
{
	const struct model_form form = { tinymoe_find("v3tiny"), TINYMOE_F32, false, false };
	struct tinymoe_model m;
	struct model_run r;

	ASSERT_EQ(0, open_both(&form, N_IDS, &r, &m));
	r.fwd.scale = 1 / sqrtf((float)(form.p->nope + form.p->rope));
	ASSERT_EQ(0, model_run_prompt(&r, ids, N_IDS, N_IDS));
	EXPECT_LT(0.01, model_run_distance(&r, &m, ids));
	ASSERT_EQ(0, model_run_prompt(&r, ids, 1, 1));
	EXPECT_GT(BOUND, model_run_distance(&r, &m, ids));
	close_both(&r, &m);
}

/* Both rules are right for the models that were trained with them, and for no others. */
TEST_F_TIMEOUT(slow, bug15_the_other_rule_of_groups_is_another_model, 300)
{
	static const char * const presets[] = { "v3tiny", "v2tiny" };

	for (int i = 0; i < 2; i++) {
		const struct model_form form = { tinymoe_find(presets[i]), TINYMOE_F32, false,
						 false };
		uint32_t n = (form.p->layers - form.p->dense) * N_IDS * form.p->top_k, chosen[n];
		double *want = calloc((size_t)N_IDS * form.p->vocab, sizeof(*want));
		size_t size = (size_t)N_IDS * form.p->vocab;
		struct tinymoe_model m;
		struct model_run r;

		ASSERT_EQ(0, open_both(&form, N_IDS, &r, &m));
		ASSERT_EQ(0, tinymoe_forward(&m, ids, N_IDS, NULL, chosen, want));
		ASSERT_EQ(0, model_run_prompt(&r, ids, N_IDS, N_IDS));
		EXPECT_EQ(0, memcmp(chosen, r.experts, n * sizeof(*chosen)));
		EXPECT_GT(BOUND, model_run_max_diff(r.logits, want, size));
		r.model.cfg.group_rule ^= CMX_GROUP_MAX ^ CMX_GROUP_TOP2;
		ASSERT_EQ(0, model_run_prompt(&r, ids, N_IDS, N_IDS));
		EXPECT_LT(0.1, model_run_max_diff(r.logits, want, size));
		free(want);
		close_both(&r, &m);
	}
}

static int all_finite(const float *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(x[i]))
			return 0;
	}
	return 1;
}

/* What the layers up to the last one leave: residuals, logits, and weights that add up. */
static int layers_finite(const struct model_run *r, uint32_t rows)
{
	const struct cmx_model_config *c = &r->model.cfg;

	for (uint32_t t = 0; t < rows && cmx_model_n_moe(c); t++) {
		float sum = 0;

		for (uint32_t j = 0; j < c->n_used; j++)
			sum += r->fwd.weights[t * c->n_used + j];
		if (!(fabsf(sum - c->weight_scale) < 1e-5f))
			return 0;
	}
	return all_finite(r->fwd.x, (size_t)rows * c->hidden) &&
	       all_finite(r->logits, (size_t)r->n * c->vocab);
}

/* What is no number after a layer is none after the last one. */
TEST_F_TIMEOUT(slow, bug16_every_type_alone_and_in_a_batch_is_finite_in_every_layer, 300)
{
	static const enum tinymoe_type types[] = { TINYMOE_F32, TINYMOE_F16, TINYMOE_BF16,
						   TINYMOE_Q8_0, TINYMOE_Q4_0, TINYMOE_Q4_K,
						   TINYMOE_Q6_K };
	struct tinymoe_preset p = *tinymoe_find("v3tiny");

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct model_form form = { &p, types[i], i & 1, false };
		const char *name = tinymoe_type_name(types[i]);

		for (p.layers = 1; p.layers <= 4; p.layers += 3) {
			struct model_run r;

			ASSERT_EQ(0, model_run_open(&r, &form, N_IDS, N_IDS));
			ASSERT_EQ(0, model_run_prompt(&r, ids, N_IDS, 1));
			EXPECT_TRUE(layers_finite(&r, 1)) TH_LOG("%s, %u layers", name, p.layers);
			ASSERT_EQ(0, model_run_prompt(&r, ids, N_IDS, N_IDS));
			EXPECT_TRUE(layers_finite(&r, N_IDS))
				TH_LOG("%s, %u layers", name, p.layers);
			model_run_close(&r);
		}
	}
}

/* Buffers and cache are full of what another prompt left. */
TEST(bug26_rows_of_an_earlier_prompt_do_not_count)
{
	const struct model_form form = { tinymoe_find("v3tiny"), TINYMOE_Q4_K, false, false };
	struct model_run used, fresh;

	ASSERT_EQ(0, model_run_open(&used, &form, N_IDS, N_IDS));
	ASSERT_EQ(0, model_run_open(&fresh, &form, N_IDS, N_IDS));
	for (uint32_t n = 1; n < N_IDS; n += 3) {
		ASSERT_EQ(0, model_run_prompt(&used, ids, N_IDS, N_IDS));
		ASSERT_EQ(0, model_run_prompt(&used, ids + 1, n, n));
		ASSERT_EQ(0, model_run_prompt(&fresh, ids + 1, n, n));
		EXPECT_EQ(0, memcmp(used.logits, fresh.logits,
				    n * form.p->vocab * sizeof(*used.logits)));
	}
	model_run_close(&used);
	model_run_close(&fresh);
}

TEST_HARNESS_MAIN
