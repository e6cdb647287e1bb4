/* SPDX-License-Identifier: GPL-2.0-only */
/* The machine in use.  Loading a profile replaces it. */
#ifndef CMX_CURRENT_H
#define CMX_CURRENT_H

#include <linux/types.h>

struct cmx_machine;
struct cmx_profile;
struct netlink_ext_ack;

/*
 * cmx_current_get() - the machine in use, kept from replacement until cmx_current_put().
 * @serial: out, may be NULL: machines made up to this one
 *
 * May sleep.  Return: NULL when there is none, then there is nothing to put.
 */
struct cmx_machine *cmx_current_get(u32 *serial);
void cmx_current_put(void);

/* cmx_current_init() - make the first machine and bind the driver to it. */
int cmx_current_init(const struct cmx_profile *profile, u32 nodes);
void cmx_current_exit(void);

/*
 * cmx_current_replace() - take down the machine in use and make another.
 * @profile: checked; copied
 * @nodes: nodes to use
 * @extack: receives a text
 *
 * Return: 0, -EBUSY while a client has the device open, or why the new machine could not
 * be made; then the one before is made again.
 */
int cmx_current_replace(const struct cmx_profile *profile, u32 nodes,
			struct netlink_ext_ack *extack);

#endif
