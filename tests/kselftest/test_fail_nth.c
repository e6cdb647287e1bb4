// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocations that fail: every success path with the 1st, 2nd, 3rd ... allocation (or
 * copy from or to the client) failing, until it passes. Needs a kernel with fault injection.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"

#include "cmx_host.h"
#include "cmx_run.h"

#define DEBUG		"/sys/kernel/debug/"
#define MOST_FAULTS	2000
#define SRC		ABI_VA
#define DST		(ABI_VA + ABI_WORLD_PAGES / 2 * ABI_PAGE)

static int set_attribute(const char *name, const char *value)
{
	char path[128];
	int fd, ret = 0;

	snprintf(path, sizeof(path), DEBUG "%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, value, strlen(value)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Sleeping allocations too, silently, in this task only. */
static int set_up(void)
{
	static const char * const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };
	char name[64];
	unsigned int i;
	int ret;

	if (access(DEBUG "failslab", F_OK))
		mount("debugfs", DEBUG, "debugfs", 0, NULL);
	for (i = 0; i < ABI_ARRAY_SIZE(kinds); i++) {
		snprintf(name, sizeof(name), "%s/verbose", kinds[i]);
		ret = set_attribute(name, "0");
		if (ret && i < 2)
			return ret;
		snprintf(name, sizeof(name), "%s/probability", kinds[i]);
		set_attribute(name, "0");
	}
	ret = set_attribute("failslab/ignore-gfp-wait", "N");
	if (!ret)
		ret = set_attribute("fail_page_alloc/ignore-gfp-wait", "N");
	if (!ret)
		ret = set_attribute("fail_page_alloc/ignore-gfp-highmem", "N");
	if (!ret)
		ret = set_attribute("fail_page_alloc/min-order", "0");
	return ret;
}

FIXTURE(fail) {
	struct abi_world world;
	__u64 arg[ABI_ARG_SIZE / 8];
	int nth;
	unsigned int faults;
};

static int open_nth(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	return open(path, O_RDWR | O_CLOEXEC);
}

FIXTURE_SETUP(fail)
{
	self->nth = open_nth();
	if (self->nth < 0)
		SKIP(return, "the kernel has no fault injection");
	if (set_up())
		SKIP(return, "failslab and fail_page_alloc cannot be set up in " DEBUG);
	ASSERT_EQ(0, abi_world_open(&self->world));
}

FIXTURE_TEARDOWN(fail)
{
	if (self->world.fd > 0)
		abi_world_close(&self->world);
	close(self->nth);
	EXPECT_TRUE(abi_all_free());
	printf("# %u faults\n", self->faults);
}

/* The @n-th chance from now on fails. */
static void arm(FIXTURE_DATA(fail) *self, unsigned int n)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%u", n);

	if (pwrite(self->nth, text, length, 0) != length)
		abort();
}

/*
 * Whether something was made to fail since arm(); nothing will any more. What is left may
 * hit these calls themselves: then nothing failed before.
 */
static bool disarm(FIXTURE_DATA(fail) *self)
{
	char text[16] = "";
	bool fired = pread(self->nth, text, sizeof(text) - 1, 0) > 0 && !atoi(text);

	if (pwrite(self->nth, "0", 1, 0) != 1 && pwrite(self->nth, "0", 1, 0) != 1)
		abort();
	self->faults += fired;
	return fired;
}

static bool counts_equal(const struct drm_cmx_info_client *a, const struct drm_cmx_info_client *b)
{
	return !memcmp(a, b, offsetof(struct drm_cmx_info_client, commands));
}

