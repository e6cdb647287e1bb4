// SPDX-License-Identifier: GPL-2.0-only
/* What a bench is made of: options, requests, percentiles, times by operator. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_bench_options.h"
#include "cmx_bench_profile.h"
#include "cmx_bench_report.h"
#include "cmx_bench_stats.h"
#include "cmx_workload.h"
#include "host_die.h"

static struct cmx_infer_err err;
static struct cmx_bench_options opt;

/* Words apart by blanks, behind what every bench must have. */
static int parse(const char *words)
{
	char text[256], *argv[32] = { "bench" }, *save = NULL;
	int argc = 1;

	snprintf(text, sizeof(text), "%s", words);
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	err.text[0] = 0;
	return cmx_bench_options_parse(&opt, argc, argv, &err);
}

static int refused(const char *words, const char *why)
{
	if (parse(words) < 0 && strstr(err.text, why))
		return 1;
	fprintf(stderr, "%s: '%s' has no '%s'\n", words, err.text, why);
	return 0;
}

#define MUST "-m deepseek-r1 --time-only "

TEST(defaults_of_the_phases)
{
	ASSERT_EQ(0, parse(MUST)) TH_LOG("%s", err.text);
	EXPECT_EQ(96, opt.batch);
	EXPECT_EQ(4096, opt.input);
	EXPECT_EQ(256, opt.output);
	EXPECT_EQ(1, opt.npus);
	EXPECT_TRUE(opt.mtp && !opt.mtp_given);
	EXPECT_EQ(CMX_TENSOR_I8, opt.type);
	ASSERT_EQ(0, parse(MUST "--phase prefill --input-len 1000")) TH_LOG("%s", err.text);
	EXPECT_EQ(16, opt.batch);
	EXPECT_EQ(1, opt.output);
	EXPECT_FALSE(opt.mtp);
	ASSERT_EQ(0, parse(MUST "--phase prefill --input-len 65536 --mtp 1"));
	EXPECT_EQ(2, opt.batch);
	EXPECT_TRUE(opt.mtp && opt.mtp_given);
	ASSERT_EQ(0, parse("--help"));
	EXPECT_TRUE(opt.help);
}

TEST(options_that_cannot_be)
{
	EXPECT_TRUE(refused("--time-only", "no model"));
	EXPECT_TRUE(refused("-m deepseek-r1", "give --time-only"));
	EXPECT_TRUE(refused(MUST "--phase pdc", "--phase pdc: pools are not there yet"));
	EXPECT_TRUE(refused(MUST "--phase train", "must be one of: decode, prefill"));
	EXPECT_TRUE(refused(MUST "--microbatches 2", "the pipeline of two is not there yet"));
	EXPECT_TRUE(refused(MUST "--microbatches 3", "--microbatches is '3'"));
	EXPECT_TRUE(refused(MUST "--balance odd", "must be one of: default, perfect"));
	EXPECT_TRUE(refused(MUST "--quantize int4", "must be one of: int8, bf16, f32"));
	EXPECT_TRUE(refused(MUST "--mtp 2", "0..1"));
	EXPECT_TRUE(refused(MUST "--mtp-acceptance 1.5", "0..1"));
	EXPECT_TRUE(refused(MUST "--batch-per-npu 0", "1..4096"));
	EXPECT_TRUE(refused(MUST "--output-len 1", "must be 2 at least"));
	EXPECT_TRUE(refused(MUST "--reuse 0.5", "for --phase prefill"));
	EXPECT_TRUE(refused(MUST "--phase prefill --steps 3", "for --phase decode"));
	EXPECT_TRUE(refused(MUST "--ep 3 --npus 3", "is 3 dies, which is 2 NPUs and not --npus 3"));
	EXPECT_TRUE(refused(MUST "--redundant 1", "for several dies"));
	EXPECT_TRUE(refused(MUST "--redundant 65 --ep 2", "0..64"));
	EXPECT_TRUE(refused(MUST "--bacth 3", "unknown option '--bacth'"));
	EXPECT_TRUE(refused(MUST "more", "unexpected argument 'more'"));
}

TEST(two_dies_share_the_requests_of_an_npu)
{
	opt.batch = 5;
	EXPECT_EQ(3, cmx_bench_die_batch(&opt, 0));
	EXPECT_EQ(2, cmx_bench_die_batch(&opt, 1));
	EXPECT_EQ(3, cmx_bench_die_batch(&opt, 2));
	EXPECT_EQ(3, cmx_bench_most_batch(&opt));
	opt.batch = 1;
	EXPECT_EQ(0, cmx_bench_die_batch(&opt, 1));
}

