/* SPDX-License-Identifier: GPL-2.0-only */
/* Generic netlink family: management of the machine from outside. */
#ifndef CMX_NETLINK_H
#define CMX_NETLINK_H

#include <linux/types.h>

struct cmx_machine;

int cmx_netlink_init(void);
void cmx_netlink_exit(void);

/*
 * cmx_netlink_notify_state() - a part changed: tell the listeners.
 * @object: enum cmx_fabric_object
 * @up: whether it is up, as set
 * @permille: links: share of the rate, as set; others: 0
 * @generation: of the routes with the change
 *
 * Callers hold the lock of the fabric, so that events leave in the order of changes.
 */
void cmx_netlink_notify_state(struct cmx_machine *machine, u32 object, u32 index, bool up,
			      u32 permille, u32 generation);

/*
 * cmx_netlink_notify_error() - a command failed for the fabric's sake.
 * @entity: of the queue
 * @peer: what it could not reach, or ~0
 * @status: completion status
 * @time_ps: virtual time
 *
 * May be called with spinlocks held, not from interrupts.
 */
void cmx_netlink_notify_error(struct cmx_machine *machine, u32 entity, u32 peer, u32 status,
			      u64 time_ps);

/* cmx_netlink_notify_profile() - the machine was made anew. */
void cmx_netlink_notify_profile(struct cmx_machine *machine);

#endif
