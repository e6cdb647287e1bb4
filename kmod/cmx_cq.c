// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "cmx_cq.h"
#include "cmx_file.h"
#include "cmx_ioctl.h"
#include "cmx_queue.h"
#include "cmx_timeline.h"

#define CMX_CQ_MAX_ENTRIES	65536

static struct cmx_cq_producer *cmx_cq_producer(struct cmx_cq *cq)
{
	return cq->ro->vaddr;
}

static struct cmx_cq_consumer *cmx_cq_consumer(struct cmx_cq *cq)
{
	return cq->rw->vaddr;
}

int cmx_cq_bind(struct cmx_cq *cq, struct cmx_member *member)
{
	lockdep_assert_held(&member->timeline->lock);
	guard(mutex)(&cq->bind_lock);
	if (cq->detached)
		return -ENOENT;
	if (cq->member)
		return cq->member == member ? 0 : -EINVAL;
	atomic_inc(&member->obj.users);
	kref_get(&member->obj.ref);
	list_add_tail(&cq->link, &member->cqs);
	cq->member = member;
	return 0;
}

static void cmx_cq_fail(struct cmx_cq *cq, u64 time)
{
	if (cq->failed)
		return;
	cq->failed = true;
	WRITE_ONCE(cmx_cq_producer(cq)->flags, CMX_CQ_STATE_ERROR);
	cmx_event_post(cq->obj.file, CMX_EVENT_CQ_ERROR, cq->obj.handle, 0, time, cq->tail);
}

/* Entries neither written nor promised; a client that moves its index back fails the ring. */
static u32 cmx_cq_room(struct cmx_cq *cq, u64 time)
{
	/* Acquire: what the client read out of a slot is read before we write it again. */
	u32 used = cq->tail - smp_load_acquire(&cmx_cq_consumer(cq)->head);

	if (used > cq->entries) {
		cmx_cq_fail(cq, time);
		return 0;
	}
	return cq->entries - used;
}

bool cmx_cq_has_room(struct cmx_cq *cq)
{
	if (cq->failed || cq->policy != CMX_CQ_BACKPRESSURE)
		return true;
	return cmx_cq_room(cq, cq->member->timeline->now) > cq->reserved || cq->failed;
}

bool cmx_cq_reserve(struct cmx_cq *cq)
{
	if (!cmx_cq_has_room(cq))
		return false;
	cq->reserved++;
	return true;
}

static void cmx_cq_wake(struct cmx_cq *cq)
{
	struct cmx_queue *q, *next;

	list_for_each_entry_safe(q, next, &cq->starved, starved) {
		list_del_init(&q->starved);
		cmx_queue_pend(q);
	}
}

void cmx_cq_unreserve(struct cmx_cq *cq)
{
	cq->reserved--;
	cmx_cq_wake(cq);
}

static void cmx_cq_notify(struct cmx_cq *cq, const struct cmx_cqe *cqe, bool solicited)
{
	struct cmx_cq_consumer *consumer = cmx_cq_consumer(cq);
	struct cmx_actor *actor;
	unsigned long id;
	u32 arm;

	/* The tail before the look at @arm; the client arms, then looks at the tail. */
	smp_mb();
	arm = READ_ONCE(consumer->arm);
	if (arm == CMX_CQ_ARM_ANY ||
	    (arm == CMX_CQ_ARM_SOLICITED && (solicited || cqe->status != UB_CR_SUCCESS))) {
		WRITE_ONCE(consumer->arm, 0);
		cmx_event_post(cq->obj.file, CMX_EVENT_CQ, cq->obj.handle, 0, cqe->time_ps,
			       cq->tail);
	}
	if (!cq->waiters)
		return;
	xa_for_each(&cq->member->actors, id, actor)
		if (actor->cq == cq && (s32)(cq->tail - actor->value) >= 0)
			cmx_actor_release(actor, CMX_RUN_DONE);
}

void cmx_cq_post(struct cmx_cq *cq, const struct cmx_cqe *cqe, bool solicited)
{
	struct cmx_cq_producer *producer = cmx_cq_producer(cq);
	struct cmx_cqe *slots = (struct cmx_cqe *)(producer + 1);

	cq->reserved--;
	if (!cq->failed && !cmx_cq_room(cq, cqe->time_ps))
		cmx_cq_fail(cq, cqe->time_ps);
	if (cq->failed) {
		WRITE_ONCE(producer->lost, ++cq->lost);
		return;
	}
	slots[cq->tail & (cq->entries - 1)] = *cqe;
	/* Release: the entry before the tail that shows it. */
	smp_store_release(&producer->tail, ++cq->tail);
	cmx_cq_notify(cq, cqe, solicited);
}

