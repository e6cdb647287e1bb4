// SPDX-License-Identifier: GPL-2.0-only
/* Memory: capacity, sparseness, NO_DATA, handles, PRIME and lifetime. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "kselftest_harness.h"

#include "cmx_abi.h"
#include "cmx_host.h"

#define GIB	(1ULL << 30)

FIXTURE(bo) {
	int fd;
	struct drm_cmx_info_entity before;
};

FIXTURE_SETUP(bo)
{
	self->fd = abi_open();
	ASSERT_GE(self->fd, 0);
	ASSERT_EQ(0, abi_entity(self->fd, 0, &self->before));
}

/* Whatever a test did, the entity is as before. */
FIXTURE_TEARDOWN(bo)
{
	struct drm_cmx_info_entity after;

	close(self->fd);
	self->fd = abi_open();
	EXPECT_EQ(0, abi_entity(self->fd, 0, &after));
	EXPECT_EQ(self->before.used, after.used);
	EXPECT_EQ(self->before.resident, after.resident);
	close(self->fd);
}

static __u64 used_of(int fd)
{
	struct drm_cmx_info_entity entity = { 0 };

	abi_entity(fd, 0, &entity);
	return entity.used;
}

static __u64 resident_of(int fd)
{
	struct drm_cmx_info_entity entity = { 0 };

	abi_entity(fd, 0, &entity);
	return entity.resident;
}

TEST_F(bo, capacity)
{
	__u64 capacity = self->before.capacity, used = self->before.used;
	struct drm_cmx_bo_create args = { .size = GIB };
	__u32 handles[64], n = 0;

	ASSERT_EQ(64 * GIB, capacity);
	ASSERT_EQ(0, used);
	while (n < 64 && !abi_bo(self->fd, 0, GIB, 0, &handles[n]))
		n++;
	EXPECT_EQ(64, n);
	EXPECT_EQ(capacity, used_of(self->fd));
	EXPECT_EQ(self->before.resident, resident_of(self->fd));
	args.size = ABI_PAGE;
	EXPECT_EQ(-ENOSPC, abi_ioctl(self->fd, DRM_IOCTL_CMX_BO_CREATE, &args));
	EXPECT_EQ(0, args.free);
	EXPECT_EQ(0, args.handle);
	/* What is given back can be had again, and only that. */
	EXPECT_EQ(0, abi_gem_close(self->fd, handles[7]));
	args = (struct drm_cmx_bo_create){ .size = GIB + ABI_PAGE };
	EXPECT_EQ(-ENOSPC, abi_ioctl(self->fd, DRM_IOCTL_CMX_BO_CREATE, &args));
	EXPECT_EQ(GIB, args.free);
	args = (struct drm_cmx_bo_create){ .size = GIB - ABI_PAGE };
	EXPECT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_BO_CREATE, &args));
	EXPECT_EQ(ABI_PAGE, args.free);
	/* Another entity has its own. */
	EXPECT_EQ(0, abi_bo(self->fd, 1, GIB, 0, &handles[7]));
}

TEST_F(bo, no_space_names_the_numbers)
{
	struct drm_cmx_info_extack extack;
	__u64 capacity = self->before.capacity;
	__u32 handle;

	ASSERT_EQ(0, abi_bo(self->fd, 0, 3 * GIB, 0, &handle));
	EXPECT_EQ(-ENOSPC, abi_bo(self->fd, 0, capacity - 2 * GIB, 0, &handle));
	ASSERT_EQ(0, abi_extack(self->fd, &extack));
	EXPECT_EQ(ENOSPC, extack.error);
	EXPECT_STREQ("size", (char *)extack.field);
	EXPECT_EQ(capacity - 2 * GIB, extack.value);
	EXPECT_EQ(capacity - 3 * GIB, extack.limit);
}

