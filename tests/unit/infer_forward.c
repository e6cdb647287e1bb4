// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole pass against reference logits, with the engine's own kernels on a
 * stand-in die: both file forms, both forms of attention, several chunkings, grids
 * and SIMD levels. Also model files whose tensors do not fit their metadata.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_forward.h"
#include "cmx_infer_options.h"
#include "cmx_tinymoe.h"
#include "host_die.h"
#include "model_run.h"

#define REF	"tests/models/ref/"
#define CTX	120u
#define TOL	1e-4

struct engine {
	struct cmx_die *die;
	struct cmx_model model;
	struct cmx_forward fwd;
};

static struct cmx_infer_err err;
static bool absorbed;	/* the form that prompts take */

static int make_model(const char *preset, enum tinymoe_type type, bool legacy)
{
	const struct model_form form = { tinymoe_find(preset), type, legacy, false };

	return model_run_file(&form);
}

/* Pages of 16 positions, handed out from the last one down. */
static uint32_t pages[(CTX + 15) / 16];

static int engine_open(struct engine *e, int fd, const struct cmx_machine_options *die,
		       uint32_t rows)
{
	const uint32_t n = sizeof(pages) / sizeof(pages[0]);
	const struct cmx_forward_options opt = {
		.ctx = CTX, .rows = rows, .seqs = 1, .pages = n, .page_shift = 4,
		.all_logits = true, .absorb = true,
	};
	struct cmx_forward_options plain = opt;
	const struct cmx_load_options load = { 0 };
	struct cmx_source *src = NULL;
	int ret = cmx_source_open_fd(fd, &src, &err);

	for (uint32_t i = 0; i < n; i++)
		pages[i] = n - 1 - i;
	plain.absorb = false;
	memset(e, 0, sizeof(*e));
	if (!ret)
		ret = host_die_open(die, &e->die, &err);
	if (!ret)
		ret = cmx_model_load(src, e->die, &load, &e->model, &err);
	if (!ret)
		ret = cmx_forward_init(&e->fwd, &e->model, e->die, absorbed ? &opt : &plain, &err);
	cmx_source_close(src);
	return ret;
}

static void engine_close(struct engine *e)
{
	cmx_forward_free(&e->fwd);
	cmx_model_free(&e->model);
	host_die_close(e->die);
}

static struct cmx_part prompt_part(uint32_t pos, uint32_t n)
{
	return (struct cmx_part){
		.pages = pages, .pos = pos, .n = n, .absorbed = absorbed, .want = n,
	};
}

/* Logits of all @n tokens, free() them; NULL after a failure. */
static float *run_prompt(struct engine *e, const uint32_t *ids, uint32_t n)
{
	uint32_t vocab = e->model.cfg.vocab, rows = e->fwd.opt.rows;
	float *out = malloc((size_t)n * vocab * sizeof(*out));
	int ret = cmx_forward_prompt(&e->fwd, 0, ids, n, &err);

	for (uint32_t pos = 0; pos < n && !ret; pos += rows) {
		uint32_t step = n - pos < rows ? n - pos : rows;
		struct cmx_part part = prompt_part(pos, step);

		ret = cmx_forward_step(&e->fwd, &part, 1, &err);
		memcpy(out + (size_t)pos * vocab, e->fwd.logits,
		       (size_t)step * vocab * sizeof(*out));
	}
	if (!ret)
		return out;
	free(out);
	return NULL;
}

/* Largest difference to the reference, or -1. */
static double against_reference(int fd, const char *name, const char *prompt, uint32_t chunk,
				enum cmx_isa isa)
{
	const struct cmx_machine_options die = { .isa = isa, .threads = 1 };
	uint32_t *ids, n;
	struct engine e;
	float *got = NULL, *want;
	char path[128];
	double diff = -1;

