// SPDX-License-Identifier: GPL-2.0-only
/* A file with one of everything. */
#include <errno.h>
#include <unistd.h>

#include "cmx_calls.h"

static int open_shared(struct abi_world *world)
{
	struct drm_cmx_timeline_export export = { 0 };
	int ret;

	world->other = abi_open();
	if (world->other < 0)
		return world->other;
	ret = abi_ioctl(world->other, DRM_IOCTL_CMX_TIMELINE_EXPORT, &export);
	world->shared = ret ? -1 : export.fd;
	return ret;
}

static int open_queue(struct abi_world *world, __u32 queue_class, struct abi_ring *queue)
{
	struct drm_cmx_queue_create args;

	abi_queue_args(&args, queue_class, world->cq.handle);
	return abi_queue_create(world->fd, &args, queue);
}

static int open_objects(struct abi_world *world)
{
	int fd = world->fd, ret;

	ret = abi_clock_open(fd, 0, &world->clock);
	if (!ret)
		ret = abi_cq_create(fd, 256, CMX_CQ_BACKPRESSURE, &world->cq);
	if (!ret)
		ret = abi_rq_create(fd, world->cq.handle, 64, 0, &world->rq);
	if (!ret)
		ret = open_queue(world, CMX_QUEUE_STREAM, &world->stream);
	if (!ret)
		ret = open_queue(world, CMX_QUEUE_SDMA, &world->sdma);
	if (!ret)
		ret = open_queue(world, CMX_QUEUE_UB, &world->ub);
	if (!ret)
		ret = abi_mem_create(fd, 0, ABI_VA, ABI_WORLD_PAGES * ABI_PAGE, &world->mem);
	return ret;
}

int abi_world_open(struct abi_world *world)
{
	int ret;

	memset(world, 0, sizeof(*world));
	world->other = -1;
	world->shared = -1;
	world->fd = abi_open();
	if (world->fd < 0)
		return world->fd;
	ret = abi_info(world->fd, CMX_INFO_LIMITS, 0, &world->limits, sizeof(world->limits));
	if (!ret)
		ret = abi_info(world->fd, CMX_INFO_DEVICE, 0, &world->device,
			       sizeof(world->device));
	if (!ret)
		ret = open_shared(world);
	if (!ret)
		ret = open_objects(world);
	if (ret)
		abi_world_close(world);
	return ret;
}

void abi_world_close(struct abi_world *world)
{
	abi_mem_destroy(world->fd, &world->mem);
	abi_queue_destroy(world->fd, &world->ub);
	abi_queue_destroy(world->fd, &world->sdma);
	abi_queue_destroy(world->fd, &world->stream);
	abi_rq_destroy(world->fd, &world->rq);
	abi_cq_destroy(world->fd, &world->cq);
	abi_clock_close(&world->clock);
	if (world->shared >= 0)
		close(world->shared);
	if (world->other >= 0)
		close(world->other);
	if (world->fd >= 0)
		close(world->fd);
	world->fd = -1;
}
