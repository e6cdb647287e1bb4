// SPDX-License-Identifier: GPL-2.0-only
/* RUN: conditions, actors, helpers, stalls, ownership of batches, signals. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "kselftest_harness.h"

#include "cmx_run.h"

#define SRC	ABI_VA
#define DST	(ABI_VA + ABI_WORLD_PAGES / 2 * ABI_PAGE)

FIXTURE(run) {
	struct abi_world world;
	union abi_entry entry;
	struct drm_cmx_run run;
	struct abi_runner runner;
	struct cmx_cqe cqe;
};

FIXTURE_SETUP(run)
{
	ASSERT_EQ(0, abi_world_open(&self->world));
	memset(&self->runner, 0, sizeof(self->runner));
}

FIXTURE_TEARDOWN(run)
{
	abi_world_close(&self->world);
}

static int submit_copy(FIXTURE_DATA(run) *self, struct abi_ring *queue, __u64 len)
{
	abi_entry_copy(&self->entry, DST, SRC, len);
	return abi_submit(&self->world, queue, &self->entry);
}

static int submit_wait(FIXTURE_DATA(run) *self, struct abi_ring *queue, __u64 value)
{
	abi_entry_wait(&self->entry, DST, CMX_COND_EQ, value);
	return abi_submit(&self->world, queue, &self->entry);
}

static int submit_launch(FIXTURE_DATA(run) *self)
{
	abi_entry_launch(&self->entry, 1, 1000);
	return abi_submit(&self->world, &self->world.stream, &self->entry);
}

TEST_F(run, until_idle)
{
	abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	ASSERT_EQ(0, submit_copy(self, &self->world.sdma, 4096));
	ASSERT_EQ(0, submit_copy(self, &self->world.stream, 4096));
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	EXPECT_EQ(2, abi_cq_ready(&self->world.cq));
	EXPECT_EQ(self->run.now_ps, self->world.clock.status->now_ps);
}

TEST_F(run, until_cq)
{
	unsigned int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, submit_copy(self, &self->world.sdma, 100));
	abi_run_args(&self->run, CMX_UNTIL_CQ, 2);
	self->run.object = self->world.cq.handle;
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	EXPECT_LE(2, abi_cq_ready(&self->world.cq));
	/* Already reached. */
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	self->run.value = 4;
	EXPECT_EQ(CMX_RUN_STALL, abi_run(self->world.fd, &self->run));
	EXPECT_EQ(3, abi_cq_ready(&self->world.cq));
}

TEST_F(run, until_memory)
{
	__u64 *flag = (__u64 *)(self->world.mem.bytes + (DST - SRC));

	abi_entry_signal(&self->entry, DST, CMX_SIGNAL_ADD, 1);
	ASSERT_TRUE(abi_post(&self->world.sdma, &self->entry));
	ASSERT_TRUE(abi_post(&self->world.sdma, &self->entry));
	ASSERT_EQ(0, abi_submit(&self->world, &self->world.sdma, &self->entry));
	abi_run_args(&self->run, CMX_UNTIL_MEMORY, 2);
	self->run.va = DST;
	self->run.cond = CMX_COND_GE;
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	EXPECT_LE(2, *flag);
	self->run.value = 100;
	EXPECT_EQ(CMX_RUN_STALL, abi_run(self->world.fd, &self->run));
	EXPECT_EQ(3, *flag);
	/* A host store is no device write, but is looked at when RUN comes in. */
	*flag = 100;
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
}

TEST_F(run, until_time)
{
	__u64 now = self->world.clock.status->now_ps;

	abi_run_args(&self->run, CMX_UNTIL_TIME, now + 123456789);
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	EXPECT_EQ(now + 123456789, self->run.now_ps);
	EXPECT_EQ(now + 123456789, self->world.clock.status->now_ps);
	/* The past is reached already; a copy begins when the clock says. */
	self->run.value = now;
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	EXPECT_EQ(now + 123456789, self->run.now_ps);
	ASSERT_EQ(0, submit_copy(self, &self->world.sdma, 64));
	ASSERT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
	ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->cqe));
	EXPECT_LT(now + 123456789, self->cqe.time_ps);
}

TEST_F(run, until_progress)
{
	abi_run_args(&self->run, CMX_UNTIL_PROGRESS, 0);
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	ASSERT_EQ(0, submit_copy(self, &self->world.sdma, 100));
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	EXPECT_EQ(1, abi_cq_ready(&self->world.cq));
	/* A poll that finds nothing ends as well. */
	ASSERT_EQ(0, submit_wait(self, &self->world.sdma, 1));
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	EXPECT_EQ(1, abi_cq_ready(&self->world.cq));
}

