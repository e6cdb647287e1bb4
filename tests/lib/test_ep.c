// SPDX-License-Identifier: GPL-2.0-only
/* Expert parallelism: every bit against a plain model, times of data and time-only mode. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include <kselftest_harness.h>

#include "party.h"

/* In a test: the rounds ran, and all is as the model has it. */
#define RUN_AND_CHECK(p, ...) do { \
	const enum party_draw run_draws[] = { __VA_ARGS__ }; \
	int run_ret = party_run(p, run_draws, sizeof(run_draws) / sizeof(run_draws[0])); \
	ASSERT_EQ(0, run_ret) TH_LOG("%s; status %u, code %#llx", cmx_last_error()->text, \
				     (p)->bad.status, (unsigned long long)(p)->bad.imm); \
	ASSERT_EQ(0, party_check(p)); \
} while (0)

FIXTURE(ep)
{
	struct party party, other;
};

/* An odd number of ranks on several NPUs, experts that do not divide, some with replicas. */
static struct cmx_ep_desc small(void)
{
	return (struct cmx_ep_desc){
		.ranks = 5, .hidden = 20, .topk = 3, .max_tokens = 7, .experts = 11, .local = 3,
		.combine_format = CMX_EP_F32, .flags = CMX_EP_GUARD,
		.costs = { .row_ps = 964000, .count_ps = 30800, .peer_ps = 3700000 },
	};
}

FIXTURE_SETUP(ep)
{
	memset(self, 0, sizeof(*self));
	self->party.desc = small();
	self->party.seed = 7;
}

FIXTURE_TEARDOWN(ep)
{
	party_close(&self->other);
	party_close(&self->party);
}

static const enum party_draw mixed[] = {
	PARTY_RANDOM, PARTY_FULL, PARTY_RANDOM, PARTY_ONE_EXPERT, PARTY_ONE_RANK, PARTY_RANDOM,
	PARTY_NOBODY, PARTY_RANDOM,
};

#define MIXED	(sizeof(mixed) / sizeof(mixed[0]))

static bool same_times(const struct party *a, const struct party *b)
{
	return !memcmp(a->times, b->times, sizeof(a->times));
}

/* Also of many sizes, two in flight: bug 20, batches of different size share the buffers. */
TEST_F(ep, every_format_on_every_path)
{
	struct party *p = &self->party;

	for (uint32_t i = 0; i < 16; i++) {
		p->desc = small();
		p->desc.dispatch_format = i % 4;
		p->desc.combine_format = i / 4 % 2;
		p->desc.path = i / 8;
		p->desc.row_bytes = i % 4 == CMX_EP_ROWS ? p->desc.hidden * 4 : 0;
		p->seed = 100 + i;
		p->jitter_ps = i & 1 ? 300000000 : 0;
		OK(party_open(p, NULL));
		ASSERT_EQ(0, party_run(p, mixed, MIXED)) TH_LOG("%s", cmx_last_error()->text);
		ASSERT_EQ(0, party_check(p)) TH_LOG("shape %u", i);
		party_close(p);
	}
}

/* Seeded shapes: one rank, one expert, one token, many local experts, more ranks than experts. */
TEST_F(ep, any_shape)
{
	struct party *p = &self->party;
	uint32_t state = 4711;

	for (uint32_t i = 0; i < 24; i++) {
		struct cmx_ep_desc *d = &p->desc;

		*d = small();
		d->ranks = 1 + bed_random(&state) % 16;
		d->experts = 1 + bed_random(&state) % 24;
		d->local = (d->experts + d->ranks - 1) / d->ranks + bed_random(&state) % 3;
		d->topk = 1 + bed_random(&state) % (d->experts < 6 ? d->experts : 6);
		d->max_tokens = 1 + bed_random(&state) % 12;
		d->hidden = 1 + bed_random(&state) % 40;
		d->dispatch_format = bed_random(&state) % 2;
		d->path = bed_random(&state) % 2;
		p->seed = i;
		p->jitter_ps = bed_random(&state) % 50000000;
		OK(party_open(p, NULL));
		RUN_AND_CHECK(p, PARTY_RANDOM, PARTY_FULL, PARTY_RANDOM);
		party_close(p);
	}
}

