// SPDX-License-Identifier: GPL-2.0-only
/* Sizes, directions and numbers of every ioctl. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kselftest_harness.h"

#include "cmx_calls.h"

#define LARGEST	((1U << _IOC_SIZEBITS) - 1)

FIXTURE(size) {
	struct abi_world world;
	char *page;
	char *buffer;
};

/* A page with nothing behind it, and a buffer for the longest argument. */
FIXTURE_SETUP(size)
{
	ASSERT_EQ(0, abi_world_open(&self->world));
	self->page = mmap(NULL, 2 * ABI_PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->page);
	ASSERT_EQ(0, munmap(self->page + ABI_PAGE, ABI_PAGE));
	self->buffer = calloc(1, LARGEST + 1);
	ASSERT_NE(NULL, self->buffer);
}

FIXTURE_TEARDOWN(size)
{
	abi_world_close(&self->world);
}

static unsigned long resized(const struct abi_call *call, unsigned int size)
{
	return _IOC(_IOC_READ | _IOC_WRITE, _IOC_TYPE(call->request), _IOC_NR(call->request),
		    size);
}

TEST_F(size, exact)
{
	unsigned int i;
	int ret;

	EXPECT_EQ(DRM_CMX_EVENTS + 1, abi_num_calls);
	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];

		EXPECT_EQ(DRM_COMMAND_BASE + i, _IOC_NR(call->request));
		EXPECT_EQ(0, _IOC_SIZE(call->request) % 8);
		ASSERT_EQ(0, abi_prepare(&self->world, call, self->buffer));
		ret = abi_ioctl(self->world.fd, call->request, self->buffer);
		EXPECT_EQ(0, ret)
			TH_LOG("%s", call->name);
		abi_undo(&self->world, call, self->buffer, ret);
	}
}

TEST_F(size, shorter)
{
	unsigned int i, size, step;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];

		ASSERT_EQ(0, abi_prepare(&self->world, call, self->buffer));
		size = _IOC_SIZE(call->request) - 1;
		for (step = 1; size < LARGEST; size -= step, step *= 2)
			EXPECT_EQ(-EINVAL, abi_ioctl(self->world.fd, resized(call, size),
						     self->buffer))
				TH_LOG("%s size %u", call->name, size);
		EXPECT_EQ(-EINVAL, abi_ioctl(self->world.fd, resized(call, 0), self->buffer))
			TH_LOG("%s size 0", call->name);
		abi_undo(&self->world, call, self->buffer, -EINVAL);
	}
}

TEST_F(size, longer_zero_tail)
{
	static const unsigned int more[] = { 1, 4, 8, 64, 4096 };
	unsigned int i, j, k;
	int ret;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];
		unsigned int exact = _IOC_SIZE(call->request);

		for (j = 0; j < ABI_ARRAY_SIZE(more) + 1; j++) {
			unsigned int size = j < ABI_ARRAY_SIZE(more) ? exact + more[j] : LARGEST;

			memset(self->buffer, 0, LARGEST);
			ASSERT_EQ(0, abi_prepare(&self->world, call, self->buffer));
			ret = abi_ioctl(self->world.fd, resized(call, size), self->buffer);
			EXPECT_EQ(0, ret)
				TH_LOG("%s size %u", call->name, size);
			abi_undo(&self->world, call, self->buffer, ret);
			for (k = exact; k < size && !self->buffer[k]; k++)
				;
			EXPECT_EQ(size, k)
				TH_LOG("%s size %u: tail was written", call->name, size);
		}
	}
}

TEST_F(size, longer_nonzero_tail)
{
	static const unsigned int more[] = { 1, 8, 64, 4096 };
	unsigned int i, j;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];
		unsigned int exact = _IOC_SIZE(call->request);

		ASSERT_EQ(0, abi_prepare(&self->world, call, self->buffer));
		for (j = 0; j < ABI_ARRAY_SIZE(more); j++) {
			memset(self->buffer + exact, 0, LARGEST - exact);
			self->buffer[exact + more[j] - 1] = 1;
			EXPECT_EQ(-E2BIG, abi_ioctl(self->world.fd, resized(call, exact + more[j]),
						    self->buffer))
				TH_LOG("%s size +%u", call->name, more[j]);
			memset(self->buffer + exact, 0, LARGEST - exact);
			self->buffer[exact] = (char)0x80;
			EXPECT_EQ(-E2BIG, abi_ioctl(self->world.fd, resized(call, exact + more[j]),
						    self->buffer))
				TH_LOG("%s size +%u, first byte", call->name, more[j]);
		}
		abi_undo(&self->world, call, self->buffer, -E2BIG);
	}
}

TEST_F(size, direction)
{
	static const unsigned int dirs[] = { _IOC_NONE, _IOC_READ, _IOC_WRITE };
	unsigned int i, j;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];

		ASSERT_EQ(0, abi_prepare(&self->world, call, self->buffer));
		for (j = 0; j < ABI_ARRAY_SIZE(dirs); j++)
			EXPECT_EQ(-EINVAL,
				  abi_ioctl(self->world.fd,
					    _IOC(dirs[j], _IOC_TYPE(call->request),
						 _IOC_NR(call->request), _IOC_SIZE(call->request)),
					    self->buffer))
				TH_LOG("%s direction %u", call->name, dirs[j]);
		abi_undo(&self->world, call, self->buffer, -EINVAL);
	}
}

