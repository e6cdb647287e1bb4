// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many requests at a time: each has the tokens and the logits, bit for bit, that
 * it has alone, whoever joins or leaves, however prompts are cut, shared or kept,
 * and wherever the pages are. And what becomes of those that cannot be served.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_engine.h"
#include "cmx_tinymoe.h"
#include "host_die.h"

#define CTX	240u
#define MAX_OUT	12u
#define MAX_REQ	24u

static struct cmx_infer_err err;

/* What the tests vary; zero is what none of them cares about. */
struct setting {
	uint32_t rows;		/* 32 */
	uint32_t seqs;		/* 8 */
	uint32_t pages;		/* 256 */
	uint32_t page_shift;	/* 4 */
	uint32_t ctx;		/* CTX */
	uint32_t window;	/* 64 */
	uint32_t blocks;	/* 3 */
	uint32_t hold;		/* pages that are not to be had */
	bool no_reuse;
	bool all_logits;
	bool absorb;
	bool time_only;
};

struct bench {
	struct cmx_die *die;
	struct cmx_model model;
	struct cmx_engine e;
};

/* What came of a request. */
struct result {
	uint32_t n;
	uint32_t id[MAX_OUT];
	uint64_t digest[MAX_OUT];	/* of the logits that each token was chosen from */
	uint32_t reused;
	enum cmx_end_reason end;
	char why[sizeof(err.text)];
};

struct ask {
	uint32_t n_prompt;
	uint32_t n;
	uint32_t seed;		/* of the prompt and of the draws; 0: greedy */
	uint32_t shared;	/* ids at the beginning that all prompts have in common */
};

static uint32_t prompt_id(const struct ask *a, uint32_t i)
{
	uint32_t x = (i + 1) * 2654435761u + (i < a->shared ? 0 : a->seed * 40503u + 1);

	return (x >> 7) % 512;
}

/* Two layers of the reference model, one dense and one with experts. */
static int small_model(void)
{
	static int fd = -1;
	struct tinymoe_preset p = *tinymoe_find("v3tiny");
	FILE *f;

	if (fd >= 0)
		return fd;
	p.layers = 2;
	fd = memfd_create("model", MFD_CLOEXEC);
	f = fdopen(dup(fd), "w");
	if (!f || tinymoe_write(&p, TINYMOE_F32, false, 1234, f) || fclose(f))
		abort();
	return fd;
}

static uint32_t or(uint32_t given, uint32_t otherwise)
{
	return given ? given : otherwise;
}

