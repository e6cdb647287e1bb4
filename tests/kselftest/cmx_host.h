/* SPDX-License-Identifier: GPL-2.0-only */
/* What surrounds the device: descriptors between processes, bind and unbind, the module. */
#ifndef CMX_HOST_H
#define CMX_HOST_H

#include <limits.h>

#include "cmx_abi.h"

/** struct abi_binding - driver and device. */
struct abi_binding {
	/** @driver: folder of the driver in /sys. */
	char driver[PATH_MAX / 2];
	/** @device: name of the device on the bus. */
	char device[64];
};

int abi_send_fd(int socket, int fd);
int abi_receive_fd(int socket);

int abi_binding_find(struct abi_binding *binding);
int abi_unbind(const struct abi_binding *binding);
int abi_bind(const struct abi_binding *binding);

int abi_module_remove(void);
int abi_module_insert(const char *path, const char *arguments);

bool abi_all_free(void);

#endif