TEST_F(ep, bug19_ranks_without_tokens)
{
	struct party *p = &self->party;

	OK(party_open(p, NULL));
	RUN_AND_CHECK(p, PARTY_NOBODY, PARTY_ONE_RANK, PARTY_NOBODY, PARTY_NOBODY, PARTY_RANDOM);
	party_close(p);
	p->desc = small();
	p->desc.ranks = 1;
	p->desc.local = 11;
	OK(party_open(p, NULL));
	RUN_AND_CHECK(p, PARTY_NOBODY, PARTY_FULL, PARTY_RANDOM);
}

TEST_F(ep, bug20_all_tokens_to_one_expert)
{
	int32_t placement[15];
	struct party *p = &self->party;

	/* Expert 0 is nowhere else, so that all rows go to one place. */
	for (int i = 0; i < 15; i++)
		placement[i] = i < 11 ? i : -1;
	OK(party_open(p, placement));
	RUN_AND_CHECK(p, PARTY_ONE_EXPERT, PARTY_ONE_EXPERT, PARTY_FULL, PARTY_ONE_EXPERT);
	EXPECT_EQ(35, p->rounds[0][0].plan[1]);
	EXPECT_EQ(0, p->rounds[0][4].plan[1]);
}

/*
 * A rank that gets nothing is not waited for by those who send: they go on, and tell of rounds
 * to come before it has read what they told of this one.
 */
TEST_F(ep, bug20_slow_rank_without_rows)
{
	struct party *p = &self->party;
	int32_t placement[15];

	for (uint32_t path = 0; path < 2; path++) {
		p->desc = small();
		p->desc.path = path;
		p->slow_ps = 5000000000;
		for (int i = 0; i < 15; i++)
			placement[i] = i < 3 ? i : i < 6 ? -1 : (i - 3) % 11;
		OK(party_open(p, placement));
		RUN_AND_CHECK(p, PARTY_ONE_EXPERT, PARTY_ONE_EXPERT, PARTY_ONE_EXPERT, PARTY_FULL,
			      PARTY_ONE_EXPERT, PARTY_RANDOM, PARTY_ONE_EXPERT, PARTY_FULL);
		EXPECT_LT(p->slow_ps, p->times[0][PARTY_WAIT][1]);
		/* By then others were in the next round but one; to read, they have to wait. */
		EXPECT_EQ(path == CMX_EP_AIV, p->times[2][PARTY_POST][0] < p->slow_ps / 10);
		party_close(p);
	}
}

/* The decode layout of the paper, with few and short tokens. */
TEST_F_TIMEOUT(ep, ep320, 200)
{
	struct party *p = &self->party, *q = &self->other;
	int32_t placement[320];

	for (int i = 0; i < 320; i++)
		placement[i] = i < 256 ? i : i * 5 % 256;
	p->desc = small();
	p->desc.ranks = 320;
	p->desc.local = 1;
	p->desc.experts = 256;
	p->desc.topk = 8;
	p->desc.max_tokens = 3;
	q->desc = p->desc;
	q->desc.flags = CMX_EP_TIME_ONLY;
	q->seed = p->seed;
	OK(party_open(p, placement));
	RUN_AND_CHECK(p, PARTY_FULL, PARTY_RANDOM, PARTY_RANDOM);
	OK(party_open(q, placement));
	OK(party_run(q, (enum party_draw []){ PARTY_FULL, PARTY_RANDOM, PARTY_RANDOM }, 3));
	EXPECT_TRUE(same_times(p, q));
}

