// SPDX-License-Identifier: GPL-2.0-only
/* What each entry does: bytes, completions and times. */
#include <errno.h>

#include "kselftest_harness.h"

#include "cmx_run.h"

#define HALF	(ABI_WORLD_PAGES / 2 * ABI_PAGE)
#define SRC	ABI_VA
#define DST	(ABI_VA + HALF)

FIXTURE(entries) {
	struct abi_world world;
	union abi_entry entry;
	struct cmx_cqe cqe;
	__u8 *src;
	__u8 *dst;
	__u8 *expected;
};

FIXTURE_SETUP(entries)
{
	struct abi_random random = { abi_seed() };
	__u64 i;

	ASSERT_EQ(0, abi_world_open(&self->world));
	self->src = self->world.mem.bytes;
	self->dst = self->world.mem.bytes + HALF;
	for (i = 0; i < HALF / 8; i++)
		self->world.mem.words[i] = abi_random(&random);
	self->expected = calloc(1, HALF);
	ASSERT_NE(NULL, self->expected);
}

FIXTURE_TEARDOWN(entries)
{
	free(self->expected);
	abi_world_close(&self->world);
}

#define OPCODE_OR_SKIP(opcode)								\
	do {										\
		if (!(self->world.device.opcodes[(opcode) / 64] >> ((opcode) % 64) & 1))	\
			SKIP(return, "opcode %#x is not carried out", opcode);		\
	} while (0)

/* The entry succeeds and moves @length bytes. */
#define EXPECT_DONE(queue, length)							\
	do {										\
		self->entry.header.user_ctx = ++self->world.scratch[0];			\
		ASSERT_EQ(0, abi_carry_out(&self->world, queue, &self->entry, &self->cqe));	\
		EXPECT_EQ(UB_CR_SUCCESS, self->cqe.status);				\
		EXPECT_EQ(length, self->cqe.len);					\
		EXPECT_EQ(self->entry.header.opcode, self->cqe.opcode);			\
		EXPECT_EQ(self->world.scratch[0], self->cqe.user_ctx);			\
		EXPECT_EQ((queue)->handle, self->cqe.local_id);				\
		EXPECT_EQ(0, self->cqe.flags & ~CMX_CQE_EXTRAPOLATED);			\
		EXPECT_EQ(0, self->cqe.pad);						\
	} while (0)

TEST_F(entries, copy)
{
	static const __u64 cases[][3] = {
		{ 0, 0, 1 }, { 1, 3, 5 }, { 0, 0, 64 }, { 7, 4093, 4099 }, { 4096, 0, 4096 },
		{ 5, 6, 3 * 4096 + 17 }, { 0, 0, HALF },
	};
	unsigned int i;
	__u64 last = 0;

	for (i = 0; i < ABI_ARRAY_SIZE(cases); i++) {
		__u64 to = cases[i][0], from = cases[i][1], len = cases[i][2];

		abi_entry_copy(&self->entry, DST + to, SRC + from, len);
		EXPECT_DONE(&self->world.sdma, len);
		memcpy(self->expected + to, self->src + from, len);
		EXPECT_EQ(0, memcmp(self->expected, self->dst, HALF))
			TH_LOG("case %u", i);
		EXPECT_LT(last, self->cqe.time_ps);
		last = self->cqe.time_ps;
	}
	/* The same class of work on a stream. */
	abi_entry_copy(&self->entry, DST, SRC + 100, 1000);
	EXPECT_DONE(&self->world.stream, 1000);
	EXPECT_EQ(0, memcmp(self->src + 100, self->dst, 1000));
}

