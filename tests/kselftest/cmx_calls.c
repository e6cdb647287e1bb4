// SPDX-License-Identifier: GPL-2.0-only
/* Every ioctl in one table. */
#include <errno.h>
#include <unistd.h>

#include "cmx_calls.h"

#define SPARE_VA	(ABI_VA + 0x100000000ULL)	/* nothing else is mapped here */

#define FIELD(type, member, kind_, known_) {			\
	.name = #member,					\
	.offset = offsetof(struct type, member),		\
	.size = sizeof(((struct type *)0)->member),		\
	.kind = (kind_),					\
	.known = (known_),					\
}

#define CALL(upper, lower) {					\
	.name = #upper,						\
	.request = DRM_IOCTL_CMX_##upper,			\
	.prepare = prepare_##lower,				\
	.undo = undo_##lower,					\
	.fields = fields_##lower,				\
	.num_fields = ABI_ARRAY_SIZE(fields_##lower),		\
}

static const struct abi_field fields_info[] = {
	FIELD(drm_cmx_info, type, ABI_ENUM, CMX_INFO_EXTACK),
	FIELD(drm_cmx_info, index, ABI_PAD, 0),
	FIELD(drm_cmx_info, size, ABI_IN, 0),
	FIELD(drm_cmx_info, pad, ABI_PAD, 0),
	FIELD(drm_cmx_info, pointer, ABI_IN, 0),
};

static int prepare_info(struct abi_world *world, void *arg)
{
	struct drm_cmx_info *args = arg;

	args->type = CMX_INFO_DEVICE;
	args->size = sizeof(struct drm_cmx_info_device);
	args->pointer = abi_addr(world->scratch);
	return 0;
}

static void undo_nothing(struct abi_world *world, void *arg, int ret)
{
	(void)world;
	(void)arg;
	(void)ret;
}

#define undo_info	undo_nothing

static const struct abi_field fields_bo_create[] = {
	FIELD(drm_cmx_bo_create, size, ABI_IN, 0),
	FIELD(drm_cmx_bo_create, entity, ABI_IN, 0),
	FIELD(drm_cmx_bo_create, flags, ABI_FLAGS, CMX_BO_FLAGS),
	FIELD(drm_cmx_bo_create, handle, ABI_OUT, 0),
	FIELD(drm_cmx_bo_create, pad, ABI_PAD, 0),
	FIELD(drm_cmx_bo_create, mmap_offset, ABI_OUT, 0),
	FIELD(drm_cmx_bo_create, free, ABI_OUT, 0),
};

static int prepare_bo_create(struct abi_world *world, void *arg)
{
	struct drm_cmx_bo_create *args = arg;

	(void)world;
	args->size = 4 * ABI_PAGE;
	return 0;
}

static void undo_bo_create(struct abi_world *world, void *arg, int ret)
{
	struct drm_cmx_bo_create *args = arg;

	if (!ret)
		abi_gem_close(world->fd, args->handle);
}

static const struct abi_field fields_bo_query[] = {
	FIELD(drm_cmx_bo_query, handle, ABI_BO, 0),
	FIELD(drm_cmx_bo_query, entity, ABI_OUT, 0),
	FIELD(drm_cmx_bo_query, flags, ABI_OUT, 0),
	FIELD(drm_cmx_bo_query, chunk, ABI_OUT, 0),
	FIELD(drm_cmx_bo_query, size, ABI_OUT, 0),
	FIELD(drm_cmx_bo_query, resident, ABI_OUT, 0),
	FIELD(drm_cmx_bo_query, mmap_offset, ABI_OUT, 0),
};

static int prepare_bo_query(struct abi_world *world, void *arg)
{
	struct drm_cmx_bo_query *args = arg;

	args->handle = world->mem.handle;
	return 0;
}

#define undo_bo_query	undo_nothing

static const struct abi_field fields_map[] = {
	FIELD(drm_cmx_map, handle, ABI_BO, 0),
	FIELD(drm_cmx_map, flags, ABI_FLAGS, CMX_MAP_FLAGS),
	FIELD(drm_cmx_map, offset, ABI_IN, 0),
	FIELD(drm_cmx_map, va, ABI_IN, 0),
	FIELD(drm_cmx_map, size, ABI_IN, 0),
};

static int prepare_map(struct abi_world *world, void *arg)
{
	struct drm_cmx_map *args = arg;

	args->handle = world->mem.handle;
	args->flags = CMX_MAP_READ;
	args->va = SPARE_VA;
	args->size = 2 * ABI_PAGE;
	return 0;
}

