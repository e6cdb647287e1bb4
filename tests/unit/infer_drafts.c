// SPDX-License-Identifier: GPL-2.0-only
/*
 * Speculative decoding: whatever the guesses are, a run with them gives the
 * tokens of a run without, alone and in a batch, and a time-only run that
 * replays it takes the same time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_engine.h"
#include "cmx_tinymoe.h"
#include "host_die.h"

#define KJV	"tests/models/kjv-moe/kjv-moe.q8_0.gguf"
#define CTX	96u
#define MAX_SEQS	6u

static struct cmx_infer_err err;

/* One request, and after a run what became of it. */
struct ask {
	const char *text;	/* of kjv-moe: bytes behind the start token */
	uint32_t n;
	struct cmx_sampling sampling;
	uint32_t stop;		/* ends with this token, 0: with none */
	struct cmx_sequence *seq;
};

struct setup {
	bool mtp;
	uint32_t rows;
	uint32_t seqs;
	const struct ask *recorded;	/* time-only, a replay of these */
	uint32_t cancel_after;	/* steps after which the first request is not wanted, 0: never */
};

struct run {
	struct cmx_die *die;
	struct cmx_model model;
	struct cmx_engine engine;
	uint64_t now_ps;
	uint64_t launches;
};

static const struct cmx_sampling greedy = { .penalty = 1, .top_p = 1 };

static enum cmx_end_reason take(void *arg, const struct cmx_sequence *s, uint32_t id)
{
	const struct ask *a = arg;

	(void)s;
	return a->stop && id == a->stop ? CMX_END_STOP : CMX_END_LENGTH;
}

static int open_model(struct run *r, const struct setup *set)
{
	const struct cmx_load_options load = { .mtp = set->mtp };
	struct cmx_machine_options die = {
		.isa = CMX_ISA_COUNT - 1, .threads = 1, .time_only = set->recorded,
	};
	struct cmx_source *src = NULL;
	int ret = cmx_source_open(KJV, &src, &err);

	while (!cmx_npu_kernels(die.isa))
		die.isa--;
	if (!ret)
		ret = host_die_open(&die, &r->die, &err);
	if (!ret)
		ret = cmx_model_load(src, r->die, &load, &r->model, &err);
	cmx_source_close(src);
	return ret;
}

static int submit(struct run *r, struct ask *a, const struct cmx_decisions *replay)
{
	uint32_t ids[CTX], n = 1;
	struct cmx_request req = {
		.ids = ids, .n = a->n, .sampling = a->sampling, .replay = replay, .token = take,
		.arg = a,
	};

	ids[0] = 0;
	for (const char *c = a->text; *c; c++)
		ids[n++] = 3 + (uint8_t)*c;
	req.n_prompt = n;
	return cmx_engine_submit(&r->engine, &req, &a->seq, &err);
}

/* Runs all @n requests to their ends; the sequences are the caller's. */
static int run(struct run *r, const struct setup *set, struct ask *a, uint32_t n)
{
	const struct cmx_engine_options opt = {
		.forward = {
			.ctx = CTX, .rows = set->rows, .seqs = set->seqs, .page_shift = 3,
			.pages = set->seqs * CTX / 8, .mtp = set->mtp, .drafts = set->mtp,
		},
	};
	struct cmx_machine_stats st = { 0 };
	int ret, more = 1;

	memset(r, 0, sizeof(*r));
	ret = open_model(r, set);
	if (!ret)
		ret = cmx_engine_init(&r->engine, &r->model, r->die, &opt, &err);
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = submit(r, &a[i], set->recorded ? &set->recorded[i].seq->run : NULL);
	for (uint32_t step = 1; !ret && more; step++) {
		more = cmx_engine_step(&r->engine, &err);
		ret = more < 0 ? more : 0;
		if (step == set->cancel_after)
			cmx_engine_cancel(&r->engine, a[0].seq);
	}
	if (!ret)
		ret = cmx_machine_stats(cmx_die_machine(r->die), &st, &err);
	r->now_ps = st.now_ps;
	r->launches = st.launches;
	cmx_engine_free(&r->engine);
	cmx_model_free(&r->model);
	host_die_close(r->die);
	return ret;
}

static void drop(struct ask *a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		cmx_sequence_free(a[i].seq);
		a[i].seq = NULL;
	}
}