/* The whole memory of a die, mapped for device and CPU, costs nothing. */
TEST_F(bo, largest_costs_nothing)
{
	struct drm_cmx_bo_query query = { 0 };
	struct abi_mem mem;
	__u64 size = self->before.capacity;

	if (size > SIZE_MAX)
		SKIP(return, "no room for %llu bytes in a 32-bit address space", size);
	ASSERT_EQ(0, abi_mem_create(self->fd, 0, ABI_VA, size, &mem));
	query.handle = mem.handle;
	EXPECT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_BO_QUERY, &query));
	EXPECT_EQ(size, query.size);
	EXPECT_EQ(0, query.resident);
	EXPECT_EQ(0, query.entity);
	EXPECT_EQ(mem.map.offset, query.mmap_offset);
	EXPECT_EQ(0, query.chunk & (query.chunk - 1));
	EXPECT_GE(query.chunk, ABI_PAGE);
	EXPECT_EQ(self->before.resident, resident_of(self->fd));
	/* A touch backs one piece, at either end. */
	EXPECT_EQ(0, mem.bytes[size - 1]);
	mem.bytes[0] = 1;
	EXPECT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_BO_QUERY, &query));
	EXPECT_GT(query.resident, 0);
	EXPECT_LE(query.resident, 2ULL * query.chunk);
	EXPECT_EQ(self->before.resident + query.resident, resident_of(self->fd));
	/* The charge lasts as long as any reference: here the CPU mapping. */
	EXPECT_EQ(0, abi_unmap_va(self->fd, ABI_VA, size));
	EXPECT_EQ(0, abi_gem_close(self->fd, mem.handle));
	EXPECT_EQ(size, used_of(self->fd));
	mem.bytes[ABI_PAGE] = 2;
	EXPECT_EQ(1, mem.bytes[0]);
	abi_munmap(&mem.map);
	EXPECT_EQ(0, used_of(self->fd));
	EXPECT_EQ(self->before.resident, resident_of(self->fd));
}

/* A mapping for the device alone keeps the memory and its bytes. */
TEST_F(bo, device_mapping_is_a_reference)
{
	__u32 handle;

	ASSERT_EQ(0, abi_bo(self->fd, 0, ABI_PAGE, 0, &handle));
	ASSERT_EQ(0, abi_map_va(self->fd, handle, ABI_VA, ABI_PAGE, CMX_MAP_FLAGS));
	EXPECT_EQ(0, abi_gem_close(self->fd, handle));
	EXPECT_EQ(ABI_PAGE, used_of(self->fd));
	EXPECT_EQ(0, abi_unmap_va(self->fd, ABI_VA, ABI_PAGE));
	EXPECT_EQ(0, used_of(self->fd));
}

TEST_F(bo, no_data)
{
	struct drm_cmx_bo_create args = { .size = 4 * GIB, .flags = CMX_BO_NO_DATA };
	struct drm_cmx_signal signal = { .va = ABI_VA };
	struct drm_cmx_bo_query query = { 0 };

	ASSERT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_BO_CREATE, &args));
	EXPECT_EQ(0, args.mmap_offset);
	EXPECT_EQ(4 * GIB, used_of(self->fd));
	query.handle = args.handle;
	EXPECT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_BO_QUERY, &query));
	EXPECT_EQ(CMX_BO_NO_DATA, query.flags);
	EXPECT_EQ(0, query.mmap_offset);
	EXPECT_EQ(0, query.resident);
	EXPECT_EQ(0, abi_map_va(self->fd, args.handle, ABI_VA, 4 * GIB, CMX_MAP_FLAGS));
	EXPECT_NE(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_SIGNAL, &signal));
	EXPECT_EQ(self->before.resident, resident_of(self->fd));
}

