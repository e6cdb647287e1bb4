// SPDX-License-Identifier: GPL-2.0-only
/* Copies and fills against memcpy() and loops, within a die and between dies. */
#include <kselftest_harness.h>

#include "bed.h"

#define SIZE	(5u << 20)	/* more than two of the largest pieces that back memory */

FIXTURE(copy)
{
	struct bed bed;
	struct cmx_mem *src, *dst;
	unsigned char *want;
};

FIXTURE_VARIANT(copy)
{
	bool far;
};

FIXTURE_VARIANT_ADD(copy, one_die)
{
	.far = false,
};

FIXTURE_VARIANT_ADD(copy, between_dies)
{
	.far = true,
};

FIXTURE_SETUP(copy)
{
	OK(bed_open(&self->bed));
	OK(bed_memory(&self->bed, 0, SIZE, 1, &self->src));
	OK(bed_memory(&self->bed, variant->far ? self->bed.far_die : 0, SIZE, 2, &self->dst));
	self->want = malloc(SIZE);
	ASSERT_NE(NULL, self->want);
	memcpy(self->want, cmx_mem_ptr(self->dst), SIZE);
}

FIXTURE_TEARDOWN(copy)
{
	free(self->want);
	bed_close(&self->bed);
}

TEST_F(copy, linear)
{
	uint64_t src = cmx_mem_va(self->src), dst = cmx_mem_va(self->dst);
	unsigned char *from = cmx_mem_ptr(self->src);
	struct cmx_cqe cqe;
	uint32_t seed = 7;

	for (int i = 0; i < 60; i++) {
		uint32_t len = 1 + bed_random(&seed) % (i % 8 ? 9000 : 4 << 20);
		uint32_t a = bed_random(&seed) % (SIZE - len + 1);
		uint32_t b = bed_random(&seed) % (SIZE - len + 1);

		OK(cmx_queue_copy(self->bed.q, dst + b, src + a, len, CMX_ENTRY_COMPLETE, i));
		memcpy(self->want + b, from + a, len);
		if (i % 20 == 19)
			OK(bed_finish(&self->bed, 20, &cqe));
	}
	EXPECT_EQ(0, memcmp(self->want, cmx_mem_ptr(self->dst), SIZE));
	EXPECT_EQ(59, cqe.user_ctx);
	EXPECT_EQ(CMX_OP_COPY, cqe.opcode);
	EXPECT_EQ(self->bed.q->handle, cqe.local_id);
	EXPECT_GT(cqe.time_ps, 0);
}

TEST_F(copy, two_dimensions)
{
	uint64_t src = cmx_mem_va(self->src), dst = cmx_mem_va(self->dst);
	unsigned char *from = cmx_mem_ptr(self->src);
	struct cmx_cqe cqe;
	uint32_t seed = 8;

	for (int i = 0; i < 20; i++) {
		uint32_t len = 1 + bed_random(&seed) % 3000;
		uint32_t rows = 1 + bed_random(&seed) % 50;
		uint32_t src_pitch = len + bed_random(&seed) % 2000;
		uint32_t dst_pitch = len + bed_random(&seed) % 2000;

		OK(cmx_queue_copy_2d(self->bed.q, dst + i, dst_pitch, src + 3 * i, src_pitch, len,
				     rows, CMX_ENTRY_COMPLETE, i));
		for (uint32_t r = 0; r < rows; r++)
			memcpy(self->want + i + r * dst_pitch, from + 3 * i + r * src_pitch, len);
		OK(bed_finish(&self->bed, 1, &cqe));
		EXPECT_EQ((uint64_t)len * rows, cqe.len);
	}
	EXPECT_EQ(0, memcmp(self->want, cmx_mem_ptr(self->dst), SIZE));
}