/* The same choices, executed with any number of threads and without any bytes. */
TEST_F(ep, data_and_time_only_take_the_same_time)
{
	static const uint32_t threads[] = { 0, 1, 3 };
	struct party *p = &self->party, *q = &self->other;

	for (uint32_t i = 0; i < 6; i++) {
		q->desc = small();
		q->desc.ranks = 7;
		q->desc.local = 2;
		q->desc.path = i % 2;
		q->desc.dispatch_format = i / 2;
		p->desc = q->desc;
		q->seed = 900 + i;
		p->seed = q->seed;
		p->jitter_ps = i < 3 ? 100000000 : 0;
		q->jitter_ps = p->jitter_ps;
		q->desc.flags |= CMX_EP_TIME_ONLY;
		OK(party_open(q, NULL));
		ASSERT_EQ(0, party_run(q, mixed, MIXED)) TH_LOG("%s", cmx_last_error()->text);
		OK(cmx_ep_check(q->ep));
		OK(party_open(p, NULL));
		OK(cmx_runner_start(p->ctx, threads[i % 3]));
		ASSERT_EQ(0, party_run(p, mixed, MIXED)) TH_LOG("%s", cmx_last_error()->text);
		EXPECT_EQ(0, party_check(p));
		EXPECT_TRUE(same_times(p, q)) TH_LOG("shape %u", i);
		EXPECT_NE(0, p->times[MIXED - 1][PARTY_SUM][0]);
		party_close(p);
		party_close(q);
	}
}

/* What time-only rounds are told when they are appended is what data rounds find. */
TEST_F(ep, bug29_counts_have_one_source)
{
	struct party *p = &self->party, *q = &self->other;
	struct cmx_ep_received received;
	const enum party_draw draw = PARTY_RANDOM;

	OK(party_open(p, NULL));
	RUN_AND_CHECK(p, draw);
	q->desc = small();
	q->desc.flags = CMX_EP_TIME_ONLY;
	q->seed = p->seed;
	OK(party_open(q, NULL));
	OK(party_run(q, &draw, 1));
	/* The same choices once more, looked at call by call. */
	for (uint32_t r = 0; r < 5; r++) {
		const struct party_round *from = &p->rounds[0][r];
		int32_t ids[21];

		for (uint32_t i = 0; i < from->tokens * 3; i++)
			ids[i] = from->active[i / 3] ? from->ids[i] : -1;
		OK(cmx_ep_set_routing(q->ep, r, ids, from->tokens));
	}
	for (uint32_t r = 0; r < 5; r++) {
		struct cmx_ep_dispatch dispatch = { .tokens = p->rounds[0][r].tokens };

		OK(cmx_ep_dispatch_post(q->ep, r, q->queues[r][0], &dispatch, 0, 0));
	}
	for (uint32_t r = 0; r < 5; r++) {
		OK(cmx_ep_dispatch_wait(q->ep, r, q->queues[r][0], &received, 0, 0));
		EXPECT_EQ(p->rounds[0][r].plan[0], received.n_active);
		EXPECT_EQ(p->rounds[0][r].plan[1], received.n_rows);
	}
}

TEST_F(ep, active_mask_is_no_choice)
{
	struct party *p = &self->party, *q = &self->other;
	const enum party_draw draw = PARTY_RANDOM;

	OK(party_open(p, NULL));
	RUN_AND_CHECK(p, draw);
	/* The same, with -1 for tokens that were not active. */
	q->desc = small();
	q->seed = p->seed;
	q->desc.flags |= CMX_EP_TIME_ONLY;
	OK(party_open(q, NULL));
	OK(party_run(q, &draw, 1));
	EXPECT_TRUE(same_times(p, q));
}

/* Runs one round with the same input again and again, and compares what came out. */
static bool same_sums(const struct party *p, float *sums)
{
	const struct cmx_ep_desc *d = &p->desc;
	size_t n = (size_t)d->max_tokens * (d->hidden + 3);
	bool same = true;

	for (uint32_t r = 0; r < d->ranks; r++) {
		if (p->failed[r])
			continue;
		same &= !memcmp(sums + r * n, p->rounds[0][r].out, n * 4);
		memcpy(sums + r * n, p->rounds[0][r].out, n * 4);
	}
	return same;
}

