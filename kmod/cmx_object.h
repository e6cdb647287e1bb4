/* SPDX-License-Identifier: GPL-2.0-only */
/* Typed, reference counted objects behind a file's handles. */
#ifndef CMX_OBJECT_H
#define CMX_OBJECT_H

#include <linux/atomic.h>
#include <linux/kref.h>
#include <linux/types.h>

struct cmx_file;
struct cmx_object;

/** struct cmx_object_ops - a type's behaviour. */
struct cmx_object_ops {
	/** @limit: enum cmx_limit it is counted under. */
	u32 limit;
	/**
	 * @detach: the handle is gone: make it unreachable (leave timelines, zap
	 * mappings).  Called once, may sleep; the caller still holds a reference.
	 */
	void (*detach)(struct cmx_object *obj);
	/** @free: last reference gone. */
	void (*free)(struct cmx_object *obj);
};

/**
 * struct cmx_object - base of CQ, RQ, queue, timeline membership.
 */
struct cmx_object {
	/** @ref: references; the handle holds one. */
	struct kref ref;
	/** @users: objects of this file that use this one; DESTROY fails while not 0. */
	atomic_t users;
	/** @type: enum drm_cmx_object_type. */
	u32 type;
	/** @handle: id in the file. */
	u32 handle;
	/** @file: client. */
	struct cmx_file *file;
	/** @ops: behaviour. */
	const struct cmx_object_ops *ops;
};

/* cmx_object_init() - @obj with one reference, not yet reachable. */
void cmx_object_init(struct cmx_object *obj, struct cmx_file *file, u32 type,
		     const struct cmx_object_ops *ops);
/*
 * cmx_object_reserve() - charge the type's limit and reserve a handle in @obj->handle;
 * lookups do not find it yet.  Undone by cmx_object_unreserve().
 */
int cmx_object_reserve(struct cmx_object *obj);
void cmx_object_unreserve(struct cmx_object *obj);
/* cmx_object_publish() - make the reserved handle visible; the handle takes the reference. */
void cmx_object_publish(struct cmx_object *obj);
/* cmx_object_get() - reference to @handle of @type, or NULL. */
struct cmx_object *cmx_object_get(struct cmx_file *file, u32 type, u32 handle);
void cmx_object_put(struct cmx_object *obj);
/*
 * cmx_object_use() - as cmx_object_get(), and counts a user in the same step, so that
 * DESTROY cannot come between.  Undone by cmx_object_unuse().
 */
struct cmx_object *cmx_object_use(struct cmx_file *file, u32 type, u32 handle);
void cmx_object_unuse(struct cmx_object *obj);
/* cmx_object_destroy() - remove the handle: -ENOENT, or -EBUSY while it has users. */
int cmx_object_destroy(struct cmx_file *file, u32 type, u32 handle);
/* cmx_object_destroy_all() - at close: queues first, then what they used. */
void cmx_object_destroy_all(struct cmx_file *file);

#endif
