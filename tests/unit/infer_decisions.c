// SPDX-License-Identifier: GPL-2.0-only
/* The decisions file: round trip, and every mutation and truncation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_recording.h"

static const struct cmx_model_config config = {
	.n_layer = 3, .n_mtp = 1, .n_dense = 1, .n_expert = 16, .n_used = 3, .vocab = 50,
};

static struct cmx_infer_err err;
static uint8_t bytes[4096];
static size_t size;

static void write_file(const struct cmx_recording *r)
{
	FILE *f = fmemopen(bytes, sizeof(bytes), "w");

	if (!f || cmx_recording_write(r, f, &err))
		abort();
	size = (size_t)ftell(f);
	fclose(f);
}

static struct cmx_decisions one, refused;
static struct cmx_decisions *seq[] = { &one, &refused };

/*
 * Five prompt tokens, two output tokens, a guess, experts by a simple rule; the
 * first position is another sequence's, and the last pair was not asked for.
 * Behind it a sequence that was refused.
 */
static struct cmx_recording make_recording(void)
{
	cmx_decisions_free(&one);
	cmx_decisions_free(&refused);
	if (cmx_decisions_init(&one, &config, 7, true, 9, &err) ||
	    cmx_decisions_init(&refused, &config, 2, true, 3, &err))
		abort();
	one.n_prompt = 5;
	one.n_output = 2;
	one.most = 9;
	one.end = CMX_END_EOS;
	one.temp = 0.5f;
	one.top_k = 40;
	one.top_p = 0.9f;
	one.min_p = 0.05f;
	one.penalty = 1.25f;
	for (uint32_t i = 0; i < 7; i++)
		one.ids[i] = i * 7;
	for (uint32_t i = 3 * 3; i < 6 * 3 * 3 - 3; i++)
		one.experts[i] = (uint16_t)(i * 5 % 16);
	one.n_guesses = 1;
	one.guesses[0] = 33;
	for (uint32_t i = 0; i < 2 * 3; i++)
		one.guess_experts[i] = (uint16_t)(i * 3 % 16);
	refused.n_prompt = 2;
	refused.ids[0] = 4000000000u;
	refused.most = 3;
	refused.end = CMX_END_ERROR;
	refused.top_p = 1;
	refused.penalty = 1;
	return (struct cmx_recording){
		.n_moe = 3, .mtp = 1, .n_expert = 16, .n_used = 3, .vocab = 50, .n = 2, .chunk = 4,
		.max_batch = 2, .ctx = 13, .pages = 3, .page_shift = 4, .no_reuse = 1, .ep = 8,
		.dp = 4,
		.tp = 2, .seq = seq,
	};
}

static void make_file(void)
{
	const struct cmx_recording r = make_recording();

	write_file(&r);
}

static int read_file(struct cmx_recording *r, size_t len)
{
	int fd = memfd_create("decisions", MFD_CLOEXEC), ret;

	err.text[0] = 0;
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET))
		abort();
	ret = cmx_recording_read(r, fd, &err);
	close(fd);
	return ret;
}

/* That it is not taken, with a reason. */
static int not_read(size_t len)
{
	struct cmx_recording r;
	int ret = read_file(&r, len);

	cmx_recording_free(&r);
	return ret < 0 && err.text[0];
}