/* Source and target overlap: refused, or as if the source were read first. */
TEST_F(entries, copy_overlapping)
{
	static const __s64 shifts[] = { 100, -100, 4096, 3 << 20 };
	__u64 size = 4 << 20, i;
	__u8 *before = malloc(size);
	struct abi_mem mem;
	unsigned int s;

	ASSERT_NE(NULL, before);
	ASSERT_EQ(0, abi_mem_create(self->world.fd, 0, ABI_VA * 2, 3 * size, &mem));
	for (s = 0; s < ABI_ARRAY_SIZE(shifts); s++) {
		__u64 from = size / 2, to = from + shifts[s];

		for (i = 0; i < 3 * size / 8; i++)
			mem.words[i] = i * 0x9e3779b97f4a7c15ULL;
		memcpy(before, mem.bytes + from, size);
		abi_entry_copy(&self->entry, ABI_VA * 2 + to, ABI_VA * 2 + from, size);
		ASSERT_EQ(0, abi_carry_out(&self->world, &self->world.sdma, &self->entry,
					   &self->cqe));
		if (self->cqe.status == UB_CR_SUCCESS) {
			EXPECT_EQ(0, memcmp(before, mem.bytes + to, size))
				TH_LOG("shift %lld", shifts[s]);
			continue;
		}
		EXPECT_EQ(UB_CR_LOC_OPERATION_ERR, self->cqe.status);
		EXPECT_EQ(0, memcmp(before, mem.bytes + from, size));
		ASSERT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->world.cq, 1, NULL));
		ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->cqe));
		ASSERT_EQ(0, abi_queue_state(self->world.fd, self->world.sdma.handle,
					     UB_QUEUE_READY));
	}
	abi_mem_destroy(self->world.fd, &mem);
	free(before);
}

TEST_F(entries, copy_2d)
{
	struct cmx_entry_copy *copy = &self->entry.copy;
	unsigned int row;

	abi_entry_copy(&self->entry, DST + 3, SRC + 1, 100);
	copy->header.opcode = CMX_OP_COPY_2D;
	copy->rows = 17;
	copy->dst_pitch = 128;
	copy->src_pitch = 517;
	EXPECT_DONE(&self->world.sdma, 1700);
	for (row = 0; row < 17; row++)
		memcpy(self->expected + 3 + row * 128, self->src + 1 + row * 517, 100);
	EXPECT_EQ(0, memcmp(self->expected, self->dst, HALF));
	/* A single row, whose pitch does not matter beyond being long enough. */
	copy->rows = 1;
	copy->src_pitch = 100;
	EXPECT_DONE(&self->world.stream, 100);
	EXPECT_EQ(0, memcmp(self->expected, self->dst, HALF));
}

TEST_F(entries, copy_sg)
{
	struct cmx_sg *list = (struct cmx_sg *)(self->dst + HALF - ABI_PAGE);
	__u64 total = 0;
	unsigned int i;

	for (i = 0; i < 40; i++) {
		list[i] = (struct cmx_sg){
			.dst_va = DST + i * 333,
			.src_va = SRC + (39 - i) * 411 + 7,
			.len = 1 + i * 8,
		};
		memcpy(self->expected + i * 333, self->src + (39 - i) * 411 + 7, list[i].len);
		total += list[i].len;
	}
	abi_entry_copy(&self->entry, 0, 0, 0);
	self->entry.header.opcode = CMX_OP_COPY_SG;
	self->entry.copy_sg.list_va = DST + HALF - ABI_PAGE;
	self->entry.copy_sg.count = 40;
	EXPECT_DONE(&self->world.sdma, total);
	EXPECT_EQ(0, memcmp(self->expected, self->dst, HALF - ABI_PAGE));
}

TEST_F(entries, fill)
{
	static const __u32 sizes[] = { 1, 2, 4, 8 };
	__u64 pattern = 0x8877665544332211, i, j;

	for (i = 0; i < ABI_ARRAY_SIZE(sizes); i++) {
		__u64 start = 8 * i + sizes[i], len = 5000 * sizes[i];

		abi_entry_fill(&self->entry, DST + start, len,
			       sizes[i] < 8 ? pattern & ((1ULL << 8 * sizes[i]) - 1) : pattern,
			       sizes[i]);
		EXPECT_DONE(&self->world.sdma, len);
		for (j = 0; j < len; j++)
			self->expected[start + j] = (__u8)(pattern >> 8 * (j % sizes[i]));
		EXPECT_EQ(0, memcmp(self->expected, self->dst, HALF))
			TH_LOG("pattern of %u", sizes[i]);
	}
}

