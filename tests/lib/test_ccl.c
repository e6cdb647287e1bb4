// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collectives: results against a plain model bit for bit, nothing else touched, times that
 * depend on nothing but the calls, and what is refused.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include <kselftest_harness.h>

#include "group.h"

#define CALLS	10u

/* How the same calls may be made. */
struct way {
	uint32_t flags;		/* CMX_CCL_* */
	uint32_t threads;	/* beside the one that waits */
	bool by_rank;		/* all calls of a rank, then those of the next */
};

static int append(struct group *g, const struct group_call *calls, uint32_t count, bool by_rank)
{
	int ret = 0;

	for (uint32_t i = 0; i < count * g->n && !ret; i++) {
		uint32_t die = by_rank ? i / count : (i * 7 + 3) % g->n;
		uint32_t k = by_rank ? i % count : i / g->n;

		/* Each die's turn comes once: 7 has no factor in common with most sizes. */
		if (!by_rank && g->n % 7 == 0)
			die = i % g->n;
		ret = group_call(g, &calls[k], die, k * g->n + die);
	}
	return ret;
}

/* The calls on random bytes; in time-only runs on none. */
static int run(const struct group_call *calls, uint32_t count, uint32_t n, uint64_t used,
	       uint32_t seed, const struct way *way, uint64_t *times, uint64_t *wrong)
{
	uint8_t *want[GROUP_MAX] = {};
	struct group g;
	int ret = group_open(&g, n, way->flags, way->threads);

	*wrong = 0;
	for (uint32_t i = 0; i < n && !ret && !g.time_only; i++) {
		want[i] = malloc(used);
		group_fill(calls, count, n, i, used, want[i], seed);
		memcpy(cmx_mem_ptr(g.mem[i]), want[i], used);
	}
	if (!ret)
		ret = append(&g, calls, count, way->by_rank);
	if (!ret)
		ret = group_finish(&g, count * n, times);
	if (!ret && !g.time_only)
		group_model(calls, count, n, want);
	for (uint32_t i = 0; i < n && !g.time_only; i++) {
		*wrong += !ret && memcmp(cmx_mem_ptr(g.mem[i]), want[i], used);
		free(want[i]);
	}
	group_close(&g);
	return ret;
}

static void check_ranks(struct __test_metadata *_metadata, uint32_t n, uint32_t seed)
{
	static const struct way ways[] = {
		{ .threads = 0 },
		{ .threads = 3, .by_rank = true },
		{ .flags = CMX_CCL_TIME_ONLY },
		{ .flags = CMX_CCL_TIME_ONLY, .threads = 2, .by_rank = true },
	};
	static struct group_call calls[CALLS];
	uint64_t used = group_draw(calls, CALLS, n, seed), wrong;
	static uint64_t first[CALLS * GROUP_MAX], times[CALLS * GROUP_MAX];

	ASSERT_LE(used, GROUP_ARENA);
	for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		OK(run(calls, CALLS, n, used, seed, &ways[i], i ? times : first, &wrong));
		EXPECT_EQ(0, wrong) TH_LOG("%u ranks, seed %u, way %u", n, seed, i);
		if (i)
			EXPECT_EQ(0, memcmp(first, times, CALLS * n * sizeof(*times)))
				TH_LOG("%u ranks, seed %u, way %u: other times", n, seed, i);
	}
	EXPECT_GT(first[(CALLS - 1) * n], 0);
}

FIXTURE(long_run)
{
	struct drm_cmx_info_device device;
};

FIXTURE_SETUP(long_run)
{
	struct cmx_ctx *ctx;

	OK(cmx_open(NULL, 0, &ctx));
	self->device = *cmx_device(ctx);
	cmx_close(ctx);
	ASSERT_GE(self->device.num_dies, GROUP_MAX);
}

FIXTURE_TEARDOWN(long_run)
{
}

/* A kernel with all its checks takes a minute for each. */
TEST_F_TIMEOUT(long_run, random_calls_of_few_ranks, 200)
{
	for (uint32_t n = 1; n <= 9; n++)
		check_ranks(_metadata, n, 100 + n);
}