TEST(round_trip)
{
	struct cmx_model_config other = config;
	const struct cmx_decisions *d;
	struct cmx_recording r;

	make_file();
	ASSERT_EQ(0, read_file(&r, size)) TH_LOG("%s", err.text);
	EXPECT_EQ(2, r.n);
	EXPECT_EQ(4, r.chunk);
	EXPECT_EQ(2, r.max_batch);
	EXPECT_EQ(13, r.ctx);
	EXPECT_EQ(3, r.pages);
	EXPECT_EQ(4, r.page_shift);
	EXPECT_EQ(0, r.absorb);
	EXPECT_EQ(1, r.no_reuse);
	EXPECT_EQ(1, r.mtp);
	EXPECT_EQ(8, r.ep);
	EXPECT_EQ(4, r.dp);
	EXPECT_EQ(2, r.tp);
	d = r.seq[0];
	EXPECT_EQ(5, d->n_prompt);
	EXPECT_EQ(2, d->n_output);
	EXPECT_EQ(9, d->most);
	EXPECT_EQ(CMX_END_EOS, d->end);
	EXPECT_EQ(40, d->top_k);
	EXPECT_EQ(0.9f, d->top_p);
	EXPECT_EQ(0.05f, d->min_p);
	EXPECT_EQ(1.25f, d->penalty);
	EXPECT_EQ(42, d->ids[6]);
	EXPECT_EQ(6, cmx_decisions_positions(d));
	EXPECT_EQ(CMX_NOT_ROUTED, *cmx_decisions_at(d, 0, 1));
	EXPECT_EQ(3 * 3 * 5 % 16, *cmx_decisions_at(d, 1, 0));
	EXPECT_EQ(CMX_NOT_ROUTED, *cmx_decisions_at(d, 5, 2));
	EXPECT_EQ(1, d->n_guesses);
	EXPECT_EQ(33, d->guesses[0]);
	EXPECT_EQ(3 * 3, *cmx_decisions_guess_at(d, 0, 1));
	EXPECT_EQ(2, r.seq[1]->n_prompt);
	EXPECT_EQ(0, cmx_decisions_positions(r.seq[1]));
	EXPECT_EQ(0, cmx_recording_match(&r, &config, &err));
	other.n_expert = 17;
	EXPECT_EQ(-EINVAL, cmx_recording_match(&r, &other, &err));
	other = config;
	other.n_mtp = 0;
	EXPECT_EQ(-EINVAL, cmx_recording_match(&r, &other, &err));
	EXPECT_NE(NULL, strstr(err.text, "the model has none"));
	cmx_recording_free(&r);
}

TEST(experts_of_a_position)
{
	uint16_t e[3];

	make_recording();
	for (uint32_t k = 0; k < 3; k++)
		cmx_decisions_at(&one, 1, 1)[k] = (uint16_t)(5 * k + 1);
	ASSERT_TRUE(cmx_decisions_get(&one, 1, 1, 7, e));
	EXPECT_EQ(1, e[0]);
	EXPECT_EQ(6, e[1]);
	EXPECT_EQ(11, e[2]);
	/* Not decided, and past the end. */
	EXPECT_FALSE(cmx_decisions_get(&one, 1, one.capacity - 1, 0, e));
	EXPECT_FALSE(cmx_decisions_get(&one, 1, one.capacity, 0, e));
	EXPECT_FALSE(cmx_decisions_get(&one, one.n_moe, 1, 0, e));
}

TEST(experts_that_gates_know)
{
	const struct cmx_gates_options opt = { .n_moe = 2, .n_expert = 16, .n_used = 3 };
	struct cmx_decisions d = { 0 };
	struct cmx_gates *g = NULL;
	uint16_t sure[3], guess[3], want[3];

	ASSERT_EQ(0, cmx_gates_new(&opt, &g, &err));
	ASSERT_EQ(0, cmx_decisions_init_ids(&d, 10, 4, &err));
	EXPECT_FALSE(cmx_decisions_get(&d, 0, 1, 0, sure));
	d.n_moe = 2;
	d.n_used = 3;
	d.stream = 77;
	EXPECT_FALSE(cmx_decisions_get(&d, 0, 1, 0, sure));
	d.gates = g;
	EXPECT_FALSE(cmx_decisions_get_guess(&d, 0, 1, 0, guess));
	d.n_guesses = 2;
	ASSERT_TRUE(cmx_decisions_get(&d, 1, 1, 0, sure));
	ASSERT_TRUE(cmx_decisions_get_guess(&d, 1, 1, 0, guess));
	cmx_gates_choose(g, 1, &(struct cmx_gate_token){ .stream = 77, .pos = 1 }, want);
	EXPECT_EQ(0, memcmp(sure, want, sizeof(want)));
	/* A wrong guess is another token at the same place. */
	EXPECT_NE(0, memcmp(sure, guess, sizeof(guess)));
	EXPECT_FALSE(cmx_decisions_get(&d, 1, 10, 0, sure));
	cmx_decisions_free(&d);
	cmx_gates_free(g);
}

