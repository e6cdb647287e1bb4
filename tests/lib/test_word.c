// SPDX-License-Identifier: GPL-2.0-only
/* Words in memory: atomics, waits and signals between queues and from the host. */
#include <errno.h>

#include <kselftest_harness.h>

#include "bed.h"

FIXTURE(word)
{
	struct bed bed;
	struct cmx_queue *ub;
	struct cmx_mem *mem;
	uint64_t *words;
	uint64_t va;
};

FIXTURE_SETUP(word)
{
	OK(bed_open(&self->bed));
	OK(bed_queue(&self->bed, 0, CMX_QUEUE_UB, &self->ub));
	OK(cmx_mem_alloc(self->bed.ctx, self->bed.far_die, 4096, 0, &self->mem));
	self->words = cmx_mem_ptr(self->mem);
	self->va = cmx_mem_va(self->mem);
}

FIXTURE_TEARDOWN(word)
{
	bed_close(&self->bed);
}

TEST_F(word, atomics_of_8_bytes)
{
	static const struct {
		uint32_t opcode;
		uint64_t value, compare, result;
	} cases[] = {
		{ UB_OP_CAS, 5, 1, 100 }, { UB_OP_CAS, 5, 100, 5 },
		{ UB_OP_SWAP, 1ull << 40, 0, 1ull << 40 }, { UB_OP_FADD, 7, 0, 107 },
		{ UB_OP_FSUB, 101, 0, UINT64_MAX }, { UB_OP_FAND, 0xf0, 0, 96 },
		{ UB_OP_FOR, 3, 0, 103 }, { UB_OP_FXOR, 0xff, 0, 155 },
	};
	struct cmx_cqe cqe;

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		self->words[0] = 100;
		self->words[1] = 0;
		OK(cmx_queue_atomic(self->ub, cases[i].opcode, self->va, 8, cases[i].value,
				    cases[i].compare, self->va + 8, CMX_ENTRY_COMPLETE, i));
		OK(cmx_queue_submit(self->ub));
		OK(bed_finish(&self->bed, 1, &cqe));
		EXPECT_EQ(cases[i].result, self->words[0]);
		EXPECT_EQ(100, self->words[1]);
		EXPECT_EQ(100, cqe.imm);
	}
}

TEST_F(word, atomics_of_4_bytes_leave_the_neighbour)
{
	struct cmx_cqe cqe;

	self->words[0] = 0xffffffff00000001ull;
	OK(cmx_queue_atomic(self->ub, UB_OP_FSUB, self->va, 4, 2, 0, 0, 0, 1));
	OK(cmx_queue_atomic(self->ub, UB_OP_FADD, self->va + 4, 4, 1, 0, 0, CMX_ENTRY_COMPLETE, 2));
	OK(cmx_queue_submit(self->ub));
	OK(bed_finish(&self->bed, 1, &cqe));
	EXPECT_EQ(0x00000000ffffffffull, self->words[0]);
	EXPECT_EQ(0xffffffff, cqe.imm);
}

TEST_F(word, queues_hand_over)
{
	struct cmx_cqe cqe;
	uint64_t last = 0;

	/* Ten rounds of ping-pong; each side counts what it was told. */
	for (uint64_t i = 1; i <= 10; i++) {
		OK(cmx_queue_wait(self->bed.far, self->va, CMX_COND_EQ, i, 0, 0));
		OK(cmx_queue_signal(self->bed.far, self->va + 8, CMX_SIGNAL_ADD, 1, 0, 0));
	}
	OK(cmx_queue_timestamp(self->bed.far, self->va + 16, CMX_ENTRY_COMPLETE, 99));
	for (uint64_t i = 1; i <= 10; i++) {
		OK(cmx_queue_signal(self->bed.q, self->va, CMX_SIGNAL_SET, i, 0, 0));
		OK(cmx_queue_wait(self->bed.q, self->va + 8, CMX_COND_GE, i, CMX_ENTRY_COMPLETE,
				  i));
	}
	OK(bed_finish(&self->bed, 11, &cqe));
	EXPECT_EQ(10, self->words[0]);
	EXPECT_EQ(10, self->words[1]);
	EXPECT_GT(self->words[2], last);
}

TEST_F(word, conditions)
{
	static const struct {
		uint32_t cond;
		uint64_t memory, value;
		bool met;
	} cases[] = {
		{ CMX_COND_EQ, 5, 5, true }, { CMX_COND_EQ, 5, 6, false },
		{ CMX_COND_NE, 5, 6, true }, { CMX_COND_NE, 5, 5, false },
		{ CMX_COND_GE, 1, UINT64_MAX, true }, { CMX_COND_GE, UINT64_MAX, 1, false },
		{ CMX_COND_GT, 6, 5, true }, { CMX_COND_GT, 5, 5, false },
	};

	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int ret;

		self->words[0] = cases[i].memory;
		ret = cmx_wait_memory(self->bed.ctx, self->va, cases[i].cond, cases[i].value, NULL);
		EXPECT_EQ(cases[i].met, !ret);
		EXPECT_TRUE(!ret || ret == -EDEADLK);
	}
}

TEST_F(word, host_signals_are_seen)
{
	struct cmx_timeline *timeline = cmx_timeline_default(self->bed.ctx);
	struct cmx_cqe cqe;
	uint64_t old = 0;

	OK(cmx_queue_wait(self->bed.q, self->va, CMX_COND_GE, 3, CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_submit(self->bed.q));
	EXPECT_EQ(-EDEADLK, cmx_wait_completions(self->bed.cq, 1, NULL));
	self->words[0] = 1;
	OK(cmx_signal(timeline, self->va, CMX_SIGNAL_ADD, 2, &old));
	EXPECT_EQ(1, old);
	OK(bed_finish(&self->bed, 1, &cqe));
	EXPECT_EQ(3, self->words[0]);
}

TEST_F(word, write_and_notify)
{
	struct cmx_mem *src;
	struct cmx_cqe cqe;

	OK(bed_memory(&self->bed, 0, 4096, 5, &src));
	OK(cmx_queue_wait(self->bed.far, self->va, CMX_COND_EQ, 77, 0, 0));
	OK(cmx_queue_copy(self->bed.far, self->va + 2048, self->va + 64, 1000, CMX_ENTRY_COMPLETE,
			  1));
	OK(cmx_queue_write_notify(self->ub, self->va + 64, cmx_mem_va(src), 1000, self->va, 77, 0,
				  2));
	OK(cmx_queue_submit(self->ub));
	OK(bed_finish(&self->bed, 1, &cqe));
	EXPECT_EQ(0, memcmp((char *)self->words + 2048, cmx_mem_ptr(src), 1000));
}

TEST_HARNESS_MAIN
