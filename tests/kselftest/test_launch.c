// SPDX-License-Identifier: GPL-2.0-only
/* Launches: time only and executed, batches and chains, outcomes, records, bounds. */
#include <errno.h>

#include "kselftest_harness.h"

#include "cmx_run.h"

#define SRC	ABI_VA
#define DST	(ABI_VA + ABI_WORLD_PAGES / 2 * ABI_PAGE)
#define NO_VA	(ABI_VA * 5)

FIXTURE(launch) {
	struct abi_world world;
	union abi_entry entry;
	struct abi_runner runner;
	struct cmx_cqe cqe;
	/* What the execute functions below look at and return. */
	struct cmx_record records[16];
	__u32 num_records;
	__u32 fail_at;
	__u32 bad;
	__u64 seen[64];
	__u32 num_seen;
	__u64 vector_ops;
};

FIXTURE_SETUP(launch)
{
	ASSERT_EQ(0, abi_world_open(&self->world));
	memset(&self->runner, 0, sizeof(self->runner));
	self->runner.data = self;
}

FIXTURE_TEARDOWN(launch)
{
	abi_world_close(&self->world);
}

/* Runs until @n completions; leaves the first in self->cqe. */
static int run_for(FIXTURE_DATA(launch) *self, __u32 n)
{
	int ret = abi_kick(self->world.fd, &self->world.clock, &self->world.stream);

	if (!ret)
		ret = abi_run_cq(self->world.fd, &self->world.cq, n, &self->runner);
	if (ret != CMX_RUN_DONE)
		return ret < 0 ? ret : -EPROTO;
	return abi_cqe_take(&self->world.cq, &self->cqe) ? 0 : -ENODATA;
}

/* One launch: its duration, or 0 with the completion to look at. */
static __u64 duration(FIXTURE_DATA(launch) *self)
{
	__u64 start = self->world.clock.status->now_ps;

	abi_post(&self->world.stream, &self->entry);
	if (run_for(self, 1) || self->cqe.status)
		return 0;
	return self->cqe.time_ps - start;
}

/* After a failure: drops what comes until the marker, and goes on. */
static int recover(FIXTURE_DATA(launch) *self)
{
	struct cmx_cqe cqe = { 0 };

	while (!(cqe.flags & CMX_CQE_MARKER)) {
		if (abi_cqe_take(&self->world.cq, &cqe))
			continue;
		if (abi_run_cq(self->world.fd, &self->world.cq, 1, &self->runner) != CMX_RUN_DONE)
			return -EPROTO;
	}
	return abi_queue_state(self->world.fd, self->world.stream.handle, UB_QUEUE_READY);
}

/* Executed or not, the same cost takes the same time; more of it takes longer. */
TEST_F(launch, duration)
{
	static const __u64 ops[] = { 0, 1000, 1000000000, 50000000000 };
	__u64 executed, time_only, last = 0;
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(ops); i++) {
		abi_entry_launch(&self->entry, 7, ops[i]);
		executed = duration(self);
		self->entry.launch.launch_flags = CMX_LAUNCH_TIME_ONLY;
		time_only = duration(self);
		EXPECT_NE(0, executed);
		EXPECT_EQ(executed, time_only);
		EXPECT_GE(executed, last);
		last = executed;
	}
	EXPECT_EQ(ABI_ARRAY_SIZE(ops), self->runner.launched);
	/* Each resource counts, and half the cores take longer. */
	abi_entry_launch(&self->entry, 7, 0);
	self->entry.launch.cost.mem_bytes = 1ULL << 32;
	EXPECT_GT(duration(self), last / 1000);
	abi_entry_launch(&self->entry, 7, 0);
	self->entry.launch.cost.cube_ops = 1ULL << 50;
	EXPECT_GT(duration(self), last);
}

