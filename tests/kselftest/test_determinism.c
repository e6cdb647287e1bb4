// SPDX-License-Identifier: GPL-2.0-only
/*
 * The same program, several times and with several threads: the same completions,
 * byte for byte, and the same memory.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "kselftest_harness.h"

#include "cmx_run.h"

#define QUEUES		6
#define ROUNDS		24
#define MEM_PAGES	16
#define MEM_SIZE	(MEM_PAGES * ABI_PAGE)
#define FLAGS_VA	(ABI_VA * 9)
#define MAX_CQES	(QUEUES * ROUNDS)

/** struct program - one execution. */
struct program {
	int fd;
	struct abi_clock clock;
	struct abi_cq cq;
	struct abi_ring queues[QUEUES];
	struct abi_mem mems[QUEUES];
	struct abi_mem flags;
	struct cmx_cqe cqes[MAX_CQES];
	unsigned int num_cqes;
	unsigned int delay;
	__u64 sum;
	__u64 end_ps;
};

static __u64 mem_va(unsigned int q)
{
	return ABI_VA * (q + 1);
}

static int program_open(struct program *p)
{
	struct drm_cmx_queue_create args;
	unsigned int q;
	int ret;

	memset(p, 0, sizeof(*p));
	p->fd = abi_open();
	if (p->fd < 0)
		return p->fd;
	ret = abi_clock_open(p->fd, 0, &p->clock);
	if (!ret)
		ret = abi_cq_create(p->fd, 256, 0, &p->cq);
	if (!ret)
		ret = abi_mem_create(p->fd, 0, FLAGS_VA, ABI_PAGE, &p->flags);
	for (q = 0; q < QUEUES && !ret; q++) {
		ret = abi_mem_create(p->fd, q / 2, mem_va(q), MEM_SIZE, &p->mems[q]);
		if (ret)
			break;
		memset(p->mems[q].bytes, q + 1, MEM_SIZE);
		abi_queue_args(&args, q % 3, p->cq.handle);
		args.entity = q / 2;
		args.slots = 128;
		ret = abi_queue_create(p->fd, &args, &p->queues[q]);
	}
	return ret;
}

static void program_close(struct program *p)
{
	unsigned int q;

	for (q = 0; q < QUEUES; q++) {
		abi_queue_destroy(p->fd, &p->queues[q]);
		abi_mem_destroy(p->fd, &p->mems[q]);
	}
	abi_mem_destroy(p->fd, &p->flags);
	abi_cq_destroy(p->fd, &p->cq);
	abi_clock_close(&p->clock);
	close(p->fd);
}

/* Bytes from one memory to another, by what the queue's class offers. */
static void make_move(union abi_entry *entry, struct abi_random *random, unsigned int q)
{
	unsigned int mem = abi_random(random) % QUEUES;
	unsigned int other = (mem + 1 + abi_random(random) % (QUEUES - 1)) % QUEUES;
	__u64 from = mem_va(mem) + abi_random(random) % (MEM_SIZE / 2);
	__u64 to = mem_va(other) + abi_random(random) % (MEM_SIZE / 2);
	__u64 len = 1 + abi_random(random) % (MEM_SIZE / 2 - 1);

	if (q % 3 == CMX_QUEUE_UB)
		abi_entry_rma(entry, abi_random(random) & 1 ? UB_OP_WRITE : UB_OP_READ, from, to,
			      len);
	else if (abi_random(random) & 1)
		abi_entry_copy(entry, to, from, len);
	else
		abi_entry_fill(entry, to, len, abi_random(random) & 0xff, 1);
	if (abi_random(random) & 1)
		entry->header.flags |= CMX_ENTRY_OVERLAP;
}

/* Round r of queue q: signals its own flag, or waits for a neighbour's earlier ones. */
static void make_entry(union abi_entry *entry, struct abi_random *random, unsigned int q,
		       unsigned int r)
{
	switch (r % 4) {
	case 0:
		abi_entry_signal(entry, FLAGS_VA + 8 * q, CMX_SIGNAL_ADD, 1);
		break;
	case 2:
		abi_entry_wait(entry, FLAGS_VA + 8 * ((q + 1) % QUEUES), CMX_COND_GE, r / 4 + 1);
		break;
	case 3:
		if (q % 3 == CMX_QUEUE_STREAM) {
			abi_entry_launch(entry, q, 1000000 * (1 + abi_random(random) % 100));
			entry->launch.args_size = 8;
			memcpy(entry->launch.args, &random->state, 8);
			break;
		}
		/* fallthrough */
	default:
		make_move(entry, random, q);
		break;
	}
	entry->header.user_ctx = q * 1000 + r;
}