/* Nothing else can happen: who waits for what is told. */
TEST_F(run, stall)
{
	struct drm_cmx_queue_query query;

	ASSERT_EQ(0, submit_wait(self, &self->world.stream, 4711));
	ASSERT_EQ(0, submit_copy(self, &self->world.stream, 64));
	EXPECT_EQ(CMX_RUN_STALL, abi_run_idle(self->world.fd, NULL));
	ASSERT_EQ(0, abi_queue_query(self->world.fd, self->world.stream.handle, &query));
	EXPECT_EQ(CMX_WAITING_MEMORY, query.waiting);
	EXPECT_EQ(DST, query.wait_va);
	EXPECT_EQ(4711, query.wait_value);
	EXPECT_EQ(CMX_COND_EQ, query.wait_cond);
	EXPECT_EQ(CMX_OP_WAIT, query.opcode);
	EXPECT_EQ(1, query.inflight);
	EXPECT_EQ(UB_QUEUE_READY, query.state);
	ASSERT_EQ(0, abi_queue_query(self->world.fd, self->world.sdma.handle, &query));
	EXPECT_EQ(CMX_WAITING_ENTRY, query.waiting);
	EXPECT_EQ(~0U, query.opcode);
}

/* The host's signal ends the stall and says what was there. */
TEST_F(run, host_signal)
{
	struct drm_cmx_signal args = { .va = DST, .op = CMX_SIGNAL_ADD, .value = 4711 };

	ASSERT_EQ(0, submit_wait(self, &self->world.stream, 4711));
	EXPECT_EQ(CMX_RUN_STALL, abi_run_idle(self->world.fd, NULL));
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_SIGNAL, &args));
	EXPECT_EQ(0, args.old);
	EXPECT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
	ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->cqe));
	EXPECT_EQ(UB_CR_SUCCESS, self->cqe.status);
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_SIGNAL, &args));
	EXPECT_EQ(4711, args.old);
}

static __u64 host_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* Another actor runs, so the clock stands; the host's patience ends. */
TEST_F(run, timeout)
{
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_ADD };
	__u64 start = host_ns();

	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	EXPECT_NE(0, actor.actor);
	ASSERT_EQ(0, submit_copy(self, &self->world.sdma, 100));
	abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
	self->run.host_timeout_ns = 50000000;
	EXPECT_EQ(CMX_RUN_TIMEOUT, abi_run(self->world.fd, &self->run));
	EXPECT_LE(50000000, host_ns() - start);
	EXPECT_EQ(0, abi_cq_ready(&self->world.cq));
	self->run.flags = CMX_RUN_NOBLOCK;
	EXPECT_EQ(CMX_RUN_AGAIN, abi_run(self->world.fd, &self->run));
	actor.op = CMX_ACTOR_REMOVE;
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	EXPECT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
	EXPECT_EQ(1, abi_cq_ready(&self->world.cq));
}

TEST_F(run, actor_counts)
{
	struct drm_cmx_timeline_query query = { 0 };
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_ADD };

	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_TIMELINE_QUERY, &query));
	EXPECT_EQ(1, query.members);
	EXPECT_EQ(1, query.actors);
	EXPECT_EQ(1, query.actors_running);
	EXPECT_EQ(3, query.queues);
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_TIMELINE_QUERY, &query));
	EXPECT_EQ(2, query.actors);
	/* Actor 0 may go: all its submitters are added ones. */
	actor = (struct drm_cmx_actor){ .op = CMX_ACTOR_REMOVE };
	EXPECT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	EXPECT_EQ(-ENOENT, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
	EXPECT_EQ(-ENOENT, abi_run(self->world.fd, &self->run));
	self->run.actor = 1;
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
}

