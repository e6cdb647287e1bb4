// SPDX-License-Identifier: GPL-2.0-only
/* Receive rings: messages, immediates, limits, receivers that are not ready. */
#include <errno.h>

#include "kselftest_harness.h"

#include "cmx_run.h"

#define SRC	ABI_VA
#define DST	(ABI_VA + ABI_WORLD_PAGES / 2 * ABI_PAGE)

FIXTURE(receive) {
	struct abi_world world;
	struct abi_cq rcq;
	struct abi_ring rq;
	struct abi_ring sender;
	union abi_entry entry;
	struct cmx_cqe sent;
	struct cmx_cqe received;
	__u8 *dst;
};

static int make_sender(FIXTURE_DATA(receive) *self, __u32 rnr_retry)
{
	struct drm_cmx_queue_create args;

	abi_queue_args(&args, CMX_QUEUE_UB, self->world.cq.handle);
	args.rnr_retry = rnr_retry;
	return abi_queue_create(self->world.fd, &args, &self->sender);
}

FIXTURE_SETUP(receive)
{
	unsigned int i;

	ASSERT_EQ(0, abi_world_open(&self->world));
	if (!(self->world.device.caps & CMX_CAP_RQ))
		SKIP(return, "the module has no receive rings");
	ASSERT_EQ(0, abi_cq_create(self->world.fd, 64, 0, &self->rcq));
	ASSERT_EQ(0, abi_rq_create(self->world.fd, self->rcq.handle, 16, 4, &self->rq));
	self->dst = self->world.mem.bytes + (DST - SRC);
	for (i = 0; i < DST - SRC; i++)
		self->world.mem.bytes[i] = (__u8)(i * 11 + i / 256);
}

FIXTURE_TEARDOWN(receive)
{
	abi_queue_destroy(self->world.fd, &self->sender);
	abi_rq_destroy(self->world.fd, &self->rq);
	abi_cq_destroy(self->world.fd, &self->rcq);
	abi_world_close(&self->world);
}

/* Room for @first and @second bytes at DST + @at. */
static void post_room(FIXTURE_DATA(receive) *self, __u64 ctx, __u64 at, __u32 first, __u32 second)
{
	struct cmx_rq_entry entry = {
		.slots = 1,
		.num_sge = second ? 2 : 1,
		.user_ctx = ctx,
		.sge = { { .va = DST + at, .len = first } },
	};

	if (second)
		entry.sge[1] = (struct cmx_sge){ .va = DST + at + first + 8, .len = second };
	abi_post(&self->rq, &entry);
	abi_publish(&self->rq);
}

static void make_send(FIXTURE_DATA(receive) *self, __u8 opcode, __u64 len)
{
	abi_entry_rma(&self->entry, opcode, SRC + 3, 0, len);
	self->entry.rma.target = self->rq.handle;
	self->entry.header.user_ctx = 17;
}

static int send(FIXTURE_DATA(receive) *self)
{
	return abi_carry_out(&self->world, &self->sender, &self->entry, &self->sent);
}

TEST_F(receive, send)
{
	struct drm_cmx_info_entity entity;

	ASSERT_EQ(0, make_sender(self, 0));
	ASSERT_EQ(0, abi_entity(self->world.fd, 0, &entity));
	post_room(self, 99, 0, 100, 50);
	make_send(self, UB_OP_SEND, 120);
	ASSERT_EQ(0, send(self));
	EXPECT_EQ(UB_CR_SUCCESS, self->sent.status);
	EXPECT_EQ(17, self->sent.user_ctx);
	EXPECT_EQ(120, self->sent.len);
	ASSERT_TRUE(abi_cqe_take(&self->rcq, &self->received));
	EXPECT_EQ(UB_CR_SUCCESS, self->received.status);
	EXPECT_EQ(UB_CR_OPC_SEND, self->received.opcode);
	EXPECT_EQ(CMX_CQE_RECV, self->received.flags);
	EXPECT_EQ(99, self->received.user_ctx);
	EXPECT_EQ(120, self->received.len);
	EXPECT_EQ(self->rq.handle, self->received.local_id);
	EXPECT_EQ(self->sender.handle, self->received.remote_id);
	EXPECT_EQ(0, memcmp(entity.eid, self->received.remote_eid, 16));
	EXPECT_EQ(0, memcmp(self->world.mem.bytes + 3, self->dst, 100));
	EXPECT_EQ(0, memcmp(self->world.mem.bytes + 103, self->dst + 108, 20));
	EXPECT_EQ(0, self->dst[128]);
	EXPECT_EQ(1, self->rq.consumer->head);
}

