// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine on several dies against one: the same tokens and the same logits bit for bit,
 * with fewer ranks than experts, as many, more, and numbers that do not divide.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_ranks.h"
#include "cmx_tinymoe.h"
#include "host_die.h"

#define REQUESTS	5u
#define MOST		6u	/* output tokens */
#define LONGEST		40u	/* prompt */
#define CTX		48u

static struct cmx_infer_err err;

struct setting {
	uint32_t ep;
	uint32_t rows;		/* of a step of each die */
	uint32_t seqs;
	bool int8;
	bool mtp;
};

struct outcome {
	struct cmx_sequence *seq[REQUESTS];
	float *logits[REQUESTS];	/* of the prompt */
	uint64_t now_ps;
	uint32_t groups;	/* that had sequences */
};

/* Three layers of a test model, the first of them dense. */
static struct cmx_source *open_model(const char *preset, bool int8)
{
	struct tinymoe_preset p = *tinymoe_find(preset);
	int fd = memfd_create("model", MFD_CLOEXEC);
	FILE *f = fdopen(dup(fd), "w");
	struct cmx_source *src = NULL;

	p.layers = 3;
	if (!f || tinymoe_write(&p, TINYMOE_F32, false, 77, f) || fclose(f) ||
	    cmx_source_open_fd(fd, &src, &err))
		abort();
	close(fd);
	if (int8)
		cmx_source_quantise(src);
	return src;
}

static uint32_t prompt_length(uint32_t i)
{
	return i == 1 ? 1 : LONGEST - 9 * i;
}

static void make_prompt(uint32_t i, uint32_t ids[LONGEST])
{
	/* The last two begin alike. */
	for (uint32_t t = 0; t < prompt_length(i); t++)
		ids[t] = (t * 37 + (i > 2 ? 3 : i) * 101 + 11) % 500;
}

static int keep_logits(void *arg, const struct cmx_sequence *s, uint32_t pos, uint32_t n,
		       const float *logits, struct cmx_infer_err *e)
{
	float **to = arg;

	(void)s;
	(void)e;
	memcpy(*to + (size_t)pos * 512, logits, (size_t)n * 512 * sizeof(*logits));
	return 0;
}

static struct cmx_engine_options shape_of(const struct setting *s, const struct cmx_source *src,
					  bool logits)
{
	const struct cmx_model_config *c = cmx_source_config(src);
	struct cmx_engine_options e = {
		.forward = {
			.ctx = CTX, .rows = s->rows, .seqs = s->seqs, .pages = s->seqs * 12,
			.page_shift = 2, .all_logits = logits, .mtp = s->mtp, .drafts = s->mtp,
		},
	};

	if (cmx_layout_init(&e.layout, s->ep, 0, c, &err))
		abort();
	if (s->ep > 1)
		e.forward.received =
			(uint32_t)cmx_exchange_most(s->ep, s->rows, c->n_used,
						    cmx_layout_local(&e.layout, c->n_expert));
	return e;
}

static int submit(struct cmx_engine *e, struct outcome *o, const struct outcome *recorded,
		  uint32_t i)
{
	uint32_t ids[LONGEST];
	const struct cmx_request r = {
		.ids = ids, .n_prompt = prompt_length(i), .n = i == 3 ? 0 : MOST,
		.sampling = { .penalty = 1, .top_p = 1, .temp = i == 4 ? 0.8f : 0, .seed = 9 },
		.replay = recorded ? &recorded->seq[i]->run : NULL,
		.logits = keep_logits, .arg = &o->logits[i],
	};

	make_prompt(i, ids);
	o->logits[i] = calloc((size_t)LONGEST * 512, sizeof(float));
	return cmx_engine_submit(e, &r, &o->seq[i], &err);
}

static int run_engine(struct cmx_engine *e, struct outcome *o, const struct outcome *recorded)
{
	int ret = 0, more = 1;

	for (uint32_t i = 0; i < REQUESTS && !ret; i++)
		ret = submit(e, o, recorded, i);
	while (!ret && more) {
		uint32_t busy = 0;

		more = cmx_engine_step(e, &err);
		ret = more < 0 ? more : 0;
		for (uint32_t i = 0; i < e->n_groups; i++)
			busy += e->group[i].n_parts > 0;
		o->groups = busy > o->groups ? busy : o->groups;
	}
	return ret;
}

/* All requests on dies of that layout; a time-only run replays @recorded. */
static int run(struct cmx_source *src, const struct setting *s, bool logits,
	       const struct outcome *recorded, struct outcome *o)
{
	const struct cmx_engine_options shape = shape_of(s, src, logits);
	struct cmx_machine_options opt = cmx_ranks_machine(&shape, cmx_source_config(src));
	const struct cmx_load_options load = { 0 };
	struct cmx_machine *m = NULL;
	struct cmx_engine e = { 0 };
	struct cmx_ranks r = { 0 };
	int ret;

	opt.isa = CMX_ISA_SSE2;
	opt.threads = 1;
	opt.time_only = recorded;
	memset(o, 0, sizeof(*o));
	ret = cmx_machine_open(&opt, &m, &err);
	if (!ret)
		ret = cmx_ranks_open(&r, m, 0, &shape.layout, &err);
	if (!ret)
		ret = cmx_ranks_load(&r, src, &shape, &load, &err);
	if (!ret)
		ret = cmx_engine_init_ranks(&e, r.rank, s->ep, r.exchange, &shape, &err);
	if (!ret)
		ret = run_engine(&e, o, recorded);
	if (!ret)
		o->now_ps = cmx_machine_now(m);
	cmx_engine_free(&e);
	cmx_ranks_close(&r);
	cmx_machine_close(m);
	return ret;
}

