// SPDX-License-Identifier: GPL-2.0-only
/* What surrounds the device: descriptors between processes, bind and unbind, the module. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cmx_host.h"

/* Sends a descriptor with one byte. */
int abi_send_fd(int socket, int fd)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = {
		.cmsg_len = CMSG_LEN(sizeof(int)),
		.cmsg_level = SOL_SOCKET,
		.cmsg_type = SCM_RIGHTS,
	} };
	struct iovec iov = { .iov_base = (char[]){ 'x' }, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(socket, &message, 0) == 1 ? 0 : -errno;
}

int abi_receive_fd(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static int write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

/* Finds the driver and the device it is bound to, for later unbind and bind. */
int abi_binding_find(struct abi_binding *binding)
{
	char device[PATH_MAX], link[PATH_MAX + 16], *name;
	int ret = abi_sysfs_device(device, sizeof(device));

	if (ret)
		return ret;
	name = strrchr(device, '/') + 1;
	if (snprintf(binding->device, sizeof(binding->device), "%s", name) >=
	    (int)sizeof(binding->device))
		return -ENAMETOOLONG;
	snprintf(link, sizeof(link), "%s/driver", device);
	name = realpath(link, NULL);
	if (!name)
		return -errno;
	ret = snprintf(binding->driver, sizeof(binding->driver), "%s", name);
	free(name);
	return ret < (int)sizeof(binding->driver) ? 0 : -ENAMETOOLONG;
}

int abi_unbind(const struct abi_binding *binding)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/unbind", binding->driver);
	return write_file(path, binding->device);
}

int abi_bind(const struct abi_binding *binding)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/bind", binding->driver);
	return write_file(path, binding->device);
}

int abi_module_remove(void)
{
	return syscall(SYS_delete_module, "cmx", O_NONBLOCK) ? -errno : 0;
}

int abi_module_insert(const char *path, const char *arguments)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = syscall(SYS_finit_module, fd, arguments, 0) ? -errno : 0;
	close(fd);
	return ret;
}

/* Nothing is charged to any entity and no host memory is behind one. */
bool abi_all_free(void)
{
	struct drm_cmx_info_device device;
	struct drm_cmx_info_entity entity;
	int fd = abi_open();
	bool all = false;
	__u32 i;

	if (fd < 0)
		return false;
	if (abi_info(fd, CMX_INFO_DEVICE, 0, &device, sizeof(device)))
		goto out_close;
	for (i = 0, all = true; i < device.num_entities && all; i++) {
		all = !abi_entity(fd, i, &entity) && !entity.used && !entity.resident;
		if (!all)
			printf("# entity %u: used %llu, resident %llu\n", i,
			       (unsigned long long)entity.used,
			       (unsigned long long)entity.resident);
	}
out_close:
	close(fd);
	return all;
}
