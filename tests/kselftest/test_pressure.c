// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory is paid for by who touches it first, a client cannot get past its control group,
 * and what a command works on may go while it works.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "kselftest_harness.h"

#include "cmx_host.h"
#include "cmx_run.h"

#define GROUPS	"/sys/fs/cgroup/"
#define GROUP	GROUPS "cmx_test"
#define MIB	(1ULL << 20)
#define LIMIT	(24 * MIB)
#define BIG	(96 * MIB)
#define SMALL	(8 * MIB)

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static __u64 read_number(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	if (fd >= 0)
		close(fd);
	return strtoull(text, NULL, 0);
}

FIXTURE(memory) {
	struct abi_world world;
};

FIXTURE_SETUP(memory)
{
	char limit[32];

	snprintf(limit, sizeof(limit), "%llu", LIMIT);
	write_text(GROUPS "cgroup.subtree_control", "+memory");
	if (mkdir(GROUP, 0755) && errno != EEXIST)
		SKIP(return, "no control groups");
	if (write_text(GROUP "/memory.max", limit))
		SKIP(return, "no memory controller");
	write_text(GROUP "/memory.swap.max", "0");
	ASSERT_EQ(0, abi_world_open(&self->world));
}

FIXTURE_TEARDOWN(memory)
{
	if (self->world.fd > 0)
		abi_world_close(&self->world);
	rmdir(GROUP);
	EXPECT_TRUE(abi_all_free());
}

static int join_group(void)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", getpid());
	return write_text(GROUP "/cgroup.procs", text);
}

static int wait_for(pid_t child)
{
	int status;

	if (waitpid(child, &status, 0) != child)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* Child: touches @size bytes of a BO, by the CPU or by a command. */
static int touch(__u64 size, bool command)
{
	struct abi_world world;
	union abi_entry entry;
	struct abi_mem mem;
	struct cmx_cqe cqe;
	__u64 i;
	int ret;

	if (join_group())
		return 1;
	ret = abi_world_open(&world);
	if (!ret)
		ret = abi_mem_create(world.fd, 0, ABI_VA * 2, size, &mem);
	if (ret)
		return 2;
	if (command) {
		abi_entry_fill(&entry, ABI_VA * 2, size, 0x66, 1);
		ret = abi_carry_out(&world, &world.sdma, &entry, &cqe);
		return ret || cqe.status ? 3 : 0;
	}
	for (i = 0; i < size; i += ABI_PAGE)
		mem.bytes[i] = 1;
	return 0;
}

static int touch_in_child(__u64 size, bool command)
{
	pid_t child = fork();

	if (!child)
		_exit(touch(size, command));
	return child < 0 ? -errno : wait_for(child);
}

TEST_F(memory, within_the_limit)
{
	EXPECT_EQ(0, touch_in_child(SMALL, false));
	EXPECT_EQ(0, touch_in_child(SMALL, true));
}

/* The end of who would have more: killed, or told by the command. */
TEST_F(memory, beyond_the_limit)
{
	int ret = touch_in_child(BIG, false);

	EXPECT_EQ(1000 + SIGKILL, ret);
	ret = touch_in_child(BIG, true);
	EXPECT_TRUE(ret == 1000 + SIGKILL || ret == 3)
		TH_LOG("%d", ret);
}

/* Child: makes the BO, another touches it: that is not the child's bill. */
static int let_touch(int socket)
{
	struct abi_world world;
	struct abi_mem mem;
	char byte;
	int ret, dmabuf;

	if (join_group() || abi_world_open(&world))
		return 1;
	ret = abi_mem_create(world.fd, 0, ABI_VA * 2, BIG, &mem);
	if (ret)
		return 2;
	dmabuf = abi_prime_export(world.fd, mem.handle);
	if (dmabuf < 0 || abi_send_fd(socket, dmabuf) || read(socket, &byte, 1) != 1)
		return 3;
	return mem.bytes[BIG - 1] == 5 ? 0 : 4;
}

TEST_F(memory, first_touch_pays)
{
	struct drm_cmx_bo_query query = { 0 };
	int sockets[2], dmabuf;
	__u8 *bytes;
	pid_t child;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		_exit(let_touch(sockets[1]));
	dmabuf = abi_receive_fd(sockets[0]);
	ASSERT_GE(dmabuf, 0);
	ASSERT_EQ(0, abi_prime_import(self->world.fd, dmabuf, &query.handle));
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_BO_QUERY, &query));
	bytes = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_SHARED, self->world.fd,
		     (off_t)query.mmap_offset);
	ASSERT_NE(MAP_FAILED, bytes);
	memset(bytes, 5, BIG);
	EXPECT_GT(LIMIT, read_number(GROUP "/memory.current"));
	ASSERT_EQ(1, write(sockets[0], "t", 1));
	EXPECT_EQ(0, wait_for(child));
	munmap(bytes, BIG);
	close(dmabuf);
}

/** struct runner_thread - a thread in RUN. */
struct runner_thread {
	struct abi_world *world;
	pthread_t thread;
	int ret;
};

static void *run_idle(void *data)
{
	struct runner_thread *t = data;

	t->ret = abi_run_idle(t->world->fd, NULL);
	return NULL;
}

/* What a long copy works on goes in the middle of it: mapping, memory, queue or file. */
static void take_away(struct abi_world *world, struct abi_mem *mem, unsigned int what)
{
	switch (what % 4) {
	case 0:
		abi_mem_destroy(world->fd, mem);
		break;
	case 1:
		abi_queue_destroy(world->fd, &world->sdma);
		break;
	case 2:
		abi_queue_state(world->fd, world->sdma.handle, UB_QUEUE_ERROR);
		break;
	default:
		abi_unmap_va(world->fd, mem->va, mem->map.size);
		break;
	}
}

TEST_F_TIMEOUT(memory, taken_away_under_copy, 120)
{
	struct runner_thread runner = { .world = &self->world };
	struct abi_random random = { abi_seed() };
	union abi_entry entry;
	struct abi_mem mem;
	unsigned int i, j;

	for (i = 0; i < 12; i++) {
		ASSERT_EQ(0, abi_mem_create(self->world.fd, i % 2, ABI_VA * 2, 2 * SMALL, &mem));
		for (j = 0; j < 8; j++) {
			abi_entry_copy(&entry, ABI_VA * 2 + SMALL, ABI_VA * 2, SMALL);
			abi_post(&self->world.sdma, &entry);
		}
		abi_kick(self->world.fd, &self->world.clock, &self->world.sdma);
		ASSERT_EQ(0, pthread_create(&runner.thread, NULL, run_idle, &runner));
		usleep(abi_random(&random) % 20000);
		take_away(&self->world, &mem, i);
		pthread_join(runner.thread, NULL);
		EXPECT_EQ(CMX_RUN_DONE, runner.ret)
			TH_LOG("round %u", i);
		abi_mem_destroy(self->world.fd, &mem);
		abi_world_close(&self->world);
		EXPECT_TRUE(abi_all_free());
		ASSERT_EQ(0, abi_world_open(&self->world));
	}
}

TEST_HARNESS_MAIN
