// SPDX-License-Identifier: GPL-2.0-only
/* fork, exec and descriptors passed on, at every point of a client's life. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#include "kselftest_harness.h"

#include "cmx_host.h"
#include "cmx_run.h"

#define SRC	ABI_VA
#define DST	(ABI_VA + ABI_WORLD_PAGES / 2 * ABI_PAGE)

/* What a process that has the descriptor, but not the address space, may do. */
static int foreign_use(int fd)
{
	struct drm_cmx_info_client client;
	struct drm_cmx_run run;
	struct cmx_event event;
	__u32 handle;

	if (abi_info(fd, CMX_INFO_CLIENT, 0, &client, sizeof(client)))
		return 1;
	abi_run_args(&run, CMX_UNTIL_IDLE, 0);
	if (abi_run(fd, &run) != -EPERM)
		return 2;
	run.flags = CMX_RUN_HELPER;
	run.until = CMX_UNTIL_NONE;
	if (abi_run(fd, &run) != -EPERM)
		return 3;
	if (abi_bo(fd, 0, ABI_PAGE, 0, &handle) || abi_gem_close(fd, handle))
		return 4;
	if (abi_event_take(fd, &event) < 0)
		return 5;
	return 0;
}

/*
 * This program, executed again, with a descriptor that was kept open: before main(),
 * because the harness has that.
 */
static void __attribute__((constructor)) executed_again(void)
{
	const char *fd = getenv("CMX_EXEC_FD"), *closed = getenv("CMX_EXEC_CLOSED");

	if (!fd)
		return;
	if (closed)
		_exit(fcntl(atoi(fd), F_GETFD) == -1 && errno == EBADF ? 0 : 10);
	_exit(foreign_use(atoi(fd)));
}

static void execute_again(int fd, bool closed)
{
	char text[32];
	char *const arguments[] = { "fork_exec", NULL };
	char *const environment[] = { text, closed ? "CMX_EXEC_CLOSED=1" : NULL, NULL };

	snprintf(text, sizeof(text), "CMX_EXEC_FD=%d", fd);
	execve("/proc/self/exe", arguments, environment);
	_exit(20);
}

/** enum point - how far the client has come when it forks. */
enum point {
	POINT_OPEN,	/* has everything, did nothing */
	POINT_QUEUED,	/* entries in its rings */
	POINT_BATCH,	/* holds a batch */
	POINT_STALLED,	/* an entry waits in the kernel */
	POINT_ERROR,	/* a queue is in ERROR */
	POINT_DONE,	/* completions not read */
};

FIXTURE(fork) {
	struct abi_world world;
	union abi_entry entry;
	struct abi_runner runner;
	struct drm_cmx_run run;
};

FIXTURE_VARIANT(fork) {
	enum point point;
};

FIXTURE_VARIANT_ADD(fork, open) { .point = POINT_OPEN };
FIXTURE_VARIANT_ADD(fork, queued) { .point = POINT_QUEUED };
FIXTURE_VARIANT_ADD(fork, batch) { .point = POINT_BATCH };
FIXTURE_VARIANT_ADD(fork, stalled) { .point = POINT_STALLED };
FIXTURE_VARIANT_ADD(fork, error) { .point = POINT_ERROR };
FIXTURE_VARIANT_ADD(fork, done) { .point = POINT_DONE };

static int submit_copy(FIXTURE_DATA(fork) *self, __u64 dst)
{
	abi_entry_copy(&self->entry, dst, SRC, 100);
	return abi_submit(&self->world, &self->world.sdma, &self->entry);
}

/* Brings the client to the point. */
static int advance(FIXTURE_DATA(fork) *self, enum point point)
{
	switch (point) {
	case POINT_QUEUED:
		return submit_copy(self, DST);
	case POINT_BATCH:
		abi_entry_launch(&self->entry, 1, 1000);
		abi_submit(&self->world, &self->world.stream, &self->entry);
		abi_run_args(&self->run, CMX_UNTIL_IDLE, 0);
		abi_run_room(&self->run, &self->runner);
		return abi_run(self->world.fd, &self->run) == CMX_RUN_BATCH ? 0 : -EPROTO;
	case POINT_STALLED:
		abi_entry_wait(&self->entry, DST, CMX_COND_EQ, 1);
		abi_submit(&self->world, &self->world.sdma, &self->entry);
		return abi_run_idle(self->world.fd, NULL) == CMX_RUN_STALL ? 0 : -EPROTO;
	case POINT_ERROR:
		submit_copy(self, ABI_VA * 7);
		return abi_run_cq(self->world.fd, &self->world.cq, 2, NULL);
	case POINT_DONE:
		submit_copy(self, DST);
		return abi_run_idle(self->world.fd, NULL);
	default:
		return 0;
	}
}

