// SPDX-License-Identifier: GPL-2.0-only
/* Carrying out batches: chains, failures, records, any number of threads. */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_exec.h"
#include "fake_module.h"

#define HELPERS	3

struct helpers {
	struct cmx_ctx *ctx;
	pthread_t threads[HELPERS];
	bool stop;
};

static void *help(void *arg)
{
	struct helpers *helpers = arg;

	while (!__atomic_load_n(&helpers->stop, __ATOMIC_RELAXED)) {
		if (!cmx_lobby_try(&helpers->ctx->lobby))
			sched_yield();
	}
	return NULL;
}

FIXTURE(lobby)
{
	struct cmx_ctx *ctx;
	struct cmx_frame *frame;
	struct helpers helpers;
};

FIXTURE_VARIANT(lobby)
{
	int helpers;
};

FIXTURE_VARIANT_ADD(lobby, alone)
{
	.helpers = 0,
};

FIXTURE_VARIANT_ADD(lobby, helped)
{
	.helpers = HELPERS,
};

FIXTURE_SETUP(lobby)
{
	self->ctx = fake_ctx();
	self->frame = cmx_frame_get(self->ctx, self->ctx->timeline);
	ASSERT_NE(NULL, self->frame);
	self->helpers.ctx = self->ctx;
	self->helpers.stop = false;
	for (int i = 0; i < variant->helpers; i++)
		ASSERT_EQ(0, pthread_create(&self->helpers.threads[i], NULL, help,
					    &self->helpers));
}

FIXTURE_TEARDOWN(lobby)
{
	__atomic_store_n(&self->helpers.stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < variant->helpers; i++)
		pthread_join(self->helpers.threads[i], NULL);
	self->frame->batch = 0;
	cmx_frame_put(self->ctx, self->frame);
	fake_ctx_free(self->ctx);
}

static struct drm_cmx_launch *add_launch(struct cmx_frame *frame, uint64_t kernel, uint32_t chain,
					 uint32_t grid)
{
	struct drm_cmx_launch *launch = &frame->launches[frame->count++];

	memset(launch, 0, sizeof(*launch));
	launch->kernel = kernel;
	launch->chain = chain;
	launch->grid = grid;
	launch->cost.vector_ops = 100 + frame->count;
	return launch;
}

static uint32_t seen[20000];

static int count_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	__atomic_add_fetch(&seen[block], 1, __ATOMIC_RELAXED);
	return 0;
}

TEST_F(lobby, every_block_runs_once)
{
	uint64_t id;

	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "count", count_block, &id));
	for (int round = 1; round <= 20; round++) {
		self->frame->count = 0;
		add_launch(self->frame, id, 0, 20000);
		cmx_lobby_execute(&self->ctx->lobby, self->frame);
		EXPECT_EQ(CMX_OUTCOME_OK, self->frame->outcomes[0].status);
		EXPECT_EQ(101, self->frame->outcomes[0].cost.vector_ops);
		for (int i = 0; i < 20000; i++)
			ASSERT_EQ(round, seen[i]);
	}
}

static uint32_t order[4][16], order_len[4];

/* Its chain's number is the first argument byte. */
static int note_order(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	uint32_t chain = *(const unsigned char *)args;

	if (!block)
		order[chain][order_len[chain]++] = (uint32_t)cmx_launch_user_ctx(lc);
	return 0;
}

TEST_F(lobby, chains_keep_their_order)
{
	uint64_t id;

	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "order", note_order, &id));
	for (uint32_t i = 0; i < 64; i++) {
		struct drm_cmx_launch *launch = add_launch(self->frame, id, 100 + i % 4, 3);

		launch->args[0] = (unsigned char)(i % 4);
		launch->user_ctx = i;
	}
	cmx_lobby_execute(&self->ctx->lobby, self->frame);
	for (uint32_t chain = 0; chain < 4; chain++) {
		ASSERT_EQ(16, order_len[chain]);
		for (uint32_t i = 0; i < 16; i++)
			EXPECT_EQ(4 * i + chain, order[chain][i]);
	}
}

static int fail_some(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	if (block == 40)
		return -EDOM;
	return block > 40 ? (int)block : 0;
}