/* A batch is out: what else the thread may do, and what others may. */
TEST_F(run, batch_rules)
{
	struct drm_cmx_queue_query query;
	struct drm_cmx_run again;
	__u64 batch;

	ASSERT_EQ(0, submit_launch(self));
	abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
	abi_run_room(&self->run, &self->runner);
	ASSERT_EQ(CMX_RUN_BATCH, abi_run(self->world.fd, &self->run));
	ASSERT_EQ(1, self->run.launches.count);
	batch = self->run.batch;
	EXPECT_NE(0, batch);
	ASSERT_EQ(0, abi_queue_query(self->world.fd, self->world.stream.handle, &query));
	EXPECT_EQ(CMX_WAITING_OUTCOME, query.waiting);
	EXPECT_EQ(syscall(SYS_gettid), query.owner);
	/* Not without its outcomes, nor with another's, nor with a wrong count. */
	abi_run_args(&again, CMX_UNTIL_IDLE, 0);
	abi_run_room(&again, &self->runner);
	EXPECT_EQ(-EBUSY, abi_run(self->world.fd, &again));
	again.batch = batch + 1;
	EXPECT_GT(0, abi_run(self->world.fd, &again));
	again.batch = batch;
	EXPECT_EQ(-EINVAL, abi_run(self->world.fd, &again));
	again.outcomes.stride = sizeof(self->runner.outcomes[0]);
	again.outcomes.pointer = abi_addr(self->runner.outcomes);
	again.outcomes.count = 2;
	EXPECT_EQ(-EINVAL, abi_run(self->world.fd, &again));
	again.outcomes.count = 1;
	again.outcomes.pointer = 8;
	EXPECT_EQ(-EFAULT, abi_run(self->world.fd, &again));
	/* After all that it is still this thread's. */
	abi_run_execute(&self->run, &self->runner);
	EXPECT_EQ(CMX_RUN_DONE, abi_run_through(self->world.fd, &self->run, &self->runner));
	EXPECT_EQ(1, self->runner.launched);
	/* And over: the number means nothing now. */
	again.outcomes.pointer = abi_addr(self->runner.outcomes);
	EXPECT_GT(0, abi_run(self->world.fd, &again));
}

/* Room that cannot be written: the batch is not lost. */
TEST_F(run, batch_bad_room)
{
	ASSERT_EQ(0, submit_launch(self));
	abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
	abi_run_room(&self->run, &self->runner);
	self->run.launches.pointer = 16;
	EXPECT_EQ(-EFAULT, abi_run(self->world.fd, &self->run));
	abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
	EXPECT_EQ(CMX_RUN_DONE, abi_run_through(self->world.fd, &self->run, &self->runner));
	EXPECT_EQ(1, self->runner.launched);
	EXPECT_EQ(1, abi_cq_ready(&self->world.cq));
}

/* Bad outcomes are refused field by field, and can be corrected. */
TEST_F(run, bad_outcomes)
{
	static const struct { __u16 offset, size; __u64 value; } cases[] = {
#define CASE(member, value)							\
	{ offsetof(struct drm_cmx_outcome, member),				\
	  sizeof(((struct drm_cmx_outcome *)0)->member), value }
		CASE(status, CMX_OUTCOME_SKIPPED + 1), CASE(status, ~0U), CASE(code, 5),
		CASE(cost.op_class, CMX_OPS_CLASSES),
		CASE(cost.efficiency, CMX_EFF_CLASSES), CASE(records.count, ~0U),
#undef CASE
	};
	struct drm_cmx_outcome *outcome = &self->runner.outcomes[0];
	struct drm_cmx_run good;
	unsigned int i;

	ASSERT_EQ(0, submit_launch(self));
	abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
	abi_run_room(&self->run, &self->runner);
	ASSERT_EQ(CMX_RUN_BATCH, abi_run(self->world.fd, &self->run));
	abi_run_execute(&self->run, &self->runner);
	good = self->run;
	for (i = 0; i < ABI_ARRAY_SIZE(cases); i++) {
		struct drm_cmx_outcome saved = *outcome;

		memcpy((char *)outcome + cases[i].offset, &cases[i].value, cases[i].size);
		self->run = good;
		EXPECT_EQ(-EINVAL, abi_run(self->world.fd, &self->run))
			TH_LOG("offset %u = %#llx", cases[i].offset, cases[i].value);
		*outcome = saved;
	}
	self->run = good;
	EXPECT_EQ(CMX_RUN_DONE, abi_run_through(self->world.fd, &self->run, &self->runner));
	ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->cqe));
	EXPECT_EQ(UB_CR_SUCCESS, self->cqe.status);
}

/* The address space that opened the file is the one that may run. */
TEST_F(run, other_process)
{
	int status;
	pid_t child;

	ASSERT_EQ(0, submit_copy(self, &self->world.sdma, 64));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
		_exit(abi_run(self->world.fd, &self->run) == -EPERM ? 0 : 1);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
	EXPECT_EQ(1, abi_cq_ready(&self->world.cq));
}

static void on_signal(int number)
{
	(void)number;
}