static void bench_open(struct bench *b, const struct setting *s)
{
	struct cmx_machine_options die = { .isa = CMX_ISA_COUNT - 1, .threads = 1,
				       .time_only = s->time_only };
	const struct cmx_engine_options opt = {
		.no_reuse = s->no_reuse,
		.forward = {
			.ctx = or(s->ctx, CTX), .rows = or(s->rows, 32), .seqs = or(s->seqs, 8),
			.pages = or(s->pages, 256), .page_shift = or(s->page_shift, 4),
			.window = or(s->window, 64), .all_logits = s->all_logits,
			.absorb = s->absorb,
		},
	};
	const struct cmx_load_options load = { 0 };
	struct cmx_source *src = NULL;

	host_die_blocks = or(s->blocks, 3);
	while (!cmx_npu_kernels(die.isa))
		die.isa--;
	memset(b, 0, sizeof(*b));
	if (cmx_source_open_fd(small_model(), &src, &err) || host_die_open(&die, &b->die, &err) ||
	    cmx_model_load(src, b->die, &load, &b->model, &err) ||
	    cmx_engine_init(&b->e, &b->model, b->die, &opt, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	cmx_source_close(src);
	for (uint32_t i = 0; i < s->hold; i++)
		cmx_kv_pages_take(&b->e.group->pages);
}

static void bench_close(struct bench *b)
{
	cmx_engine_free(&b->e);
	cmx_model_free(&b->model);
	host_die_close(b->die);
}

static struct cmx_sequence *submit(struct bench *b, const struct ask *a,
				   const struct cmx_request *base)
{
	struct cmx_request r = base ? *base : (struct cmx_request){ 0 };
	struct cmx_sequence *s;
	uint32_t ids[CTX + 8];

	for (uint32_t i = 0; i < a->n_prompt; i++)
		ids[i] = prompt_id(a, i);
	r.ids = ids;
	r.n_prompt = a->n_prompt;
	r.n = a->n;
	r.sampling = (struct cmx_sampling){ .penalty = 1, .top_p = 1 };
	if (a->seed)
		r.sampling = (struct cmx_sampling){
			.penalty = 1.2f, .temp = 1.5f, .top_p = 0.95f, .seed = a->seed,
		};
	if (cmx_engine_submit(&b->e, &r, &s, &err))
		abort();
	return s;
}

static uint64_t digest(const float *x, uint32_t n)
{
	uint64_t h = 14695981039346656037ull;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t bits;

		memcpy(&bits, &x[i], 4);
		h = (h ^ bits) * 1099511628211ull;
	}
	return h;
}

/* One step; the digests of what it chose from go to the results of their sequences. */
static int step(struct bench *b, struct cmx_sequence *const *s, struct result *r, uint32_t n)
{
	int ret = cmx_engine_step(&b->e, &err);

	if (ret < 0)
		fprintf(stderr, "%s\n", err.text);
	for (uint32_t i = 0; ret > 0 && i < b->e.fwd->step.n_parts; i++) {
		const struct cmx_part *p = &b->e.group->part[i];

		for (uint32_t j = 0; j < n && p->sample; j++) {
			if (s[j] == b->e.group->part_of[i])
				r[j].digest[s[j]->run.n_output - 1] =
					digest(b->e.fwd->logits +
					       (size_t)(p->first_logits + p->want - 1) * 512, 512);
		}
	}
	return ret;
}

static void take_result(struct cmx_sequence *s, struct result *r)
{
	r->n = s->run.n_output;
	memcpy(r->id, s->run.ids + s->req.n_prompt, r->n * sizeof(*r->id));
	r->reused = s->reused;
	r->end = s->run.end;
	snprintf(r->why, sizeof(r->why), "%s", s->err.text);
}

/* All at once from the start. */
static void run_all(const struct setting *set, const struct ask *a, uint32_t n, struct result *r)
{
	struct cmx_sequence *s[MAX_REQ];
	struct bench b;

	memset(r, 0, n * sizeof(*r));
	bench_open(&b, set);
	for (uint32_t i = 0; i < n; i++)
		s[i] = submit(&b, &a[i], NULL);
	while (step(&b, s, r, n) > 0)
		;
	for (uint32_t i = 0; i < n; i++) {
		take_result(s[i], &r[i]);
		cmx_sequence_free(s[i]);
	}
	if (cmx_kv_pages_room(&b.e.group->pages) != b.e.group->pages.n - set->hold)
		r[0].end = CMX_END_CANCEL;	/* pages were lost */
	bench_close(&b);
}

static int same(const struct result *a, const struct result *b)
{
	return a->n == b->n && a->end == b->end && !memcmp(a->id, b->id, a->n * sizeof(*a->id)) &&
	       !memcmp(a->digest, b->digest, a->n * sizeof(*a->digest));
}

/* Each of them alone in an engine of its own, in one chunk where that is possible. */
static void run_alone(const struct ask *a, uint32_t n, struct result *r)
{
	const struct setting alone = { .rows = CTX, .seqs = 1, .blocks = 1 };

	for (uint32_t i = 0; i < n; i++)
		run_all(&alone, &a[i], 1, &r[i]);
}

static const struct ask mix[] = {
	{ 1, 5, 0, 0 }, { 15, 4, 1, 0 }, { 16, 3, 2, 0 }, { 17, 6, 0, 0 }, { 31, 1, 3, 0 },
	{ 53, 7, 4, 0 }, { 5, 12, 5, 0 }, { 97, 2, 6, 0 },
};

#define N_MIX	(sizeof(mix) / sizeof(mix[0]))

TEST(a_batch_is_so_many_single_runs)
{
	static const struct setting sets[] = {
		{ .seqs = 8 }, { .seqs = 3, .rows = 7, .blocks = 1 }, { .seqs = 1, .rows = 5 },
		{ .seqs = 8, .rows = 200, .page_shift = 2, .blocks = 8 },
		{ .seqs = 2, .rows = 64, .page_shift = 6, .window = 192 },
	};
	struct result want[N_MIX], got[N_MIX];

	run_alone(mix, N_MIX, want);
	for (uint32_t i = 0; i < N_MIX; i++)
		ASSERT_EQ(mix[i].n, want[i].n);
	for (uint32_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
		run_all(&sets[s], mix, N_MIX, got);
		for (uint32_t i = 0; i < N_MIX; i++) {
			EXPECT_TRUE(same(&want[i], &got[i]))
				TH_LOG("setting %u, %u", s, i);
		}
	}
}

/* The comparison would notice: another seed, another prompt, the other form. */
TEST(a_difference_is_seen)
{
	struct ask a[2] = { { 20, 3, 1, 0 }, { 20, 3, 2, 0 } };
	struct result r[2];

	run_alone(a, 2, r);
	EXPECT_FALSE(same(&r[0], &r[1]));
	r[1] = r[0];
	EXPECT_TRUE(same(&r[0], &r[1]));
	r[1].digest[2]++;
	EXPECT_FALSE(same(&r[0], &r[1]));
}

static float kept[100 * 512];

static int keep_logits(void *arg, const struct cmx_sequence *s, uint32_t pos, uint32_t n,
		       const float *logits, struct cmx_infer_err *why)
{
	(void)arg;
	(void)s;
	(void)why;
	memcpy(kept + (size_t)pos * 512, logits, (size_t)n * 512 * sizeof(*logits));
	return 0;
}

TEST(bug10_prompt_split_at_every_chunk_size)
{
	static float want[100 * 512];
	const struct ask a = { 70, 2, 1, 0 };
	const struct cmx_request base = { .logits = keep_logits };

	for (uint32_t rows = 70; rows > 0; rows -= rows > 20 ? 7 : 1) {
		const struct setting set = { .rows = rows, .seqs = 1, .all_logits = true };
		struct cmx_sequence *s;
		struct bench b;

		memset(kept, 0, sizeof(kept));
		bench_open(&b, &set);
		s = submit(&b, &a, &base);
		while (cmx_engine_step(&b.e, &err) > 0)
			;
		if (rows == 70)
			memcpy(want, kept, sizeof(want));
		EXPECT_EQ(0, memcmp(want, kept, sizeof(want))) TH_LOG("chunks of %u", rows);
		EXPECT_EQ(2, s->run.n_output);
		cmx_sequence_free(s);
		bench_close(&b);
	}
}

/* The same prompt again, and prompts that begin like it, after it and while it runs. */
TEST(bug10_cached_prefix_restart)
{
	static const struct ask asks[] = {
		{ 70, 4, 0, 70 }, { 70, 4, 0, 70 }, { 80, 3, 1, 50 }, { 64, 3, 2, 64 },
		{ 65, 3, 3, 65 }, { 33, 3, 4, 20 }, { 16, 2, 5, 16 }, { 17, 2, 6, 16 },
	};
	static const uint32_t reused[] = { 0, 64, 48, 48, 64, 16, 0, 16 };
	struct result want[8], got;

	run_alone(asks, 8, want);
	for (uint32_t rows = 3; rows < 100; rows += 29) {
		const struct setting set = { .rows = rows, .seqs = 2 };
		struct cmx_sequence *s;
		struct bench b;

		bench_open(&b, &set);
		for (uint32_t i = 0; i < 8; i++) {
			memset(&got, 0, sizeof(got));
			s = submit(&b, &asks[i], NULL);
			while (step(&b, &s, &got, 1) > 0)
				;
			take_result(s, &got);
			EXPECT_TRUE(same(&want[i], &got)) TH_LOG("%u of %u", i, rows);
			EXPECT_EQ(reused[i], got.reused);
			cmx_sequence_free(s);
		}
		bench_close(&b);
	}
}

/* Together from the start: those behind take what those before them have just computed. */
TEST(prefixes_are_shared_while_they_are_made)
{
	static const struct ask asks[] = {
		{ 70, 2, 1, 64 }, { 75, 2, 2, 64 }, { 66, 2, 3, 64 }, { 90, 2, 4, 40 },
	};
	const struct setting set = { .rows = 32 }, none = { .rows = 32, .no_reuse = true };
	struct result want[4], got[4];
	uint32_t reused = 0;

	run_alone(asks, 4, want);
	run_all(&set, asks, 4, got);
	for (uint32_t i = 0; i < 4; i++) {
		EXPECT_TRUE(same(&want[i], &got[i])) TH_LOG("%u", i);
		reused += got[i].reused;
	}
	EXPECT_LT(100, reused);
	run_all(&none, asks, 4, got);
	for (uint32_t i = 0; i < 4; i++) {
		EXPECT_TRUE(same(&want[i], &got[i])) TH_LOG("%u", i);
		EXPECT_EQ(0, got[i].reused);
	}
}

/* A prompt that repeats what another sequence was told and said: output has other bits. */
TEST(pages_of_output_are_not_shared)
{
	const struct setting alone = { .rows = CTX, .seqs = 1, .blocks = 1 }, set = { .seqs = 1 };
	const struct ask a = { 30, 12, 0, 0 };
	struct cmx_request r = { .n = 3, .sampling = { .penalty = 1, .top_p = 1 } };
	struct result want = { 0 }, got = { 0 };
	struct cmx_sequence *first, *s;
	uint32_t ids[41];
	struct bench b;

	bench_open(&b, &set);
	first = submit(&b, &a, NULL);
	while (cmx_engine_step(&b.e, &err) > 0)
		;
	memcpy(ids, first->run.ids, sizeof(ids));
	r.ids = ids;
	r.n_prompt = 41;
	ASSERT_EQ(0, cmx_engine_submit(&b.e, &r, &s, &err));
	while (step(&b, &s, &got, 1) > 0)
		;
	take_result(s, &got);
	EXPECT_EQ(16, got.reused);
	cmx_sequence_free(s);
	cmx_sequence_free(first);
	bench_close(&b);

	bench_open(&b, &alone);
	ASSERT_EQ(0, cmx_engine_submit(&b.e, &r, &s, &err));
	while (step(&b, &s, &want, 1) > 0)
		;
	take_result(s, &want);
	EXPECT_TRUE(same(&want, &got));
	cmx_sequence_free(s);
	bench_close(&b);
}

/* Lengths around a page of four and a page of 64, primes, in pages with high numbers. */
TEST(bug11_lengths_and_high_page_numbers)
{
	static const struct ask asks[] = {
		{ 1, 2, 1, 0 }, { 3, 2, 2, 0 }, { 4, 2, 3, 0 }, { 5, 2, 4, 0 }, { 63, 3, 5, 0 },
		{ 64, 3, 6, 0 }, { 65, 3, 7, 0 }, { 61, 4, 8, 0 }, { 127, 2, 9, 0 },
	};
	const struct setting small = { .page_shift = 2, .pages = 70000, .hold = 69700 };
	const struct setting large = { .page_shift = 6, .pages = 5000, .hold = 4950 };
	struct result want[9], got[9];

	run_alone(asks, 9, want);
	run_all(&small, asks, 9, got);
	for (uint32_t i = 0; i < 9; i++) {
		EXPECT_TRUE(same(&want[i], &got[i]))
			TH_LOG("%u", i);
	}
	run_all(&large, asks, 9, got);
	for (uint32_t i = 0; i < 9; i++) {
		EXPECT_TRUE(same(&want[i], &got[i]))
			TH_LOG("%u", i);
	}
}

/* Too long for the context, too long for the cache, no tokens, tokens that are none. */
TEST(bug13_overflow_ends_that_request_only)
{
	static const struct ask asks[] = {
		{ 20, 4, 1, 0 }, { 90, 12, 2, 0 }, { 30, 3, 3, 0 }, { 70, 3, 4, 0 },
		{ 100, 1, 5, 0 },
		{ 101, 0, 6, 0 }, { 0, 3, 7, 0 },
	};
	const struct setting set = { .ctx = 100, .pages = 4 };
	struct result want[7], got[7];

	run_alone(asks, 3, want);
	run_all(&set, asks, 7, got);
	EXPECT_TRUE(same(&want[0], &got[0]));
	EXPECT_TRUE(same(&want[2], &got[2]));
	for (uint32_t i = 0; i < 7; i++)
		EXPECT_EQ(i == 0 || i == 2 ? CMX_END_LENGTH : CMX_END_ERROR, got[i].end);
	EXPECT_NE(NULL, strstr(got[1].why, "90 and 12 output tokens need 101 positions"));
	EXPECT_NE(NULL, strstr(got[1].why, "the context has 100"));
	EXPECT_NE(NULL, strstr(got[3].why, "need 5 pages of 16 positions, the cache has 4"));
	EXPECT_NE(NULL, strstr(got[4].why, "need 7 pages"));
	EXPECT_NE(NULL, strstr(got[5].why, "need 101 positions"));
	EXPECT_NE(NULL, strstr(got[6].why, "the prompt is empty"));
}

TEST(a_token_that_is_none_ends_that_request_only)
{
	const struct setting set = { .seqs = 2 };
	const uint32_t bad[] = { 3, 512, 4 };
	const struct cmx_request r = { .ids = bad, .n_prompt = 3, .n = 2 };
	const struct ask good = { 9, 2, 1, 0 };
	struct cmx_sequence *a, *s;
	struct bench b;

	bench_open(&b, &set);
	s = submit(&b, &good, NULL);
	ASSERT_EQ(0, cmx_engine_submit(&b.e, &r, &a, &err));
	EXPECT_EQ(CMX_SEQUENCE_ENDED, a->state);
	EXPECT_STREQ("prompt token 1 is 512, must be below 512", a->err.text);
	while (cmx_engine_step(&b.e, &err) > 0)
		;
	EXPECT_EQ(2, s->run.n_output);
	cmx_sequence_free(a);
	cmx_sequence_free(s);
	bench_close(&b);
}

/* The context and the cache filled to the last position. */
TEST(bug13_a_full_context_is_no_overflow)
{
	const struct ask a = { 93, 8, 1, 0 };
	const struct setting set = { .ctx = 100, .pages = 7, .seqs = 1 };
	struct result want, got;

	run_alone(&a, 1, &want);
	run_all(&set, &a, 1, &got);
	EXPECT_EQ(8, got.n);
	EXPECT_TRUE(same(&want, &got));
}

/* Buffers, cache and unused rows full of NaN instead of zeros. */
TEST(bug26_padding_does_not_change_results)
{
	const struct setting set = { .rows = 40, .seqs = 5 };
	struct result want[N_MIX], got[N_MIX];

	run_alone(mix, N_MIX, want);
	host_die_poison = true;
	run_all(&set, mix, N_MIX, got);
	host_die_poison = false;
	for (uint32_t i = 0; i < N_MIX; i++) {
		EXPECT_TRUE(same(&want[i], &got[i]))
			TH_LOG("%u", i);
	}
}

/* While it waits, in its prompt, in its output; the others do not notice. */
TEST(cancelled)
{
	static const struct ask asks[] = {
		{ 20, 6, 1, 0 }, { 60, 6, 2, 0 }, { 10, 12, 3, 0 }, { 25, 4, 4, 0 },
		{ 12, 4, 5, 0 },
	};
	const struct setting set = { .seqs = 3, .rows = 20 };
	struct result want[5], got[5] = { 0 };
	struct cmx_sequence *s[5];
	struct bench b;

	run_alone(asks, 5, want);
	bench_open(&b, &set);
	for (uint32_t i = 0; i < 5; i++)
		s[i] = submit(&b, &asks[i], NULL);
	ASSERT_EQ(1, step(&b, s, got, 5));
	ASSERT_EQ(1, step(&b, s, got, 5));
	EXPECT_EQ(CMX_SEQUENCE_OUTPUT, s[0]->state);
	EXPECT_EQ(CMX_SEQUENCE_PROMPT, s[1]->state);
	EXPECT_EQ(CMX_SEQUENCE_WAITS, s[4]->state);
	cmx_engine_cancel(&b.e, s[0]);
	cmx_engine_cancel(&b.e, s[1]);
	cmx_engine_cancel(&b.e, s[4]);
	cmx_engine_cancel(&b.e, s[4]);
	EXPECT_EQ(CMX_END_CANCEL, s[0]->run.end);
	while (step(&b, s, got, 5) > 0)
		;
	for (uint32_t i = 0; i < 5; i++)
		take_result(s[i], &got[i]);
	EXPECT_TRUE(same(&want[2], &got[2]));
	EXPECT_TRUE(same(&want[3], &got[3]));
	EXPECT_EQ(CMX_END_CANCEL, got[4].end);
	EXPECT_EQ(0, got[4].n);
	EXPECT_EQ(256, cmx_kv_pages_room(&b.e.group->pages));
	/* A place in the queue behind a cancelled one is still a place. */
	cmx_sequence_free(s[4]);
	s[4] = submit(&b, &asks[4], NULL);
	memset(&got[4], 0, sizeof(got[4]));
	while (step(&b, s, got, 5) > 0)
		;
	take_result(s[4], &got[4]);
	EXPECT_TRUE(same(&want[4], &got[4]));
	for (uint32_t i = 0; i < 5; i++)
		cmx_sequence_free(s[i]);
	bench_close(&b);
}

/* No room for all: they wait, in order, and nobody overtakes. */
TEST(out_of_pages)
{
	static const struct ask asks[] = {
		{ 60, 4, 1, 0 }, { 90, 3, 2, 0 }, { 5, 3, 3, 0 }, { 30, 5, 4, 0 },
	};
	const struct setting set = { .pages = 7 };
	struct result want[4], got[4] = { 0 };
	struct cmx_sequence *s[4];
	struct bench b;

	run_alone(asks, 4, want);
	bench_open(&b, &set);
	for (uint32_t i = 0; i < 4; i++)
		s[i] = submit(&b, &asks[i], NULL);
	while (step(&b, s, got, 4) > 0) {
		for (uint32_t i = 1; i < 4; i++)
			EXPECT_TRUE(s[i]->state == CMX_SEQUENCE_WAITS ||
				    s[i - 1]->state != CMX_SEQUENCE_WAITS);
	}
	EXPECT_EQ(7, b.e.stats.most_pages);
	EXPECT_EQ(2, b.e.stats.most_seqs);
	for (uint32_t i = 0; i < 4; i++) {
		take_result(s[i], &got[i]);
		EXPECT_TRUE(same(&want[i], &got[i])) TH_LOG("%u", i);
		cmx_sequence_free(s[i]);
	}
	bench_close(&b);
}

static uint64_t rng = 17;

static uint32_t random_below(uint32_t n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng >> 33) % n;
}