/* From the point to the end, as if nothing had been. */
static int finish(FIXTURE_DATA(fork) *self, enum point point)
{
	struct drm_cmx_signal signal = { .va = DST, .value = 1 };
	struct cmx_cqe cqe;
	int ret = 0;

	if (point == POINT_BATCH) {
		abi_run_execute(&self->run, &self->runner);
		ret = abi_run_through(self->world.fd, &self->run, &self->runner);
	}
	if (point == POINT_STALLED)
		ret = abi_ioctl(self->world.fd, DRM_IOCTL_CMX_SIGNAL, &signal);
	if (point == POINT_ERROR)
		ret = abi_queue_state(self->world.fd, self->world.sdma.handle, UB_QUEUE_READY);
	if (ret)
		return ret;
	memset(self->world.mem.bytes, 0x3d, 100);
	ret = submit_copy(self, DST + 4096);
	if (!ret)
		ret = abi_run_idle(self->world.fd, NULL);
	while (abi_cqe_take(&self->world.cq, &cqe))
		;
	if (ret || cqe.status || memcmp(self->world.mem.bytes,
					self->world.mem.bytes + (DST - SRC) + 4096, 100))
		return ret ? ret : -EIO;
	return 0;
}

FIXTURE_SETUP(fork)
{
	ASSERT_EQ(0, abi_world_open(&self->world));
	memset(&self->runner, 0, sizeof(self->runner));
	ASSERT_EQ(0, advance(self, variant->point));
}

FIXTURE_TEARDOWN(fork)
{
	abi_world_close(&self->world);
	EXPECT_TRUE(abi_all_free());
}

static int wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* The child may use the file a little, and its end changes nothing. */
TEST_F(fork, child_uses_file)
{
	pid_t child = fork();

	ASSERT_GE(child, 0);
	if (!child)
		_exit(foreign_use(self->world.fd));
	EXPECT_EQ(0, wait_for(child));
	EXPECT_EQ(0, finish(self, variant->point));
}

/* The child keeps the file open for longer than the parent works with it. */
TEST_F(fork, child_outlives)
{
	int pipes[2];
	pid_t child;
	char byte;

	ASSERT_EQ(0, pipe(pipes));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) < 0)
			_exit(30);
		_exit(foreign_use(self->world.fd));
	}
	EXPECT_EQ(0, finish(self, variant->point));
	close(pipes[0]);
	abi_world_close(&self->world);
	close(pipes[1]);
	EXPECT_EQ(0, wait_for(child));
}

TEST_F(fork, exec_closes)
{
	pid_t child = fork();

	ASSERT_GE(child, 0);
	if (!child)
		execute_again(self->world.fd, true);
	EXPECT_EQ(0, wait_for(child));
	EXPECT_EQ(0, finish(self, variant->point));
}

TEST_F(fork, exec_keeps)
{
	pid_t child = fork();

	ASSERT_GE(child, 0);
	if (!child) {
		fcntl(self->world.fd, F_SETFD, 0);
		execute_again(self->world.fd, false);
	}
	EXPECT_EQ(0, wait_for(child));
	EXPECT_EQ(0, finish(self, variant->point));
}

/* The descriptor in a stranger's hands. */
TEST_F(fork, passed_on)
{
	int sockets[2];
	pid_t child;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		close(self->world.fd);
		_exit(foreign_use(abi_receive_fd(sockets[1])));
	}
	ASSERT_EQ(0, abi_send_fd(sockets[0], self->world.fd));
	EXPECT_EQ(0, wait_for(child));
	EXPECT_EQ(0, finish(self, variant->point));
	/* In flight, and thrown away with the socket. */
	ASSERT_EQ(0, abi_send_fd(sockets[0], self->world.fd));
	close(sockets[0]);
	close(sockets[1]);
}

/* The client itself becomes another program at this point. */
TEST_F(fork, exec_itself)
{
	pid_t child;

	abi_world_close(&self->world);
	child = fork();
	ASSERT_GE(child, 0);
	if (!child) {
		if (abi_world_open(&self->world) || advance(self, variant->point))
			_exit(40);
		fcntl(self->world.fd, F_SETFD, 0);
		execute_again(self->world.fd, false);
	}
	EXPECT_EQ(0, wait_for(child));
}

/* The same address space under another task is the same client. */
static int vm_child(void *data)
{
	struct drm_cmx_run run;

	abi_run_args(&run, CMX_UNTIL_IDLE, 0);
	return abi_run(*(int *)data, &run) == CMX_RUN_DONE ? 0 : 1;
}

TEST(shared_address_space)
{
	static char stack[65536] __attribute__((aligned(16)));
	int fd = abi_open();
	pid_t child;

	ASSERT_GE(fd, 0);
	child = clone(vm_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, &fd);
	ASSERT_GE(child, 0);
	EXPECT_EQ(0, wait_for(child));
	close(fd);
}