TEST_F(entries, read_write)
{
	abi_entry_rma(&self->entry, UB_OP_WRITE, SRC + 11, DST + 5, 9001);
	EXPECT_DONE(&self->world.ub, 9001);
	EXPECT_EQ(0, memcmp(self->src + 11, self->dst + 5, 9001));
	EXPECT_EQ(0, self->dst[4]);
	EXPECT_EQ(0, self->dst[9006]);
	abi_entry_rma(&self->entry, UB_OP_READ, DST + 20000, SRC + 3, 7777);
	EXPECT_DONE(&self->world.ub, 7777);
	EXPECT_EQ(0, memcmp(self->src + 3, self->dst + 20000, 7777));
}

TEST_F(entries, write_inline)
{
	unsigned int i;

	OPCODE_OR_SKIP(UB_OP_WRITE);
	for (i = 1; i <= self->world.limits.max_inline; i++) {
		abi_entry_rma(&self->entry, UB_OP_WRITE, 0, DST + 64, i);
		self->entry.header.flags |= CMX_ENTRY_INLINE;
		self->entry.header.slots = i > 64 ? 4 : 3;
		memcpy(&self->entry.sgl, self->src + i, i);
		EXPECT_DONE(&self->world.ub, i);
		EXPECT_EQ(0, memcmp(self->src + i, self->dst + 64, i));
		EXPECT_EQ(0, self->dst[64 + i]);
	}
}

TEST_F(entries, gather_scatter)
{
	__u32 n, i;

	for (n = 1; n <= self->world.limits.max_sge; n++) {
		__u64 total = 0;

		abi_entry_rma(&self->entry, UB_OP_WRITE, 0, DST, 0);
		self->entry.header.slots = n > 4 ? 4 : 3;
		self->entry.rma.num_sge = (__u8)n;
		for (i = 0; i < n; i++) {
			self->entry.sgl[i / 4].sge[i % 4] = (struct cmx_sge){
				.va = SRC + 1000 * (n - i) + i,
				.len = 100 + i,
			};
			memcpy(self->expected + total, self->src + 1000 * (n - i) + i, 100 + i);
			total += 100 + i;
		}
		self->entry.rma.len = total;
		EXPECT_DONE(&self->world.ub, total);
		EXPECT_EQ(0, memcmp(self->expected, self->dst, total));
		/* And back, to the same pieces. */
		memset(self->src, 0, HALF);
		self->entry.header.opcode = UB_OP_READ;
		EXPECT_DONE(&self->world.ub, total);
		for (i = 0, total = 0; i < n; total += 100 + i, i++)
			EXPECT_EQ(0, memcmp(self->expected + total,
					    self->src + 1000 * (n - i) + i, 100 + i));
		for (i = 0; i < HALF; i++)
			self->src[i] = (__u8)(i * 7 + n);
	}
}

TEST_F(entries, write_notify)
{
	OPCODE_OR_SKIP(UB_OP_WRITE_NOTIFY);
	abi_entry_rma(&self->entry, UB_OP_WRITE_NOTIFY, SRC, DST, 500);
	self->entry.header.slots = 2;
	self->entry.rma.value = 0xfeedfacecafef00d;
	self->entry.ext.notify_va = DST + 1024;
	EXPECT_DONE(&self->world.ub, 500);
	EXPECT_EQ(0, memcmp(self->src, self->dst, 500));
	EXPECT_EQ(0xfeedfacecafef00d, *(__u64 *)(self->dst + 1024));
}

static __u64 atomic_result(__u8 opcode, __u64 old, __u64 value, __u64 compare)
{
	switch (opcode) {
	case UB_OP_CAS:
		return old == compare ? value : old;
	case UB_OP_SWAP:
		return value;
	case UB_OP_FADD:
		return old + value;
	case UB_OP_FSUB:
		return old - value;
	case UB_OP_FAND:
		return old & value;
	case UB_OP_FOR:
		return old | value;
	default:
		return old ^ value;
	}
}