/* Each ioctl: until it passes, only ENOMEM and EFAULT, and what it made before is undone. */
TEST_F_TIMEOUT(fail, every_call, 200)
{
	struct drm_cmx_info_client before, after;
	unsigned int i, n;
	bool fired;
	int ret;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];

		for (n = 1, fired = true; fired && n < MOST_FAULTS; n++) {
			int fd = self->world.fd;

			ASSERT_EQ(0, abi_info(fd, CMX_INFO_CLIENT, 0, &before, sizeof(before)));
			ASSERT_EQ(0, abi_prepare(&self->world, call, self->arg));
			arm(self, n);
			ret = abi_ioctl(fd, call->request, self->arg);
			fired = disarm(self);
			if (ret)
				EXPECT_TRUE(fired && (ret == -ENOMEM || ret == -EFAULT))
					TH_LOG("%s: fault %u returns %d", call->name, n, ret);
			abi_undo(&self->world, call, self->arg, ret);
			/* An answer that could not be told leaves what it tells of. */
			if (ret == -EFAULT) {
				abi_world_close(&self->world);
				ASSERT_EQ(0, abi_world_open(&self->world));
				continue;
			}
			ASSERT_EQ(0, abi_info(fd, CMX_INFO_CLIENT, 0, &after, sizeof(after)));
			EXPECT_TRUE(counts_equal(&before, &after))
				TH_LOG("%s: fault %u leaves something", call->name, n);
		}
		EXPECT_GT(MOST_FAULTS, n);
	}
}

TEST_F(fail, open)
{
	bool fired = true;
	unsigned int n;
	int fd;

	for (n = 1; fired && n < MOST_FAULTS; n++) {
		arm(self, n);
		fd = abi_open();
		fired = disarm(self);
		EXPECT_TRUE(fired || fd >= 0);
		if (fd >= 0)
			close(fd);
	}
}

/* Mappings and first touches; a fault that fails once is tried again. */
TEST_F(fail, mmap_and_fault)
{
	struct abi_map map = { .size = 8 * ABI_PAGE };
	struct drm_cmx_bo_create args;
	bool fired = true;
	unsigned int n;
	int ret;

	for (n = 1; fired && n < MOST_FAULTS; n++) {
		args = (struct drm_cmx_bo_create){ .size = map.size };
		ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_BO_CREATE, &args));
		map.offset = args.mmap_offset;
		arm(self, n);
		ret = abi_mmap(self->world.fd, &map, PROT_READ | PROT_WRITE);
		if (!ret) {
			((volatile __u8 *)map.addr)[0] = 1;
			((volatile __u8 *)map.addr)[map.size - 1] = 1;
		}
		fired = disarm(self);
		EXPECT_TRUE(!ret || (fired && ret == -ENOMEM))
			TH_LOG("fault %u: %d", n, ret);
		abi_munmap(&map);
		ASSERT_EQ(0, abi_gem_close(self->world.fd, args.handle));
	}
}

/* The number that the next descriptor will have. */
static int next_descriptor(int fd)
{
	int next = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	close(next);
	return next;
}

TEST_F(fail, prime)
{
	bool fired = true;
	unsigned int n;
	__u32 handle;
	int dmabuf, next;

	for (n = 1; fired && n < MOST_FAULTS; n++) {
		int ret = 0;

		handle = 0;
		next = next_descriptor(self->nth);
		arm(self, n);
		dmabuf = abi_prime_export(self->world.fd, self->world.mem.handle);
		if (dmabuf >= 0)
			ret = abi_prime_import(self->world.other, dmabuf, &handle);
		fired = disarm(self);
		EXPECT_TRUE(fired || (dmabuf >= 0 && !ret));
		/* DRM installs the descriptor before its number is copied out, which may fail. */
		if (dmabuf == -EFAULT)
			close(next);
		if (dmabuf >= 0)
			close(dmabuf);
		if (handle)
			abi_gem_close(self->world.other, handle);
	}
}