static void *run_long(void *data)
{
	struct drm_cmx_run run;

	abi_run_args(&run, CMX_UNTIL_TIME, 1ULL << 62);
	run.host_timeout_ns = 0;
	abi_run(*(int *)data, &run);
	return NULL;
}

/* Another thread executes a program while this one sleeps in RUN: no hang, no leak. */
TEST(exec_while_running)
{
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_ADD };
	pthread_t thread;
	pid_t child = fork();
	int fd;

	ASSERT_GE(child, 0);
	if (!child) {
		fd = abi_open();
		abi_ioctl(fd, DRM_IOCTL_CMX_ACTOR, &actor);
		pthread_create(&thread, NULL, run_long, &fd);
		usleep(20000);
		execute_again(fd, true);
	}
	EXPECT_EQ(0, wait_for(child));
	EXPECT_TRUE(abi_all_free());
}

/* fork() again and again while threads run, post and fault. */
static void *keep_copying(void *data)
{
	struct abi_world *world = data;
	union abi_entry entry;
	struct cmx_cqe cqe;
	unsigned int i;

	for (i = 0; i < 300; i++) {
		abi_entry_copy(&entry, DST, SRC, 4 * ABI_PAGE);
		if (abi_carry_out(world, &world->sdma, &entry, &cqe) || cqe.status)
			return data;
	}
	return NULL;
}

TEST(fork_while_running)
{
	struct abi_world world;
	pthread_t thread;
	unsigned int i;
	void *failed;

	ASSERT_EQ(0, abi_world_open(&world));
	ASSERT_EQ(0, pthread_create(&thread, NULL, keep_copying, &world));
	for (i = 0; i < 20; i++) {
		pid_t child = fork();

		ASSERT_GE(child, 0);
		if (!child)
			_exit(foreign_use(world.fd));
		EXPECT_EQ(0, wait_for(child));
	}
	pthread_join(thread, &failed);
	EXPECT_EQ(NULL, failed);
	abi_world_close(&world);
}

/* Child: a member of the timeline that takes a batch and becomes another program. */
static int leave_with_batch(int timeline, int pipe)
{
	struct drm_cmx_timeline_import import = { .fd = timeline };
	struct drm_cmx_queue_create args;
	static struct abi_runner runner;
	struct drm_cmx_run run;
	struct abi_clock clock;
	union abi_entry entry;
	struct abi_ring queue;
	struct abi_cq cq;
	int fd = abi_open();

	if (abi_ioctl(fd, DRM_IOCTL_CMX_TIMELINE_IMPORT, &import) ||
	    abi_clock_open(fd, import.handle, &clock) || abi_cq_create(fd, 16, 0, &cq))
		return 50;
	abi_queue_args(&args, CMX_QUEUE_STREAM, cq.handle);
	args.timeline = import.handle;
	if (abi_queue_create(fd, &args, &queue))
		return 51;
	abi_entry_launch(&entry, 1, 1000);
	abi_post(&queue, &entry);
	abi_kick(fd, &clock, &queue);
	abi_run_args(&run, CMX_UNTIL_IDLE, 0);
	run.timeline = import.handle;
	abi_run_room(&run, &runner);
	if (abi_run(fd, &run) != CMX_RUN_BATCH || write(pipe, "b", 1) != 1)
		return 52;
	fcntl(fd, F_SETFD, 0);
	execlp("sleep", "sleep", "20", NULL);
	return 53;
}

/*
 * After exec() the file is still open, but nobody can RUN for it: what it held ends, the
 * clock goes on without it, and that is told.
 */
TEST(exec_with_shared_batch)
{
	struct drm_cmx_timeline_export export = { 0 };
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_REMOVE };
	int fd = abi_open(), pipes[2];
	struct cmx_event event;
	struct drm_cmx_run run;
	pid_t child;
	char byte;

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, pipe(pipes));
	ASSERT_EQ(0, abi_ioctl(fd, DRM_IOCTL_CMX_TIMELINE_EXPORT, &export));
	ASSERT_EQ(0, abi_ioctl(fd, DRM_IOCTL_CMX_ACTOR, &actor));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		_exit(leave_with_batch(export.fd, pipes[1]));
	ASSERT_EQ(1, read(pipes[0], &byte, 1));
	actor.op = CMX_ACTOR_ADD;
	ASSERT_EQ(0, abi_ioctl(fd, DRM_IOCTL_CMX_ACTOR, &actor));
	abi_run_args(&run, CMX_UNTIL_TIME, 1000000000000);
	run.actor = actor.actor;
	run.host_timeout_ns = ABI_HOST_TIMEOUT_NS;
	EXPECT_EQ(CMX_RUN_DONE, abi_run(fd, &run));
	EXPECT_EQ(1, abi_event_find(fd, CMX_EVENT_PEER_DIED, &event));
	kill(child, SIGKILL);
	EXPECT_EQ(1000 + SIGKILL, wait_for(child));
	close(fd);
	close(export.fd);
}

TEST_HARNESS_MAIN
