/* SPDX-License-Identifier: GPL-2.0-only */
/* The supernode as a DRM compute-accel device. */
#ifndef CMX_DEVICE_H
#define CMX_DEVICE_H

#include <linux/list.h>
#include <linux/spinlock.h>

#include <drm/drm_device.h>

struct cmx_machine;
struct drm_driver;

/*
 * Lock order, outer first: cmx_file.default_lock, a timeline's lock (what is below it: see
 * cmx_timeline.h), cmx_cq.bind_lock, cmx_vm.lock, cmx_bo.lock, cmx_bo.watch_lock.  The
 * spinlocks of a file (handles, extack) are innermost, as is the event list's, which also
 * nests in cmx_device.files_lock.  Faults run under the mmap lock and take cmx_bo.lock,
 * cmx_shared.lock and cmx_file.scratch_lock: user memory is touched under none of these.
 */

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
