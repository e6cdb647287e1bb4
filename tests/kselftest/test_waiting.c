// SPDX-License-Identifier: GPL-2.0-only
/* Waits that must end: room given back, rings that go, time-outs with work, full flushes. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "cmx_run.h"

#define SRC	ABI_VA
#define DST	(ABI_VA + ABI_WORLD_PAGES / 2 * ABI_PAGE)

FIXTURE(waiting) {
	struct abi_world world;
	struct abi_cq cq;
	struct abi_ring queue;
	struct abi_ring rq;
	union abi_entry entry;
	struct cmx_cqe cqe;
};

FIXTURE_SETUP(waiting)
{
	ASSERT_EQ(0, abi_world_open(&self->world));
}

FIXTURE_TEARDOWN(waiting)
{
	abi_queue_destroy(self->world.fd, &self->queue);
	abi_rq_destroy(self->world.fd, &self->rq);
	abi_cq_destroy(self->world.fd, &self->cq);
	abi_world_close(&self->world);
}

static int make_queue(FIXTURE_DATA(waiting) *self, __u32 queue_class, __u32 entries, __u32 policy,
		      __u32 slots)
{
	struct drm_cmx_queue_create args;
	int ret = abi_cq_create(self->world.fd, entries, policy, &self->cq);

	if (ret)
		return ret;
	abi_queue_args(&args, queue_class, self->cq.handle);
	args.slots = slots;
	if (queue_class == CMX_QUEUE_UB)
		args.rnr_retry = 3;
	return abi_queue_create(self->world.fd, &args, &self->queue);
}

/* Commands that report nothing on success give the room they were promised back. */
TEST_F(waiting, room_given_back)
{
	unsigned int i;

	ASSERT_EQ(0, make_queue(self, CMX_QUEUE_SDMA, 2, CMX_CQ_BACKPRESSURE, 64));
	for (i = 0; i < 12; i++) {
		abi_entry_copy(&self->entry, DST + i * 64, SRC, 64);
		self->entry.header.flags = CMX_ENTRY_OVERLAP;
		ASSERT_TRUE(abi_post(&self->queue, &self->entry));
	}
	abi_publish(&self->queue);
	ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &self->queue));
	EXPECT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
	EXPECT_EQ(0, abi_cq_ready(&self->cq));
	EXPECT_EQ(12, self->queue.consumer->head);
}

/* A message that will try again finds its ring destroyed. */
TEST_F(waiting, ring_goes_between_tries)
{
	struct drm_cmx_run run;

	ASSERT_EQ(0, make_queue(self, CMX_QUEUE_UB, 16, CMX_CQ_BACKPRESSURE, 16));
	ASSERT_EQ(0, abi_rq_create(self->world.fd, self->world.cq.handle, 16, 0, &self->rq));
	abi_entry_rma(&self->entry, UB_OP_SEND, SRC, 0, 64);
	self->entry.rma.target = self->rq.handle;
	ASSERT_TRUE(abi_post(&self->queue, &self->entry));
	abi_publish(&self->queue);
	ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &self->queue));
	abi_run_args(&run, CMX_UNTIL_TIME, 100ULL * 1000 * 1000);
	ASSERT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &run));
	abi_rq_destroy(self->world.fd, &self->rq);
	EXPECT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->cq, 1, NULL));
	ASSERT_TRUE(abi_cqe_take(&self->cq, &self->cqe));
	EXPECT_EQ(UB_CR_REM_OPERATION_ERR, self->cqe.status);
}

/* A time-out ends a RUN although there is more to do, and nothing is lost. */
TEST_F(waiting, time_out_with_work)
{
	struct abi_mem from = { 0 }, to = { 0 };
	struct drm_cmx_run run;
	unsigned int i;

	ASSERT_EQ(0, make_queue(self, CMX_QUEUE_SDMA, 64, CMX_CQ_BACKPRESSURE, 64));
	ASSERT_EQ(0, abi_mem_create(self->world.fd, 0, ABI_VA * 2, 4 << 20, &from));
	ASSERT_EQ(0, abi_mem_create(self->world.fd, 0, ABI_VA * 3, 4 << 20, &to));
	memset(from.bytes, 0x5a, 4 << 20);
	for (i = 0; i < 8; i++) {
		abi_entry_copy(&self->entry, ABI_VA * 3, ABI_VA * 2, 4 << 20);
		self->entry.header.flags = CMX_ENTRY_COMPLETE;
		ASSERT_TRUE(abi_post(&self->queue, &self->entry));
	}
	abi_publish(&self->queue);
	ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &self->queue));
	abi_run_args(&run, CMX_UNTIL_IDLE, 0);
	run.host_timeout_ns = 1;
	EXPECT_EQ(CMX_RUN_TIMEOUT, abi_run(self->world.fd, &run));
	EXPECT_GT(8, abi_cq_ready(&self->cq));
	EXPECT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
	EXPECT_EQ(8, abi_cq_ready(&self->cq));
	EXPECT_EQ(0, memcmp(from.bytes, to.bytes, 4 << 20));
	abi_mem_destroy(self->world.fd, &from);
	abi_mem_destroy(self->world.fd, &to);
}

