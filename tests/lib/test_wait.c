// SPDX-License-Identifier: GPL-2.0-only
/* Waits: what they return when there is nothing to wait for, full rings, signals. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "bed.h"

FIXTURE(wait)
{
	struct bed bed;
	struct cmx_mem *mem;
	uint64_t va;
};

FIXTURE_SETUP(wait)
{
	OK(bed_open(&self->bed));
	OK(cmx_mem_alloc(self->bed.ctx, 0, 4096, 0, &self->mem));
	self->va = cmx_mem_va(self->mem);
}

FIXTURE_TEARDOWN(wait)
{
	bed_close(&self->bed);
}

TEST_F(wait, a_stall_names_the_queues_and_what_they_wait_for)
{
	const struct cmx_error *error = cmx_last_error();
	char text[1000], want[200];

	*(uint64_t *)cmx_mem_ptr(self->mem) = 17;
	OK(cmx_queue_wait(self->bed.q, self->va, CMX_COND_EQ, 4711, CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_wait(self->bed.far, self->va + 8, CMX_COND_GE, 3, 0, 2));
	OK(cmx_queue_nop(self->bed.far, 0, 3));
	OK(cmx_queue_submit(self->bed.q));
	OK(cmx_queue_submit(self->bed.far));
	ASSERT_EQ(-EDEADLK, cmx_wait_idle(self->bed.ctx, NULL));
	TH_LOG("%s", error->text);
	snprintf(want, sizeof(want), "queue %u (stream, entity 0)", self->bed.q->handle);
	EXPECT_NE(NULL, strstr(error->text, want));
	snprintf(want, sizeof(want), "the u64 at %#llx == 4711 (it is 17)",
		 (unsigned long long)self->va);
	EXPECT_NE(NULL, strstr(error->text, want));
	snprintf(want, sizeof(want), "queue %u (stream, entity %u)", self->bed.far->handle,
		 self->bed.far_die);
	EXPECT_NE(NULL, strstr(error->text, want));
	snprintf(want, sizeof(want), "the u64 at %#llx >= 3 (it is 0)",
		 (unsigned long long)self->va + 8);
	EXPECT_NE(NULL, strstr(error->text, want));
	EXPECT_GT(cmx_describe(self->bed.ctx, text, sizeof(text)), 100);
	EXPECT_NE(NULL, strchr(text, '\n'));
	EXPECT_EQ(strlen(text), cmx_describe(self->bed.ctx, NULL, 0));
}

TEST_F(wait, every_kind_stalls_rather_than_hangs)
{
	EXPECT_EQ(-EDEADLK, cmx_wait_completions(self->bed.cq, 1, NULL));
	EXPECT_EQ(-EDEADLK, cmx_wait_memory(self->bed.ctx, self->va, CMX_COND_EQ, 1, NULL));
	EXPECT_EQ(0, cmx_wait_idle(self->bed.ctx, NULL));
	EXPECT_EQ(0, cmx_wait_progress(self->bed.ctx, NULL));
	EXPECT_EQ(-EINVAL, cmx_wait_completions(self->bed.cq, 257, NULL));
	EXPECT_EQ(256, cmx_last_error()->limit);
}

TEST_F(wait, time_passes)
{
	struct cmx_timeline *timeline = cmx_timeline_default(self->bed.ctx);
	uint64_t now = cmx_timeline_now(timeline);

	OK(cmx_wait_time(self->bed.ctx, now + 123456789, NULL));
	EXPECT_EQ(now + 123456789, cmx_timeline_now(timeline));
	OK(cmx_wait_time(self->bed.ctx, now, NULL));
	EXPECT_EQ(now + 123456789, cmx_timeline_now(timeline));
}

TEST_F(wait, polling_gets_everything)
{
	struct cmx_cqe cqe;
	uint64_t last = 0;
	int got = 0;

	for (int i = 0; i < 100; i++)
		OK(cmx_queue_nop(i % 2 ? self->bed.q : self->bed.far, CMX_ENTRY_COMPLETE, i));
	OK(cmx_queue_submit(self->bed.q));
	OK(cmx_queue_submit(self->bed.far));
	while (got < 100) {
		int ret = cmx_cq_poll(self->bed.cq, &cqe);

		OK(ret);
		if (!ret)
			continue;
		EXPECT_GE(cqe.time_ps, last);
		last = cqe.time_ps;
		got++;
	}
	EXPECT_EQ(0, cmx_cq_poll(self->bed.cq, &cqe));
}

TEST_F(wait, a_full_ring_makes_the_submitter_help)
{
	struct cmx_queue_desc desc = { .cq = self->bed.cq, .slots = 4 };
	struct cmx_queue *q;
	struct cmx_cqe cqe;

	OK(cmx_queue_create(self->bed.ctx, &desc, &q));
	for (uint64_t i = 1; i <= 1000; i++)
		OK(cmx_queue_signal(q, self->va, CMX_SIGNAL_ADD, i, 0, 0));
	OK(cmx_queue_nop(q, CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(q));
	OK(bed_finish(&self->bed, 1, &cqe));
	EXPECT_EQ(500500, *(uint64_t *)cmx_mem_ptr(self->mem));
}

TEST_F(wait, a_full_ring_that_cannot_move_is_an_error)
{
	struct cmx_queue_desc desc = { .cq = self->bed.cq, .slots = 4 };
	struct cmx_queue *q;
	int ret = 0;

	OK(cmx_queue_create(self->bed.ctx, &desc, &q));
	OK(cmx_queue_wait(q, self->va, CMX_COND_EQ, 1, 0, 0));
	for (int i = 0; !ret && i < 100; i++)
		ret = cmx_queue_nop(q, 0, 0);
	EXPECT_EQ(-EDEADLK, ret);
	for (int i = 0; i < 8; i++)
		ret = cmx_queue_push_try(q, &(struct cmx_entry_sync){
			.header = { .slots = 1, .opcode = UB_OP_NOP } });
	EXPECT_EQ(-EAGAIN, ret);
}

TEST_F(wait, unread_completions_hold_the_queue)
{
	struct cmx_queue_desc desc = { .slots = 4 };
	struct cmx_queue *q;
	struct cmx_cqe cqe;
	int ret = 0, pushed = 0;

	OK(cmx_cq_create(self->bed.ctx, NULL, 2, CMX_CQ_BACKPRESSURE, &desc.cq));
	OK(cmx_queue_create(self->bed.ctx, &desc, &q));
	while (!ret && pushed < 100) {
		ret = cmx_queue_nop(q, CMX_ENTRY_COMPLETE, pushed);
		pushed += !ret;
	}
	EXPECT_EQ(-EDEADLK, ret);
	EXPECT_LT(pushed, 20);
	OK(cmx_queue_submit(q));
	for (int i = 0; i < pushed; i++) {
		OK(cmx_wait_completions(desc.cq, 1, NULL));
		ASSERT_EQ(1, cmx_cq_read(desc.cq, &cqe));
		EXPECT_EQ(i, cqe.user_ctx);
	}
}

static struct cmx_mem *doomed;

static int free_memory(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	cmx_mem_free(doomed);
	return 0;
}

/* What the thread waits for goes while it has a batch: an error once, then all is well. */
TEST_F(wait, a_refusal_after_a_batch_is_told_once)
{
	struct cmx_launch_desc desc = { .grid = 1 };
	struct cmx_cqe cqe;
	uint64_t va;

	OK(cmx_mem_alloc(self->bed.ctx, 0, 4096, 0, &doomed));
	va = cmx_mem_va(doomed);
	OK(cmx_kernel_register(self->bed.ctx, "free", free_memory, &desc.kernel));
	OK(cmx_queue_launch(self->bed.q, &desc, CMX_ENTRY_COMPLETE, 9));
	OK(cmx_queue_submit(self->bed.q));
	EXPECT_GT(0, cmx_wait_memory(self->bed.ctx, va, CMX_COND_EQ, 1, NULL));
	EXPECT_STREQ("va", cmx_last_error()->field) TH_LOG("%s", cmx_last_error()->text);
	for (int i = 0; i < 3; i++)
		OK(cmx_wait_idle(self->bed.ctx, NULL));
	ASSERT_EQ(1, cmx_cq_read(self->bed.cq, &cqe));
	EXPECT_EQ(9, cqe.user_ctx);
	EXPECT_EQ(0, cqe.status);
}

