// SPDX-License-Identifier: GPL-2.0-only
/* Launches: results and virtual times, with any number of runner threads. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "bed.h"

#define N	4096u

struct args {
	uint64_t *x;
	uint64_t *flag;
	uint64_t step;
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ (x >> 29);
}

static int mix_block(struct cmx_launch_ctx *lc, const void *p, uint32_t block)
{
	const struct args *args = p;
	uint32_t n = N / cmx_launch_grid(lc);

	for (uint32_t i = block * n; i < (block + 1) * n; i++)
		args->x[i] = mix(args->x[i] + args->step);
	return 0;
}

/* The final cost depends on what was computed. */
static int mix_post(struct cmx_launch_ctx *lc, const void *p)
{
	const struct args *args = p;
	struct cmx_cost cost;

	cmx_launch_cost(lc, &cost);
	cost.mem_bytes += args->x[0] % 1000000;
	return cmx_launch_set_cost(lc, &cost);
}

static int mix_cost(const void *p, uint32_t args_size, uint32_t grid, struct cmx_cost *cost)
{
	(void)p;
	(void)args_size;
	(void)grid;
	cost->mem_bytes = 2 * N * sizeof(uint64_t);
	cost->vector_ops = 5 * N;
	cost->efficiency = CMX_EFF_VECTOR;
	return 0;
}

/* Sends what it has to another die, and a signal behind each block's piece. */
static int send_block(struct cmx_launch_ctx *lc, const void *p, uint32_t block)
{
	const struct args *args = p;
	uint32_t n = N / cmx_launch_grid(lc);
	uint64_t at = 1000000 + 1000 * (uint64_t)block;

	cmx_dev_write(lc, at, cmx_va(args->flag + 8 + block * n), args->x + block * n,
		      n * sizeof(uint64_t), 1);
	return cmx_dev_atomic(lc, at, UB_OP_FADD, cmx_va(args->flag), 8, 1);
}

static int fail_block(struct cmx_launch_ctx *lc, const void *p, uint32_t block)
{
	(void)lc;
	(void)p;
	return block == 3 ? 1234 : 0;
}

FIXTURE(launch)
{
	struct bed bed;
	struct cmx_mem *a, *b;
	uint64_t mix, mix_plain, send, fail;
	uint64_t *want;
};

FIXTURE_SETUP(launch)
{
	struct cmx_kernel_desc desc = {
		.name = "mix", .run = mix_block, .post = mix_post, .cost = mix_cost,
		.args_size = sizeof(struct args),
	};

	OK(bed_open(&self->bed));
	OK(bed_memory(&self->bed, 0, N * 8, 3, &self->a));
	OK(cmx_mem_alloc(self->bed.ctx, self->bed.far_die, N * 8 + 64, 0, &self->b));
	OK(cmx_kernel_register_desc(self->bed.ctx, &desc, &self->mix));
	desc.name = "mix_plain";
	desc.post = NULL;
	desc.flags = CMX_KERNEL_LOCAL;
	OK(cmx_kernel_register_desc(self->bed.ctx, &desc, &self->mix_plain));
	OK(cmx_kernel_register(self->bed.ctx, "send", send_block, &self->send));
	OK(cmx_kernel_register(self->bed.ctx, "fail", fail_block, &self->fail));
	self->want = malloc(N * 8);
	ASSERT_NE(NULL, self->want);
	memcpy(self->want, cmx_mem_ptr(self->a), N * 8);
}

FIXTURE_TEARDOWN(launch)
{
	free(self->want);
	bed_close(&self->bed);
}

TEST_F(launch, computes)
{
	struct args args = { .x = cmx_mem_ptr(self->a) };
	struct cmx_cqe cqe;

	for (args.step = 0; args.step < 20; args.step++) {
		OK(cmx_queue_launch_kernel(self->bed.q, self->mix, 1u << (args.step % 8), &args,
					   sizeof(args), CMX_ENTRY_COMPLETE, args.step));
		for (uint32_t i = 0; i < N; i++)
			self->want[i] = mix(self->want[i] + args.step);
	}
	OK(bed_finish(&self->bed, 20, &cqe));
	EXPECT_EQ(0, memcmp(self->want, args.x, N * 8));
}

