// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/file.h>
#include <linux/mm_types.h>
#include <linux/slab.h>

#include "cmx_batch.h"
#include "cmx_file.h"
#include "cmx_ioctl.h"
#include "cmx_queue.h"
#include "cmx_ring.h"
#include "cmx_timeline.h"
#include "cmx_trace.h"

static void cmx_member_drop_actors(struct cmx_member *member)
{
	struct cmx_actor *actor;
	unsigned long id;

	xa_for_each(&member->actors, id, actor) {
		cmx_actor_free(actor);
		cmx_file_uncharge(member->obj.file, CMX_LIMIT_ACTORS, 1);
	}
}

static void cmx_member_tell_peers(struct cmx_member *member)
{
	struct cmx_timeline *tl = member->timeline;
	struct cmx_member *peer;

	list_for_each_entry(peer, &tl->members, link)
		cmx_event_post(peer->obj.file, CMX_EVENT_PEER_DIED, peer->obj.handle, 0, tl->now,
			       member->obj.file->uasid);
}

/* The process that opened the file is gone, and no other may RUN for it. */
static void cmx_member_orphan(struct cmx_member *member)
{
	struct cmx_queue *q;
	unsigned long bit;

	member->orphan = true;
	cmx_member_drop_actors(member);
	xa_for_each(&member->queues, bit, q)
		cmx_queue_fail(q, CMX_CR_CANCELED);
	cmx_launches_cancel(member);
	cmx_member_tell_peers(member);
	cmx_timeline_kick(member->timeline);
}

void cmx_timeline_reap(struct cmx_timeline *tl)
{
	struct cmx_member *member;

	lockdep_assert_held(&tl->lock);
	cmx_batches_reap(tl);
	list_for_each_entry(member, &tl->members, link) {
		if (!member->orphan && !atomic_read(&member->obj.file->mm->mm_users))
			cmx_member_orphan(member);
	}
}

/* The clock goes on without this file.  Its queues and rings are gone already. */
static void cmx_member_detach(struct cmx_object *obj)
{
	struct cmx_member *member = to_cmx_member(obj);
	struct cmx_timeline *tl = member->timeline;

	mutex_lock(&tl->lock);
	member->detached = true;
	cmx_batches_drop(member);
	cmx_parcels_drop(member);
	cmx_member_drop_actors(member);
	spin_lock(&tl->kick_lock);
	list_del(&member->link);
	spin_unlock(&tl->kick_lock);
	if (member->held_work)
		cmx_member_tell_peers(member);
	cmx_timeline_publish(tl);
	cmx_timeline_kick(tl);
	cmx_member_kick(member);
	mutex_unlock(&tl->lock);
	cmx_shared_revoke(member->doorbell);
	cmx_shared_revoke(member->status);
}

static void cmx_member_free(struct cmx_object *obj)
{
	struct cmx_member *member = to_cmx_member(obj);

	xa_destroy(&member->queues);
	xa_destroy(&member->actors);
	if (member->timeline)
		cmx_timeline_put(member->timeline);
	kfree(member);
}

static const struct cmx_object_ops cmx_member_ops = {
	.limit = CMX_LIMIT_TIMELINES,
	.detach = cmx_member_detach,
	.free = cmx_member_free,
};

static struct cmx_member *cmx_member_alloc(struct cmx_file *file)
{
	struct cmx_member *member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);

	if (!member)
		return ERR_PTR(-ENOMEM);
	cmx_object_init(&member->obj, file, CMX_OBJECT_TIMELINE, &cmx_member_ops);
	xa_init_flags(&member->queues, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	xa_init_flags(&member->actors, XA_FLAGS_ALLOC | XA_FLAGS_ACCOUNT);
	INIT_LIST_HEAD(&member->launches);
	INIT_LIST_HEAD(&member->parcels);
	INIT_LIST_HEAD(&member->cqs);
	INIT_LIST_HEAD(&member->rqs);
	init_waitqueue_head(&member->wait);
	return member;
}

static int cmx_member_share(struct cmx_member *member)
{
	member->doorbell = cmx_shared_create(member->obj.file, PAGE_SIZE, true);
	if (IS_ERR(member->doorbell))
		return PTR_ERR(member->doorbell);
	member->status = cmx_shared_create(member->obj.file, PAGE_SIZE, false);
	if (IS_ERR(member->status)) {
		cmx_shared_revoke(member->doorbell);
		return PTR_ERR(member->status);
	}
	member->doorbell_offset = cmx_shared_offset(member->doorbell);
	member->status_offset = cmx_shared_offset(member->status);
	return 0;
}