/* What the runs below carry out: first touches, lists, launches with records, messages. */
static void post_work(struct abi_world *world, const struct abi_mem *fresh)
{
	struct cmx_sg *list = (struct cmx_sg *)(world->mem.bytes + 2 * ABI_PAGE);
	struct cmx_record *record = (struct cmx_record *)(world->mem.bytes + 3 * ABI_PAGE);
	union abi_entry entry;
	unsigned int i;

	for (i = 0; i < 4; i++)
		list[i] = (struct cmx_sg){ DST + i * 64, fresh->va + i * 4096, 64, 0 };
	*record = (struct cmx_record){ .opcode = UB_OP_WRITE, .messages = 1, .va = DST,
				       .src_va = SRC, .len = 64 };
	abi_entry_copy(&entry, fresh->va, SRC, 4 * ABI_PAGE);
	abi_post(&world->sdma, &entry);
	abi_entry_copy(&entry, 0, 0, 0);
	entry.header.opcode = CMX_OP_COPY_SG;
	entry.copy_sg.list_va = SRC + 2 * ABI_PAGE;
	entry.copy_sg.count = 4;
	abi_post(&world->sdma, &entry);
	abi_entry_launch(&entry, 1, 1000);
	abi_post(&world->stream, &entry);
	entry.launch.launch_flags = CMX_LAUNCH_TIME_ONLY;
	entry.launch.first_ps = 0;
	entry.launch.record_va = SRC + 3 * ABI_PAGE;
	entry.launch.record_count = 1;
	abi_post(&world->stream, &entry);
	abi_entry_wait(&entry, DST + 1024, CMX_COND_NE, 0);
	abi_post(&world->ub, &entry);
	abi_entry_signal(&entry, DST + 1024, CMX_SIGNAL_SET, 1);
	abi_post(&world->sdma, &entry);
	abi_entry_rma(&entry, UB_OP_FADD, 0, DST + 8, 8);
	abi_post(&world->ub, &entry);
}

/* RUN with a failure at @n: 1 if it happened, 0 if not, or a negative error. */
static int run_with_fault(FIXTURE_DATA(fail) *self, unsigned int n)
{
	struct abi_runner runner = { 0 };
	struct drm_cmx_run run;
	bool fired = false;
	int ret, tries;

	abi_run_args(&run, CMX_UNTIL_IDLE, 0);
	for (tries = 0; tries < 40; tries++) {
		abi_run_room(&run, &runner);
		if (!fired && tries < 3)
			arm(self, n);
		ret = abi_run(self->world.fd, &run);
		fired |= disarm(self);
		/* Told nothing, whatever was taken or handed out: only the file's end helps. */
		if (ret == -EFAULT)
			return 1;
		if (ret == -ENOMEM)
			continue;
		run.outcomes = (struct drm_cmx_array){ 0 };
		if (ret == CMX_RUN_BATCH)
			abi_run_execute(&run, &runner);
		else if (ret == CMX_RUN_AGAIN)
			run.batch = 0;
		else
			break;
	}
	return ret == CMX_RUN_DONE ? fired : ret < 0 ? ret : -EPROTO;
}

TEST_F_TIMEOUT(fail, run, 200)
{
	struct abi_mem fresh;
	struct cmx_cqe cqe;
	unsigned int n, good;
	int ret = 1;

	abi_world_close(&self->world);
	for (n = 1; ret == 1 && n < MOST_FAULTS; n++) {
		ASSERT_EQ(0, abi_world_open(&self->world));
		ASSERT_EQ(0, abi_mem_create(self->world.fd, 1, ABI_VA * 3, 16 * ABI_PAGE, &fresh));
		post_work(&self->world, &fresh);
		abi_kick(self->world.fd, &self->world.clock, &self->world.stream);
		abi_kick(self->world.fd, &self->world.clock, &self->world.ub);
		abi_kick(self->world.fd, &self->world.clock, &self->world.sdma);
		ret = run_with_fault(self, n);
		EXPECT_LE(0, ret)
			TH_LOG("fault %u: %d", n, ret);
		/* Whatever failed on the way, the entries all ended well. */
		for (good = 0; abi_cqe_take(&self->world.cq, &cqe); good++)
			EXPECT_EQ(UB_CR_SUCCESS, cqe.status)
				TH_LOG("fault %u: opcode %#x status %u", n, cqe.opcode, cqe.status);
		if (!ret)
			EXPECT_EQ(7, good);
		abi_mem_destroy(self->world.fd, &fresh);
		abi_world_close(&self->world);
		EXPECT_TRUE(abi_all_free());
	}
	EXPECT_EQ(0, ret);
}

TEST_HARNESS_MAIN
