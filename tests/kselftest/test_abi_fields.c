// SPDX-License-Identifier: GPL-2.0-only
/* Every field of every ioctl: what is refused, with which error, and that the field is named. */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "kselftest_harness.h"

#include "cmx_calls.h"

#define FOREIGNERS	48

FIXTURE(fields) {
	struct abi_world world;
	__u32 stale_bo;
	__u32 stale_object;
	__u32 foreign_bo;
	__u32 foreign_object;
	__u64 arg[ABI_ARG_SIZE / 8];
	char why[256];
};

/* Objects of the other file whose numbers mean nothing in the first. */
static int make_foreign(struct abi_world *world, __u32 *bo, __u32 *object)
{
	struct drm_cmx_cq_create cq = { .entries = 2 };
	int i, ret = 0;

	for (i = 0; i < FOREIGNERS && !ret; i++) {
		ret = abi_bo(world->other, 0, ABI_PAGE, 0, bo);
		if (!ret)
			ret = abi_ioctl(world->other, DRM_IOCTL_CMX_CQ_CREATE, &cq);
	}
	*object = cq.handle;
	return ret;
}

FIXTURE_SETUP(fields)
{
	struct drm_cmx_cq_create cq = { .entries = 2 };

	ASSERT_EQ(0, abi_world_open(&self->world));
	ASSERT_EQ(0, make_foreign(&self->world, &self->foreign_bo, &self->foreign_object));
	ASSERT_EQ(0, abi_bo(self->world.fd, 0, ABI_PAGE, 0, &self->stale_bo));
	ASSERT_EQ(0, abi_gem_close(self->world.fd, self->stale_bo));
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_CQ_CREATE, &cq));
	self->stale_object = cq.handle;
	ASSERT_EQ(0, abi_destroy(self->world.fd, CMX_OBJECT_CQ, cq.handle));
}

FIXTURE_TEARDOWN(fields)
{
	abi_world_close(&self->world);
}

/* True: the last refusal of this thread says what it should; else @why tells. */
static bool extack_says(FIXTURE_DATA(fields) *self, const struct abi_call *call, int error,
			const char *field)
{
	struct drm_cmx_info_extack extack;
	int ret = abi_extack(self->world.fd, &extack);
	size_t length = strlen(field);

	if (ret || extack.nr != _IOC_NR(call->request) - DRM_COMMAND_BASE ||
	    extack.error != (__u32)-error) {
		snprintf(self->why, sizeof(self->why), "extack of nr %u, error %u (%d)",
			 extack.nr, extack.error, ret);
		return false;
	}
	if (strnlen((char *)extack.field, sizeof(extack.field)) == sizeof(extack.field) ||
	    strnlen((char *)extack.text, sizeof(extack.text)) == sizeof(extack.text) ||
	    !extack.text[0]) {
		snprintf(self->why, sizeof(self->why), "extack without text or end");
		return false;
	}
	/* An array may be named with its member: launches.stride. */
	if (strncmp((char *)extack.field, field, length) ||
	    (extack.field[length] && extack.field[length] != '.')) {
		snprintf(self->why, sizeof(self->why), "names '%s' (%s)", extack.field,
			 extack.text);
		return false;
	}
	return true;
}

/* The prepared argument is refused with @error, and @field is named. */
static bool refused(FIXTURE_DATA(fields) *self, const struct abi_call *call, int error,
		    const char *field)
{
	int ret = abi_ioctl(self->world.fd, call->request, self->arg);
	bool ok = ret == error;

	if (!ok)
		snprintf(self->why, sizeof(self->why), "returns %d, not %d", ret, error);
	else if (field)
		ok = extack_says(self, call, error, field);
	abi_undo(&self->world, call, self->arg, ret);
	return ok;
}

static bool field_refused(FIXTURE_DATA(fields) *self, const struct abi_call *call,
			  const struct abi_field *field, __u64 value, int error,
			  const char *named)
{
	if (abi_prepare(&self->world, call, self->arg)) {
		snprintf(self->why, sizeof(self->why), "cannot be prepared");
		return false;
	}
	abi_field_set(field, self->arg, value);
	return refused(self, call, error, named);
}

