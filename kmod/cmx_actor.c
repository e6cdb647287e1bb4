// SPDX-License-Identifier: GPL-2.0-only
/*
 * Actors decide when the clock may move: it stands while one of them runs.  An actor
 * waits from its RUN until its condition holds; threads that carry out launches in
 * between do not end the wait.
 */
#include <linux/slab.h>

#include "cmx_cq.h"
#include "cmx_file.h"
#include "cmx_ioctl.h"
#include "cmx_timeline.h"

static void cmx_actor_fire(struct cmx_watch *watch)
{
	cmx_actor_release(container_of(watch, struct cmx_actor, watch), CMX_RUN_DONE);
}

int cmx_actor_add(struct cmx_member *member, u32 *id)
{
	struct cmx_timeline *tl = member->timeline;
	struct cmx_actor *actor;
	int ret;

	lockdep_assert_held(&tl->lock);
	actor = kzalloc(sizeof(*actor), GFP_KERNEL_ACCOUNT);
	if (!actor)
		return -ENOMEM;
	ret = cmx_heap_reserve(&tl->heap);
	if (ret)
		goto err_free_actor;
	ret = xa_alloc(&member->actors, id, actor, xa_limit_31b, GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_unreserve;

	actor->member = member;
	actor->id = *id;
	actor->watch.timeline = tl;
	actor->watch.fire = cmx_actor_fire;
	cmx_heap_node_init(&actor->node, CMX_NODE_ACTOR);
	tl->actors++;
	tl->running++;
	cmx_timeline_publish(tl);
	return 0;

err_unreserve:
	cmx_heap_unreserve(&tl->heap);
err_free_actor:
	kfree(actor);
	return ret;
}

/* Forget what it waits for. */
static void cmx_actor_disarm(struct cmx_actor *actor)
{
	cmx_watch_cancel(&actor->watch);
	cmx_heap_remove(&actor->member->timeline->heap, &actor->node);
	if (actor->cq)
		actor->cq->waiters--;
	actor->cq = NULL;
	actor->until = CMX_UNTIL_NONE;
}

void cmx_actor_free(struct cmx_actor *actor)
{
	struct cmx_timeline *tl = actor->member->timeline;

	lockdep_assert_held(&tl->lock);
	cmx_actor_disarm(actor);
	if (actor->state != CMX_ACTOR_WAITING)
		tl->running--;
	tl->actors--;
	cmx_heap_unreserve(&tl->heap);
	xa_erase(&actor->member->actors, actor->id);
	kfree(actor);
	cmx_timeline_publish(tl);
	cmx_timeline_kick(tl);
}

/* Nothing in the rings, in flight, or sent by a launch and not there yet. */
static bool cmx_member_is_idle(const struct cmx_member *member)
{
	return !member->busy && list_empty(&member->parcels);
}

static int cmx_actor_arm(struct cmx_actor *actor, struct cmx_file *file,
			 const struct drm_cmx_run *args)
{
	struct cmx_timeline *tl = actor->member->timeline;

	switch (args->until) {
	case CMX_UNTIL_CQ:
		return (s32)(actor->cq->tail - (u32)args->value) >= 0;
	case CMX_UNTIL_MEMORY:
		actor->watch.cond = args->cond;
		actor->watch.value = args->value;
		return cmx_watch_arm(&actor->watch, &file->vm, args->va);
	case CMX_UNTIL_TIME:
		if (args->value <= tl->now)
			return 1;
		actor->node.time = args->value;
		actor->node.entity = U32_MAX;
		actor->node.ordinal = actor->member->ordinal;
		actor->node.index = actor->id;
		cmx_heap_push(&tl->heap, &actor->node);
		return 0;
	case CMX_UNTIL_IDLE:
		return cmx_member_is_idle(actor->member);
	default:
		return 0;
	}
}

int cmx_actor_wait(struct cmx_actor *actor, struct cmx_file *file, struct cmx_cq *cq,
		   const struct drm_cmx_run *args)
{
	struct cmx_timeline *tl = actor->member->timeline;
	int ret;

	lockdep_assert_held(&tl->lock);
	if (actor->state == CMX_ACTOR_RELEASED)
		return 1;
	/* Back with a batch's outcomes: the wait goes on, perhaps with another condition. */
	cmx_actor_disarm(actor);
	actor->cq = cq;
	if (cq)
		cq->waiters++;
	actor->value = args->value;
	actor->until = args->until;
	ret = cmx_actor_arm(actor, file, args);
	if (ret) {
		cmx_actor_disarm(actor);
		return ret;
	}
	if (actor->state == CMX_ACTOR_RUNNING) {
		actor->state = CMX_ACTOR_WAITING;
		if (!--tl->running) {
			cmx_timeline_publish(tl);
			cmx_timeline_kick(tl);
		}
	}
	return 0;
}

void cmx_actor_release(struct cmx_actor *actor, u32 status)
{
	struct cmx_timeline *tl = actor->member->timeline;

	lockdep_assert_held(&tl->lock);
	if (actor->state != CMX_ACTOR_WAITING)
		return;
	cmx_actor_disarm(actor);
	actor->state = CMX_ACTOR_RELEASED;
	actor->status = status;
	if (!tl->running++)
		cmx_timeline_publish(tl);
	cmx_member_kick(actor->member);
}

void cmx_actor_run(struct cmx_actor *actor)
{
	struct cmx_timeline *tl = actor->member->timeline;

	lockdep_assert_held(&tl->lock);
	if (actor->state == CMX_ACTOR_WAITING && !tl->running++)
		cmx_timeline_publish(tl);
	cmx_actor_disarm(actor);
	actor->state = CMX_ACTOR_RUNNING;
}

void cmx_actors_forget(struct cmx_member *member, struct cmx_cq *cq)
{
	struct cmx_actor *actor;
	unsigned long id;

	xa_for_each(&member->actors, id, actor)
		if (actor->cq == cq)
			cmx_actor_release(actor, CMX_RUN_STALL);
}

static void cmx_member_release(struct cmx_member *member, u32 until, u32 status)
{
	struct cmx_actor *actor;
	unsigned long id;

	xa_for_each(&member->actors, id, actor)
		if (actor->until == until)
			cmx_actor_release(actor, status);
}

void cmx_member_progress(struct cmx_member *member)
{
	cmx_member_release(member, CMX_UNTIL_PROGRESS, CMX_RUN_DONE);
}

void cmx_member_idle(struct cmx_member *member)
{
	if (!cmx_member_is_idle(member))
		return;
	cmx_member_release(member, CMX_UNTIL_IDLE, CMX_RUN_DONE);
}

void cmx_timeline_poll_over(struct cmx_timeline *tl)
{
	struct cmx_member *member;

	list_for_each_entry(member, &tl->members, link)
		cmx_member_release(member, CMX_UNTIL_PROGRESS, CMX_RUN_DONE);
}

/*
 * Pollers first: a poll that finds nothing is over, and what its actor does next may
 * be what the others wait for.  Only when none polls is it a stall.
 */
void cmx_timeline_stall(struct cmx_timeline *tl)
{
	struct cmx_member *member;
	struct cmx_actor *actor;
	unsigned long id;

	cmx_timeline_poll_over(tl);
	if (tl->running)
		return;
	list_for_each_entry(member, &tl->members, link)
		xa_for_each(&member->actors, id, actor)
			cmx_actor_release(actor, CMX_RUN_STALL);
}

static int cmx_actor_remove(struct cmx_member *member, u32 id)
{
	struct cmx_actor *actor = xa_load(&member->actors, id);

	if (!actor)
		return cmx_refuse(member->obj.file, -ENOENT, "actor", id, 0, "no such actor");
	if (actor->in_run || actor->state != CMX_ACTOR_RUNNING)
		return cmx_refuse(member->obj.file, -EBUSY, "actor", id, 0,
				  "a thread waits in RUN for it");
	cmx_actor_free(actor);
	cmx_file_uncharge(member->obj.file, CMX_LIMIT_ACTORS, 1);
	return 0;
}

static int cmx_actor_create(struct cmx_member *member, u32 *id)
{
	int ret = cmx_file_charge(member->obj.file, CMX_LIMIT_ACTORS, 1);

	if (ret)
		return cmx_refuse(member->obj.file, ret, "actor", 0,
				  cmx_file_limit(CMX_LIMIT_ACTORS), "too many actors");
	ret = cmx_actor_add(member, id);
	if (ret)
		cmx_file_uncharge(member->obj.file, CMX_LIMIT_ACTORS, 1);
	return ret;
}

int cmx_ioctl_actor(struct cmx_file *file, void *data)
{
	struct drm_cmx_actor *args = data;
	struct cmx_member *member;
	int ret;

	if (args->op > CMX_ACTOR_REMOVE)
		return cmx_refuse(file, -EINVAL, "op", args->op, CMX_ACTOR_REMOVE,
				  "unknown operation");
	if (args->pad)
		return cmx_refuse(file, -EINVAL, "pad", args->pad, 0, "not zero");
	if (args->op == CMX_ACTOR_ADD && args->actor)
		return cmx_refuse(file, -EINVAL, "actor", args->actor, 0, "not zero");
	member = cmx_member_get(file, "timeline", args->timeline);
	if (IS_ERR(member))
		return PTR_ERR(member);
	mutex_lock(&member->timeline->lock);
	if (member->detached)
		ret = cmx_refuse(file, -ENOENT, "timeline", args->timeline, 0,
				 "no such timeline");
	else if (args->op == CMX_ACTOR_ADD)
		ret = cmx_actor_create(member, &args->actor);
	else
		ret = cmx_actor_remove(member, args->actor);
	mutex_unlock(&member->timeline->lock);
	cmx_object_put(&member->obj);
	return ret;
}
