// SPDX-License-Identifier: GPL-2.0-only
/* The run loop against a scripted RUN: outcomes get there once, whatever happens. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "fake_module.h"

static struct script {
	uint32_t step;
	uint32_t nomem;		/* RUNs to refuse with ENOMEM */
	uint32_t invalid;	/* RUNs with outcomes to refuse with EINVAL */
	const char *field;	/* what for; NULL: not explained */
	bool forgets;		/* with that, the batch is the thread's no more */
	uint64_t handed, taken;	/* batches */
	uint32_t status;	/* of the last RUN */
	struct drm_cmx_outcome outcome;
	uint64_t kernel;
	uint32_t actor;
} script;

static int refuse(int error)
{
	errno = error;
	return -1;
}

static int refuse_field(int error, const char *field)
{
	struct drm_cmx_info_extack *extack = &fake_module.extack;

	memset(extack, 0, sizeof(*extack));
	if (field) {
		extack->nr = DRM_CMX_RUN;
		extack->error = (uint32_t)error;
		memcpy(extack->field, field, strlen(field));
	}
	return refuse(error);
}

/* Hands out two batches of one launch, then says script.status. */
static int scripted_run(struct drm_cmx_run *run)
{
	struct drm_cmx_launch *launch = (void *)(uintptr_t)run->launches.pointer;

	script.actor = run->actor;
	if (script.nomem) {
		script.nomem--;
		return refuse(ENOMEM);
	}
	if (run->batch) {
		if (script.invalid) {
			script.invalid--;
			if (script.forgets)
				script.taken = script.handed;
			return refuse_field(EINVAL, script.field);
		}
		if (run->batch != script.handed || run->outcomes.count != 1)
			return refuse(EBUSY);
		memcpy(&script.outcome, (void *)(uintptr_t)run->outcomes.pointer,
		       sizeof(script.outcome));
		script.taken = run->batch;
	} else if (script.handed != script.taken) {
		return refuse(EBUSY);
	}
	run->status = script.status;
	run->batch = 0;
	run->launches.count = 0;
	if (script.handed < 2) {
		run->status = CMX_RUN_BATCH;
		run->batch = ++script.handed;
		run->launches.count = 1;
		memset(launch, 0, sizeof(*launch));
		launch->kernel = script.kernel;
		launch->grid = 2;
	}
	return 0;
}

static uint32_t blocks_run;

static int count_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	__atomic_add_fetch(&blocks_run, 1, __ATOMIC_RELAXED);
	return 0;
}

FIXTURE(run)
{
	struct cmx_ctx *ctx;
};

FIXTURE_SETUP(run)
{
	self->ctx = fake_ctx();
	fake_module.run = scripted_run;
	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "count", count_block, &script.kernel));
}

FIXTURE_TEARDOWN(run)
{
	fake_ctx_free(self->ctx);
}

TEST_F(run, batches_go_in_with_the_next_run)
{
	EXPECT_EQ(0, cmx_wait_idle(self->ctx, NULL));
	EXPECT_EQ(3, fake_module.calls[DRM_CMX_RUN]);
	EXPECT_EQ(4, blocks_run);
	EXPECT_EQ(2, script.taken);
	EXPECT_EQ(CMX_OUTCOME_OK, script.outcome.status);
}

TEST_F(run, no_memory_is_tried_again)
{
	script.nomem = 5;
	EXPECT_EQ(0, cmx_wait_idle(self->ctx, NULL));
	EXPECT_EQ(8, fake_module.calls[DRM_CMX_RUN]);
	EXPECT_EQ(2, script.taken);
}

TEST_F(run, refused_outcomes_fail_their_launches)
{
	script.invalid = 1;
	EXPECT_EQ(0, cmx_wait_idle(self->ctx, NULL));
	EXPECT_EQ(2, script.taken);
	EXPECT_EQ(4, blocks_run);
}