#define EXPECT_FIELD(call, field, value, error)						\
	EXPECT_NAMED(call, field, value, error, (field)->name)

#define EXPECT_NAMED(call_, field_, value, error, named)				\
	do {										\
		const struct abi_call *_call = call_;					\
		const struct abi_field *_field = field_;				\
		bool _ok = field_refused(self, _call, _field, value, error, named);	\
											\
		EXPECT_TRUE(_ok)							\
			TH_LOG("%s.%s = %#llx: %s", _call->name, _field->name,		\
			       (unsigned long long)(value), self->why);			\
	} while (0)

/* A field of a call found by name; another one may be what is named. */
#define EXPECT_REFUSED(upper, field, value, error)					\
	EXPECT_BLAMED(upper, field, value, error, #field)

#define EXPECT_BLAMED(upper, field, value, error, named)				\
	EXPECT_NAMED(&abi_calls[DRM_CMX_##upper],					\
		     abi_field_find(&abi_calls[DRM_CMX_##upper], #field), value, error, named)

TEST_F(fields, pads)
{
	unsigned int i, j, bit;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];

		for (j = 0; j < call->num_fields; j++) {
			const struct abi_field *field = &call->fields[j];

			if (field->kind != ABI_PAD)
				continue;
			for (bit = 0; bit < field->size * 8U; bit++)
				EXPECT_FIELD(call, field, 1ULL << bit, -EINVAL);
			EXPECT_FIELD(call, field, ~0ULL, -EINVAL);
		}
	}
}

TEST_F(fields, unknown_flags)
{
	unsigned int i, j, bit;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];

		for (j = 0; j < call->num_fields; j++) {
			const struct abi_field *field = &call->fields[j];

			if (field->kind != ABI_FLAGS)
				continue;
			for (bit = 0; bit < 32; bit++) {
				if (field->known >> bit & 1)
					continue;
				EXPECT_FIELD(call, field, 1ULL << bit | field->known, -EINVAL);
				EXPECT_FIELD(call, field, 1ULL << bit, -EINVAL);
			}
		}
	}
}

TEST_F(fields, enums)
{
	unsigned int i, j;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];

		for (j = 0; j < call->num_fields; j++) {
			const struct abi_field *field = &call->fields[j];

			if (field->kind != ABI_ENUM)
				continue;
			EXPECT_FIELD(call, field, field->known + 1, -EINVAL);
			EXPECT_FIELD(call, field, 0x80000000, -EINVAL);
			EXPECT_FIELD(call, field, ~0U, -EINVAL);
		}
	}
}

/* A handle of each other type of object of this file. */
static __u32 other_type(const struct abi_world *world, __u64 type)
{
	return type == CMX_OBJECT_QUEUE ? world->cq.handle : world->stream.handle;
}

TEST_F(fields, handles)
{
	unsigned int i, j;

	for (i = 0; i < abi_num_calls; i++) {
		const struct abi_call *call = &abi_calls[i];

		for (j = 0; j < call->num_fields; j++) {
			const struct abi_field *field = &call->fields[j];

			switch (field->kind) {
			case ABI_BO:
				EXPECT_FIELD(call, field, 0, -ENOENT);
				EXPECT_FIELD(call, field, ~0U, -ENOENT);
				EXPECT_FIELD(call, field, 0x7fffffff, -ENOENT);
				EXPECT_FIELD(call, field, self->stale_bo, -ENOENT);
				EXPECT_FIELD(call, field, self->foreign_bo, -ENOENT);
				break;
			case ABI_OBJECT:
				EXPECT_FIELD(call, field, 0, -ENOENT);
				/* fallthrough */
			case ABI_OPTIONAL:
				EXPECT_FIELD(call, field, ~0U, -ENOENT);
				EXPECT_FIELD(call, field, 0x7fffffff, -ENOENT);
				EXPECT_FIELD(call, field, self->stale_object, -ENOENT);
				EXPECT_FIELD(call, field, self->foreign_object, -ENOENT);
				EXPECT_FIELD(call, field, other_type(&self->world, field->known),
					     -ENOENT);
				break;
			}
		}
	}
}

