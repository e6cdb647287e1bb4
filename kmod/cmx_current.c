// SPDX-License-Identifier: GPL-2.0-only
/* The machine in use: who reads it, and its replacement. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/netlink.h>
#include <linux/rwsem.h>
#include <linux/slab.h>

#include "cmx_accel.h"
#include "cmx_current.h"
#include "cmx_entity.h"
#include "cmx_netlink.h"

/*
 * Held for reading by whoever looks at the machine from outside of its device, for writing
 * while it is replaced.  Outermost: under it come the locks of the driver core, and of the
 * machine itself.  Clients do not take it: their files hold the device, and that the
 * machine.
 */
static DECLARE_RWSEM(cmx_current_lock);

/* Protected by the lock; NULL when none could be made. */
static struct cmx_machine *cmx_current;
static u32 cmx_current_serial;

struct cmx_machine *cmx_current_get(u32 *serial)
{
	down_read(&cmx_current_lock);
	if (!cmx_current) {
		up_read(&cmx_current_lock);
		return NULL;
	}
	if (serial)
		*serial = cmx_current_serial;
	return cmx_current;
}

void cmx_current_put(void)
{
	up_read(&cmx_current_lock);
}

/* The driver's registration, and a device's addition, succeed whatever its probe says: look. */
static int cmx_current_check_bound(void)
{
	if (device_is_bound(&cmx_current->dev))
		return 0;
	pr_err("no accel device for %s\n", dev_name(&cmx_current->dev));
	return -ENODEV;
}

static int cmx_current_make(const struct cmx_profile *profile, u32 nodes)
{
	struct cmx_machine *machine = cmx_machine_create(profile, nodes);

	if (IS_ERR(machine))
		return PTR_ERR(machine);
	cmx_current = machine;
	cmx_current_serial++;
	return 0;
}

static void cmx_current_drop(void)
{
	if (cmx_current)
		cmx_machine_destroy(cmx_current);
	cmx_current = NULL;
}

int cmx_current_init(const struct cmx_profile *profile, u32 nodes)
{
	int err;

	err = cmx_current_make(profile, nodes);
	if (err)
		return err;
	err = cmx_accel_register();
	if (err)
		goto err_drop;
	err = cmx_current_check_bound();
	if (err)
		goto err_unregister;
	return 0;

err_unregister:
	cmx_accel_unregister();
err_drop:
	cmx_current_drop();
	return err;
}

/* The netlink family is gone: nobody else is here. */
void cmx_current_exit(void)
{
	cmx_accel_unregister();
	cmx_current_drop();
}

static int cmx_current_remake(const struct cmx_profile *profile, u32 nodes)
{
	int err;

	cmx_current_drop();
	err = cmx_current_make(profile, nodes);
	if (err)
		return err;
	err = cmx_current_check_bound();
	if (err)
		cmx_current_drop();
	return err;
}

/* @before: what there was, or NULL. */
static void cmx_current_restore(const struct cmx_profile *before, u32 nodes, int err,
				struct netlink_ext_ack *extack)
{
	int undo = before ? cmx_current_remake(before, nodes) : -ENODEV;

	if (undo)
		NL_SET_ERR_MSG_FMT(extack, "the new machine failed (%d), the old one too (%d)",
				   err, undo);
	else
		NL_SET_ERR_MSG_FMT(extack,
				   "the new machine failed (%d); the old one is made anew, all up",
				   err);
}

static int cmx_current_replace_locked(const struct cmx_profile *profile, u32 nodes,
				      struct netlink_ext_ack *extack)
{
	struct cmx_profile *before = NULL;
	u32 clients, nodes_before = 0;
	int err;

	/* What may fail comes before the door of the old machine is closed. */
	if (cmx_current) {
		before = kmemdup(cmx_current->profile, sizeof(*before), GFP_KERNEL);
		if (!before)
			return -ENOMEM;
		nodes_before = cmx_current->num_nodes;
		err = cmx_accel_claim(cmx_current, &clients);
		if (err) {
			NL_SET_ERR_MSG_FMT(extack, "clients: %u have the device open", clients);
			goto out_free_before;
		}
	}
	err = cmx_current_remake(profile, nodes);
	if (err)
		cmx_current_restore(before, nodes_before, err, extack);
	/* The old one made anew is another machine, too. */
	if (cmx_current)
		cmx_netlink_notify_profile(cmx_current);
out_free_before:
	kfree(before);
	return err;
}

int cmx_current_replace(const struct cmx_profile *profile, u32 nodes,
			struct netlink_ext_ack *extack)
{
	int err;

	down_write(&cmx_current_lock);
	err = cmx_current_replace_locked(profile, nodes, extack);
	up_write(&cmx_current_lock);
	return err;
}
