// SPDX-License-Identifier: GPL-2.0-only
/* Clocks: several in a context, several submitters on one, one for two processes. */
#include <errno.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "bed.h"

FIXTURE(timeline)
{
	struct bed bed;
	struct cmx_timeline *timeline;
};

FIXTURE_SETUP(timeline)
{
	OK(bed_open(&self->bed));
	self->timeline = cmx_timeline_default(self->bed.ctx);
}

FIXTURE_TEARDOWN(timeline)
{
	bed_close(&self->bed);
}

TEST_F(timeline, clocks_do_not_see_each_other)
{
	struct cmx_queue_desc desc = {};
	struct cmx_wait_opts opts = {};
	struct cmx_timeline *other;
	struct cmx_queue *q;
	struct cmx_mem *mem;

	OK(cmx_timeline_create(self->bed.ctx, 0, &other));
	OK(cmx_cq_create(self->bed.ctx, other, 16, CMX_CQ_BACKPRESSURE, &desc.cq));
	desc.timeline = other;
	OK(cmx_queue_create(self->bed.ctx, &desc, &q));
	OK(cmx_mem_alloc(self->bed.ctx, 0, 1 << 20, 0, &mem));
	OK(cmx_queue_fill(q, cmx_mem_va(mem), 1 << 20, 1, 8, CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_submit(q));
	OK(cmx_wait_completions(desc.cq, 1, NULL));
	EXPECT_GT(cmx_timeline_now(other), 0);
	EXPECT_EQ(0, cmx_timeline_now(self->timeline));
	opts.timeline = other;
	OK(cmx_wait_time(self->bed.ctx, 1000000000, &opts));
	EXPECT_EQ(1000000000, cmx_timeline_now(other));
	EXPECT_EQ(-EBUSY, cmx_timeline_destroy(other));
	OK(cmx_queue_destroy(q));
	OK(cmx_cq_destroy(desc.cq));
	OK(cmx_timeline_destroy(other));
	EXPECT_EQ(-EINVAL, cmx_timeline_destroy(self->timeline));
	EXPECT_EQ(-EINVAL, cmx_timeline_create(self->bed.ctx, 1u << 31, &other));
}

TEST_F(timeline, free_running)
{
	struct drm_cmx_timeline_query query;
	struct cmx_queue_desc desc = {};
	struct cmx_cqe cqe;
	struct cmx_queue *q;
	int ret;

	OK(cmx_timeline_create(self->bed.ctx, CMX_TIMELINE_FREE_RUNNING, &desc.timeline));
	OK(cmx_cq_create(self->bed.ctx, desc.timeline, 16, CMX_CQ_BACKPRESSURE, &desc.cq));
	OK(cmx_queue_create(self->bed.ctx, &desc, &q));
	for (uint64_t i = 0; i < 50; i++) {
		OK(cmx_queue_nop(q, CMX_ENTRY_COMPLETE, i));
		OK(cmx_queue_submit(q));
		while ((ret = cmx_cq_poll(desc.cq, &cqe)) == 0)
			;
		OK(ret);
		EXPECT_EQ(i, cqe.user_ctx);
	}
	OK(cmx_timeline_query(desc.timeline, &query, sizeof(query)));
	EXPECT_TRUE(query.flags & CMX_TIMELINE_FREE_RUNNING);
	EXPECT_EQ(50, query.commands);
}

/* A thread with a queue of its own: it passes a turn on and waits for the next. */
struct player {
	struct bed *bed;
	struct cmx_queue *q;
	struct cmx_cq *cq;
	uint64_t *word;
	uint64_t first, step, rounds;
	uint32_t actor;
	uint64_t end_ps;
	int ret;
};

static void *play(void *arg)
{
	struct player *player = arg;
	struct cmx_timeline *timeline = cmx_timeline_default(player->bed->ctx);
	int ret = cmx_actor_bind(timeline, player->actor);

	for (uint64_t i = 0; !ret && i < player->rounds; i++) {
		uint64_t turn = player->first + i * player->step;
		struct cmx_cqe cqe;

		ret = cmx_queue_wait(player->q, cmx_va(player->word), CMX_COND_EQ, turn, 0, 0);
		if (!ret)
			ret = cmx_queue_fill(player->q, cmx_va(player->word + 8), 8192 * (turn + 1),
					     turn & 0xff, 1, 0, 0);
		if (!ret)
			ret = cmx_queue_signal(player->q, cmx_va(player->word), CMX_SIGNAL_ADD, 1,
					       CMX_ENTRY_COMPLETE, turn);
		if (!ret)
			ret = cmx_queue_submit(player->q);
		if (!ret)
			ret = cmx_wait_completions(player->cq, 1, NULL);
		if (!ret && cmx_cq_read(player->cq, &cqe) == 1)
			player->end_ps = cqe.time_ps;
	}
	player->ret = ret ? ret : cmx_actor_remove(timeline, player->actor);
	return NULL;
}

static int play_together(uint64_t *end_ps)
{
	struct player players[3] = {};
	pthread_t threads[3];
	struct bed bed = {};
	struct cmx_mem *mem;
	int ret = bed_open(&bed);

	if (!ret)
		ret = cmx_mem_alloc(bed.ctx, 1, 1 << 20, 0, &mem);
	for (uint32_t i = 0; !ret && i < 3; i++) {
		struct cmx_queue_desc desc = { .entity = i };

		players[i] = (struct player){ .bed = &bed, .word = cmx_mem_ptr(mem), .first = i,
					      .step = 3, .rounds = 20 };
		ret = cmx_cq_create(bed.ctx, NULL, 4, CMX_CQ_BACKPRESSURE, &desc.cq);
		players[i].cq = desc.cq;
		if (!ret)
			ret = cmx_queue_create(bed.ctx, &desc, &players[i].q);
		/* All actors are there before the first of them can wait. */
		if (!ret)
			ret = cmx_actor_add(cmx_timeline_default(bed.ctx), &players[i].actor);
	}
	for (int i = 0; !ret && i < 3; i++)
		ret = -pthread_create(&threads[i], NULL, play, &players[i]);
	/* This thread submits nothing and must not hold the clock. */
	if (!ret)
		ret = cmx_actor_remove(cmx_timeline_default(bed.ctx), 0);
	for (int i = 0; !ret && i < 3; i++) {
		pthread_join(threads[i], NULL);
		ret = players[i].ret;
		end_ps[i] = players[i].end_ps;
	}
	bed_close(&bed);
	return ret;
}

TEST(submitters_that_meet_in_waits_are_deterministic)
{
	uint64_t first[3], again[3];

	OK(play_together(first));
	EXPECT_GT(first[0], 0);
	EXPECT_LT(first[0], first[2]);
	for (int i = 0; i < 5; i++) {
		OK(play_together(again));
		EXPECT_EQ(0, memcmp(first, again, sizeof(first)));
	}
}

/* The other process joins the clock and answers each signal. */
static int peer(int mem_fd, int timeline_fd, int ready)
{
	struct cmx_queue_desc desc = { .entity = 1 };
	struct cmx_ctx *ctx;
	struct cmx_mem *mem;
	struct cmx_queue *q;
	int ret = cmx_open(NULL, 0, &ctx);

	if (!ret)
		ret = cmx_timeline_import(ctx, timeline_fd, &desc.timeline);
	if (!ret)
		ret = cmx_mem_import(ctx, mem_fd, 0, &mem);
	if (!ret)
		ret = cmx_cq_create(ctx, desc.timeline, 16, CMX_CQ_BACKPRESSURE, &desc.cq);
	if (!ret)
		ret = cmx_queue_create(ctx, &desc, &q);
	for (uint64_t i = 1; !ret && i <= 5; i++) {
		ret = cmx_queue_wait(q, cmx_mem_va(mem), CMX_COND_EQ, i, 0, 0);
		if (!ret)
			ret = cmx_queue_signal(q, cmx_mem_va(mem) + 8, CMX_SIGNAL_SET, i,
					       i == 5 ? CMX_ENTRY_COMPLETE : 0, i);
	}
	if (!ret)
		ret = cmx_queue_submit(q);
	/* Not before: the parent must not wait while it is the only actor. */
	if (write(ready, "x", 1) != 1 || ret)
		return 1;
	ret = cmx_wait_completions(desc.cq, 1, NULL);
	cmx_close(ctx);
	return ret ? 1 : 0;
}

static int ping_a_peer(uint64_t *end_ps)
{
	struct bed bed = {};
	struct cmx_mem *mem;
	struct cmx_cqe cqe = {};
	int mem_fd, timeline_fd, ready[2], status = 0, ret;
	pid_t pid;
	char byte;

	ret = bed_open(&bed);
	if (!ret)
		ret = cmx_mem_alloc(bed.ctx, 0, 4096, 0, &mem);
	if (!ret)
		ret = cmx_mem_export(mem, &mem_fd);
	if (!ret)
		ret = cmx_timeline_export(cmx_timeline_default(bed.ctx), &timeline_fd);
	if (ret || pipe(ready))
		return ret ? ret : -errno;
	pid = fork();
	if (!pid)
		_exit(peer(mem_fd, timeline_fd, ready[1]));
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		ret = -EPIPE;
	for (uint64_t i = 1; !ret && i <= 5; i++) {
		ret = cmx_queue_signal(bed.q, cmx_mem_va(mem), CMX_SIGNAL_SET, i, 0, i);
		if (!ret)
			ret = cmx_queue_wait(bed.q, cmx_mem_va(mem) + 8, CMX_COND_EQ, i,
					     i == 5 ? CMX_ENTRY_COMPLETE : 0, i);
	}
	if (!ret)
		ret = bed_finish(&bed, 1, &cqe);
	*end_ps = cqe.time_ps;
	close(ready[0]);
	close(mem_fd);
	close(timeline_fd);
	/* The peer's last wait may need this actor out of the way. */
	if (!ret)
		ret = cmx_actor_remove(cmx_timeline_default(bed.ctx), 0);
	if (waitpid(pid, &status, 0) != pid || status)
		ret = ret ? ret : -ECHILD;
	bed_close(&bed);
	return ret;
}

TEST(two_processes_share_a_clock)
{
	uint64_t first, again;

	OK(ping_a_peer(&first));
	EXPECT_GT(first, 0);
	for (int i = 0; i < 3; i++) {
		OK(ping_a_peer(&again));
		EXPECT_EQ(first, again);
	}
}

static int one_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	return 0;
}