	snprintf(path, sizeof(path), REF "%s.txt", prompt);
	if (cmx_infer_read_ids(path, &ids, &n, &err))
		return -1;
	snprintf(path, sizeof(path), REF "%s.%s.logits.f32", name, prompt);
	want = model_run_floats(path, n * 512);
	if (!engine_open(&e, fd, &die, chunk))
		got = run_prompt(&e, ids, n);
	if (got)
		diff = model_run_apart(got, want, n * 512);
	engine_close(&e);
	free(got);
	free(want);
	free(ids);
	return diff;
}

/* On the fastest level there is; the others are compared with it elsewhere. In both forms. */
static int near_reference(int fd, const char *name, const char *prompt, uint32_t chunk)
{
	int ok = 1;

	for (int form = 0; form < 2; form++) {
		double diff;

		absorbed = form;
		diff = against_reference(fd, name, prompt, chunk, model_run_isa());
		if (diff >= 0 && diff < TOL)
			continue;
		fprintf(stderr, "%s %s chunk %u form %d: %g %s\n", name, prompt, chunk, form,
			diff, err.text);
		ok = 0;
	}
	absorbed = false;
	return ok;
}

TEST(v3)
{
	int fd = make_model("v3tiny", TINYMOE_F32, false);

	EXPECT_TRUE(near_reference(fd, "v3tiny", "p16", 1));
	host_die_blocks = 7;
	EXPECT_TRUE(near_reference(fd, "v3tiny", "p16", 7));
	EXPECT_TRUE(near_reference(fd, "v3tiny", "p100", 100));
	close(fd);
}

TEST(v3_legacy)
{
	int fd = make_model("v3tiny", TINYMOE_F32, true);

	EXPECT_TRUE(near_reference(fd, "v3tiny", "p16", 1));
	EXPECT_TRUE(near_reference(fd, "v3tiny", "p16", 7));
	close(fd);
}

/* The best of a group counts, not the sum of its two best. */
TEST(v2)
{
	int fd = make_model("v2tiny", TINYMOE_F32, false);

	EXPECT_TRUE(near_reference(fd, "v2tiny", "p16", 7));
	close(fd);
}

TEST(v2_legacy)
{
	int fd = make_model("v2tiny", TINYMOE_F32, true);

	EXPECT_TRUE(near_reference(fd, "v2tiny", "p16", 16));
	close(fd);
}

TEST(a_difference_is_seen)
{
	const float a[] = { 1, 2, 3 }, b[] = { 1, 2, 3.5f }, c[] = { 1, NAN, 3 };

	EXPECT_EQ(0.5, model_run_apart(a, b, 3));
	EXPECT_EQ(INFINITY, model_run_apart(a, c, 3));
	EXPECT_EQ(INFINITY, model_run_apart(c, c, 3));
}

TEST(v2_lite)
{
	int fd = make_model("v2litetiny", TINYMOE_F32, false);

	EXPECT_TRUE(near_reference(fd, "v2litetiny", "p16", 16));
	close(fd);
}

TEST(v2_lite_legacy)
{
	int fd = make_model("v2litetiny", TINYMOE_F32, true);

	EXPECT_TRUE(near_reference(fd, "v2litetiny", "p16", 1));
	close(fd);
}

TEST(main_head_of_a_model_with_mtp)
{
	int fd = make_model("v3tiny-mtp", TINYMOE_F32, false);

	EXPECT_TRUE(near_reference(fd, "v3tiny-mtp", "p16", 7));
	close(fd);
}

/* Levels that round alike give equal bits: those without FMA, and those with it. */
static int rounds_once(enum cmx_isa isa)
{
	return isa >= CMX_ISA_AVX2;
}

static float *run_level(int fd, enum cmx_isa isa, uint32_t blocks)
{
	const struct cmx_machine_options die = { .isa = isa, .threads = 1 };
	const uint32_t ids[] = { 0, 445, 163 };
	float *got = NULL;
	struct engine e;

	host_die_blocks = blocks;
	if (!engine_open(&e, fd, &die, 2))
		got = run_prompt(&e, ids, 3);
	engine_close(&e);
	return got;
}