/* Requests that come, and sometimes go, when they like. */
TEST(random_traffic)
{
	struct ask asks[MAX_REQ];
	struct result want[MAX_REQ], got[MAX_REQ] = { 0 };
	struct cmx_sequence *s[MAX_REQ] = { NULL };
	const struct setting set = { .rows = 24, .seqs = 5, .pages = 24, .page_shift = 3 };
	uint32_t n = 0, cancelled = 0;
	struct bench b;

	for (uint32_t i = 0; i < MAX_REQ; i++)
		asks[i] = (struct ask){
			1 + random_below(60), random_below(MAX_OUT), random_below(5),
			random_below(2) * random_below(60),
		};
	run_alone(asks, MAX_REQ, want);
	bench_open(&b, &set);
	while (n < MAX_REQ || b.e.group->n_running || b.e.waiting.n) {
		if (n < MAX_REQ && random_below(3) == 0) {
			s[n] = submit(&b, &asks[n], NULL);
			n++;
		}
		if (n && random_below(20) == 0) {
			struct cmx_sequence *x = s[random_below(n)];

			cancelled += x->state != CMX_SEQUENCE_ENDED;
			cmx_engine_cancel(&b.e, x);
		}
		ASSERT_LE(0, step(&b, s, got, n));
	}
	EXPECT_LT(0, cancelled);
	EXPECT_LT(0, b.e.stats.reused);
	EXPECT_EQ(24, cmx_kv_pages_room(&b.e.group->pages));
	for (uint32_t i = 0; i < MAX_REQ; i++) {
		take_result(s[i], &got[i]);
		EXPECT_TRUE(got[i].end == CMX_END_CANCEL || same(&want[i], &got[i]))
			TH_LOG("%u", i);
		cmx_sequence_free(s[i]);
	}
	bench_close(&b);
}

