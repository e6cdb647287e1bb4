// SPDX-License-Identifier: GPL-2.0-only
/* Messages and immediates into receive rings; queues in error and back. */
#include <errno.h>

#include <kselftest_harness.h>

#include "bed.h"

FIXTURE(message)
{
	struct bed bed;
	struct cmx_cq *recv_cq;
	struct cmx_rq *rq;
	struct cmx_queue *ub;
	struct cmx_mem *src, *dst;
};

FIXTURE_SETUP(message)
{
	struct cmx_queue_desc queue = { .queue_class = CMX_QUEUE_UB, .rnr_retry = 7 };
	struct cmx_rq_desc desc = { .slots = 4 };

	OK(bed_open(&self->bed));
	OK(cmx_cq_create(self->bed.ctx, NULL, 16, CMX_CQ_BACKPRESSURE, &self->recv_cq));
	desc.cq = self->recv_cq;
	desc.entity = self->bed.far_die;
	OK(cmx_rq_create(self->bed.ctx, &desc, &self->rq));
	queue.cq = self->bed.cq;
	OK(cmx_queue_create(self->bed.ctx, &queue, &self->ub));
	OK(bed_memory(&self->bed, 0, 8192, 1, &self->src));
	OK(bed_memory(&self->bed, self->bed.far_die, 8192, 2, &self->dst));
}

FIXTURE_TEARDOWN(message)
{
	bed_close(&self->bed);
}

static int post(FIXTURE_DATA(message) *self, uint32_t offset, uint32_t len, uint64_t user_ctx)
{
	struct cmx_sge sge = { cmx_mem_va(self->dst) + offset, len, 0 };

	return cmx_rq_post(self->rq, &sge, 1, user_ctx);
}

static int received(FIXTURE_DATA(message) *self, struct cmx_cqe *cqe)
{
	int ret = cmx_wait_completions(self->recv_cq, 1, NULL);

	return ret ? ret : cmx_cq_read(self->recv_cq, cqe) - 1;
}

TEST_F(message, send)
{
	struct cmx_cqe sent, got;

	OK(post(self, 0, 4096, 77));
	OK(cmx_queue_send(self->ub, UB_OP_SEND_IMM, self->rq->handle, cmx_mem_va(self->src), 1000,
			  0x1234, CMX_ENTRY_COMPLETE, 5));
	OK(cmx_queue_submit(self->ub));
	OK(received(self, &got));
	EXPECT_EQ(0, got.status);
	EXPECT_EQ(77, got.user_ctx);
	EXPECT_EQ(1000, got.len);
	EXPECT_EQ(0x1234, got.imm);
	EXPECT_EQ(UB_CR_OPC_SEND_WITH_IMM, got.opcode);
	EXPECT_TRUE(got.flags & CMX_CQE_RECV);
	EXPECT_EQ(self->rq->handle, got.local_id);
	EXPECT_EQ(self->ub->handle, got.remote_id);
	OK(bed_finish(&self->bed, 1, &sent));
	EXPECT_EQ(5, sent.user_ctx);
	EXPECT_EQ(0, memcmp(cmx_mem_ptr(self->src), cmx_mem_ptr(self->dst), 1000));
}

TEST_F(message, scattered)
{
	struct cmx_sge sge[2] = {
		{ cmx_mem_va(self->dst) + 100, 300, 0 }, { cmx_mem_va(self->dst) + 5000, 800, 0 },
	};
	struct cmx_cqe got;

	OK(cmx_rq_post(self->rq, sge, 2, 1));
	OK(cmx_queue_send(self->ub, UB_OP_SEND, self->rq->handle, cmx_mem_va(self->src), 1000, 0, 0,
			  0));
	OK(cmx_queue_submit(self->ub));
	OK(received(self, &got));
	EXPECT_EQ(0, memcmp(cmx_mem_ptr(self->src), (char *)cmx_mem_ptr(self->dst) + 100, 300));
	EXPECT_EQ(0, memcmp((char *)cmx_mem_ptr(self->src) + 300,
			    (char *)cmx_mem_ptr(self->dst) + 5000, 700));
}