TEST_F(entries, atomics)
{
	static const __u8 opcodes[] = { UB_OP_CAS, UB_OP_CAS, UB_OP_SWAP, UB_OP_FADD, UB_OP_FSUB,
					UB_OP_FAND, UB_OP_FOR, UB_OP_FXOR };
	__u64 *words = (__u64 *)self->dst, size, mask, old, result;
	unsigned int i;

	for (size = 4; size <= 8; size += 4) {
		mask = size == 8 ? ~0ULL : 0xffffffff;
		for (i = 0; i < ABI_ARRAY_SIZE(opcodes); i++) {
			words[0] = 0xfffffffffffffff0;
			words[1] = 0x0123456789abcdef;
			words[4] = 0;
			old = words[1] & mask;
			abi_entry_rma(&self->entry, opcodes[i], DST + 32, DST + 8, size);
			self->entry.header.slots = 2;
			self->entry.rma.value = 0xf0f0f0f0f0f0f0f1 & mask;
			if (opcodes[i] == UB_OP_CAS)
				self->entry.ext.compare = i ? old : old + 1;
			EXPECT_DONE(&self->world.ub, size);
			result = atomic_result(opcodes[i], old, self->entry.rma.value,
					       self->entry.ext.compare) & mask;
			EXPECT_EQ(result, words[1] & mask)
				TH_LOG("opcode %#x of %llu bytes", opcodes[i], size);
			EXPECT_EQ(0x0123456789abcdef & ~mask, words[1] & ~mask);
			EXPECT_EQ(old, words[4]);
			EXPECT_EQ(old, self->cqe.imm);
		}
	}
	/* Without a place for the old value it is in the completion alone. */
	words[1] = 5;
	abi_entry_rma(&self->entry, UB_OP_FADD, 0, DST + 8, 8);
	self->entry.rma.value = 1;
	EXPECT_DONE(&self->world.ub, 8);
	EXPECT_EQ(6, words[1]);
	EXPECT_EQ(5, self->cqe.imm);
}

/* Conditions that hold when issued; and the same that a signal makes true. */
TEST_F(entries, wait_and_signal)
{
	static const struct { __u32 cond; __u64 no, yes, value; } cases[] = {
		{ CMX_COND_EQ, 1, 2, 2 }, { CMX_COND_NE, 2, 3, 2 }, { CMX_COND_GE, 1, 2, 2 },
		{ CMX_COND_GT, 2, 3, 2 }, { CMX_COND_GE, 1ULL << 63, 1, 0 },
		{ CMX_COND_GT, ~0ULL, 1, 0 }, { CMX_COND_GE, ~0ULL - 1, 4, ~0ULL },
		{ CMX_COND_EQ, 0, ~0ULL, ~0ULL },
	};
	__u64 *flag = (__u64 *)self->dst;
	struct cmx_cqe first, second;
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(cases); i++) {
		*flag = cases[i].yes;
		abi_entry_wait(&self->entry, DST, cases[i].cond, cases[i].value);
		EXPECT_DONE(&self->world.stream, 0);
		*flag = cases[i].no;
		ASSERT_EQ(0, abi_submit(&self->world, &self->world.stream, &self->entry));
		abi_entry_signal(&self->entry, DST, CMX_SIGNAL_SET, cases[i].yes);
		ASSERT_EQ(0, abi_submit(&self->world, &self->world.sdma, &self->entry));
		ASSERT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->world.cq, 2, NULL))
			TH_LOG("case %u", i);
		ASSERT_TRUE(abi_cqe_take(&self->world.cq, &first));
		ASSERT_TRUE(abi_cqe_take(&self->world.cq, &second));
		EXPECT_EQ(CMX_OP_SIGNAL, first.opcode);
		EXPECT_EQ(CMX_OP_WAIT, second.opcode);
		EXPECT_GE(second.time_ps, first.time_ps);
		EXPECT_EQ(cases[i].yes, *flag);
	}
}

TEST_F(entries, signal_add)
{
	__u64 *flag = (__u64 *)self->dst;

	*flag = 40;
	abi_entry_signal(&self->entry, DST, CMX_SIGNAL_ADD, 2);
	EXPECT_DONE(&self->world.stream, 8);
	EXPECT_EQ(42, *flag);
	abi_entry_signal(&self->entry, DST, CMX_SIGNAL_ADD, -43);
	EXPECT_DONE(&self->world.ub, 8);
	EXPECT_EQ(~0ULL, *flag);
}