static void undo_map(struct abi_world *world, void *arg, int ret)
{
	struct drm_cmx_map *args = arg;

	if (!ret)
		abi_unmap_va(world->fd, args->va, args->size);
}

static const struct abi_field fields_unmap[] = {
	FIELD(drm_cmx_unmap, va, ABI_IN, 0),
	FIELD(drm_cmx_unmap, size, ABI_IN, 0),
};

static int prepare_unmap(struct abi_world *world, void *arg)
{
	struct drm_cmx_unmap *args = arg;

	args->va = SPARE_VA;
	args->size = 2 * ABI_PAGE;
	return abi_map_va(world->fd, world->mem.handle, SPARE_VA, 2 * ABI_PAGE, CMX_MAP_READ);
}

static void undo_unmap(struct abi_world *world, void *arg, int ret)
{
	(void)arg;
	if (ret)
		abi_unmap_va(world->fd, SPARE_VA, 2 * ABI_PAGE);
}

static const struct abi_field fields_cq_create[] = {
	FIELD(drm_cmx_cq_create, entries, ABI_IN, 0),
	FIELD(drm_cmx_cq_create, policy, ABI_ENUM, CMX_CQ_OVERFLOW_ERROR),
	FIELD(drm_cmx_cq_create, flags, ABI_PAD, 0),
	FIELD(drm_cmx_cq_create, handle, ABI_OUT, 0),
	FIELD(drm_cmx_cq_create, ro_offset, ABI_OUT, 0),
	FIELD(drm_cmx_cq_create, ro_size, ABI_OUT, 0),
	FIELD(drm_cmx_cq_create, rw_offset, ABI_OUT, 0),
	FIELD(drm_cmx_cq_create, rw_size, ABI_OUT, 0),
};

static int prepare_cq_create(struct abi_world *world, void *arg)
{
	struct drm_cmx_cq_create *args = arg;

	(void)world;
	args->entries = 16;
	return 0;
}

static void undo_cq_create(struct abi_world *world, void *arg, int ret)
{
	struct drm_cmx_cq_create *args = arg;

	if (!ret)
		abi_destroy(world->fd, CMX_OBJECT_CQ, args->handle);
}

static const struct abi_field fields_rq_create[] = {
	FIELD(drm_cmx_rq_create, slots, ABI_IN, 0),
	FIELD(drm_cmx_rq_create, cq, ABI_OBJECT, CMX_OBJECT_CQ),
	FIELD(drm_cmx_rq_create, flags, ABI_PAD, 0),
	FIELD(drm_cmx_rq_create, limit, ABI_IN, 0),
	FIELD(drm_cmx_rq_create, token_policy, ABI_ENUM, UB_TOKEN_PLAIN_TEXT),
	FIELD(drm_cmx_rq_create, token, ABI_IN, 0),
	FIELD(drm_cmx_rq_create, entity, ABI_IN, 0),
	FIELD(drm_cmx_rq_create, handle, ABI_OUT, 0),
	FIELD(drm_cmx_rq_create, rw_offset, ABI_OUT, 0),
	FIELD(drm_cmx_rq_create, rw_size, ABI_OUT, 0),
	FIELD(drm_cmx_rq_create, ro_offset, ABI_OUT, 0),
	FIELD(drm_cmx_rq_create, ro_size, ABI_OUT, 0),
};

static int prepare_rq_create(struct abi_world *world, void *arg)
{
	struct drm_cmx_rq_create *args = arg;

	args->slots = 16;
	args->cq = world->cq.handle;
	return 0;
}

static void undo_rq_create(struct abi_world *world, void *arg, int ret)
{
	struct drm_cmx_rq_create *args = arg;

	if (!ret)
		abi_destroy(world->fd, CMX_OBJECT_RQ, args->handle);
}

