// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once, by chance: processes of several threads that call every ioctl with
 * nearly valid arguments, map, unmap, fork, pass on, poll and are killed. Nothing is
 * expected of a single call; the kernel must live, hang nothing and leak nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include "kselftest_harness.h"

#include "cmx_host.h"
#include "cmx_run.h"

#define THREADS		3
#define PROCESSES	3

/** struct actor - a thread. */
struct actor {
	struct abi_world *world;
	struct abi_random random;
	struct abi_runner runner;
	struct drm_cmx_run run;
	bool has_batch;
	pthread_t thread;
	__u64 stop_ms;
	__u64 calls;
	__u64 arg[ABI_ARG_SIZE / 8];
};

static __u64 host_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static __u64 interesting(struct abi_random *random)
{
	static const __u64 values[] = { 0, 1, 2, 3, 4, 7, 8, 64, 4095, 4096, 8192, ABI_VA,
					ABI_VA + 4096, 1ULL << 31, 1ULL << 32, 1ULL << 55,
					1ULL << 63, ~0ULL, ~0ULL - 4095 };
	__u64 n = abi_random(random);

	return n % 4 ? values[n / 4 % ABI_ARRAY_SIZE(values)] : n >> n % 64;
}

/* A good call with now and then a field that is not. */
static void any_call(struct actor *a)
{
	__u64 n = abi_random(&a->random);
	const struct abi_call *call = &abi_calls[n % abi_num_calls];
	unsigned int changes = n / 32 % 4 ? n / 256 % 2 : 3;
	int ret;

	if (_IOC_NR(call->request) - DRM_COMMAND_BASE == DRM_CMX_RUN ||
	    abi_prepare(a->world, call, a->arg))
		return;
	while (changes--) {
		n = abi_random(&a->random);
		abi_field_set(&call->fields[n % call->num_fields], a->arg,
			      interesting(&a->random));
	}
	ret = abi_ioctl(a->world->fd, call->request, a->arg);
	if (ret || abi_random(&a->random) % 8)
		abi_undo(a->world, call, a->arg, ret);
}

static void any_run(struct actor *a)
{
	__u64 n = abi_random(&a->random);
	int ret;

	if (!a->has_batch)
		abi_run_args(&a->run, n % 8, 0);
	a->run.host_timeout_ns = 1000000 * (1 + n / 8 % 5);
	if (n / 64 % 4 == 0)
		a->run.flags = n / 256 % 4;
	if (a->run.flags & CMX_RUN_HELPER)
		a->run.until = CMX_UNTIL_NONE;
	if (a->run.until == CMX_UNTIL_CQ)
		a->run.object = a->world->cq.handle;
	if (a->run.until == CMX_UNTIL_MEMORY)
		a->run.va = ABI_VA;
	abi_run_room(&a->run, &a->runner);
	ret = abi_run(a->world->fd, &a->run);
	a->run.outcomes.count = 0;
	a->has_batch = ret == CMX_RUN_BATCH;
	if (a->has_batch)
		abi_run_execute(&a->run, &a->runner);
}

static void any_entry(struct actor *a)
{
	struct abi_world *w = a->world;
	struct abi_ring *queues[] = { &w->stream, &w->sdma, &w->ub };
	__u64 n = abi_random(&a->random);
	struct abi_ring *queue = queues[n % 3];
	union abi_entry entry;

	switch (n / 4 % 6) {
	case 0:
		abi_entry_launch(&entry, 1, n / 64 % 1000000);
		break;
	case 1:
		abi_entry_fill(&entry, ABI_VA + n / 64 % 65536, n / 256 % 65536, 1, 1);
		break;
	case 2:
		abi_entry_wait(&entry, ABI_VA + 8 * (n / 64 % 64), n / 256 % 4, n / 1024 % 4);
		break;
	case 3:
		abi_entry_signal(&entry, ABI_VA + 8 * (n / 64 % 64), n / 256 % 2, n / 1024 % 4);
		break;
	case 4:
		abi_entry_rma(&entry, n / 64 % 2 ? UB_OP_READ : UB_OP_WRITE, ABI_VA,
			      ABI_VA + n / 256 % 65536, 1 + n / 65536 % 65536);
		break;
	default:
		abi_entry_copy(&entry, ABI_VA + n / 64 % 65536, ABI_VA, 1 + n / 65536 % 65536);
		break;
	}
	queue->tail = queue->consumer->head;
	abi_post(queue, &entry);
	abi_kick(w->fd, &w->clock, queue);
	w->cq.consumer->head = w->cq.producer->tail;
	if (queue->consumer->state == UB_QUEUE_ERROR)
		abi_queue_state(w->fd, queue->handle, UB_QUEUE_READY);
}