/* A fixed time is added to whatever the launch does, to the picosecond, as large as it can be. */
TEST_F(launch, fixed_time)
{
	static const __u64 ops[] = { 0, 1000000000 };
	static const __u32 fixed[] = { 1, 2500, 1000000, ~0U };
	unsigned int i, j, flags;
	__u64 plain;

	ASSERT_NE(0, self->world.device.caps & CMX_CAP_FIXED_COST);
	for (i = 0; i < ABI_ARRAY_SIZE(ops); i++) {
		for (flags = 0; flags <= CMX_LAUNCH_TIME_ONLY; flags += CMX_LAUNCH_TIME_ONLY) {
			abi_entry_launch(&self->entry, 7, ops[i]);
			self->entry.launch.launch_flags = flags;
			self->entry.launch.cost.mem_bytes = 1 << 20;
			plain = duration(self);
			EXPECT_NE(0, plain);
			for (j = 0; j < ABI_ARRAY_SIZE(fixed); j++) {
				self->entry.launch.cost.fixed_ns = fixed[j];
				EXPECT_EQ(plain + 1000ULL * fixed[j], duration(self));
			}
		}
	}
}

static void takes_longer(struct abi_runner *runner, const struct drm_cmx_launch *launch,
			 struct drm_cmx_outcome *outcome)
{
	(void)runner;
	outcome->cost.fixed_ns = launch->cost.fixed_ns + 700;
}

/* Of an executed launch the outcome's counts, also against the promise. */
TEST_F(launch, fixed_time_of_outcome)
{
	__u64 plain;

	abi_entry_launch(&self->entry, 7, 1000);
	plain = duration(self);
	self->runner.execute = takes_longer;
	self->entry.launch.cost.fixed_ns = 300;
	EXPECT_EQ(plain + 1000000, duration(self));
	self->entry.launch.min_ps = plain + 1000000;
	EXPECT_EQ(plain + 1000000, duration(self));
	self->entry.launch.min_ps++;
	EXPECT_EQ(0, duration(self));
	EXPECT_EQ(CMX_CR_KERNEL_ERR, self->cqe.status);
}

/* An outcome may cost more than declared, and that counts. */
static void costs_more(struct abi_runner *runner, const struct drm_cmx_launch *launch,
		       struct drm_cmx_outcome *outcome)
{
	FIXTURE_DATA(launch) *self = runner->data;

	(void)launch;
	outcome->cost.vector_ops = self->vector_ops;
}

TEST_F(launch, final_cost)
{
	__u64 declared, final;

	abi_entry_launch(&self->entry, 7, 1000000000);
	declared = duration(self);
	self->runner.execute = costs_more;
	self->vector_ops = 4000000000;
	final = duration(self);
	EXPECT_GT(final, declared);
	/* Less than declared is fine too, as long as the promise holds. */
	self->vector_ops = 1000;
	EXPECT_LT(duration(self), declared);
	self->entry.launch.min_ps = declared;
	self->vector_ops = 1000000000;
	EXPECT_EQ(declared, duration(self));
	self->vector_ops = 1000;
	EXPECT_EQ(0, duration(self));
	EXPECT_EQ(CMX_CR_KERNEL_ERR, self->cqe.status);
	EXPECT_EQ(0, recover(self));
	self->vector_ops = 1000000000;
	EXPECT_EQ(declared, duration(self));
}

static void check_arguments(struct abi_runner *runner, const struct drm_cmx_launch *launch,
			    struct drm_cmx_outcome *outcome)
{
	FIXTURE_DATA(launch) *self = runner->data;
	const struct cmx_entry_launch *entry = &self->entry.launch;
	__u32 i;

	(void)outcome;
	self->bad += launch->kernel != entry->kernel || launch->grid != entry->grid ||
		     launch->user_ctx != entry->header.user_ctx ||
		     launch->args_size != entry->args_size || launch->pad ||
		     launch->queue != self->world.stream.handle || launch->entity ||
		     memcmp(&launch->cost, &entry->cost, sizeof(launch->cost));
	for (i = 0; i < CMX_LAUNCH_MAX_ARGS; i++)
		self->bad += launch->args[i] != (i < entry->args_size ? (__u8)(i + 1) : 0);
}

