/* SPDX-License-Identifier: GPL-2.0-only */
/* The cmx bus: the supernode and its entities as devices. */
#ifndef CMX_BUS_H
#define CMX_BUS_H

#include <linux/device.h>
#include <linux/device/bus.h>

extern const struct bus_type cmx_bus_type;
extern const struct device_type cmx_supernode_type;
extern const struct device_type cmx_die_type;
extern const struct device_type cmx_socket_type;

int cmx_bus_register(void);
/* cmx_bus_unregister() - waits until the last device on the bus is released. */
void cmx_bus_unregister(void);

/* cmx_bus_hold() - a device of this module exists; before device_initialize(). */
void cmx_bus_hold(void);
/* cmx_bus_drop() - its memory is free; last action of a release function. */
void cmx_bus_drop(void);

#endif
