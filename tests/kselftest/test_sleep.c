// SPDX-License-Identifier: GPL-2.0-only
/* Who sleeps in RUN and in poll(), what wakes them, and that long work can be stopped. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "kselftest_harness.h"

#include "cmx_run.h"

#define SRC	ABI_VA
#define DST	(ABI_VA + ABI_WORLD_PAGES / 2 * ABI_PAGE)

/** struct sleeper - a thread in RUN or poll(). */
struct sleeper {
	struct abi_world *world;
	struct drm_cmx_run run;
	struct abi_runner runner;
	pthread_t thread;
	int ret;
};

FIXTURE(sleep) {
	struct abi_world world;
	union abi_entry entry;
	struct sleeper sleeper;
	struct cmx_cqe cqe;
};

FIXTURE_SETUP(sleep)
{
	ASSERT_EQ(0, abi_world_open(&self->world));
	memset(&self->sleeper, 0, sizeof(self->sleeper));
	self->sleeper.world = &self->world;
}

FIXTURE_TEARDOWN(sleep)
{
	abi_world_close(&self->world);
}

static void *sleep_in_run(void *data)
{
	struct sleeper *s = data;

	s->ret = abi_run_through(s->world->fd, &s->run, &s->runner);
	return NULL;
}

static void *sleep_in_poll(void *data)
{
	struct sleeper *s = data;
	struct pollfd poll_fd = { .fd = s->world->fd, .events = POLLIN };

	s->ret = poll(&poll_fd, 1, 20000) == 1 ? poll_fd.revents : -ETIMEDOUT;
	return NULL;
}

static int set_actor(struct abi_world *world, __u32 op, __u32 *actor)
{
	struct drm_cmx_actor args = { .op = op, .actor = op == CMX_ACTOR_REMOVE ? *actor : 0 };
	int ret = abi_ioctl(world->fd, DRM_IOCTL_CMX_ACTOR, &args);

	*actor = args.actor;
	return ret;
}

/* The flag for submitters is up: a thread sleeps. Bounded, as everything. */
static bool asleep(const struct abi_world *world)
{
	unsigned int tries;

	for (tries = 0; tries < 5000; tries++) {
		if (__atomic_load_n(&world->clock.status->need_wakeup, __ATOMIC_ACQUIRE))
			return true;
		usleep(1000);
	}
	return false;
}

/* A helper sleeps; nobody else calls RUN: the doorbell and WAKE are enough. */
TEST_F(sleep, doorbell_wakes_helper)
{
	__u32 actor = 0;
	unsigned int i, tries;

	ASSERT_EQ(0, set_actor(&self->world, CMX_ACTOR_REMOVE, &actor));
	abi_run_args(&self->sleeper.run, CMX_UNTIL_NONE, 0);
	self->sleeper.run.flags = CMX_RUN_HELPER;
	self->sleeper.run.host_timeout_ns = 3000000000;
	ASSERT_EQ(0, pthread_create(&self->sleeper.thread, NULL, sleep_in_run, &self->sleeper));
	for (i = 0; i < 20; i++) {
		ASSERT_TRUE(asleep(&self->world));
		if (i % 2)
			abi_entry_copy(&self->entry, DST, SRC, 64);
		else
			abi_entry_launch(&self->entry, 1, 1000);
		ASSERT_EQ(0, abi_submit(&self->world, &self->world.stream, &self->entry));
		for (tries = 0; !abi_cq_ready(&self->world.cq) && tries < 5000; tries++)
			usleep(1000);
		ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->cqe));
		EXPECT_EQ(UB_CR_SUCCESS, self->cqe.status);
	}
	pthread_join(self->sleeper.thread, NULL);
	EXPECT_EQ(CMX_RUN_TIMEOUT, self->sleeper.ret);
	EXPECT_EQ(10, self->sleeper.runner.launched);
	EXPECT_EQ(0, self->world.clock.status->need_wakeup);
}