TEST_F(launch, arguments)
{
	static const __u16 sizes[] = { 0, 1, 31, 32, 33, 64, 95, 96, 97, 128, 159, 160 };
	unsigned int i, j;

	self->runner.execute = check_arguments;
	for (i = 0; i < ABI_ARRAY_SIZE(sizes); i++) {
		abi_entry_launch(&self->entry, 0xabcdef0123456789, 5);
		self->entry.header.slots = sizes[i] > 96 ? 4 : sizes[i] > 32 ? 3 : 2;
		self->entry.header.user_ctx = i;
		self->entry.launch.grid = i + 1;
		self->entry.launch.args_size = sizes[i];
		for (j = 0; j < sizes[i]; j++)
			self->entry.launch.args[j] = (__u8)(j + 1);
		EXPECT_NE(0, duration(self))
			TH_LOG("%u bytes: status %u", sizes[i], self->cqe.status);
		EXPECT_EQ(i + 1, self->runner.launched);
		EXPECT_EQ(0, self->bad)
			TH_LOG("%u bytes", sizes[i]);
	}
}

static void note_order(struct abi_runner *runner, const struct drm_cmx_launch *launch,
		       struct drm_cmx_outcome *outcome)
{
	FIXTURE_DATA(launch) *self = runner->data;

	if (self->num_seen < ABI_ARRAY_SIZE(self->seen))
		self->seen[self->num_seen++] = launch->user_ctx;
	if (launch->user_ctx == self->fail_at) {
		outcome->status = CMX_OUTCOME_FAILED;
		outcome->code = 77;
	}
}

static void post_chain(FIXTURE_DATA(launch) *self, __u32 n)
{
	__u32 i;

	for (i = 0; i < n; i++) {
		abi_entry_launch(&self->entry, 1, 1000 * i);
		self->entry.header.user_ctx = i;
		abi_post(&self->world.stream, &self->entry);
	}
}

/* Consecutive launches come together, in order, as one chain. */
TEST_F(launch, chain)
{
	struct drm_cmx_run run;
	__u64 last = 0;
	__u32 i;

	self->runner.execute = note_order;
	self->fail_at = ~0U;
	post_chain(self, 8);
	ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &self->world.stream));
	abi_run_args(&run, CMX_UNTIL_IDLE, 0);
	abi_run_room(&run, &self->runner);
	ASSERT_EQ(CMX_RUN_BATCH, abi_run(self->world.fd, &run));
	EXPECT_LT(1, run.launches.count);
	for (i = 1; i < run.launches.count; i++)
		EXPECT_EQ(self->runner.launches[0].chain, self->runner.launches[i].chain);
	abi_run_execute(&run, &self->runner);
	EXPECT_EQ(CMX_RUN_DONE, abi_run_through(self->world.fd, &run, &self->runner));
	for (i = 0; i < 8; i++) {
		ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->cqe));
		EXPECT_EQ(UB_CR_SUCCESS, self->cqe.status);
		EXPECT_EQ(i, self->cqe.user_ctx);
		EXPECT_EQ(i, self->seen[i]);
		EXPECT_LT(last, self->cqe.time_ps);
		last = self->cqe.time_ps;
	}
}

/* A failure in the middle: the code is told, the rest is not executed but flushed. */
TEST_F(launch, chain_fails)
{
	static const __u8 statuses[] = { UB_CR_SUCCESS, CMX_CR_KERNEL_ERR, UB_CR_WR_FLUSH_ERR };
	__u32 i;

	self->runner.execute = note_order;
	self->fail_at = 3;
	post_chain(self, 8);
	ASSERT_EQ(0, run_for(self, 9));
	for (i = 0; i < 8; i++) {
		EXPECT_EQ(i, self->cqe.user_ctx);
		EXPECT_EQ(statuses[(i >= 3) + (i > 3)], self->cqe.status);
		EXPECT_EQ(i == 3 ? 77 : 0, self->cqe.imm);
		ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->cqe));
	}
	EXPECT_EQ(UB_CR_WR_FLUSH_ERR_DONE, self->cqe.status);
	EXPECT_EQ(4, self->num_seen);
	EXPECT_EQ(0, abi_queue_state(self->world.fd, self->world.stream.handle, UB_QUEUE_READY));
	abi_entry_launch(&self->entry, 1, 1);
	EXPECT_NE(0, duration(self));
}

