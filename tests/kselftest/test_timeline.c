// SPDX-License-Identifier: GPL-2.0-only
/* Timelines shared by files and processes. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "kselftest_harness.h"

#include "cmx_host.h"
#include "cmx_run.h"

/** struct member - a file with a queue on a shared timeline. */
struct member {
	int fd;
	__u32 timeline;
	struct abi_clock clock;
	struct abi_cq cq;
	struct abi_ring stream;
	struct abi_ring sdma;
	struct abi_mem mem;
	struct abi_runner runner;
	union abi_entry entry;
	struct cmx_cqe cqe;
	__u32 actor;
	pthread_t thread;
	int ret;
};

static int member_open(struct member *m, int timeline_fd)
{
	struct drm_cmx_timeline_import import = { .fd = timeline_fd };
	struct drm_cmx_queue_create args;
	int ret;

	memset(m, 0, sizeof(*m));
	m->fd = abi_open();
	if (m->fd < 0)
		return m->fd;
	ret = timeline_fd < 0 ? 0 : abi_ioctl(m->fd, DRM_IOCTL_CMX_TIMELINE_IMPORT, &import);
	m->timeline = import.handle;
	if (!ret)
		ret = abi_clock_open(m->fd, m->timeline, &m->clock);
	if (!ret)
		ret = abi_cq_create(m->fd, 64, 0, &m->cq);
	if (!ret)
		ret = abi_mem_create(m->fd, 0, ABI_VA, 4 * ABI_PAGE, &m->mem);
	abi_queue_args(&args, CMX_QUEUE_SDMA, m->cq.handle);
	args.timeline = m->timeline;
	if (!ret)
		ret = abi_queue_create(m->fd, &args, &m->sdma);
	abi_queue_args(&args, CMX_QUEUE_STREAM, m->cq.handle);
	args.timeline = m->timeline;
	return ret ? ret : abi_queue_create(m->fd, &args, &m->stream);
}

static void member_close(struct member *m)
{
	abi_queue_destroy(m->fd, &m->stream);
	abi_queue_destroy(m->fd, &m->sdma);
	abi_mem_destroy(m->fd, &m->mem);
	abi_cq_destroy(m->fd, &m->cq);
	abi_clock_close(&m->clock);
	close(m->fd);
}

static int member_export(struct member *m)
{
	struct drm_cmx_timeline_export export = { .handle = m->timeline };
	int ret = abi_ioctl(m->fd, DRM_IOCTL_CMX_TIMELINE_EXPORT, &export);

	return ret ? ret : export.fd;
}

static int member_submit(struct member *m, struct abi_ring *queue)
{
	return abi_post(queue, &m->entry) ? abi_kick(m->fd, &m->clock, queue) : -EAGAIN;
}

static int member_run(struct member *m, __u32 until, __u64 value, __u64 timeout_ms)
{
	struct drm_cmx_run run;

	abi_run_args(&run, until, value);
	run.timeline = m->timeline;
	run.actor = m->actor;
	if (until == CMX_UNTIL_CQ)
		run.object = m->cq.handle;
	if (timeout_ms)
		run.host_timeout_ns = timeout_ms * 1000000;
	return abi_run_through(m->fd, &run, &m->runner);
}

/* Waits for the end of time, or for half a second of the host's. */
static void *wait_long(void *data)
{
	struct member *m = data;

	m->ret = member_run(m, CMX_UNTIL_TIME, 1ULL << 60, 500);
	return NULL;
}

FIXTURE(shared) {
	struct member a;
	struct member b;
	int fd;
};

FIXTURE_SETUP(shared)
{
	ASSERT_EQ(0, member_open(&self->a, -1));
	self->fd = member_export(&self->a);
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, member_open(&self->b, self->fd));
}

FIXTURE_TEARDOWN(shared)
{
	if (self->b.fd)
		member_close(&self->b);
	if (self->a.fd)
		member_close(&self->a);
	close(self->fd);
}

