// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver on the cmx bus: binds to a supernode and makes /dev/accel/accelN.  Unbinding
 * is the removal of a device in use: threads in the kernel leave, clients are told, and
 * what they have mapped stays mapped.
 */
#include <linux/dma-mapping.h>

#include <drm/drm_accel.h>
#include <drm/drm_drv.h>
#include <drm/drm_vma_manager.h>

#include "cmx_accel.h"
#include "cmx_bus.h"
#include "cmx_debugfs.h"
#include "cmx_file.h"
#include "cmx_timeline.h"

/* 4 PiB of mmap offsets: DRM's own range ends at 1 TiB, a supernode has more memory. */
#define CMX_OFFSET_PAGES	(1UL << (52 - PAGE_SHIFT))

static void cmx_accel_init_offsets(struct drm_device *drm)
{
	drm_vma_offset_manager_destroy(drm->vma_offset_manager);
	drm_vma_offset_manager_init(drm->vma_offset_manager, DRM_FILE_PAGE_OFFSET_START,
				    CMX_OFFSET_PAGES);
}

static int cmx_accel_probe(struct device *dev)
{
	struct cmx_device *cdev;
	int err;

	cdev = devm_drm_dev_alloc(dev, &cmx_drm_driver, struct cmx_device, drm);
	if (IS_ERR(cdev))
		return PTR_ERR(cdev);
	/* DRM gives out one more number than the class has device nodes for. */
	if (cdev->drm.accel->index >= ACCEL_MAX_MINORS)
		return dev_err_probe(dev, -ENOSPC, "all %d accel device nodes are taken\n",
				     ACCEL_MAX_MINORS);

	/* The bus has no hardware that could say what it reaches. */
	err = dma_coerce_mask_and_coherent(dev, DMA_BIT_MASK(64));
	if (err)
		return dev_err_probe(dev, err, "no 64-bit DMA mask\n");

	cdev->machine = to_cmx_machine(dev);
	spin_lock_init(&cdev->files_lock);
	INIT_LIST_HEAD(&cdev->files);
	cmx_accel_init_offsets(&cdev->drm);
	dev_set_drvdata(dev, cdev);
	cmx_debugfs_init(cdev);
	return drm_dev_register(&cdev->drm, 0);
}

/* Who sees that the device is gone finds the event that says so. */
static void cmx_accel_announce(struct cmx_device *cdev)
{
	struct cmx_file *file;

	spin_lock(&cdev->files_lock);
	list_for_each_entry(file, &cdev->files, link)
		cmx_event_post(file, CMX_EVENT_DEVICE_GONE, 0, 0, 0, 0);
	/* Release: pairs with the acquire of poll(); files that come now are refused. */
	smp_store_release(&cdev->gone, true);
	/* Once more, for those who wait for POLLHUP alone. */
	list_for_each_entry(file, &cdev->files, link)
		wake_up_all(&file->events.wait);
	spin_unlock(&cdev->files_lock);
}

/* Looking and closing the door are one step: nobody comes in between. */
int cmx_accel_claim(struct cmx_machine *machine, u32 *clients)
{
	struct cmx_device *cdev;

	*clients = 0;
	device_lock(&machine->dev);
	/* Without one the driver was unbound; files left from before hold their own device. */
	cdev = dev_get_drvdata(&machine->dev);
	if (cdev) {
		spin_lock(&cdev->files_lock);
		*clients = list_count_nodes(&cdev->files);
		if (!*clients) {
			/* Release: pairs with the acquire of poll(), as in announcing. */
			smp_store_release(&cdev->gone, true);
		}
		spin_unlock(&cdev->files_lock);
	}
	device_unlock(&machine->dev);
	return *clients ? -EBUSY : 0;
}

static int cmx_accel_remove(struct device *dev)
{
	struct cmx_device *cdev = dev_get_drvdata(dev);

	cmx_accel_announce(cdev);
	/* drm_dev_unplug() waits for every thread inside an ioctl: those asleep must go. */
	cmx_timelines_kick(cdev);
	drm_dev_unplug(&cdev->drm);
	return 0;
}

static struct device_driver cmx_accel_driver = {
	.name = "cmx",
	.bus = &cmx_bus_type,
	.owner = THIS_MODULE,
	.probe_type = PROBE_FORCE_SYNCHRONOUS,
	.probe = cmx_accel_probe,
	.remove = cmx_accel_remove,
};

int cmx_accel_register(void)
{
	return driver_register(&cmx_accel_driver);
}

void cmx_accel_unregister(void)
{
	driver_unregister(&cmx_accel_driver);
}