TEST_F(run, an_undeliverable_batch_is_kept)
{
	script.invalid = 2;
	EXPECT_EQ(-EINVAL, cmx_wait_idle(self->ctx, NULL));
	EXPECT_EQ(0, script.taken);
	EXPECT_NE(NULL, self->ctx->frames.parked);
	EXPECT_EQ(0, cmx_wait_idle(self->ctx, NULL));
	EXPECT_EQ(2, script.taken);
	EXPECT_EQ(NULL, self->ctx->frames.parked);
}

TEST_F(run, a_batch_the_module_forgot_is_dropped)
{
	script.invalid = 1;
	script.field = "batch";
	script.forgets = true;
	EXPECT_EQ(0, cmx_wait_idle(self->ctx, NULL));
	EXPECT_EQ(2, script.taken);
	EXPECT_EQ(CMX_OUTCOME_OK, script.outcome.status);
	EXPECT_EQ(NULL, self->ctx->frames.parked);
	EXPECT_EQ(0, cmx_wait_idle(self->ctx, NULL));
}

/* Launches must not fail for what the program waits for. */
TEST_F(run, a_refused_condition_leaves_the_outcomes)
{
	script.invalid = 1;
	script.field = "va";
	EXPECT_EQ(-EINVAL, cmx_wait_idle(self->ctx, NULL));
	EXPECT_STREQ("va", cmx_last_error()->field);
	EXPECT_EQ(0, script.taken);
	EXPECT_EQ(2, blocks_run);
	EXPECT_EQ(0, cmx_wait_idle(self->ctx, NULL));
	EXPECT_EQ(2, script.taken);
	EXPECT_EQ(CMX_OUTCOME_OK, script.outcome.status);
}

static bool runner_in, runner_out;

/* A runner thread's RUN takes its time. */
static int run_with_slow_helper(struct drm_cmx_run *run)
{
	if (!(run->flags & CMX_RUN_HELPER))
		return scripted_run(run);
	__atomic_store_n(&runner_in, true, __ATOMIC_SEQ_CST);
	usleep(50000);
	__atomic_store_n(&runner_out, true, __ATOMIC_SEQ_CST);
	run->status = CMX_RUN_AGAIN;
	run->batch = 0;
	return 0;
}

static pthread_t waiter;

/* The waiting thread stays here until the runner is in RUN. */
static int wait_for_runner(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	while (pthread_equal(pthread_self(), waiter) &&
	       !__atomic_load_n(&runner_in, __ATOMIC_SEQ_CST))
		usleep(100);
	return 0;
}

static struct cmx_timeline *mapped_timeline(struct cmx_ctx *ctx)
{
	struct cmx_timeline *timeline = calloc(1, sizeof(*timeline));

	timeline->ctx = ctx;
	timeline->handle = 3;
	timeline->id = 3;
	ctx->device.page_size = 4096;
	timeline->doorbells = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	timeline->status = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cmx_list_init(&timeline->node);
	return timeline;
}

TEST_F(run, a_timeline_stays_while_a_runner_looks_at_it)
{
	struct cmx_wait_opts opts = { .timeline = mapped_timeline(self->ctx) };

	fake_module.run = run_with_slow_helper;
	fake_module.destroys = true;
	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "slow", wait_for_runner, &script.kernel));
	ASSERT_EQ(0, cmx_runner_start(self->ctx, 1));
	waiter = pthread_self();
	/* Again where the runner was quick and took all the blocks. */
	do {
		script.handed = 0;
		script.taken = 0;
		ASSERT_EQ(0, cmx_wait_idle(self->ctx, &opts));
	} while (!__atomic_load_n(&runner_in, __ATOMIC_SEQ_CST));
	EXPECT_FALSE(__atomic_load_n(&runner_out, __ATOMIC_SEQ_CST));
	EXPECT_EQ(0, cmx_timeline_destroy(opts.timeline));
	EXPECT_TRUE(__atomic_load_n(&runner_out, __ATOMIC_SEQ_CST));
	ASSERT_EQ(0, cmx_runner_stop(self->ctx));
}

static uint64_t frame_wait_us;

