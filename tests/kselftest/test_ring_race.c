// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings that are rewritten while they are read: garbage entries, tails, heads, arms and
 * doorbells from one thread, RUN in others. The kernel must neither fall nor hang, and
 * say only things the ABI has.
 */
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "kselftest_harness.h"

#include "cmx_host.h"
#include "cmx_run.h"

#define QUEUES	4	/* one of each class, and one whose completion ring may overflow */
#define SLOTS	64

FIXTURE(race) {
	struct abi_world world;
	struct abi_cq cqs[QUEUES];
	struct abi_ring queues[QUEUES];
	struct abi_mem spare;
	__u64 seed;
	unsigned int seconds;
	volatile bool stop;
};

FIXTURE_SETUP(race)
{
	struct drm_cmx_queue_create args;
	unsigned int q;

	self->seed = abi_seed();
	self->seconds = abi_setting("CMX_SECONDS", 3);
	ASSERT_EQ(0, abi_world_open(&self->world));
	ASSERT_EQ(0, abi_mem_create(self->world.fd, 1, ABI_VA * 2, 4 * ABI_PAGE, &self->spare));
	for (q = 0; q < QUEUES; q++) {
		ASSERT_EQ(0, abi_cq_create(self->world.fd, 64, q == 3, &self->cqs[q]));
		abi_queue_args(&args, q % 3, self->cqs[q].handle);
		args.slots = SLOTS;
		ASSERT_EQ(0, abi_queue_create(self->world.fd, &args, &self->queues[q]));
	}
}

FIXTURE_TEARDOWN(race)
{
	unsigned int q;

	for (q = 0; q < QUEUES; q++) {
		abi_queue_destroy(self->world.fd, &self->queues[q]);
		abi_cq_destroy(self->world.fd, &self->cqs[q]);
	}
	abi_mem_destroy(self->world.fd, &self->spare);
	abi_world_close(&self->world);
	EXPECT_TRUE(abi_all_free());
}

static __u64 some_va(struct abi_random *random)
{
	__u64 n = abi_random(random);

	if (n % 16 == 0)
		return abi_random(random);
	return ABI_VA * (1 + n / 16 % 2) + n / 64 % (6 * ABI_PAGE);
}

static __u64 some_len(struct abi_random *random)
{
	__u64 n = abi_random(random);

	if (n % 32 == 0)
		return abi_random(random);
	return n / 32 % (n & 0x100000 ? 9000 : 100);
}

/* An entry that is nearly right. */
static void some_entry(union abi_entry *entry, struct abi_random *random)
{
	static const __u8 rma[] = { UB_OP_WRITE, UB_OP_WRITE_IMM, UB_OP_WRITE_NOTIFY, UB_OP_READ,
				    UB_OP_CAS, UB_OP_FADD, UB_OP_SEND, UB_OP_SEND_IMM };
	__u64 n = abi_random(random);

	switch (n % 8) {
	case 0:
		abi_entry_copy(entry, some_va(random), some_va(random), some_len(random));
		break;
	case 1:
		abi_entry_fill(entry, some_va(random), some_len(random), 0, 1);
		break;
	case 2:
		abi_entry_wait(entry, some_va(random) & ~7ULL, n / 8 % 4, n / 32 % 3);
		break;
	case 3:
		abi_entry_signal(entry, some_va(random) & ~7ULL, n / 8 % 2, n / 32 % 3);
		break;
	case 4:
		abi_entry_launch(entry, 1, n / 8 % 100000);
		entry->launch.launch_flags = n / 8 % 2;
		break;
	case 5:
		abi_entry_sync(entry, n / 8 % 2 ? CMX_OP_BARRIER : CMX_OP_DELAY, 0);
		if (n / 8 % 16 == 0)
			entry->delay.ps = some_len(random);
		break;
	default:
		abi_entry_rma(entry, rma[n / 8 % sizeof(rma)], some_va(random), some_va(random),
			      some_len(random));
		entry->header.slots = 1 + n / 64 % 4;
		entry->rma.num_sge = n / 256 % 16 ? 0 : 1;
		break;
	}
	if (n / 4096 % 4 == 0)
		entry->header.flags = n / 65536 % 64;
	if (n / 1048576 % 4 == 0)
		entry->words[abi_random(random) % 8] ^= 1ULL << abi_random(random) % 64;
}

