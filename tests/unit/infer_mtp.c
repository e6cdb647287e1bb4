// SPDX-License-Identifier: GPL-2.0-only
/*
 * The block that predicts a second token: its logits against references and a
 * pass in double, drafts and their verification, and models that lack parts of it.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_infer_options.h"
#include "cmx_mtp.h"
#include "cmx_tinymoe_forward.h"
#include "host_die.h"
#include "model_run.h"

#define CTX	120u
#define TOL	1e-4

/* Logits spread by 3: what a wrong input does to them is far from rounding. */
#define WRONG	0.1

/* Of guesses for given text, says the README of kjv-moe. */
#define README_PERCENT	90

static struct cmx_infer_err err;

/* A model of some form, and what it takes to run it. */
struct engine {
	struct cmx_source *src;
	struct cmx_die *die;
	struct cmx_model model;
	struct cmx_forward fwd;
	struct hf_make dir;
};

struct form {
	const char *preset;	/* or a file, if it has a slash */
	enum tinymoe_type type;
	bool legacy;
	bool hf;
};

static struct model_form model_form(const struct form *form)
{
	return (struct model_form){
		tinymoe_find(form->preset), form->type, form->legacy, form->hf
	};
}

static int write_memory(const struct form *form)
{
	const struct model_form f = model_form(form);

	return model_run_file(&f);
}

static int open_source(struct engine *e, const struct form *form)
{
	const struct model_form f = model_form(form);

	if (strchr(form->preset, '/'))
		return cmx_source_open(form->preset, &e->src, &err);
	e->src = model_run_source(&f, &e->dir, &err);
	return e->src ? 0 : -EIO;
}

static int load_model(struct engine *e, bool mtp, uint64_t run_bytes)
{
	const struct cmx_load_options load = { .mtp = mtp, .buffer_bytes = run_bytes };
	const struct cmx_machine_options die = { .isa = model_run_isa(), .threads = 1 };
	int ret = host_die_open(&die, &e->die, &err);

	return ret ? ret : cmx_model_load(e->src, e->die, &load, &e->model, &err);
}

static uint32_t pages[(CTX + 15) / 16];

static int engine_open(struct engine *e, const struct form *form, uint32_t rows)
{
	const uint32_t n = sizeof(pages) / sizeof(pages[0]);
	const struct cmx_forward_options opt = {
		.ctx = CTX, .rows = rows, .seqs = 1, .pages = n, .page_shift = 4,
		.all_logits = true, .mtp = true,
	};
	int ret;

	for (uint32_t i = 0; i < n; i++)
		pages[i] = n - 1 - i;
	memset(e, 0, sizeof(*e));
	ret = open_source(e, form);
	if (!ret)
		ret = load_model(e, true, 0);
	return ret ? ret : cmx_forward_init(&e->fwd, &e->model, e->die, &opt, &err);
}

static void engine_close(struct engine *e)
{
	cmx_forward_free(&e->fwd);
	cmx_model_free(&e->model);
	host_die_close(e->die);
	cmx_source_close(e->src);
	if (e->dir.path[0])
		hf_make_remove(&e->dir);
}

/* What the MTP block is given instead of the normed hidden states. */
enum spoil {
	NOTHING,
	NOT_NORMED,	/* the hidden states as they are before the last norm */
	ONE_LATE,	/* those of the position before */
};

static void spoil_hidden(const struct cmx_forward *f, uint32_t n, enum spoil spoil)
{
	size_t row = f->m->cfg.hidden;

	if (spoil == NOT_NORMED)
		memcpy(f->hidden, f->x, n * row * sizeof(float));
	else if (spoil == ONE_LATE)
		memmove(f->hidden + row, f->hidden, (n - 1) * row * sizeof(float));
}

/* One step of the main model and the same of the MTP block. */
static int run_step(struct engine *e, uint32_t pos, uint32_t n, bool absorbed, enum spoil spoil)
{
	struct cmx_part part = {
		.pages = pages, .pos = pos, .n = n, .absorbed = absorbed, .want = n,
	};
	int ret = cmx_forward_step(&e->fwd, &part, 1, &err);

	spoil_hidden(&e->fwd, n, spoil);
	part.source = part.first_row;
	return ret ? ret : cmx_mtp_step(&e->fwd, &part, 1, &err);
}