struct signaller {
	pthread_t target;
	pthread_t thread;
	unsigned int times;
};

static void *send_signals(void *data)
{
	struct signaller *signaller = data;
	unsigned int i;

	for (i = 0; i < signaller->times; i++) {
		usleep(20000);
		pthread_kill(signaller->target, SIGUSR1);
	}
	return NULL;
}

/* A signal ends RUN, restartable or not; it goes on from there. */
TEST_F(run, interrupted)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct signaller signaller = { .target = pthread_self(), .times = 1 };
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_ADD };

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	ASSERT_EQ(0, submit_launch(self));
	ASSERT_EQ(0, pthread_create(&signaller.thread, NULL, send_signals, &signaller));
	abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
	EXPECT_EQ(CMX_RUN_INTERRUPTED,
		  abi_run_through(self->world.fd, &self->run, &self->runner));
	pthread_join(signaller.thread, NULL);
	actor.op = CMX_ACTOR_REMOVE;
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	EXPECT_EQ(CMX_RUN_DONE, abi_run_through(self->world.fd, &self->run, &self->runner));
	EXPECT_EQ(1, self->runner.launched);
	EXPECT_EQ(1, abi_cq_ready(&self->world.cq));
}

/* Under a rain of signals every launch is executed exactly once. */
TEST_F(run, signals_and_batches)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct signaller signaller = { .target = pthread_self(), .times = 20 };
	unsigned int i, posted = 0;
	int ret;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, pthread_create(&signaller.thread, NULL, send_signals, &signaller));
	for (i = 0; i < 40; i++) {
		while (posted < 10 * (i + 1)) {
			abi_entry_launch(&self->entry, 1, 1000);
			self->entry.header.user_ctx = posted;
			ASSERT_TRUE(abi_post(&self->world.stream, &self->entry));
			posted++;
		}
		ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &self->world.stream));
		do {
			ret = abi_run_idle(self->world.fd, &self->runner);
		} while (ret == CMX_RUN_INTERRUPTED);
		ASSERT_EQ(CMX_RUN_DONE, ret);
		while (abi_cqe_take(&self->world.cq, &self->cqe))
			EXPECT_EQ(UB_CR_SUCCESS, self->cqe.status);
		usleep(5000);
	}
	pthread_join(signaller.thread, NULL);
	EXPECT_EQ(400, self->runner.launched);
}

struct helper {
	struct abi_world *world;
	struct abi_runner runner;
	pthread_t thread;
	int ret;
};

static void *help(void *data)
{
	struct helper *helper = data;
	struct drm_cmx_run run;

	abi_run_args(&run, CMX_UNTIL_NONE, 0);
	run.flags = CMX_RUN_HELPER;
	run.host_timeout_ns = 200000000;
	helper->ret = abi_run_through(helper->world->fd, &run, &helper->runner);
	return NULL;
}

/* A helper carries out and executes, but the clock does not wait for it. */
TEST_F(run, helper)
{
	struct helper helper = { .world = &self->world };
	unsigned int i;

	ASSERT_EQ(0, pthread_create(&helper.thread, NULL, help, &helper));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, submit_launch(self));
		ASSERT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, &self->runner));
		ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->cqe));
		EXPECT_EQ(UB_CR_SUCCESS, self->cqe.status);
	}
	pthread_join(helper.thread, NULL);
	EXPECT_EQ(CMX_RUN_TIMEOUT, helper.ret);
	EXPECT_EQ(20, self->runner.launched + helper.runner.launched);
}

/* A thread that ends with a batch: its launches fail, the rest goes on. */
static void *take_and_leave(void *data)
{
	struct helper *helper = data;
	struct drm_cmx_run run;

	abi_run_args(&run, CMX_UNTIL_NONE, 0);
	run.flags = CMX_RUN_HELPER;
	abi_run_room(&run, &helper->runner);
	helper->ret = abi_run(helper->world->fd, &run);
	return NULL;
}

TEST_F(run, owner_ends)
{
	struct helper helper = { .world = &self->world };
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_REMOVE };

	ASSERT_EQ(0, submit_launch(self));
	/* Actor 0 would keep the clock from moving while this thread waits for the other. */
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	ASSERT_EQ(0, pthread_create(&helper.thread, NULL, take_and_leave, &helper));
	pthread_join(helper.thread, NULL);
	ASSERT_EQ(CMX_RUN_BATCH, helper.ret);
	actor.op = CMX_ACTOR_ADD;
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	abi_run_args(&self->run, CMX_UNTIL_CQ, 1);
	self->run.object = self->world.cq.handle;
	self->run.actor = actor.actor;
	EXPECT_EQ(CMX_RUN_DONE, abi_run_through(self->world.fd, &self->run, &self->runner));
	ASSERT_TRUE(abi_cqe_take(&self->world.cq, &self->cqe));
	EXPECT_EQ(CMX_CR_CANCELED, self->cqe.status);
	EXPECT_EQ(0, self->runner.launched);
}