TEST_F(receive, immediate)
{
	ASSERT_EQ(0, make_sender(self, 0));
	post_room(self, 1, 0, 64, 0);
	make_send(self, UB_OP_SEND_IMM, 64);
	self->entry.rma.value = 0xabcdef0012345678;
	ASSERT_EQ(0, send(self));
	EXPECT_EQ(UB_CR_SUCCESS, self->sent.status);
	ASSERT_TRUE(abi_cqe_take(&self->rcq, &self->received));
	EXPECT_EQ(UB_CR_OPC_SEND_WITH_IMM, self->received.opcode);
	EXPECT_EQ(0xabcdef0012345678, self->received.imm);
	EXPECT_EQ(0, memcmp(self->world.mem.bytes + 3, self->dst, 64));
}

/* The bytes go where the sender says; the receive entry is only consumed. */
TEST_F(receive, write_imm)
{
	ASSERT_EQ(0, make_sender(self, 0));
	post_room(self, 5, 0, 64, 0);
	make_send(self, UB_OP_WRITE_IMM, 500);
	self->entry.rma.remote_va = DST + 4096;
	self->entry.rma.value = 7;
	ASSERT_EQ(0, send(self));
	EXPECT_EQ(UB_CR_SUCCESS, self->sent.status);
	ASSERT_TRUE(abi_cqe_take(&self->rcq, &self->received));
	EXPECT_EQ(UB_CR_OPC_WRITE_WITH_IMM, self->received.opcode);
	EXPECT_EQ(7, self->received.imm);
	EXPECT_EQ(5, self->received.user_ctx);
	EXPECT_EQ(0, self->dst[0]);
	EXPECT_EQ(0, memcmp(self->world.mem.bytes + 3, self->dst + 4096, 500));
}

TEST_F(receive, too_long)
{
	ASSERT_EQ(0, make_sender(self, 0));
	post_room(self, 1, 0, 10, 20);
	make_send(self, UB_OP_SEND, 31);
	ASSERT_EQ(0, send(self));
	EXPECT_EQ(UB_CR_REM_RESP_LEN_ERR, self->sent.status);
	EXPECT_EQ(UB_QUEUE_ERROR, self->sender.consumer->state);
}

TEST_F(receive, not_ready)
{
	ASSERT_EQ(0, make_sender(self, 2));
	make_send(self, UB_OP_SEND, 16);
	ASSERT_EQ(0, send(self));
	EXPECT_EQ(UB_CR_RNR_RETRY_CNT_EXC, self->sent.status);
}

/* Without limit: the sender waits and says for what; room ends the wait. */
TEST_F(receive, waits_for_room)
{
	struct drm_cmx_queue_query query;

	ASSERT_EQ(0, make_sender(self, 7));
	make_send(self, UB_OP_SEND, 16);
	ASSERT_EQ(0, abi_submit(&self->world, &self->sender, &self->entry));
	EXPECT_EQ(CMX_RUN_STALL, abi_run_idle(self->world.fd, NULL));
	ASSERT_EQ(0, abi_queue_query(self->world.fd, self->sender.handle, &query));
	EXPECT_EQ(CMX_WAITING_RECEIVE, query.waiting);
	post_room(self, 1, 0, 64, 0);
	EXPECT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
	ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->sent));
	EXPECT_EQ(UB_CR_SUCCESS, self->sent.status);
	EXPECT_EQ(1, abi_cq_ready(&self->rcq));
}

/* Few entries left: one event. */
TEST_F(receive, limit_event)
{
	struct cmx_event event;
	unsigned int i;

	ASSERT_EQ(0, make_sender(self, 0));
	for (i = 0; i < 6; i++)
		post_room(self, i, i * 64, 64, 0);
	for (i = 0; i < 6; i++) {
		make_send(self, UB_OP_SEND, 16);
		ASSERT_EQ(0, send(self));
		EXPECT_EQ(UB_CR_SUCCESS, self->sent.status);
	}
	ASSERT_EQ(1, abi_event_find(self->world.fd, CMX_EVENT_RQ_LIMIT, &event));
	EXPECT_EQ(self->rq.handle, event.object);
	EXPECT_EQ(0, abi_event_find(self->world.fd, CMX_EVENT_RQ_LIMIT, &event));
}

