// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every weight format against a forward pass in double over the same rounded
 * weights, after one, two, three and four layers, with the engine's own routing:
 * a near-tie in the gate must not hide what a format does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "model_run.h"

#define N_IDS	5u
#define CHUNK	3u

static const uint32_t ids[N_IDS] = { 0, 445, 163, 385, 217 };

/*
 * Largest difference of any logit for each layer that was passed, by type;
 * docs/engine.md has the same table. All formats are restored without loss and
 * all sums are F32, so only the rounding of the sums is left.
 */
static const struct {
	enum tinymoe_type type;
	double bound;
} bounds[] = {
	{ TINYMOE_F32, 1e-5 }, { TINYMOE_F16, 1e-5 }, { TINYMOE_BF16, 1e-5 },
	{ TINYMOE_Q8_0, 1e-5 }, { TINYMOE_Q4_0, 1e-5 }, { TINYMOE_Q4_K, 1e-5 },
	{ TINYMOE_Q6_K, 1e-5 }, { TINYMOE_FP8, 1e-5 },
};

static double bound_of(enum tinymoe_type type)
{
	size_t i = 0;

	while (bounds[i].type != type)
		i++;
	return bounds[i].bound;
}

/* One depth: a token at a time, then several. Infinity if it does not run. */
static double compare(const struct model_form *form, const struct tinymoe_model *m)
{
	struct model_run r;
	double max = 0;
	int ret = model_run_open(&r, form, N_IDS, CHUNK);

	for (uint32_t chunk = 1; chunk <= CHUNK && !ret; chunk += CHUNK - 1) {
		ret = model_run_prompt(&r, ids, N_IDS, chunk);
		if (!ret)
			max = fmax(max, model_run_distance(&r, m, ids));
	}
	model_run_close(&r);
	return ret ? INFINITY : max;
}

static int within_bound(const char *preset, enum tinymoe_type type, bool legacy, bool hf)
{
	const struct tinymoe_preset *full = tinymoe_find(preset);
	struct tinymoe_preset p = *full;
	const struct model_form form = { &p, type, legacy, hf };
	struct tinymoe_model m;
	int ok = 1;

	if (tinymoe_model_init(&m, full, type, legacy, hf, MODEL_RUN_SEED))
		return 0;
	m.p = &p;
	printf("# %s %s%s%s, layers 1 to 4:", preset, tinymoe_type_name(type),
	       legacy ? " legacy" : "", hf ? " folder" : "");
	for (p.layers = 1; p.layers <= 4; p.layers++) {
		double diff = compare(&form, &m);

		printf(" %.1e", diff);
		ok = ok && diff <= bound_of(type) * p.layers;
	}
	printf("\n");
	tinymoe_model_free(&m);
	return ok;
}

TEST(gguf_f32)
{
	EXPECT_TRUE(within_bound("v3tiny", TINYMOE_F32, false, false));
	EXPECT_TRUE(within_bound("v3tiny", TINYMOE_F32, true, false));
}

TEST(gguf_f16)
{
	EXPECT_TRUE(within_bound("v3tiny", TINYMOE_F16, false, false));
	EXPECT_TRUE(within_bound("v2tiny", TINYMOE_F16, true, false));
}

TEST(gguf_bf16)
{
	EXPECT_TRUE(within_bound("v2litetiny", TINYMOE_BF16, false, false));
	EXPECT_TRUE(within_bound("v3tiny", TINYMOE_BF16, true, false));
}

TEST(gguf_q8_0)
{
	EXPECT_TRUE(within_bound("v2tiny", TINYMOE_Q8_0, false, false));
	EXPECT_TRUE(within_bound("v3tiny", TINYMOE_Q8_0, true, false));
}

TEST(gguf_q4_0)
{
	EXPECT_TRUE(within_bound("v3tiny", TINYMOE_Q4_0, false, false));
	EXPECT_TRUE(within_bound("v2tiny", TINYMOE_Q4_0, true, false));
}

TEST(gguf_q4_k)
{
	EXPECT_TRUE(within_bound("v3tiny", TINYMOE_Q4_K, false, false));
	EXPECT_TRUE(within_bound("v2tiny", TINYMOE_Q4_K, true, false));
}

TEST(gguf_q6_k)
{
	EXPECT_TRUE(within_bound("v2tiny", TINYMOE_Q6_K, false, false));
	EXPECT_TRUE(within_bound("v3tiny", TINYMOE_Q6_K, true, false));
}

TEST(folder_f32)
{
	EXPECT_TRUE(within_bound("v3tiny-mtp", TINYMOE_F32, false, true));
}

TEST(folder_f16)
{
	EXPECT_TRUE(within_bound("v2tiny", TINYMOE_F16, false, true));
}

TEST(folder_bf16)
{
	EXPECT_TRUE(within_bound("v2litetiny", TINYMOE_BF16, false, true));
}

TEST(folder_fp8)
{
	EXPECT_TRUE(within_bound("v3tiny", TINYMOE_FP8, false, true));
	EXPECT_TRUE(within_bound("v2litetiny", TINYMOE_FP8, false, true));
}

/* The two files hold the same numbers, so the engine must say the same, bit for bit. */
TEST(folder_and_legacy_gguf_give_the_same_bits)
{
	const struct tinymoe_preset *p = tinymoe_find("v3tiny");
	const struct model_form forms[] = { { p, TINYMOE_BF16, true, false },
					    { p, TINYMOE_BF16, false, true } };
	struct model_run r[2];

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, model_run_open(&r[i], &forms[i], N_IDS, N_IDS));
		ASSERT_EQ(0, model_run_prompt(&r[i], ids, N_IDS, N_IDS));
	}
	EXPECT_EQ(0, memcmp(r[0].logits, r[1].logits, N_IDS * p->vocab * sizeof(float)));
	for (int i = 0; i < 2; i++)
		model_run_close(&r[i]);
}

/* A type whose scales are read a little wrong is not one that passes. */
TEST(a_wrong_weight_is_seen)
{
	const struct model_form form = { tinymoe_find("v3tiny"), TINYMOE_Q4_K, false, false };
	struct tinymoe_model m;

	ASSERT_EQ(0, tinymoe_model_init(&m, form.p, TINYMOE_Q4_0, false, false, MODEL_RUN_SEED));
	EXPECT_LT(0.01, compare(&form, &m));
	tinymoe_model_free(&m);
}

TEST_HARNESS_MAIN