/* One change to what the client may write. */
static void disturb(FIXTURE_DATA(race) *self, struct abi_random *random)
{
	__u64 n = abi_random(random);
	struct abi_ring *queue = &self->queues[n % QUEUES];
	struct abi_cq *cq = &self->cqs[n / 4 % QUEUES];
	union abi_entry entry;

	switch (n / 16 % 16) {
	case 0:
		queue->producer->tail = queue->consumer->head + n / 256 % (SLOTS + 2);
		break;
	case 1:
		if (n / 256 % 16 == 0)
			queue->producer->tail = (__u32)(n >> 32);
		break;
	case 2:
		cq->consumer->head = cq->producer->tail - n / 256 % 66;
		break;
	case 3:
		cq->consumer->arm = n / 256 % 4;
		break;
	case 4:
		self->world.clock.doorbell[n / 256 % CMX_DOORBELL_WORDS] = abi_random(random);
		break;
	case 5:
		queue->slot[n / 256 % SLOTS][n / 65536 % CMX_SLOT_SIZE] = (__u8)(n >> 40);
		break;
	default:
		some_entry(&entry, random);
		memcpy(queue->slot[n / 256 % (SLOTS - 3)], entry.bytes,
		       entry.header.slots < 5 ? entry.header.slots * CMX_SLOT_SIZE : 64);
		break;
	}
	__atomic_fetch_or(&self->world.clock.doorbell[queue->doorbell / 64],
			  1ULL << queue->doorbell % 64, __ATOMIC_SEQ_CST);
}

static void *keep_disturbing(void *data)
{
	FIXTURE_DATA(race) *self = data;
	struct abi_random random = { self->seed };

	while (!self->stop) {
		unsigned int i;

		for (i = 0; i < 50; i++)
			disturb(self, &random);
		sched_yield();
	}
	return NULL;
}

/* A status, an event or an error the ABI does not have. */
static bool known_cqe(const struct cmx_cqe *cqe)
{
	if (cqe->status <= UB_CR_REM_DATA_POISON)
		return true;
	return cqe->status >= CMX_CR_CANCELED && cqe->status <= CMX_CR_TIME_OVERFLOW;
}

/** struct runner_thread - one that runs, recovers and looks. */
struct runner_thread {
	FIXTURE_DATA(race) *self;
	struct abi_runner runner;
	pthread_t thread;
	__u32 flags;
	__u64 rounds;
	__u64 unknown;
	__u64 good;
	int error;
};

static bool allowed(int ret)
{
	return ret >= CMX_RUN_DONE && ret <= CMX_RUN_INTERRUPTED;
}

/* Posts what a good client would, where the ring is now. */
static void post_good(struct runner_thread *t)
{
	FIXTURE_DATA(race) *self = t->self;
	union abi_entry entry;
	unsigned int q, i;

	for (q = 0; q < QUEUES; q++) {
		struct abi_ring *queue = &self->queues[q];

		queue->tail = __atomic_load_n(&queue->consumer->head, __ATOMIC_ACQUIRE);
		for (i = 0; i < 6; i++) {
			if (q % 3 == CMX_QUEUE_STREAM && i % 2)
				abi_entry_launch(&entry, 1, 1000);
			else if (q % 3 == CMX_QUEUE_UB)
				abi_entry_rma(&entry, UB_OP_WRITE, ABI_VA, ABI_VA * 2, 100 * i + 1);
			else
				abi_entry_copy(&entry, ABI_VA * 2, ABI_VA, 1000 * i + 1);
			abi_post(queue, &entry);
		}
		abi_kick(self->world.fd, &self->world.clock, queue);
	}
}

/* Looks at what is new in the completion rings, whoever moved their heads. */
static void look(struct runner_thread *t)
{
	FIXTURE_DATA(race) *self = t->self;
	unsigned int q;

	for (q = 0; q < QUEUES; q++) {
		struct abi_cq *cq = &self->cqs[q];
		__u32 tail = __atomic_load_n(&cq->producer->tail, __ATOMIC_ACQUIRE);

		while (cq->head != tail) {
			const struct cmx_cqe *cqe = &cq->cqes[cq->head++ & (cq->entries - 1)];

			t->unknown += !known_cqe(cqe);
			t->good += cqe->status == UB_CR_SUCCESS;
		}
		cq->consumer->head = tail;
		if (self->queues[q].consumer->state == UB_QUEUE_ERROR)
			abi_queue_state(self->world.fd, self->queues[q].handle, UB_QUEUE_READY);
	}
}