bool cmx_member_refill(struct cmx_member *member)
{
	struct cmx_cq *cq;
	bool any = false;

	list_for_each_entry(cq, &member->cqs, link) {
		if (list_empty(&cq->starved) || !cmx_cq_has_room(cq))
			continue;
		any = true;
		cmx_cq_wake(cq);
	}
	return any;
}

static void cmx_cq_detach(struct cmx_object *obj)
{
	struct cmx_cq *cq = to_cmx_cq(obj);
	struct cmx_member *member;

	mutex_lock(&cq->bind_lock);
	cq->detached = true;
	member = cq->member;
	mutex_unlock(&cq->bind_lock);
	if (member) {
		mutex_lock(&member->timeline->lock);
		list_del(&cq->link);
		cmx_actors_forget(member, cq);
		mutex_unlock(&member->timeline->lock);
		atomic_dec(&member->obj.users);
		cmx_object_put(&member->obj);
	}
	cmx_shared_revoke(cq->ro);
	cmx_shared_revoke(cq->rw);
}

static void cmx_cq_free(struct cmx_object *obj)
{
	struct cmx_cq *cq = to_cmx_cq(obj);

	mutex_destroy(&cq->bind_lock);
	kfree(cq);
}

static const struct cmx_object_ops cmx_cq_ops = {
	.limit = CMX_LIMIT_CQS,
	.detach = cmx_cq_detach,
	.free = cmx_cq_free,
};

static int cmx_cq_check(struct cmx_file *file, const struct drm_cmx_cq_create *args)
{
	if (args->entries < 2 || args->entries > CMX_CQ_MAX_ENTRIES ||
	    !is_power_of_2(args->entries))
		return cmx_refuse(file, -EINVAL, "entries", args->entries, CMX_CQ_MAX_ENTRIES,
				  "not a power of two from 2 to the limit");
	if (args->policy > CMX_CQ_OVERFLOW_ERROR)
		return cmx_refuse(file, -EINVAL, "policy", args->policy, CMX_CQ_OVERFLOW_ERROR,
				  "unknown policy");
	if (args->flags)
		return cmx_refuse(file, -EINVAL, "flags", args->flags, 0, "unknown flags");
	return 0;
}

static struct cmx_cq *cmx_cq_alloc(struct cmx_file *file, const struct drm_cmx_cq_create *args)
{
	struct cmx_cq *cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);

	if (!cq)
		return ERR_PTR(-ENOMEM);
	cmx_object_init(&cq->obj, file, CMX_OBJECT_CQ, &cmx_cq_ops);
	mutex_init(&cq->bind_lock);
	INIT_LIST_HEAD(&cq->starved);
	cq->entries = args->entries;
	cq->policy = args->policy;
	return cq;
}

static int cmx_cq_share(struct cmx_cq *cq)
{
	size_t size = sizeof(struct cmx_cq_producer) + sizeof(struct cmx_cqe) * (size_t)cq->entries;

	cq->ro = cmx_shared_create(cq->obj.file, PAGE_ALIGN(size), false);
	if (IS_ERR(cq->ro))
		return PTR_ERR(cq->ro);
	cq->rw = cmx_shared_create(cq->obj.file, PAGE_SIZE, true);
	if (!IS_ERR(cq->rw))
		return 0;
	cmx_shared_revoke(cq->ro);
	return PTR_ERR(cq->rw);
}

int cmx_ioctl_cq_create(struct cmx_file *file, void *data)
{
	struct drm_cmx_cq_create *args = data;
	struct cmx_cq *cq;
	int ret;

	ret = cmx_cq_check(file, args);
	if (ret)
		return ret;
	cq = cmx_cq_alloc(file, args);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	ret = cmx_object_reserve(&cq->obj);
	if (ret)
		goto err_put_cq;
	ret = cmx_cq_share(cq);
	if (ret)
		goto err_unreserve;

	args->handle = cq->obj.handle;
	args->ro_offset = cmx_shared_offset(cq->ro);
	args->ro_size = cq->ro->size;
	args->rw_offset = cmx_shared_offset(cq->rw);
	args->rw_size = cq->rw->size;
	cmx_object_publish(&cq->obj);
	return 0;

err_unreserve:
	cmx_object_unreserve(&cq->obj);
err_put_cq:
	cmx_object_put(&cq->obj);
	return ret;
}
