// SPDX-License-Identifier: GPL-2.0-only
/*
 * The fabric's times: the published ones, and what comes of sharing.  Needs two nodes.
 */
#include <kselftest_harness.h>

#include "haul.h"

#define SLICE		(256u << 10)

FIXTURE(fabric)
{
	struct haul h;
};

FIXTURE_SETUP(fabric)
{
	OK(haul_open(&self->h));
	if (self->h.nodes != 2)
		SKIP(return, "%u nodes, not 2", self->h.nodes);
}

FIXTURE_TEARDOWN(fabric)
{
	haul_close(&self->h);
}

/* ---------------------------------------------------------------- published figures */

/** struct row - Table 1 of the paper: GB/s, and ns of 512 bytes. */
struct row {
	bool socket, write;
	uint32_t rate[2], ns[2];
};

static const struct row table[] = {
	{ false, false, { 167, 164 }, { 1200, 1900 } },
	{ false, true, { 137, 135 }, { 1300, 2100 } },
	{ true, false, { 151, 147 }, { 1000, 1700 } },
	{ true, true, { 110, 107 }, { 1100, 1900 } },
};

static struct job row_job(const struct haul *h, const struct row *row, uint32_t node,
			  uint64_t bytes)
{
	return (struct job){
		.entity = haul_die(h, 0, 0),
		.peer = row->socket ? haul_socket(h, node, 1) : haul_die(h, node, 5),
		.bytes = bytes,
		.write = row->write,
	};
}

TEST_F(fabric, table_bandwidth)
{
	for (uint32_t i = 0; i < 8; i++) {
		const struct row *row = &table[i / 2];
		struct job job = row_job(&self->h, row, i % 2, LARGE);
		uint64_t took;

		OK(haul_run_one(&self->h, &job, &took));
		EXPECT_NEAR(i, 30, row->rate[i % 2] * GB, time_of(LARGE, took));
		/* Alone, all of it takes what its slowest part does, and the latency. */
		EXPECT_NEAR(i, 1, took, time_of(LARGE, row->rate[0] * GB * (i % 2 ? 978 : 1000) /
					     1000) + row->ns[i % 2] * NS);
	}
}

TEST_F(fabric, table_latency)
{
	for (uint32_t i = 0; i < 8; i++) {
		const struct row *row = &table[i / 2];
		struct job job = row_job(&self->h, row, i % 2, 512);
		uint64_t took;

		OK(haul_run_one(&self->h, &job, &took));
		EXPECT_NEAR(i, 1, row->ns[i % 2] * NS, took);
	}
}

TEST_F(fabric, other_ways)
{
	static const struct {
		uint32_t from, to, planes;
		bool socket;
		uint64_t rate, latency;
	} ways[] = {
		{ 0, 1, 0, false, 270 * GB, 600 * NS },		/* dies of an NPU */
		{ 0, 1, 0x7f, false, 167 * GB, 1200 * NS },	/* the same over UB */
		{ 0, 0, 0, false, 800 * GB, 200 * NS },		/* own memory, twice */
		{ 0, 9, CMX_PLANE_BIT_RDMA, false, 25 * GB, 2000 * NS },
		{ 0, 3, CMX_PLANE_BIT_VPC, true, 50 * GB, 10000 * NS },
		{ 0, 4, 1, false, LINK, 1200 * NS },		/* one plane */
		{ 0, 4, 0x70, false, 3 * LINK, 1200 * NS },	/* three */
	};

	for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct job job = {
			.entity = ways[i].socket ? haul_socket(&self->h, 0, 0) : ways[i].from,
			.peer = ways[i].socket ? haul_socket(&self->h, 1, 1) : ways[i].to,
			.planes = ways[i].planes,
			.bytes = LARGE,
		};
		uint64_t took;

		OK(haul_run_one(&self->h, &job, &took));
		EXPECT_NEAR(i, 1, time_of(LARGE, ways[i].rate) + ways[i].latency, took);
	}
}

/* ------------------------------------------------------------------------- sharing */