TEST_F_TIMEOUT(long_run, random_calls_of_many_ranks, 200)
{
	for (uint32_t n = 10; n <= GROUP_MAX; n++)
		check_ranks(_metadata, n, 100 + n);
}

TEST_F_TIMEOUT(long_run, random_calls_of_any_seed, 200)
{
	for (uint32_t seed = 1; seed <= 24; seed++)
		check_ranks(_metadata, 2 + seed % 4, seed);
}

TEST_F_TIMEOUT(long_run, threads_change_neither_bits_nor_times, 200)
{
	static struct group_call calls[CALLS];
	uint64_t used = group_draw(calls, CALLS, 5, 77), wrong;
	static uint64_t first[CALLS * 5], times[CALLS * 5];
	struct way way = {};

	OK(run(calls, CALLS, 5, used, 77, &way, first, &wrong));
	EXPECT_EQ(0, wrong);
	for (way.threads = 1; way.threads < 4; way.threads++) {
		OK(run(calls, CALLS, 5, used, 77, &way, times, &wrong));
		EXPECT_EQ(0, wrong);
		EXPECT_EQ(0, memcmp(first, times, sizeof(first)));
	}
}

TEST_F_TIMEOUT(long_run, one_step_and_two_have_the_same_bits, 200)
{
	static const uint32_t ways[] = { CMX_CCL_ONE_STEP, CMX_CCL_TWO_STEP, 0 };
	static uint64_t times[16 * GROUP_MAX];
	struct group_call calls[16];

	for (uint32_t n = 1; n <= GROUP_MAX; n += 3) {
		uint64_t used, wrong;

		/* From fewer elements than ranks to all that fits. */
		memset(calls, 0, sizeof(calls));
		used = 64;
		for (uint32_t i = 0; i < 16; i++) {
			calls[i] = (struct group_call){
				.op = GROUP_REDUCE, .dtype = i % 2, .src = used, .dst = used,
				.size = (3u << i / 2 * 2) / 4 + i, .in_place = true,
			};
			if (calls[i].size * 4 > GROUP_MAX_BYTES)
				calls[i].size = GROUP_MAX_BYTES / 4;
			used += calls[i].size * 4 + 128;
			used &= ~63ull;
		}
		for (uint32_t i = 0; i < 3; i++) {
			struct way way = { .flags = ways[i] };

			OK(run(calls, 16, n, used, 5, &way, times, &wrong));
			EXPECT_EQ(0, wrong) TH_LOG("%u ranks, flags %#x", n, ways[i]);
		}
	}
}

/* ------------------------------------------------------------------------- a few by hand */

/* What one call takes on @n ranks, until the last of them has it. */
static int time_of(struct group_call *call, uint32_t n, uint32_t flags, uint64_t max_bytes,
		   uint64_t *ps, uint64_t *moved, uint64_t *two_step)
{
	uint32_t dies[GROUP_MAX];
	struct cmx_ccl_desc desc = { .entities = dies, .ranks = n, .max_bytes = max_bytes,
				     .flags = flags | CMX_CCL_TIME_ONLY };
	struct drm_cmx_timeline_query query = {};
	uint64_t times[GROUP_MAX];
	struct group g;
	int ret = group_open(&g, n, CMX_CCL_TIME_ONLY, 0);

	for (uint32_t i = 0; i < n; i++)
		dies[i] = i;
	if (!ret)
		cmx_ccl_destroy(g.ccl[0]);
	if (!ret)
		ret = cmx_ccl_create(g.ctx, &desc, &g.ccl[0]);
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = group_call(&g, call, i, i);
	if (!ret)
		ret = group_finish(&g, n, times);
	if (!ret)
		ret = cmx_timeline_query(cmx_timeline_default(g.ctx), &query, sizeof(query));
	*ps = 0;
	for (uint32_t i = 0; i < n && !ret; i++)
		*ps = times[i] > *ps ? times[i] : *ps;
	*moved = query.bytes;
	*two_step = ret ? 0 : cmx_ccl_two_step_bytes(g.ccl[0]);
	group_close(&g);
	return ret;
}