TEST_F(fields, info)
{
	__u32 entities = self->world.device.num_entities;
	struct drm_cmx_info args = { .type = CMX_INFO_ENTITY };
	struct drm_cmx_info_entity entity;

	EXPECT_EQ(0, abi_entity(self->world.fd, entities - 1, &entity));
	args.index = entities;
	args.size = sizeof(entity);
	args.pointer = abi_addr(&entity);
	memcpy(self->arg, &args, sizeof(args));
	EXPECT_TRUE(refused(self, &abi_calls[DRM_CMX_INFO], -EINVAL, "index"))
		TH_LOG("%s", self->why);
	args.index = ~0U;
	memcpy(self->arg, &args, sizeof(args));
	EXPECT_TRUE(refused(self, &abi_calls[DRM_CMX_INFO], -EINVAL, "index"))
		TH_LOG("%s", self->why);
	args.index = 0;
	args.pointer = 8;
	memcpy(self->arg, &args, sizeof(args));
	EXPECT_TRUE(refused(self, &abi_calls[DRM_CMX_INFO], -EFAULT, NULL))
		TH_LOG("%s", self->why);
	args.pointer = 1ULL << 63;
	memcpy(self->arg, &args, sizeof(args));
	EXPECT_TRUE(refused(self, &abi_calls[DRM_CMX_INFO], -EFAULT, NULL))
		TH_LOG("%s", self->why);
}

TEST_F(fields, bo_create)
{
	EXPECT_REFUSED(BO_CREATE, size, 0, -EINVAL);
	EXPECT_REFUSED(BO_CREATE, size, 1, -EINVAL);
	EXPECT_REFUSED(BO_CREATE, size, ABI_PAGE + 1, -EINVAL);
	EXPECT_REFUSED(BO_CREATE, size, ABI_PAGE / 2, -EINVAL);
	EXPECT_REFUSED(BO_CREATE, size, self->world.limits.max_bo_size + ABI_PAGE, -ENOSPC);
	EXPECT_REFUSED(BO_CREATE, size, -ABI_PAGE, -ENOSPC);
	EXPECT_REFUSED(BO_CREATE, size, 1ULL << 63, -ENOSPC);
	EXPECT_REFUSED(BO_CREATE, size, ~0ULL, -EINVAL);
	EXPECT_REFUSED(BO_CREATE, entity, self->world.device.num_entities, -EINVAL);
	EXPECT_REFUSED(BO_CREATE, entity, ~0U, -EINVAL);
}

TEST_F(fields, map)
{
	__u64 end = 1ULL << self->world.limits.va_bits;
	__u64 size = ABI_WORLD_PAGES * ABI_PAGE;

	EXPECT_REFUSED(MAP, flags, 0, -EINVAL);
	EXPECT_REFUSED(MAP, size, 0, -EINVAL);
	EXPECT_REFUSED(MAP, size, 1, -EINVAL);
	EXPECT_REFUSED(MAP, size, ABI_PAGE - 1, -EINVAL);
	EXPECT_REFUSED(MAP, size, size + ABI_PAGE, -EINVAL);
	EXPECT_REFUSED(MAP, size, -ABI_PAGE, -EINVAL);
	EXPECT_REFUSED(MAP, offset, 1, -EINVAL);
	EXPECT_REFUSED(MAP, offset, ABI_PAGE + 8, -EINVAL);
	EXPECT_REFUSED(MAP, offset, size, -EINVAL);
	EXPECT_BLAMED(MAP, offset, size - ABI_PAGE, -EINVAL, "size");
	EXPECT_REFUSED(MAP, offset, -ABI_PAGE, -EINVAL);
	EXPECT_REFUSED(MAP, offset, -2 * ABI_PAGE, -EINVAL);
	EXPECT_REFUSED(MAP, va, 0, -EINVAL);
	EXPECT_REFUSED(MAP, va, 1, -EINVAL);
	EXPECT_REFUSED(MAP, va, ABI_PAGE + 1, -EINVAL);
	EXPECT_REFUSED(MAP, va, end, -EINVAL);
	EXPECT_BLAMED(MAP, va, end - ABI_PAGE, -EINVAL, "size");
	EXPECT_REFUSED(MAP, va, -ABI_PAGE, -EINVAL);
	EXPECT_REFUSED(MAP, va, -2 * ABI_PAGE, -EINVAL);
	EXPECT_REFUSED(MAP, va, 1ULL << 63, -EINVAL);
	EXPECT_REFUSED(MAP, va, ABI_VA, -EEXIST);
	EXPECT_REFUSED(MAP, va, ABI_VA - ABI_PAGE, -EEXIST);
	EXPECT_REFUSED(MAP, va, ABI_VA + size - ABI_PAGE, -EEXIST);
	/* Touching is not overlapping; the last page of the space can be used. */
	EXPECT_EQ(0, abi_map_va(self->world.fd, self->world.mem.handle, ABI_VA + size, ABI_PAGE,
				CMX_MAP_READ));
	EXPECT_EQ(0, abi_map_va(self->world.fd, self->world.mem.handle, ABI_VA - ABI_PAGE,
				ABI_PAGE, CMX_MAP_WRITE));
	EXPECT_EQ(0, abi_map_va(self->world.fd, self->world.mem.handle, end - ABI_PAGE, ABI_PAGE,
				CMX_MAP_READ));
	EXPECT_EQ(0, abi_unmap_va(self->world.fd, end - ABI_PAGE, ABI_PAGE));
}