TEST_F(lobby, the_first_failing_block_counts_and_the_chain_stops)
{
	struct cmx_frame *frame = self->frame;
	uint64_t good, bad;

	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "count", count_block, &good));
	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "fail", fail_some, &bad));
	add_launch(frame, bad, 1, 500);
	add_launch(frame, good, 1, 10);
	add_launch(frame, good, 2, 10);
	add_launch(frame, 99, 3, 10);
	add_launch(frame, good, 3, 10);
	add_launch(frame, good, 2, 10);
	add_launch(frame, 99, 2, 10);
	cmx_lobby_execute(&self->ctx->lobby, frame);
	EXPECT_EQ(CMX_OUTCOME_FAILED, frame->outcomes[0].status);
	EXPECT_EQ(EDOM, frame->outcomes[0].code);
	EXPECT_EQ(CMX_OUTCOME_SKIPPED, frame->outcomes[1].status);
	EXPECT_EQ(CMX_OUTCOME_OK, frame->outcomes[2].status);
	EXPECT_EQ(CMX_OUTCOME_FAILED, frame->outcomes[3].status);
	EXPECT_EQ(CMX_CODE_NO_KERNEL, frame->outcomes[3].code);
	EXPECT_EQ(CMX_OUTCOME_SKIPPED, frame->outcomes[4].status);
	EXPECT_EQ(CMX_OUTCOME_OK, frame->outcomes[5].status);
	EXPECT_EQ(CMX_OUTCOME_FAILED, frame->outcomes[6].status);
}

/* Records out of order: times repeat, blocks end in any order. */
static int record_some(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)args;
	for (uint32_t i = 0; i < 3; i++)
		cmx_dev_signal(lc, 1000 - (block % 7) * 10, 0x1000, block * 10 + i);
	return 0;
}

static int record_post(struct cmx_launch_ctx *lc, const void *args)
{
	struct cmx_cost cost;

	(void)args;
	cmx_launch_cost(lc, &cost);
	cost.mem_bytes = 4711;
	cmx_dev_write(lc, 1000, 0x2000, args, 8, 0);
	return cmx_launch_set_cost(lc, &cost);
}

TEST_F(lobby, records_come_in_one_order)
{
	struct cmx_kernel_desc desc = { .name = "r", .run = record_some, .post = record_post };
	struct drm_cmx_outcome *outcome = &self->frame->outcomes[0];
	const struct cmx_record *records;
	uint64_t id;

	ASSERT_EQ(0, cmx_kernel_register_desc(self->ctx, &desc, &id));
	add_launch(self->frame, id, 0, 200);
	cmx_lobby_execute(&self->ctx->lobby, self->frame);
	ASSERT_EQ(CMX_OUTCOME_OK, outcome->status);
	EXPECT_EQ(4711, outcome->cost.mem_bytes);
	EXPECT_EQ(101, outcome->cost.vector_ops);
	ASSERT_EQ(601, outcome->records.count);
	ASSERT_EQ(sizeof(*records), outcome->records.stride);
	records = (const void *)(uintptr_t)outcome->records.pointer;
	for (uint32_t i = 1; i < 600; i++) {
		ASSERT_GE(records[i].at_ps, records[i - 1].at_ps);
		ASSERT_TRUE(records[i].at_ps > records[i - 1].at_ps ||
			    records[i].value > records[i - 1].value);
	}
	EXPECT_EQ(UB_OP_WRITE, records[600].opcode);
	EXPECT_EQ(1, records[600].messages);
}

TEST_F(lobby, limits_of_records)
{
	struct cmx_kernel_desc local = {
		.name = "l", .run = record_some, .flags = CMX_KERNEL_LOCAL,
	};
	struct cmx_frame *frame = self->frame;
	uint64_t many, id;

	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "many", record_some, &many));
	ASSERT_EQ(0, cmx_kernel_register_desc(self->ctx, &local, &id));
	add_launch(frame, many, 0, 333);
	add_launch(frame, many, 1, 334);
	add_launch(frame, id, 2, 1);
	cmx_lobby_execute(&self->ctx->lobby, frame);
	EXPECT_EQ(CMX_OUTCOME_OK, frame->outcomes[0].status);
	EXPECT_EQ(999, frame->outcomes[0].records.count);
	EXPECT_EQ(CMX_OUTCOME_FAILED, frame->outcomes[1].status);
	EXPECT_EQ(CMX_CODE_RECORDS, frame->outcomes[1].code);
	EXPECT_EQ(0, frame->outcomes[1].records.count);
	EXPECT_EQ(CMX_CODE_LOCAL, frame->outcomes[2].code);
}

