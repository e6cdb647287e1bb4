// SPDX-License-Identifier: GPL-2.0-only
/* DRM_IOCTL_CMX_INFO. */
#include <linux/string.h>
#include <linux/uaccess.h>

#include "cmx_entry.h"
#include "cmx_extack.h"
#include "cmx_ioctl.h"
#include "cmx_launch.h"
#include "cmx_limits.h"
#include "cmx_queue.h"

#define CMX_CAPS	(CMX_CAP_NO_DATA | CMX_CAP_PRIME | CMX_CAP_SHARED_TIMELINE |	\
			 CMX_CAP_FREE_RUNNING | CMX_CAP_LAUNCH | CMX_CAP_RECORD | CMX_CAP_RQ |	\
			 CMX_CAP_PLANES | CMX_CAP_FIXED_COST)

/* Any of the structures INFO returns. */
union cmx_info {
	struct drm_cmx_info_device device;
	struct drm_cmx_info_limits limits;
	struct drm_cmx_info_entity entity;
	struct drm_cmx_info_client client;
	struct drm_cmx_info_extack extack;
};

static size_t cmx_info_device(struct cmx_file *file, struct drm_cmx_info_device *info)
{
	const struct cmx_machine *machine = file->cdev->machine;
	const struct cmx_profile *profile = machine->profile;

	info->abi_major = CMX_ABI_MAJOR;
	info->abi_minor = CMX_ABI_MINOR;
	info->ring_version = CMX_RING_VERSION;
	info->page_size = PAGE_SIZE;
	info->num_nodes = machine->num_nodes;
	info->num_npus = machine->num_nodes * profile->npus_per_node;
	info->num_dies = machine->num_dies;
	info->num_sockets = machine->num_entities - machine->num_dies;
	info->num_entities = machine->num_entities;
	info->caps = CMX_CAPS;
	cmx_exec_opcodes(info->opcodes);
	strscpy((char *)info->profile, profile->name, sizeof(info->profile));
	return sizeof(*info);
}

static size_t cmx_info_limits(struct cmx_file *file, struct drm_cmx_info_limits *info)
{
	const struct cmx_profile *profile = file->cdev->machine->profile;

	info->max_queues = cmx_file_limit(CMX_LIMIT_QUEUES);
	info->max_cqs = cmx_file_limit(CMX_LIMIT_CQS);
	info->max_rqs = cmx_file_limit(CMX_LIMIT_RQS);
	info->max_bos = cmx_file_limit(CMX_LIMIT_BOS);
	info->max_mappings = cmx_file_limit(CMX_LIMIT_MAPPINGS);
	info->max_ring_pages = cmx_file_limit(CMX_LIMIT_RING_PAGES);
	info->max_timelines = cmx_file_limit(CMX_LIMIT_TIMELINES);
	info->max_actors = cmx_file_limit(CMX_LIMIT_ACTORS);
	info->max_slots = CMX_MAX_SLOTS;
	info->max_cqes = CMX_MAX_CQES;
	info->max_inflight = CMX_MAX_INFLIGHT;
	info->max_sge = CMX_MAX_SGE;
	info->max_sg_list = CMX_MAX_SG_LIST;
	info->max_inline = CMX_MAX_INLINE;
	info->max_args = CMX_LAUNCH_MAX_ARGS;
	info->max_batch = CMX_MAX_BATCH;
	info->max_records = CMX_MAX_RECORDS;
	info->max_events = CMX_MAX_EVENTS;
	info->va_bits = CMX_VA_BITS;
	info->max_chunk = CMX_MAX_CHUNK;
	info->max_len = CMX_MAX_LEN;
	info->max_bo_size = max(profile->die_capacity, profile->socket_capacity);
	return sizeof(*info);
}

static void cmx_info_speeds(const struct cmx_entity *entity, struct drm_cmx_info_entity *info)
{
	const struct cmx_profile *profile = entity->profile;

	if (entity->kind == CMX_ENTITY_SOCKET) {
		info->mem_rate = profile->socket_mem_rate;
		info->port_rate = profile->socket_port_rate;
		return;
	}
	info->cube_cores = profile->cube_cores;
	info->vector_cores = profile->vector_cores;
	info->mem_rate = profile->hbm_rate;
	info->port_rate = profile->die_port_rate;
	info->vector_rate = profile->vector_rate;
	BUILD_BUG_ON(sizeof(info->cube_rate) != sizeof(profile->cube_rate));
	memcpy(info->cube_rate, profile->cube_rate, sizeof(info->cube_rate));
}

