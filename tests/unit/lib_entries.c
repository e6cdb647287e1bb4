// SPDX-License-Identifier: GPL-2.0-only
/* What the entry helpers put into the ring, and bounds of launches. */
#include <errno.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_queue_priv.h"
#include "fake_module.h"

FIXTURE(entries)
{
	struct cmx_ctx *ctx;
	struct cmx_queue *q;
};

FIXTURE_SETUP(entries)
{
	self->ctx = fake_ctx();
	self->q = fake_queue(self->ctx, 64, 0);
}

FIXTURE_TEARDOWN(entries)
{
	fake_queue_free(self->q);
	fake_ctx_free(self->ctx);
}

TEST_F(entries, copies)
{
	struct cmx_entry_copy want = {
		.header = { .slots = 1, .opcode = CMX_OP_COPY, .flags = 1, .user_ctx = 9 },
		.dst_va = 0x1000, .src_va = 0x2000, .len = 3,
	};

	ASSERT_EQ(0, cmx_queue_copy(self->q, 0x1000, 0x2000, 3, CMX_ENTRY_COMPLETE, 9));
	EXPECT_EQ(0, memcmp(&want, self->q->slots, sizeof(want)));
	want.header.opcode = CMX_OP_COPY_2D;
	want.dst_pitch = 100;
	want.src_pitch = 200;
	want.rows = 5;
	ASSERT_EQ(0, cmx_queue_copy_2d(self->q, 0x1000, 100, 0x2000, 200, 3, 5, 1, 9));
	EXPECT_EQ(0, memcmp(&want, self->q->slots + 64, sizeof(want)));
	EXPECT_EQ(2, self->q->tail);
}

TEST_F(entries, words)
{
	struct cmx_entry_wait wait = {
		.header = { .slots = 1, .opcode = CMX_OP_WAIT }, .va = 8, .value = 7,
		.cond = CMX_COND_GE,
	};
	struct cmx_entry_signal signal = {
		.header = { .slots = 1, .opcode = CMX_OP_SIGNAL }, .va = 8, .value = 7,
		.op = CMX_SIGNAL_ADD,
	};
	struct cmx_entry_fill fill = {
		.header = { .slots = 1, .opcode = CMX_OP_FILL }, .dst_va = 64, .len = 32,
		.pattern = 0x55, .pattern_size = 1,
	};

	ASSERT_EQ(0, cmx_queue_wait(self->q, 8, CMX_COND_GE, 7, 0, 0));
	ASSERT_EQ(0, cmx_queue_signal(self->q, 8, CMX_SIGNAL_ADD, 7, 0, 0));
	ASSERT_EQ(0, cmx_queue_fill(self->q, 64, 32, 0x55, 1, 0, 0));
	EXPECT_EQ(0, memcmp(&wait, self->q->slots, 64));
	EXPECT_EQ(0, memcmp(&signal, self->q->slots + 64, 64));
	EXPECT_EQ(0, memcmp(&fill, self->q->slots + 128, 64));
}

TEST_F(entries, atomics)
{
	const struct cmx_entry_rma *rma = (const void *)self->q->slots;
	const struct cmx_entry_rma_ext *ext = (const void *)(self->q->slots + 64);

	ASSERT_EQ(0, cmx_queue_atomic(self->q, UB_OP_CAS, 8, 4, 2, 1, 16, 0, 3));
	EXPECT_EQ(2, rma->header.slots);
	EXPECT_EQ(UB_OP_CAS, rma->header.opcode);
	EXPECT_EQ(8, rma->remote_va);
	EXPECT_EQ(16, rma->local_va);
	EXPECT_EQ(4, rma->len);
	EXPECT_EQ(2, rma->value);
	EXPECT_EQ(1, ext->compare);
	ASSERT_EQ(0, cmx_queue_atomic(self->q, UB_OP_FADD, 8, 8, 2, 0, 0, 0, 3));
	EXPECT_EQ(3, self->q->tail);
}