static int slow_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	usleep(300000);
	return 0;
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	(void)signal;
	alarms++;
}

TEST_F(wait, a_signal_ends_a_sleep)
{
	struct itimerval soon = { .it_value = { .tv_usec = 50000 } };
	struct cmx_timeline *timeline = cmx_timeline_default(self->bed.ctx);
	struct sigaction action = { .sa_handler = on_alarm };
	uint32_t actor;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	/* It does not wait, so the clock stands. */
	OK(cmx_actor_add(timeline, &actor));
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &soon, NULL));
	EXPECT_EQ(-EINTR, cmx_wait_time(self->bed.ctx, 1000, NULL));
	EXPECT_EQ(1, alarms);
	EXPECT_EQ(0, cmx_timeline_now(timeline));
	OK(cmx_actor_remove(timeline, actor));
	OK(cmx_wait_time(self->bed.ctx, 1000, NULL));
	EXPECT_EQ(1000, cmx_timeline_now(timeline));
}

TEST_F(wait, a_signal_in_a_launch_ends_no_wait)
{
	struct itimerval soon = { .it_value = { .tv_usec = 50000 } };
	struct cmx_launch_desc desc = { .grid = 1 };
	struct sigaction action = { .sa_handler = on_alarm };
	struct cmx_cqe cqe;

	ASSERT_EQ(0, sigaction(SIGALRM, &action, NULL));
	OK(cmx_kernel_register(self->bed.ctx, "slow", slow_block, &desc.kernel));
	OK(cmx_queue_launch(self->bed.q, &desc, CMX_ENTRY_COMPLETE, 5));
	OK(cmx_queue_submit(self->bed.q));
	/* In the kernel's function: it ends no wait. */
	ASSERT_EQ(0, setitimer(ITIMER_REAL, &soon, NULL));
	OK(cmx_wait_completions(self->bed.cq, 1, NULL));
	EXPECT_EQ(1, alarms);
	ASSERT_EQ(1, cmx_cq_read(self->bed.cq, &cqe));
	EXPECT_EQ(5, cqe.user_ctx);
	EXPECT_EQ(0, cqe.status);
}