/* A time-only run of what a data run decided: the same steps at the same virtual times. */
TEST(time_only_batch_takes_the_same_time)
{
	static const struct ask asks[] = {
		{ 70, 4, 1, 64 }, { 75, 3, 2, 64 }, { 110, 12, 3, 0 }, { 66, 2, 4, 64 },
		{ 7, 5, 5, 0 },
	};
	struct setting set = { .rows = 30, .seqs = 3, .ctx = 101, .pages = 12 };
	struct cmx_sequence *s[5], *t[5];
	struct cmx_machine_stats data, time;
	struct bench b, c;

	bench_open(&b, &set);
	for (uint32_t i = 0; i < 5; i++)
		s[i] = submit(&b, &asks[i], NULL);
	while (cmx_engine_step(&b.e, &err) > 0)
		;
	cmx_machine_stats(cmx_die_machine(b.die), &data, &err);
	EXPECT_LT(0, b.e.stats.reused);
	set.time_only = true;
	bench_open(&c, &set);
	for (uint32_t i = 0; i < 5; i++) {
		const struct cmx_request r = { .replay = &s[i]->run };

		t[i] = submit(&c, &asks[i], &r);
	}
	while (cmx_engine_step(&c.e, &err) > 0)
		;
	cmx_machine_stats(cmx_die_machine(c.die), &time, &err);
	EXPECT_EQ(data.now_ps, time.now_ps) TH_LOG("%s", err.text);
	EXPECT_EQ(data.launches, time.launches);
	EXPECT_EQ(data.moved_bytes, time.moved_bytes);
	EXPECT_EQ(0, memcmp(&b.e.stats, &c.e.stats, sizeof(b.e.stats)));
	for (uint32_t i = 0; i < 5; i++) {
		EXPECT_EQ(s[i]->run.end, t[i]->run.end);
		ASSERT_EQ(s[i]->run.n_output, t[i]->run.n_output);
		EXPECT_EQ(0, memcmp(s[i]->token_ps, t[i]->token_ps,
				    s[i]->run.n_output * sizeof(uint64_t)));
		cmx_sequence_free(t[i]);
	}
	for (uint32_t i = 0; i < 5; i++)
		cmx_sequence_free(s[i]);
	bench_close(&b);
	bench_close(&c);
}