/* numpy.percentile() of the same lists. */
TEST(percentiles_lie_between_in_proportion)
{
	static const double list[] = { 4, 1, 3, 2 };
	struct cmx_times t = { 0 };
	struct cmx_spread s = cmx_times_spread(&t);

	EXPECT_EQ(0, s.n);
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(0, cmx_times_add(&t, list[i], &err));
	s = cmx_times_spread(&t);
	EXPECT_EQ(4, s.n);
	EXPECT_EQ(2.5, s.mean);
	EXPECT_EQ(2.5, s.median);
	EXPECT_GT(1e-12, fabs(s.p99 - 3.97));
	EXPECT_GT(1e-12, fabs(s.std - sqrt(1.25)));
	for (int i = 4; i < 1000; i++)
		ASSERT_EQ(0, cmx_times_add(&t, i + 1, &err));
	s = cmx_times_spread(&t);
	EXPECT_EQ(500.5, s.median);
	EXPECT_GT(1e-9, fabs(s.p99 - 990.01));
	cmx_times_free(&t);
}

/* One request: tokens at these ms after it came at 1 ms, two of them together. */
TEST(times_of_a_request)
{
	uint64_t ps[] = { 3000000000, 5000000000, 5000000000, 8000000000 };
	struct cmx_sequence s = {
		.state = CMX_SEQUENCE_ENDED, .submit_ps = 1000000000, .token_ps = ps,
		.req = { .n_prompt = 7 }, .run = { .n_output = 4 },
	}, *list[] = { &s };
	struct cmx_bench_stats st = { .start_ps = 500000000, .end_ps = 9000000000 };

	ASSERT_EQ(0, cmx_bench_stats(list, 1, &st, &err));
	EXPECT_EQ(1, st.completed);
	EXPECT_EQ(7, st.input);
	EXPECT_EQ(4, st.output);
	EXPECT_EQ(2, st.ttft.mean);
	EXPECT_GT(1e-12, fabs(st.tpot.mean - 5.0 / 3));
	EXPECT_EQ(2, st.itl.n);
	EXPECT_EQ(2.5, st.itl.mean);
	EXPECT_EQ(7, st.e2el.mean);
	/* A window that begins with its first token: that one came before. */
	st = (struct cmx_bench_stats){ .start_ps = 3000000000, .end_ps = 9000000000 };
	s.req.handed_over = true;
	s.state = CMX_SEQUENCE_OUTPUT;
	ASSERT_EQ(0, cmx_bench_stats(list, 1, &st, &err));
	EXPECT_EQ(0, st.completed);
	EXPECT_EQ(0, st.input);
	EXPECT_EQ(3, st.output);
	EXPECT_EQ(0, st.ttft.n);
	EXPECT_GT(1e-12, fabs(st.tpot.mean - 5.0 / 3));
}

TEST(times_by_operator_and_layer)
{
	static const struct cmx_trace_event e[] = {
		{ "embed", 0, 5 }, { "attn norm", 5, 6 }, { "q", 6, 9 }, { "attn norm", 9, 10 },
		{ "q", 10, 14 }, { "output norm", 14, 15 }, { "lm head", 15, 25 },
		{ "MTP embed", 25, 26 }, { "attn norm", 26, 27 }, { "q", 27, 29 },
		{ "MTP output norm", 29, 30 }, { "step to die", 30, 31 }, { "embed", 31, 36 },
		{ "attn norm", 36, 37 }, { "q", 37, 99 },
	};
	struct cmx_bench_profile p;

	ASSERT_EQ(0, cmx_bench_profile(&p, e, 15, 5, 50, 3, &err));
	EXPECT_EQ(5, p.layer_ps[0]);
	EXPECT_EQ(5, p.layer_ps[1]);
	EXPECT_EQ(3, p.layer_ps[2]);
	EXPECT_EQ(1 + 10 + 1 + 1 + 1 + 5, p.other_ps);
	EXPECT_EQ(32, p.ps);
	EXPECT_EQ(0, strcmp("lm head", p.op[0].label));
	EXPECT_EQ(0, strcmp("q", p.op[1].label));
	EXPECT_EQ(9, p.op[1].ps);
	EXPECT_EQ(3, p.op[1].count);
	cmx_bench_profile_free(&p);
}

static const struct cmx_workload_options decode = {
	.requests = 6, .input = 100, .output = 40, .handed_over = true, .midway = 4, .mtp = true,
	.acceptance = 0.7f, .seed = 3, .rows = 8, .ranks = 2,
};

static void config(struct cmx_model_config *c)
{
	struct cmx_source *src = NULL;

	if (cmx_source_open_shape("deepseek-r1", CMX_TENSOR_I8, &src, &err))
		abort();
	*c = *cmx_source_config(src);
	cmx_source_close(src);
}

TEST(requests_in_the_midst_of_their_outputs)
{
	static const uint32_t behind[] = { 0, 0, 19, 19, 0, 0 };
	struct cmx_model_config c;
	struct cmx_workload w;

	config(&c);
	ASSERT_EQ(0, cmx_workload_init(&w, &c, CMX_BALANCE_DEFAULT, &decode, &err));
	for (uint32_t i = 0; i < 6; i++) {
		const struct cmx_request r = cmx_workload_request(&w, i);

		EXPECT_TRUE(r.handed_over);
		EXPECT_EQ(100 + behind[i], r.n_prompt);
		EXPECT_EQ(40 - behind[i], r.n);
		EXPECT_EQ(i % 2 * 8, r.replay->turn);
	}
	cmx_workload_free(&w);
}