/* Not even through DRM's own fake offset of the object, wherever that may be. */
TEST_F(bo, no_data_is_not_mapped)
{
	struct drm_cmx_bo_create data = { .size = ABI_PAGE }, args = data;
	__u64 offset;

	args.flags = CMX_BO_NO_DATA;
	ASSERT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_BO_CREATE, &args));
	ASSERT_EQ(0, abi_ioctl(self->fd, DRM_IOCTL_CMX_BO_CREATE, &data));
	for (offset = data.mmap_offset - 8 * ABI_PAGE; offset < data.mmap_offset + 8 * ABI_PAGE;
	     offset += ABI_PAGE) {
		void *addr;

		if (offset == data.mmap_offset)
			continue;
		addr = mmap(NULL, ABI_PAGE, PROT_READ, MAP_SHARED, self->fd, (off_t)offset);
		EXPECT_EQ(MAP_FAILED, addr);
	}
}

TEST_F(bo, handles)
{
	struct drm_mode_create_dumb dumb = { .width = 64, .height = 64, .bpp = 32 };
	__u32 handle;

	ASSERT_EQ(0, abi_bo(self->fd, 0, ABI_PAGE, 0, &handle));
	EXPECT_NE(0, handle);
	EXPECT_EQ(0, abi_gem_close(self->fd, handle));
	EXPECT_EQ(-EINVAL, abi_gem_close(self->fd, handle));
	EXPECT_EQ(-EINVAL, abi_gem_close(self->fd, 0));
	EXPECT_GT(0, abi_ioctl(self->fd, DRM_IOCTL_MODE_CREATE_DUMB, &dumb));
	EXPECT_EQ(0, used_of(self->fd));
}

/* Untouched memory reads as zeros; a recycled piece too. */
TEST_F(bo, reads_zero)
{
	__u64 size = 64 * ABI_PAGE, i, round;
	struct abi_mem mem;

	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, abi_mem_create(self->fd, 0, ABI_VA, size, &mem));
		for (i = 0; i < size / 8 && !mem.words[i]; i++)
			;
		EXPECT_EQ(size / 8, i);
		memset(mem.bytes, 0xa5, size);
		abi_mem_destroy(self->fd, &mem);
	}
}

TEST_F(bo, prime_same_file)
{
	struct abi_mem mem;
	__u32 handle;
	int dmabuf;

	ASSERT_EQ(0, abi_mem_create(self->fd, 0, ABI_VA, ABI_PAGE, &mem));
	dmabuf = abi_prime_export(self->fd, mem.handle);
	ASSERT_GE(dmabuf, 0);
	EXPECT_EQ(0, abi_prime_import(self->fd, dmabuf, &handle));
	EXPECT_EQ(mem.handle, handle);
	EXPECT_EQ(ABI_PAGE, used_of(self->fd));
	close(dmabuf);
	abi_mem_destroy(self->fd, &mem);
}

/* The other file sees the same bytes; the charge goes with the last of the two. */
TEST_F(bo, prime_across_files)
{
	struct drm_cmx_bo_query query = { 0 };
	struct abi_mem mem;
	int dmabuf, other = abi_open();
	__u64 *words;

	ASSERT_GE(other, 0);
	ASSERT_EQ(0, abi_mem_create(self->fd, 0, ABI_VA, 4 * ABI_PAGE, &mem));
	mem.words[100] = 0x1122334455667788;
	dmabuf = abi_prime_export(self->fd, mem.handle);
	ASSERT_GE(dmabuf, 0);
	ASSERT_EQ(0, abi_prime_import(other, dmabuf, &query.handle));
	close(dmabuf);
	ASSERT_EQ(0, abi_ioctl(other, DRM_IOCTL_CMX_BO_QUERY, &query));
	EXPECT_EQ(4 * ABI_PAGE, query.size);
	words = mmap(NULL, query.size, PROT_READ | PROT_WRITE, MAP_SHARED, other,
		     (off_t)query.mmap_offset);
	ASSERT_NE(MAP_FAILED, words);
	EXPECT_EQ(0x1122334455667788, words[100]);
	words[200] = 7;
	EXPECT_EQ(7, mem.words[200]);
	EXPECT_EQ(0, abi_map_va(other, query.handle, 2 * ABI_VA, 4 * ABI_PAGE, CMX_MAP_FLAGS));
	abi_mem_destroy(self->fd, &mem);
	EXPECT_EQ(4 * ABI_PAGE, used_of(self->fd));
	EXPECT_EQ(0x1122334455667788, words[100]);
	munmap(words, query.size);
	close(other);
	EXPECT_EQ(0, used_of(self->fd));
}