TEST(every_truncation_and_addition)
{
	make_file();
	for (size_t len = 0; len < size; len++)
		EXPECT_TRUE(not_read(len));
	bytes[size] = 0;
	EXPECT_TRUE(not_read(size + 1));
}

TEST(every_bit_flipped)
{
	make_file();
	for (size_t i = 0; i < size * 8; i++) {
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		EXPECT_TRUE(not_read(size));
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}

/* With a checksum that is right. */
static int refused_with(const struct cmx_recording *r, const char *word)
{
	write_file(r);
	return not_read(size) && strstr(err.text, word);
}

TEST(decisions_that_no_run_makes)
{
	struct cmx_recording r = make_recording(), got;

	one.experts[10] = one.experts[9];
	EXPECT_TRUE(refused_with(&r, "stands twice")) TH_LOG("%s", err.text);
	one.experts[10] = CMX_NOT_ROUTED;
	EXPECT_TRUE(refused_with(&r, "1 of 3 experts missing")) TH_LOG("%s", err.text);
	one.experts[10] = 16;
	EXPECT_TRUE(refused_with(&r, "must be below 16")) TH_LOG("%s", err.text);
	one.experts[10] = 9;
	write_file(&r);
	EXPECT_EQ(0, read_file(&got, size)) TH_LOG("%s", err.text);
	cmx_recording_free(&got);
	one.end = CMX_END_LENGTH;
	EXPECT_TRUE(refused_with(&r, "2 of 9 output tokens")) TH_LOG("%s", err.text);
	one.end = CMX_END_EOS;
	one.n_output = 0;
	one.n_guesses = 0;
	EXPECT_TRUE(refused_with(&r, "output length 0")) TH_LOG("%s", err.text);
	one.end = CMX_END_CANCEL;
	EXPECT_TRUE(refused_with(&r, "end reason is 4, must be 0..3")) TH_LOG("%s", err.text);
	one.end = CMX_END_EOS;
	one.n_output = 2;
	one.ids[3] = 50;
	EXPECT_TRUE(refused_with(&r, "token 3 is 50, must be below 50")) TH_LOG("%s", err.text);
}

TEST(guesses_that_no_run_makes)
{
	struct cmx_recording r = make_recording();
	uint16_t e[3];

	EXPECT_TRUE(cmx_decisions_get_guess(&one, 0, 0, 0, e));
	EXPECT_FALSE(cmx_decisions_get_guess(&one, 0, 1, 0, e));
	one.guesses[0] = 50;
	EXPECT_TRUE(refused_with(&r, "guess 0 is 50, must be below 50")) TH_LOG("%s", err.text);
	one.guesses[0] = 49;
	one.guess_experts[4] = 16;
	EXPECT_TRUE(refused_with(&r, "must be below 16")) TH_LOG("%s", err.text);
	one.guess_experts[4] = one.guess_experts[5];
	EXPECT_TRUE(refused_with(&r, "stands twice")) TH_LOG("%s", err.text);
	one.guess_experts[4] = 1;
	one.n_guesses = 3;
	EXPECT_TRUE(refused_with(&r, "guess count is 3, must be 0..2")) TH_LOG("%s", err.text);
	one.n_guesses = 1;
	r.mtp = 0;
	EXPECT_TRUE(refused_with(&r, "guess count is 1, must be 0..0")) TH_LOG("%s", err.text);
	r.mtp = 1;
	r.n_moe = 0;
	EXPECT_TRUE(refused_with(&r, "MoE layer count is 0, must be 1..")) TH_LOG("%s", err.text);
}

TEST(a_pipe_is_no_file)
{
	struct cmx_recording r;
	int fds[2];

	make_file();
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ((ssize_t)size, write(fds[1], bytes, size));
	EXPECT_EQ(-EINVAL, cmx_recording_read(&r, fds[0], &err));
	EXPECT_NE(NULL, strstr(err.text, "regular file"));
	cmx_recording_free(&r);
	close(fds[0]);
	close(fds[1]);
}

static int refused_u32(size_t at, uint32_t v, const char *word)
{
	make_file();
	memcpy(bytes + at, &v, sizeof(v));
	return not_read(size) && strstr(err.text, word);
}

TEST(header_fields)
{
	EXPECT_TRUE(refused_u32(0, 0, "not a decisions file"));
	EXPECT_TRUE(refused_u32(8, 4, "version is 4, must be 5..5"));
	EXPECT_TRUE(refused_u32(8, 6, "version is 6"));
	EXPECT_TRUE(refused_u32(12, 100000, "MoE layer count"));
	EXPECT_TRUE(refused_u32(16, 0, "expert count is 0"));
	EXPECT_TRUE(refused_u32(20, 17, "experts used is 17, must be 1..16"));
	EXPECT_TRUE(refused_u32(24, 0, "vocabulary"));
	EXPECT_TRUE(refused_u32(28, 0, "sequence count is 0"));
	EXPECT_TRUE(refused_u32(28, 60000, "counts ask for"));
	EXPECT_TRUE(refused_u32(32, 0, "tokens of a step"));
	EXPECT_TRUE(refused_u32(36, 0, "sequences of a step"));
	EXPECT_TRUE(refused_u32(40, 0, "context"));
	EXPECT_TRUE(refused_u32(44, 0, "page count"));
	EXPECT_TRUE(refused_u32(48, 32, "page shift is 32, must be 2..12"));
	EXPECT_TRUE(refused_u32(52, 2, "all-logits"));
	EXPECT_TRUE(refused_u32(56, 2, "absorbed-prompts"));
	EXPECT_TRUE(refused_u32(60, 2, "no-reuse"));
	EXPECT_TRUE(refused_u32(64, 2, "MTP flag"));
	EXPECT_TRUE(refused_u32(68, 0, "expert-parallel ranks is 0, must be 1.."));
	EXPECT_TRUE(refused_u32(68, 100000, "expert-parallel ranks is 100000"));
	EXPECT_TRUE(refused_u32(72, 0, "data-parallel groups is 0, must be 1..8"));
	EXPECT_TRUE(refused_u32(72, 9, "data-parallel groups is 9, must be 1..8"));
	EXPECT_TRUE(refused_u32(76, 3, "dies of a group is 3, must be 2..2"));
}

#define SEQ	80	/* where the first sequence's fields start */

TEST(fields_of_a_sequence)
{
	EXPECT_TRUE(refused_u32(SEQ, 0, "prompt length is 0"));
	EXPECT_TRUE(refused_u32(SEQ, 1u << 20, "counts ask for"));
	EXPECT_TRUE(refused_u32(SEQ + 4, UINT32_MAX, "output length"));
	EXPECT_TRUE(refused_u32(SEQ + 8, 1, "most output tokens is 1, must be 2.."));
	EXPECT_TRUE(refused_u32(SEQ + 12, 5, "end reason"));
	EXPECT_TRUE(refused_u32(SEQ + 16, 3, "guess count"));
	EXPECT_TRUE(refused_u32(SEQ + 24, 0x7fc00000, "temperature"));
	EXPECT_TRUE(refused_u32(SEQ + 28, 0, "top-p"));
	EXPECT_TRUE(refused_u32(SEQ + 32, 0x40000000, "min-p is 2, must be 0..1"));
	EXPECT_TRUE(refused_u32(SEQ + 36, 0x7f800000, "repetition penalty is inf"));
}

TEST_HARNESS_MAIN