static void *keep_running(void *data)
{
	struct runner_thread *t = data;
	struct drm_cmx_run run;
	int ret;

	while (!t->self->stop) {
		abi_run_args(&run, t->flags & CMX_RUN_HELPER ? CMX_UNTIL_NONE :
							       CMX_UNTIL_PROGRESS, 0);
		run.flags = t->flags;
		run.host_timeout_ns = 20000000;
		ret = abi_run_through(t->self->world.fd, &run, &t->runner);
		if (!allowed(ret)) {
			t->error = ret;
			break;
		}
		t->rounds++;
		if (t->flags & CMX_RUN_HELPER)
			continue;
		look(t);
		if (t->rounds % 4 == 0)
			post_good(t);
	}
	return NULL;
}

static void run_threads(FIXTURE_DATA(race) *self, struct runner_thread *threads, unsigned int n)
{
	pthread_t disturber;
	unsigned int i;

	for (i = 0; i < n; i++) {
		threads[i].self = self;
		threads[i].flags = i ? CMX_RUN_HELPER : 0;
		pthread_create(&threads[i].thread, NULL, keep_running, &threads[i]);
	}
	pthread_create(&disturber, NULL, keep_disturbing, self);
	sleep(self->seconds);
	self->stop = true;
	pthread_join(disturber, NULL);
	for (i = 0; i < n; i++)
		pthread_join(threads[i].thread, NULL);
}

TEST_F_TIMEOUT(race, one_runner, 120)
{
	static struct runner_thread thread;

	run_threads(self, &thread, 1);
	EXPECT_EQ(0, thread.error);
	EXPECT_EQ(0, thread.unknown);
	EXPECT_LT(0, thread.good);
	printf("# %llu rounds, %llu launches, %llu good entries\n", thread.rounds,
	       thread.runner.launched, thread.good);
}

TEST_F_TIMEOUT(race, three_runners, 120)
{
	static struct runner_thread threads[3];
	unsigned int i;

	run_threads(self, threads, 3);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, threads[i].error);
		EXPECT_EQ(0, threads[i].unknown);
	}
	EXPECT_LT(0, threads[0].good);
	printf("# %llu, %llu, %llu rounds, %llu good entries\n", threads[0].rounds,
	       threads[1].rounds, threads[2].rounds, threads[0].good);
}

/* Objects and mappings come and go while runners work on them. */
static void *keep_remapping(void *data)
{
	FIXTURE_DATA(race) *self = data;
	struct abi_random random = { self->seed + 1 };
	struct drm_cmx_queue_create args;
	struct abi_ring queue;
	struct abi_mem mem;

	while (!self->stop) {
		__u64 n = abi_random(&random);

		if (!abi_mem_create(self->world.fd, n % 2, ABI_VA * 2 + 6 * ABI_PAGE,
				    ABI_PAGE * (1 + n / 2 % 8), &mem)) {
			mem.bytes[0] = 1;
			sched_yield();
			abi_mem_destroy(self->world.fd, &mem);
		}
		abi_queue_args(&args, n / 16 % 3, self->cqs[n / 64 % QUEUES].handle);
		if (abi_queue_create(self->world.fd, &args, &queue))
			continue;
		memset(queue.slot, (int)(n >> 32), SLOTS * CMX_SLOT_SIZE);
		queue.producer->tail = n / 256 % 70;
		self->world.clock.doorbell[queue.doorbell / 64] |= 1ULL << queue.doorbell % 64;
		sched_yield();
		abi_queue_destroy(self->world.fd, &queue);
	}
	return NULL;
}

TEST_F_TIMEOUT(race, with_changes, 120)
{
	static struct runner_thread threads[2];
	pthread_t changer;

	ASSERT_EQ(0, pthread_create(&changer, NULL, keep_remapping, self));
	run_threads(self, threads, 2);
	pthread_join(changer, NULL);
	EXPECT_EQ(0, threads[0].error);
	EXPECT_EQ(0, threads[1].error);
	EXPECT_EQ(0, threads[0].unknown);
}

TEST_HARNESS_MAIN