TEST_F(fabric, two_readers_of_a_socket)
{
	struct job jobs[2] = {
		{ .entity = haul_die(&self->h, 0, 0),
		  .peer = haul_socket(&self->h, 0, 0), .bytes = LARGE },
		{ .entity = haul_die(&self->h, 1, 7),
		  .peer = haul_socket(&self->h, 0, 0), .bytes = LARGE },
	};

	OK(haul_run(&self->h, jobs, 2));
	for (int i = 0; i < 2; i++)
		EXPECT_NEAR(i, 15, time_of(2 * LARGE, SOCKET_PORT), self->h.took[i]);
}

TEST_F(fabric, incast)
{
	for (uint32_t n = 2; n <= 16; n += 7) {
		struct job jobs[16];

		for (uint32_t i = 0; i < n; i++)
			jobs[i] = (struct job){ .entity = haul_die(&self->h, 0, i), .write = true,
						.peer = haul_die(&self->h, 1, 3), .bytes = LARGE };
		OK(haul_run(&self->h, jobs, n));
		/* The port of the one who receives sets the pace of all, in equal shares. */
		for (uint32_t i = 0; i < n; i++)
			EXPECT_NEAR(i, 15, time_of(n * LARGE, DIE_PORT * 978 / 1000),
				    self->h.took[i]);
	}
}

TEST_F(fabric, outcast)
{
	struct job jobs[12];

	for (uint32_t i = 0; i < 12; i++)
		jobs[i] = (struct job){ .entity = haul_die(&self->h, 0, 0), .write = true,
					.peer = haul_die(&self->h, 0, 2 + i), .bytes = LARGE };
	OK(haul_run(&self->h, jobs, 12));
	for (uint32_t i = 0; i < 12; i++)
		EXPECT_NEAR(i, 15, time_of(12 * LARGE, 137 * GB), self->h.took[i]);
}

/* Both directions of a port, and both engines, work side by side. */
TEST_F(fabric, two_sided)
{
	struct job jobs[4] = {
		{ .entity = haul_die(&self->h, 0, 0),
		  .peer = haul_die(&self->h, 0, 2), .bytes = LARGE },
		{ .entity = haul_die(&self->h, 0, 2),
		  .peer = haul_die(&self->h, 0, 0), .bytes = LARGE },
		{ .entity = haul_die(&self->h, 0, 4),
		  .peer = haul_die(&self->h, 0, 6), .bytes = LARGE },
		{ .entity = haul_die(&self->h, 0, 4),
		  .peer = haul_die(&self->h, 0, 8), .bytes = LARGE,
		  .write = true },
	};

	OK(haul_run(&self->h, jobs, 4));
	for (uint32_t i = 0; i < 3; i++)
		EXPECT_NEAR(i, 5, time_of(LARGE, 167 * GB) + 1200 * NS, self->h.took[i]);
	EXPECT_NEAR(3, 5, time_of(LARGE, 137 * GB) + 1300 * NS, self->h.took[3]);
}

/* All dies of a node read the other's: the trunk is as wide as their ports, just so. */
TEST_F(fabric, node_uplink)
{
	struct job jobs[20];
	uint64_t last = 0;

	for (uint32_t i = 0; i < 16; i++)
		jobs[i] = (struct job){ .entity = haul_die(&self->h, 0, i),
					.peer = haul_die(&self->h, 1, i),
					.bytes = LARGE };
	OK(haul_run(&self->h, jobs, 16));
	for (uint32_t i = 0; i < 16; i++)
		EXPECT_NEAR(i, 5, time_of(LARGE, 167 * GB * 978 / 1000) + 1900 * NS,
			    self->h.took[i]);
	/* With writes into the dies and all sockets' traffic on top it is not. */
	for (uint32_t i = 0; i < 16; i++)
		jobs[i] = (struct job){ .entity = haul_die(&self->h, 1, i),
					.peer = haul_die(&self->h, 0, i),
					.bytes = LARGE, .planes = 1 };
	for (uint32_t i = 16; i < 20; i++)
		jobs[i] = (struct job){ .entity = haul_socket(&self->h, 1, i - 16), .bytes = LARGE,
					.peer = haul_socket(&self->h, 0, i - 16), .planes = 1 };
	OK(haul_run(&self->h, jobs, 20));
	for (uint32_t i = 0; i < 20; i++)
		last = self->h.took[i] > last ? self->h.took[i] : last;
	EXPECT_NEAR(0, 15, time_of(20 * LARGE, 16 * LINK * 978 / 1000), last);
}