TEST_F(fields, unmap)
{
	__u64 end = 1ULL << self->world.limits.va_bits;
	__u64 size = ABI_WORLD_PAGES * ABI_PAGE;

	EXPECT_REFUSED(UNMAP, size, 0, -EINVAL);
	EXPECT_REFUSED(UNMAP, size, 1, -EINVAL);
	EXPECT_REFUSED(UNMAP, size, -ABI_PAGE, -EINVAL);
	EXPECT_REFUSED(UNMAP, size, end, -EINVAL);
	EXPECT_REFUSED(UNMAP, va, 1, -EINVAL);
	EXPECT_REFUSED(UNMAP, va, end, -EINVAL);
	EXPECT_REFUSED(UNMAP, va, -ABI_PAGE, -EINVAL);
	EXPECT_REFUSED(UNMAP, va, ABI_VA + 64 * size, -ENOENT);
	/* Partly inside: nothing goes. */
	EXPECT_EQ(-EINVAL, abi_unmap_va(self->world.fd, ABI_VA, ABI_PAGE));
	EXPECT_EQ(-EINVAL, abi_unmap_va(self->world.fd, ABI_VA + ABI_PAGE, size));
	EXPECT_EQ(-EINVAL, abi_unmap_va(self->world.fd, ABI_VA - ABI_PAGE, size));
	EXPECT_EQ(-EEXIST, abi_map_va(self->world.fd, self->world.mem.handle, ABI_VA, ABI_PAGE,
				      CMX_MAP_READ));
	/* One call removes all that is inside. */
	EXPECT_EQ(0, abi_map_va(self->world.fd, self->world.mem.handle, ABI_VA + 2 * size,
				ABI_PAGE, CMX_MAP_READ));
	EXPECT_EQ(0, abi_unmap_va(self->world.fd, ABI_VA - ABI_PAGE, 4 * size));
	EXPECT_EQ(-ENOENT, abi_unmap_va(self->world.fd, ABI_VA - ABI_PAGE, 4 * size));
}