/* poll() sleeps until an armed ring gets a completion in another thread's RUN. */
TEST_F(sleep, poll_wakes)
{
	self->world.cq.consumer->arm = CMX_CQ_ARM_ANY;
	ASSERT_EQ(0, pthread_create(&self->sleeper.thread, NULL, sleep_in_poll, &self->sleeper));
	usleep(50000);
	abi_entry_copy(&self->entry, DST, SRC, 64);
	ASSERT_EQ(0, abi_carry_out(&self->world, &self->world.sdma, &self->entry, &self->cqe));
	pthread_join(self->sleeper.thread, NULL);
	EXPECT_EQ(POLLIN, self->sleeper.ret);
}

/* The host's signal ends the wait of another thread, and the queue's. */
TEST_F(sleep, signal_wakes)
{
	struct drm_cmx_signal signal = { .va = DST, .value = 5 };
	__u32 actor = 0;

	/* A second actor keeps the wait from being a stall. */
	ASSERT_EQ(0, set_actor(&self->world, CMX_ACTOR_ADD, &actor));
	abi_run_args(&self->sleeper.run, CMX_UNTIL_MEMORY, 5);
	self->sleeper.run.va = DST;
	ASSERT_EQ(0, pthread_create(&self->sleeper.thread, NULL, sleep_in_run, &self->sleeper));
	usleep(50000);
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_SIGNAL, &signal));
	pthread_join(self->sleeper.thread, NULL);
	EXPECT_EQ(CMX_RUN_DONE, self->sleeper.ret);
}

/* The ring somebody waits for goes. */
TEST_F(sleep, ring_destroyed)
{
	struct abi_cq cq;
	__u32 actor = 0;

	ASSERT_EQ(0, abi_cq_create(self->world.fd, 16, 0, &cq));
	ASSERT_EQ(0, set_actor(&self->world, CMX_ACTOR_ADD, &actor));
	abi_run_args(&self->sleeper.run, CMX_UNTIL_CQ, 1);
	self->sleeper.run.object = cq.handle;
	ASSERT_EQ(0, pthread_create(&self->sleeper.thread, NULL, sleep_in_run, &self->sleeper));
	usleep(50000);
	abi_cq_destroy(self->world.fd, &cq);
	pthread_join(self->sleeper.thread, NULL);
	EXPECT_EQ(CMX_RUN_STALL, self->sleeper.ret);
}

/* The timeline somebody sleeps on goes, or stays while it is slept on. */
TEST_F(sleep, timeline_destroyed)
{
	struct drm_cmx_timeline_create create = { 0 };
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_ADD };
	int ret;

	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_TIMELINE_CREATE, &create));
	actor.timeline = create.handle;
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	abi_run_args(&self->sleeper.run, CMX_UNTIL_TIME, 1000);
	self->sleeper.run.timeline = create.handle;
	self->sleeper.run.host_timeout_ns = 2000000000;
	ASSERT_EQ(0, pthread_create(&self->sleeper.thread, NULL, sleep_in_run, &self->sleeper));
	usleep(50000);
	ret = abi_destroy(self->world.fd, CMX_OBJECT_TIMELINE, create.handle);
	EXPECT_TRUE(ret == 0 || ret == -EBUSY);
	pthread_join(self->sleeper.thread, NULL);
	EXPECT_EQ(ret ? CMX_RUN_TIMEOUT : -ENOENT, self->sleeper.ret);
}

/* An actor that a thread waits for cannot go, nor be waited for twice. */
TEST_F(sleep, actor_in_use)
{
	__u32 actor = 0, zero = 0;
	struct drm_cmx_run run;

	ASSERT_EQ(0, set_actor(&self->world, CMX_ACTOR_ADD, &actor));
	abi_run_args(&self->sleeper.run, CMX_UNTIL_TIME, 1000);
	self->sleeper.run.host_timeout_ns = 1000000000;
	ASSERT_EQ(0, pthread_create(&self->sleeper.thread, NULL, sleep_in_run, &self->sleeper));
	usleep(50000);
	EXPECT_EQ(-EBUSY, set_actor(&self->world, CMX_ACTOR_REMOVE, &zero));
	abi_run_args(&run, CMX_UNTIL_IDLE, 0);
	EXPECT_EQ(-EBUSY, abi_run(self->world.fd, &run));
	/* The second actor waits as well: the clock moves, and the first is done. */
	run.actor = actor;
	run.until = CMX_UNTIL_TIME;
	run.value = 2000;
	run.host_timeout_ns = 100000000;
	EXPECT_EQ(CMX_RUN_TIMEOUT, abi_run(self->world.fd, &run));
	pthread_join(self->sleeper.thread, NULL);
	EXPECT_EQ(CMX_RUN_DONE, self->sleeper.ret);
}