TEST_F(wait, timeouts)
{
	struct cmx_wait_opts opts = { .timeout_ns = 30000000 };
	uint32_t actor;

	/* Another actor that does not wait: the clock stands, and so the wait is no stall. */
	OK(cmx_actor_add(cmx_timeline_default(self->bed.ctx), &actor));
	EXPECT_EQ(-ETIMEDOUT, cmx_wait_time(self->bed.ctx, 1000, &opts));
	OK(cmx_actor_remove(cmx_timeline_default(self->bed.ctx), actor));
	EXPECT_EQ(0, cmx_wait_time(self->bed.ctx, 1000, &opts));
}

static int block_50ms(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	usleep(50000);
	return 0;
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

TEST_F(wait, timeouts_while_there_is_work)
{
	struct cmx_wait_opts opts = { .timeout_ns = 100000000 };
	struct cmx_launch_desc desc = { .grid = 1 };
	uint64_t start;
	struct cmx_cqe cqe;

	OK(cmx_kernel_register(self->bed.ctx, "50ms", block_50ms, &desc.kernel));
	for (uint64_t i = 0; i < 20; i++)
		OK(cmx_queue_launch(self->bed.q, &desc, CMX_ENTRY_COMPLETE, i));
	OK(cmx_queue_submit(self->bed.q));
	start = now_ms();
	EXPECT_EQ(-ETIMEDOUT, cmx_wait_idle(self->bed.ctx, &opts));
	EXPECT_LE(100, now_ms() - start);
	EXPECT_GT(500, now_ms() - start);
	/* Nothing is lost. */
	OK(cmx_wait_idle(self->bed.ctx, NULL));
	EXPECT_LE(1000, now_ms() - start);
	for (uint64_t i = 0; i < 20; i++) {
		ASSERT_EQ(1, cmx_cq_read(self->bed.cq, &cqe));
		EXPECT_EQ(i, cqe.user_ctx);
		EXPECT_EQ(0, cqe.status);
	}
}

TEST_F(wait, an_armed_ring_sends_an_event)
{
	struct pollfd poll_fd = { .fd = cmx_fd(self->bed.ctx), .events = POLLIN };
	struct cmx_event event;
	struct cmx_cqe cqe;
	uint64_t lost = 1;

	EXPECT_EQ(0, cmx_events(self->bed.ctx, &event, 1, &lost));
	EXPECT_EQ(0, lost);
	cmx_cq_arm(self->bed.cq, CMX_CQ_ARM_ANY);
	OK(cmx_queue_nop(self->bed.q, CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_submit(self->bed.q));
	OK(cmx_wait_idle(self->bed.ctx, NULL));
	ASSERT_EQ(1, poll(&poll_fd, 1, 1000));
	EXPECT_TRUE(poll_fd.revents & POLLIN);
	ASSERT_EQ(1, cmx_events(self->bed.ctx, &event, 1, &lost));
	EXPECT_EQ(CMX_EVENT_CQ, event.type);
	EXPECT_EQ(self->bed.cq->handle, event.object);
	ASSERT_EQ(1, cmx_cq_read(self->bed.cq, &cqe));
}

TEST_HARNESS_MAIN