/* The dma-buf outlives the handle, the mapping and the file. */
TEST_F(bo, dmabuf_outlives_file)
{
	int dmabuf, other = abi_open();
	struct abi_mem mem;
	__u32 handle;
	__u8 *bytes;

	ASSERT_GE(other, 0);
	ASSERT_EQ(0, abi_mem_create(other, 0, ABI_VA, ABI_PAGE, &mem));
	mem.bytes[5] = 55;
	dmabuf = abi_prime_export(other, mem.handle);
	ASSERT_GE(dmabuf, 0);
	abi_mem_destroy(other, &mem);
	close(other);
	EXPECT_EQ(ABI_PAGE, used_of(self->fd));
	bytes = mmap(NULL, ABI_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
	if (bytes != MAP_FAILED) {
		EXPECT_EQ(55, bytes[5]);
		munmap(bytes, ABI_PAGE);
	}
	ASSERT_EQ(0, abi_prime_import(self->fd, dmabuf, &handle));
	close(dmabuf);
	EXPECT_EQ(0, abi_gem_close(self->fd, handle));
	EXPECT_EQ(0, used_of(self->fd));
}

/* Something that is no buffer of this driver. */
TEST_F(bo, prime_foreign)
{
	int memfd = memfd_create("foreign", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	__u32 handle;

	ASSERT_GE(memfd, 0);
	EXPECT_GT(0, abi_prime_import(self->fd, memfd, &handle));
	EXPECT_EQ(-EBADF, abi_prime_import(self->fd, -1, &handle));
	EXPECT_GT(0, abi_prime_import(self->fd, self->fd, &handle));
	EXPECT_EQ(-ENOENT, abi_prime_export(self->fd, 12345));
	close(memfd);
}

/* Child: 0 if the buffer that comes over @socket holds 66 at 6; writes 77 at 7. */
static int use_received(int socket)
{
	struct drm_cmx_bo_query query = { 0 };
	int fd = abi_open(), dmabuf = abi_receive_fd(socket);
	__u8 *bytes;

	if (fd < 0 || dmabuf < 0 || abi_prime_import(fd, dmabuf, &query.handle))
		return 1;
	if (abi_ioctl(fd, DRM_IOCTL_CMX_BO_QUERY, &query))
		return 2;
	bytes = mmap(NULL, query.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     (off_t)query.mmap_offset);
	if (bytes == MAP_FAILED)
		return 3;
	if (bytes[6] != 66)
		return 4;
	bytes[7] = 77;
	return 0;
}

TEST_F(bo, prime_across_processes)
{
	struct abi_mem mem;
	int sockets[2], dmabuf, status;
	pid_t child;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets));
	child = fork();
	ASSERT_GE(child, 0);
	if (!child)
		_exit(use_received(sockets[1]));
	ASSERT_EQ(0, abi_mem_create(self->fd, 0, ABI_VA, ABI_PAGE, &mem));
	mem.bytes[6] = 66;
	dmabuf = abi_prime_export(self->fd, mem.handle);
	ASSERT_GE(dmabuf, 0);
	ASSERT_EQ(0, abi_send_fd(sockets[0], dmabuf));
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(77, mem.bytes[7]);
	close(dmabuf);
	abi_mem_destroy(self->fd, &mem);
	close(sockets[0]);
	close(sockets[1]);
}

TEST_HARNESS_MAIN