static void return_records(struct abi_runner *runner, const struct drm_cmx_launch *launch,
			   struct drm_cmx_outcome *outcome)
{
	FIXTURE_DATA(launch) *self = runner->data;

	(void)launch;
	outcome->records.stride = sizeof(self->records[0]);
	outcome->records.count = self->num_records;
	outcome->records.pointer = abi_addr(self->records);
}

static void add_record(FIXTURE_DATA(launch) *self, __u8 opcode, __u64 at, __u64 va, __u64 len,
		       __u64 value)
{
	self->records[self->num_records++] = (struct cmx_record){
		.opcode = opcode,
		.messages = 1,
		.at_ps = at,
		.va = va,
		.src_va = opcode == UB_OP_WRITE ? SRC : 0,
		.len = len,
		.value = value,
	};
}

/* One record of each kind, with what is there before and after. */
static const struct { __u8 opcode; __u32 len; __u64 before, value, after; } kinds[] = {
	{ UB_OP_FADD, 8, 5, 7, 12 },
	{ UB_OP_FADD, 4, 0x11ffffffff, 1, 0x1100000000 },
	{ UB_OP_FAND, 8, 0xff, 0x0f, 0x0f },
	{ UB_OP_FOR, 8, 0xf0, 0x0f, 0xff },
	{ UB_OP_FXOR, 4, 0xff, 0x0f, 0xf0 },
	{ UB_OP_SWAP, 8, 1, 99, 99 },
	{ CMX_OP_SIGNAL, 8, 3, 1234, 1234 },
};

static void prepare_records(FIXTURE_DATA(launch) *self)
{
	__u64 *words = (__u64 *)(self->world.mem.bytes + (DST - SRC));
	__u32 i;

	self->num_records = 0;
	memset(self->world.mem.bytes, 0x5c, 4096);
	memset(words, 0, 4096);
	add_record(self, UB_OP_WRITE, 0, DST + 1024, 3000, 0);
	for (i = 0; i < ABI_ARRAY_SIZE(kinds); i++) {
		words[i] = kinds[i].before;
		add_record(self, kinds[i].opcode, 10 * i, DST + 8 * i, kinds[i].len,
			   kinds[i].value);
	}
}

/* What the records did, once all has arrived. */
static bool records_applied(FIXTURE_DATA(launch) *self)
{
	const __u64 *words = (const __u64 *)(self->world.mem.bytes + (DST - SRC));
	const __u8 *bytes = (const __u8 *)words;
	__u32 i;

	for (i = 0; i < ABI_ARRAY_SIZE(kinds); i++)
		if (words[i] != kinds[i].after)
			return false;
	return bytes[1023] == 0 && bytes[1024] == 0x5c && bytes[4023] == 0x5c;
}

/* The clock as late as it can be: what is under way has arrived. */
static int settle(FIXTURE_DATA(launch) *self)
{
	struct drm_cmx_run run;

	abi_run_args(&run, CMX_UNTIL_TIME, self->world.clock.status->now_ps + 1000000000);
	return abi_run_through(self->world.fd, &run, &self->runner);
}

TEST_F(launch, records)
{
	self->runner.execute = return_records;
	prepare_records(self);
	abi_entry_launch(&self->entry, 1, 1000000000);
	self->entry.launch.first_ps = 0;
	EXPECT_NE(0, duration(self))
		TH_LOG("status %u imm %llu", self->cqe.status, self->cqe.imm);
	EXPECT_EQ(CMX_RUN_DONE, settle(self));
	EXPECT_TRUE(records_applied(self));
}

