// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "cmx_batch.h"
#include "cmx_file.h"
#include "cmx_ioctl.h"
#include "cmx_queue.h"
#include "cmx_rq.h"
#include "cmx_timeline.h"
#include "cmx_trace.h"

#define CMX_QUEUE_MAX_SLOTS	65536

static struct cmx_ring_consumer *cmx_queue_consumer(struct cmx_queue *q)
{
	return q->ro->vaddr;
}

static void cmx_queue_publish_state(struct cmx_queue *q)
{
	struct cmx_ring_consumer *consumer = cmx_queue_consumer(q);

	WRITE_ONCE(consumer->status, q->status);
	WRITE_ONCE(consumer->generation, q->generation);
	WRITE_ONCE(consumer->state, q->state);
}

/* What was not issued, or waits for something that may never come, ends now. */
static void cmx_queue_abort_waiting(struct cmx_queue *q)
{
	struct cmx_timeline *tl = q->member->timeline;
	struct cmx_cmd *cmd;

	list_for_each_entry(cmd, &q->inflight, link) {
		if (cmd->phase != CMX_PHASE_START && cmd->phase != CMX_PHASE_HELD &&
		    cmd->phase != CMX_PHASE_WAIT)
			continue;
		cmx_watch_cancel(&cmd->watch);
		cmx_rq_unwait(cmd);
		cmx_heap_remove(&tl->heap, &cmd->node);
		cmd->status = UB_CR_WR_FLUSH_ERR;
		cmx_cmd_complete_at(cmd, tl->now);
	}
}

void cmx_queue_entity_down(struct cmx_queue *q)
{
	struct cmx_cmd *cmd;

	list_for_each_entry(cmd, &q->inflight, link) {
		if (cmd->phase != CMX_PHASE_WAIT)
			continue;
		cmx_watch_cancel(&cmd->watch);
		cmx_rq_unwait(cmd);
		cmx_cmd_entity_down(cmd);
	}
}

void cmx_queue_fail(struct cmx_queue *q, u32 status)
{
	struct cmx_timeline *tl = q->member->timeline;

	lockdep_assert_held(&tl->lock);
	if (q->state == UB_QUEUE_ERROR)
		return;
	q->state = UB_QUEUE_ERROR;
	q->status = status;
	q->marker = true;
	cmx_queue_publish_state(q);
	trace_cmx_error(q, status);
	cmx_event_post(q->obj.file, CMX_EVENT_QUEUE_ERROR, q->obj.handle, status, tl->now,
		       q->head);
	cmx_queue_abort_waiting(q);
	cmx_queue_pend(q);
}

static void cmx_queue_drop_cmd(struct cmx_cmd *cmd)
{
	struct cmx_timeline *tl = cmd->queue->member->timeline;

	cmx_watch_cancel(&cmd->watch);
	cmx_rq_unwait(cmd);
	cmx_heap_remove(&tl->heap, &cmd->node);
	if (tl->partial == &cmd->node)
		tl->partial = NULL;
	if (cmd->phase != CMX_PHASE_CHAINED)
		cmx_cq_unreserve(cmd->queue->cq);
	cmx_cmd_free(cmd);
}

/* Leave the timeline: nothing of this queue is in the heap or with a thread afterwards. */
static void cmx_queue_leave(struct cmx_queue *q)
{
	struct cmx_member *member = q->member;
	struct cmx_timeline *tl = member->timeline;
	struct cmx_cmd *cmd, *next;

	if (q->busy && q->obj.file->closing)
		member->held_work = true;
	list_for_each_entry_safe(cmd, next, &q->inflight, link)
		cmx_queue_drop_cmd(cmd);
	list_for_each_entry_safe(cmd, next, &q->chained, link)
		cmx_queue_drop_cmd(cmd);
	list_del_init(&q->pending);
	list_del_init(&q->starved);
	xa_erase(&member->queues, q->args.doorbell);
	tl->queues--;
	if (q->busy)
		member->busy--;
	q->busy = false;
	cmx_member_idle(member);
	q->detached = true;
	cmx_timeline_kick(tl);
}

static void cmx_queue_unuse(struct cmx_queue *q)
{
	if (q->rq)
		atomic_dec(&q->rq->obj.users);
	if (q->cq)
		atomic_dec(&q->cq->obj.users);
	if (q->member)
		atomic_dec(&q->member->obj.users);
}

static void cmx_queue_detach(struct cmx_object *obj)
{
	struct cmx_queue *q = to_cmx_queue(obj);
	struct cmx_member *member = q->member;

	mutex_lock(&member->timeline->lock);
	cmx_queue_leave(q);
	mutex_unlock(&member->timeline->lock);
	cmx_shared_revoke(q->rw);
	cmx_shared_revoke(q->ro);
	/* The references stay with the queue, but it no longer keeps them from going. */
	cmx_queue_unuse(q);
}