static bool cmx_timeline_has_file(struct cmx_timeline *tl, struct cmx_file *file)
{
	struct cmx_member *member;

	list_for_each_entry(member, &tl->members, link)
		if (member->obj.file == file)
			return true;
	return false;
}

/* Join with an actor that runs: the clock stands until the file waits. */
static int cmx_member_attach(struct cmx_member *member, struct cmx_timeline *tl)
{
	u32 id;
	int ret;

	guard(mutex)(&tl->lock);
	if (cmx_timeline_has_file(tl, member->obj.file))
		return -EEXIST;
	ret = cmx_file_charge(member->obj.file, CMX_LIMIT_ACTORS, 1);
	if (ret)
		return ret;
	kref_get(&tl->ref);
	member->timeline = tl;
	ret = cmx_actor_add(member, &id);
	if (ret) {
		cmx_file_uncharge(member->obj.file, CMX_LIMIT_ACTORS, 1);
		return ret;
	}
	member->ordinal = tl->next_member++;
	spin_lock(&tl->kick_lock);
	list_add_tail(&member->link, &tl->members);
	spin_unlock(&tl->kick_lock);
	cmx_member_publish(member);
	return 0;
}

/* Everything but the handle. */
static int cmx_member_setup(struct cmx_member *member, struct cmx_timeline *tl)
{
	int ret = cmx_member_share(member);

	if (ret)
		return ret;
	ret = cmx_member_attach(member, tl);
	if (!ret)
		return 0;
	cmx_shared_revoke(member->doorbell);
	cmx_shared_revoke(member->status);
	return ret;
}

static int cmx_member_create(struct cmx_file *file, struct cmx_timeline *tl, u32 *handle)
{
	struct cmx_member *member = cmx_member_alloc(file);
	int ret;

	if (IS_ERR(member))
		return PTR_ERR(member);
	ret = cmx_object_reserve(&member->obj);
	if (ret)
		goto err_put_member;
	ret = cmx_member_setup(member, tl);
	if (ret)
		goto err_unreserve;
	*handle = member->obj.handle;
	cmx_object_publish(&member->obj);
	return 0;

err_unreserve:
	cmx_object_unreserve(&member->obj);
err_put_member:
	cmx_object_put(&member->obj);
	return ret;
}

/* The default timeline has no handle: the file holds its reference. */
static struct cmx_member *cmx_member_create_default(struct cmx_file *file)
{
	struct cmx_member *member = cmx_member_alloc(file);
	struct cmx_timeline *tl;
	int ret;

	if (IS_ERR(member))
		return member;
	tl = cmx_timeline_create(file->cdev, 0);
	if (IS_ERR(tl)) {
		cmx_object_put(&member->obj);
		return ERR_CAST(tl);
	}
	ret = cmx_member_setup(member, tl);
	cmx_timeline_put(tl);
	if (!ret)
		return member;
	cmx_object_put(&member->obj);
	return ERR_PTR(ret);
}

static struct cmx_member *cmx_member_get_default(struct cmx_file *file)
{
	struct cmx_member *member;

	guard(mutex)(&file->default_lock);
	member = file->default_timeline;
	if (!member) {
		member = cmx_member_create_default(file);
		if (IS_ERR(member))
			return member;
		file->default_timeline = member;
	}
	kref_get(&member->obj.ref);
	return member;
}

struct cmx_member *cmx_member_get(struct cmx_file *file, const char *field, u32 handle)
{
	struct cmx_object *obj;

	if (!handle)
		return cmx_member_get_default(file);
	obj = cmx_object_get(file, CMX_OBJECT_TIMELINE, handle);
	if (obj)
		return to_cmx_member(obj);
	cmx_refuse(file, -ENOENT, field, handle, 0, "no such timeline");
	return ERR_PTR(-ENOENT);
}

struct cmx_member *cmx_member_use(struct cmx_file *file, const char *field, u32 handle)
{
	struct cmx_member *member;
	struct cmx_object *obj;

	if (handle) {
		obj = cmx_object_use(file, CMX_OBJECT_TIMELINE, handle);
		if (obj)
			return to_cmx_member(obj);
	}
	member = cmx_member_get(file, field, handle);
	/* The default timeline cannot be destroyed: no step between to be lost in. */
	if (!IS_ERR(member))
		atomic_inc(&member->obj.users);
	return member;
}

void cmx_member_close(struct cmx_file *file)
{
	struct cmx_member *member = file->default_timeline;

	if (!member)
		return;
	cmx_member_detach(&member->obj);
	cmx_object_put(&member->obj);
	file->default_timeline = NULL;
}