TEST_F(fields, rings)
{
	__u32 cqes = self->world.limits.max_cqes, slots = self->world.limits.max_slots;

	EXPECT_REFUSED(CQ_CREATE, entries, 0, -EINVAL);
	EXPECT_REFUSED(CQ_CREATE, entries, 1, -EINVAL);
	EXPECT_REFUSED(CQ_CREATE, entries, 3, -EINVAL);
	EXPECT_REFUSED(CQ_CREATE, entries, cqes * 2, -EINVAL);
	EXPECT_REFUSED(CQ_CREATE, entries, 0x80000000, -EINVAL);
	EXPECT_REFUSED(CQ_CREATE, entries, ~0U, -EINVAL);
	EXPECT_REFUSED(RQ_CREATE, slots, 0, -EINVAL);
	EXPECT_REFUSED(RQ_CREATE, slots, 1, -EINVAL);
	EXPECT_REFUSED(RQ_CREATE, slots, 5, -EINVAL);
	EXPECT_REFUSED(RQ_CREATE, slots, slots * 2, -EINVAL);
	EXPECT_REFUSED(RQ_CREATE, slots, ~0U, -EINVAL);
	EXPECT_REFUSED(RQ_CREATE, limit, 17, -EINVAL);
	EXPECT_REFUSED(RQ_CREATE, limit, ~0U, -EINVAL);
	EXPECT_REFUSED(RQ_CREATE, token, 1, -EINVAL);
	EXPECT_REFUSED(RQ_CREATE, entity, self->world.device.num_entities, -EINVAL);
}

TEST_F(fields, queue)
{
	__u32 slots = self->world.limits.max_slots;

	EXPECT_REFUSED(QUEUE_CREATE, entity, self->world.device.num_entities, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, entity, ~0U, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, slots, 0, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, slots, 2, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, slots, 48, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, slots, slots * 2, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, slots, ~0U, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, ring_version, 0, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, ring_version, CMX_RING_VERSION + 1, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, cube_cores, 1, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, vector_cores, 1, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, trans_mode, 0, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, trans_mode, UB_TM_RM | UB_TM_RC, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, trans_mode, 8, -EINVAL);
	EXPECT_REFUSED(QUEUE_CREATE, trans_mode, ~0U, -EINVAL);
}

/* Fields that only another class of queue has. */
TEST_F(fields, queue_class)
{
	static const struct { __u32 queue_class; const char *field; __u64 value; } cases[] = {
		{ CMX_QUEUE_SDMA, "trans_mode", UB_TM_RM },
		{ CMX_QUEUE_SDMA, "order_type", UB_ORDER_OT },
		{ CMX_QUEUE_SDMA, "rnr_retry", 1 },
		{ CMX_QUEUE_SDMA, "err_timeout", 1 },
		{ CMX_QUEUE_SDMA, "cube_cores", 1 },
		{ CMX_QUEUE_SDMA, "vector_cores", 1 },
		{ CMX_QUEUE_STREAM, "trans_mode", UB_TM_RM },
		{ CMX_QUEUE_STREAM, "order_type", UB_ORDER_OT },
		{ CMX_QUEUE_STREAM, "cube_cores", 100000 },
		{ CMX_QUEUE_STREAM, "vector_cores", 100000 },
	};
	const struct abi_call *call = &abi_calls[DRM_CMX_QUEUE_CREATE];
	struct drm_cmx_queue_create *args = (void *)self->arg;
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(cases); i++) {
		abi_queue_args(args, cases[i].queue_class, self->world.cq.handle);
		abi_field_set(abi_field_find(call, cases[i].field), args, cases[i].value);
		EXPECT_TRUE(refused(self, call, -EINVAL, cases[i].field))
			TH_LOG("class %u %s: %s", cases[i].queue_class, cases[i].field, self->why);
	}
	for (i = CMX_QUEUE_STREAM; i <= CMX_QUEUE_SDMA; i++) {
		abi_queue_args(args, i, self->world.cq.handle);
		args->rq = self->world.rq.handle;
		EXPECT_TRUE(refused(self, call, -EINVAL, "rq"))
			TH_LOG("class %u with rq: %s", i, self->why);
	}
	/* A socket has no engines that launch. */
	abi_queue_args(args, CMX_QUEUE_STREAM, self->world.cq.handle);
	args->entity = self->world.device.num_dies;
	EXPECT_TRUE(refused(self, call, -EINVAL, "queue_class") ||
		    extack_says(self, call, -EINVAL, "entity"))
		TH_LOG("stream on a socket: %s", self->why);
}

TEST_F(fields, set_state)
{
	EXPECT_REFUSED(QUEUE_SET_STATE, state, UB_QUEUE_RESET, -EINVAL);
	EXPECT_REFUSED(QUEUE_SET_STATE, state, UB_QUEUE_READY, -EINVAL);
	EXPECT_REFUSED(QUEUE_SET_STATE, state, UB_QUEUE_SUSPENDED, -EINVAL);
}