static int same(const struct ask *a, const struct ask *b)
{
	const struct cmx_decisions *x = &a->seq->run, *y = &b->seq->run;

	if (x->n_output == y->n_output && x->end == y->end &&
	    !memcmp(x->ids, y->ids, (x->n_prompt + x->n_output) * sizeof(*x->ids)))
		return 1;
	fprintf(stderr, "'%s': %u tokens, end %u, and %u, end %u; %s, %s\n", a->text, x->n_output,
		x->end, y->n_output, y->end, a->seq->err.text, b->seq->err.text);
	return 0;
}

/* Prompt tokens that were found in the cache, in the run with guesses. */
static uint64_t reused;

/* The same requests with guesses and without; returns the guesses of the former. */
static uint64_t with_and_without(struct ask *a, uint32_t n, uint32_t rows, uint32_t seqs,
				 uint64_t *accepted)
{
	const struct setup with = { .mtp = true, .rows = rows, .seqs = seqs };
	const struct setup without = { .rows = rows, .seqs = seqs };
	struct ask plain[MAX_SEQS];
	uint64_t drafted;
	struct run r;
	int ok = 1;

	memcpy(plain, a, n * sizeof(*a));
	if (run(&r, &without, plain, n)) {
		fprintf(stderr, "without: %s\n", err.text);
		return 0;
	}
	if (run(&r, &with, a, n)) {
		fprintf(stderr, "with: %s\n", err.text);
		return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		ok &= same(&a[i], &plain[i]);
	drafted = r.engine.stats.drafted;
	*accepted = r.engine.stats.accepted;
	reused = r.engine.stats.reused;
	drop(plain, n);
	drop(a, n);
	return ok ? drafted : 0;
}

static const struct cmx_sampling samplings[] = {
	{ .penalty = 1, .top_p = 1 },
	{ .penalty = 1.3f, .top_p = 1 },
	{ .penalty = 1, .temp = 0.8f, .top_p = 1, .seed = 7 },
	{ .penalty = 1.1f, .temp = 0.9f, .top_k = 40, .top_p = 0.9f, .min_p = 0.01f, .seed = 3 },
};

#define N_SAMPLINGS	(sizeof(samplings) / sizeof(samplings[0]))

TEST(bug25_output_with_guesses_is_the_output_without)
{
	for (size_t i = 0; i < N_SAMPLINGS; i++) {
		struct ask a = { .text = "And the LORD said", .n = 48, .sampling = samplings[i] };
		uint64_t drafted, accepted;

		drafted = with_and_without(&a, 1, 8, 1, &accepted);
		EXPECT_LT(0, drafted);
		/* Each step gives one token, and one more if the guess was right. */
		EXPECT_EQ(47, drafted + accepted + (drafted + accepted == 46));
		EXPECT_LT(drafted / 4, accepted);
		EXPECT_GT(drafted, accepted);
	}
}

/* A prompt of one token, and outputs in which there is no time for a guess, or just one. */
TEST(few_tokens)
{
	for (uint32_t n = 0; n < 5; n++) {
		struct ask a = { .text = "", .n = n, .sampling = greedy };
		struct ask b = { .text = "Thou", .n = n, .sampling = samplings[2] };
		uint64_t accepted, drafted;

		drafted = with_and_without(&a, 1, 2, 1, &accepted);
		EXPECT_EQ(n > 2, drafted > 0);
		EXPECT_GE(n, drafted + 2 * (drafted > 0));
		drafted = with_and_without(&b, 1, 2, 1, &accepted);
		EXPECT_EQ(n > 2, drafted > 0);
	}
}

/* Sequences of unequal length that accept differently and come and go. */
TEST(bug25_a_batch_with_guesses_is_the_batch_without)
{
	for (uint32_t seqs = 1; seqs <= 4; seqs += 3) {
		struct ask a[MAX_SEQS] = {
			{ .text = "And the LORD", .n = 40, .sampling = samplings[0] },
			{ .text = "", .n = 17, .sampling = samplings[2] },
			{ .text = "In the beginning God created the heaven and the earth.",
			  .n = 30, .sampling = samplings[3] },
			{ .text = "And the LORD", .n = 3, .sampling = samplings[1] },
			{ .text = "In the beginning God created", .n = 33,
			  .sampling = samplings[2] },
			{ .text = "Amen", .n = 1, .sampling = samplings[0] },
		};
		uint64_t accepted;

		EXPECT_LT(40, with_and_without(a, MAX_SEQS, 11, seqs, &accepted));
		EXPECT_LT(10, accepted);
		/* Pages can be found though the block fills its part of them later. */
		EXPECT_LT(0, reused);
	}
}

/* One that stops at any of its tokens, whether that was guessed or not, and in a pair or not. */
TEST(stops_anywhere)
{
	const struct setup with = { .mtp = true, .rows = 8, .seqs = 1 };
	struct ask all = { .text = "And the LORD said", .n = 24, .sampling = samplings[2] };
	uint32_t ids[24];
	struct run r;

	ASSERT_EQ(0, run(&r, &with, &all, 1)) TH_LOG("%s", err.text);
	memcpy(ids, all.seq->run.ids + all.seq->run.n_prompt, sizeof(ids));
	drop(&all, 1);
	for (uint32_t i = 0; i < 24; i += 3) {
		struct ask a = all;
		uint64_t accepted;
		uint32_t first = 0;

		while (ids[first] != ids[i])
			first++;
		a.stop = ids[i];
		EXPECT_EQ(first > 1, with_and_without(&a, 1, 8, 1, &accepted) > 1);
	}
}

/* Recorded with guesses, replayed without data: equal times, launches, guesses and tokens. */
TEST(replay_takes_the_same_time)
{
	struct setup with = { .mtp = true, .rows = 11, .seqs = 2 };
	struct ask a[] = {
		{ .text = "And the LORD", .n = 30, .sampling = samplings[2] },
		{ .text = "In the beginning God created", .n = 21, .sampling = samplings[3] },
		{ .text = "In the beginning God created man", .n = 40, .sampling = greedy,
		  .stop = 3 + 'r' },
		{ .text = "", .n = 2, .sampling = greedy },
	};
	struct setup replay = { .mtp = true, .rows = 11, .seqs = 2, .recorded = a };
	struct ask b[4];
	struct run data, time;

	memcpy(b, a, sizeof(b));
	ASSERT_EQ(0, run(&data, &with, a, 4)) TH_LOG("%s", err.text);
	ASSERT_EQ(0, run(&time, &replay, b, 4)) TH_LOG("%s", err.text);
	EXPECT_LT(0, data.engine.stats.accepted);
	EXPECT_EQ(data.now_ps, time.now_ps);
	EXPECT_EQ(data.launches, time.launches);
	EXPECT_EQ(data.engine.stats.drafted, time.engine.stats.drafted);
	EXPECT_EQ(data.engine.stats.accepted, time.engine.stats.accepted);
	for (int i = 0; i < 4; i++) {
		EXPECT_TRUE(same(&a[i], &b[i]));
		EXPECT_EQ(0, memcmp(a[i].seq->token_ps, b[i].seq->token_ps,
				    a[i].seq->run.n_output * sizeof(uint64_t)));
	}
	drop(b, 4);
	/* Fewer guesses than the steps need: refused, not made up. */
	a[0].seq->run.n_guesses--;
	EXPECT_EQ(-EINVAL, run(&time, &replay, b, 4));
	EXPECT_NE(NULL, strstr(err.text, "guess")) TH_LOG("%s", err.text);
	drop(b, 4);
	/* And a pair that went through the block, without the experts. */
	a[0].seq->run.n_guesses++;
	*cmx_decisions_at(&a[0].seq->run, 1, a[0].seq->run.n_moe - 1) = CMX_NOT_ROUTED;
	EXPECT_EQ(-EINVAL, run(&time, &replay, b, 4));
	EXPECT_NE(NULL, strstr(err.text, "none for position 1")) TH_LOG("%s", err.text);
	drop(b, 4);
	drop(a, 4);
}

/* One leaves between steps, in its prompt or later, with a guess about to be made. */
TEST(one_that_is_cancelled)
{
	for (uint32_t after = 1; after < 6; after++) {
		const struct setup with = { .mtp = true, .rows = 8, .seqs = 2,
					    .cancel_after = after };
		const struct setup alone = { .mtp = true, .rows = 8, .seqs = 2 };
		struct ask a[] = {
			{ .text = "In the beginning God", .n = 30, .sampling = samplings[2] },
			{ .text = "And the LORD", .n = 30, .sampling = samplings[3] },
			{ .text = "Thou", .n = 12, .sampling = samplings[0] },
		};
		struct ask b[] = { a[1], a[2] };
		struct run r;

		ASSERT_EQ(0, run(&r, &with, a, 3)) TH_LOG("%s", err.text);
		ASSERT_EQ(0, run(&r, &alone, b, 2)) TH_LOG("%s", err.text);
		EXPECT_EQ(CMX_END_CANCEL, a[0].seq->run.end);
		EXPECT_TRUE(same(&a[1], &b[0]));
		EXPECT_TRUE(same(&a[2], &b[1]));
		drop(a, 3);
		drop(b, 2);
	}
}

TEST_HARNESS_MAIN