/* Guesses are right as often as was asked for, and the seed decides which. */
TEST(guesses_are_right_as_often_as_asked)
{
	struct cmx_workload_options o = decode;
	struct cmx_model_config c;
	struct cmx_workload w;
	uint32_t right = 0;

	config(&c);
	o.requests = 1000;
	o.midway = 0;
	ASSERT_EQ(0, cmx_workload_init(&w, &c, CMX_BALANCE_DEFAULT, &o, &err));
	for (uint32_t i = 0; i < 1000; i++) {
		const struct cmx_decisions *d = cmx_workload_request(&w, i).replay;

		ASSERT_EQ(40, d->n_guesses);
		for (uint32_t g = 0; g < 40; g++)
			right += d->guesses[g] == d->ids[d->n_prompt];
	}
	EXPECT_LT(27600, right);
	EXPECT_GT(28400, right);
	cmx_workload_free(&w);
	for (int all = 0; all < 2; all++) {
		o.acceptance = (float)all;
		ASSERT_EQ(0, cmx_workload_init(&w, &c, CMX_BALANCE_DEFAULT, &o, &err));
		for (uint32_t g = 0; g < 40; g++)
			EXPECT_EQ(all, w.decision[7].guesses[g] == w.decision[7].ids[100]);
		cmx_workload_free(&w);
	}
}

TEST(prompts_share_their_beginnings)
{
	struct cmx_workload_options o = {
		.requests = 3, .input = 64, .output = 1, .shared = 32, .ranks = 1, .rows = 64,
	};
	struct cmx_model_config c;
	struct cmx_workload w;

	config(&c);
	ASSERT_EQ(0, cmx_workload_init(&w, &c, CMX_BALANCE_DEFAULT, &o, &err));
	for (uint32_t i = 1; i < 3; i++) {
		const uint32_t *a = cmx_workload_request(&w, 0).ids;
		const uint32_t *b = cmx_workload_request(&w, i).ids;

		EXPECT_EQ(0, memcmp(a, b, 32 * sizeof(*a)));
		EXPECT_NE(0, memcmp(a + 32, b + 32, 32 * sizeof(*a)));
	}
	cmx_workload_free(&w);
	o.input = 163840;
	EXPECT_EQ(-EINVAL, cmx_workload_init(&w, &c, CMX_BALANCE_DEFAULT, &o, &err));
	EXPECT_NE(NULL, strstr(err.text, "the model's context is 163840"));
	cmx_workload_free(&w);
}

/* A batch that is handed over decodes to its end, on the engine that serves all else. */
TEST(handed_over_requests_decode)
{
	const struct cmx_machine_options machine = { .threads = 1, .time_only = true };
	const struct cmx_engine_options shape = { .forward = {
		.ctx = 140, .rows = 8, .seqs = 4, .drafts = 1, .mtp = true, .pages = 36,
		.page_shift = 4,
	} };
	const struct cmx_load_options load = { .mtp = true };
	struct cmx_sequence *seq[6] = { NULL };
	struct cmx_source *src = NULL;
	struct cmx_die *die = NULL;
	struct cmx_engine e = { 0 };
	struct cmx_workload w;
	struct cmx_model m;
	int ret;

	host_die_room = 1ull << 50;
	ASSERT_EQ(0, cmx_source_open_shape("deepseek-r1", CMX_TENSOR_I8, &src, &err));
	ASSERT_EQ(0, host_die_open(&machine, &die, &err));
	ASSERT_EQ(0, cmx_model_load(src, die, &load, &m, &err)) TH_LOG("%s", err.text);
	ASSERT_EQ(0, cmx_engine_init(&e, &m, die, &shape, &err)) TH_LOG("%s", err.text);
	ASSERT_EQ(0, cmx_workload_init(&w, &m.cfg, CMX_BALANCE_DEFAULT, &decode, &err));
	for (uint32_t i = 0; i < 6; i++) {
		const struct cmx_request r = cmx_workload_request(&w, i);

		ASSERT_EQ(0, cmx_engine_submit(&e, &r, &seq[i], &err));
	}
	while ((ret = cmx_engine_step(&e, &err)) > 0)
		;
	EXPECT_EQ(0, ret) TH_LOG("%s", err.text);
	for (uint32_t i = 0; i < 6; i++) {
		EXPECT_EQ(CMX_END_LENGTH, seq[i]->run.end) TH_LOG("%s", seq[i]->err.text);
		EXPECT_EQ(seq[i]->req.n, seq[i]->run.n_output);
		EXPECT_EQ(0, seq[i]->reused);
		cmx_sequence_free(seq[i]);
	}
	EXPECT_GT(e.stats.drafted, e.stats.accepted);
	EXPECT_LT(e.stats.drafted / 2, e.stats.accepted);
	cmx_engine_free(&e);
	cmx_workload_free(&w);
	cmx_model_free(&m);
	host_die_close(die);
	cmx_source_close(src);
}

TEST_HARNESS_MAIN