/* For every weight type; across the two kinds of levels within the tolerance of references. */
TEST(bug18_bits_do_not_depend_on_grid_or_level_of_a_kind)
{
	static const enum tinymoe_type types[] = { TINYMOE_F32, TINYMOE_F16, TINYMOE_BF16,
						   TINYMOE_Q8_0, TINYMOE_Q4_0,
						   TINYMOE_Q4_K, TINYMOE_Q6_K };

	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		int fd = make_model("v3tiny", types[t], false);
		float *first[2] = { NULL, NULL };

		for (int i = 0; i < 2 * CMX_ISA_COUNT; i++) {
			enum cmx_isa isa = i / 2;
			float **want = &first[rounds_once(isa)], *got;

			if (!cmx_npu_kernels(isa))
				continue;
			got = run_level(fd, isa, 1 + (uint32_t)i * 4);
			ASSERT_NE(NULL, got) TH_LOG("%s", err.text);
			if (!*want)
				*want = got;
			EXPECT_EQ(0, memcmp(*want, got, 3 * 512 * sizeof(*got)));
			if (got != *want)
				free(got);
		}
		if (first[1])
			EXPECT_GT(TOL, model_run_apart(first[0], first[1], 3 * 512));
		free(first[0]);
		free(first[1]);
		close(fd);
	}
}

static void note(struct cmx_decisions *d, const struct cmx_forward *f, uint32_t pos, uint32_t n)
{
	for (uint32_t l = 0; l < d->n_moe; l++) {
		for (uint32_t i = 0; i < n * d->n_used; i++)
			cmx_decisions_at(d, pos + i / d->n_used, l)[i % d->n_used] =
				(uint16_t)cmx_forward_experts(f, l, 0)[i];
	}
}

/* Six tokens of a prompt and one of the output. */
static int run_two_steps(struct engine *e, struct cmx_decisions *d, bool replay)
{
	static const uint32_t ids[] = { 0, 445, 163, 385, 217, 229, 161 };
	const struct cmx_sampling sampling = { .penalty = 1.5f, .temp = 1, .top_p = 1 };
	struct cmx_part part = prompt_part(0, 6);
	int ret = cmx_forward_prompt(&e->fwd, 0, ids, 7, &err);

	for (uint32_t i = 0; i < 2 && !ret; i++) {
		part.sample = 1;
		part.sampling = &sampling;
		part.index = i;
		part.replay = replay ? d : NULL;
		ret = cmx_forward_step(&e->fwd, &part, 1, &err);
		if (!replay)
			note(d, &e->fwd, part.pos, part.n);
		part = prompt_part(6, 1);
		part.absorbed = true;
	}
	return ret;
}

TEST(time_only_takes_the_same_time)
{
	struct cmx_machine_options die = { .isa = CMX_ISA_SCALAR, .threads = 1 };
	int fd = make_model("v3tiny", TINYMOE_F32, false);
	struct cmx_machine_stats data, time;
	struct cmx_decisions d;
	struct engine e;

	ASSERT_EQ(0, engine_open(&e, fd, &die, 7)) TH_LOG("%s", err.text);
	ASSERT_EQ(0, cmx_decisions_init(&d, &e.model.cfg, 7, false, 0, &err));
	ASSERT_EQ(0, run_two_steps(&e, &d, false)) TH_LOG("%s", err.text);
	cmx_machine_stats(cmx_die_machine(e.die), &data, &err);
	engine_close(&e);

	die.time_only = true;
	ASSERT_EQ(0, engine_open(&e, fd, &die, 7)) TH_LOG("%s", err.text);
	ASSERT_EQ(0, run_two_steps(&e, &d, true)) TH_LOG("%s", err.text);
	cmx_machine_stats(cmx_die_machine(e.die), &time, &err);
	EXPECT_EQ(data.now_ps, time.now_ps);
	EXPECT_EQ(data.launches, time.launches);
	EXPECT_EQ(data.moved_bytes, time.moved_bytes);
	engine_close(&e);
	cmx_decisions_free(&d);
	close(fd);
}