/* Any device write that overlaps the 8 bytes is seen. */
TEST_F(entries, wait_sees_every_write)
{
	__u64 *words = (__u64 *)self->dst;
	union abi_entry wakers[5];
	unsigned int i;

	abi_entry_copy(&wakers[0], DST + 7, SRC + 8, 1);
	abi_entry_fill(&wakers[1], DST - 64, 72, 0x55, 1);
	abi_entry_rma(&wakers[2], UB_OP_WRITE, SRC, DST + 4, 4);
	abi_entry_rma(&wakers[3], UB_OP_READ, DST, SRC, 8);
	abi_entry_rma(&wakers[4], UB_OP_FOR, 0, DST + 4, 4);
	wakers[4].rma.value = 0x100;
	memset(self->src, 0x77, 64);
	for (i = 0; i < ABI_ARRAY_SIZE(wakers); i++) {
		struct abi_ring *queue = i < 2 ? &self->world.sdma : &self->world.ub;

		words[0] = 0;
		abi_entry_wait(&self->entry, DST, CMX_COND_NE, 0);
		ASSERT_EQ(0, abi_submit(&self->world, &self->world.stream, &self->entry));
		ASSERT_EQ(0, abi_submit(&self->world, queue, &wakers[i]));
		ASSERT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->world.cq, 2, NULL))
			TH_LOG("waker %u", i);
		while (abi_cqe_take(&self->world.cq, &self->cqe))
			EXPECT_EQ(UB_CR_SUCCESS, self->cqe.status);
	}
}

TEST_F(entries, timestamp)
{
	__u64 *words = (__u64 *)self->dst, first;

	abi_entry_sync(&self->entry, CMX_OP_TIMESTAMP, DST);
	EXPECT_DONE(&self->world.stream, self->cqe.len);
	first = words[0];
	EXPECT_GE(self->cqe.time_ps, first);
	abi_entry_copy(&self->entry, DST + 64, SRC, 10000);
	EXPECT_DONE(&self->world.stream, 10000);
	abi_entry_sync(&self->entry, CMX_OP_TIMESTAMP, DST + 8);
	EXPECT_DONE(&self->world.stream, self->cqe.len);
	EXPECT_GT(words[1], first);
	EXPECT_EQ(self->world.clock.status->now_ps, self->cqe.time_ps);
}

/* Takes what it says, to the picosecond, and what is behind it waits. */
TEST_F(entries, delay)
{
	__u64 start = self->world.clock.status->now_ps;

	abi_entry_sync(&self->entry, CMX_OP_DELAY, 0);
	self->entry.delay.ps = 123456789;
	EXPECT_DONE(&self->world.stream, 0);
	EXPECT_EQ(start + 123456789, self->cqe.time_ps);
	EXPECT_EQ(start + 123456789, self->world.clock.status->now_ps);
	self->entry.delay.ps = 0;
	EXPECT_DONE(&self->world.ub, 0);
	EXPECT_EQ(start + 123456789, self->cqe.time_ps);
}

/* A barrier behind overlapping copies is as late as the last of them. */
TEST_F(entries, overlap_and_barrier)
{
	struct cmx_cqe cqe[5];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		abi_entry_copy(&self->entry, DST + i * 8192, SRC + i * 8192, 8192);
		self->entry.header.flags |= CMX_ENTRY_OVERLAP;
		self->entry.header.user_ctx = i;
		ASSERT_TRUE(abi_post(&self->world.sdma, &self->entry));
	}
	abi_entry_sync(&self->entry, CMX_OP_BARRIER, 0);
	self->entry.header.user_ctx = 4;
	ASSERT_EQ(0, abi_submit(&self->world, &self->world.sdma, &self->entry));
	ASSERT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->world.cq, 5, NULL));
	for (i = 0; i < 5; i++) {
		ASSERT_TRUE(abi_cqe_take(&self->world.cq, &cqe[i]));
		EXPECT_EQ(UB_CR_SUCCESS, cqe[i].status);
		if (i)
			EXPECT_GE(cqe[i].time_ps, cqe[i - 1].time_ps);
	}
	EXPECT_EQ(CMX_OP_BARRIER, cqe[4].opcode);
	EXPECT_EQ(0, memcmp(self->src, self->dst, 4 * 8192));
}

