// SPDX-License-Identifier: GPL-2.0-only
/* Module and DRM glue. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/module.h>
#include <linux/poll.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>

#include "cmx_bus.h"
#include "cmx_current.h"
#include "cmx_file.h"
#include "cmx_ioctl.h"
#include "cmx_mmap.h"
#include "cmx_netlink.h"
#include "cmx_queue.h"

static unsigned int cmx_nodes;
module_param_named(nodes, cmx_nodes, uint, 0444);
MODULE_PARM_DESC(nodes, "nodes of the supernode (default 0: all of the profile's)");

static __poll_t cmx_poll(struct file *filp, struct poll_table_struct *table)
{
	struct drm_file *drm_file = filp->private_data;
	struct cmx_file *file = drm_file->driver_priv;
	struct cmx_event_list *list = &file->events;
	__poll_t mask = 0;

	poll_wait(filp, &list->wait, table);
	/* Acquire: the event that tells is in the list before; see cmx_accel_announce(). */
	if (smp_load_acquire(&file->cdev->gone))
		mask |= EPOLLHUP;
	spin_lock(&list->lock);
	if (list->tail != list->head)
		mask |= EPOLLIN | EPOLLRDNORM;
	if (list->lost)
		mask |= EPOLLPRI;
	spin_unlock(&list->lock);
	return mask;
}

static const struct file_operations cmx_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = cmx_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl = cmx_compat_ioctl,
#endif
	.poll = cmx_poll,
	.mmap = cmx_mmap,
	.llseek = noop_llseek,
	.show_fdinfo = drm_show_fdinfo,
	.fop_flags = FOP_UNSIGNED_OFFSET,
};

/* GEM hooks one by one: DRM's bundles for drivers also bring dumb buffers for displays. */
const struct drm_driver cmx_drm_driver = {
	.driver_features = DRIVER_COMPUTE_ACCEL | DRIVER_GEM,
	.open = cmx_file_open,
	.postclose = cmx_file_close,
	.show_fdinfo = cmx_file_show_fdinfo,
	.gem_prime_import = cmx_bo_import,
	.fops = &cmx_fops,
	.name = "cmx",
	.desc = "CMX virtual supernode",
	.major = CMX_ABI_MAJOR,
	.minor = CMX_ABI_MINOR,
};

static int __init cmx_check_parameters(const struct cmx_profile *profile)
{
	char why[96];

	if (cmx_profile_check(profile, cmx_nodes, why, sizeof(why))) {
		pr_err("parameter or profile refused: %s\n", why);
		return -EINVAL;
	}
	return cmx_file_check_limits();
}

static int __init cmx_init(void)
{
	const struct cmx_profile *profile = cmx_profile_builtin();
	int err;

	err = cmx_check_parameters(profile);
	if (err)
		return err;
	err = cmx_zero_init();
	if (err)
		return err;
	err = cmx_cmd_cache_create();
	if (err)
		goto err_zero_exit;
	err = cmx_bus_register();
	if (err)
		goto err_destroy_cache;
	err = cmx_current_init(profile, cmx_nodes ?: profile->nodes);
	if (err)
		goto err_unregister_bus;
	/* Last: from here on the machine may be looked at, and replaced. */
	err = cmx_netlink_init();
	if (err)
		goto err_exit_current;
	return 0;

err_exit_current:
	cmx_current_exit();
err_unregister_bus:
	cmx_bus_unregister();
err_destroy_cache:
	cmx_cmd_cache_destroy();
err_zero_exit:
	cmx_zero_exit();
	return err;
}

/* Clients hold the module, so none is left. */
static void __exit cmx_exit(void)
{
	cmx_netlink_exit();
	cmx_current_exit();
	cmx_bus_unregister();
	cmx_cmd_cache_destroy();
	cmx_zero_exit();
}

module_init(cmx_init);
module_exit(cmx_exit);

MODULE_DESCRIPTION("Virtual CloudMatrix supernode");
MODULE_LICENSE("GPL");
