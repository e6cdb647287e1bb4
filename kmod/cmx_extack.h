/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a thread's last call was refused. */
#ifndef CMX_EXTACK_H
#define CMX_EXTACK_H

#include <linux/types.h>

struct cmx_file;
struct drm_cmx_info_extack;

#define CMX_EXTACK_NO_IOCTL	(~0U)	/* nr of a refusal by mmap() or an ioctl of DRM's */

/*
 * cmx_extack_finish() - a call of this thread is about to return @error.
 * @file: client
 * @nr: ioctl number, or CMX_EXTACK_NO_IOCTL
 * @error: negative errno
 *
 * Completes what cmx_refuse() noted, or notes a text for @error if nobody did.
 */
void cmx_extack_finish(struct cmx_file *file, u32 nr, int error);
/* cmx_extack_read() - the calling thread's last refusal; zeros when there was none. */
void cmx_extack_read(struct cmx_file *file, struct drm_cmx_info_extack *info);

#endif