TEST_F(fields, destroy)
{
	int fd = self->world.fd;

	EXPECT_REFUSED(DESTROY, type, 0, -EINVAL);
	EXPECT_BLAMED(DESTROY, type, CMX_OBJECT_RQ, -ENOENT, "handle");
	EXPECT_BLAMED(DESTROY, type, CMX_OBJECT_QUEUE, -ENOENT, "handle");
	EXPECT_BLAMED(DESTROY, type, CMX_OBJECT_TIMELINE, -ENOENT, "handle");
	EXPECT_EQ(-EBUSY, abi_destroy(fd, CMX_OBJECT_CQ, self->world.cq.handle));
	EXPECT_EQ(-ENOENT, abi_destroy(fd, CMX_OBJECT_TIMELINE, 0));
}

/* What is in use stays; what used it goes first. */
TEST_F(fields, destroy_order)
{
	struct drm_cmx_timeline_create timeline = { 0 };
	struct drm_cmx_cq_create cq = { .entries = 16 };
	struct drm_cmx_rq_create rq = { .slots = 16 };
	struct drm_cmx_queue_create queue, another;
	int fd = self->world.fd;

	ASSERT_EQ(0, abi_ioctl(fd, DRM_IOCTL_CMX_TIMELINE_CREATE, &timeline));
	ASSERT_EQ(0, abi_ioctl(fd, DRM_IOCTL_CMX_CQ_CREATE, &cq));
	rq.cq = cq.handle;
	ASSERT_EQ(0, abi_ioctl(fd, DRM_IOCTL_CMX_RQ_CREATE, &rq));
	EXPECT_EQ(-EBUSY, abi_destroy(fd, CMX_OBJECT_CQ, cq.handle));
	abi_queue_args(&queue, CMX_QUEUE_UB, cq.handle);
	queue.timeline = timeline.handle;
	queue.rq = rq.handle;
	another = queue;
	another.timeline = 0;
	ASSERT_EQ(0, abi_ioctl(fd, DRM_IOCTL_CMX_QUEUE_CREATE, &queue));
	EXPECT_EQ(-EBUSY, abi_destroy(fd, CMX_OBJECT_TIMELINE, timeline.handle));
	EXPECT_EQ(-EBUSY, abi_destroy(fd, CMX_OBJECT_RQ, rq.handle));
	/* The rings are the timeline's now: no queue of another one can use them. */
	EXPECT_EQ(-EINVAL, abi_ioctl(fd, DRM_IOCTL_CMX_QUEUE_CREATE, &another));
	EXPECT_EQ(0, abi_destroy(fd, CMX_OBJECT_QUEUE, queue.handle));
	EXPECT_EQ(-ENOENT, abi_destroy(fd, CMX_OBJECT_QUEUE, queue.handle));
	EXPECT_EQ(-EBUSY, abi_destroy(fd, CMX_OBJECT_CQ, cq.handle));
	EXPECT_EQ(0, abi_destroy(fd, CMX_OBJECT_RQ, rq.handle));
	EXPECT_EQ(0, abi_destroy(fd, CMX_OBJECT_CQ, cq.handle));
	EXPECT_EQ(0, abi_destroy(fd, CMX_OBJECT_TIMELINE, timeline.handle));
	EXPECT_EQ(-ENOENT, abi_destroy(fd, CMX_OBJECT_TIMELINE, timeline.handle));
}

TEST_F(fields, timeline_import)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct drm_cmx_timeline_import again = { .fd = self->world.shared };

	ASSERT_GE(null, 0);
	EXPECT_REFUSED(TIMELINE_IMPORT, fd, (__u32)-1, -EBADF);
	EXPECT_REFUSED(TIMELINE_IMPORT, fd, 0x7fffffff, -EBADF);
	EXPECT_REFUSED(TIMELINE_IMPORT, fd, (__u32)null, -EINVAL);
	EXPECT_REFUSED(TIMELINE_IMPORT, fd, (__u32)self->world.fd, -EINVAL);
	ASSERT_EQ(0, abi_ioctl(self->world.fd, DRM_IOCTL_CMX_TIMELINE_IMPORT, &again));
	EXPECT_REFUSED(TIMELINE_IMPORT, fd, (__u32)self->world.shared, -EEXIST);
}