/* Thirty records a block; gives up on the first that is refused. */
static int record_many(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	int ret = 0;

	(void)args;
	for (uint32_t i = 0; i < 30 && !ret; i++)
		ret = cmx_dev_signal(lc, i, 0x1000, block);
	return ret;
}

static int record_many_but_one(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	return record_many(lc, args, block) ? 1 : block == 35 ? -EDOM : 0;
}

/* One block alone is past the limit, and makes a code of its own of that. */
static int record_too_many(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	int ret = 0;

	(void)args;
	for (uint32_t i = 0; i < 1001 && block == 1; i++)
		ret = cmx_dev_signal(lc, i, 0x1000, block);
	return ret ? 77 : 0;
}

TEST_F(lobby, codes_past_the_limit_do_not_depend_on_threads)
{
	struct cmx_frame *frame = self->frame;
	uint64_t many, but_one, too_many;

	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "many", record_many, &many));
	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "but_one", record_many_but_one, &but_one));
	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "too_many", record_too_many, &too_many));
	for (int round = 0; round < 20; round++) {
		frame->count = 0;
		add_launch(frame, many, 0, 40);
		add_launch(frame, but_one, 1, 40);
		add_launch(frame, too_many, 2, 4);
		add_launch(frame, many, 3, 33);
		cmx_lobby_execute(&self->ctx->lobby, frame);
		EXPECT_EQ(CMX_CODE_RECORDS, frame->outcomes[0].code);
		EXPECT_EQ(EDOM, frame->outcomes[1].code);
		EXPECT_EQ(CMX_CODE_RECORDS, frame->outcomes[2].code);
		EXPECT_EQ(0, frame->outcomes[2].records.count);
		ASSERT_EQ(CMX_OUTCOME_OK, frame->outcomes[3].status);
		EXPECT_EQ(990, frame->outcomes[3].records.count);
	}
}

static int least_int(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	return INT_MIN;
}

static int no_opcode(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)args;
	(void)block;
	return cmx_dev_atomic(lc, 0, 0x190, 0x1000, 8, 1) == -EINVAL ? 0 : 1;
}

TEST_F(lobby, odd_codes)
{
	uint64_t least, opcode;

	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "least", least_int, &least));
	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "opcode", no_opcode, &opcode));
	add_launch(self->frame, least, 0, 2);
	add_launch(self->frame, opcode, 1, 2);
	cmx_lobby_execute(&self->ctx->lobby, self->frame);
	EXPECT_EQ(1u << 31, self->frame->outcomes[0].code);
	EXPECT_EQ(CMX_CODE_REFUSED, self->frame->outcomes[1].code);
}

static int set_cost_early(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	struct cmx_cost cost = {};

	(void)args;
	(void)block;
	return cmx_launch_set_cost(lc, &cost) == -EPERM ? 0 : 1;
}

static int wait_inside(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)args;
	(void)block;
	return cmx_wait_idle(lc->exec->frame->ctx, NULL) == -EPERM ? 0 : 1;
}

TEST_F(lobby, what_kernels_must_not_do)
{
	uint64_t cost, wait;

	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "cost", set_cost_early, &cost));
	ASSERT_EQ(0, cmx_kernel_register(self->ctx, "wait", wait_inside, &wait));
	add_launch(self->frame, cost, 0, 4);
	add_launch(self->frame, wait, 0, 4);
	cmx_lobby_execute(&self->ctx->lobby, self->frame);
	EXPECT_EQ(CMX_OUTCOME_OK, self->frame->outcomes[0].status);
	EXPECT_EQ(CMX_OUTCOME_OK, self->frame->outcomes[1].status);
	EXPECT_EQ(0, fake_module.calls[DRM_CMX_RUN]);
}

TEST_HARNESS_MAIN