static int step_fails(struct engine *e, const struct cmx_part *part, uint32_t n)
{
	struct cmx_part copy[3];

	memcpy(copy, part, n * sizeof(*part));
	return cmx_forward_step(&e->fwd, copy, n, &err);
}

TEST(limits_of_a_step)
{
	const struct cmx_machine_options die = { .isa = CMX_ISA_SCALAR, .threads = 1 };
	int fd = make_model("v3tiny", TINYMOE_F32, false);
	const uint32_t ids[CTX + 1] = { 0 };
	struct cmx_part part = prompt_part(0, 5), two[2];
	struct engine e;

	ASSERT_EQ(0, engine_open(&e, fd, &die, 4)) TH_LOG("%s", err.text);
	EXPECT_EQ(-ENOSPC, step_fails(&e, &part, 1));
	EXPECT_NE(NULL, strstr(err.text, "5 tokens, the limit is 4"));
	part = prompt_part(CTX - 3, 4);
	EXPECT_EQ(-ENOSPC, step_fails(&e, &part, 1));
	EXPECT_NE(NULL, strstr(err.text, "4 tokens at position 117: the context has 120"));
	part = prompt_part(0, 0);
	EXPECT_EQ(-ENOSPC, step_fails(&e, &part, 1));
	two[0] = prompt_part(0, 1);
	two[1] = prompt_part(0, 1);
	EXPECT_EQ(-ENOSPC, step_fails(&e, two, 2));
	EXPECT_NE(NULL, strstr(err.text, "2 sequences, the limit is 1"));
	part = prompt_part(0, 2);
	part.sample = 2;
	EXPECT_EQ(-EINVAL, step_fails(&e, &part, 1));
	EXPECT_EQ(-ENOSPC, cmx_forward_prompt(&e.fwd, 0, ids, CTX + 1, &err));
	engine_close(&e);
	close(fd);
}

TEST(limits_of_the_buffers)
{
	const struct cmx_machine_options die = { .isa = CMX_ISA_SCALAR, .threads = 1 };
	const struct cmx_forward_options good = {
		.ctx = CTX, .rows = 4, .seqs = 4, .pages = 8, .page_shift = 4,
	};
	int fd = make_model("v3tiny", TINYMOE_F32, false);
	struct cmx_forward_options bad[6] = { good, good, good, good, good, good };
	struct engine e;

	ASSERT_EQ(0, engine_open(&e, fd, &die, 4));
	bad[0].ctx = e.model.cfg.ctx + 1;
	bad[1].rows = 3;
	bad[2].seqs = 0;
	bad[3].pages = 0;
	bad[4].page_shift = 1;
	bad[5].page_shift = 13;
	for (int i = 0; i < 6; i++) {
		struct cmx_forward f;

		EXPECT_EQ(-EINVAL, cmx_forward_init(&f, &e.model, e.die, &bad[i], &err));
		EXPECT_NE(NULL, strstr(err.text, "must be"));
		cmx_forward_free(&f);
	}
	engine_close(&e);
	close(fd);
}

/* Replaces the first occurrence of a string in the model file. */
static void patch(int fd, const char *from, const char *to)
{
	char buf[32768], *at;

	if (pread(fd, buf, sizeof(buf), 0) != sizeof(buf))
		abort();
	at = memmem(buf, sizeof(buf), from, strlen(from));
	if (!at || pwrite(fd, to, strlen(to), at - buf) != (ssize_t)strlen(to))
		abort();
}