/* A clock for each request, with runner threads that look at every one. */
TEST_F(timeline, clocks_come_and_go_under_runners)
{
	struct cmx_launch_desc launch = { .grid = 3 };

	OK(cmx_kernel_register(self->bed.ctx, "one", one_block, &launch.kernel));
	OK(cmx_runner_start(self->bed.ctx, 2));
	for (int i = 0; i < 100; i++) {
		struct cmx_queue_desc desc = {};
		struct cmx_cqe cqe;
		struct cmx_queue *q;
		uint32_t actor;

		OK(cmx_timeline_create(self->bed.ctx, 0, &desc.timeline));
		/* Bindings go with their timeline. */
		OK(cmx_actor_add(desc.timeline, &actor));
		OK(cmx_actor_bind(desc.timeline, actor));
		OK(cmx_actor_remove(desc.timeline, 0));
		OK(cmx_cq_create(self->bed.ctx, desc.timeline, 16, CMX_CQ_BACKPRESSURE, &desc.cq));
		OK(cmx_queue_create(self->bed.ctx, &desc, &q));
		for (int j = 0; j < 4; j++)
			OK(cmx_queue_launch(q, &launch, CMX_ENTRY_COMPLETE, 0));
		OK(cmx_queue_submit(q));
		OK(cmx_wait_completions(desc.cq, 4, NULL));
		for (int j = 0; j < 4; j++) {
			ASSERT_EQ(1, cmx_cq_read(desc.cq, &cqe));
			ASSERT_EQ(0, cqe.status);
		}
		OK(cmx_queue_destroy(q));
		OK(cmx_cq_destroy(desc.cq));
		OK(cmx_timeline_destroy(desc.timeline));
	}
}