static __u64 host_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000ULL + ts.tv_nsec / 1000000;
}

static void on_alarm(int number)
{
	(void)number;
}

static void make_long(struct abi_world *world, __u64 va, __u64 size)
{
	union abi_entry entry;
	unsigned int i;

	for (i = 0; i < 60; i++) {
		abi_entry_copy(&entry, va + size / 2, va, size / 2);
		abi_post(&world->sdma, &entry);
	}
	abi_kick(world->fd, &world->clock, &world->sdma);
}

/* Much to copy: a signal is answered soon, and the work is not lost. */
TEST_F_TIMEOUT(sleep, long_work_is_interrupted, 120)
{
	struct sigaction action = { .sa_handler = on_alarm };
	struct itimerspec when = {
		.it_value = { .tv_nsec = 10000000 },
		.it_interval = { .tv_nsec = 150000000 },
	};
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	unsigned int interrupted = 0;
	struct abi_mem mem;
	timer_t timer;
	__u64 start;
	int ret;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, timer_create(CLOCK_MONOTONIC, &event, &timer));
	ASSERT_EQ(0, abi_mem_create(self->world.fd, 0, ABI_VA * 2, 16 << 20, &mem));
	memset(mem.bytes, 0x77, 8 << 20);
	make_long(&self->world, ABI_VA * 2, 16 << 20);
	ASSERT_EQ(0, timer_settime(timer, 0, &when, NULL));
	do {
		start = host_ms();
		ret = abi_run_idle(self->world.fd, NULL);
		EXPECT_GT(3000, host_ms() - start);
		interrupted += ret == CMX_RUN_INTERRUPTED;
	} while (ret == CMX_RUN_INTERRUPTED);
	EXPECT_EQ(CMX_RUN_DONE, ret);
	EXPECT_LT(0, interrupted);
	EXPECT_EQ(60, abi_cq_ready(&self->world.cq));
	EXPECT_EQ(0x77, mem.bytes[(16 << 20) - 1]);
	timer_delete(timer);
	abi_mem_destroy(self->world.fd, &mem);
}

/* The same, killed. */
TEST_F(sleep, long_work_is_killed)
{
	pid_t child = fork();
	__u64 start;
	int status;

	ASSERT_GE(child, 0);
	if (!child) {
		struct abi_world world;
		struct abi_mem mem;

		if (abi_world_open(&world) ||
		    abi_mem_create(world.fd, 0, ABI_VA * 2, 16 << 20, &mem))
			_exit(1);
		for (;;) {
			make_long(&world, ABI_VA * 2, 16 << 20);
			abi_run_idle(world.fd, NULL);
		}
	}
	usleep(300000);
	start = host_ms();
	kill(child, SIGKILL);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_TRUE(WIFSIGNALED(status));
	EXPECT_GT(3000, host_ms() - start);
}

/* The end of the virtual clock. */
TEST_F(sleep, end_of_time)
{
	struct drm_cmx_run run;

	abi_run_args(&run, CMX_UNTIL_TIME, ~0ULL - 1000);
	ASSERT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &run));
	EXPECT_EQ(~0ULL - 1000, run.now_ps);
	abi_entry_copy(&self->entry, DST, SRC, 4096);
	ASSERT_EQ(0, abi_carry_out(&self->world, &self->world.sdma, &self->entry, &self->cqe));
	EXPECT_EQ(CMX_CR_TIME_OVERFLOW, self->cqe.status);
	ASSERT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->world.cq, 1, NULL));
	ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->cqe));
	EXPECT_EQ(CMX_CQE_MARKER, self->cqe.flags);
	abi_entry_launch(&self->entry, 1, 1000000);
	ASSERT_EQ(0, abi_carry_out(&self->world, &self->world.stream, &self->entry, &self->cqe));
	EXPECT_EQ(CMX_CR_TIME_OVERFLOW, self->cqe.status);
	EXPECT_EQ(0, self->world.mem.bytes[DST - SRC]);
}

TEST_HARNESS_MAIN
