// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every weight format against a forward pass in double over the same rounded
 * weights, after one, two, three and four layers, with the engine's own routing:
 * a near-tie in the gate must not hide what a format does.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_forward.h"
#include "cmx_tinymoe_forward.h"
#include "host_die.h"
#include "hf_make.h"

#define N_IDS	5u
#define SEED	1234u

/*
 * The engine computes in F32 whatever the format is, and all formats but FP8
 * are restored without loss, so one bound serves them all. Logits spread by 3.
 */
#define BOUND	1e-4

static const uint32_t ids[N_IDS] = { 0, 445, 163, 385, 217 };
static struct cmx_infer_err err;

struct form {
	const char *preset;
	enum tinymoe_type type;
	bool legacy;
	bool hf;
};

struct result {
	float *logits;
	uint32_t *experts;	/* [MoE layer][token][used] */
};

static struct cmx_source *open_form(const struct form *form, const struct tinymoe_preset *p,
				    struct hf_make *dir)
{
	struct cmx_source *src = NULL;
	int fd, ret;
	FILE *f;

	if (form->hf) {
		hf_make_dir(dir);
		ret = tinymoe_write_hf(p, form->type, 2, SEED, dir->path);
		if (!ret)
			ret = cmx_source_open(dir->path, &src, &err);
	} else {
		fd = memfd_create("model", MFD_CLOEXEC);
		f = fdopen(dup(fd), "w");
		ret = f ? tinymoe_write(p, form->type, form->legacy, SEED, f) : -1;
		fclose(f);
		if (!ret)
			ret = cmx_source_open_fd(fd, &src, &err);
		close(fd);
	}
	if (ret)
		fprintf(stderr, "%d %s\n", ret, err.text);
	return src;
}

/* In steps of @chunk tokens, one at a time in the absorbed form. */
static int run_chunks(struct cmx_forward *f, uint32_t chunk, struct result *r)
{
	const struct cmx_model_config *c = &f->m->cfg;
	uint32_t moe = cmx_model_n_moe(c);
	const uint32_t pages[] = { 1, 0 };
	int ret = cmx_forward_prompt(f, 0, ids, N_IDS, &err);

	for (uint32_t pos = 0; pos < N_IDS && !ret; pos += chunk) {
		uint32_t n = N_IDS - pos < chunk ? N_IDS - pos : chunk;
		struct cmx_part part = {
			.pages = pages, .pos = pos, .n = n, .absorbed = chunk == 1, .want = n,
		};

		ret = cmx_forward_step(f, &part, 1, &err);
		memcpy(r->logits + pos * c->vocab, f->logits, n * c->vocab * sizeof(float));
		for (uint32_t l = 0; l < moe; l++)
			memcpy(r->experts + ((uint64_t)l * N_IDS + pos) * c->n_used,
			       cmx_forward_experts(f, l, 0), n * c->n_used * sizeof(uint32_t));
	}
	return ret;
}

/* What the engine makes of the model; free() both results. */
static int run_engine(const struct cmx_source *src, uint32_t chunk, struct result *r)
{
	const struct cmx_model_config *c = cmx_source_config(src);
	const struct cmx_forward_options opt = {
		.ctx = N_IDS, .rows = chunk, .seqs = 1, .pages = 2, .page_shift = 2,
		.all_logits = true,
	};
	struct cmx_die_options die_opt = { .isa = CMX_ISA_COUNT - 1, .threads = 1 };
	const struct cmx_load_options load = { 0 };
	struct cmx_model m = { 0 };
	struct cmx_forward f = { 0 };
	struct cmx_die *die = NULL;
	int ret;

	while (!cmx_npu_kernels(die_opt.isa))
		die_opt.isa--;
	r->logits = calloc(N_IDS * c->vocab, sizeof(float));
	r->experts = calloc((cmx_model_n_moe(c) + 1) * N_IDS * (c->n_used + 1), sizeof(uint32_t));
	ret = cmx_die_open(&die_opt, &die, &err);
	if (!ret)
		ret = cmx_model_load(src, die, &load, &m, &err);
	if (!ret)
		ret = cmx_forward_init(&f, &m, die, &opt, &err);
	if (!ret)
		ret = run_chunks(&f, chunk, r);
	cmx_forward_free(&f);
	cmx_model_free(&m);
	cmx_die_close(die);
	return ret;
}

static double distance(const float *got, const double *want, size_t n)
{
	double max = 0;

	for (size_t i = 0; i < n; i++) {
		double d = fabs((double)got[i] - want[i]);

		if (!(d <= max))
			max = isnan(d) ? INFINITY : d;
	}
	return max;
}

