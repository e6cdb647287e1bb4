// SPDX-License-Identifier: GPL-2.0-only
/* Rules of every mapping the device offers. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include "kselftest_harness.h"

#include "cmx_abi.h"
#include "cmx_host.h"

/** enum kind - kinds of mappings. */
enum kind {
	KIND_BO,
	KIND_QUEUE_RW,
	KIND_QUEUE_RO,
	KIND_RQ_RW,
	KIND_RQ_RO,
	KIND_CQ_RW,
	KIND_CQ_RO,
	KIND_DOORBELL,
	KIND_STATUS,
};

/** struct objects - one of each object that can be mapped. */
struct objects {
	__u32 bo;
	__u32 timeline;
	struct drm_cmx_cq_create cq;
	struct drm_cmx_rq_create rq;
	struct drm_cmx_queue_create queue;
	struct abi_map maps[KIND_STATUS + 1];
};

static int make_timeline(int fd, struct objects *o)
{
	struct drm_cmx_timeline_create create = { 0 };
	struct drm_cmx_timeline_query query = { 0 };
	int ret = abi_ioctl(fd, DRM_IOCTL_CMX_TIMELINE_CREATE, &create);

	if (ret)
		return ret;
	o->timeline = create.handle;
	query.handle = create.handle;
	ret = abi_ioctl(fd, DRM_IOCTL_CMX_TIMELINE_QUERY, &query);
	o->maps[KIND_DOORBELL] = (struct abi_map){ query.doorbell_offset, ABI_PAGE, NULL };
	o->maps[KIND_STATUS] = (struct abi_map){ query.status_offset, ABI_PAGE, NULL };
	return ret;
}

static int make_rings(int fd, struct objects *o)
{
	int ret;

	o->cq = (struct drm_cmx_cq_create){ .entries = 256 };
	ret = abi_ioctl(fd, DRM_IOCTL_CMX_CQ_CREATE, &o->cq);
	if (ret)
		return ret;
	o->rq = (struct drm_cmx_rq_create){ .slots = 256, .cq = o->cq.handle };
	ret = abi_ioctl(fd, DRM_IOCTL_CMX_RQ_CREATE, &o->rq);
	if (ret)
		return ret;
	abi_queue_args(&o->queue, CMX_QUEUE_UB, o->cq.handle);
	o->queue.slots = 256;
	o->queue.rq = o->rq.handle;
	o->queue.timeline = o->timeline;
	ret = abi_ioctl(fd, DRM_IOCTL_CMX_QUEUE_CREATE, &o->queue);
	o->maps[KIND_QUEUE_RW] = (struct abi_map){ o->queue.rw_offset, o->queue.rw_size, NULL };
	o->maps[KIND_QUEUE_RO] = (struct abi_map){ o->queue.ro_offset, o->queue.ro_size, NULL };
	o->maps[KIND_RQ_RW] = (struct abi_map){ o->rq.rw_offset, o->rq.rw_size, NULL };
	o->maps[KIND_RQ_RO] = (struct abi_map){ o->rq.ro_offset, o->rq.ro_size, NULL };
	o->maps[KIND_CQ_RW] = (struct abi_map){ o->cq.rw_offset, o->cq.rw_size, NULL };
	o->maps[KIND_CQ_RO] = (struct abi_map){ o->cq.ro_offset, o->cq.ro_size, NULL };
	return ret;
}

static int make_objects(int fd, struct objects *o)
{
	struct drm_cmx_bo_create bo = { .size = 4 * ABI_PAGE };
	int ret;

	memset(o, 0, sizeof(*o));
	ret = abi_ioctl(fd, DRM_IOCTL_CMX_BO_CREATE, &bo);
	if (ret)
		return ret;
	o->bo = bo.handle;
	o->maps[KIND_BO] = (struct abi_map){ bo.mmap_offset, bo.size, NULL };
	ret = make_timeline(fd, o);
	return ret ? ret : make_rings(fd, o);
}

static int destroy_objects(int fd, struct objects *o)
{
	int ret = abi_destroy(fd, CMX_OBJECT_QUEUE, o->queue.handle);

	if (!ret)
		ret = abi_destroy(fd, CMX_OBJECT_RQ, o->rq.handle);
	if (!ret)
		ret = abi_destroy(fd, CMX_OBJECT_CQ, o->cq.handle);
	if (!ret)
		ret = abi_destroy(fd, CMX_OBJECT_TIMELINE, o->timeline);
	if (!ret)
		ret = abi_gem_close(fd, o->bo);
	return ret;
}