TEST_F(copy, scatter_gather)
{
	uint64_t src = cmx_mem_va(self->src), dst = cmx_mem_va(self->dst);
	unsigned char *from = cmx_mem_ptr(self->src);
	struct cmx_mem *list;
	struct cmx_sg *sg;
	struct cmx_cqe cqe;
	uint32_t seed = 9;
	uint64_t total = 0;

	OK(cmx_mem_alloc(self->bed.ctx, 0, 100 * sizeof(*sg), 0, &list));
	sg = cmx_mem_ptr(list);
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t len = 1 + bed_random(&seed) % 20000;
		uint32_t a = bed_random(&seed) % (SIZE - len + 1);

		/* Pieces that do not overlap at the destination. */
		sg[i] = (struct cmx_sg){ dst + i * 20480, src + a, len, 0 };
		memcpy(self->want + i * 20480, from + a, len);
		total += len;
	}
	OK(cmx_queue_copy_sg(self->bed.q, cmx_mem_va(list), 100, CMX_ENTRY_COMPLETE, 5));
	OK(bed_finish(&self->bed, 1, &cqe));
	EXPECT_EQ(total, cqe.len);
	EXPECT_EQ(0, memcmp(self->want, cmx_mem_ptr(self->dst), SIZE));
}

TEST_F(copy, fill)
{
	uint64_t dst = cmx_mem_va(self->dst);
	struct cmx_cqe cqe;
	uint32_t seed = 10;

	for (uint32_t i = 0; i < 16; i++) {
		uint32_t unit = 1u << (i % 4);
		uint64_t pattern = 0x1122334455667788ull >> (64 - 8 * unit);
		uint32_t len = unit * (1 + bed_random(&seed) % 100000);
		uint32_t at = unit * (bed_random(&seed) % ((SIZE - len) / unit));

		OK(cmx_queue_fill(self->bed.far, dst + at, len, pattern, unit, CMX_ENTRY_COMPLETE,
				  i));
		for (uint32_t k = 0; k < len; k++)
			self->want[at + k] = (unsigned char)(pattern >> 8 * (k % unit));
	}
	OK(bed_finish(&self->bed, 16, &cqe));
	EXPECT_EQ(0, memcmp(self->want, cmx_mem_ptr(self->dst), SIZE));
}

TEST_F(copy, read_and_write)
{
	struct cmx_sge sge[6];
	unsigned char *from = cmx_mem_ptr(self->src);
	uint64_t src = cmx_mem_va(self->src), dst = cmx_mem_va(self->dst);
	struct cmx_queue *ub;
	struct cmx_cqe cqe;
	struct cmx_rma e;
	uint32_t at = 70000;

	OK(bed_queue(&self->bed, 0, CMX_QUEUE_UB, &ub));
	OK(cmx_queue_write(ub, dst + 10, src + 5, 60000, CMX_ENTRY_COMPLETE, 1));
	memcpy(self->want + 10, from + 5, 60000);
	cmx_rma_init(&e, UB_OP_WRITE, CMX_ENTRY_COMPLETE, 2);
	for (uint32_t i = 0; i < 6; i++) {
		sge[i] = (struct cmx_sge){ src + 1000 * i, 17 * (i + 1), 0 };
		memcpy(self->want + at, from + 1000 * i, sge[i].len);
		at += sge[i].len;
	}
	ASSERT_EQ(0, cmx_rma_sges(&e, sge, 6));
	e.rma.remote_va = dst + 70000;
	OK(cmx_queue_push(ub, &e));
	cmx_rma_init(&e, UB_OP_WRITE, CMX_ENTRY_COMPLETE, 3);
	ASSERT_EQ(0, cmx_rma_inline(&e, from + 200, 100));
	e.rma.remote_va = dst + 90001;
	OK(cmx_queue_push(ub, &e));
	memcpy(self->want + 90001, from + 200, 100);
	OK(cmx_queue_submit(ub));
	OK(bed_finish(&self->bed, 3, &cqe));
	EXPECT_EQ(0, memcmp(self->want, cmx_mem_ptr(self->dst), SIZE));
	/* And back: what was written is read. */
	OK(cmx_queue_read(ub, src, dst, 100000, CMX_ENTRY_COMPLETE, 4));
	OK(cmx_queue_submit(ub));
	OK(bed_finish(&self->bed, 1, &cqe));
	EXPECT_EQ(0, memcmp(self->want, from, 100000));
}

TEST_HARNESS_MAIN
