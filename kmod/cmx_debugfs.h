/* SPDX-License-Identifier: GPL-2.0-only */
/* State dumps in debugfs. */
#ifndef CMX_DEBUGFS_H
#define CMX_DEBUGFS_H

struct cmx_device;

/* cmx_debugfs_init() - add files; DRM removes them with the device. */
void cmx_debugfs_init(struct cmx_device *cdev);

#endif