static void any_mapping(struct actor *a)
{
	struct abi_world *w = a->world;
	struct abi_map maps[] = { w->mem.map, w->cq.ro, w->cq.rw, w->stream.rw, w->ub.ro,
				  w->clock.status_map, w->clock.doorbell_map };
	__u64 n = abi_random(&a->random);
	struct abi_map map = maps[n % ABI_ARRAY_SIZE(maps)];

	if (n / 64 % 8 == 0)
		map.offset += interesting(&a->random) & ~4095ULL;
	if (abi_mmap(w->fd, &map, n / 512 % 4))
		return;
	mprotect(map.addr, map.size, n / 2048 % 8);
	if (n / 16384 % 2)
		madvise(map.addr, map.size, MADV_DONTNEED);
	mremap(map.addr, map.size, map.size * 2, n / 32768 % 2);
	munmap((char *)map.addr + map.size / 8192 * 4096, 4096);
	abi_munmap(&map);
}

static void any_sharing(struct actor *a)
{
	struct abi_world *w = a->world;
	int dmabuf = abi_prime_export(w->fd, w->mem.handle);
	struct pollfd poll_fd = { .fd = w->fd, .events = POLLIN | POLLPRI };
	struct cmx_event event;
	__u32 handle;

	if (dmabuf >= 0) {
		if (!abi_prime_import(w->other, dmabuf, &handle))
			abi_gem_close(w->other, handle);
		close(dmabuf);
	}
	poll(&poll_fd, 1, 0);
	abi_event_take(w->fd, &event);
}

static void any_fork(struct actor *a)
{
	pid_t child;

	if (abi_random(&a->random) % 16)
		return;
	child = fork();
	if (!child) {
		any_call(a);
		_exit(0);
	}
	if (child > 0)
		waitpid(child, NULL, 0);
}

static void *act(void *data)
{
	struct actor *a = data;

	while (host_ms() < a->stop_ms) {
		a->calls++;
		switch (abi_random(&a->random) % 16) {
		case 0 ... 5:
			any_call(a);
			break;
		case 6 ... 8:
			any_entry(a);
			break;
		case 9 ... 12:
			any_run(a);
			break;
		case 13:
			any_mapping(a);
			break;
		case 14:
			any_sharing(a);
			break;
		default:
			any_fork(a);
			break;
		}
	}
	return NULL;
}

/* A process: its threads on one world, until the time is over. Never returns. */
static void be_process(__u64 seed, __u64 stop_ms)
{
	static struct actor actors[THREADS];
	struct abi_world world;
	__u64 calls = 0;
	unsigned int i;

	if (abi_world_open(&world))
		_exit(1);
	for (i = 0; i < THREADS; i++) {
		actors[i].world = &world;
		actors[i].random.state = seed + i;
		actors[i].stop_ms = stop_ms;
		if (pthread_create(&actors[i].thread, NULL, act, &actors[i]))
			_exit(2);
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(actors[i].thread, NULL);
		calls += actors[i].calls;
	}
	abi_world_close(&world);
	printf("# %llu steps\n", calls);
	fflush(stdout);
	_exit(0);
}

FIXTURE(stress) {
	struct abi_random random;
	__u64 stop_ms;
};

FIXTURE_SETUP(stress)
{
	self->random.state = abi_seed();
	self->stop_ms = host_ms() + 1000ULL * abi_setting("CMX_SECONDS", 5);
	ASSERT_TRUE(abi_all_free());
}

FIXTURE_TEARDOWN(stress)
{
	EXPECT_TRUE(abi_all_free());
}

/* The last of the processes is killed and made anew all the time. */
TEST_F_TIMEOUT(stress, everything, 400)
{
	pid_t children[PROCESSES];
	unsigned int i, last = PROCESSES - 1;
	int status;

	for (i = 0; i < PROCESSES; i++) {
		__u64 seed = abi_random(&self->random);

		children[i] = fork();
		ASSERT_GE(children[i], 0);
		if (!children[i])
			be_process(seed, self->stop_ms);
	}
	while (host_ms() < self->stop_ms) {
		__u64 seed = abi_random(&self->random);

		usleep(seed % 300000);
		kill(children[last], SIGKILL);
		ASSERT_EQ(children[last], waitpid(children[last], &status, 0));
		children[last] = fork();
		ASSERT_GE(children[last], 0);
		if (!children[last])
			be_process(seed, self->stop_ms);
	}
	for (i = 0; i < PROCESSES; i++) {
		ASSERT_EQ(children[i], waitpid(children[i], &status, 0));
		EXPECT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status))
			TH_LOG("process %u: status %#x", i, status);
	}
}

TEST_HARNESS_MAIN