bool cmx_member_doorbells(struct cmx_member *member)
{
	u64 *words = member->doorbell->vaddr;
	bool any = false;

	for (u32 w = 0; w < member->doorbell_words; w++) {
		unsigned long bits;

		if (!READ_ONCE(words[w]))
			continue;
		/* Full barrier: the bit is taken before the queue's tail is read. */
		bits = xchg(&words[w], 0);
		for (u32 bit; bits; bits &= bits - 1) {
			struct cmx_queue *q;

			bit = __ffs(bits);
			q = xa_load(&member->queues, w * 64 + bit);
			if (q) {
				trace_cmx_doorbell(q);
				cmx_queue_pend(q);
			}
			any = true;
		}
	}
	return any;
}

int cmx_ioctl_timeline_create(struct cmx_file *file, void *data)
{
	struct drm_cmx_timeline_create *args = data;
	struct cmx_timeline *tl;
	int ret;

	if (args->flags & ~CMX_TIMELINE_FREE_RUNNING)
		return cmx_refuse(file, -EINVAL, "flags", args->flags, CMX_TIMELINE_FREE_RUNNING,
				  "unknown flags");
	tl = cmx_timeline_create(file->cdev, args->flags);
	if (IS_ERR(tl))
		return PTR_ERR(tl);
	ret = cmx_member_create(file, tl, &args->handle);
	cmx_timeline_put(tl);
	return ret;
}

int cmx_ioctl_timeline_export(struct cmx_file *file, void *data)
{
	struct drm_cmx_timeline_export *args = data;
	struct cmx_member *member = cmx_member_get(file, "handle", args->handle);
	struct file *filp;

	if (IS_ERR(member))
		return PTR_ERR(member);
	filp = cmx_timeline_file(member->timeline);
	cmx_object_put(&member->obj);
	if (IS_ERR(filp))
		return PTR_ERR(filp);
	args->fd = cmx_ioctl_give_file(data, filp);
	if (args->fd < 0)
		fput(filp);
	return min(args->fd, 0);
}

int cmx_ioctl_timeline_import(struct cmx_file *file, void *data)
{
	struct drm_cmx_timeline_import *args = data;
	struct cmx_timeline *tl = cmx_timeline_from_fd(args->fd);
	int ret;

	if (IS_ERR(tl))
		return cmx_refuse(file, PTR_ERR(tl), "fd", args->fd, 0, "not a timeline");
	if (tl->cdev != file->cdev)
		ret = cmx_refuse(file, -EINVAL, "fd", args->fd, 0,
				 "a timeline of another device");
	else
		ret = cmx_member_create(file, tl, &args->handle);
	if (ret == -EEXIST)
		cmx_refuse(file, ret, "fd", args->fd, 0, "this file is a member already");
	cmx_timeline_put(tl);
	return ret;
}

static void cmx_timeline_fill(struct cmx_timeline *tl, struct drm_cmx_timeline_query *args)
{
	struct cmx_member *member;

	args->flags = tl->flags;
	args->now_ps = tl->now;
	args->members = 0;
	list_for_each_entry(member, &tl->members, link)
		args->members++;
	args->actors = tl->actors;
	args->actors_running = tl->running;
	args->queues = tl->queues;
	args->batches = tl->num_batches;
	args->pad = 0;
	args->commands = tl->commands;
	args->launches = tl->launches;
	args->bytes = tl->bytes;
}

int cmx_ioctl_timeline_query(struct cmx_file *file, void *data)
{
	struct drm_cmx_timeline_query *args = data;
	struct cmx_member *member;

	if (args->pad)
		return cmx_refuse(file, -EINVAL, "pad", args->pad, 0, "not zero");
	member = cmx_member_get(file, "handle", args->handle);
	if (IS_ERR(member))
		return PTR_ERR(member);
	mutex_lock(&member->timeline->lock);
	cmx_timeline_fill(member->timeline, args);
	mutex_unlock(&member->timeline->lock);
	args->doorbell_offset = member->doorbell_offset;
	args->status_offset = member->status_offset;
	cmx_object_put(&member->obj);
	return 0;
}

int cmx_ioctl_wake(struct cmx_file *file, void *data)
{
	struct drm_cmx_wake *args = data;
	struct cmx_member *member;

	if (args->flags)
		return cmx_refuse(file, -EINVAL, "flags", args->flags, 0, "unknown flags");
	member = cmx_member_get(file, "timeline", args->timeline);
	if (IS_ERR(member))
		return PTR_ERR(member);
	cmx_member_kick(member);
	cmx_object_put(&member->obj);
	return 0;
}
