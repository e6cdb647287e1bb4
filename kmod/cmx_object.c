// SPDX-License-Identifier: GPL-2.0-only
/* Typed, reference counted objects behind a file's handles. */
#include <linux/slab.h>

#include "cmx_file.h"
#include "cmx_ioctl.h"
#include "cmx_object.h"

#define CMX_HANDLE_LIMIT	XA_LIMIT(1, INT_MAX)

void cmx_object_init(struct cmx_object *obj, struct cmx_file *file, u32 type,
		     const struct cmx_object_ops *ops)
{
	kref_init(&obj->ref);
	atomic_set(&obj->users, 0);
	obj->type = type;
	obj->handle = 0;
	obj->file = file;
	obj->ops = ops;
}

int cmx_object_reserve(struct cmx_object *obj)
{
	struct cmx_file *file = obj->file;
	u32 limit = cmx_file_limit(obj->ops->limit);
	int err;

	err = cmx_file_charge(file, obj->ops->limit, 1);
	if (err)
		return cmx_refuse(file, err, "handle", limit, limit,
				  "the file holds as many objects of this type as it may");

	/* A NULL entry takes the handle, and lookups do not see it. */
	err = xa_alloc_cyclic(&file->objects, &obj->handle, NULL, CMX_HANDLE_LIMIT,
			      &file->objects_next, GFP_KERNEL_ACCOUNT);
	if (err < 0) {
		cmx_file_uncharge(file, obj->ops->limit, 1);
		return err;
	}
	return 0;
}

void cmx_object_unreserve(struct cmx_object *obj)
{
	xa_erase(&obj->file->objects, obj->handle);
	cmx_file_uncharge(obj->file, obj->ops->limit, 1);
}

void cmx_object_publish(struct cmx_object *obj)
{
	/* The slot exists since it was reserved: nothing is allocated, nothing can fail. */
	xa_store(&obj->file->objects, obj->handle, obj, GFP_NOWAIT);
}

static struct cmx_object *cmx_object_lookup_locked(struct cmx_file *file, u32 type, u32 handle)
{
	struct cmx_object *obj = xa_load(&file->objects, handle);

	lockdep_assert_held(&file->objects.xa_lock);
	return obj && obj->type == type ? obj : NULL;
}

struct cmx_object *cmx_object_get(struct cmx_file *file, u32 type, u32 handle)
{
	struct cmx_object *obj;

	xa_lock(&file->objects);
	obj = cmx_object_lookup_locked(file, type, handle);
	if (obj)
		kref_get(&obj->ref);
	xa_unlock(&file->objects);
	return obj;
}

static void cmx_object_release(struct kref *ref)
{
	struct cmx_object *obj = container_of(ref, struct cmx_object, ref);

	obj->ops->free(obj);
}

void cmx_object_put(struct cmx_object *obj)
{
	kref_put(&obj->ref, cmx_object_release);
}

struct cmx_object *cmx_object_use(struct cmx_file *file, u32 type, u32 handle)
{
	struct cmx_object *obj;

	xa_lock(&file->objects);
	obj = cmx_object_lookup_locked(file, type, handle);
	if (obj) {
		kref_get(&obj->ref);
		atomic_inc(&obj->users);
	}
	xa_unlock(&file->objects);
	return obj;
}

void cmx_object_unuse(struct cmx_object *obj)
{
	atomic_dec(&obj->users);
	cmx_object_put(obj);
}

/* @obj has just lost its handle. */
static void cmx_object_retire(struct cmx_object *obj)
{
	struct cmx_file *file = obj->file;
	u32 limit = obj->ops->limit;

	obj->ops->detach(obj);
	cmx_file_uncharge(file, limit, 1);
	cmx_object_put(obj);
}

int cmx_object_destroy(struct cmx_file *file, u32 type, u32 handle)
{
	struct cmx_object *obj;
	int users = 0;

	xa_lock(&file->objects);
	obj = cmx_object_lookup_locked(file, type, handle);
	if (obj) {
		users = atomic_read(&obj->users);
		if (!users)
			__xa_erase(&file->objects, handle);
	}
	xa_unlock(&file->objects);

	if (!obj)
		return cmx_refuse(file, -ENOENT, "handle", handle, type,
				  "no object of this type has this handle");
	if (users)
		return cmx_refuse(file, -EBUSY, "handle", handle, users,
				  "other objects of this file use it");
	cmx_object_retire(obj);
	return 0;
}

void cmx_object_destroy_all(struct cmx_file *file)
{
	/* Queues use RQs, CQs and timelines; RQs use CQs. */
	static const u32 order[] = {
		CMX_OBJECT_QUEUE, CMX_OBJECT_RQ, CMX_OBJECT_CQ, CMX_OBJECT_TIMELINE,
	};
	struct cmx_object *obj;
	unsigned long handle;
	int i;

	for (i = 0; i < ARRAY_SIZE(order); i++) {
		xa_for_each(&file->objects, handle, obj) {
			if (obj->type != order[i])
				continue;
			xa_erase(&file->objects, handle);
			cmx_object_retire(obj);
		}
	}
}

int cmx_ioctl_destroy(struct cmx_file *file, void *data)
{
	struct drm_cmx_destroy *args = data;

	if (args->type < CMX_OBJECT_CQ || args->type > CMX_OBJECT_TIMELINE)
		return cmx_refuse(file, -EINVAL, "type", args->type, CMX_OBJECT_TIMELINE,
				  "no such type of object");
	return cmx_object_destroy(file, args->type, args->handle);
}