/* Experts move, have replicas, or are twice on one rank: sums stay. */
TEST_F(ep, bug23_rebalance_does_not_change_results)
{
	struct party *p = &self->party;
	float sums[5 * 7 * 23] = {};
	uint32_t state = 5;

	OK(party_open(p, NULL));
	for (uint32_t i = 0; i < 12; i++) {
		const enum party_draw draw = PARTY_FULL;
		int ret = party_run(p, &draw, 1);

		ASSERT_EQ(0, ret) TH_LOG("%s", cmx_last_error()->text);
		EXPECT_EQ(0, party_check(p));
		EXPECT_TRUE(same_sums(p, sums) || !i);
		/* All 11 experts in turned places, and 4 more at random. */
		for (uint32_t e = 0; e < 15; e++)
			p->placement[(e * 7 + i) % 15] = e < 11 ? (int32_t)e :
							 (int32_t)(bed_random(&state) % 11);
		OK(cmx_ep_set_placement(p->ep, p->placement, NULL));
	}
}

/* Which replica a row goes to goes around with rank and token. */
TEST_F(ep, replicas_take_turns)
{
	static const int32_t placement[] = { 0, 0, 0, 1 };
	struct party *p = &self->party;

	p->desc.ranks = 4;
	p->desc.local = 1;
	p->desc.topk = 1;
	p->desc.experts = 2;
	p->desc.max_tokens = 6;
	OK(party_open(p, placement));
	RUN_AND_CHECK(p, PARTY_ONE_EXPERT);
	for (int r = 0; r < 3; r++)
		EXPECT_EQ(8, p->rounds[0][r].plan[1]);
	EXPECT_EQ(0, p->rounds[0][3].plan[1]);
}

TEST_F(ep, failed_rank_with_replicas)
{
	struct party *p = &self->party;
	uint64_t failed = 1 << 2;
	float sums[5 * 7 * 23] = {};
	int32_t placement[40];

	/* Every expert twice, on different ranks. */
	p->desc.local = 8;
	for (int i = 0; i < 40; i++)
		placement[i] = i < 11 || i >= 29 ? i % 29 % 11 : -1;
	OK(party_open(p, placement));
	RUN_AND_CHECK(p, PARTY_FULL);
	same_sums(p, sums);
	/* Rank 2 has none of them; 0 and 1 are the only ones with some. */
	OK(cmx_ep_set_placement(p->ep, NULL, &failed));
	p->failed[2] = true;
	RUN_AND_CHECK(p, PARTY_FULL);
	EXPECT_TRUE(same_sums(p, sums));
	failed = 1 << 0;
	OK(cmx_ep_set_placement(p->ep, NULL, &failed));
	p->failed[2] = false;
	p->failed[0] = true;
	RUN_AND_CHECK(p, PARTY_FULL, PARTY_RANDOM, PARTY_RANDOM);
	EXPECT_TRUE(same_sums(p, sums));
	for (uint32_t r = 1; r < 5; r++)
		EXPECT_EQ(0, cmx_ep_dropped(p->ep, r));
	/* It comes back. */
	OK(cmx_ep_set_placement(p->ep, NULL, NULL));
	p->failed[0] = false;
	RUN_AND_CHECK(p, PARTY_FULL, PARTY_RANDOM);
}

TEST_F(ep, failed_rank_without_replicas)
{
	struct party *p = &self->party;
	uint64_t failed = 1 << 1, mine;
	int32_t placement[15];

	for (int i = 0; i < 15; i++)
		placement[i] = i < 11 ? i : -1;
	for (uint32_t path = 0; path < 2; path++) {
		p->desc = small();
		p->desc.path = path;
		OK(party_open(p, placement));
		OK(cmx_ep_set_placement(p->ep, NULL, &failed));
		p->failed[1] = true;
		RUN_AND_CHECK(p, PARTY_FULL, PARTY_RANDOM);
		mine = 0;
		for (uint32_t i = 0; i < 7 * 3; i++)
			mine += p->rounds[0][0].ids[i] / 3 == 1;
		EXPECT_LT(0, mine);
		EXPECT_LE(mine, cmx_ep_dropped(p->ep, 0));
		EXPECT_EQ(0, cmx_ep_dropped(p->ep, 1));
		party_close(p);
	}
}