TEST_F(timeline, objects_of_another_clock_or_context)
{
	struct cmx_queue_desc desc = { .cq = self->bed.cq };
	struct cmx_rq_desc rq_desc = {};
	struct cmx_rq *rq;
	struct cmx_queue *q;
	struct bed other;

	OK(cmx_timeline_create(self->bed.ctx, 0, &desc.timeline));
	EXPECT_EQ(-EINVAL, cmx_queue_create(self->bed.ctx, &desc, &q));
	EXPECT_STREQ("cq", cmx_last_error()->field);
	OK(bed_open(&other));
	desc.timeline = cmx_timeline_default(other.ctx);
	EXPECT_EQ(-EINVAL, cmx_queue_create(self->bed.ctx, &desc, &q));
	EXPECT_STREQ("timeline", cmx_last_error()->field);
	desc.timeline = NULL;
	desc.cq = other.cq;
	rq_desc.cq = other.cq;
	EXPECT_EQ(-EINVAL, cmx_queue_create(self->bed.ctx, &desc, &q));
	EXPECT_EQ(-EINVAL, cmx_rq_create(self->bed.ctx, &rq_desc, &rq));
	EXPECT_STREQ("cq", cmx_last_error()->field);
	bed_close(&other);
}

TEST_F(timeline, actors)
{
	struct drm_cmx_timeline_query query;
	uint32_t a, b;

	OK(cmx_actor_add(self->timeline, &a));
	OK(cmx_actor_add(self->timeline, &b));
	EXPECT_NE(a, b);
	EXPECT_NE(0, a);
	OK(cmx_timeline_query(self->timeline, &query, sizeof(query)));
	EXPECT_EQ(3, query.actors);
	EXPECT_EQ(3, query.actors_running);
	OK(cmx_actor_remove(self->timeline, a));
	EXPECT_GT(0, cmx_actor_remove(self->timeline, a));
	OK(cmx_actor_remove(self->timeline, b));
	OK(cmx_wait_time(self->bed.ctx, 5, NULL));
}

TEST_HARNESS_MAIN
