/* SPDX-License-Identifier: MIT */
/*
 * Discovery of devices, and what a device and its entities are.
 */
#ifndef CMX_DEVICE_H
#define CMX_DEVICE_H

#include <cmx/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct cmx_device_node - a device that can be opened. */
struct cmx_device_node {
	/** @name: name in /sys/class/accel. */
	char name[32];
	/** @path: device node. */
	char path[224];
};

/**
 * cmx_device_list - find the devices of this machine.
 * @list: receives an array sorted by number; free it with cmx_device_list_free().
 *
 * Looks in /sys/class/accel for devices whose driver is cmx.  $CMX_SYSFS_ROOT and
 * $CMX_DEV_ROOT replace /sys and /dev.
 *
 * Return: number of devices, or -errno.
 */
int cmx_device_list(struct cmx_device_node **list);

/** cmx_device_list_free - free what cmx_device_list() returned. */
void cmx_device_list_free(struct cmx_device_node *list);

/** cmx_device - the machine; lives as long as the context. */
const struct drm_cmx_info_device *cmx_device(const struct cmx_ctx *ctx);

/** cmx_limits - the largest values the module takes; lives as long as the context. */
const struct drm_cmx_info_limits *cmx_limits(const struct cmx_ctx *ctx);

/** cmx_path - the path the context was opened by. */
const char *cmx_path(const struct cmx_ctx *ctx);

/** cmx_entity_info - one die or socket, with what is used of it now. */
static inline int cmx_entity_info(struct cmx_ctx *ctx, uint32_t entity,
				  struct drm_cmx_info_entity *info)
{
	return cmx_info_query(ctx, CMX_INFO_ENTITY, entity, info, sizeof(*info));
}

/** cmx_client_info - what this context holds and has done. */
static inline int cmx_client_info(struct cmx_ctx *ctx, struct drm_cmx_info_client *info)
{
	return cmx_info_query(ctx, CMX_INFO_CLIENT, 0, info, sizeof(*info));
}

#ifdef __cplusplus
}
#endif

#endif /* CMX_DEVICE_H */