TEST_F(launch, failures_are_reported)
{
	struct cmx_launch_desc desc = { .kernel = self->fail, .grid = 8 };
	struct cmx_cqe cqe;

	OK(cmx_queue_launch(self->bed.q, &desc, CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_submit(self->bed.q));
	OK(cmx_wait_completions(self->bed.cq, 1, NULL));
	ASSERT_EQ(1, cmx_cq_read(self->bed.cq, &cqe));
	EXPECT_EQ(CMX_CR_KERNEL_ERR, cqe.status);
	EXPECT_EQ(1234, cqe.imm);
}

TEST_F(launch, unknown_kernels_fail)
{
	struct cmx_launch_desc desc = { .kernel = 4711 };
	struct cmx_cqe cqe;

	EXPECT_EQ(-ENOENT, cmx_queue_launch_kernel(self->bed.q, 4711, 1, NULL, 0, 0, 1));
	OK(cmx_queue_launch(self->bed.q, &desc, CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_submit(self->bed.q));
	OK(cmx_wait_completions(self->bed.cq, 1, NULL));
	ASSERT_EQ(1, cmx_cq_read(self->bed.cq, &cqe));
	EXPECT_EQ(CMX_CR_KERNEL_ERR, cqe.status);
	EXPECT_EQ(CMX_CODE_NO_KERNEL, cqe.imm);
}

TEST_F(launch, records_arrive_and_wake)
{
	struct args args = { .x = cmx_mem_ptr(self->a), .flag = cmx_mem_ptr(self->b) };
	struct cmx_launch_desc desc = {
		.kernel = self->send, .grid = 16, .args = &args, .args_size = sizeof(args),
		.first_ps = 1000000, .cost = { .vector_ops = 1 },
	};
	struct cmx_mem *copy;
	struct cmx_cqe cqe;

	OK(cmx_mem_alloc(self->bed.ctx, self->bed.far_die, N * 8, 0, &copy));
	/* The receiver waits for all pieces, then takes them away. */
	OK(cmx_queue_wait(self->bed.far, cmx_va(args.flag), CMX_COND_GE, 16, 0, 0));
	OK(cmx_queue_copy(self->bed.far, cmx_mem_va(copy), cmx_va(args.flag + 8), N * 8,
			  CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_launch(self->bed.q, &desc, 0, 2));
	OK(bed_finish(&self->bed, 1, &cqe));
	EXPECT_EQ(16, args.flag[0]);
	EXPECT_EQ(0, memcmp(self->want, cmx_mem_ptr(copy), N * 8));
	EXPECT_GT(cqe.time_ps, 1000000);
}

#define PAIRS	16u

/* Of each pair the second is faster: sockets take writes in less time than dies do. */
TEST_F(launch, later_records_may_arrive_first)
{
	struct cmx_launch_desc desc = {
		.grid = 1, .launch_flags = CMX_LAUNCH_TIME_ONLY, .cost = { .vector_ops = 1 },
		.record_va = cmx_mem_va(self->a), .record_count = 2 * PAIRS,
	};
	struct cmx_record *records = cmx_mem_ptr(self->a);
	uint64_t slow = cmx_mem_va(self->b), fast;
	struct cmx_cqe cqe[2];
	struct cmx_mem *mem;

	OK(cmx_mem_alloc(self->bed.ctx, cmx_device(self->bed.ctx)->num_dies, 4096, 0, &mem));
	fast = cmx_mem_va(mem);
	for (uint32_t i = 0; i < 2 * PAIRS; i++)
		records[i] = (struct cmx_record){ .opcode = UB_OP_FADD, .messages = 1, .len = 8,
						  .value = 1, .va = i & 1 ? fast : slow };
	OK(cmx_queue_wait(self->bed.far, fast, CMX_COND_GE, PAIRS, CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_wait(self->bed.far, slow, CMX_COND_GE, PAIRS, CMX_ENTRY_COMPLETE, 2));
	OK(cmx_queue_launch(self->bed.q, &desc, 0, 0));
	OK(bed_finish(&self->bed, 1, &cqe[0]));
	OK(bed_finish(&self->bed, 1, &cqe[1]));
	EXPECT_EQ(1, cqe[0].user_ctx);
	EXPECT_LT(cqe[0].time_ps, cqe[1].time_ps);
	OK(cmx_wait_idle(self->bed.ctx, NULL));
	EXPECT_EQ(PAIRS, *(uint64_t *)cmx_mem_ptr(mem));
	EXPECT_EQ(PAIRS, *(uint64_t *)cmx_mem_ptr(self->b));
	cmx_mem_free(mem);
}

/* A flag behind a write of many slices: who waits for it finds all bytes. */
TEST_F(launch, a_flag_does_not_overtake_bytes)
{
	const uint64_t size = 2ull << 20;
	struct cmx_launch_desc desc = {
		.grid = 1, .launch_flags = CMX_LAUNCH_TIME_ONLY, .cost = { .vector_ops = 1 },
		.record_va = cmx_mem_va(self->a), .record_count = 2,
	};
	struct cmx_record *records = cmx_mem_ptr(self->a);
	struct cmx_mem *from, *to, *copy;
	struct cmx_cqe flag, launch;

	OK(bed_memory(&self->bed, 0, size, 7, &from));
	OK(cmx_mem_alloc(self->bed.ctx, self->bed.far_die, size, 0, &to));
	OK(cmx_mem_alloc(self->bed.ctx, self->bed.far_die, size, 0, &copy));
	records[0] = (struct cmx_record){ .opcode = UB_OP_WRITE, .messages = 1, .len = size,
					  .va = cmx_mem_va(to), .src_va = cmx_mem_va(from) };
	records[1] = (struct cmx_record){ .opcode = CMX_OP_SIGNAL, .messages = 1, .len = 8,
					  .va = cmx_mem_va(self->b), .value = 1 };
	OK(cmx_queue_wait(self->bed.far, cmx_mem_va(self->b), CMX_COND_EQ, 1,
			  CMX_ENTRY_COMPLETE, 1));
	OK(cmx_queue_copy(self->bed.far, cmx_mem_va(copy), cmx_mem_va(to), size, 0, 2));
	OK(cmx_queue_launch(self->bed.q, &desc, CMX_ENTRY_COMPLETE, 3));
	OK(bed_finish(&self->bed, 1, &launch));
	OK(bed_finish(&self->bed, 1, &flag));
	ASSERT_EQ(3, launch.user_ctx);
	ASSERT_EQ(1, flag.user_ctx);
	OK(cmx_wait_idle(self->bed.ctx, NULL));
	EXPECT_EQ(0, memcmp(cmx_mem_ptr(from), cmx_mem_ptr(copy), size));
	/* The cores are busy until the last slice was taken, at less than 200 GB/s. */
	EXPECT_GT(launch.time_ps, size * 5);
	EXPECT_LT(launch.time_ps, flag.time_ps);
}

TEST_F(launch, time_only_takes_the_same_time)
{
	struct args args = { .x = cmx_mem_ptr(self->a) };
	struct cmx_launch_desc desc = { .kernel = self->mix_plain, .grid = 4, .args = &args,
					.args_size = sizeof(args), .first_ps = UINT64_MAX };
	uint64_t took[2];
	struct cmx_cqe cqe;

	OK(cmx_kernel_cost(self->bed.ctx, desc.kernel, &args, sizeof(args), 4, &desc.cost));
	for (int i = 0; i < 2; i++) {
		uint64_t before = cmx_timeline_now(cmx_timeline_default(self->bed.ctx));

		desc.launch_flags = i ? CMX_LAUNCH_TIME_ONLY : 0;
		OK(cmx_queue_launch(self->bed.q, &desc, CMX_ENTRY_COMPLETE, 0));
		OK(bed_finish(&self->bed, 1, &cqe));
		took[i] = cqe.time_ps - before;
	}
	EXPECT_EQ(took[0], took[1]);
	EXPECT_GE(took[0], cmx_launch_bound(self->bed.q, &desc.cost));
	/* It was carried out once. */
	for (uint32_t i = 0; i < N; i++)
		self->want[i] = mix(self->want[i]);
	EXPECT_EQ(0, memcmp(self->want, args.x, N * 8));
}

/* Two that can only end when both run at once: each waits for the other to have begun. */
static uint32_t begun;

static int meet_block(struct cmx_launch_ctx *lc, const void *p, uint32_t block)
{
	(void)lc;
	(void)p;
	(void)block;
	__atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 10000; i++) {
		if (__atomic_load_n(&begun, __ATOMIC_RELAXED) == 2)
			return 0;
		usleep(1000);
	}
	return ETIME;
}

FIXTURE(meet)
{
	struct bed bed;
	struct cmx_launch_desc desc;
	struct cmx_cqe cqe;
};

FIXTURE_SETUP(meet)
{
	OK(bed_open(&self->bed));
	memset(&self->desc, 0, sizeof(self->desc));
	self->desc.first_ps = UINT64_MAX;
	self->desc.cost.mem_bytes = 1 << 30;
	self->desc.min_ps = cmx_launch_bound(self->bed.q, &self->desc.cost);
	ASSERT_GT(self->desc.min_ps, 100000000);
	OK(cmx_kernel_register(self->bed.ctx, "meet", meet_block, &self->desc.kernel));
	begun = 0;
	OK(cmx_runner_start(self->bed.ctx, 1));
}

FIXTURE_TEARDOWN(meet)
{
	bed_close(&self->bed);
}

TEST_F(meet, blocks_of_a_launch_run_at_once)
{
	self->desc.grid = 2;
	OK(cmx_queue_launch(self->bed.q, &self->desc, CMX_ENTRY_COMPLETE, 0));
	OK(bed_finish(&self->bed, 1, &self->cqe));
}

TEST_F(meet, launches_of_a_batch_run_at_once)
{
	OK(cmx_queue_launch(self->bed.q, &self->desc, CMX_ENTRY_COMPLETE, 0));
	OK(cmx_queue_launch(self->bed.far, &self->desc, CMX_ENTRY_COMPLETE, 0));
	OK(bed_finish(&self->bed, 2, &self->cqe));
}

TEST_F(meet, bounds_let_a_later_launch_run_at_once)
{
	struct cmx_mem *mem;

	OK(cmx_mem_alloc(self->bed.ctx, self->bed.far_die, 1 << 16, 0, &mem));
	OK(cmx_queue_launch(self->bed.q, &self->desc, CMX_ENTRY_COMPLETE, 0));
	/* It starts later, but before the other can have ended. */
	OK(cmx_queue_fill(self->bed.far, cmx_mem_va(mem), 1 << 16, 0, 8, 0, 0));
	OK(cmx_queue_launch(self->bed.far, &self->desc, CMX_ENTRY_COMPLETE, 0));
	OK(bed_finish(&self->bed, 2, &self->cqe));
}

/* Two queues with launches of unlike lengths that meet in waits; a digest of all times. */
static int mixed_run(uint32_t threads, uint64_t *digest)
{
	struct cmx_kernel_desc desc = { .name = "mix", .run = mix_block, .post = mix_post,
					.cost = mix_cost };
	struct bed bed = {};
	struct cmx_mem *mem[2];
	struct args args = {};
	struct cmx_cqe cqe;
	uint64_t kernel, *words;
	int ret = bed_open(&bed);

	for (uint32_t i = 0; !ret && i < 2; i++)
		ret = bed_memory(&bed, i ? bed.far_die : 0, N * 8 + 64, i, &mem[i]);
	if (!ret)
		ret = cmx_kernel_register_desc(bed.ctx, &desc, &kernel);
	if (!ret)
		ret = cmx_runner_start(bed.ctx, threads);
	if (ret)
		goto out;
	words = (uint64_t *)cmx_mem_ptr(mem[1]) + N;
	words[0] = 0;
	words[1] = 0;
	for (args.step = 0; !ret && args.step < 40; args.step++) {
		struct cmx_queue *q = args.step % 3 ? bed.q : bed.far;

		args.x = cmx_mem_ptr(mem[q == bed.far]);
		ret = cmx_queue_launch_kernel(q, kernel, 1 + args.step % 16, &args, sizeof(args),
					      CMX_ENTRY_COMPLETE, args.step);
		if (!ret && args.step % 6 == 5) {
			uint64_t turn = args.step / 6 + 1;

			ret = cmx_queue_signal(bed.far, cmx_va(words), CMX_SIGNAL_SET, turn, 0, 0);
			if (!ret)
				ret = cmx_queue_wait(bed.q, cmx_va(words), CMX_COND_GE, turn, 0, 0);
		}
	}
	*digest = 0;
	for (int i = 0; !ret && i < 40; i++) {
		ret = bed_finish(&bed, 1, &cqe);
		*digest = mix(*digest ^ mix(cqe.time_ps) ^ cqe.user_ctx);
	}
	for (uint32_t i = 0; i < N; i++)
		*digest = mix(*digest ^ ((uint64_t *)cmx_mem_ptr(mem[0]))[i] ^
			      ((uint64_t *)cmx_mem_ptr(mem[1]))[i]);
out:
	bed_close(&bed);
	return ret;
}

TEST(any_number_of_threads_gives_the_same)
{
	uint64_t first, digest;

	OK(mixed_run(0, &first));
	for (uint32_t threads = 0; threads < 4; threads++) {
		for (int round = 0; round < 3; round++) {
			OK(mixed_run(threads, &digest));
			EXPECT_EQ(first, digest);
		}
	}
	TH_LOG("digest %016llx", (unsigned long long)first);
}

TEST(host_delays_do_not_show)
{
	uint64_t first, digest;

	OK(mixed_run(0, &first));
	for (uint32_t seed = 1; seed <= 3; seed++) {
		char text[32];

		snprintf(text, sizeof(text), "50:%u:8", seed);
		setenv("CMX_INJECT_DELAY_MS", text, 1);
		OK(mixed_run(seed, &digest));
		EXPECT_EQ(first, digest);
	}
	unsetenv("CMX_INJECT_DELAY_MS");
}

TEST_HARNESS_MAIN