static const struct abi_field fields_queue_create[] = {
	FIELD(drm_cmx_queue_create, timeline, ABI_OPTIONAL, CMX_OBJECT_TIMELINE),
	FIELD(drm_cmx_queue_create, entity, ABI_IN, 0),
	FIELD(drm_cmx_queue_create, queue_class, ABI_ENUM, CMX_QUEUE_UB),
	FIELD(drm_cmx_queue_create, flags, ABI_PAD, 0),
	FIELD(drm_cmx_queue_create, slots, ABI_IN, 0),
	FIELD(drm_cmx_queue_create, cq, ABI_OBJECT, CMX_OBJECT_CQ),
	FIELD(drm_cmx_queue_create, rq, ABI_OPTIONAL, CMX_OBJECT_RQ),
	FIELD(drm_cmx_queue_create, ring_version, ABI_IN, 0),
	FIELD(drm_cmx_queue_create, cube_cores, ABI_IN, 0),
	FIELD(drm_cmx_queue_create, vector_cores, ABI_IN, 0),
	FIELD(drm_cmx_queue_create, trans_mode, ABI_IN, 0),
	FIELD(drm_cmx_queue_create, order_type, ABI_ENUM, UB_ORDER_NO),
	FIELD(drm_cmx_queue_create, priority, ABI_ENUM, 15),
	FIELD(drm_cmx_queue_create, rnr_retry, ABI_ENUM, 7),
	FIELD(drm_cmx_queue_create, err_timeout, ABI_ENUM, 31),
	FIELD(drm_cmx_queue_create, planes, ABI_FLAGS,
	      0x7f | CMX_PLANE_BIT_RDMA | CMX_PLANE_BIT_VPC),
	FIELD(drm_cmx_queue_create, handle, ABI_OUT, 0),
	FIELD(drm_cmx_queue_create, doorbell, ABI_OUT, 0),
	FIELD(drm_cmx_queue_create, rw_offset, ABI_OUT, 0),
	FIELD(drm_cmx_queue_create, rw_size, ABI_OUT, 0),
	FIELD(drm_cmx_queue_create, ro_offset, ABI_OUT, 0),
	FIELD(drm_cmx_queue_create, ro_size, ABI_OUT, 0),
};

static int prepare_queue_create(struct abi_world *world, void *arg)
{
	abi_queue_args(arg, CMX_QUEUE_UB, world->cq.handle);
	return 0;
}

static void undo_queue_create(struct abi_world *world, void *arg, int ret)
{
	struct drm_cmx_queue_create *args = arg;

	if (!ret)
		abi_destroy(world->fd, CMX_OBJECT_QUEUE, args->handle);
}

static const struct abi_field fields_queue_query[] = {
	FIELD(drm_cmx_queue_query, handle, ABI_OBJECT, CMX_OBJECT_QUEUE),
	FIELD(drm_cmx_queue_query, state, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, status, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, waiting, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, head, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, tail, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, inflight, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, opcode, ABI_OUT, 1),
	FIELD(drm_cmx_queue_query, ready_ps, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, wait_va, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, wait_value, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, wait_cond, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, owner, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, commands, ABI_OUT, 0),
	FIELD(drm_cmx_queue_query, bytes, ABI_OUT, 0),
};

static int prepare_queue_query(struct abi_world *world, void *arg)
{
	struct drm_cmx_queue_query *args = arg;

	args->handle = world->stream.handle;
	return 0;
}

#define undo_queue_query	undo_nothing

static const struct abi_field fields_queue_set_state[] = {
	FIELD(drm_cmx_queue_set_state, handle, ABI_OBJECT, CMX_OBJECT_QUEUE),
	FIELD(drm_cmx_queue_set_state, state, ABI_ENUM, UB_QUEUE_ERROR),
};

/* A queue of its own each time, because it ends in another state. */
static int prepare_queue_set_state(struct abi_world *world, void *arg)
{
	struct drm_cmx_queue_set_state *args = arg;
	struct drm_cmx_queue_create create;
	int ret;

	abi_queue_args(&create, CMX_QUEUE_SDMA, world->cq.handle);
	ret = abi_ioctl(world->fd, DRM_IOCTL_CMX_QUEUE_CREATE, &create);
	world->scratch[0] = create.handle;
	args->handle = create.handle;
	args->state = UB_QUEUE_ERROR;
	return ret;
}

static void undo_queue_set_state(struct abi_world *world, void *arg, int ret)
{
	(void)arg;
	(void)ret;
	abi_destroy(world->fd, CMX_OBJECT_QUEUE, (__u32)world->scratch[0]);
}

static const struct abi_field fields_destroy[] = {
	FIELD(drm_cmx_destroy, type, ABI_ENUM, CMX_OBJECT_TIMELINE),
	FIELD(drm_cmx_destroy, handle, ABI_OBJECT, CMX_OBJECT_CQ),
};

static int prepare_destroy(struct abi_world *world, void *arg)
{
	struct drm_cmx_destroy *args = arg;
	struct drm_cmx_cq_create create = { .entries = 16 };
	int ret = abi_ioctl(world->fd, DRM_IOCTL_CMX_CQ_CREATE, &create);

	world->scratch[0] = create.handle;
	args->type = CMX_OBJECT_CQ;
	args->handle = create.handle;
	return ret;
}

static void undo_destroy(struct abi_world *world, void *arg, int ret)
{
	(void)arg;
	if (ret)
		abi_destroy(world->fd, CMX_OBJECT_CQ, (__u32)world->scratch[0]);
}