/* The same from memory, without execution, in the same time. */
TEST_F(launch, records_time_only)
{
	__u64 executed;

	self->runner.execute = return_records;
	prepare_records(self);
	abi_entry_launch(&self->entry, 1, 1000000000);
	self->entry.launch.first_ps = 0;
	executed = duration(self);
	EXPECT_EQ(CMX_RUN_DONE, settle(self));
	prepare_records(self);
	memcpy(self->world.mem.bytes + 8192, self->records,
	       self->num_records * sizeof(self->records[0]));
	self->entry.launch.launch_flags = CMX_LAUNCH_TIME_ONLY;
	self->entry.launch.record_va = SRC + 8192;
	self->entry.launch.record_count = self->num_records;
	EXPECT_EQ(executed, duration(self))
		TH_LOG("status %u imm %llu", self->cqe.status, self->cqe.imm);
	EXPECT_EQ(CMX_RUN_DONE, settle(self));
	EXPECT_TRUE(records_applied(self));
}

/* Bytes that were moved already are charged and not moved again. */
TEST_F(launch, records_done)
{
	self->runner.execute = return_records;
	add_record(self, UB_OP_WRITE, 0, DST, 64, 0);
	self->records[0].flags = CMX_RECORD_DONE;
	memset(self->world.mem.bytes, 0x5c, 64);
	abi_entry_launch(&self->entry, 1, 1000);
	self->entry.launch.first_ps = 0;
	EXPECT_NE(0, duration(self));
	EXPECT_EQ(CMX_RUN_DONE, settle(self));
	EXPECT_EQ(0, self->world.mem.bytes[DST - SRC]);
}

/* A WAIT elsewhere sees the signal of a record, at its arrival. */
TEST_F(launch, record_wakes_wait)
{
	struct cmx_cqe cqe;

	self->runner.execute = return_records;
	add_record(self, CMX_OP_SIGNAL, 0, DST, 8, 4711);
	abi_entry_wait(&self->entry, DST, CMX_COND_EQ, 4711);
	ASSERT_EQ(0, abi_submit(&self->world, &self->world.sdma, &self->entry));
	abi_entry_launch(&self->entry, 1, 1000000);
	self->entry.launch.first_ps = 0;
	abi_post(&self->world.stream, &self->entry);
	ASSERT_EQ(0, run_for(self, 2));
	ASSERT_TRUE(abi_cqe_take(&self->world.cq, &cqe));
	EXPECT_EQ(UB_CR_SUCCESS, self->cqe.status);
	EXPECT_EQ(UB_CR_SUCCESS, cqe.status);
	EXPECT_EQ(CMX_OP_WAIT + CMX_OP_LAUNCH, cqe.opcode + self->cqe.opcode);
}

/* Records that are refused: RECORD_ERR with the index, and a way back. */
TEST_F(launch, bad_records)
{
	static const struct { const char *name; __u16 offset, size; __u64 value; } cases[] = {
#define CASE(member, value)							\
	{ #member, offsetof(struct cmx_record, member),				\
	  sizeof(((struct cmx_record *)0)->member), value }
		CASE(opcode, UB_OP_READ), CASE(opcode, 0xff), CASE(opcode, CMX_OP_LAUNCH),
		CASE(flags, 2), CASE(flags, 0x80), CASE(pad, 1), CASE(pad2, 1),
		CASE(reserved, 1), CASE(reserved, 1ULL << 63), CASE(messages, 0),
		CASE(va, NO_VA), CASE(va, -8), CASE(src_va, NO_VA), CASE(len, 0),
		CASE(len, 1ULL << 62), CASE(tseg, 1),
#undef CASE
	};
	unsigned int i;

	self->runner.execute = return_records;
	for (i = 0; i < ABI_ARRAY_SIZE(cases); i++) {
		self->num_records = 0;
		add_record(self, UB_OP_WRITE, 0, DST, 64, 0);
		add_record(self, UB_OP_WRITE, 1, DST + 64, 64, 0);
		memcpy((char *)&self->records[1] + cases[i].offset, &cases[i].value,
		       cases[i].size);
		abi_entry_launch(&self->entry, 1, 1000);
		self->entry.launch.first_ps = 0;
		EXPECT_EQ(0, duration(self))
			TH_LOG("%s = %#llx is taken", cases[i].name, cases[i].value);
		EXPECT_EQ(CMX_CR_RECORD_ERR, self->cqe.status)
			TH_LOG("%s = %#llx", cases[i].name, cases[i].value);
		EXPECT_EQ(1, self->cqe.imm);
		if (self->cqe.status)
			ASSERT_EQ(0, recover(self));
	}
}