TEST(tensors_that_do_not_fit)
{
	static const char * const names[] = {
		"blk.0.attn_q_a.weight", "blk.2.ffn_up_exps.weight", "blk.3.ffn_gate_inp.weight",
		"output_norm.weight", "blk.4.nextn.eh_proj.weight",
	};
	const struct cmx_machine_options die = { .isa = CMX_ISA_SCALAR, .threads = 1 };
	struct engine e;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int fd = make_model("v3tiny-mtp", TINYMOE_F32, false);
		char broken[64];

		snprintf(broken, sizeof(broken), "%s", names[i]);
		broken[strlen(broken) - 1] = 'x';
		patch(fd, names[i], broken);
		EXPECT_EQ(-ENOENT, engine_open(&e, fd, &die, 4));
		EXPECT_NE(NULL, strstr(err.text, names[i]));
		engine_close(&e);
		close(fd);
	}
}

/* Where the value of a u32 key is in the file. */
static off_t find_u32(int fd, const char *key)
{
	char buf[32768], record[96];
	size_t len = strlen(key);
	char *at;

	memcpy(record, key, len);
	memcpy(record + len, "\x04\0\0\0", 4);
	if (pread(fd, buf, sizeof(buf), 0) != sizeof(buf))
		abort();
	at = memmem(buf, sizeof(buf), record, len + 4);
	if (!at)
		abort();
	return at - buf + (off_t)len + 4;
}

TEST(metadata_that_does_not_fit_the_tensors)
{
	const struct cmx_machine_options die = { .isa = CMX_ISA_SCALAR, .threads = 1 };
	int fd = make_model("v3tiny", TINYMOE_F32, false);
	off_t at = find_u32(fd, "deepseek2.expert_feed_forward_length");
	struct engine e;

	ASSERT_EQ(1, pwrite(fd, "\x7f", 1, at));
	EXPECT_EQ(-EINVAL, engine_open(&e, fd, &die, 4));
	EXPECT_NE(NULL, strstr(err.text, "asks for 127"));
	engine_close(&e);
	close(fd);
}

/* Refused with a text, or good enough to run a token on. */
static int refused_or_runs(int fd)
{
	const struct cmx_machine_options die = { .isa = CMX_ISA_SSE2, .threads = 1 };
	const uint32_t id = 3;
	struct engine e;
	float *got = NULL;
	int ok;

	err.text[0] = 0;
	if (!engine_open(&e, fd, &die, 1))
		got = run_prompt(&e, &id, 1);
	ok = got || err.text[0];
	free(got);
	engine_close(&e);
	return ok;
}

TEST(bug27_every_u32_of_the_metadata_mutated)
{
	static const char * const keys[] = {
		"block_count", "context_length", "embedding_length", "feed_forward_length",
		"vocab_size", "leading_dense_block_count", "attention.head_count",
		"attention.kv_lora_rank", "rope.dimension_count", "expert_count",
		"expert_used_count", "expert_shared_count", "expert_feed_forward_length",
		"expert_gating_func", "expert_group_count", "expert_group_used_count",
		"attention.q_lora_rank", "attention.head_count_kv", "attention.key_length",
		"attention.value_length", "attention.key_length_mla",
		"attention.value_length_mla", "rope.scaling.original_context_length",
	};
	int fd = make_model("v3tiny", TINYMOE_F32, false);

	if (!cmx_npu_kernels(CMX_ISA_SSE2))
		SKIP(return, "no SSE2");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char key[96];
		uint32_t was, values[7] = { 0, 1, 2, 1u << 16, 1u << 31, UINT32_MAX };
		off_t at;

		snprintf(key, sizeof(key), "deepseek2.%s", keys[i]);
		at = find_u32(fd, key);
		ASSERT_EQ(4, pread(fd, &was, 4, at));
		values[6] = was + 1;
		for (int v = 0; v < 7; v++) {
			ASSERT_EQ(4, pwrite(fd, &values[v], 4, at));
			EXPECT_TRUE(refused_or_runs(fd)) TH_LOG("%s = %u", key, values[v]);
		}
		ASSERT_EQ(4, pwrite(fd, &was, 4, at));
	}
	close(fd);
}

TEST_HARNESS_MAIN
