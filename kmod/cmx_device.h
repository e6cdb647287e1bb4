/* SPDX-License-Identifier: GPL-2.0-only */
/* The supernode as a DRM compute-accel device. */
#ifndef CMX_DEVICE_H
#define CMX_DEVICE_H

#include <linux/list.h>
#include <linux/spinlock.h>

#include <drm/drm_device.h>

struct cmx_machine;
struct drm_driver;

/**
 * struct cmx_device - one accel minor.
 */
struct cmx_device {
	/** @drm: base; its reference count is this structure's. */
	struct drm_device drm;
	/** @machine: entities; outlives the device. */
	struct cmx_machine *machine;
	/**
	 * @gone: set under @files_lock before unplug waits, so that sleepers leave; read
	 * with READ_ONCE().
	 */
	bool gone;
	/** @files_lock: protects @files. */
	spinlock_t files_lock;
	/** @files: open struct cmx_file, by their @link. */
	struct list_head files;
};

extern const struct drm_driver cmx_drm_driver;

static inline struct cmx_device *to_cmx_device(struct drm_device *drm)
{
	return container_of(drm, struct cmx_device, drm);
}

#endif