static void drop(struct outcome *o)
{
	for (uint32_t i = 0; i < REQUESTS; i++) {
		cmx_sequence_free(o->seq[i]);
		free(o->logits[i]);
	}
}

static bool same_tokens(const struct outcome *a, const struct outcome *b)
{
	bool same = true;

	for (uint32_t i = 0; i < REQUESTS; i++) {
		const struct cmx_decisions *x = &a->seq[i]->run, *y = &b->seq[i]->run;

		same &= x->n_output == y->n_output && x->end == y->end &&
			!memcmp(x->ids, y->ids, (x->n_prompt + x->n_output) * sizeof(*x->ids));
	}
	return same;
}

static bool same_logits(const struct outcome *a, const struct outcome *b)
{
	bool same = true;

	for (uint32_t i = 0; i < REQUESTS; i++)
		same &= !memcmp(a->logits[i], b->logits[i],
				(size_t)LONGEST * 512 * sizeof(float));
	return same;
}

FIXTURE(slow) {
};

FIXTURE_SETUP(slow)
{
}

FIXTURE_TEARDOWN(slow)
{
}

static void compare(struct __test_metadata *_metadata, const char *preset, bool int8, bool mtp)
{
	/* v3tiny has 16 experts, others have fewer. */
	static const struct setting many[] = {
		{ .ep = 2, .rows = 64, .seqs = 4 }, { .ep = 3, .rows = 7, .seqs = 2 },
		{ .ep = 5, .rows = 16, .seqs = 1 }, { .ep = 17, .rows = 9, .seqs = 3 },
	};
	const struct setting one = { .ep = 1, .rows = 48, .seqs = 1, .mtp = false };
	struct cmx_source *src = open_model(preset, int8);
	struct outcome want, got;

	ASSERT_EQ(0, run(src, &one, true, NULL, &want)) TH_LOG("%s", err.text);
	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++) {
		struct setting s = many[i];

		s.mtp = mtp;
		ASSERT_EQ(0, run(src, &s, true, NULL, &got)) TH_LOG("%s", err.text);
		EXPECT_TRUE(same_tokens(&want, &got)) TH_LOG("%s, EP %u", preset, s.ep);
		EXPECT_TRUE(same_logits(&want, &got)) TH_LOG("%s, EP %u", preset, s.ep);
		EXPECT_GT(got.groups, 1);
		drop(&got);
	}
	drop(&want);
	cmx_source_close(src);
}

TEST_F_TIMEOUT(slow, every_layout_has_the_bits_of_one_die, 200)
{
	compare(_metadata, "v3tiny", false, false);
	compare(_metadata, "v2litetiny", false, false);
}

TEST_F_TIMEOUT(slow, int8_models_too, 200)
{
	compare(_metadata, "v3tiny", true, false);
}

TEST_F_TIMEOUT(slow, guesses_too, 200)
{
	compare(_metadata, "v3tiny-mtp", false, true);
}

TEST_F_TIMEOUT(slow, time_only_has_the_times_of_data, 200)
{
	const struct setting s = { .ep = 4, .rows = 12, .seqs = 2, .mtp = true };
	struct cmx_source *src = open_model("v3tiny-mtp", false);
	struct outcome data, time;

	ASSERT_EQ(0, run(src, &s, false, NULL, &data)) TH_LOG("%s", err.text);
	ASSERT_EQ(0, run(src, &s, false, &data, &time)) TH_LOG("%s", err.text);
	EXPECT_EQ(data.now_ps, time.now_ps);
	EXPECT_TRUE(same_tokens(&data, &time));
	/* What was decided for fewer positions does not do. */
	data.seq[0]->run.capacity = 3;
	drop(&time);
	EXPECT_EQ(-EINVAL, run(src, &s, false, &data, &time));
	EXPECT_NE(NULL, strstr(err.text, "decisions: none for position"));
	drop(&time);
	drop(&data);
	cmx_source_close(src);
}

TEST(layouts_that_are_none)
{
	const struct cmx_model_config c = { .n_expert = 8 }, dense = { 0 };
	struct cmx_layout l;

	ASSERT_EQ(0, cmx_layout_init(&l, 0, 0, &dense, &err));
	EXPECT_EQ(1, l.ep);
	EXPECT_EQ(1, l.dp);
	ASSERT_EQ(0, cmx_layout_init(&l, 0, 3, &c, &err));
	EXPECT_EQ(3, l.ep);
	EXPECT_EQ(3, cmx_layout_local(&l, 8));
	ASSERT_EQ(0, cmx_layout_init(&l, 16, 0, &c, &err));
	EXPECT_EQ(16, l.dp);
	EXPECT_EQ(1, cmx_layout_local(&l, 8));
	EXPECT_EQ(-EINVAL, cmx_layout_init(&l, 1025, 0, &c, &err));
	EXPECT_NE(NULL, strstr(err.text, "--ep is 1025, must be 1..1024"));
	EXPECT_EQ(-EINVAL, cmx_layout_init(&l, 4, 2, &c, &err));
	EXPECT_NE(NULL, strstr(err.text, "--dp is 2, must be 4 with --ep 4"));
	EXPECT_EQ(-EINVAL, cmx_layout_init(&l, 2, 0, &dense, &err));
	EXPECT_NE(NULL, strstr(err.text, "the model has no experts"));
}

TEST_HARNESS_MAIN