/* Entries whose completion was not asked for give none. */
TEST_F(entries, unsignalled)
{
	unsigned int i;

	for (i = 0; i < 20; i++) {
		abi_entry_copy(&self->entry, DST + i * 64, SRC + i * 64, 64);
		self->entry.header.flags = 0;
		ASSERT_TRUE(abi_post(&self->world.sdma, &self->entry));
	}
	ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &self->world.sdma));
	ASSERT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
	EXPECT_EQ(0, abi_cq_ready(&self->world.cq));
	EXPECT_EQ(0, memcmp(self->src, self->dst, 20 * 64));
}

TEST_F(entries, nop_and_flags)
{
	abi_entry_sync(&self->entry, UB_OP_NOP, 0);
	EXPECT_DONE(&self->world.ub, 0);
	self->entry.header.flags |= CMX_ENTRY_FENCE | CMX_ENTRY_COMP_ORDER;
	EXPECT_DONE(&self->world.ub, 0);
}

/* The ring is used many times over with entries of all sizes. */
TEST_F(entries, wraps)
{
	unsigned int i;

	for (i = 0; i < 300; i++) {
		abi_entry_rma(&self->entry, UB_OP_WRITE, 0, DST + i, 1 + i % 64);
		self->entry.header.flags |= CMX_ENTRY_INLINE;
		self->entry.header.slots = i & 1 ? 3 : 4;
		memcpy(&self->entry.sgl, self->src + i, 1 + i % 64);
		EXPECT_DONE(&self->world.ub, 1 + i % 64U);
		EXPECT_EQ(0, memcmp(self->src + i, self->dst + i, 1 + i % 64));
	}
}

/* NO_DATA memory: reads give zeros, writes are dropped, in the time of real ones. */
TEST_F(entries, no_data)
{
	__u64 va = ABI_VA * 8, start, real;
	__u32 handle;

	ASSERT_EQ(0, abi_bo(self->world.fd, 0, HALF, CMX_BO_NO_DATA, &handle));
	ASSERT_EQ(0, abi_map_va(self->world.fd, handle, va, HALF, CMX_MAP_FLAGS));
	start = self->world.clock.status->now_ps;
	abi_entry_copy(&self->entry, DST, SRC, 4096);
	EXPECT_DONE(&self->world.sdma, 4096);
	real = self->cqe.time_ps - start;
	abi_entry_copy(&self->entry, va, SRC, 4096);
	start = self->cqe.time_ps;
	EXPECT_DONE(&self->world.sdma, 4096);
	EXPECT_EQ(real, self->cqe.time_ps - start);
	memset(self->dst, 0xff, 8192);
	abi_entry_copy(&self->entry, DST, va, 4096);
	start = self->cqe.time_ps;
	EXPECT_DONE(&self->world.sdma, 4096);
	EXPECT_EQ(real, self->cqe.time_ps - start);
	EXPECT_EQ(0, memcmp(self->expected, self->dst, 4096));
	EXPECT_EQ(0xff, self->dst[4096]);
}

/* Memory of another die and of a socket. */
TEST_F(entries, peers)
{
	__u32 dies[] = { 1, self->world.device.num_dies - 1, self->world.device.num_dies,
			 self->world.device.num_entities - 1 };
	struct abi_mem peer;
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(dies); i++) {
		ASSERT_EQ(0, abi_mem_create(self->world.fd, dies[i], ABI_VA * 4, 2 * ABI_PAGE,
					    &peer));
		abi_entry_copy(&self->entry, ABI_VA * 4 + 9, SRC + i, 5000);
		EXPECT_DONE(&self->world.sdma, 5000);
		EXPECT_EQ(0, memcmp(self->src + i, peer.bytes + 9, 5000));
		abi_entry_rma(&self->entry, UB_OP_READ, DST, ABI_VA * 4 + 9, 5000);
		EXPECT_DONE(&self->world.ub, 5000);
		EXPECT_EQ(0, memcmp(self->src + i, self->dst, 5000));
		abi_mem_destroy(self->world.fd, &peer);
	}
}

TEST_HARNESS_MAIN
