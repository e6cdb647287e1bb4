// SPDX-License-Identifier: GPL-2.0-only
/*
 * Dispatch of this driver's ioctls.
 *
 * DRM's own dispatcher cuts off the tail of a structure larger than the driver knows and
 * zero-extends a smaller one before a handler sees it, so neither could be refused.
 * Numbers in the driver's range are therefore handled here, all others by DRM.
 */
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>

#include "cmx_extack.h"
#include "cmx_ioctl.h"

#define CMX_IOCTL_UNPLUGGED	BIT(0)	/* also works after the device was removed */
#define CMX_IOCTL_TELLS_FREE	BIT(1)	/* copied back with -ENOSPC too */

#define CMX_IOCTL_MAX_SIZE	256

/** struct cmx_ioctl_desc - an ioctl. */
struct cmx_ioctl_desc {
	/** @size: bytes of the structure known to this module. */
	u16 size;
	/** @min: bytes of its first version; less is malformed. */
	u16 min;
	/** @flags: CMX_IOCTL_*. */
	u16 flags;
	/** @handler: what to do. */
	int (*handler)(struct cmx_file *file, void *data);
};

#define CMX_IOCTL(NR, name, last, _flags)					\
	[DRM_CMX_##NR] = {							\
		.size = sizeof(struct drm_cmx_##name) +				\
			BUILD_BUG_ON_ZERO(sizeof(struct drm_cmx_##name) > CMX_IOCTL_MAX_SIZE), \
		.min = offsetofend(struct drm_cmx_##name, last),		\
		.flags = (_flags),						\
		.handler = cmx_ioctl_##name,					\
	}

/* The field named is the last one of version 1.0 and never changes. */
static const struct cmx_ioctl_desc cmx_ioctls[] = {
	CMX_IOCTL(INFO, info, pointer, CMX_IOCTL_UNPLUGGED),
	CMX_IOCTL(BO_CREATE, bo_create, free, CMX_IOCTL_TELLS_FREE),
	CMX_IOCTL(BO_QUERY, bo_query, mmap_offset, 0),
	CMX_IOCTL(MAP, map, size, 0),
	CMX_IOCTL(UNMAP, unmap, size, 0),
	CMX_IOCTL(CQ_CREATE, cq_create, rw_size, 0),
	CMX_IOCTL(RQ_CREATE, rq_create, ro_size, 0),
	CMX_IOCTL(QUEUE_CREATE, queue_create, ro_size, 0),
	CMX_IOCTL(QUEUE_QUERY, queue_query, bytes, 0),
	CMX_IOCTL(QUEUE_SET_STATE, queue_set_state, state, 0),
	CMX_IOCTL(DESTROY, destroy, handle, 0),
	CMX_IOCTL(TIMELINE_CREATE, timeline_create, handle, 0),
	CMX_IOCTL(TIMELINE_EXPORT, timeline_export, fd, 0),
	CMX_IOCTL(TIMELINE_IMPORT, timeline_import, handle, 0),
	CMX_IOCTL(TIMELINE_QUERY, timeline_query, bytes, 0),
	CMX_IOCTL(ACTOR, actor, pad, 0),
	CMX_IOCTL(RUN, run, now_ps, 0),
	CMX_IOCTL(WAKE, wake, flags, 0),
	CMX_IOCTL(SIGNAL, signal, old, 0),
	CMX_IOCTL(EVENTS, events, pad, CMX_IOCTL_UNPLUGGED),
};

/** struct cmx_ioctl_frame - a call that is being carried out. */
struct cmx_ioctl_frame {
	/** @data: the caller's structure. */
	u64 data[CMX_IOCTL_MAX_SIZE / sizeof(u64)];
	/** @filp: file the caller gets when it knows the number, or NULL. */
	struct file *filp;
	/** @fd: reserved number of @filp. */
	int fd;
};

int cmx_ioctl_give_file(void *data, struct file *filp)
{
	struct cmx_ioctl_frame *frame = container_of(data, struct cmx_ioctl_frame, data);
	int fd = get_unused_fd_flags(O_CLOEXEC);

	if (fd < 0)
		return fd;
	frame->filp = filp;
	frame->fd = fd;
	return fd;
}

/* A descriptor its owner was not told of could never be closed. */
static void cmx_ioctl_settle_file(struct cmx_ioctl_frame *frame, bool told)
{
	if (!frame->filp)
		return;
	if (told) {
		fd_install(frame->fd, frame->filp);
		return;
	}
	put_unused_fd(frame->fd);
	fput(frame->filp);
}

static int cmx_ioctl_call(struct cmx_file *file, const struct cmx_ioctl_desc *desc, void *data)
{
	int idx, err;

	if (desc->flags & CMX_IOCTL_UNPLUGGED)
		return desc->handler(file, data);
	if (!drm_dev_enter(&file->cdev->drm, &idx))
		return -ENODEV;
	err = desc->handler(file, data);
	drm_dev_exit(idx);
	return err;
}

static int cmx_ioctl_copy(struct cmx_file *file, const struct cmx_ioctl_desc *desc,
			  void __user *user, size_t size)
{
	struct cmx_ioctl_frame frame;
	bool told;
	int err;

	if (size < desc->min)
		return cmx_refuse(file, -EINVAL, "size", size, desc->min,
				  "structure is shorter than its first version");
	err = copy_struct_from_user(frame.data, desc->size, user, size);
	if (err == -E2BIG)
		return cmx_refuse(file, err, "size", size, desc->size,
				  "bytes past the structure this module knows are not zero");
	if (err)
		return err;

	frame.filp = NULL;
	err = cmx_ioctl_call(file, desc, frame.data);
	if (err && !(err == -ENOSPC && (desc->flags & CMX_IOCTL_TELLS_FREE)))
		return err;
	told = !copy_to_user(user, frame.data, min_t(size_t, size, desc->size));
	cmx_ioctl_settle_file(&frame, told);
	return told ? err : -EFAULT;
}

static int cmx_ioctl_dispatch(struct cmx_file *file, u32 nr, unsigned int cmd, void __user *user)
{
	if (nr >= ARRAY_SIZE(cmx_ioctls))
		return cmx_refuse(file, -EINVAL, "nr", nr, ARRAY_SIZE(cmx_ioctls) - 1,
				  "no such ioctl number");
	if (_IOC_DIR(cmd) != (_IOC_READ | _IOC_WRITE))
		return cmx_refuse(file, -EINVAL, "direction", _IOC_DIR(cmd),
				  _IOC_READ | _IOC_WRITE, "every ioctl reads and writes");
	nr = array_index_nospec(nr, ARRAY_SIZE(cmx_ioctls));
	return cmx_ioctl_copy(file, &cmx_ioctls[nr], user, _IOC_SIZE(cmd));
}

static bool cmx_ioctl_is_own(unsigned int cmd)
{
	u32 nr = _IOC_NR(cmd);

	return _IOC_TYPE(cmd) == DRM_IOCTL_BASE && nr >= DRM_COMMAND_BASE && nr < DRM_COMMAND_END;
}

static long cmx_ioctl_own(struct file *filp, unsigned int cmd, void __user *user)
{
	struct drm_file *drm_file = filp->private_data;
	struct cmx_file *file = drm_file->driver_priv;
	u32 nr = _IOC_NR(cmd) - DRM_COMMAND_BASE;
	int err;

	err = cmx_ioctl_dispatch(file, nr, cmd, user);
	if (err)
		cmx_extack_finish(file, nr, err);
	return err;
}

/* What a GEM hook refused below DRM's handler gets its errno here. */
static long cmx_ioctl_drm(struct file *filp, long err)
{
	struct drm_file *drm_file = filp->private_data;

	if (err < 0)
		cmx_extack_finish(drm_file->driver_priv, CMX_EXTACK_NO_IOCTL, err);
	return err;
}

long cmx_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	if (cmx_ioctl_is_own(cmd))
		return cmx_ioctl_own(filp, cmd, (void __user *)arg);
	return cmx_ioctl_drm(filp, drm_ioctl(filp, cmd, arg));
}

#ifdef CONFIG_COMPAT
long cmx_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	/* Structures are the same for 32-bit callers. */
	if (cmx_ioctl_is_own(cmd))
		return cmx_ioctl_own(filp, cmd, compat_ptr(arg));
	return cmx_ioctl_drm(filp, drm_compat_ioctl(filp, cmd, arg));
}
#endif