FIXTURE(map) {
	int fd;
	struct objects objects;
	struct abi_map *map;
	int prot;
	__u8 *bytes;
};

FIXTURE_VARIANT(map) {
	enum kind kind;
	bool writable;
};

FIXTURE_VARIANT_ADD(map, bo) { .kind = KIND_BO, .writable = true };
FIXTURE_VARIANT_ADD(map, queue_rw) { .kind = KIND_QUEUE_RW, .writable = true };
FIXTURE_VARIANT_ADD(map, queue_ro) { .kind = KIND_QUEUE_RO };
FIXTURE_VARIANT_ADD(map, rq_rw) { .kind = KIND_RQ_RW, .writable = true };
FIXTURE_VARIANT_ADD(map, rq_ro) { .kind = KIND_RQ_RO };
FIXTURE_VARIANT_ADD(map, cq_rw) { .kind = KIND_CQ_RW, .writable = true };
FIXTURE_VARIANT_ADD(map, cq_ro) { .kind = KIND_CQ_RO };
FIXTURE_VARIANT_ADD(map, doorbell) { .kind = KIND_DOORBELL, .writable = true };
FIXTURE_VARIANT_ADD(map, status) { .kind = KIND_STATUS };

FIXTURE_SETUP(map)
{
	self->fd = abi_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, make_objects(self->fd, &self->objects));
	self->map = &self->objects.maps[variant->kind];
	ASSERT_NE(0, self->map->size);
	EXPECT_EQ(0, self->map->size % ABI_PAGE);
	EXPECT_EQ(0, self->map->offset % ABI_PAGE);
	self->prot = variant->writable ? PROT_READ | PROT_WRITE : PROT_READ;
	ASSERT_EQ(0, abi_mmap(self->fd, self->map, self->prot));
	self->bytes = self->map->addr;
}

FIXTURE_TEARDOWN(map)
{
	abi_munmap(self->map);
	close(self->fd);
}

static int try_map(int fd, const struct abi_map *map, __s64 more_offset, __s64 more_size,
		   int prot, int flags)
{
	size_t size = map->size + more_size;
	void *addr = mmap(NULL, size, prot, flags, fd, (off_t)(map->offset + more_offset));

	if (addr == MAP_FAILED)
		return -errno;
	munmap(addr, size);
	return 0;
}

TEST_F(map, shared_only)
{
	EXPECT_GT(0, try_map(self->fd, self->map, 0, 0, PROT_READ, MAP_PRIVATE));
	EXPECT_GT(0, try_map(self->fd, self->map, 0, 0, self->prot, MAP_PRIVATE));
	EXPECT_EQ(0, try_map(self->fd, self->map, 0, 0, self->prot, MAP_SHARED));
}

TEST_F(map, not_executable)
{
	EXPECT_GT(0, try_map(self->fd, self->map, 0, 0, PROT_READ | PROT_EXEC, MAP_SHARED));
	EXPECT_GT(0, try_map(self->fd, self->map, 0, 0, self->prot | PROT_EXEC, MAP_SHARED));
	EXPECT_NE(0, mprotect(self->bytes, self->map->size, PROT_READ | PROT_EXEC));
	EXPECT_NE(0, mprotect(self->bytes, self->map->size, self->prot | PROT_EXEC));
}

TEST_F(map, whole_only)
{
	__s64 page = ABI_PAGE;

	EXPECT_GT(0, try_map(self->fd, self->map, 0, page, PROT_READ, MAP_SHARED));
	if (variant->kind == KIND_BO)
		return;
	if (self->map->size > ABI_PAGE) {
		EXPECT_GT(0, try_map(self->fd, self->map, page, 0, PROT_READ, MAP_SHARED));
		EXPECT_GT(0, try_map(self->fd, self->map, 0, -page, PROT_READ, MAP_SHARED));
		EXPECT_GT(0, try_map(self->fd, self->map, page, -page, PROT_READ, MAP_SHARED));
	}
}