/* Logits of the pairs of @n tokens, [n - 1][vocab]; free() them. */
static float *run_pairs(struct engine *e, const uint32_t *ids, uint32_t n, enum spoil spoil)
{
	uint32_t vocab = e->model.cfg.vocab, rows = e->fwd.opt.rows;
	float *out = calloc((size_t)n * vocab, sizeof(*out));
	int ret = cmx_forward_prompt(&e->fwd, 0, ids, n, &err);

	for (uint32_t pos = 0; pos < n - 1 && !ret; pos += rows) {
		uint32_t step = n - 1 - pos < rows ? n - 1 - pos : rows;

		/* A step of one token is like one that generates. */
		ret = run_step(e, pos, step, step == 1, spoil);
		memcpy(out + (size_t)pos * vocab, e->fwd.logits,
		       (size_t)step * vocab * sizeof(*out));
	}
	if (!ret)
		return out;
	free(out);
	return NULL;
}

static int near(const char *what, uint32_t chunk, const float *got, const float *want, size_t n)
{
	double diff = got ? model_run_apart(got, want, n) : INFINITY;

	if (diff <= TOL)
		return 1;
	fprintf(stderr, "%s chunk %u: %g %s\n", what, chunk, diff, err.text);
	return 0;
}

/* Against REF.mtp.logits.f32, for the prompt in @prompt. */
static int near_reference(const struct form *form, const char *prompt, const char *ref,
			  uint32_t chunk)
{
	uint32_t *ids, n;
	char path[160];
	struct engine e;
	float *got = NULL, *want;
	int ok;

	if (cmx_infer_read_ids(prompt, &ids, &n, &err))
		abort();
	if (!engine_open(&e, form, chunk))
		got = run_pairs(&e, ids, n, NOTHING);
	snprintf(path, sizeof(path), "%s.mtp.logits.f32", ref);
	want = model_run_floats(path, (size_t)(n - 1) * e.model.cfg.vocab);
	ok = near(ref, chunk, got, want, (size_t)(n - 1) * e.model.cfg.vocab);
	engine_close(&e);
	free(got);
	free(want);
	free(ids);
	return ok;
}

#define REF	"tests/models/ref/"
#define KJV	"tests/models/kjv-moe/"

static int near_both(const struct form *form)
{
	return near_reference(form, REF "p16.txt", REF "v3tiny-mtp.p16", 1) &&
	       near_reference(form, REF "p16.txt", REF "v3tiny-mtp.p16", 7) &&
	       near_reference(form, REF "p100.txt", REF "v3tiny-mtp.p100", 33);
}

TEST(bug25_draft_logits_are_those_of_the_references)
{
	EXPECT_TRUE(near_both(&(struct form){ "v3tiny-mtp", TINYMOE_F32, false, false }));
}

TEST(bug25_draft_logits_of_legacy_files)
{
	EXPECT_TRUE(near_both(&(struct form){ "v3tiny-mtp", TINYMOE_F32, true, false }));
}

TEST(bug25_draft_logits_of_folders)
{
	EXPECT_TRUE(near_both(&(struct form){ "v3tiny-mtp", TINYMOE_F32, false, true }));
}

TEST(bug25_draft_logits_of_a_trained_model)
{
	const struct form form = { KJV "kjv-moe.f32.gguf", TINYMOE_F32, false, false };

	EXPECT_TRUE(near_reference(&form, KJV "ref/pA.txt", KJV "ref/kjv-moe.pA", 16));
	EXPECT_TRUE(near_reference(&form, KJV "ref/p100.txt", KJV "ref/kjv-moe.p100", 64));
}

static const uint32_t some_ids[] = { 0, 445, 163, 385, 217, 229 };

#define N_SOME	6u

