// SPDX-License-Identifier: GPL-2.0-only
/* Thin wrappers of the raw ABI. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "cmx_abi.h"

#define ABI_MINORS	256

int abi_ioctl(int fd, unsigned long request, void *arg)
{
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static bool is_cmx(int fd)
{
	char name[16] = "";
	struct drm_version version = {
		.name_len = sizeof(name) - 1,
		.name = name,
	};

	return !ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "cmx");
}

/* Opens the first accel device of this driver; -ENODEV: there is none. */
int abi_open(void)
{
	char path[64];
	int fd, i;

	for (i = 0; i < ABI_MINORS; i++) {
		snprintf(path, sizeof(path), "/dev/accel/accel%d", i);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (is_cmx(fd))
			return fd;
		close(fd);
	}
	return -ENODEV;
}

/* Folder in /sys of the device the driver is bound to. */
int abi_sysfs_device(char *path, size_t size)
{
	char link[64], real[PATH_MAX];
	struct stat st;
	int fd = abi_open();

	if (fd < 0)
		return fd;
	if (fstat(fd, &st)) {
		close(fd);
		return -errno;
	}
	close(fd);
	snprintf(link, sizeof(link), "/sys/dev/char/%u:%u/device", major(st.st_rdev),
		 minor(st.st_rdev));
	if (!realpath(link, real))
		return -errno;
	return snprintf(path, size, "%s", real) < (int)size ? 0 : -ENAMETOOLONG;
}

int abi_info(int fd, __u32 type, __u32 index, void *info, __u32 size)
{
	struct drm_cmx_info args = {
		.type = type,
		.index = index,
		.size = size,
		.pointer = abi_addr(info),
	};

	return abi_ioctl(fd, DRM_IOCTL_CMX_INFO, &args);
}

int abi_extack(int fd, struct drm_cmx_info_extack *extack)
{
	memset(extack, 0, sizeof(*extack));
	return abi_info(fd, CMX_INFO_EXTACK, 0, extack, sizeof(*extack));
}

int abi_entity(int fd, __u32 index, struct drm_cmx_info_entity *entity)
{
	return abi_info(fd, CMX_INFO_ENTITY, index, entity, sizeof(*entity));
}

int abi_gem_close(int fd, __u32 handle)
{
	struct drm_gem_close args = { .handle = handle };

	return abi_ioctl(fd, DRM_IOCTL_GEM_CLOSE, &args);
}

int abi_prime_export(int fd, __u32 handle)
{
	struct drm_prime_handle args = {
		.handle = handle,
		.flags = DRM_CLOEXEC | DRM_RDWR,
	};
	int ret = abi_ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &args);

	return ret ? ret : args.fd;
}

int abi_prime_import(int fd, int dmabuf, __u32 *handle)
{
	struct drm_prime_handle args = { .fd = dmabuf };
	int ret = abi_ioctl(fd, DRM_IOCTL_PRIME_FD_TO_HANDLE, &args);

	*handle = args.handle;
	return ret;
}

int abi_destroy(int fd, __u32 type, __u32 handle)
{
	struct drm_cmx_destroy args = { .type = type, .handle = handle };

	return abi_ioctl(fd, DRM_IOCTL_CMX_DESTROY, &args);
}

int abi_mmap(int fd, struct abi_map *map, int prot)
{
	void *addr = mmap(NULL, map->size, prot, MAP_SHARED, fd, (off_t)map->offset);

	map->addr = addr == MAP_FAILED ? NULL : addr;
	return map->addr ? 0 : -errno;
}

void abi_munmap(struct abi_map *map)
{
	if (map->addr)
		munmap(map->addr, map->size);
	map->addr = NULL;
}

int abi_bo(int fd, __u32 entity, __u64 size, __u32 flags, __u32 *handle)
{
	struct drm_cmx_bo_create args = {
		.size = size,
		.entity = entity,
		.flags = flags,
	};
	int ret = abi_ioctl(fd, DRM_IOCTL_CMX_BO_CREATE, &args);

	*handle = args.handle;
	return ret;
}

int abi_map_va(int fd, __u32 handle, __u64 va, __u64 size, __u32 flags)
{
	struct drm_cmx_map args = {
		.handle = handle,
		.flags = flags,
		.va = va,
		.size = size,
	};

	return abi_ioctl(fd, DRM_IOCTL_CMX_MAP, &args);
}

int abi_unmap_va(int fd, __u64 va, __u64 size)
{
	struct drm_cmx_unmap args = { .va = va, .size = size };

	return abi_ioctl(fd, DRM_IOCTL_CMX_UNMAP, &args);
}

/* A BO at @va, readable and writable for the device and the CPU. */
int abi_mem_create(int fd, __u32 entity, __u64 va, __u64 size, struct abi_mem *mem)
{
	struct drm_cmx_bo_create args = { .size = size, .entity = entity };
	int ret;

	memset(mem, 0, sizeof(*mem));
	ret = abi_ioctl(fd, DRM_IOCTL_CMX_BO_CREATE, &args);
	if (ret)
		return ret;
	mem->handle = args.handle;
	mem->va = va;
	mem->map.offset = args.mmap_offset;
	mem->map.size = size;
	ret = abi_map_va(fd, mem->handle, va, size, CMX_MAP_READ | CMX_MAP_WRITE);
	if (ret)
		goto err_close_handle;
	ret = abi_mmap(fd, &mem->map, PROT_READ | PROT_WRITE);
	if (ret)
		goto err_unmap_va;
	mem->bytes = mem->map.addr;
	mem->words = mem->map.addr;
	return 0;

err_unmap_va:
	abi_unmap_va(fd, va, size);
err_close_handle:
	abi_gem_close(fd, mem->handle);
	return ret;
}

void abi_mem_destroy(int fd, struct abi_mem *mem)
{
	if (!mem->map.addr)
		return;
	abi_munmap(&mem->map);
	abi_unmap_va(fd, mem->va, mem->map.size);
	abi_gem_close(fd, mem->handle);
}

__u64 abi_random(struct abi_random *random)
{
	__u64 z = random->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* A number from the environment, or the standard one. */
unsigned int abi_setting(const char *name, unsigned int standard)
{
	const char *text = getenv(name);

	return text && *text ? (unsigned int)strtoul(text, NULL, 0) : standard;
}

/* CMX_SEED or a fixed one, printed so that a failure can be repeated. */
__u64 abi_seed(void)
{
	__u64 seed = abi_setting("CMX_SEED", 20261);

	printf("# seed %llu (CMX_SEED repeats it)\n", (unsigned long long)seed);
	fflush(stdout);
	return seed;
}