TEST_F(entries, gather_and_inline)
{
	struct cmx_sge sge[9] = {};
	unsigned char bytes[129] = { 1, 2, 3 };
	struct cmx_rma e;

	for (uint32_t i = 0; i < 9; i++)
		sge[i] = (struct cmx_sge){ 0x1000 * i, i + 1, 0 };
	cmx_rma_init(&e, UB_OP_WRITE, 0, 0);
	EXPECT_EQ(-EINVAL, cmx_rma_sges(&e, sge, 0));
	EXPECT_EQ(-EINVAL, cmx_rma_sges(&e, sge, 9));
	EXPECT_EQ(0, cmx_rma_sges(&e, sge, 4));
	EXPECT_EQ(3, e.rma.header.slots);
	EXPECT_EQ(10, e.rma.len);
	EXPECT_EQ(0, cmx_rma_sges(&e, sge, 8));
	EXPECT_EQ(4, e.rma.header.slots);
	EXPECT_EQ(36, e.rma.len);
	cmx_rma_init(&e, UB_OP_WRITE, 0, 0);
	EXPECT_EQ(-EINVAL, cmx_rma_inline(&e, bytes, 129));
	EXPECT_EQ(0, cmx_rma_inline(&e, bytes, 3));
	EXPECT_EQ(3, e.rma.header.slots);
	EXPECT_EQ(CMX_ENTRY_INLINE, e.rma.header.flags);
	EXPECT_EQ(0, memcmp(e.tail, bytes, 3));
	ASSERT_EQ(0, cmx_queue_push(self->q, &e));
	EXPECT_EQ(3, self->q->tail);
}

TEST_F(entries, launches_take_the_slots_their_arguments_need)
{
	static const struct {
		uint32_t args, slots;
	} cases[] = { { 0, 2 }, { 1, 2 }, { 32, 2 }, { 33, 3 }, { 96, 3 }, { 97, 4 }, { 160, 4 } };
	unsigned char args[161];
	struct cmx_launch_desc desc = { .kernel = 5, .args = args, .cost = { .mem_bytes = 77 } };

	for (uint32_t i = 0; i < sizeof(args); i++)
		args[i] = (unsigned char)(i + 1);
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cmx_entry_launch *e = (void *)(self->q->slots + self->q->tail * 64);

		desc.args_size = cases[i].args;
		ASSERT_EQ(0, cmx_queue_launch(self->q, &desc, 0, i));
		EXPECT_EQ(cases[i].slots, e->header.slots);
		EXPECT_EQ(cases[i].args, e->args_size);
		EXPECT_EQ(1, e->grid);
		EXPECT_EQ(77, e->cost.mem_bytes);
		EXPECT_EQ(0, memcmp((char *)e + 96, args, cases[i].args));
	}
	desc.args_size = 161;
	EXPECT_EQ(-EINVAL, cmx_queue_launch(self->q, &desc, 0, 0));
	EXPECT_STREQ("args_size", cmx_last_error()->field);
	EXPECT_EQ(161, cmx_last_error()->value);
	EXPECT_EQ(160, cmx_last_error()->limit);
}

TEST_F(entries, bounds)
{
	struct cmx_queue_priv *priv = cmx_queue_priv(self->q);
	struct cmx_cost cost = { .cube_ops = 1000, .op_class = CMX_OPS_BF16 };

	priv->entity.cube_cores = 24;
	priv->cube_cores = 12;
	priv->entity.cube_rate[CMX_OPS_BF16] = 1000000000000ull;
	priv->entity.mem_rate = 1000000000000ull;
	EXPECT_EQ(2000, cmx_launch_bound(self->q, &cost));
	cost.mem_bytes = 3000;
	EXPECT_EQ(3000, cmx_launch_bound(self->q, &cost));
	/* No rate for it: nothing to be bounded by. */
	cost.op_class = CMX_OPS_F32;
	cost.mem_bytes = 0;
	EXPECT_EQ(0, cmx_launch_bound(self->q, &cost));
	cost.fixed_ns = 7;
	EXPECT_EQ(7000, cmx_launch_bound(self->q, &cost));
	cost.mem_bytes = 3000;
	EXPECT_EQ(10000, cmx_launch_bound(self->q, &cost));
	cost.mem_bytes = UINT64_MAX;
	priv->entity.mem_rate = 1;
	EXPECT_EQ(UINT64_MAX, cmx_launch_bound(self->q, &cost));
}

TEST_HARNESS_MAIN