/* What the kernel writes the client cannot, by no way round. */
TEST_F(map, read_only)
{
	int mem;

	if (variant->writable) {
		EXPECT_EQ(0, mprotect(self->bytes, self->map->size, PROT_READ));
		EXPECT_EQ(0, mprotect(self->bytes, self->map->size, PROT_READ | PROT_WRITE));
		return;
	}
	EXPECT_GT(0, try_map(self->fd, self->map, 0, 0, PROT_WRITE, MAP_SHARED));
	EXPECT_GT(0, try_map(self->fd, self->map, 0, 0, PROT_READ | PROT_WRITE, MAP_SHARED));
	EXPECT_NE(0, mprotect(self->bytes, self->map->size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_NE(0, mprotect(self->bytes, ABI_PAGE, PROT_WRITE));
	mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	if (mem < 0)
		return;
	EXPECT_EQ(-1, pwrite(mem, "x", 1, (off_t)(uintptr_t)self->bytes));
	close(mem);
}

/* Child: writes, and must die of it. */
static int write_in_child(__u8 *bytes)
{
	int status;
	pid_t child = fork();

	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		*(volatile __u8 *)bytes = 1;
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int read_in_child(const __u8 *bytes)
{
	int status;
	pid_t child = fork();

	if (!child) {
		signal(SIGSEGV, SIG_DFL);
		signal(SIGBUS, SIG_DFL);
		(void)*(const volatile __u8 *)bytes;
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST_F(map, not_inherited)
{
	EXPECT_EQ(SIGSEGV, read_in_child(self->bytes));
	EXPECT_EQ(SIGSEGV, write_in_child(self->bytes));
	/* Ours is still there. */
	(void)*(volatile __u8 *)self->bytes;
	/* Nobody can ask for it back. */
	if (variant->kind != KIND_BO && !madvise(self->bytes, self->map->size, MADV_DOFORK))
		EXPECT_EQ(SIGSEGV, read_in_child(self->bytes));
}

TEST_F(map, mremap)
{
	size_t size = self->map->size;
	void *place = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, place);
	EXPECT_EQ(MAP_FAILED, mremap(self->bytes, size, 2 * size, 0));
	EXPECT_EQ(MAP_FAILED, mremap(self->bytes, size, 2 * size, MREMAP_MAYMOVE));
	if (variant->kind == KIND_BO)
		return;
	EXPECT_EQ(MAP_FAILED, mremap(self->bytes, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
				     place));
	EXPECT_EQ(MAP_FAILED, mremap(self->bytes, 0, size, MREMAP_MAYMOVE));
	(void)*(volatile __u8 *)self->bytes;
}

/* Removing a part may be refused, and must leave the rest usable if not. */
TEST_F(map, partial_munmap)
{
	size_t size = self->map->size;
	int ret;

	if (size < 2 * ABI_PAGE)
		return;
	ret = munmap(self->bytes + size - ABI_PAGE, ABI_PAGE);
	(void)*(volatile __u8 *)self->bytes;
	if (ret) {
		(void)*(volatile __u8 *)(self->bytes + size - 1);
		return;
	}
	if (variant->writable)
		*(volatile __u8 *)self->bytes = 1;
	EXPECT_EQ(0, munmap(self->bytes, size - ABI_PAGE));
	self->map->addr = NULL;
	EXPECT_EQ(0, abi_mmap(self->fd, self->map, self->prot));
}

/* An offset means something to its own file only. */
TEST_F(map, foreign_offset)
{
	struct objects objects;
	int other = abi_open();
	unsigned int i;

	ASSERT_GE(other, 0);
	EXPECT_GT(0, try_map(other, self->map, 0, 0, PROT_READ, MAP_SHARED));
	/* With objects of its own it gets those. */
	ASSERT_EQ(0, make_objects(other, &objects));
	for (i = 0; i < ABI_ARRAY_SIZE(objects.maps); i++)
		EXPECT_NE(objects.maps[i].offset, self->map->offset);
	EXPECT_GT(0, try_map(other, self->map, 0, 0, PROT_READ, MAP_SHARED));
	close(other);
}

/* Fills the client-written parts of @objects with @byte. */
static int paint(int fd, struct objects *objects, __u8 byte)
{
	static const enum kind kinds[] = { KIND_BO, KIND_QUEUE_RW, KIND_RQ_RW, KIND_CQ_RW,
					   KIND_DOORBELL };
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(kinds); i++) {
		struct abi_map *map = &objects->maps[kinds[i]];

		if (abi_mmap(fd, map, PROT_READ | PROT_WRITE))
			return -errno;
		memset(map->addr, byte, map->size);
		abi_munmap(map);
	}
	return 0;
}

static bool shows(const __u8 *bytes, size_t size, __u8 byte)
{
	size_t i;

	for (i = 0; i < size; i++)
		if (((const volatile __u8 *)bytes)[i] == byte)
			return true;
	return false;
}

/*
 * After destruction the address is valid, shows nothing of later objects, and writing
 * there changes none. A BO is different: its mapping keeps it.
 */
TEST_F(map, after_destroy)
{
	struct objects later;
	size_t size = self->map->size;

	(void)*(volatile __u8 *)self->bytes;
	if (variant->writable)
		memset(self->bytes, 0x77, size);
	ASSERT_EQ(0, destroy_objects(self->fd, &self->objects));
	/* The offset leads nowhere now, the address to memory that had no other use. */
	EXPECT_GT(0, try_map(self->fd, self->map, 0, 0, PROT_READ, MAP_SHARED));
	EXPECT_EQ(variant->kind == KIND_BO, shows(self->bytes, size, 0x77));
	ASSERT_EQ(0, make_objects(self->fd, &later));
	EXPECT_EQ(0, paint(self->fd, &later, 0xc3));
	EXPECT_FALSE(shows(self->bytes, size, 0xc3));
	if (variant->writable) {
		memset(self->bytes, 0x3c, size);
		ASSERT_EQ(0, abi_mmap(self->fd, &later.maps[variant->kind], PROT_READ));
		EXPECT_FALSE(shows(later.maps[variant->kind].addr, later.maps[variant->kind].size,
				   0x3c));
		abi_munmap(&later.maps[variant->kind]);
	} else {
		EXPECT_NE(0, mprotect(self->bytes, size, PROT_READ | PROT_WRITE));
	}
	EXPECT_EQ(0, destroy_objects(self->fd, &later));
}

/* The mapping outlives the descriptor. */
TEST_F(map, after_close)
{
	close(self->fd);
	(void)*(volatile __u8 *)self->bytes;
	if (variant->writable)
		*(volatile __u8 *)self->bytes = 9;
	abi_munmap(self->map);
	self->fd = abi_open();
	ASSERT_GE(self->fd, 0);
}

/* The device goes while the mapping is there; a new one comes. */
TEST_F(map, after_unplug)
{
	struct abi_binding binding;
	size_t size = self->map->size;
	int other;

	ASSERT_EQ(0, abi_binding_find(&binding));
	(void)*(volatile __u8 *)self->bytes;
	if (variant->kind == KIND_BO)
		self->bytes[1] = 0x22;
	ASSERT_EQ(0, abi_unbind(&binding));
	EXPECT_FALSE(shows(self->bytes, ABI_PAGE, 0xc3));
	if (variant->kind == KIND_BO)
		EXPECT_EQ(0x22, self->bytes[1]);
	if (variant->writable)
		memset(self->bytes, 0x3c, size);
	EXPECT_GT(0, try_map(self->fd, self->map, 0, 0, PROT_READ, MAP_SHARED));
	ASSERT_EQ(0, abi_bind(&binding));
	other = abi_open();
	ASSERT_GE(other, 0);
	EXPECT_FALSE(shows(self->bytes, ABI_PAGE, 0xc3));
	close(other);
}

/* Addresses never touched before the end of their object. */
TEST_F(map, first_touch_after_destroy)
{
	ASSERT_EQ(0, destroy_objects(self->fd, &self->objects));
	EXPECT_EQ(0, *(volatile __u8 *)self->bytes);
	if (variant->writable)
		*(volatile __u8 *)(self->bytes + self->map->size - 1) = 1;
	EXPECT_NE(0, mprotect(self->bytes, self->map->size, PROT_READ | PROT_EXEC));
}

/* Bytes of a BO can be handed to system calls. */
TEST(bo_in_system_calls)
{
	struct abi_mem mem;
	int fd = abi_open(), pipes[2];

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, abi_mem_create(fd, 0, ABI_VA, 4 * ABI_PAGE, &mem));
	ASSERT_EQ(0, pipe(pipes));
	memset(mem.bytes, 0x5a, 2 * ABI_PAGE);
	EXPECT_EQ(ABI_PAGE, write(pipes[1], mem.bytes + 100, ABI_PAGE));
	EXPECT_EQ(ABI_PAGE, read(pipes[0], mem.bytes + 3 * ABI_PAGE, ABI_PAGE));
	EXPECT_EQ(0, memcmp(mem.bytes + 100, mem.bytes + 3 * ABI_PAGE, ABI_PAGE));
	abi_mem_destroy(fd, &mem);
	close(fd);
}

TEST_HARNESS_MAIN