/* The choice is the better one on both sides of where it changes, and there they are close. */
TEST_F_TIMEOUT(long_run, two_steps_where_they_are_faster, 200)
{
	static const uint32_t ranks[] = { 3, 4, 8, 16 };

	for (uint32_t k = 0; k < 4; k++) {
		uint64_t edge, ps[3], moved, ignored;
		uint32_t n = ranks[k];
		struct group_call call = { .op = GROUP_REDUCE, .dtype = CMX_CCL_F32, .size = 1,
					   .dst = 0, .src = 0 };

		OK(time_of(&call, n, 0, 4, &ps[0], &moved, &edge));
		ASSERT_LT(edge, 2u << 20);
		for (uint32_t i = 0; i < 2; i++) {
			call.size = i ? edge / 2 : edge / 8;
			OK(time_of(&call, n, 0, 4 << 20, &ps[0], &moved, &ignored));
			OK(time_of(&call, n, CMX_CCL_ONE_STEP, 4 << 20, &ps[1], &moved, &ignored));
			OK(time_of(&call, n, CMX_CCL_TWO_STEP, 4 << 20, &ps[2], &moved, &ignored));
			TH_LOG("%u ranks, edge %llu, %llu bytes: one step %llu ps, two %llu", n,
			       (unsigned long long)edge, (unsigned long long)call.size * 4,
			       (unsigned long long)ps[1], (unsigned long long)ps[2]);
			EXPECT_EQ(ps[0], ps[1] < ps[2] ? ps[1] : ps[2]);
			EXPECT_EQ(i, ps[2] < ps[1]);
		}
	}
}

TEST(bytes_moved_are_those_of_the_algorithm)
{
	const uint64_t n = 6, words = n * (n - 1) * 8, b = 6000;
	const struct {
		uint32_t op, flags;
		uint64_t size, bytes;
	} cases[] = {
		{ GROUP_BARRIER, 0, 0, words },
		/* To every other one, the own one into the window, and all out of it. */
		{ GROUP_GATHER, 0, b, n * (n - 1) * b + words + n * b + n * n * b },
		{ GROUP_ALLTOALL, 0, b, n * (n - 1) * b + words + n * b + n * n * b },
		{ GROUP_SCATTER, 0, b / 4, n * (n - 1) * b + words },
		{ GROUP_REDUCE, CMX_CCL_ONE_STEP, b / 4, n * (n - 1) * b + words },
		{ GROUP_REDUCE, CMX_CCL_TWO_STEP, b / 4,
		  2 * (n - 1) * b + 2 * words + b + n * b },
		{ GROUP_BROADCAST, 0, b, (n - 1) * b + words + (n - 1) * b + b },
	};

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct group_call call = { .op = cases[i].op, .size = cases[i].size,
					   .dst = 1 << 20, .src = 0 };
		uint64_t ps, moved, edge;

		OK(time_of(&call, n, cases[i].flags, 1 << 20, &ps, &moved, &edge));
		EXPECT_EQ(cases[i].bytes, moved) TH_LOG("case %u", i);
	}
}

/* Nobody is told of bytes before they have come, how many there may be. */
TEST(large_pieces_take_their_time)
{
	struct group_call call = { .op = GROUP_GATHER, .size = 2 << 20, .dst = 3 << 20 };
	struct drm_cmx_info_entity die;
	uint64_t ps, moved, edge;
	struct cmx_ctx *ctx;

	OK(cmx_open(NULL, 0, &ctx));
	OK(cmx_entity_info(ctx, 2, &die));
	cmx_close(ctx);
	OK(time_of(&call, 4, 0, 2 << 20, &ps, &moved, &edge));
	/* Two pieces go through a port, the third comes from the other die of the NPU. */
	EXPECT_GT(ps, 2ull * (2 << 20) * 1000000000 / (die.port_rate / 1000));
}

TEST(a_barrier_waits_for_the_last)
{
	struct group_call call = { .op = GROUP_BARRIER };
	uint64_t times[4];
	struct group g;

	OK(group_open(&g, 4, 0, 0));
	OK(cmx_queue_delay(g.q[2], 1000000000, 0, 0));
	for (uint32_t i = 0; i < 4; i++)
		OK(group_call(&g, &call, i, i));
	OK(group_finish(&g, 4, times));
	for (uint32_t i = 0; i < 4; i++)
		EXPECT_GT(times[i], 1000000000);
	group_close(&g);
}