static void *hold_frame(void *arg)
{
	struct cmx_ctx *ctx = arg;
	struct cmx_frame *frame = cmx_frame_get(ctx, ctx->timeline);

	frame->count = 1;
	memset(frame->launches, 0, sizeof(*frame->launches));
	frame->launches[0].kernel = script.kernel;
	frame->launches[0].grid = 1;
	cmx_lobby_execute(&ctx->lobby, frame);
	frame->batch = 0;
	cmx_frame_put(ctx, frame);
	return NULL;
}

static int sleep_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	__atomic_store_n(&runner_in, true, __ATOMIC_SEQ_CST);
	usleep((useconds_t)frame_wait_us);
	return 0;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Another thread has the only launch: nothing to help with, but the timeout counts. */
TEST_F(run, help_ends_at_its_deadline)
{
	uint64_t start;
	pthread_t thread;

	frame_wait_us = 500000;
	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "sleep", sleep_block, &script.kernel));
	ASSERT_EQ(0, pthread_create(&thread, NULL, hold_frame, self->ctx));
	while (!__atomic_load_n(&runner_in, __ATOMIC_SEQ_CST))
		usleep(100);
	start = now_us();
	cmx_lobby_help(&self->ctx->lobby, (start + 50000) * 1000);
	EXPECT_GT(400000, now_us() - start);
	EXPECT_LE(50000, now_us() - start);
	cmx_lobby_help(&self->ctx->lobby, 0);
	pthread_join(thread, NULL);
	EXPECT_LE(400000, now_us() - start);
}

TEST_F(run, results)
{
	struct cmx_wait_opts opts = { .timeout_ns = 1000000 };

	script.status = CMX_RUN_INTERRUPTED;
	EXPECT_EQ(-EINTR, cmx_wait_idle(self->ctx, NULL));
	script.status = CMX_RUN_TIMEOUT;
	EXPECT_EQ(-ETIMEDOUT, cmx_wait_idle(self->ctx, &opts));
	script.status = CMX_RUN_STALL;
	EXPECT_EQ(-EDEADLK, cmx_wait_idle(self->ctx, NULL));
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "stall"));
	script.status = 77;
	EXPECT_EQ(-EPROTO, cmx_wait_idle(self->ctx, NULL));
	EXPECT_EQ(77, cmx_last_error()->value);
	opts.flags = 1;
	EXPECT_EQ(-EINVAL, cmx_wait_idle(self->ctx, &opts));
}

TEST_F(run, a_thread_runs_as_the_actor_it_is_bound_to)
{
	struct cmx_timeline *timeline = self->ctx->timeline;
	struct cmx_timeline other[8];

	ASSERT_EQ(0, cmx_actor_bind(timeline, 5));
	EXPECT_EQ(0, cmx_wait_idle(self->ctx, NULL));
	EXPECT_EQ(5, script.actor);
	for (int i = 0; i < 8; i++) {
		other[i] = (struct cmx_timeline){ .id = 100 + (uint64_t)i };
		EXPECT_EQ(i < 7 ? 0 : -ENOSPC, cmx_actor_bind(&other[i], 1));
	}
	ASSERT_EQ(0, cmx_actor_bind(timeline, 0));
	EXPECT_EQ(0, cmx_wait_idle(self->ctx, NULL));
	EXPECT_EQ(0, script.actor);
	EXPECT_EQ(0, cmx_actor_bind(&other[7], 1));
}

TEST_F(run, runners_come_and_go)
{
	EXPECT_EQ(-EINVAL, cmx_runner_start(self->ctx, 257));
	ASSERT_EQ(0, cmx_runner_start(self->ctx, 3));
	EXPECT_EQ(3, cmx_runner_count(self->ctx));
	EXPECT_EQ(-EBUSY, cmx_runner_start(self->ctx, 1));
	ASSERT_EQ(0, cmx_runner_stop(self->ctx));
	EXPECT_EQ(0, cmx_runner_count(self->ctx));
	ASSERT_EQ(0, cmx_runner_start(self->ctx, 1));
}

TEST_HARNESS_MAIN