/* What the pass in double makes of the same model; @normed as it says. */
static float *in_double(const struct form *form, bool normed)
{
	const struct tinymoe_preset *p = tinymoe_find(form->preset);
	size_t n = (N_SOME - 1) * p->vocab;
	double *wide = calloc(n, sizeof(*wide));
	float *out = calloc(n, sizeof(*out));
	struct tinymoe_model m;

	if (!wide || !out ||
	    tinymoe_model_init(&m, p, form->type, form->legacy, form->hf, MODEL_RUN_SEED) ||
	    tinymoe_mtp(&m, some_ids, N_SOME, normed, wide))
		abort();
	for (size_t i = 0; i < n; i++)
		out[i] = (float)wide[i];
	tinymoe_model_free(&m);
	free(wide);
	return out;
}

/* Its own embedding and head where it has some, and whatever the weights are stored as. */
TEST(bug25_draft_logits_of_every_form)
{
	static const struct form forms[] = {
		{ "v3tiny-mtp", TINYMOE_Q8_0, false, false },
		{ "v3tiny-mtp", TINYMOE_FP8, false, true },
		{ "v3tiny-mtp-ends", TINYMOE_F32, false, false },
		{ "v3tiny-mtp-ends", TINYMOE_Q4_K, true, false },
		{ "v3tiny-mtp-ends", TINYMOE_BF16, false, true },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		float *want = in_double(&forms[i], true), *got = NULL;
		struct engine e;

		if (!engine_open(&e, &forms[i], 4))
			got = run_pairs(&e, some_ids, N_SOME, NOTHING);
		EXPECT_TRUE(near(forms[i].preset, 4, got, want, (N_SOME - 1) * 512));
		engine_close(&e);
		free(got);
		free(want);
	}
}

/* How many of the references' best tokens are the logits' best ones. */
static uint32_t agreement(const float *got, const float *want, uint32_t n, uint32_t vocab)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t a = 0, b = 0;

		for (uint32_t j = 0; j < vocab; j++) {
			a = got[i * vocab + j] > got[i * vocab + a] ? j : a;
			b = want[i * vocab + j] > want[i * vocab + b] ? j : b;
		}
		same += a == b;
	}
	return same;
}

/* Adds what the guesses are for one prompt, given its text. */
static void add_prompt(const char *prompt, enum spoil spoil, uint32_t *right, uint32_t *all)
{
	const struct form form = { KJV "kjv-moe.f32.gguf", TINYMOE_F32, false, false };
	uint32_t *ids, n, vocab;
	char path[128];
	struct engine e;
	float *got = NULL, *main_head;

	snprintf(path, sizeof(path), KJV "ref/%s.txt", prompt);
	if (cmx_infer_read_ids(path, &ids, &n, &err))
		abort();
	if (!engine_open(&e, &form, CTX))
		got = run_pairs(&e, ids, n, spoil);
	vocab = e.model.cfg.vocab;
	snprintf(path, sizeof(path), KJV "ref/kjv-moe.%s.logits.f32", prompt);
	main_head = model_run_floats(path, (size_t)n * vocab);
	if (got)
		*right += agreement(got, main_head + vocab, n - 1, vocab);
	*all += n - 1;
	engine_close(&e);
	free(got);
	free(main_head);
	free(ids);
}

/* How often a guess is what the main model finds likeliest, in percent. */
static double acceptance(enum spoil spoil)
{
	uint32_t right = 0, all = 0;

	add_prompt("pA", spoil, &right, &all);
	add_prompt("p100", spoil, &right, &all);
	return 100.0 * right / all;
}

/* The mistakes of those reports would be far outside the tolerance, or few guesses right. */
TEST(bug25_a_wrong_hidden_state_would_be_seen)
{
	const struct form form = { "v3tiny-mtp", TINYMOE_F32, false, false };
	float *right = in_double(&form, true), *wrong = in_double(&form, false), *got = NULL;
	struct engine e;
	double good = acceptance(NOTHING);

	EXPECT_LT(WRONG, model_run_apart(right, wrong, (N_SOME - 1) * 512));
	ASSERT_EQ(0, engine_open(&e, &form, CTX));
	got = run_pairs(&e, some_ids, N_SOME, NOT_NORMED);
	ASSERT_NE(NULL, got);
	EXPECT_TRUE(near("not normed", CTX, got, wrong, (N_SOME - 1) * 512));
	engine_close(&e);
	free(got);
	free(right);
	free(wrong);
	/* The block norms its input again: the trained model's guesses hardly tell this mistake. */
	EXPECT_LE(README_PERCENT - 2, good);
	EXPECT_GE(README_PERCENT + 2, good);
	EXPECT_GT(good / 2, acceptance(ONE_LATE));
}