static int program_post(struct program *p, __u64 seed)
{
	struct abi_random random = { seed };
	union abi_entry entry;
	unsigned int q, r;

	for (r = 0; r < ROUNDS; r++)
		for (q = 0; q < QUEUES; q++) {
			make_entry(&entry, &random, q, r);
			if (!abi_post(&p->queues[q], &entry))
				return -ENOSPC;
		}
	for (q = 0; q < QUEUES; q++)
		if (abi_kick(p->fd, &p->clock, &p->queues[q]))
			return -EIO;
	return 0;
}

/* Takes as long as it likes on the host; its cost is what its argument says. */
static void execute(struct abi_runner *runner, const struct drm_cmx_launch *launch,
		    struct drm_cmx_outcome *outcome)
{
	struct program *p = runner->data;
	__u64 argument;

	memcpy(&argument, launch->args, sizeof(argument));
	outcome->cost.vector_ops += argument % 1000000000;
	__atomic_fetch_add(&p->sum, argument, __ATOMIC_RELAXED);
	if (p->delay)
		usleep(argument % p->delay);
}

struct thread {
	struct program *program;
	struct abi_runner runner;
	pthread_t id;
	int ret;
};

static void *help(void *data)
{
	struct thread *thread = data;
	struct drm_cmx_run run;

	thread->runner.execute = execute;
	thread->runner.data = thread->program;
	abi_run_args(&run, CMX_UNTIL_NONE, 0);
	run.flags = CMX_RUN_HELPER;
	run.host_timeout_ns = 300000000;
	thread->ret = abi_run_through(thread->program->fd, &run, &thread->runner);
	return NULL;
}

/* Carries it all out with @threads threads and keeps what came of it. */
static int program_run(struct program *p, unsigned int threads)
{
	static struct thread pool[4];
	unsigned int i;
	int ret;

	memset(pool, 0, sizeof(pool));
	for (i = 0; i < threads; i++)
		pool[i].program = p;
	for (i = 1; i < threads; i++)
		if (pthread_create(&pool[i].id, NULL, help, &pool[i]))
			return -EAGAIN;
	pool[0].runner.execute = execute;
	pool[0].runner.data = p;
	ret = abi_run_idle(p->fd, &pool[0].runner);
	for (i = 1; i < threads; i++)
		pthread_join(pool[i].id, NULL);
	while (p->num_cqes < MAX_CQES && abi_cqe_take(&p->cq, &p->cqes[p->num_cqes]))
		p->num_cqes++;
	p->end_ps = p->clock.status->now_ps;
	return ret;
}

/* True: same completions, times and memory. */
static bool same(const struct program *a, const struct program *b)
{
	unsigned int i, q;

	for (i = 0; i < MAX_CQES; i++) {
		const struct cmx_cqe *x = &a->cqes[i], *y = &b->cqes[i];

		if (!memcmp(x, y, sizeof(*x)))
			continue;
		printf("# completion %u: ctx %llu time %llu, ctx %llu time %llu\n", i, x->user_ctx,
		       x->time_ps, y->user_ctx, y->time_ps);
		return false;
	}
	for (q = 0; q < QUEUES; q++)
		if (memcmp(a->mems[q].bytes, b->mems[q].bytes, MEM_SIZE)) {
			printf("# memory %u differs\n", q);
			return false;
		}
	return a->num_cqes == b->num_cqes && a->sum == b->sum && a->end_ps == b->end_ps;
}

TEST(completions_and_memory)
{
	static struct program first, other;
	static const unsigned int threads[] = { 1, 1, 2, 4, 3, 2 };
	__u64 seed = abi_seed();
	unsigned int rounds = abi_setting("CMX_ROUNDS", 2), i, round;

	for (round = 0; round < rounds; round++) {
		ASSERT_EQ(0, program_open(&first));
		ASSERT_EQ(0, program_post(&first, seed + round));
		ASSERT_EQ(CMX_RUN_DONE, program_run(&first, 1));
		ASSERT_EQ(MAX_CQES, first.num_cqes);
		for (i = 0; i < MAX_CQES; i++)
			EXPECT_EQ(UB_CR_SUCCESS, first.cqes[i].status);
		for (i = 0; i < ABI_ARRAY_SIZE(threads); i++) {
			ASSERT_EQ(0, program_open(&other));
			other.delay = i * 400;
			ASSERT_EQ(0, program_post(&other, seed + round));
			ASSERT_EQ(CMX_RUN_DONE, program_run(&other, threads[i]));
			EXPECT_TRUE(same(&first, &other))
				TH_LOG("seed %llu, %u threads, run %u", seed + round, threads[i],
				       i);
			program_close(&other);
		}
		program_close(&first);
	}
}

TEST_HARNESS_MAIN