/* Sums are made in f32: what BF16 results cost is their own rounding, once. */
TEST_F(ep, bug22_combine_loses_no_more_than_the_format)
{
	struct party *p = &self->party, *q = &self->other;
	const enum party_draw draw = PARTY_FULL;

	p->desc.combine_format = CMX_EP_BF16;
	OK(party_open(p, NULL));
	OK(party_run(p, &draw, 1));
	q->desc = small();
	q->seed = p->seed;
	OK(party_open(q, NULL));
	OK(party_run(q, &draw, 1));
	for (uint32_t i = 0; i < 7 * 23; i++) {
		double most = 0, exact = q->rounds[0][0].out[i];

		if (i % 23 >= 20)
			continue;
		for (uint32_t k = 0; k < 3; k++)
			most += fabs((double)p->rounds[0][0].weights[i / 23 * 3 + k]) * 64;
		EXPECT_LE(fabs((double)p->rounds[0][0].out[i] - exact), most / 256 + 1e-5);
	}
}

/* The library's path does not change what comes out. */
TEST_F(ep, both_paths_give_the_same)
{
	struct party *p = &self->party, *q = &self->other;

	p->desc.dispatch_format = CMX_EP_INT8;
	p->desc.combine_format = CMX_EP_BF16;
	q->desc = p->desc;
	q->desc.path = CMX_EP_SDMA;
	q->seed = p->seed;
	OK(party_open(p, NULL));
	OK(party_open(q, NULL));
	OK(party_run(p, mixed, MIXED));
	OK(party_run(q, mixed, MIXED));
	for (uint32_t i = 0; i < MIXED; i++) {
		for (uint32_t r = 0; r < 5; r++)
			EXPECT_EQ(0, memcmp(p->rounds[i][r].out, q->rounds[i][r].out,
					    7 * 23 * 4ul));
	}
	EXPECT_FALSE(same_times(p, q));
}

/* Whether the text of the last error has both numbers. */
static bool says(const char *a, const char *b)
{
	return strstr(cmx_last_error()->text, a) && strstr(cmx_last_error()->text, b);
}

TEST_F(ep, bug21_tokens_above_capacity)
{
	struct party *p = &self->party;
	struct cmx_ep_dispatch dispatch = { .x_va = 64, .ids_va = 64, .tokens = 8 };
	int32_t ids[24] = {};

	OK(party_open(p, NULL));
	/* 3 choices of 512 bytes. */
	EXPECT_EQ(-ENOSPC, cmx_ep_dispatch_post(p->ep, 0, p->queues[0][0], &dispatch, 0, 0));
	EXPECT_TRUE(says("12288", "10752")) TH_LOG("%s", cmx_last_error()->text);
	RUN_AND_CHECK(p, PARTY_FULL);
	party_close(p);
	p->desc = small();
	p->desc.flags = CMX_EP_TIME_ONLY;
	OK(party_open(p, NULL));
	EXPECT_EQ(-ENOSPC, cmx_ep_set_routing(p->ep, 0, ids, 8));
}