static const struct abi_field fields_timeline_create[] = {
	FIELD(drm_cmx_timeline_create, flags, ABI_FLAGS, CMX_TIMELINE_FREE_RUNNING),
	FIELD(drm_cmx_timeline_create, handle, ABI_OUT, 0),
};

static int prepare_timeline_create(struct abi_world *world, void *arg)
{
	(void)world;
	(void)arg;
	return 0;
}

static void undo_timeline_create(struct abi_world *world, void *arg, int ret)
{
	struct drm_cmx_timeline_create *args = arg;

	if (!ret)
		abi_destroy(world->fd, CMX_OBJECT_TIMELINE, args->handle);
}

static const struct abi_field fields_timeline_export[] = {
	FIELD(drm_cmx_timeline_export, handle, ABI_OPTIONAL, CMX_OBJECT_TIMELINE),
	FIELD(drm_cmx_timeline_export, fd, ABI_OUT, 0),
};

#define prepare_timeline_export	prepare_timeline_create

static void undo_timeline_export(struct abi_world *world, void *arg, int ret)
{
	struct drm_cmx_timeline_export *args = arg;

	(void)world;
	if (!ret)
		close(args->fd);
}

static const struct abi_field fields_timeline_import[] = {
	FIELD(drm_cmx_timeline_import, fd, ABI_IN, 0),
	FIELD(drm_cmx_timeline_import, handle, ABI_OUT, 0),
};

static int prepare_timeline_import(struct abi_world *world, void *arg)
{
	struct drm_cmx_timeline_import *args = arg;

	args->fd = world->shared;
	return 0;
}

static void undo_timeline_import(struct abi_world *world, void *arg, int ret)
{
	struct drm_cmx_timeline_import *args = arg;

	if (!ret)
		abi_destroy(world->fd, CMX_OBJECT_TIMELINE, args->handle);
}

static const struct abi_field fields_timeline_query[] = {
	FIELD(drm_cmx_timeline_query, handle, ABI_OPTIONAL, CMX_OBJECT_TIMELINE),
	FIELD(drm_cmx_timeline_query, flags, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, now_ps, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, doorbell_offset, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, status_offset, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, members, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, actors, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, actors_running, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, queues, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, batches, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, pad, ABI_PAD, 0),
	FIELD(drm_cmx_timeline_query, commands, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, launches, ABI_OUT, 0),
	FIELD(drm_cmx_timeline_query, bytes, ABI_OUT, 0),
};

#define prepare_timeline_query	prepare_timeline_create
#define undo_timeline_query	undo_nothing

static const struct abi_field fields_actor[] = {
	FIELD(drm_cmx_actor, timeline, ABI_OPTIONAL, CMX_OBJECT_TIMELINE),
	FIELD(drm_cmx_actor, op, ABI_ENUM, CMX_ACTOR_REMOVE),
	FIELD(drm_cmx_actor, actor, ABI_PAD, 0),
	FIELD(drm_cmx_actor, pad, ABI_PAD, 0),
};

#define prepare_actor	prepare_timeline_create

static void undo_actor(struct abi_world *world, void *arg, int ret)
{
	struct drm_cmx_actor *args = arg;

	if (ret)
		return;
	args->op = CMX_ACTOR_REMOVE;
	abi_ioctl(world->fd, DRM_IOCTL_CMX_ACTOR, args);
}

static const struct abi_field fields_run[] = {
	FIELD(drm_cmx_run, timeline, ABI_OPTIONAL, CMX_OBJECT_TIMELINE),
	FIELD(drm_cmx_run, flags, ABI_FLAGS, CMX_RUN_FLAGS),
	FIELD(drm_cmx_run, actor, ABI_IN, 0),
	FIELD(drm_cmx_run, until, ABI_ENUM, CMX_UNTIL_PROGRESS),
	FIELD(drm_cmx_run, object, ABI_PAD, 0),
	FIELD(drm_cmx_run, cond, ABI_PAD, 0),
	FIELD(drm_cmx_run, va, ABI_PAD, 0),
	FIELD(drm_cmx_run, value, ABI_PAD, 0),
	FIELD(drm_cmx_run, host_timeout_ns, ABI_IN, 0),
	FIELD(drm_cmx_run, batch, ABI_IN, 0),
	FIELD(drm_cmx_run, outcomes, ABI_IN, 0),
	FIELD(drm_cmx_run, launches, ABI_IN, 0),
	FIELD(drm_cmx_run, status, ABI_OUT, 0),
	FIELD(drm_cmx_run, pad, ABI_PAD, 0),
	FIELD(drm_cmx_run, now_ps, ABI_OUT, 0),
};