static uint64_t bytes_of(const struct form *form, bool mtp)
{
	struct engine e = { 0 };
	uint64_t bytes = 0;

	if (!open_source(&e, form) && !load_model(&e, mtp, 0))
		bytes = e.model.weight_bytes;
	engine_close(&e);
	return bytes;
}

/* A block that is not wanted takes no memory, one that is wanted is counted. */
TEST(memory_of_the_block)
{
	const struct form plain = { "v3tiny", TINYMOE_F32, false, false };
	const struct form shared = { "v3tiny-mtp", TINYMOE_F32, false, false };
	const struct form own = { "v3tiny-mtp-ends", TINYMOE_F32, false, false };
	uint64_t without = bytes_of(&plain, false), with = bytes_of(&shared, true);
	struct engine e = { 0 };

	ASSERT_NE(0, without);
	EXPECT_EQ(without, bytes_of(&shared, false));
	EXPECT_EQ(without, bytes_of(&own, false));
	EXPECT_LT(without + 4 * (2 * 256 * 256 + 3 * 256), with);
	EXPECT_EQ(with + 2 * 4 * 512 * 256, bytes_of(&own, true));
	host_die_room = with + 4;
	ASSERT_EQ(0, open_source(&e, &shared));
	EXPECT_EQ(-ENOSPC, load_model(&e, true, 5));
	EXPECT_NE(NULL, strstr(err.text, "0 for the KV cache and 5 for buffers"));
	engine_close(&e);
	e = (struct engine){ 0 };
	ASSERT_EQ(0, open_source(&e, &shared));
	EXPECT_EQ(0, load_model(&e, false, 5));
	host_die_room = 1ull << 40;
	engine_close(&e);
}

TEST(no_block_to_load)
{
	const struct form form = { "v3tiny", TINYMOE_F32, false, false };
	struct engine e = { 0 };

	ASSERT_EQ(0, open_source(&e, &form));
	EXPECT_EQ(-EINVAL, load_model(&e, true, 0));
	EXPECT_NE(NULL, strstr(err.text, "no MTP block"));
	engine_close(&e);
}

/* Loads a GGUF file in which the first @from is @to; they have one length. */
static int load_patched(const char *from, const char *to, bool mtp)
{
	const struct form form = { "v3tiny-mtp-ends", TINYMOE_F32, false, false };
	char head[32768], *at;
	struct engine e = { 0 };
	int fd, ret;

	fd = write_memory(&form);
	if (pread(fd, head, sizeof(head), 0) != sizeof(head))
		abort();
	at = memmem(head, sizeof(head), from, strlen(from));
	if (!at || pwrite(fd, to, strlen(to), at - head) != (ssize_t)strlen(to))
		abort();
	err.text[0] = 0;
	ret = cmx_source_open_fd(fd, &e.src, &err);
	if (!ret)
		ret = load_model(&e, mtp, 0);
	engine_close(&e);
	close(fd);
	return ret;
}

/* Whether the block is wanted or not: a damaged file is refused. */
TEST(tensors_that_are_missing)
{
	static const char * const names[] = {
		"blk.4.nextn.eh_proj.weight", "blk.4.nextn.enorm.weight",
		"blk.4.nextn.hnorm.weight", "blk.4.nextn.shared_head_norm.weight",
		"blk.4.attn_kv_a_mqa.weight", "blk.4.ffn_up_exps.weight", "blk.4.exp_probs_b.bias",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (int mtp = 0; mtp < 2; mtp++) {
			char other[64];

			snprintf(other, sizeof(other), "%s", names[i]);
			other[6] = 'X';
			EXPECT_GT(0, load_patched(names[i], other, mtp));
			EXPECT_NE(NULL, strstr(err.text, names[i])) TH_LOG("%s", err.text);
		}
	}
}