/* A small bound of rows is kept to: the launch says so, and nothing is written behind it. */
TEST_F(ep, more_rows_than_there_is_room_for)
{
	struct party *p = &self->party;
	/* Of two rounds the second is the one that ends at the guard. */
	const enum party_draw draws[] = { PARTY_NOBODY, PARTY_ONE_EXPERT };
	int32_t placement[15];

	for (int i = 0; i < 15; i++)
		placement[i] = i < 11 ? i : -1;
	for (uint32_t rows = 34; rows < 36; rows++) {
		p->desc = small();
		p->desc.max_rows = rows;
		OK(party_open(p, placement));
		EXPECT_EQ(rows < 35 ? -EIO : 0, party_run(p, draws, 2));
		EXPECT_EQ(rows < 35 ? CMX_CR_KERNEL_ERR : 0, p->bad.status);
		EXPECT_EQ(rows < 35 ? CMX_EP_CODE_ROWS : 0, p->bad.imm);
		OK(cmx_ep_check(p->ep));
		party_close(p);
	}
	p->desc = small();
	p->desc.max_rows = 34;
	p->desc.flags = CMX_EP_TIME_ONLY;
	OK(party_open(p, placement));
	EXPECT_EQ(-ENOSPC, party_run(p, draws, 2));
	EXPECT_TRUE(says("35 rows need 17920", "17408")) TH_LOG("%s", cmx_last_error()->text);
}

static int wait_one(struct party *p)
{
	const struct cmx_wait_opts opts = { .timeline = p->clock };

	return cmx_wait_completions(p->cq, 1, &opts);
}

/* Choices that are none fail the launch, and nobody waits for them for ever. */
TEST_F(ep, bad_choices)
{
	static const struct { int32_t id; uint32_t code; } cases[] = {
		{ 11, CMX_EP_CODE_IDS }, { -2, CMX_EP_CODE_IDS }, { INT32_MAX, CMX_EP_CODE_IDS },
		{ INT32_MIN, CMX_EP_CODE_IDS }, { 5, CMX_EP_CODE_TWICE },
	};
	struct party *p = &self->party;
	struct cmx_cqe cqe;
	struct cmx_mem *mem;

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cmx_ep_dispatch dispatch = { .x_stride = 80, .tokens = 7 };
		int32_t *ids;

		p->desc = small();
		OK(party_open(p, NULL));
		OK(cmx_mem_alloc(p->ctx, p->entities[0], 4096, 0, &mem));
		ids = (int32_t *)((char *)cmx_mem_ptr(mem) + 2048);
		for (uint32_t k = 0; k < 21; k++)
			ids[k] = (int32_t)(k % 3 + 4);
		ids[18] = cases[i].id;
		dispatch.x_va = cmx_mem_va(mem);
		dispatch.ids_va = cmx_va(ids);
		OK(cmx_ep_dispatch_post(p->ep, 0, p->queues[0][0], &dispatch, 0, 0));
		OK(cmx_queue_submit(p->queues[0][0]));
		OK(wait_one(p));
		ASSERT_EQ(1, cmx_cq_read(p->cq, &cqe));
		EXPECT_EQ(CMX_CR_KERNEL_ERR, cqe.status);
		EXPECT_EQ(cases[i].code, cqe.imm) TH_LOG("case %u", i);
		OK(cmx_ep_check(p->ep));
		party_close(p);
		p->desc = small();
		p->desc.flags = CMX_EP_TIME_ONLY;
		OK(party_open(p, NULL));
		ids = (int32_t[]){ 4, cases[i].id, 5 };
		EXPECT_EQ(-EINVAL, cmx_ep_set_routing(p->ep, 0, ids, 1));
		party_close(p);
	}
}