TEST_F(size, unknown_number)
{
	unsigned int nr;

	for (nr = DRM_CMX_EVENTS + 1; nr < DRM_COMMAND_END - DRM_COMMAND_BASE; nr++)
		EXPECT_EQ(-EINVAL, abi_ioctl(self->world.fd,
					     _IOC(_IOC_READ | _IOC_WRITE, DRM_IOCTL_BASE,
						  DRM_COMMAND_BASE + nr, 16),
					     self->buffer))
			TH_LOG("number %u", nr);
	EXPECT_EQ(-ENOTTY, abi_ioctl(self->world.fd,
				     _IOC(_IOC_READ | _IOC_WRITE, 'x', DRM_COMMAND_BASE, 16),
				     self->buffer));
}

/* The argument ends where the page does: neither read nor written beyond. */
TEST_F(size, end_of_page)
{
	unsigned int i;
	int ret;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];
		unsigned int exact = _IOC_SIZE(call->request);
		char *arg = self->page + ABI_PAGE - exact;

		ASSERT_EQ(0, abi_prepare(&self->world, call, self->buffer));
		memcpy(arg, self->buffer, exact);
		ret = abi_ioctl(self->world.fd, call->request, arg);
		EXPECT_EQ(0, ret)
			TH_LOG("%s", call->name);
		memcpy(self->buffer, arg, exact);
		abi_undo(&self->world, call, self->buffer, ret);
	}
}

/* One byte of the argument is missing, or all of it. */
TEST_F(size, bad_address)
{
	unsigned int i;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];
		unsigned int exact = _IOC_SIZE(call->request);
		char *arg = self->page + ABI_PAGE - exact + 1;

		ASSERT_EQ(0, abi_prepare(&self->world, call, self->buffer));
		memcpy(arg, self->buffer, exact - 1);
		EXPECT_EQ(-EFAULT, abi_ioctl(self->world.fd, call->request, arg))
			TH_LOG("%s", call->name);
		EXPECT_EQ(-EFAULT, abi_ioctl(self->world.fd, call->request, NULL))
			TH_LOG("%s at NULL", call->name);
		EXPECT_EQ(-EFAULT, abi_ioctl(self->world.fd, call->request, (void *)-4096L))
			TH_LOG("%s in the kernel's half", call->name);
		abi_undo(&self->world, call, self->buffer, -EFAULT);
	}
}

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	if (!dir)
		return -1;
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* The number of a new descriptor cannot be told: then there is none. */
TEST_F(size, answer_cannot_be_written)
{
	struct drm_cmx_timeline_export *export = (void *)self->page;
	int before, first, i;

	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_TIMELINE_EXPORT, export));
	first = export->fd;
	ASSERT_EQ(0, close(first));
	before = count_fds();
	ASSERT_LT(0, before);
	ASSERT_EQ(0, mprotect(self->page, ABI_PAGE, PROT_READ));
	for (i = 0; i < 8; i++)
		EXPECT_EQ(-EFAULT,
			  abi_ioctl(self->world.fd, DRM_IOCTL_CMX_TIMELINE_EXPORT, export));
	EXPECT_EQ(before, count_fds());
	ASSERT_EQ(0, mprotect(self->page, ABI_PAGE, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_TIMELINE_EXPORT, export));
	EXPECT_EQ(first, export->fd);
	EXPECT_EQ(FD_CLOEXEC, fcntl(export->fd, F_GETFD));
	EXPECT_EQ(0, close(export->fd));
}

/* What a call returns is written whole, whatever the caller had left there. */
TEST_F(size, answers_are_written)
{
	unsigned int i, j;
	int ret;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];

		ASSERT_EQ(0, abi_prepare(&self->world, call, self->buffer));
		for (j = 0; j < call->num_fields; j++)
			if (call->fields[j].kind == ABI_OUT)
				memset(self->buffer + call->fields[j].offset, 0xff,
				       call->fields[j].size);
		ret = abi_ioctl(self->world.fd, call->request, self->buffer);
		EXPECT_EQ(0, ret)
			TH_LOG("%s looks at a field it should write", call->name);
		for (j = 0; j < call->num_fields; j++) {
			const struct abi_field *field = &call->fields[j];
			__u64 ones = field->size < 8 ? (1ULL << field->size * 8) - 1 : ~0ULL;

			if (field->kind != ABI_OUT || field->known)
				continue;
			EXPECT_NE(ones, abi_field_get(field, self->buffer))
				TH_LOG("%s leaves %s alone", call->name, field->name);
		}
		abi_undo(&self->world, call, self->buffer, ret);
	}
}

/* The same for structures that a query copies out, whole and in part. */
TEST_F(size, info_is_written)
{
	static const unsigned int sizes[] = {
		sizeof(struct drm_cmx_info_device), sizeof(struct drm_cmx_info_limits),
		sizeof(struct drm_cmx_info_entity), sizeof(struct drm_cmx_info_client),
		sizeof(struct drm_cmx_info_extack),
	};
	struct drm_cmx_info args;
	unsigned int type, part;

	for (type = 0; type < ABI_ARRAY_SIZE(sizes); type++) {
		args = (struct drm_cmx_info){ .type = type, .size = 12345 };
		EXPECT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_INFO, &args));
		EXPECT_EQ(sizes[type], args.size);
		for (part = 0; part <= sizes[type] + 8; part += 4) {
			unsigned int end = part < sizes[type] ? part : sizes[type];
			char *to = self->page + ABI_PAGE - 8 - end;

			memset(self->page, 0xff, ABI_PAGE);
			args.size = part;
			args.pointer = abi_addr(to);
			EXPECT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_INFO, &args));
			EXPECT_EQ(end, args.size);
			EXPECT_EQ((char)0xff, to[end])
				TH_LOG("type %u size %u: wrote too much", type, part);
			EXPECT_EQ((char)0xff, to[-1]);
		}
	}
}

TEST_HARNESS_MAIN