TEST_F(message, write_with_immediate)
{
	struct cmx_cqe got;

	OK(post(self, 0, 64, 8));
	OK(cmx_queue_write_imm(self->ub, cmx_mem_va(self->dst) + 4096, cmx_mem_va(self->src), 4096,
			       self->rq->handle, 99, 0, 0));
	OK(cmx_queue_submit(self->ub));
	OK(received(self, &got));
	EXPECT_EQ(99, got.imm);
	EXPECT_EQ(8, got.user_ctx);
	EXPECT_EQ(UB_CR_OPC_WRITE_WITH_IMM, got.opcode);
	EXPECT_EQ(0, memcmp(cmx_mem_ptr(self->src), (char *)cmx_mem_ptr(self->dst) + 4096, 4096));
}

TEST_F(message, a_sender_waits_for_a_receive_entry)
{
	struct cmx_cqe got;

	OK(cmx_queue_send(self->ub, UB_OP_SEND, self->rq->handle, cmx_mem_va(self->src), 64, 0, 0,
			  0));
	OK(cmx_queue_submit(self->ub));
	ASSERT_EQ(-EDEADLK, cmx_wait_completions(self->recv_cq, 1, NULL));
	EXPECT_NE(NULL, strstr(cmx_last_error()->text, "a receive entry"));
	OK(post(self, 0, 64, 3));
	OK(received(self, &got));
	EXPECT_EQ(3, got.user_ctx);
}

TEST_F(message, too_long_for_the_entry)
{
	struct cmx_cqe cqe;

	OK(post(self, 0, 63, 3));
	OK(cmx_queue_send(self->ub, UB_OP_SEND, self->rq->handle, cmx_mem_va(self->src), 64, 0,
			  CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(self->ub));
	OK(cmx_wait_completions(self->bed.cq, 1, NULL));
	ASSERT_EQ(1, cmx_cq_read(self->bed.cq, &cqe));
	EXPECT_EQ(UB_CR_REM_RESP_LEN_ERR, cqe.status);
}

TEST_F(message, an_error_flushes_and_ready_goes_on)
{
	struct cmx_queue *q = self->bed.q;
	struct cmx_cqe cqe;
	int flushed = 0, markers = 0;

	/* An address that nothing is mapped at, and entries behind it. */
	OK(cmx_queue_copy(q, cmx_mem_va(self->dst), 4096, 64, CMX_ENTRY_COMPLETE, 1));
	for (int i = 0; i < 5; i++)
		OK(cmx_queue_nop(q, 0, 10 + i));
	OK(cmx_queue_submit(q));
	OK(cmx_wait_completions(self->bed.cq, 1, NULL));
	ASSERT_EQ(1, cmx_cq_read(self->bed.cq, &cqe));
	EXPECT_EQ(UB_CR_LOC_ACCESS_ERR, cqe.status);
	EXPECT_EQ(1, cqe.user_ctx);
	OK(cmx_wait_idle(self->bed.ctx, NULL));
	while (cmx_cq_read(self->bed.cq, &cqe) == 1) {
		flushed += cqe.status == UB_CR_WR_FLUSH_ERR;
		markers += cqe.status == UB_CR_WR_FLUSH_ERR_DONE;
	}
	EXPECT_EQ(5, flushed);
	EXPECT_EQ(1, markers);
	EXPECT_EQ(UB_QUEUE_ERROR, q->consumer->state);
	OK(cmx_queue_set_state(q, UB_QUEUE_READY));
	OK(cmx_queue_copy(q, cmx_mem_va(self->dst), cmx_mem_va(self->src), 64, CMX_ENTRY_COMPLETE,
			  2));
	OK(bed_finish(&self->bed, 1, &cqe));
	EXPECT_EQ(2, cqe.user_ctx);
	EXPECT_GT(0, cmx_queue_set_state(q, UB_QUEUE_RESET));
}

TEST_HARNESS_MAIN