/* Calls out of turn, of ranks that are none, on queues of others. */
TEST_F(ep, calls_out_of_turn)
{
	struct party *p = &self->party;
	struct cmx_ep_dispatch none = {};
	struct cmx_ep_received received;
	struct cmx_queue *q, *elsewhere;
	struct cmx_queue_desc desc = { .queue_class = CMX_QUEUE_STREAM };
	uint64_t failed = 1 << 3, all = ~0ull;

	OK(party_open(p, NULL));
	q = p->queues[0][0];
	EXPECT_EQ(-EINVAL, cmx_ep_dispatch_wait(p->ep, 0, q, &received, 0, 0));
	EXPECT_EQ(-EINVAL, cmx_ep_combine_post(p->ep, 0, q, 0, 0, 0, 0));
	EXPECT_EQ(-EINVAL, cmx_ep_combine_wait(p->ep, 0, q, NULL, NULL, 0, 0));
	EXPECT_EQ(-EINVAL, cmx_ep_dispatch_post(p->ep, 5, q, &none, 0, 0));
	EXPECT_EQ(-EINVAL, cmx_ep_dispatch_post(p->ep, 1, q, &none, 0, 0));
	EXPECT_TRUE(says("entity 6", "on 1")) TH_LOG("%s", cmx_last_error()->text);
	desc.entity = p->entities[0];
	OK(cmx_cq_create(p->ctx, NULL, 16, CMX_CQ_BACKPRESSURE, &desc.cq));
	OK(cmx_queue_create(p->ctx, &desc, &elsewhere));
	EXPECT_EQ(-EINVAL, cmx_ep_dispatch_post(p->ep, 0, elsewhere, &none, 0, 0));
	EXPECT_EQ(-EINVAL, cmx_ep_set_routing(p->ep, 0, NULL, 0));
	EXPECT_EQ(-EINVAL, cmx_ep_set_placement(p->ep, NULL, &all));
	OK(cmx_ep_dispatch_post(p->ep, 0, q, &none, 0, 0));
	OK(cmx_ep_dispatch_post(p->ep, 0, q, &none, 0, 0));
	EXPECT_EQ(-EBUSY, cmx_ep_dispatch_post(p->ep, 0, q, &none, 0, 0));
	EXPECT_EQ(-EBUSY, cmx_ep_set_placement(p->ep, NULL, &failed));
	party_close(p);
	p->desc = small();
	p->desc.flags = CMX_EP_TIME_ONLY;
	OK(party_open(p, NULL));
	EXPECT_EQ(-EINVAL, cmx_ep_dispatch_post(p->ep, 0, p->queues[0][0], &none, 0, 0));
	EXPECT_TRUE(says("no choices of rank 0", "round 0"));
	OK(cmx_ep_set_placement(p->ep, NULL, &failed));
	EXPECT_EQ(-EINVAL, cmx_ep_set_routing(p->ep, 3, NULL, 0));
	EXPECT_EQ(-EINVAL, cmx_ep_dispatch_post(p->ep, 3, p->queues[3][0], &none, 0, 0));
}

TEST_F(ep, bad_descriptions)
{
	static const struct {
		size_t offset;
		uint32_t value;
		const char *field;
	} cases[] = {
#define BAD(member, value) { offsetof(struct cmx_ep_desc, member), value, #member }
		BAD(ranks, 0), BAD(ranks, CMX_EP_MAX_RANKS + 1), BAD(hidden, 0),
		BAD(hidden, 70000), BAD(topk, 0), BAD(topk, 65), BAD(max_tokens, 0),
		BAD(max_tokens, 21846), BAD(experts, 0), BAD(experts, CMX_EP_MAX_EXPERTS + 1),
		BAD(local, 0), BAD(local, CMX_EP_MAX_LOCAL + 1), BAD(dispatch_format, 4),
		BAD(combine_format, 2), BAD(row_bytes, 4), BAD(packet_bytes, 96),
		BAD(packet_bytes, 513), BAD(path, 2), BAD(flags, 4), BAD(reserved, 1),
#undef BAD
	};
	struct party *p = &self->party;

	OK(party_open(p, NULL));
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cmx_ep_desc desc = p->desc;
		struct cmx_ep_sizes sizes;
		struct cmx_ep *ep;

		memcpy((char *)&desc + cases[i].offset, &cases[i].value, 4);
		EXPECT_EQ(-EINVAL, cmx_ep_create(p->ctx, &desc, &ep)) TH_LOG("case %u", i);
		EXPECT_STREQ(cases[i].field, cmx_last_error()->field);
		EXPECT_EQ(NULL, ep);
		EXPECT_EQ(-EINVAL, cmx_ep_query_sizes(&desc, &sizes));
	}
}

