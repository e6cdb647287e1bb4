// SPDX-License-Identifier: GPL-2.0-only
/* Rings in plain memory: places, wrapping, fullness, the doorbell. */
#include <errno.h>
#include <string.h>

#include <kselftest_harness.h>

#include "fake_module.h"

/* What the module would do: take @n slots. */
static void take(struct cmx_queue *q, uint32_t n)
{
	((struct cmx_ring_consumer *)(uintptr_t)q->consumer)->head += n;
}

static void make_entry(unsigned char *entry, uint32_t slots, unsigned char tag)
{
	memset(entry, tag, CMX_ENTRY_MAX_SLOTS * CMX_SLOT_SIZE);
	entry[0] = (unsigned char)slots;
}

TEST(entries_go_around_the_end)
{
	struct cmx_ctx *ctx = fake_ctx();
	struct cmx_queue *q = fake_queue(ctx, 8, 0);
	unsigned char entry[256];
	uint32_t tail = UINT32_MAX - 20;

	/* Start close to where the index wraps. */
	q->tail = tail;
	take(q, tail);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t slots = 1 + i % 4;

		make_entry(entry, slots, (unsigned char)i);
		ASSERT_EQ(0, cmx_queue_push_try(q, entry));
		for (uint32_t s = 0; s < slots; s++)
			ASSERT_EQ(0, memcmp(q->slots + ((tail + s) & 7) * 64, entry + s * 64, 64));
		tail += slots;
		ASSERT_EQ(tail, q->tail);
		take(q, slots);
	}
	fake_queue_free(q);
	fake_ctx_free(ctx);
}

TEST(a_full_ring_takes_nothing)
{
	struct cmx_ctx *ctx = fake_ctx();
	struct cmx_queue *q = fake_queue(ctx, 8, 0);
	unsigned char entry[256];

	make_entry(entry, 3, 1);
	ASSERT_EQ(0, cmx_queue_push_try(q, entry));
	ASSERT_EQ(0, cmx_queue_push_try(q, entry));
	EXPECT_EQ(2, cmx_queue_space(q));
	EXPECT_EQ(-EAGAIN, cmx_queue_push_try(q, entry));
	EXPECT_EQ(6, q->tail);
	EXPECT_EQ(3, cmx_last_error()->value);
	EXPECT_EQ(2, cmx_last_error()->limit);
	make_entry(entry, 2, 2);
	EXPECT_EQ(0, cmx_queue_push_try(q, entry));
	EXPECT_EQ(0, cmx_queue_space(q));
	take(q, 3);
	EXPECT_EQ(3, cmx_queue_space(q));
	fake_queue_free(q);
	fake_ctx_free(ctx);
}

TEST(slot_counts_are_checked)
{
	struct cmx_ctx *ctx = fake_ctx();
	struct cmx_queue *q = fake_queue(ctx, 8, 0);
	unsigned char entry[256];

	make_entry(entry, 0, 1);
	EXPECT_EQ(-EINVAL, cmx_queue_push(q, entry));
	EXPECT_STREQ("slots", cmx_last_error()->field);
	make_entry(entry, 5, 1);
	EXPECT_EQ(-EINVAL, cmx_queue_push(q, entry));
	EXPECT_EQ(0, q->tail);
	fake_queue_free(q);
	fake_ctx_free(ctx);
}

TEST(submit_publishes_and_rings)
{
	struct cmx_ctx *ctx = fake_ctx();
	struct cmx_queue *q = fake_queue(ctx, 8, 0);

	ctx->timeline->doorbells[1] = 1;
	ASSERT_EQ(0, cmx_queue_nop(q, 0, 0));
	EXPECT_EQ(0, q->producer->tail);
	ASSERT_EQ(0, cmx_queue_submit(q));
	EXPECT_EQ(1, q->producer->tail);
	EXPECT_EQ(1 | 1ull << 5, ctx->timeline->doorbells[1]);
	EXPECT_EQ(0, fake_module.calls[DRM_CMX_WAKE]);
	((struct cmx_timeline_status *)(uintptr_t)q->status)->need_wakeup = 1;
	ASSERT_EQ(0, cmx_queue_submit(q));
	EXPECT_EQ(1, fake_module.calls[DRM_CMX_WAKE]);
	fake_queue_free(q);
	fake_ctx_free(ctx);
}

#define SUBMITTERS	4
#define PUSHES		5000

static void *submit_many(void *arg)
{
	struct cmx_queue *q = arg;

	for (uint32_t i = 0; i < PUSHES; i++) {
		int ret = cmx_queue_push_try(q, &(struct cmx_entry_sync){
			.header = { .slots = 1, .opcode = UB_OP_NOP, .user_ctx = i } });

		if (ret == -EAGAIN)
			i--;
		else if (ret || cmx_queue_submit(q))
			return arg;
	}
	return NULL;
}