static int prepare_run(struct abi_world *world, void *arg)
{
	struct drm_cmx_run *args = arg;

	args->flags = CMX_RUN_NOBLOCK;
	args->until = CMX_UNTIL_IDLE;
	args->launches.stride = sizeof(struct drm_cmx_launch);
	args->launches.count = 1;
	args->launches.pointer = abi_addr(world->scratch);
	return 0;
}

#define undo_run	undo_nothing

static const struct abi_field fields_wake[] = {
	FIELD(drm_cmx_wake, timeline, ABI_OPTIONAL, CMX_OBJECT_TIMELINE),
	FIELD(drm_cmx_wake, flags, ABI_PAD, 0),
};

#define prepare_wake	prepare_timeline_create
#define undo_wake	undo_nothing

static const struct abi_field fields_signal[] = {
	FIELD(drm_cmx_signal, timeline, ABI_OPTIONAL, CMX_OBJECT_TIMELINE),
	FIELD(drm_cmx_signal, op, ABI_ENUM, CMX_SIGNAL_ADD),
	FIELD(drm_cmx_signal, va, ABI_IN, 0),
	FIELD(drm_cmx_signal, value, ABI_IN, 0),
	FIELD(drm_cmx_signal, old, ABI_OUT, 0),
};

static int prepare_signal(struct abi_world *world, void *arg)
{
	struct drm_cmx_signal *args = arg;

	args->va = world->mem.va + 64;
	args->value = 1;
	return 0;
}

#define undo_signal	undo_nothing

static const struct abi_field fields_events[] = {
	FIELD(drm_cmx_events, events, ABI_IN, 0),
	FIELD(drm_cmx_events, lost, ABI_OUT, 0),
	FIELD(drm_cmx_events, flags, ABI_PAD, 0),
	FIELD(drm_cmx_events, pad, ABI_PAD, 0),
};

static int prepare_events(struct abi_world *world, void *arg)
{
	struct drm_cmx_events *args = arg;

	args->events.stride = sizeof(struct cmx_event);
	args->events.count = 1;
	args->events.pointer = abi_addr(world->scratch);
	return 0;
}

#define undo_events	undo_nothing

const struct abi_call abi_calls[] = {
	CALL(INFO, info),
	CALL(BO_CREATE, bo_create),
	CALL(BO_QUERY, bo_query),
	CALL(MAP, map),
	CALL(UNMAP, unmap),
	CALL(CQ_CREATE, cq_create),
	CALL(RQ_CREATE, rq_create),
	CALL(QUEUE_CREATE, queue_create),
	CALL(QUEUE_QUERY, queue_query),
	CALL(QUEUE_SET_STATE, queue_set_state),
	CALL(DESTROY, destroy),
	CALL(TIMELINE_CREATE, timeline_create),
	CALL(TIMELINE_EXPORT, timeline_export),
	CALL(TIMELINE_IMPORT, timeline_import),
	CALL(TIMELINE_QUERY, timeline_query),
	CALL(ACTOR, actor),
	CALL(RUN, run),
	CALL(WAKE, wake),
	CALL(SIGNAL, signal),
	CALL(EVENTS, events),
};

const unsigned int abi_num_calls = ABI_ARRAY_SIZE(abi_calls);

int abi_prepare(struct abi_world *world, const struct abi_call *call, void *arg)
{
	memset(arg, 0, ABI_ARG_SIZE);
	return call->prepare(world, arg);
}

void abi_undo(struct abi_world *world, const struct abi_call *call, void *arg, int ret)
{
	call->undo(world, arg, ret);
}

__u64 abi_field_get(const struct abi_field *field, const void *arg)
{
	__u64 value = 0;

	memcpy(&value, (const char *)arg + field->offset, field->size < 8 ? field->size : 8);
	return value;
}

void abi_field_set(const struct abi_field *field, void *arg, __u64 value)
{
	memcpy((char *)arg + field->offset, &value, field->size < 8 ? field->size : 8);
}

const struct abi_call *abi_call_find(unsigned long request)
{
	unsigned int i;

	for (i = 0; i < abi_num_calls; i++)
		if (abi_calls[i].request == request)
			return &abi_calls[i];
	return NULL;
}

const struct abi_field *abi_field_find(const struct abi_call *call, const char *name)
{
	unsigned int i;

	for (i = 0; i < call->num_fields; i++)
		if (!strcmp(call->fields[i].name, name))
			return &call->fields[i];
	return NULL;
}