TEST_F(ep, bad_tables)
{
	struct party *p = &self->party;
	uint32_t entities[5] = { 0, 1, 2, 3, 100000 };
	struct cmx_ep_desc desc;
	struct cmx_ep *ep;

	OK(party_open(p, NULL));
	desc = p->desc;
	desc.entities = entities;
	EXPECT_EQ(-EINVAL, cmx_ep_create(p->ctx, &desc, &ep));
	EXPECT_TRUE(says("rank 4", "100000"));
	entities[4] = 1;
	EXPECT_EQ(-EINVAL, cmx_ep_create(p->ctx, &desc, &ep));
	EXPECT_TRUE(says("ranks 1 and 4", "entity 1"));
	desc = p->desc;
	p->placement[7] = 11;
	EXPECT_EQ(-EINVAL, cmx_ep_create(p->ctx, &desc, &ep));
	EXPECT_TRUE(says("rank 2 has expert 11", "-1 to 10"));
	p->placement[7] = -2;
	EXPECT_EQ(-EINVAL, cmx_ep_set_placement(p->ep, p->placement, NULL));
}

TEST_F(ep, sizes_and_their_limit)
{
	struct party *p = &self->party;
	struct cmx_ep_sizes sizes;
	struct cmx_ep_desc desc;
	struct cmx_ep *ep = NULL;
	char need[32], given[32];

	OK(party_open(p, NULL));
	desc = p->desc;
	desc.flags = 0;
	OK(cmx_ep_query_sizes(&desc, &sizes));
	/* 5 ranks with 7 tokens of 3 rows each, in 512 bytes. */
	EXPECT_EQ(2 * 5 * 7 * 3 * 512, sizes.dispatch);
	EXPECT_EQ(sizes.total, sizes.dispatch + sizes.combine + sizes.flags + sizes.staging);
	desc.buffer_bytes = sizes.total;
	OK(cmx_ep_create(p->ctx, &desc, &ep));
	cmx_ep_destroy(ep);
	desc.buffer_bytes--;
	EXPECT_EQ(-ENOSPC, cmx_ep_create(p->ctx, &desc, &ep));
	snprintf(need, sizeof(need), "%llu", (unsigned long long)sizes.total);
	snprintf(given, sizeof(given), "%llu", (unsigned long long)sizes.total - 1);
	EXPECT_TRUE(says(need, given)) TH_LOG("%s", cmx_last_error()->text);
	/* More than a die has. */
	desc.buffer_bytes = 0;
	desc.max_tokens = 20000;
	desc.hidden = 60000;
	EXPECT_EQ(-ENOSPC, cmx_ep_create(p->ctx, &desc, &ep));
	EXPECT_TRUE(says("rank 0: buffers need", "entity 1 has"))
		TH_LOG("%s", cmx_last_error()->text);
	/* What a call needs fits rings of a usual size at the largest layout there is. */
	EXPECT_LE(cmx_ep_slots(p->ep), 64);
}

/* The check finds a byte in any guard area. */
TEST_F(ep, guards_are_looked_at)
{
	struct party *p = &self->party;
	struct cmx_ep_received received;
	struct cmx_ep_dispatch none = {};
	unsigned char *rows;

	OK(party_open(p, NULL));
	OK(cmx_ep_dispatch_post(p->ep, 0, p->queues[0][0], &none, 0, 0));
	OK(cmx_ep_dispatch_wait(p->ep, 0, p->queues[0][0], &received, 0, 0));
	rows = (unsigned char *)(uintptr_t)received.rows_va;
	OK(cmx_ep_check(p->ep));
	rows[-1] = 0;
	EXPECT_EQ(-EUCLEAN, cmx_ep_check(p->ep));
	EXPECT_TRUE(says("rank 0: byte 1 before", "'rows'")) TH_LOG("%s", cmx_last_error()->text);
	rows[-1] = 0xa5;
	OK(cmx_ep_check(p->ep));
	rows[2ul * 105 * 512] = 1;
	EXPECT_EQ(-EUCLEAN, cmx_ep_check(p->ep));
	EXPECT_TRUE(says("byte 0 behind", "'rows'")) TH_LOG("%s", cmx_last_error()->text);
}

TEST_HARNESS_MAIN