TEST_F(shared, query)
{
	struct drm_cmx_timeline_query query = { .handle = self->b.timeline };
	struct drm_cmx_timeline_import again = { .fd = self->fd };

	ASSERT_EQ(0, abi_ioctl(self->b.fd, DRM_IOCTL_CMX_TIMELINE_QUERY, &query));
	EXPECT_EQ(2, query.members);
	EXPECT_EQ(2, query.actors);
	EXPECT_EQ(4, query.queues);
	EXPECT_EQ(-EEXIST, abi_ioctl(self->b.fd, DRM_IOCTL_CMX_TIMELINE_IMPORT, &again));
	EXPECT_EQ(-EEXIST, abi_ioctl(self->a.fd, DRM_IOCTL_CMX_TIMELINE_IMPORT, &again));
}

/* The clock moves only when both files wait. */
TEST_F(shared, waits_for_both)
{
	abi_entry_copy(&self->a.entry, ABI_VA, ABI_VA + 4096, 4096);
	ASSERT_EQ(0, member_submit(&self->a, &self->a.sdma));
	EXPECT_EQ(CMX_RUN_TIMEOUT, member_run(&self->a, CMX_UNTIL_IDLE, 0, 50));
	EXPECT_EQ(0, abi_cq_ready(&self->a.cq));
	ASSERT_EQ(0, pthread_create(&self->b.thread, NULL, wait_long, &self->b));
	EXPECT_EQ(CMX_RUN_DONE, member_run(&self->a, CMX_UNTIL_IDLE, 0, 0));
	pthread_join(self->b.thread, NULL);
	EXPECT_EQ(CMX_RUN_TIMEOUT, self->b.ret);
	EXPECT_EQ(1, abi_cq_ready(&self->a.cq));
	EXPECT_EQ(self->a.clock.status->now_ps, self->b.clock.status->now_ps);
}

/* A file that leaves is not waited for. */
TEST_F(shared, leave)
{
	abi_entry_copy(&self->a.entry, ABI_VA, ABI_VA + 4096, 4096);
	ASSERT_EQ(0, member_submit(&self->a, &self->a.sdma));
	EXPECT_EQ(CMX_RUN_TIMEOUT, member_run(&self->a, CMX_UNTIL_IDLE, 0, 20));
	member_close(&self->b);
	self->b.fd = 0;
	EXPECT_EQ(CMX_RUN_DONE, member_run(&self->a, CMX_UNTIL_IDLE, 0, 0));
	EXPECT_EQ(1, abi_cq_ready(&self->a.cq));
}

/* The timeline lives in its descriptor, when no file is a member. */
TEST_F(shared, descriptor_outlives)
{
	__u64 now;

	member_close(&self->b);
	self->b.fd = 0;
	ASSERT_EQ(CMX_RUN_DONE, member_run(&self->a, CMX_UNTIL_TIME, 777777, 0));
	now = self->a.clock.status->now_ps;
	member_close(&self->a);
	self->a.fd = 0;
	ASSERT_EQ(0, member_open(&self->b, self->fd));
	EXPECT_EQ(now, self->b.clock.status->now_ps);
}

/* B waits for bytes that A signals, in memory both have. */
static int share_memory(struct member *to, struct member *from, __u64 va)
{
	int dmabuf = abi_prime_export(from->fd, from->mem.handle), ret;
	__u32 handle;

	if (dmabuf < 0)
		return dmabuf;
	ret = abi_prime_import(to->fd, dmabuf, &handle);
	close(dmabuf);
	return ret ? ret : abi_map_va(to->fd, handle, va, 4 * ABI_PAGE, CMX_MAP_FLAGS);
}

TEST_F(shared, wait_across_files)
{
	struct cmx_cqe waited;

	ASSERT_EQ(0, share_memory(&self->b, &self->a, ABI_VA * 2));
	abi_entry_wait(&self->b.entry, ABI_VA * 2 + 128, CMX_COND_GE, 3);
	ASSERT_EQ(0, member_submit(&self->b, &self->b.sdma));
	abi_entry_copy(&self->a.entry, ABI_VA, ABI_VA + 4096, 100);
	ASSERT_EQ(0, member_submit(&self->a, &self->a.sdma));
	abi_entry_signal(&self->a.entry, ABI_VA + 128, CMX_SIGNAL_SET, 3);
	ASSERT_EQ(0, member_submit(&self->a, &self->a.sdma));
	ASSERT_EQ(0, pthread_create(&self->a.thread, NULL, wait_long, &self->a));
	EXPECT_EQ(CMX_RUN_DONE, member_run(&self->b, CMX_UNTIL_CQ, 1, 0));
	pthread_join(self->a.thread, NULL);
	ASSERT_TRUE(abi_cqe_take(&self->b.cq, &waited));
	ASSERT_TRUE(abi_cqe_take(&self->a.cq, &self->a.cqe));
	ASSERT_TRUE(abi_cqe_take(&self->a.cq, &self->a.cqe));
	EXPECT_EQ(UB_CR_SUCCESS, waited.status);
	EXPECT_GE(waited.time_ps, self->a.cqe.time_ps);
}