/* A WAIT never compares a word that is half written, wherever copies are cut. */
TEST_F(waiting, whole_words)
{
	struct abi_mem from = { 0 }, to = { 0 };
	__u64 at = (1 << 20) - 72;

	ASSERT_EQ(0, make_queue(self, CMX_QUEUE_SDMA, 16, CMX_CQ_BACKPRESSURE, 16));
	ASSERT_EQ(0, abi_mem_create(self->world.fd, 0, ABI_VA * 2, 4 << 20, &from));
	ASSERT_EQ(0, abi_mem_create(self->world.fd, 0, ABI_VA * 3, 4 << 20, &to));
	memset(from.bytes, 1, 4 << 20);
	abi_entry_wait(&self->entry, ABI_VA * 3 + at, CMX_COND_EQ, 0x0001010101010101);
	ASSERT_EQ(0, abi_submit(&self->world, &self->world.stream, &self->entry));
	abi_entry_copy(&self->entry, ABI_VA * 3 + (3 << 20), ABI_VA * 2, 1);
	ASSERT_TRUE(abi_post(&self->queue, &self->entry));
	abi_entry_copy(&self->entry, ABI_VA * 3, ABI_VA * 2, 2 << 20);
	ASSERT_TRUE(abi_post(&self->queue, &self->entry));
	abi_publish(&self->queue);
	ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &self->queue));
	EXPECT_EQ(CMX_RUN_STALL, abi_run_idle(self->world.fd, NULL));
	EXPECT_EQ(0x0101010101010101, to.words[at / 8]);
	EXPECT_EQ(0, abi_cq_ready(&self->world.cq));
	abi_mem_destroy(self->world.fd, &from);
	abi_mem_destroy(self->world.fd, &to);
}

/** struct writer - a thread that makes it look as if more entries came all the time. */
struct writer {
	struct abi_ring *ring;
	atomic_bool started;
	atomic_bool stop;
};

static void *keep_writing(void *data)
{
	struct writer *writer = data;
	struct abi_ring *ring = writer->ring;

	while (!atomic_load(&writer->stop)) {
		__atomic_store_n(&ring->producer->tail, ring->consumer->head + ring->slots / 2,
				 __ATOMIC_RELEASE);
		atomic_store(&writer->started, true);
	}
	return NULL;
}

/* What is written while a flush waits for room is flushed as well. */
TEST_F(waiting, flush_goes_on)
{
	struct cmx_cqe cqe = { 0 };
	unsigned int i, flushed = 0;

	ASSERT_EQ(0, make_queue(self, CMX_QUEUE_SDMA, 2, CMX_CQ_BACKPRESSURE, 16));
	ASSERT_EQ(0, abi_queue_state(self->world.fd, self->queue.handle, UB_QUEUE_ERROR));
	abi_entry_sync(&self->entry, UB_OP_NOP, 0);
	for (i = 0; i < 7; i++) {
		ASSERT_TRUE(abi_post(&self->queue, &self->entry));
		abi_publish(&self->queue);
		ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &self->queue));
		/* Room for the first two only, until the ring is read below. */
		if (i >= 2)
			continue;
		ASSERT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->cq, 1, NULL));
	}
	for (i = 0; i < 16 && flushed < 7; i++) {
		while (abi_cqe_take(&self->cq, &cqe))
			flushed += cqe.status == UB_CR_WR_FLUSH_ERR;
		abi_run_idle(self->world.fd, NULL);
	}
	EXPECT_EQ(7, flushed);
}

#define MOVING_SLOTS	65536
#define MOVING_ROUNDS	3

/*
 * A flush ends although another thread keeps the ring full. The ring is so long that this
 * thread may lose its processor for some milliseconds and still be ahead; with one processor
 * it never runs during a flush, and nothing is shown.
 */
TEST_F(waiting, flush_of_a_moving_ring)
{
	struct writer writer = { .ring = &self->queue };
	struct cmx_cqe cqe = { 0 };
	pthread_t thread;
	unsigned int i, round;

	abi_entry_sync(&self->entry, UB_OP_NOP, 0);
	for (round = 0; round < MOVING_ROUNDS; round++) {
		ASSERT_EQ(0, make_queue(self, CMX_QUEUE_SDMA, 64, CMX_CQ_OVERFLOW_ERROR,
					MOVING_SLOTS));
		for (i = 0; i < MOVING_SLOTS; i++)
			memcpy(self->queue.slot[i], &self->entry, CMX_SLOT_SIZE);
		atomic_store(&writer.started, false);
		atomic_store(&writer.stop, false);
		ASSERT_EQ(0, pthread_create(&thread, NULL, keep_writing, &writer));
		alarm(20);
		while (!atomic_load(&writer.started))
			sched_yield();
		EXPECT_EQ(0, abi_queue_state(self->world.fd, self->queue.handle, UB_QUEUE_ERROR));
		EXPECT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->cq, 1, NULL));
		EXPECT_GT(4 * MOVING_SLOTS, self->queue.consumer->head);
		for (i = 0; i < 64 && abi_cqe_take(&self->cq, &cqe); i++)
			EXPECT_NE(UB_CR_SUCCESS, cqe.status);
		atomic_store(&writer.stop, true);
		pthread_join(thread, NULL);
		alarm(0);
		abi_queue_destroy(self->world.fd, &self->queue);
		abi_cq_destroy(self->world.fd, &self->cq);
	}
}

TEST_HARNESS_MAIN