static void cmx_queue_free(struct cmx_object *obj)
{
	struct cmx_queue *q = to_cmx_queue(obj);

	if (!q->detached)
		cmx_queue_unuse(q);
	if (q->rq)
		cmx_object_put(&q->rq->obj);
	if (q->cq)
		cmx_object_put(&q->cq->obj);
	if (q->member)
		cmx_object_put(&q->member->obj);
	kfree(q);
}

static const struct cmx_object_ops cmx_queue_ops = {
	.limit = CMX_LIMIT_QUEUES,
	.detach = cmx_queue_detach,
	.free = cmx_queue_free,
};

static int cmx_queue_check_stream(struct cmx_file *file, const struct drm_cmx_queue_create *args,
				  const struct cmx_entity *entity)
{
	const struct cmx_profile *p = entity->profile;

	if (entity->kind != CMX_ENTITY_DIE)
		return cmx_refuse(file, -EINVAL, "entity", args->entity, 0,
				  "a stream queue needs a die");
	if (args->cube_cores > p->cube_cores)
		return cmx_refuse(file, -EINVAL, "cube_cores", args->cube_cores, p->cube_cores,
				  "more than the die has");
	if (args->vector_cores > p->vector_cores)
		return cmx_refuse(file, -EINVAL, "vector_cores", args->vector_cores,
				  p->vector_cores, "more than the die has");
	return 0;
}

static int cmx_queue_check_ub(struct cmx_file *file, const struct drm_cmx_queue_create *args)
{
	if (args->trans_mode != UB_TM_RM && args->trans_mode != UB_TM_RC &&
	    args->trans_mode != UB_TM_UM)
		return cmx_refuse(file, -EINVAL, "trans_mode", args->trans_mode, UB_TM_UM,
				  "not one transport mode");
	if (args->order_type > UB_ORDER_NO)
		return cmx_refuse(file, -EINVAL, "order_type", args->order_type, UB_ORDER_NO,
				  "unknown order type");
	if (args->rnr_retry > 7)
		return cmx_refuse(file, -EINVAL, "rnr_retry", args->rnr_retry, 7, "too many");
	if (args->err_timeout > 31)
		return cmx_refuse(file, -EINVAL, "err_timeout", args->err_timeout, 31, "too long");
	return 0;
}

/* Fields that only one class has must be zero elsewhere. */
static int cmx_queue_check_unused(struct cmx_file *file, const struct drm_cmx_queue_create *args)
{
	const struct {
		const char *field;
		u32 value;
		u32 queue_class;
	} fields[] = {
		{ "cube_cores", args->cube_cores, CMX_QUEUE_STREAM },
		{ "vector_cores", args->vector_cores, CMX_QUEUE_STREAM },
		{ "rq", args->rq, CMX_QUEUE_UB },
		{ "trans_mode", args->trans_mode, CMX_QUEUE_UB },
		{ "order_type", args->order_type, CMX_QUEUE_UB },
		{ "rnr_retry", args->rnr_retry, CMX_QUEUE_UB },
		{ "err_timeout", args->err_timeout, CMX_QUEUE_UB },
	};

	for (u32 i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].value && fields[i].queue_class != args->queue_class)
			return cmx_refuse(file, -EINVAL, fields[i].field, fields[i].value, 0,
					  "not a field of this class of queues");
	return 0;
}

static int cmx_queue_check_class(struct cmx_file *file, const struct drm_cmx_queue_create *args,
				 const struct cmx_entity *entity)
{
	int ret;

	if (args->queue_class > CMX_QUEUE_UB)
		return cmx_refuse(file, -EINVAL, "queue_class", args->queue_class, CMX_QUEUE_UB,
				  "unknown class");
	ret = cmx_queue_check_unused(file, args);
	if (ret)
		return ret;
	if (args->queue_class == CMX_QUEUE_STREAM)
		return cmx_queue_check_stream(file, args, entity);
	return args->queue_class == CMX_QUEUE_UB ? cmx_queue_check_ub(file, args) : 0;
}