/* The largest difference for one depth and chunking, or infinity. */
static double compare(const struct form *form, struct tinymoe_model *m, uint32_t chunk)
{
	struct hf_make dir = { .path = "" };
	struct cmx_source *src = open_form(form, m->p, &dir);
	struct result r = { 0 };
	double *want = calloc(N_IDS * m->p->vocab, sizeof(*want)), diff = INFINITY;

	if (src && !run_engine(src, chunk, &r) &&
	    !tinymoe_forward(m, ids, N_IDS, r.experts, NULL, want))
		diff = distance(r.logits, want, N_IDS * m->p->vocab);
	else
		fprintf(stderr, "%s\n", err.text);
	cmx_source_close(src);
	hf_make_remove(&dir);
	free(r.logits);
	free(r.experts);
	free(want);
	return diff;
}

static int within_bound(const struct form *form)
{
	const struct tinymoe_preset *full = tinymoe_find(form->preset);
	struct tinymoe_preset p = *full;
	struct tinymoe_model m;
	double max = 0;

	if (tinymoe_model_init(&m, full, form->type, form->legacy, form->hf, SEED))
		return 0;
	m.p = &p;
	for (p.layers = 1; p.layers <= 4; p.layers++)
		max = fmax(max, compare(form, &m, p.layers % 2 ? 3 : 1));
	tinymoe_model_free(&m);
	printf("# %s %s%s%s: largest difference %.1e\n", form->preset,
	       tinymoe_type_name(form->type), form->legacy ? " legacy" : "",
	       form->hf ? " folder" : "", max);
	return max <= BOUND;
}

TEST(gguf_f32)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v3tiny", TINYMOE_F32, false, false }));
}

TEST(gguf_f16)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v3tiny", TINYMOE_F16, false, false }));
}

TEST(gguf_bf16)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v3tiny", TINYMOE_BF16, true, false }));
}

TEST(gguf_q8_0)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v3tiny", TINYMOE_Q8_0, true, false }));
}

TEST(gguf_q4_0)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v3tiny", TINYMOE_Q4_0, false, false }));
	EXPECT_TRUE(within_bound(&(struct form){ "v2tiny", TINYMOE_Q4_0, true, false }));
}

TEST(gguf_q4_k)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v3tiny", TINYMOE_Q4_K, false, false }));
}

TEST(gguf_q6_k)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v3tiny", TINYMOE_Q6_K, true, false }));
}

TEST(folder_f32)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v3tiny-mtp", TINYMOE_F32, false, true }));
}

TEST(folder_f16)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v2tiny", TINYMOE_F16, false, true }));
}

TEST(folder_bf16)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v2litetiny", TINYMOE_BF16, false, true }));
}

TEST(folder_fp8)
{
	EXPECT_TRUE(within_bound(&(struct form){ "v3tiny", TINYMOE_FP8, false, true }));
}

/* The two files hold the same numbers, so the engine must say the same, bit for bit. */
TEST(folder_and_legacy_gguf_give_the_same_bits)
{
	const struct form forms[] = { { "v3tiny", TINYMOE_BF16, true, false },
				      { "v3tiny", TINYMOE_BF16, false, true } };
	const struct tinymoe_preset *p = tinymoe_find("v3tiny");
	struct result r[2];

	for (int i = 0; i < 2; i++) {
		struct hf_make dir = { .path = "" };
		struct cmx_source *src = open_form(&forms[i], p, &dir);

		ASSERT_NE(NULL, src);
		ASSERT_EQ(0, run_engine(src, N_IDS, &r[i])) TH_LOG("%s", err.text);
		cmx_source_close(src);
		hf_make_remove(&dir);
	}
	EXPECT_EQ(0, memcmp(r[0].logits, r[1].logits, N_IDS * 512 * sizeof(float)));
	for (int i = 0; i < 2; i++) {
		free(r[i].logits);
		free(r[i].experts);
	}
}

TEST(a_wrong_weight_is_seen)
{
	const struct form form = { "v3tiny", TINYMOE_Q4_K, false, false };
	struct tinymoe_model m;

	ASSERT_EQ(0, tinymoe_model_init(&m, tinymoe_find("v3tiny"), TINYMOE_Q4_0, false, false,
					SEED));
	EXPECT_LT(0.01, compare(&form, &m, N_IDS));
	tinymoe_model_free(&m);
}

TEST_HARNESS_MAIN