/* Sets dimension @d of a tensor's entry in the file to @to, and tries to load it. */
static int load_with_dim(const char *name, int d, uint64_t to)
{
	const struct form form = { "v3tiny-mtp-ends", TINYMOE_F32, false, false };
	char head[32768], *at;
	struct engine e = { 0 };
	int fd, ret;

	fd = write_memory(&form);
	if (pread(fd, head, sizeof(head), 0) != sizeof(head))
		abort();
	at = memmem(head, sizeof(head), name, strlen(name));
	if (!at || pwrite(fd, &to, 8, at - head + (off_t)strlen(name) + 4 + 8 * d) != 8)
		abort();
	err.text[0] = 0;
	ret = cmx_source_open_fd(fd, &e.src, &err);
	if (!ret)
		ret = load_model(&e, true, 0);
	engine_close(&e);
	close(fd);
	return ret;
}

TEST(shapes_that_do_not_fit)
{
	static const struct {
		const char *name;
		int dim;
		uint64_t to;
	} cases[] = {
		{ "blk.4.nextn.eh_proj.weight", 0, 256 },
		{ "blk.4.nextn.eh_proj.weight", 1, UINT64_MAX },
		{ "blk.4.nextn.enorm.weight", 0, 255 },
		{ "blk.4.nextn.hnorm.weight", 0, 0 },
		{ "blk.4.nextn.shared_head_norm.weight", 0, 512 },
		{ "blk.4.nextn.embed_tokens.weight", 1, 511 },
		{ "blk.4.nextn.shared_head_head.weight", 0, 1ull << 61 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EXPECT_GT(0, load_with_dim(cases[i].name, cases[i].dim, cases[i].to));
		/* Where the size is wrong too, the next tensor is out of place. */
		EXPECT_NE(NULL, strstr(err.text, "'blk.4.nextn.")) TH_LOG("%s", err.text);
	}
}

/* Loads a folder in whose header the first @from behind @name is @to; they have one length. */
static int load_folder_with(const char *name, const char *from, const char *to)
{
	struct engine e = { 0 };
	char path[128], head[32768], *at;
	int ret;
	FILE *f;

	hf_make_dir(&e.dir);
	ret = tinymoe_write_hf(tinymoe_find("v3tiny-mtp-ends"), TINYMOE_BF16, 1, MODEL_RUN_SEED,
			       e.dir.path);
	snprintf(path, sizeof(path), "%s/model.safetensors", e.dir.path);
	f = fopen(path, "r+e");
	if (ret || !f || fread(head, 1, sizeof(head), f) != sizeof(head))
		abort();
	at = memmem(head, sizeof(head), name, strlen(name));
	at = at ? memmem(at, 256, from, strlen(from)) : NULL;
	if (!at || fseek(f, at - head, SEEK_SET) || fwrite(to, strlen(to), 1, f) != 1 || fclose(f))
		abort();
	err.text[0] = 0;
	ret = cmx_source_open(e.dir.path, &e.src, &err);
	if (!ret)
		ret = load_model(&e, true, 0);
	engine_close(&e);
	return ret;
}

TEST(tensors_of_a_folder_that_do_not_fit)
{
	static const struct {
		const char *name, *from, *to;
	} cases[] = {
		{ "model.layers.4.eh_proj.weight", "[256,512]", "[512,256]" },
		{ "model.layers.4.embed_tokens.weight", "[512,256]", "[256,512]" },
		{ "model.layers.4.shared_head.head.weight", "[512,256]", "[256,512]" },
		{ "model.layers.4.hnorm.weight", "hnorm", "hNorm" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EXPECT_GT(0, load_folder_with(cases[i].name, cases[i].from, cases[i].to));
		EXPECT_NE(NULL, strstr(err.text, cases[i].name)) TH_LOG("%s", err.text);
	}
}

TEST_HARNESS_MAIN
