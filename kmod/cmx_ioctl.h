/* SPDX-License-Identifier: GPL-2.0-only */
/* Dispatch of this driver's ioctls. */
#ifndef CMX_IOCTL_H
#define CMX_IOCTL_H

#include "cmx_file.h"

struct file;

long cmx_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);
long cmx_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

/* cmx_check_zero() - refuse a reserved field that is not zero. */
static inline int cmx_check_zero(struct cmx_file *file, const char *field, u64 value)
{
	if (likely(!value))
		return 0;
	return cmx_refuse(file, -EINVAL, field, value, 0, "reserved, must be zero");
}

/* cmx_check_flags() - refuse flags that are not in @known. */
static inline int cmx_check_flags(struct cmx_file *file, const char *field, u64 value, u64 known)
{
	if (likely(!(value & ~known)))
		return 0;
	return cmx_refuse(file, -EINVAL, field, value, known, "unknown flag");
}

/*
 * cmx_ioctl_give_file() - let the caller of the ioctl in progress have @filp.
 * @data: what its handler was given
 * @filp: file; the ioctl owns it from here unless this fails
 *
 * The handler must succeed then; the file is dropped if its answer cannot be copied back.
 * Return: the descriptor, or a negative errno.
 */
int cmx_ioctl_give_file(void *data, struct file *filp);

/*
 * Handlers get a zero-extended copy of the caller's structure in @data and change it in
 * place; it is copied back on success.
 */
int cmx_ioctl_info(struct cmx_file *file, void *data);
int cmx_ioctl_bo_create(struct cmx_file *file, void *data);
int cmx_ioctl_bo_query(struct cmx_file *file, void *data);
int cmx_ioctl_map(struct cmx_file *file, void *data);
int cmx_ioctl_unmap(struct cmx_file *file, void *data);
int cmx_ioctl_cq_create(struct cmx_file *file, void *data);
int cmx_ioctl_rq_create(struct cmx_file *file, void *data);
int cmx_ioctl_queue_create(struct cmx_file *file, void *data);
int cmx_ioctl_queue_query(struct cmx_file *file, void *data);
int cmx_ioctl_queue_set_state(struct cmx_file *file, void *data);
int cmx_ioctl_destroy(struct cmx_file *file, void *data);
int cmx_ioctl_timeline_create(struct cmx_file *file, void *data);
int cmx_ioctl_timeline_export(struct cmx_file *file, void *data);
int cmx_ioctl_timeline_import(struct cmx_file *file, void *data);
int cmx_ioctl_timeline_query(struct cmx_file *file, void *data);
int cmx_ioctl_actor(struct cmx_file *file, void *data);
int cmx_ioctl_run(struct cmx_file *file, void *data);
int cmx_ioctl_wake(struct cmx_file *file, void *data);
int cmx_ioctl_signal(struct cmx_file *file, void *data);
int cmx_ioctl_events(struct cmx_file *file, void *data);

#endif