/* poll() tells of an armed ring and of events. */
TEST_F(run, poll)
{
	struct pollfd poll_fd = { .fd = self->world.fd, .events = POLLIN | POLLPRI };
	struct cmx_event event;

	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
	EXPECT_EQ(0, abi_event_take(self->world.fd, &event));
	self->world.cq.consumer->arm = CMX_CQ_ARM_ANY;
	ASSERT_EQ(0, submit_copy(self, &self->world.sdma, 64));
	ASSERT_EQ(0, submit_copy(self, &self->world.sdma, 64));
	ASSERT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
	EXPECT_EQ(1, poll(&poll_fd, 1, 0));
	EXPECT_EQ(POLLIN, poll_fd.revents & (POLLIN | POLLPRI));
	EXPECT_EQ(0, self->world.cq.consumer->arm);
	ASSERT_EQ(1, abi_event_take(self->world.fd, &event));
	EXPECT_EQ(CMX_EVENT_CQ, event.type);
	EXPECT_EQ(self->world.cq.handle, event.object);
	EXPECT_EQ(0, event.pad);
	EXPECT_EQ(0, abi_event_take(self->world.fd, &event));
	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
}

/* More events than are kept: the number of the others is told once. */
TEST_F(run, lost_events)
{
	struct pollfd poll_fd = { .fd = self->world.fd, .events = POLLIN | POLLPRI };
	struct drm_cmx_events args = { 0 };
	struct cmx_event event;
	__u32 kept = self->world.limits.max_events, i;
	int ret;

	for (i = 0; i < kept + 5; i++) {
		self->world.cq.consumer->arm = CMX_CQ_ARM_ANY;
		ASSERT_EQ(0, submit_copy(self, &self->world.sdma, 64));
		ASSERT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, NULL));
		while (abi_cqe_take(&self->world.cq, &self->cqe))
			;
	}
	EXPECT_EQ(1, poll(&poll_fd, 1, 0));
	EXPECT_EQ(POLLIN | POLLPRI, poll_fd.revents & (POLLIN | POLLPRI));
	args.events = (struct drm_cmx_array){ sizeof(event), 1, abi_addr(&event) };
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_EVENTS, &args));
	EXPECT_EQ(5, args.lost);
	EXPECT_EQ(1, args.events.count);
	for (i = 1; (ret = abi_event_take(self->world.fd, &event)) == 1; i++)
		;
	EXPECT_EQ(0, ret);
	EXPECT_EQ(kept, i);
	EXPECT_EQ(0, poll(&poll_fd, 1, 0));
}

/* Back-pressure: what has no room in the completion ring is not issued. */
TEST_F(run, cq_backpressure)
{
	struct drm_cmx_queue_create args;
	struct drm_cmx_queue_query query;
	struct abi_ring queue;
	struct abi_cq cq;
	unsigned int i;

	ASSERT_EQ(0, abi_cq_create(self->world.fd, 4, CMX_CQ_BACKPRESSURE, &cq));
	abi_queue_args(&args, CMX_QUEUE_SDMA, cq.handle);
	ASSERT_EQ(0, abi_queue_create(self->world.fd, &args, &queue));
	for (i = 0; i < 10; i++) {
		abi_entry_copy(&self->entry, DST + i, SRC, 1);
		self->entry.header.user_ctx = i;
		ASSERT_TRUE(abi_post(&queue, &self->entry));
	}
	memset(self->world.mem.bytes, 0x7e, 1);
	ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &queue));
	EXPECT_EQ(CMX_RUN_STALL, abi_run_idle(self->world.fd, NULL));
	EXPECT_EQ(4, abi_cq_ready(&cq));
	EXPECT_EQ(0x7e, self->world.mem.bytes[DST - SRC + 3]);
	EXPECT_EQ(0, self->world.mem.bytes[DST - SRC + 4]);
	ASSERT_EQ(0, abi_queue_query(self->world.fd, queue.handle, &query));
	EXPECT_EQ(CMX_WAITING_CQ, query.waiting);
	for (i = 0; i < 10; i++) {
		if (!abi_cqe_take(&cq, &self->cqe)) {
			abi_run_idle(self->world.fd, NULL);
			ASSERT_TRUE(abi_cqe_take(&cq, &self->cqe));
		}
		EXPECT_EQ(i, self->cqe.user_ctx);
	}
	abi_queue_destroy(self->world.fd, &queue);
	abi_cq_destroy(self->world.fd, &cq);
}