TEST_F(fabric, small_beside_large)
{
	struct job jobs[2] = {
		{ .entity = haul_die(&self->h, 0, 0),
		  .peer = haul_die(&self->h, 0, 2), .write = true,
		  .bytes = 1024 * MIB },
		{ .entity = haul_die(&self->h, 0, 0),
		  .peer = haul_die(&self->h, 0, 2), .write = true,
		  .bytes = 512 },
	};

	OK(haul_run(&self->h, jobs, 2));
	EXPECT_LE(self->h.took[1], 1300 * NS + 3 * time_of(SLICE, 137 * GB));
	EXPECT_NEAR(0, 1, time_of(1024 * MIB, 137 * GB) + 1300 * NS, self->h.took[0]);
}

/* Sixteen dies read a socket's pool: the port, shared. */
TEST_F(fabric, pool)
{
	struct job jobs[16];

	for (uint32_t i = 0; i < 16; i++)
		jobs[i] = (struct job){ .entity = haul_die(&self->h, 0, i), .bytes = LARGE,
					.peer = haul_socket(&self->h, i % 2, i % 4) };
	OK(haul_run(&self->h, jobs, 16));
	/* Four of them read sockets 0 and 2 here, four 1 and 3 of the other node. */
	for (uint32_t i = 0; i < 16; i++)
		EXPECT_NEAR(i, 20, time_of(4 * LARGE, SOCKET_PORT * (i % 2 ? 978 : 1000) / 1000),
			    self->h.took[i]);
}

/* ----------------------------------------------------------------------- commands */

static uint64_t delay_of(struct haul *h, struct cmx_queue *q, uint64_t ps)
{
	uint64_t start = haul_now(h);

	if (cmx_queue_delay(q, ps, CMX_ENTRY_COMPLETE, 0) || cmx_queue_submit(q) ||
	    haul_read(h, start, 1))
		return ~0ull;
	return h->took[0];
}

TEST_F(fabric, delay)
{
	static const uint64_t ps[] = { 0, 1, 12345678, PS_PER_S, 1ull << 62 };
	struct cmx_queue_desc desc = {
		.timeline = self->h.clock,
		.cq = self->h.cq,
		.queue_class = CMX_QUEUE_UB,
	};
	struct cmx_queue *q;

	OK(cmx_queue_create(self->h.ctx, &desc, &q));
	for (uint32_t i = 0; i < 5; i++) {
		EXPECT_EQ(ps[i], delay_of(&self->h, q, ps[i]));
		EXPECT_EQ(0, self->h.status[0]);
	}
	delay_of(&self->h, q, 1ull << 63);
	EXPECT_EQ(0, self->h.status[0]);
	delay_of(&self->h, q, 1ull << 63);
	EXPECT_EQ(CMX_CR_TIME_OVERFLOW, self->h.status[0]);
}