TEST(many_submitters_lose_nothing)
{
	struct cmx_ctx *ctx = fake_ctx();
	struct cmx_queue *q = fake_queue(ctx, 16, CMX_SUBMIT_LOCKED);
	pthread_t threads[SUBMITTERS];
	uint64_t sum = 0;
	uint32_t head = 0;
	void *bad;

	for (int i = 0; i < SUBMITTERS; i++)
		ASSERT_EQ(0, pthread_create(&threads[i], NULL, submit_many, q));
	while (head < SUBMITTERS * PUSHES) {
		uint32_t tail = __atomic_load_n(&q->producer->tail, __ATOMIC_ACQUIRE);
		uint32_t *head_word = (uint32_t *)(uintptr_t)&q->consumer->head;

		ASSERT_LE(tail - head, 16);
		for (; head != tail; head++)
			sum += ((struct cmx_entry_sync *)
				(q->slots + (head & 15) * 64))->header.user_ctx;
		__atomic_store_n(head_word, head, __ATOMIC_RELEASE);
	}
	for (int i = 0; i < SUBMITTERS; i++) {
		ASSERT_EQ(0, pthread_join(threads[i], &bad));
		EXPECT_EQ(NULL, bad);
	}
	EXPECT_EQ((uint64_t)SUBMITTERS * PUSHES * (PUSHES - 1) / 2, sum);
	fake_queue_free(q);
	fake_ctx_free(ctx);
}

TEST(completions_are_read_once_and_in_order)
{
	struct cmx_cq_producer producer = {};
	struct cmx_cq_consumer consumer = {};
	struct cmx_cqe entries[4] = {}, cqe;
	uint32_t alive = 1;
	struct cmx_cq cq = {
		.producer = &producer, .entries = entries, .consumer = &consumer,
		.alive = &alive, .mask = 3, .head = UINT32_MAX - 5,
	};

	producer.tail = cq.head;
	consumer.head = cq.head;
	EXPECT_EQ(0, cmx_cq_read(&cq, &cqe));
	for (uint64_t i = 0; i < 100; i++) {
		uint32_t n = 1 + i % 4;

		for (uint32_t k = 0; k < n; k++)
			entries[(producer.tail + k) & 3].user_ctx = 10 * i + k;
		__atomic_store_n(&producer.tail, producer.tail + n, __ATOMIC_RELEASE);
		ASSERT_EQ(n, cmx_cq_ready(&cq));
		for (uint32_t k = 0; k < n; k++) {
			ASSERT_EQ(1, cmx_cq_read(&cq, &cqe));
			ASSERT_EQ(10 * i + k, cqe.user_ctx);
		}
		ASSERT_EQ(producer.tail, consumer.head);
		ASSERT_EQ(0, cmx_cq_read(&cq, &cqe));
	}
	/* In a forked child the rings are not there. */
	alive = 0;
	cq.producer = NULL;
	cq.consumer = NULL;
	EXPECT_EQ(-EPERM, cmx_cq_read(&cq, &cqe));
	EXPECT_EQ(0, cmx_cq_ready(&cq));
	cmx_cq_arm(&cq, CMX_CQ_ARM_ANY);
}

TEST(receive_entries)
{
	struct cmx_ring_producer producer = {};
	struct cmx_ring_consumer consumer = {};
	struct cmx_timeline_status status = {};
	struct cmx_rq_entry slots[2] = {};
	struct cmx_sge sge[2] = { { 0x1000, 10, 0 }, { 0x2000, 20, 0 } };
	uint32_t alive = 1;
	struct cmx_rq rq = {
		.slots = slots, .producer = &producer, .consumer = &consumer,
		.status = &status, .alive = &alive, .mask = 1,
	};

	EXPECT_EQ(-EINVAL, cmx_rq_post(&rq, sge, 0, 1));
	EXPECT_EQ(-EINVAL, cmx_rq_post(&rq, sge, 3, 1));
	EXPECT_EQ(0, cmx_rq_post(&rq, sge, 1, 11));
	EXPECT_EQ(0, cmx_rq_post(&rq, sge, 2, 12));
	EXPECT_EQ(-EAGAIN, cmx_rq_post(&rq, sge, 1, 13));
	EXPECT_EQ(2, producer.tail);
	EXPECT_EQ(11, slots[0].user_ctx);
	EXPECT_EQ(0, slots[0].sge[1].va);
	EXPECT_EQ(2, slots[1].num_sge);
	EXPECT_EQ(0x2000, slots[1].sge[1].va);
	consumer.head = 1;
	EXPECT_EQ(0, cmx_rq_post(&rq, sge, 1, 13));
	EXPECT_EQ(13, slots[0].user_ctx);
}

TEST_HARNESS_MAIN