/* The other policy: completions are lost, the ring fails, an event says so. */
TEST_F(run, cq_overflow)
{
	struct drm_cmx_queue_create args;
	struct cmx_event event;
	struct abi_ring queue;
	struct abi_cq cq;
	unsigned int i;

	ASSERT_EQ(0, abi_cq_create(self->world.fd, 4, CMX_CQ_OVERFLOW_ERROR, &cq));
	abi_queue_args(&args, CMX_QUEUE_SDMA, cq.handle);
	ASSERT_EQ(0, abi_queue_create(self->world.fd, &args, &queue));
	for (i = 0; i < 10; i++) {
		abi_entry_copy(&self->entry, DST + i, SRC, 1);
		ASSERT_TRUE(abi_post(&queue, &self->entry));
	}
	ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, &queue));
	EXPECT_LE(0, abi_run_idle(self->world.fd, NULL));
	EXPECT_EQ(4, abi_cq_ready(&cq));
	EXPECT_EQ(CMX_CQ_STATE_ERROR, cq.producer->flags);
	EXPECT_NE(0, cq.producer->lost);
	ASSERT_EQ(1, abi_event_find(self->world.fd, CMX_EVENT_CQ_ERROR, &event));
	EXPECT_EQ(cq.handle, event.object);
	abi_queue_destroy(self->world.fd, &queue);
	abi_cq_destroy(self->world.fd, &cq);
}

/* Queues that go while entries wait, are executed, or are in the ring. */
TEST_F(run, destroy_with_work)
{
	ASSERT_EQ(0, submit_launch(self));
	ASSERT_EQ(0, submit_wait(self, &self->world.sdma, 1));
	abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
	abi_run_room(&self->run, &self->runner);
	ASSERT_EQ(CMX_RUN_BATCH, abi_run(self->world.fd, &self->run));
	abi_queue_destroy(self->world.fd, &self->world.stream);
	abi_queue_destroy(self->world.fd, &self->world.sdma);
	abi_run_execute(&self->run, &self->runner);
	/* The outcomes have no queue any more: not taken, or taken for nothing. */
	EXPECT_GE(CMX_RUN_DONE, abi_run_through(self->world.fd, &self->run, &self->runner));
	EXPECT_EQ(CMX_RUN_DONE, abi_run_idle(self->world.fd, &self->runner));
	EXPECT_EQ(0, abi_cq_ready(&self->world.cq));
}

/* Free-running: work is taken as it comes, no actor is waited for. */
TEST_F(run, free_running)
{
	struct drm_cmx_timeline_create create = { .flags = CMX_TIMELINE_FREE_RUNNING };
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_ADD };
	struct drm_cmx_queue_create args;
	struct abi_clock clock;
	struct abi_ring queue;
	struct abi_cq cq;

	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_TIMELINE_CREATE, &create));
	ASSERT_EQ(0, abi_clock_open(self->world.fd, create.handle, &clock));
	EXPECT_EQ(CMX_TIMELINE_FREE_RUNNING, clock.status->flags);
	actor.timeline = create.handle;
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_ACTOR, &actor));
	ASSERT_EQ(0, abi_cq_create(self->world.fd, 16, 0, &cq));
	abi_queue_args(&args, CMX_QUEUE_SDMA, cq.handle);
	args.timeline = create.handle;
	ASSERT_EQ(0, abi_queue_create(self->world.fd, &args, &queue));
	abi_entry_copy(&self->entry, DST, SRC, 64);
	ASSERT_TRUE(abi_post(&queue, &self->entry));
	ASSERT_EQ(0, abi_kick(self->world.fd, &clock, &queue));
	abi_run_args(&self->run, CMX_UNTIL_CQ, 1);
	self->run.timeline = create.handle;
	self->run.object = cq.handle;
	EXPECT_EQ(CMX_RUN_DONE, abi_run(self->world.fd, &self->run));
	abi_clock_close(&clock);
	abi_queue_destroy(self->world.fd, &queue);
	abi_cq_destroy(self->world.fd, &cq);
}

TEST_HARNESS_MAIN
