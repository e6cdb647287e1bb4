/* SPDX-License-Identifier: GPL-2.0-only */
/* Driver that makes a supernode a DRM compute-accel device. */
#ifndef CMX_ACCEL_H
#define CMX_ACCEL_H

#include <linux/types.h>

struct cmx_machine;

int cmx_accel_register(void);
void cmx_accel_unregister(void);

/*
 * cmx_accel_claim() - let nobody open the machine's device any more; it will be removed.
 * @clients: out: files that are open
 *
 * Return: 0, or -EBUSY while there are any; then nothing has changed.
 */
int cmx_accel_claim(struct cmx_machine *machine, u32 *clients);

#endif