/* A copy from a PRIME-imported buffer of another file. */
TEST_F(shared, copy_across_files)
{
	ASSERT_EQ(0, share_memory(&self->b, &self->a, ABI_VA * 2));
	memset(self->a.mem.bytes, 0x42, 4096);
	abi_entry_copy(&self->b.entry, ABI_VA + 5, ABI_VA * 2 + 3, 4000);
	ASSERT_EQ(0, member_submit(&self->b, &self->b.sdma));
	ASSERT_EQ(0, pthread_create(&self->a.thread, NULL, wait_long, &self->a));
	EXPECT_EQ(CMX_RUN_DONE, member_run(&self->b, CMX_UNTIL_IDLE, 0, 0));
	pthread_join(self->a.thread, NULL);
	EXPECT_EQ(0, memcmp(self->a.mem.bytes + 3, self->b.mem.bytes + 5, 4000));
}

/* The descriptor is for import alone, closes on exec and says what it is. */
TEST_F(shared, descriptor_rules)
{
	char path[64], name[128], byte;
	ssize_t length;

	EXPECT_EQ(FD_CLOEXEC, fcntl(self->fd, F_GETFD));
	EXPECT_EQ(-1, read(self->fd, &byte, 1));
	EXPECT_EQ(-1, write(self->fd, "x", 1));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, ABI_PAGE, PROT_READ, MAP_SHARED, self->fd, 0));
	EXPECT_EQ(-ENOTTY, abi_ioctl(self->fd, DRM_IOCTL_CMX_WAKE, &(struct drm_cmx_wake){ 0 }));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self->fd);
	length = readlink(path, name, sizeof(name) - 1);
	ASSERT_LT(0, length);
	name[length] = 0;
	EXPECT_NE(NULL, strstr(name, "cmx"));
}

/* Two timelines: the message arrives, and is marked. */
TEST(between_timelines)
{
	struct member a, b;

	ASSERT_EQ(0, member_open(&a, -1));
	ASSERT_EQ(0, member_open(&b, -1));
	ASSERT_EQ(0, share_memory(&b, &a, ABI_VA * 2));
	ASSERT_EQ(CMX_RUN_DONE, member_run(&a, CMX_UNTIL_TIME, 5000000000, 0));
	abi_entry_wait(&b.entry, ABI_VA * 2 + 8, CMX_COND_EQ, 1);
	ASSERT_EQ(0, member_submit(&b, &b.sdma));
	ASSERT_EQ(CMX_RUN_STALL, member_run(&b, CMX_UNTIL_IDLE, 0, 0));
	abi_entry_signal(&a.entry, ABI_VA + 8, CMX_SIGNAL_SET, 1);
	ASSERT_EQ(0, member_submit(&a, &a.sdma));
	ASSERT_EQ(CMX_RUN_DONE, member_run(&a, CMX_UNTIL_IDLE, 0, 0));
	EXPECT_EQ(CMX_RUN_DONE, member_run(&b, CMX_UNTIL_IDLE, 0, 0));
	ASSERT_TRUE(abi_cqe_take(&b.cq, &b.cqe));
	EXPECT_EQ(UB_CR_SUCCESS, b.cqe.status);
	EXPECT_LE(5000000000, b.cqe.time_ps);
	EXPECT_EQ(CMX_TIMELINE_NONDETERMINISTIC,
		  b.clock.status->flags & CMX_TIMELINE_NONDETERMINISTIC);
	EXPECT_EQ(0, a.clock.status->flags & CMX_TIMELINE_NONDETERMINISTIC);
	member_close(&a);
	member_close(&b);
}

/* What the child of a shared timeline does before it ends. */
enum part {
	PART_IDLE,		/* joins and exits */
	PART_SLEEP,		/* sleeps in RUN */
	PART_BATCH,		/* holds a batch */
	PART_QUEUED,		/* has entries in its ring */
};