/* A solicited message wakes who armed for that alone. */
TEST_F(receive, solicited)
{
	struct cmx_event event;

	ASSERT_EQ(0, make_sender(self, 0));
	post_room(self, 1, 0, 64, 0);
	post_room(self, 2, 64, 64, 0);
	self->rcq.consumer->arm = CMX_CQ_ARM_SOLICITED;
	make_send(self, UB_OP_SEND, 16);
	ASSERT_EQ(0, send(self));
	EXPECT_EQ(0, abi_event_find(self->world.fd, CMX_EVENT_CQ, &event));
	self->entry.header.flags |= CMX_ENTRY_SOLICITED;
	ASSERT_EQ(0, send(self));
	ASSERT_EQ(1, abi_event_find(self->world.fd, CMX_EVENT_CQ, &event));
	EXPECT_EQ(self->rcq.handle, event.object);
}

/* Malformed receive entries and a broken index: the sender learns, nothing is written. */
TEST_F(receive, bad_entries)
{
	static const struct { __u16 offset; __u8 value; } cases[] = {
		{ offsetof(struct cmx_rq_entry, slots), 0 },
		{ offsetof(struct cmx_rq_entry, slots), 2 },
		{ offsetof(struct cmx_rq_entry, num_sge), 0 },
		{ offsetof(struct cmx_rq_entry, num_sge), 3 },
		{ offsetof(struct cmx_rq_entry, pad), 1 },
		{ offsetof(struct cmx_rq_entry, pad2), 1 },
		{ offsetof(struct cmx_rq_entry, reserved[1]), 1 },
		{ offsetof(struct cmx_rq_entry, sge[0].seg), 1 },
		{ offsetof(struct cmx_rq_entry, sge[0].va) + 6, 1 },
	};
	struct abi_ring good = self->rq;
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(cases); i++) {
		ASSERT_EQ(0, abi_rq_create(self->world.fd, self->rcq.handle, 16, 0, &self->rq));
		ASSERT_EQ(0, make_sender(self, 0));
		post_room(self, 1, 0, 64, 0);
		self->rq.slot[0][cases[i].offset] = cases[i].value;
		make_send(self, UB_OP_SEND, 16);
		ASSERT_EQ(0, send(self));
		EXPECT_NE(UB_CR_SUCCESS, self->sent.status)
			TH_LOG("offset %u", cases[i].offset);
		EXPECT_EQ(0, self->dst[0]);
		ASSERT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->world.cq, 1, NULL));
		abi_cqe_take(&self->world.cq, &self->sent);
		EXPECT_EQ(UB_CR_WR_FLUSH_ERR_DONE, self->sent.status);
		abi_queue_destroy(self->world.fd, &self->sender);
		abi_rq_destroy(self->world.fd, &self->rq);
	}
	self->rq = good;
}

TEST_F(receive, bad_tail)
{
	ASSERT_EQ(0, make_sender(self, 0));
	self->rq.producer->tail = 17;
	make_send(self, UB_OP_SEND, 16);
	ASSERT_EQ(0, send(self));
	EXPECT_NE(UB_CR_SUCCESS, self->sent.status);
	EXPECT_EQ(UB_QUEUE_ERROR, self->rq.consumer->state);
}

/* The ring goes while a sender waits for it. */
TEST_F(receive, destroyed_under_sender)
{
	ASSERT_EQ(0, make_sender(self, 7));
	make_send(self, UB_OP_SEND, 16);
	ASSERT_EQ(0, abi_submit(&self->world, &self->sender, &self->entry));
	EXPECT_EQ(CMX_RUN_STALL, abi_run_idle(self->world.fd, NULL));
	abi_rq_destroy(self->world.fd, &self->rq);
	EXPECT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
	ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->sent));
	EXPECT_EQ(UB_CR_REM_OPERATION_ERR, self->sent.status);
}

TEST_HARNESS_MAIN
