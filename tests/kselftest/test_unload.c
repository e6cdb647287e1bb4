// SPDX-License-Identifier: GPL-2.0-only
/*
 * The module cannot go while anything of it is in use, and goes cleanly afterwards; the
 * device can go at any moment. Needs the module's path in CMX_MODULE.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>

#include "kselftest_harness.h"

#include "cmx_host.h"
#include "cmx_run.h"

#define LOOPS	abi_setting("CMX_LOOPS", 3)

static const char *module_path(void)
{
	const char *path = getenv("CMX_MODULE");

	return path && *path ? path : NULL;
}

static int insert(void)
{
	const char *arguments = getenv("CMX_MODULE_ARGS");

	return abi_module_insert(module_path(), arguments ? arguments : "");
}

/* Until it goes: a file that was just closed may take a moment. */
static int remove_soon(void)
{
	int tries, ret = -EAGAIN;

	for (tries = 0; ret == -EAGAIN && tries < 50; tries++) {
		ret = abi_module_remove();
		if (ret == -EAGAIN)
			usleep(20000);
	}
	return ret;
}

FIXTURE(unload) {
	int fd;
};

FIXTURE_SETUP(unload)
{
	if (!module_path())
		SKIP(return, "CMX_MODULE does not say where the module is");
	self->fd = abi_open();
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(unload)
{
	int fd = abi_open();

	/* The next test finds it loaded, whatever happened. */
	if (fd < 0)
		insert();
	else
		close(fd);
}

/* Gone and back, and it works. */
static bool goes_and_comes(void)
{
	struct abi_world world;
	union abi_entry entry;
	struct cmx_cqe cqe;
	int ret = remove_soon();

	if (!ret)
		ret = insert();
	if (!ret)
		ret = abi_world_open(&world);
	if (ret) {
		printf("# %d\n", ret);
		return false;
	}
	abi_entry_copy(&entry, ABI_VA, ABI_VA + 4096, 100);
	ret = abi_carry_out(&world, &world.sdma, &entry, &cqe);
	abi_world_close(&world);
	return !ret && !cqe.status;
}

TEST_F(unload, open_file)
{
	EXPECT_EQ(-EAGAIN, abi_module_remove());
	close(self->fd);
	EXPECT_TRUE(goes_and_comes());
}

TEST_F(unload, mapped_memory)
{
	struct abi_mem mem;

	ASSERT_EQ(0, abi_mem_create(self->fd, 0, ABI_VA, 4 * ABI_PAGE, &mem));
	mem.bytes[5] = 6;
	close(self->fd);
	EXPECT_EQ(-EAGAIN, abi_module_remove());
	EXPECT_EQ(6, mem.bytes[5]);
	mem.bytes[ABI_PAGE] = 7;
	abi_munmap(&mem.map);
	EXPECT_TRUE(goes_and_comes());
}

TEST_F(unload, mapped_ring)
{
	struct abi_cq cq;

	ASSERT_EQ(0, abi_cq_create(self->fd, 64, 0, &cq));
	close(self->fd);
	EXPECT_EQ(-EAGAIN, abi_module_remove());
	EXPECT_EQ(0, cq.producer->tail);
	cq.consumer->head = 3;
	abi_munmap(&cq.ro);
	EXPECT_EQ(-EAGAIN, abi_module_remove());
	abi_munmap(&cq.rw);
	EXPECT_TRUE(goes_and_comes());
}

TEST_F(unload, dmabuf)
{
	__u32 handle;
	int dmabuf;

	ASSERT_EQ(0, abi_bo(self->fd, 0, ABI_PAGE, 0, &handle));
	dmabuf = abi_prime_export(self->fd, handle);
	ASSERT_GE(dmabuf, 0);
	close(self->fd);
	EXPECT_EQ(-EAGAIN, abi_module_remove());
	close(dmabuf);
	EXPECT_TRUE(goes_and_comes());
}

TEST_F(unload, timeline_descriptor)
{
	struct drm_cmx_timeline_export export = { 0 };

	ASSERT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_TIMELINE_EXPORT, &export));
	close(self->fd);
	EXPECT_EQ(-EAGAIN, abi_module_remove());
	close(export.fd);
	EXPECT_TRUE(goes_and_comes());
}