TEST_F(fields, actor)
{
	struct drm_cmx_actor args = { .op = CMX_ACTOR_REMOVE };
	static const __u32 bad[] = { 1, 2, 1000, ~0U };
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(bad); i++) {
		args.actor = bad[i];
		memcpy(self->arg, &args, sizeof(args));
		EXPECT_TRUE(refused(self, &abi_calls[DRM_CMX_ACTOR], -ENOENT, "actor"))
			TH_LOG("actor %u: %s", bad[i], self->why);
	}
}

TEST_F(fields, run)
{
	EXPECT_REFUSED(RUN, actor, 1, -ENOENT);
	EXPECT_REFUSED(RUN, actor, ~0U, -ENOENT);
	EXPECT_REFUSED(RUN, batch, 1, -EINVAL);
	EXPECT_REFUSED(RUN, batch, ~0ULL, -EINVAL);
	EXPECT_REFUSED(RUN, until, CMX_UNTIL_NONE, -EINVAL);
}

/* Fields of RUN that mean something to one condition only. */
TEST_F(fields, run_condition)
{
	static const struct {
		__u32 flags;
		__u32 until;
		const char *field;
		__u64 value;
		int error;
	} cases[] = {
		{ CMX_RUN_HELPER, CMX_UNTIL_IDLE, "actor", 1, -EINVAL },
		{ 0, CMX_UNTIL_PROGRESS, "value", 1, -EINVAL },
		{ 0, CMX_UNTIL_PROGRESS, "object", 1, -EINVAL },
		{ 0, CMX_UNTIL_TIME, "object", 1, -EINVAL },
		{ 0, CMX_UNTIL_TIME, "va", ABI_VA, -EINVAL },
		{ 0, CMX_UNTIL_TIME, "cond", CMX_COND_GE, -EINVAL },
		{ 0, CMX_UNTIL_CQ, "object", 0, -ENOENT },
		{ 0, CMX_UNTIL_CQ, "object", ~0U, -ENOENT },
		{ 0, CMX_UNTIL_MEMORY, "cond", CMX_COND_GT + 1, -EINVAL },
		{ 0, CMX_UNTIL_MEMORY, "cond", ~0U, -EINVAL },
		{ 0, CMX_UNTIL_MEMORY, "va", ABI_VA + 4, -EINVAL },
		{ 0, CMX_UNTIL_MEMORY, "va", 0, -EFAULT },
		{ 0, CMX_UNTIL_MEMORY, "va", 1ULL << 55, -EFAULT },
		{ 0, CMX_UNTIL_CQ, "value", 1ULL << 32, -EINVAL },
	};
	const struct abi_call *call = &abi_calls[DRM_CMX_RUN];
	struct drm_cmx_run *args = (void *)self->arg;
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(cases); i++) {
		ASSERT_EQ(0, abi_prepare(&self->world, call, args));
		args->flags |= cases[i].flags;
		args->until = cases[i].until;
		if (args->until == CMX_UNTIL_MEMORY)
			args->va = ABI_VA;
		if (args->until == CMX_UNTIL_CQ)
			args->object = self->world.cq.handle;
		abi_field_set(abi_field_find(call, cases[i].field), args, cases[i].value);
		EXPECT_TRUE(refused(self, call, cases[i].error, cases[i].field))
			TH_LOG("until %u %s %#llx: %s", cases[i].until, cases[i].field,
			       (unsigned long long)cases[i].value, self->why);
	}
}

