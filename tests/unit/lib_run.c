// SPDX-License-Identifier: GPL-2.0-only
/* The run loop against a scripted RUN: outcomes get there once, whatever happens. */
#include <errno.h>
#include <string.h>

#include <kselftest_harness.h>

#include "fake_module.h"

static struct script {
	uint32_t step;
	uint32_t nomem;		/* RUNs to refuse with ENOMEM */
	uint32_t invalid;	/* RUNs with outcomes to refuse with EINVAL */
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
			return refuse(EINVAL);
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