static int cmx_queue_check_planes(struct cmx_file *file, const struct drm_cmx_queue_create *args,
				  const struct cmx_entity *entity)
{
	u32 all = GENMASK(entity->profile->planes - 1, 0);

	if (args->planes & ~(all | CMX_PLANE_BIT_RDMA | CMX_PLANE_BIT_VPC))
		return cmx_refuse(file, -EINVAL, "planes", args->planes, all, "no such plane");
	if (args->planes & CMX_PLANE_BIT_RDMA && args->planes != CMX_PLANE_BIT_RDMA)
		return cmx_refuse(file, -EINVAL, "planes", args->planes, CMX_PLANE_BIT_RDMA,
				  "the RDMA plane goes with no other");
	if (args->planes & CMX_PLANE_BIT_VPC && args->planes != CMX_PLANE_BIT_VPC)
		return cmx_refuse(file, -EINVAL, "planes", args->planes, CMX_PLANE_BIT_VPC,
				  "the VPC plane goes with no other");
	if (args->planes == CMX_PLANE_BIT_RDMA && entity->kind != CMX_ENTITY_DIE)
		return cmx_refuse(file, -EINVAL, "planes", args->planes, all,
				  "only dies are on the RDMA plane");
	if (args->planes == CMX_PLANE_BIT_VPC && entity->kind != CMX_ENTITY_SOCKET)
		return cmx_refuse(file, -EINVAL, "planes", args->planes, all,
				  "only sockets are on the VPC plane");
	return 0;
}

static int cmx_queue_check(struct cmx_file *file, const struct drm_cmx_queue_create *args)
{
	struct cmx_entity *entity = cmx_entity_get(file->cdev->machine, args->entity);

	if (!entity)
		return cmx_refuse(file, -EINVAL, "entity", args->entity,
				  file->cdev->machine->num_entities, "no such entity");
	if (args->slots < 4 || args->slots > CMX_QUEUE_MAX_SLOTS || !is_power_of_2(args->slots))
		return cmx_refuse(file, -EINVAL, "slots", args->slots, CMX_QUEUE_MAX_SLOTS,
				  "not a power of two from 4 to the limit");
	if (args->ring_version != CMX_RING_VERSION)
		return cmx_refuse(file, -EINVAL, "ring_version", args->ring_version,
				  CMX_RING_VERSION, "another ring format");
	if (args->priority > 15)
		return cmx_refuse(file, -EINVAL, "priority", args->priority, 15, "too high");
	if (args->flags)
		return cmx_refuse(file, -EINVAL, "flags", args->flags, 0, "unknown flags");
	return cmx_queue_check_planes(file, args, entity) ?:
	       cmx_queue_check_class(file, args, entity);
}

static struct cmx_queue *cmx_queue_alloc(struct cmx_file *file,
					 const struct drm_cmx_queue_create *args)
{
	struct cmx_queue *q = kzalloc(sizeof(*q), GFP_KERNEL_ACCOUNT);
	const struct cmx_profile *p = file->cdev->machine->profile;

	if (!q)
		return ERR_PTR(-ENOMEM);
	cmx_object_init(&q->obj, file, CMX_OBJECT_QUEUE, &cmx_queue_ops);
	INIT_LIST_HEAD(&q->inflight);
	INIT_LIST_HEAD(&q->chained);
	INIT_LIST_HEAD(&q->pending);
	INIT_LIST_HEAD(&q->starved);
	q->args = *args;
	q->state = UB_QUEUE_READY;
	q->generation = 1;
	q->waiting = CMX_WAITING_ENTRY;
	if (args->queue_class == CMX_QUEUE_STREAM) {
		q->args.cube_cores = args->cube_cores ? args->cube_cores : p->cube_cores;
		q->args.vector_cores = args->vector_cores ? args->vector_cores : p->vector_cores;
	}
	return q;
}

/* What the queue uses, counted as used; cmx_queue_free() undoes it. */
static int cmx_queue_resolve(struct cmx_queue *q)
{
	struct cmx_file *file = q->obj.file;
	struct cmx_member *member = cmx_member_use(file, "timeline", q->args.timeline);
	struct cmx_object *obj;

	if (IS_ERR(member))
		return PTR_ERR(member);
	q->member = member;
	obj = cmx_object_use(file, CMX_OBJECT_CQ, q->args.cq);
	if (!obj)
		return cmx_refuse(file, -ENOENT, "cq", q->args.cq, 0, "no such completion ring");
	q->cq = to_cmx_cq(obj);
	if (!q->args.rq)
		return 0;
	obj = cmx_object_use(file, CMX_OBJECT_RQ, q->args.rq);
	if (!obj)
		return cmx_refuse(file, -ENOENT, "rq", q->args.rq, 0, "no such receive ring");
	q->rq = to_cmx_rq(obj);
	return 0;
}