/* A copy engine fetches its descriptor first, and no faster one after another. */
TEST_F(fabric, descriptors)
{
	static const uint64_t gap[] = { 100 * NS, 1600 * NS }, first[] = { 0, 1600 * NS };

	for (uint32_t class = CMX_QUEUE_STREAM; class <= CMX_QUEUE_SDMA; class++) {
		struct cmx_queue_desc desc = {
			.timeline = self->h.clock,
			.cq = self->h.cq,
			.queue_class = class,
		};
		struct cmx_mem *from, *to;
		struct cmx_queue *q;
		uint64_t start;

		OK(cmx_queue_create(self->h.ctx, &desc, &q));
		OK(cmx_mem_alloc(self->h.ctx, 0, MIB, CMX_MEM_NO_DATA, &from));
		OK(cmx_mem_alloc(self->h.ctx, 2, MIB, CMX_MEM_NO_DATA, &to));
		for (uint32_t i = 0; i < 8; i++)
			OK(cmx_queue_copy(q, cmx_mem_va(to), cmx_mem_va(from), 512,
					  CMX_ENTRY_COMPLETE | CMX_ENTRY_OVERLAP, i));
		start = haul_now(&self->h);
		OK(cmx_queue_submit(q));
		OK(haul_read(&self->h, start, 8));
		for (uint32_t i = 0; i < 8; i++)
			EXPECT_NEAR(i, 1, first[class] + 1300 * NS + i * gap[class],
				    self->h.took[i]);
	}
}

/* A list of pieces for several dies goes out one after another. */
TEST_F(fabric, legs)
{
	struct cmx_queue_desc desc = {
		.timeline = self->h.clock,
		.cq = self->h.cq,
		.queue_class = CMX_QUEUE_STREAM,
	};
	struct cmx_mem *list, *from, *to;
	struct cmx_queue *q;
	struct cmx_sg *sg;
	uint64_t start;

	OK(cmx_queue_create(self->h.ctx, &desc, &q));
	OK(cmx_mem_alloc(self->h.ctx, 0, MIB, 0, &list));
	OK(cmx_mem_alloc(self->h.ctx, 0, LARGE, CMX_MEM_NO_DATA, &from));
	sg = cmx_mem_ptr(list);
	for (uint32_t i = 0; i < 12; i++) {
		OK(cmx_mem_alloc(self->h.ctx, 2 + i, LARGE, CMX_MEM_NO_DATA, &to));
		sg[i] = (struct cmx_sg){ .dst_va = cmx_mem_va(to), .src_va = cmx_mem_va(from),
					 .len = 4 * MIB };
	}
	OK(cmx_queue_copy_sg(q, cmx_mem_va(list), 12, CMX_ENTRY_COMPLETE, 0));
	start = haul_now(&self->h);
	OK(cmx_queue_submit(q));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(0, self->h.status[0]);
	EXPECT_NEAR(0, 1, time_of(12 * 4 * MIB, 137 * GB) + 1300 * NS, self->h.took[0]);
}