static int child_plays(int socket, enum part part)
{
	struct drm_cmx_run run;
	struct member m;
	int fd = abi_receive_fd(socket);

	if (fd < 0 || member_open(&m, fd))
		return 1;
	if (part == PART_BATCH || part == PART_QUEUED) {
		abi_entry_launch(&m.entry, 1, 1000);
		if (member_submit(&m, &m.stream))
			return 2;
	}
	if (part == PART_BATCH) {
		abi_run_args(&run, CMX_UNTIL_IDLE, 0);
		run.timeline = m.timeline;
		abi_run_room(&run, &m.runner);
		if (abi_run(m.fd, &run) != CMX_RUN_BATCH)
			return 3;
	}
	if (write(socket, "r", 1) != 1)
		return 4;
	if (part == PART_SLEEP)
		member_run(&m, CMX_UNTIL_TIME, 1ULL << 60, 0);
	if (part != PART_IDLE)
		pause();
	return 0;
}

FIXTURE(peer) {
	struct member a;
	int sockets[2];
	pid_t child;
};

FIXTURE_VARIANT(peer) {
	enum part part;
	bool told;
};

FIXTURE_VARIANT_ADD(peer, idle) { .part = PART_IDLE };
FIXTURE_VARIANT_ADD(peer, sleeping) { .part = PART_SLEEP };
FIXTURE_VARIANT_ADD(peer, with_batch) { .part = PART_BATCH, .told = true };
FIXTURE_VARIANT_ADD(peer, with_entries) { .part = PART_QUEUED };

FIXTURE_SETUP(peer)
{
	int fd;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, self->sockets));
	self->child = fork();
	ASSERT_GE(self->child, 0);
	if (!self->child)
		_exit(child_plays(self->sockets[1], variant->part));
	ASSERT_EQ(0, member_open(&self->a, -1));
	fd = member_export(&self->a);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, abi_send_fd(self->sockets[0], fd));
	close(fd);
}

FIXTURE_TEARDOWN(peer)
{
	member_close(&self->a);
}

/* Takes this file's actor away: the clock goes without it; or gives it one. */
static int set_actor(struct member *m, __u32 op)
{
	struct drm_cmx_actor actor = {
		.timeline = m->timeline,
		.op = op,
		.actor = op == CMX_ACTOR_REMOVE ? m->actor : 0,
	};
	int ret = abi_ioctl(m->fd, DRM_IOCTL_CMX_ACTOR, &actor);

	m->actor = actor.actor;
	return ret;
}

/* The other process is killed: the clock goes on without it. */
TEST_F(peer, killed)
{
	struct drm_cmx_timeline_query query = { 0 };
	struct cmx_event event;
	int status;
	char byte;

	ASSERT_EQ(0, set_actor(&self->a, CMX_ACTOR_REMOVE));
	ASSERT_EQ(1, read(self->sockets[0], &byte, 1));
	if (variant->part != PART_IDLE)
		kill(self->child, SIGKILL);
	ASSERT_EQ(self->child, waitpid(self->child, &status, 0));
	EXPECT_EQ(variant->part == PART_IDLE, WIFEXITED(status) && !WEXITSTATUS(status));
	ASSERT_EQ(0, set_actor(&self->a, CMX_ACTOR_ADD));
	abi_entry_copy(&self->a.entry, ABI_VA, ABI_VA + 4096, 4096);
	ASSERT_EQ(0, member_submit(&self->a, &self->a.sdma));
	EXPECT_EQ(CMX_RUN_DONE, member_run(&self->a, CMX_UNTIL_IDLE, 0, 0));
	EXPECT_EQ(1, abi_cq_ready(&self->a.cq));
	ASSERT_EQ(0, abi_ioctl(self->a.fd, DRM_IOCTL_CMX_TIMELINE_QUERY, &query));
	EXPECT_EQ(1, query.members);
	EXPECT_EQ(1, query.actors);
	EXPECT_EQ(2, query.queues);
	EXPECT_EQ(0, query.batches);
	EXPECT_EQ(variant->told, abi_event_find(self->a.fd, CMX_EVENT_PEER_DIED, &event));
}

TEST_HARNESS_MAIN