static int cmx_queue_share(struct cmx_queue *q)
{
	size_t size = sizeof(struct cmx_ring_producer) + (size_t)CMX_SLOT_SIZE * q->args.slots;

	q->rw = cmx_shared_create(q->obj.file, PAGE_ALIGN(size), true);
	if (IS_ERR(q->rw))
		return PTR_ERR(q->rw);
	q->ro = cmx_shared_create(q->obj.file, PAGE_SIZE, false);
	if (!IS_ERR(q->ro))
		return 0;
	cmx_shared_revoke(q->rw);
	return PTR_ERR(q->ro);
}

/* Bind the rings to the timeline, the receive ring's included. */
static int cmx_queue_bind(struct cmx_queue *q)
{
	struct cmx_file *file = q->obj.file;
	int ret = cmx_cq_bind(q->cq, q->member);

	if (!ret && q->rq)
		ret = cmx_cq_bind(q->rq->cq, q->member);
	if (ret == -EINVAL)
		cmx_refuse(file, ret, "cq", q->args.cq, 0, "used on another timeline");
	return ret;
}

/* Join the timeline: the queue gets its number and its doorbell. */
static int cmx_queue_join(struct cmx_queue *q)
{
	struct cmx_member *member = q->member;
	struct cmx_timeline *tl = member->timeline;
	int ret;

	guard(mutex)(&tl->lock);
	if (member->detached)
		return -ENOENT;
	ret = cmx_queue_bind(q);
	if (ret)
		return ret;
	ret = xa_alloc(&member->queues, &q->args.doorbell, q,
		       XA_LIMIT(0, CMX_DOORBELL_WORDS * 64 - 1), GFP_KERNEL_ACCOUNT);
	if (ret)
		return ret == -EBUSY ? -EMFILE : ret;
	member->doorbell_words = max(member->doorbell_words, q->args.doorbell / 64 + 1);
	cmx_servers_restrict(&tl->servers, q->args.planes);
	q->ordinal = tl->next_ordinal++;
	tl->queues++;
	cmx_queue_publish_state(q);
	return 0;
}

static void cmx_queue_tell(struct cmx_queue *q, struct drm_cmx_queue_create *args)
{
	args->handle = q->obj.handle;
	args->doorbell = q->args.doorbell;
	args->rw_offset = cmx_shared_offset(q->rw);
	args->rw_size = q->rw->size;
	args->ro_offset = cmx_shared_offset(q->ro);
	args->ro_size = q->ro->size;
}

int cmx_ioctl_queue_create(struct cmx_file *file, void *data)
{
	struct drm_cmx_queue_create *args = data;
	struct cmx_queue *q;
	int ret;

	ret = cmx_queue_check(file, args);
	if (ret)
		return ret;
	q = cmx_queue_alloc(file, args);
	if (IS_ERR(q))
		return PTR_ERR(q);
	ret = cmx_queue_resolve(q);
	if (ret)
		goto err_put_queue;
	ret = cmx_object_reserve(&q->obj);
	if (ret)
		goto err_put_queue;
	ret = cmx_queue_share(q);
	if (ret)
		goto err_unreserve;
	ret = cmx_queue_join(q);
	if (ret)
		goto err_revoke;

	cmx_queue_tell(q, args);
	cmx_object_publish(&q->obj);
	return 0;

err_revoke:
	cmx_shared_revoke(q->rw);
	cmx_shared_revoke(q->ro);
err_unreserve:
	cmx_object_unreserve(&q->obj);
err_put_queue:
	cmx_object_put(&q->obj);
	return ret;
}

static struct cmx_cmd *cmx_queue_oldest(struct cmx_queue *q)
{
	return list_first_entry_or_null(&q->inflight, struct cmx_cmd, link);
}

static u32 cmx_cmd_waiting(const struct cmx_cmd *cmd)
{
	switch (cmd->phase) {
	case CMX_PHASE_START:
	case CMX_PHASE_HELD:
		return CMX_WAITING_NOTHING;
	case CMX_PHASE_WAIT:
		return cmx_cmd_header(cmd)->opcode == CMX_OP_WAIT ? CMX_WAITING_MEMORY :
								     CMX_WAITING_RECEIVE;
	case CMX_PHASE_LAUNCH:
		return cmd->launch->settled ? CMX_WAITING_COMPLETION : CMX_WAITING_OUTCOME;
	default:
		return CMX_WAITING_COMPLETION;
	}
}

static u32 cmx_queue_waiting(struct cmx_queue *q)
{
	struct cmx_cmd *cmd = cmx_queue_oldest(q);

	if (cmd)
		return cmx_cmd_waiting(cmd);
	if (q->state != UB_QUEUE_READY)
		return CMX_WAITING_STATE;
	if (!list_empty(&q->starved))
		return CMX_WAITING_CQ;
	return q->busy ? CMX_WAITING_NOTHING : CMX_WAITING_ENTRY;
}