TEST_F_TIMEOUT(unload, again_and_again, 120)
{
	unsigned int i;

	close(self->fd);
	for (i = 0; i < LOOPS; i++)
		ASSERT_TRUE(goes_and_comes());
}

/** enum busy - what a client does when the device goes. */
enum busy {
	BUSY_COPY,
	BUSY_SLEEP,
	BUSY_BATCH,
	BUSY_FAULT,
	BUSY_POLL,
	BUSY_KINDS,
};

/* Until an error: that must be ENODEV. */
static int busy_copy(struct abi_world *world)
{
	union abi_entry entry;
	struct cmx_cqe cqe;
	int ret;

	abi_entry_copy(&entry, ABI_VA, ABI_VA + 16 * ABI_PAGE, 16 * ABI_PAGE);
	do {
		ret = abi_carry_out(world, &world->sdma, &entry, &cqe);
		/* The ring may be scratch by now, and look full. */
		if (ret == -EAGAIN)
			ret = abi_run_idle(world->fd, NULL);
	} while (!ret);
	return ret;
}

static int busy_sleep(struct abi_world *world)
{
	struct drm_cmx_actor actor = { .op = CMX_ACTOR_ADD };
	struct drm_cmx_run run;

	abi_ioctl(world->fd, DRM_IOCTL_CMX_ACTOR, &actor);
	abi_run_args(&run, CMX_UNTIL_TIME, 1ULL << 62);
	run.host_timeout_ns = 0;
	return abi_run(world->fd, &run);
}

static int busy_batch(struct abi_world *world, int pipe)
{
	struct drm_cmx_wake wake = { 0 };
	static struct abi_runner runner;
	union abi_entry entry;
	struct drm_cmx_run run;

	abi_entry_launch(&entry, 1, 1000);
	abi_submit(world, &world->stream, &entry);
	abi_run_args(&run, CMX_UNTIL_IDLE, 0);
	abi_run_room(&run, &runner);
	if (abi_run(world->fd, &run) != CMX_RUN_BATCH || write(pipe, "b", 1) != 1)
		return 1;
	/* The device goes while the launch is executed. */
	while (!abi_ioctl(world->fd, DRM_IOCTL_CMX_WAKE, &wake))
		usleep(10000);
	abi_run_execute(&run, &runner);
	return abi_run_through(world->fd, &run, &runner);
}

static int busy_fault(struct abi_world *world)
{
	struct abi_mem mem;
	int ret;

	for (;;) {
		ret = abi_mem_create(world->fd, 0, ABI_VA * 2, 16 * ABI_PAGE, &mem);
		if (ret)
			return ret;
		memset(mem.bytes, 3, mem.map.size);
		abi_mem_destroy(world->fd, &mem);
	}
}

static int busy_poll(struct abi_world *world)
{
	struct pollfd poll_fd = { .fd = world->fd, .events = POLLIN };
	struct cmx_event event;

	if (poll(&poll_fd, 1, 20000) != 1)
		return 1;
	/* The event tells, and can still be read. */
	if (abi_event_find(world->fd, CMX_EVENT_DEVICE_GONE, &event) != 1)
		return 2;
	return busy_copy(world);
}

/* Sleepers are sent away first: a moment later all calls are refused. */
static bool refuses_soon(struct abi_world *world)
{
	unsigned int tries;
	__u32 handle;

	for (tries = 0; tries < 1000; tries++) {
		if (abi_bo(world->fd, 0, ABI_PAGE, 0, &handle) == -ENODEV)
			return true;
		usleep(10000);
	}
	return false;
}