/* Promises on the first traffic, and the order of records. */
TEST_F(launch, record_bounds)
{
	self->runner.execute = return_records;
	add_record(self, UB_OP_WRITE, 5000, DST, 64, 0);
	abi_entry_launch(&self->entry, 1, 1000000000);
	self->entry.launch.first_ps = 5000;
	EXPECT_NE(0, duration(self));
	self->entry.launch.first_ps = 5001;
	EXPECT_EQ(0, duration(self));
	EXPECT_EQ(CMX_CR_KERNEL_ERR, self->cqe.status);
	ASSERT_EQ(0, recover(self));
	self->entry.launch.first_ps = ~0ULL;
	EXPECT_EQ(0, duration(self));
	EXPECT_EQ(CMX_CR_KERNEL_ERR, self->cqe.status);
	ASSERT_EQ(0, recover(self));
	add_record(self, UB_OP_WRITE, 4000, DST, 64, 0);
	self->entry.launch.first_ps = 0;
	EXPECT_EQ(0, duration(self));
	EXPECT_EQ(CMX_CR_RECORD_ERR, self->cqe.status);
	EXPECT_EQ(0, recover(self));
}

/* Two queues' launches may be out at once; each keeps its own order and time. */
TEST_F(launch, two_queues)
{
	struct drm_cmx_queue_create args;
	struct abi_ring second;
	__u32 i, counts[2] = { 0 };

	abi_queue_args(&args, CMX_QUEUE_STREAM, self->world.cq.handle);
	args.entity = 1;
	ASSERT_EQ(0, abi_queue_create(self->world.fd, &args, &second));
	for (i = 0; i < 6; i++) {
		abi_entry_launch(&self->entry, 1, 1000000 * (i + 1));
		self->entry.header.user_ctx = i;
		self->entry.launch.min_ps = 1;
		abi_post(&self->world.stream, &self->entry);
		abi_post(&second, &self->entry);
	}
	ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &second));
	ASSERT_EQ(0, run_for(self, 12));
	do {
		__u32 which = self->cqe.local_id == second.handle;

		EXPECT_EQ(UB_CR_SUCCESS, self->cqe.status);
		EXPECT_EQ(counts[which]++, self->cqe.user_ctx);
	} while (abi_cqe_take(&self->world.cq, &self->cqe));
	EXPECT_EQ(6, counts[0]);
	EXPECT_EQ(6, counts[1]);
	abi_queue_destroy(self->world.fd, &second);
}

/* The client's counters count. */
TEST_F(launch, counters)
{
	struct drm_cmx_info_client before, after;
	struct drm_cmx_timeline_query query = { 0 };

	ASSERT_EQ(0, abi_info(self->world.fd, CMX_INFO_CLIENT, 0, &before, sizeof(before)));
	abi_entry_launch(&self->entry, 1, 10);
	EXPECT_NE(0, duration(self));
	self->entry.launch.launch_flags = CMX_LAUNCH_TIME_ONLY;
	EXPECT_NE(0, duration(self));
	ASSERT_EQ(0, abi_info(self->world.fd, CMX_INFO_CLIENT, 0, &after, sizeof(after)));
	EXPECT_EQ(before.launches + 2, after.launches);
	EXPECT_EQ(before.commands + 2, after.commands);
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_TIMELINE_QUERY, &query));
	EXPECT_EQ(2, query.launches);
	EXPECT_EQ(0, query.batches);
}

TEST_HARNESS_MAIN