/* More than the die's engine can store in the time of the launch: nothing of it is lost. */
TEST_F(fabric, records)
{
	struct cmx_queue_desc desc = {
		.timeline = self->h.clock,
		.cq = self->h.cq,
		.queue_class = CMX_QUEUE_STREAM,
	};
	struct cmx_launch_desc launch = { .grid = 1, .launch_flags = CMX_LAUNCH_TIME_ONLY };
	struct cmx_wait_opts opts = { .timeline = self->h.clock };
	struct cmx_mem *list, *from, *to;
	struct cmx_record *r;
	struct cmx_queue *q;
	uint64_t start, word;

	OK(cmx_queue_create(self->h.ctx, &desc, &q));
	OK(cmx_mem_alloc(self->h.ctx, 0, MIB, 0, &list));
	OK(cmx_mem_alloc(self->h.ctx, 0, MIB, CMX_MEM_NO_DATA, &from));
	word = cmx_mem_va(list) + 65536;
	r = cmx_mem_ptr(list);
	for (uint32_t i = 0; i < 12; i++) {
		OK(cmx_mem_alloc(self->h.ctx, 2 + i, MIB, CMX_MEM_NO_DATA, &to));
		r[i] = (struct cmx_record){ .opcode = UB_OP_WRITE, .messages = 1, .len = MIB,
					    .va = cmx_mem_va(to), .src_va = cmx_mem_va(from) };
	}
	r[12] = (struct cmx_record){ .opcode = UB_OP_FADD, .messages = 1, .len = 8, .va = word,
				     .value = 1 };
	launch.record_va = cmx_mem_va(list);
	launch.record_count = 13;
	start = haul_now(&self->h);
	OK(cmx_queue_launch(q, &launch, CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_submit(q));
	OK(haul_read(&self->h, start, 1));
	EXPECT_EQ(0, self->h.status[0]);
	/* The last one's first slice has entered; the others of the twelve come behind. */
	EXPECT_LE(time_of(12 * SLICE, 137 * GB), self->h.took[0]);
	OK(cmx_wait_memory(self->h.ctx, word, CMX_COND_EQ, 1, &opts));
	OK(cmx_wait_idle(self->h.ctx, &opts));
	EXPECT_LE(self->h.took[0], haul_now(&self->h) - start);
}

/* What overlaps completes in order, whatever way it goes. */
TEST_F(fabric, completions_in_order)
{
	struct cmx_queue_desc desc = {
		.timeline = self->h.clock,
		.cq = self->h.cq,
		.queue_class = CMX_QUEUE_UB,
	};
	uint64_t sizes[] = { LARGE, 512, 8 * MIB, 512, 512 }, start;
	struct cmx_mem *own, *other;
	struct cmx_queue *q;

	OK(cmx_queue_create(self->h.ctx, &desc, &q));
	OK(cmx_mem_alloc(self->h.ctx, 0, LARGE, CMX_MEM_NO_DATA, &own));
	for (uint32_t i = 0; i < 5; i++) {
		OK(cmx_mem_alloc(self->h.ctx, 2 + 6 * i, LARGE, CMX_MEM_NO_DATA, &other));
		OK(cmx_queue_write(q, cmx_mem_va(other), cmx_mem_va(own), sizes[i],
				   CMX_ENTRY_COMPLETE | CMX_ENTRY_OVERLAP, i));
	}
	OK(cmx_queue_barrier(q, CMX_ENTRY_COMPLETE, 5));
	start = haul_now(&self->h);
	OK(cmx_queue_submit(q));
	OK(haul_read(&self->h, start, 6));
	for (uint32_t i = 1; i < 6; i++)
		EXPECT_LE(self->h.took[i - 1], self->h.took[i]);
	EXPECT_EQ(self->h.took[4], self->h.took[5]);
	EXPECT_LT(self->h.took[0], time_of(LARGE + 8 * MIB, 137 * GB) + 2 * 1300 * NS);
}

/* ------------------------------------------------------------------------- refusals */

TEST_F(fabric, bad_planes)
{
	const struct {
		uint32_t entity, planes;
	} bad[] = {
		{ 0, 0x80 }, { 0, 1u << 31 }, { 0, CMX_PLANE_BIT_VPC },
		{ self->h.dies, CMX_PLANE_BIT_RDMA }, { 0, CMX_PLANE_BIT_RDMA | 1 },
		{ self->h.dies, CMX_PLANE_BIT_VPC | 2 },
		{ 0, CMX_PLANE_BIT_RDMA | CMX_PLANE_BIT_VPC },
	};
	struct cmx_queue *q;

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cmx_queue_desc desc = {
			.timeline = self->h.clock,
			.cq = self->h.cq,
			.queue_class = CMX_QUEUE_UB,
			.entity = bad[i].entity,
			.planes = bad[i].planes,
		};

		EXPECT_EQ(-EINVAL, cmx_queue_create(self->h.ctx, &desc, &q))
			TH_LOG("planes %#x on %u", bad[i].planes, bad[i].entity);
		EXPECT_STREQ("planes", cmx_last_error()->field);
	}
}

/* A plane that only one end is on. */
TEST_F(fabric, end_off_plane)
{
	struct job jobs[2] = {
		{ .entity = 0, .peer = self->h.dies, .bytes = 512, .planes = CMX_PLANE_BIT_RDMA },
		{ .entity = self->h.dies, .peer = 0, .bytes = 512, .planes = CMX_PLANE_BIT_VPC },
	};

	OK(haul_run(&self->h, jobs, 2));
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(UB_CR_LOC_OPERATION_ERR, self->h.status[i]);
}

TEST_HARNESS_MAIN