static void cmx_queue_describe(struct cmx_queue *q, struct drm_cmx_queue_query *args)
{
	struct cmx_cmd *cmd = cmx_queue_oldest(q);

	args->state = q->state;
	args->status = q->status;
	args->waiting = cmx_queue_waiting(q);
	args->head = q->head;
	args->tail = q->tail;
	args->inflight = q->num_inflight;
	args->opcode = cmd ? cmx_cmd_header(cmd)->opcode : U32_MAX;
	args->ready_ps = q->ready;
	args->commands = q->commands;
	args->bytes = q->bytes;
	args->wait_va = 0;
	args->wait_value = 0;
	args->wait_cond = 0;
	args->owner = 0;
	if (args->waiting == CMX_WAITING_MEMORY) {
		const struct cmx_entry_wait *wait = (const void *)cmd->entry;

		args->wait_va = wait->va;
		args->wait_value = wait->value;
		args->wait_cond = wait->cond;
	}
	if (args->waiting == CMX_WAITING_OUTCOME && cmd->launch->batch)
		args->owner = task_pid_vnr(cmd->launch->batch->owner);
}

void cmx_queue_show(struct seq_file *m, struct cmx_queue *q)
{
	static const char * const waiting[] = {
		[CMX_WAITING_NOTHING] = "nothing",
		[CMX_WAITING_ENTRY] = "an entry",
		[CMX_WAITING_MEMORY] = "memory",
		[CMX_WAITING_CQ] = "room for completions",
		[CMX_WAITING_OUTCOME] = "an outcome",
		[CMX_WAITING_STATE] = "its state",
		[CMX_WAITING_RECEIVE] = "a receive entry",
		[CMX_WAITING_COMPLETION] = "a completion",
	};
	struct drm_cmx_queue_query state;

	cmx_queue_describe(q, &state);
	seq_printf(m, "\t\tqueue %u entity %u state %u head %u tail %u inflight %u waits for %s",
		   q->obj.handle, q->args.entity, state.state, state.head, state.tail,
		   state.inflight, waiting[state.waiting]);
	if (state.waiting == CMX_WAITING_MEMORY)
		seq_printf(m, " at %#llx condition %u value %#llx", state.wait_va,
			   state.wait_cond, state.wait_value);
	seq_putc(m, '\n');
}

static struct cmx_queue *cmx_queue_get(struct cmx_file *file, u32 handle)
{
	struct cmx_object *obj = cmx_object_get(file, CMX_OBJECT_QUEUE, handle);

	if (obj)
		return to_cmx_queue(obj);
	cmx_refuse(file, -ENOENT, "handle", handle, 0, "no such queue");
	return NULL;
}

int cmx_ioctl_queue_query(struct cmx_file *file, void *data)
{
	struct drm_cmx_queue_query *args = data;
	struct cmx_queue *q = cmx_queue_get(file, args->handle);

	if (!q)
		return -ENOENT;
	mutex_lock(&q->member->timeline->lock);
	cmx_queue_describe(q, args);
	mutex_unlock(&q->member->timeline->lock);
	cmx_object_put(&q->obj);
	return 0;
}

static int cmx_queue_move(struct cmx_queue *q, u32 state)
{
	struct cmx_file *file = q->obj.file;

	if (q->detached)
		return -ENOENT;
	if (q->state == UB_QUEUE_READY && state == UB_QUEUE_ERROR) {
		cmx_queue_fail(q, UB_CR_WR_FLUSH_ERR);
		cmx_member_kick(q->member);
		return 0;
	}
	if (q->state != UB_QUEUE_ERROR || state != UB_QUEUE_READY)
		return cmx_refuse(file, -EINVAL, "state", state, q->state,
				  "not a move from the present state");
	if (q->busy || q->marker)
		return cmx_refuse(file, -EBUSY, "state", state, q->num_inflight,
				  "the flush is not done: RUN until the marker comes");
	q->state = UB_QUEUE_READY;
	q->status = UB_CR_SUCCESS;
	q->generation++;
	cmx_queue_publish_state(q);
	return 0;
}

int cmx_ioctl_queue_set_state(struct cmx_file *file, void *data)
{
	struct drm_cmx_queue_set_state *args = data;
	struct cmx_queue *q = cmx_queue_get(file, args->handle);
	int ret;

	if (!q)
		return -ENOENT;
	mutex_lock(&q->member->timeline->lock);
	ret = cmx_queue_move(q, args->state);
	mutex_unlock(&q->member->timeline->lock);
	cmx_object_put(&q->obj);
	return ret;
}
