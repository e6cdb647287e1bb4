/* SPDX-License-Identifier: GPL-2.0-only */
/* Driver that makes a supernode a DRM compute-accel device. */
#ifndef CMX_ACCEL_H
#define CMX_ACCEL_H

int cmx_accel_register(void);
void cmx_accel_unregister(void);

#endif