TEST(what_is_no_number_stays_none)
{
	struct group_call call = { .op = GROUP_REDUCE, .dtype = CMX_CCL_BF16, .size = 4,
				   .dst = 64 };
	static const uint16_t in[2][4] = { { 0x7f80, 0x7fc0, 0x8000, 0x7f7f },
					   { 0xff80, 0x3f80, 0x8000, 0x7f7f } };
	uint64_t times[2];
	struct group g;

	OK(group_open(&g, 2, 0, 0));
	for (uint32_t i = 0; i < 2; i++) {
		memcpy(cmx_mem_ptr(g.mem[i]), in[i], sizeof(in[i]));
		OK(group_call(&g, &call, i, i));
	}
	OK(group_finish(&g, 2, times));
	for (uint32_t i = 0; i < 2; i++) {
		const uint16_t *out = (const uint16_t *)cmx_mem_ptr(g.mem[i]) + 32;

		EXPECT_GT(out[0] & 0x7fff, 0x7f80);
		EXPECT_GT(out[1] & 0x7fff, 0x7f80);
		EXPECT_EQ(0x8000, out[2]);
		EXPECT_EQ(0x7f80, out[3]);
	}
	group_close(&g);
}

/* ----------------------------------------------------------------------------- refusals */

#define REFUSED(code, name, lim, call) do { \
	EXPECT_EQ(code, call) TH_LOG("%s", #call); \
	EXPECT_STREQ(name, cmx_last_error()->field) TH_LOG("%s", cmx_last_error()->text); \
	EXPECT_EQ(lim, cmx_last_error()->limit) TH_LOG("%s", cmx_last_error()->text); \
} while (0)

TEST(groups_are_refused)
{
	uint32_t dies[] = { 0, 1, 16 };
	struct cmx_ccl_desc desc = { .entities = dies, .ranks = 3, .max_bytes = 64 };
	struct cmx_ccl *ccl = NULL;
	struct cmx_ctx *ctx;
	uint64_t bytes;

	OK(cmx_open(NULL, 0, &ctx));
	dies[2] = cmx_device(ctx)->num_dies;
	REFUSED(-EINVAL, "entities", dies[2], cmx_ccl_create(ctx, &desc, &ccl));
	desc.ranks = 0;
	REFUSED(-EINVAL, "ranks", CMX_CCL_MAX_RANKS, cmx_ccl_create(ctx, &desc, &ccl));
	REFUSED(-EINVAL, "ranks", CMX_CCL_MAX_RANKS, cmx_ccl_memory(&desc, &bytes));
	desc.ranks = 2;
	desc.max_bytes = 0;
	REFUSED(-EINVAL, "max_bytes", 1ull << 39, cmx_ccl_create(ctx, &desc, &ccl));
	desc.max_bytes = 64;
	desc.flags = CMX_CCL_ONE_STEP | CMX_CCL_TWO_STEP;
	EXPECT_EQ(-EINVAL, cmx_ccl_create(ctx, &desc, &ccl));
	desc.flags = 8;
	REFUSED(-EINVAL, "flags", 7, cmx_ccl_create(ctx, &desc, &ccl));
	desc.flags = 0;
	desc.reserved[3] = 1;
	REFUSED(-EINVAL, "reserved", 0, cmx_ccl_create(ctx, &desc, &ccl));
	desc.reserved[3] = 0;
	OK(cmx_ccl_memory(&desc, &bytes));
	EXPECT_EQ(2 * 512 + 128, bytes);
	EXPECT_EQ(NULL, ccl);
	cmx_close(ctx);
}

TEST(windows_that_do_not_fit_say_how_much)
{
	uint32_t dies[] = { 0, 1 };
	struct cmx_ccl_desc desc = { .entities = dies, .ranks = 2, .max_bytes = 1 << 29,
				     .flags = CMX_CCL_TIME_ONLY };
	struct drm_cmx_info_entity die;
	struct cmx_ccl *ccl = NULL;
	struct cmx_ctx *ctx;
	struct cmx_mem *mem;

	OK(cmx_open(NULL, 0, &ctx));
	OK(cmx_entity_info(ctx, 1, &die));
	OK(cmx_mem_alloc(ctx, 1, die.capacity - die.used - (1 << 30), CMX_MEM_NO_DATA, &mem));
	REFUSED(-ENOSPC, "size", 1 << 30, cmx_ccl_create(ctx, &desc, &ccl));
	EXPECT_EQ(2ull << 30, cmx_last_error()->value);
	/* What was taken of the other die is free again. */
	OK(cmx_entity_info(ctx, 0, &die));
	EXPECT_EQ(0, die.used);
	cmx_close(ctx);
}