static size_t cmx_info_entity(struct cmx_entity *entity, struct drm_cmx_info_entity *info)
{
	info->kind = entity->kind;
	info->node = entity->node;
	info->npu = entity->npu;
	info->unit = entity->unit;
	info->cna = entity->cna;
	info->upi = entity->upi;
	memcpy(info->eid, entity->eid, sizeof(info->eid));
	memcpy(info->guid, entity->guid, sizeof(info->guid));
	info->capacity = entity->capacity;
	info->used = atomic64_read(&entity->used);
	info->resident = atomic64_read(&entity->resident);
	cmx_info_speeds(entity, info);
	return sizeof(*info);
}

static size_t cmx_info_client(struct cmx_file *file, struct drm_cmx_info_client *info)
{
	info->queues = atomic_read(&file->counts[CMX_LIMIT_QUEUES]);
	info->cqs = atomic_read(&file->counts[CMX_LIMIT_CQS]);
	info->rqs = atomic_read(&file->counts[CMX_LIMIT_RQS]);
	info->bos = atomic_read(&file->counts[CMX_LIMIT_BOS]);
	info->mappings = atomic_read(&file->counts[CMX_LIMIT_MAPPINGS]);
	info->ring_pages = atomic_read(&file->counts[CMX_LIMIT_RING_PAGES]);
	info->timelines = atomic_read(&file->counts[CMX_LIMIT_TIMELINES]);
	info->actors = atomic_read(&file->counts[CMX_LIMIT_ACTORS]);
	info->commands = atomic64_read(&file->commands);
	info->launches = atomic64_read(&file->launches);
	info->bytes = atomic64_read(&file->bytes);
	spin_lock(&file->events.lock);
	info->events_lost = file->events.lost_total;
	spin_unlock(&file->events.lock);
	return sizeof(*info);
}

/* Fill @info; its size or negative errno. */
static ssize_t cmx_info_fill(struct cmx_file *file, const struct drm_cmx_info *args,
			     union cmx_info *info)
{
	struct cmx_machine *machine = file->cdev->machine;
	struct cmx_entity *entity;

	if (args->type != CMX_INFO_ENTITY && args->index)
		return cmx_refuse(file, -EINVAL, "index", args->index, 0,
				  "only CMX_INFO_ENTITY has an index");
	switch (args->type) {
	case CMX_INFO_DEVICE:
		return cmx_info_device(file, &info->device);
	case CMX_INFO_LIMITS:
		return cmx_info_limits(file, &info->limits);
	case CMX_INFO_ENTITY:
		entity = cmx_entity_get(machine, args->index);
		if (entity)
			return cmx_info_entity(entity, &info->entity);
		return cmx_refuse(file, -EINVAL, "index", args->index, machine->num_entities - 1,
				  "no such entity");
	case CMX_INFO_CLIENT:
		return cmx_info_client(file, &info->client);
	case CMX_INFO_EXTACK:
		cmx_extack_read(file, &info->extack);
		return sizeof(info->extack);
	default:
		return cmx_refuse(file, -EINVAL, "type", args->type, CMX_INFO_EXTACK,
				  "no such type of information");
	}
}

int cmx_ioctl_info(struct cmx_file *file, void *data)
{
	struct drm_cmx_info *args = data;
	union cmx_info info;
	ssize_t size;
	int err;

	err = cmx_check_zero(file, "pad", args->pad);
	if (err)
		return err;
	memset(&info, 0, sizeof(info));
	size = cmx_info_fill(file, args, &info);
	if (size < 0)
		return size;
	if (!args->pointer) {
		args->size = size;
		return 0;
	}
	args->size = min_t(u32, args->size, size);
	return copy_to_user(u64_to_user_ptr(args->pointer), &info, args->size) ? -EFAULT : 0;
}
