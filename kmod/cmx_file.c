// SPDX-License-Identifier: GPL-2.0-only
/* Clients: open, close, limits, usage for fdinfo. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/idr.h>
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <drm/drm_file.h>
#include <drm/drm_print.h>

#include "cmx_file.h"
#include "cmx_object.h"
#include "cmx_timeline.h"

#define CMX_UASID_MAX	((1U << 24) - 1)

/* Enough for four queues, with their rings, on each of 768 dies. */
static unsigned int cmx_limits[CMX_LIMITS] = {
	[CMX_LIMIT_QUEUES] = 4096,
	[CMX_LIMIT_CQS] = 4096,
	[CMX_LIMIT_RQS] = 4096,
	[CMX_LIMIT_BOS] = 65536,
	[CMX_LIMIT_MAPPINGS] = 65536,
	[CMX_LIMIT_RING_PAGES] = 262144,
	[CMX_LIMIT_TIMELINES] = 64,
	[CMX_LIMIT_ACTORS] = 4096,
};

module_param_named(max_queues, cmx_limits[CMX_LIMIT_QUEUES], uint, 0444);
MODULE_PARM_DESC(max_queues, "queues a client may hold");
module_param_named(max_cqs, cmx_limits[CMX_LIMIT_CQS], uint, 0444);
MODULE_PARM_DESC(max_cqs, "completion rings a client may hold");
module_param_named(max_rqs, cmx_limits[CMX_LIMIT_RQS], uint, 0444);
MODULE_PARM_DESC(max_rqs, "receive rings a client may hold");
module_param_named(max_bos, cmx_limits[CMX_LIMIT_BOS], uint, 0444);
MODULE_PARM_DESC(max_bos, "BO handles a client may hold");
module_param_named(max_mappings, cmx_limits[CMX_LIMIT_MAPPINGS], uint, 0444);
MODULE_PARM_DESC(max_mappings, "mappings a client may hold");
module_param_named(max_ring_pages, cmx_limits[CMX_LIMIT_RING_PAGES], uint, 0444);
MODULE_PARM_DESC(max_ring_pages, "pages of rings, status and doorbells a client may hold");
module_param_named(max_timelines, cmx_limits[CMX_LIMIT_TIMELINES], uint, 0444);
MODULE_PARM_DESC(max_timelines, "timelines a client may be on");
module_param_named(max_actors, cmx_limits[CMX_LIMIT_ACTORS], uint, 0444);
MODULE_PARM_DESC(max_actors, "actors a client may have");

static const char * const cmx_limit_names[CMX_LIMITS] = {
	[CMX_LIMIT_QUEUES] = "max_queues",
	[CMX_LIMIT_CQS] = "max_cqs",
	[CMX_LIMIT_RQS] = "max_rqs",
	[CMX_LIMIT_BOS] = "max_bos",
	[CMX_LIMIT_MAPPINGS] = "max_mappings",
	[CMX_LIMIT_RING_PAGES] = "max_ring_pages",
	[CMX_LIMIT_TIMELINES] = "max_timelines",
	[CMX_LIMIT_ACTORS] = "max_actors",
};

static DEFINE_IDA(cmx_uasids);

int cmx_file_check_limits(void)
{
	int i;

	for (i = 0; i < CMX_LIMITS; i++) {
		if (cmx_limits[i] >= 1 && cmx_limits[i] <= INT_MAX)
			continue;
		pr_err("parameter %s is %u, must be 1 to %d\n", cmx_limit_names[i], cmx_limits[i],
		       INT_MAX);
		return -EINVAL;
	}
	return 0;
}

u32 cmx_file_limit(enum cmx_limit limit)
{
	return cmx_limits[limit];
}

int cmx_file_charge(struct cmx_file *file, enum cmx_limit limit, u32 n)
{
	int count = atomic_read(&file->counts[limit]);

	do {
		if (n > cmx_limits[limit] - count)
			return -EMFILE;
	} while (!atomic_try_cmpxchg(&file->counts[limit], &count, count + n));
	return 0;
}

void cmx_file_uncharge(struct cmx_file *file, enum cmx_limit limit, u32 n)
{
	atomic_sub(n, &file->counts[limit]);
}

/* A device on its way out takes no new client: it would miss the event that says so. */
static int cmx_file_link(struct cmx_file *file)
{
	struct cmx_device *cdev = file->cdev;
	int err = -ENODEV;

	spin_lock(&cdev->files_lock);
	if (!cdev->gone) {
		list_add_tail(&file->link, &cdev->files);
		err = 0;
	}
	spin_unlock(&cdev->files_lock);
	return err;
}

int cmx_file_open(struct drm_device *drm, struct drm_file *drm_file)
{
	struct cmx_file *file;
	int ret;

	file = kvzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;

	file->cdev = to_cmx_device(drm);
	file->drm_file = drm_file;
	cmx_vm_init(&file->vm);
	xa_init_flags(&file->objects, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	mutex_init(&file->default_lock);
	mutex_init(&file->scratch_lock);
	cmx_event_list_init(&file->events);
	spin_lock_init(&file->extack_lock);

	ret = ida_alloc_range(&cmx_uasids, 1, CMX_UASID_MAX, GFP_KERNEL);
	if (ret < 0)
		goto err_free_file;
	file->uasid = ret;
	ret = cmx_file_link(file);
	if (ret)
		goto err_free_uasid;

	file->mm = current->mm;
	mmgrab(file->mm);
	drm_file->driver_priv = file;
	return 0;

err_free_uasid:
	ida_free(&cmx_uasids, file->uasid);
err_free_file:
	kvfree(file);
	return ret;
}

/*
 * No ioctl runs and no VMA is left: both hold the struct file.  Queues go before the
 * address space they work in.
 */
void cmx_file_close(struct drm_device *drm, struct drm_file *drm_file)
{
	struct cmx_file *file = drm_file->driver_priv;

	file->closing = true;
	cmx_object_destroy_all(file);
	cmx_member_close(file);
	spin_lock(&file->cdev->files_lock);
	list_del(&file->link);
	spin_unlock(&file->cdev->files_lock);

	cmx_vm_fini(&file->vm, file);
	xa_destroy(&file->objects);
	ida_free(&cmx_uasids, file->uasid);
	mmdrop(file->mm);
	if (file->scratch)
		__free_page(file->scratch);
	mutex_destroy(&file->scratch_lock);
	mutex_destroy(&file->default_lock);
	kvfree(file);
}

/* Engine times are virtual, as is everything this device says about time. */
void cmx_file_show_fdinfo(struct drm_printer *p, struct drm_file *drm_file)
{
	struct cmx_file *file = drm_file->driver_priv;

	drm_printf(p, "drm-engine-stream:\t%llu ns\n",
		   (u64)atomic64_read(&file->busy_ps) / 1000);
	drm_printf(p, "drm-engine-capacity-stream:\t%u\n", file->cdev->machine->num_dies);
	drm_printf(p, "drm-engine-transfer:\t%llu ns\n",
		   (u64)atomic64_read(&file->copy_ps) / 1000);
	drm_printf(p, "drm-engine-capacity-transfer:\t%u\n", file->cdev->machine->num_entities);
	drm_show_memory_stats(p, drm_file);
	drm_printf(p, "cmx-commands:\t%llu\n", (u64)atomic64_read(&file->commands));
	drm_printf(p, "cmx-launches:\t%llu\n", (u64)atomic64_read(&file->launches));
	drm_printf(p, "cmx-bytes:\t%llu\n", (u64)atomic64_read(&file->bytes));
}