FIXTURE(refuse)
{
	struct group g;
	uint64_t a, b;
	struct cmx_ccl *ccl;
	struct cmx_queue *q, *other;
};

FIXTURE_SETUP(refuse)
{
	OK(group_open(&self->g, 3, 0, 0));
	self->a = cmx_mem_va(self->g.mem[0]);
	self->b = self->a + (8 << 20);
	self->ccl = self->g.ccl[0];
	self->q = self->g.q[0];
	self->other = self->g.q[1];
}

FIXTURE_TEARDOWN(refuse)
{
	group_close(&self->g);
}

TEST_F(refuse, arguments)
{
	uint64_t a = self->a, b = self->b, most = GROUP_MAX_BYTES;
	struct cmx_ccl *ccl = self->ccl;
	struct cmx_queue *q = self->q;

	REFUSED(-EINVAL, "rank", 3, cmx_ccl_barrier(ccl, 3, q, 0, 0));
	REFUSED(-EINVAL, "flags", CMX_ENTRY_COMPLETE,
		cmx_ccl_barrier(ccl, 0, q, CMX_ENTRY_OVERLAP, 0));
	REFUSED(-EINVAL, "queue", 0, cmx_ccl_barrier(ccl, 0, self->other, 0, 0));
	REFUSED(-EINVAL, "root", 3, cmx_ccl_broadcast(ccl, 0, q, a, a, 8, 3, 0, 0));
	REFUSED(-EINVAL, "dtype", CMX_CCL_DTYPES, cmx_ccl_all_reduce(ccl, 0, q, a, b, 1, 2, 0, 0));
	REFUSED(-ENOSPC, "bytes", most, cmx_ccl_all_gather(ccl, 0, q, a, b, most + 1, 0, 0));
	EXPECT_EQ(most + 1, cmx_last_error()->value);
	REFUSED(-ENOSPC, "bytes", most, cmx_ccl_all_to_all(ccl, 0, q, a, b, most / 3 + 1, 0, 0));
	REFUSED(-ENOSPC, "count", most, cmx_ccl_all_reduce(ccl, 0, q, a, b, ~0ull, 0, 0, 0));
	REFUSED(-ENOSPC, "count", most,
		cmx_ccl_reduce_scatter(ccl, 0, q, a, b, most / 12 + 1, 0, 0, 0));
	REFUSED(-EINVAL, "src_va", 4, cmx_ccl_all_reduce(ccl, 0, q, a, b + 2, 8, 0, 0, 0));
	REFUSED(-EINVAL, "dst_va", 2, cmx_ccl_all_reduce(ccl, 0, q, a + 1, b, 8, 1, 0, 0));
	REFUSED(-EINVAL, "src_va", UINT64_MAX - 8, cmx_ccl_all_gather(ccl, 0, q, a, 0, 8, 0, 0));
	REFUSED(-EINVAL, "dst_va", a + 4, cmx_ccl_all_reduce(ccl, 0, q, a, a + 4, 8, 0, 0, 0));
	REFUSED(-EINVAL, "dst_va", a + 8, cmx_ccl_all_gather(ccl, 0, q, a, a + 8, 8, 0, 0));
	REFUSED(-EINVAL, "dst_va", a, cmx_ccl_reduce_scatter(ccl, 0, q, a + 32, a, 8, 0, 0, 0));
}

TEST_F(refuse, queues_that_do_not_fit)
{
	struct cmx_queue_desc desc = { .cq = self->g.cq, .queue_class = CMX_QUEUE_STREAM,
				       .slots = 8 };
	struct cmx_queue *q;

	OK(cmx_queue_create(self->g.ctx, &desc, &q));
	REFUSED(-ENOSPC, "slots", 8, cmx_ccl_barrier(self->ccl, 0, q, 0, 0));
	EXPECT_EQ(cmx_ccl_slots(self->ccl), cmx_last_error()->value);
	desc.queue_class = CMX_QUEUE_SDMA;
	desc.slots = 64;
	OK(cmx_queue_create(self->g.ctx, &desc, &q));
	REFUSED(-EINVAL, "queue", CMX_QUEUE_STREAM, cmx_ccl_barrier(self->ccl, 0, q, 0, 0));
}