TEST_F(fields, run_arrays)
{
	const struct abi_call *call = &abi_calls[DRM_CMX_RUN];
	struct drm_cmx_run *args = (void *)self->arg;
	static const __u32 strides[] = { 0, 1, sizeof(struct drm_cmx_launch) - 1 };
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(strides); i++) {
		ASSERT_EQ(0, abi_prepare(&self->world, call, args));
		args->launches.stride = strides[i];
		EXPECT_TRUE(refused(self, call, -EINVAL, "launches"))
			TH_LOG("stride %u: %s", strides[i], self->why);
	}
	/* As much room as one likes, in elements that are not too large. */
	ASSERT_EQ(0, abi_prepare(&self->world, call, args));
	args->launches.count = ~0U;
	EXPECT_EQ(0, abi_ioctl(self->world.fd, call->request, args));
	EXPECT_EQ(0, args->launches.count);
	ASSERT_EQ(0, abi_prepare(&self->world, call, args));
	args->launches.stride = ~0U;
	EXPECT_TRUE(refused(self, call, -EINVAL, "launches"))
		TH_LOG("%s", self->why);
	/* Outcomes of no batch. */
	ASSERT_EQ(0, abi_prepare(&self->world, call, args));
	args->outcomes.stride = sizeof(struct drm_cmx_outcome);
	args->outcomes.count = 1;
	args->outcomes.pointer = abi_addr(self->world.scratch);
	EXPECT_TRUE(refused(self, call, -EINVAL, "outcomes"))
		TH_LOG("%s", self->why);
	args->outcomes.count = ~0U;
	EXPECT_TRUE(refused(self, call, -EINVAL, "outcomes"))
		TH_LOG("%s", self->why);
}

TEST_F(fields, signal)
{
	__u64 end = ABI_VA + ABI_WORLD_PAGES * ABI_PAGE;

	EXPECT_REFUSED(SIGNAL, va, ABI_VA + 1, -EINVAL);
	EXPECT_REFUSED(SIGNAL, va, ABI_VA + 4, -EINVAL);
	EXPECT_REFUSED(SIGNAL, va, 0, -EFAULT);
	EXPECT_REFUSED(SIGNAL, va, ABI_VA - 8, -EFAULT);
	EXPECT_REFUSED(SIGNAL, va, end, -EFAULT);
	EXPECT_REFUSED(SIGNAL, va, 1ULL << 63, -EFAULT);
	EXPECT_REFUSED(SIGNAL, va, -8, -EFAULT);
}

TEST_F(fields, events)
{
	const struct abi_call *call = &abi_calls[DRM_CMX_EVENTS];
	struct drm_cmx_events *args = (void *)self->arg;

	ASSERT_EQ(0, abi_prepare(&self->world, call, args));
	args->events.stride = sizeof(struct cmx_event) - 1;
	EXPECT_TRUE(refused(self, call, -EINVAL, "events"))
		TH_LOG("%s", self->why);
	ASSERT_EQ(0, abi_prepare(&self->world, call, args));
	args->events.stride = 0;
	EXPECT_TRUE(refused(self, call, -EINVAL, "events"))
		TH_LOG("%s", self->why);
	/* Room for more than there can be is no mistake. */
	ASSERT_EQ(0, abi_prepare(&self->world, call, args));
	args->events.count = ~0U;
	EXPECT_EQ(0, abi_ioctl(self->world.fd, call->request, args));
	EXPECT_EQ(0, args->events.count);
}

/* Refusals are per thread and say the value and the limit. */
TEST_F(fields, extack_numbers)
{
	struct drm_cmx_info_extack extack;
	struct drm_cmx_info_entity entity;
	__u32 handle;

	ASSERT_EQ(0, abi_entity(self->world.fd, 0, &entity));
	EXPECT_EQ(-EINVAL, abi_bo(self->world.fd, self->world.device.num_entities, ABI_PAGE, 0,
				  &handle));
	ASSERT_EQ(0, abi_extack(self->world.fd, &extack));
	EXPECT_EQ(DRM_CMX_BO_CREATE, extack.nr);
	EXPECT_EQ(EINVAL, extack.error);
	EXPECT_STREQ("entity", (char *)extack.field);
	EXPECT_EQ(self->world.device.num_entities, extack.value);
	EXPECT_LE(self->world.device.num_entities - 1, extack.limit);
	EXPECT_GE(self->world.device.num_entities, extack.limit);
}

TEST_HARNESS_MAIN