/* Logits that are no numbers end their own sequence. */
TEST(logits_that_are_not_finite)
{
	static const struct ask asks[] = { { 20, 6, 1, 0 }, { 30, 6, 2, 0 } };
	const struct setting set = { .seqs = 2, .no_reuse = true };
	struct result want[2], got[2] = { 0 };
	struct cmx_sequence *s[2];
	struct bench b;

	run_alone(asks, 2, want);
	bench_open(&b, &set);
	for (uint32_t i = 0; i < 2; i++)
		s[i] = submit(&b, &asks[i], NULL);
	while (s[0]->run.n_output < 2)
		ASSERT_EQ(1, step(&b, s, got, 2));
	b.e.fwd->cache[((size_t)s[0]->pages[0] << 4) * 80] = NAN;
	while (step(&b, s, got, 2) > 0)
		;
	take_result(s[1], &got[1]);
	EXPECT_TRUE(same(&want[1], &got[1]));
	EXPECT_EQ(CMX_END_ERROR, s[0]->run.end);
	EXPECT_EQ(3, s[0]->run.n_output);
	EXPECT_STREQ("logits for output token 2 are not finite", s[0]->err.text);
	for (uint32_t i = 0; i < 2; i++)
		cmx_sequence_free(s[i]);
	bench_close(&b);
}

/* A prompt in the absorbed form: other bits, but the same in every batch. */
TEST(absorbed_prompts)
{
	const struct setting alone = { .rows = 100, .seqs = 1, .absorb = true };
	const struct setting set = { .rows = 20, .absorb = true };
	struct result want[N_MIX], got[N_MIX];

	for (uint32_t i = 0; i < N_MIX; i++)
		run_all(&alone, &mix[i], 1, &want[i]);
	run_all(&set, mix, N_MIX, got);
	for (uint32_t i = 0; i < N_MIX; i++) {
		EXPECT_TRUE(same(&want[i], &got[i]))
			TH_LOG("%u", i);
	}
}

TEST_HARNESS_MAIN