TEST_F(refuse, calls_of_ranks_that_differ)
{
	uint64_t a = cmx_mem_va(self->g.mem[1]), b = a + (8 << 20), times[3];
	struct cmx_ccl *ccl = self->ccl;
	struct cmx_queue *q = self->other;
	struct group_call call = { .op = GROUP_BROADCAST, .size = 8, .root = 2 };

	OK(group_call(&self->g, &call, 0, 0));
	REFUSED(-EINVAL, "rank", 0, cmx_ccl_barrier(ccl, 1, q, 0, 0));
	REFUSED(-EINVAL, "bytes", 8, cmx_ccl_broadcast(ccl, 1, q, a, b, 9, 2, 0, 0));
	EXPECT_EQ(9, cmx_last_error()->value);
	REFUSED(-EINVAL, "root", 8, cmx_ccl_broadcast(ccl, 1, q, a, b, 8, 1, 0, 0));
	/* What was refused has changed nothing. */
	OK(group_call(&self->g, &call, 1, 1));
	OK(group_call(&self->g, &call, 2, 2));
	OK(group_finish(&self->g, 3, times));
}

TEST_F(refuse, pieces)
{
	uint64_t send[3] = { 8, 16, 0 }, recv[3] = { 8, 0, 24 }, offsets[3] = { 0, 0, 7 };
	struct cmx_ccl_pieces p = { .send_bytes = send, .recv_bytes = recv };
	struct cmx_ccl *ccl = self->ccl;
	uint64_t a = self->a, b = self->b, most = GROUP_MAX_BYTES;

	REFUSED(-EINVAL, "pieces", 0, cmx_ccl_all_to_all_v(ccl, 0, self->q, a, b, NULL, 0, 0));
	p.recv_offsets = offsets;
	REFUSED(-EINVAL, "recv_offsets", 8,
		cmx_ccl_all_to_all_v(ccl, 0, self->q, a, b, &p, 0, 0));
	p.recv_offsets = NULL;
	send[2] = most - 23;
	REFUSED(-ENOSPC, "send_bytes", most,
		cmx_ccl_all_to_all_v(ccl, 0, self->q, a, b, &p, 0, 0));
	send[2] = 0;
	recv[0] = 9;
	REFUSED(-EINVAL, "recv_bytes", 8, cmx_ccl_all_to_all_v(ccl, 0, self->q, a, b, &p, 0, 0));
	recv[0] = 8;
	REFUSED(-EINVAL, "dst_va", a + 31,
		cmx_ccl_all_to_all_v(ccl, 0, self->q, a, a + 31, &p, 0, 0));
	OK(cmx_ccl_all_to_all_v(ccl, 0, self->q, a, b, &p, 0, 0));
	/* Rank 1 should get 16 bytes of rank 0. */
	a = cmx_mem_va(self->g.mem[1]);
	send[0] = 0;
	send[1] = 0;
	REFUSED(-EINVAL, "recv_bytes", 16,
		cmx_ccl_all_to_all_v(ccl, 1, self->other, a, a + 4096, &p, 0, 0));
}

TEST_F(refuse, ranks_far_ahead)
{
	int ret = 0;

	for (uint32_t i = 0; i < 1024 && !ret; i++) {
		for (uint32_t rank = 0; rank < 2 && !ret; rank++)
			ret = cmx_ccl_barrier(self->ccl, rank, self->g.q[rank], 0, 0);
	}
	/* Rings are full long before, and nothing that is there can go on. */
	EXPECT_EQ(-EDEADLK, ret);
	EXPECT_EQ(-EPIPE, cmx_ccl_barrier(self->ccl, 2, self->g.q[2], 0, 0));
	EXPECT_STREQ("ccl", cmx_last_error()->field);
}

TEST_HARNESS_MAIN