/* A client until the device is gone, and a little longer: 0 if all was as it should be. */
static int be_busy(enum busy busy, int pipe)
{
	struct drm_cmx_info_device device;
	struct abi_world world;
	int ret = abi_world_open(&world);

	if (ret)
		return 10;
	if (busy != BUSY_BATCH && write(pipe, "b", 1) != 1)
		return 11;
	switch (busy) {
	case BUSY_COPY:
		ret = busy_copy(&world);
		break;
	case BUSY_SLEEP:
		ret = busy_sleep(&world);
		break;
	case BUSY_BATCH:
		ret = busy_batch(&world, pipe);
		break;
	case BUSY_FAULT:
		ret = busy_fault(&world);
		break;
	default:
		ret = busy_poll(&world);
		break;
	}
	if (ret != -ENODEV) {
		printf("# busy %u: %d\n", busy, ret);
		return 12;
	}
	/* Memory stays, rings are scratch, questions are answered. */
	world.mem.bytes[7] = 8;
	if (world.mem.bytes[7] != 8)
		return 13;
	world.sdma.producer->tail = 5;
	world.clock.doorbell[0] = ~0ULL;
	(void)*(volatile __u32 *)&world.cq.producer->tail;
	if (abi_info(world.fd, CMX_INFO_DEVICE, 0, &device, sizeof(device)))
		return 14;
	if (!refuses_soon(&world))
		return 15;
	abi_world_close(&world);
	return 0;
}

TEST_F_TIMEOUT(unload, unplug_under_clients, 200)
{
	struct abi_binding binding;
	unsigned int loop, i;
	int pipes[2], status;
	char byte;

	close(self->fd);
	ASSERT_EQ(0, abi_binding_find(&binding));
	ASSERT_EQ(0, pipe(pipes));
	for (loop = 0; loop < LOOPS; loop++) {
		pid_t children[2 * BUSY_KINDS];

		for (i = 0; i < 2 * BUSY_KINDS; i++) {
			children[i] = fork();
			ASSERT_GE(children[i], 0);
			if (!children[i])
				_exit(be_busy(i % BUSY_KINDS, pipes[1]));
		}
		for (i = 0; i < 2 * BUSY_KINDS; i++)
			ASSERT_EQ(1, read(pipes[0], &byte, 1));
		usleep(loop * 7000);
		ASSERT_EQ(0, abi_unbind(&binding));
		EXPECT_EQ(-ENODEV, abi_open());
		ASSERT_EQ(0, abi_bind(&binding));
		for (i = 0; i < 2 * BUSY_KINDS; i++) {
			ASSERT_EQ(children[i], waitpid(children[i], &status, 0));
			EXPECT_EQ(0, status)
				TH_LOG("busy %u", i % BUSY_KINDS);
		}
		EXPECT_TRUE(abi_all_free());
	}
	EXPECT_TRUE(goes_and_comes());
}

/* A file, a mapping and a buffer of a device that is gone hold the module. */
TEST_F(unload, unplugged_file)
{
	struct abi_binding binding;
	struct abi_mem mem;
	int dmabuf;

	ASSERT_EQ(0, abi_binding_find(&binding));
	ASSERT_EQ(0, abi_mem_create(self->fd, 0, ABI_VA, ABI_PAGE, &mem));
	mem.bytes[0] = 9;
	dmabuf = abi_prime_export(self->fd, mem.handle);
	ASSERT_GE(dmabuf, 0);
	ASSERT_EQ(0, abi_unbind(&binding));
	EXPECT_EQ(-EAGAIN, abi_module_remove());
	close(self->fd);
	EXPECT_EQ(-EAGAIN, abi_module_remove());
	EXPECT_EQ(9, mem.bytes[0]);
	abi_munmap(&mem.map);
	EXPECT_EQ(-EAGAIN, abi_module_remove());
	close(dmabuf);
	EXPECT_TRUE(goes_and_comes());
}

TEST_HARNESS_MAIN
