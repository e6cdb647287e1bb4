// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "cmx_file.h"
#include "cmx_ioctl.h"
#include "cmx_queue.h"
#include "cmx_rq.h"
#include "cmx_timeline.h"

#define CMX_RQ_MAX_SLOTS	65536

static void cmx_rq_detach(struct cmx_object *obj)
{
	struct cmx_rq *rq = container_of(obj, struct cmx_rq, obj);
	struct cmx_cq *cq = rq->cq;
	struct cmx_timeline *tl = NULL;
	struct cmx_cmd *cmd, *next;

	mutex_lock(&cq->bind_lock);
	WRITE_ONCE(rq->detached, true);
	if (cq->member)
		tl = cq->member->timeline;
	mutex_unlock(&cq->bind_lock);
	/* A ring that was never bound has no messages; who binds it now sees @detached. */
	if (tl) {
		mutex_lock(&tl->lock);
		list_del_init(&rq->link);
		list_for_each_entry_safe(cmd, next, &rq->waiters, receive) {
			list_del_init(&cmd->receive);
			cmd->status = UB_CR_REM_OPERATION_ERR;
			cmx_cmd_complete_at(cmd, tl->now);
		}
		cmx_timeline_kick(tl);
		mutex_unlock(&tl->lock);
	}
	cmx_shared_revoke(rq->rw);
	cmx_shared_revoke(rq->ro);
	atomic_dec(&cq->obj.users);
}

static void cmx_rq_free(struct cmx_object *obj)
{
	struct cmx_rq *rq = container_of(obj, struct cmx_rq, obj);

	/* With a handle, the use ended when that went. */
	if (rq->cq && !rq->detached)
		atomic_dec(&rq->cq->obj.users);
	if (rq->cq)
		cmx_object_put(&rq->cq->obj);
	kfree(rq);
}

static const struct cmx_object_ops cmx_rq_ops = {
	.limit = CMX_LIMIT_RQS,
	.detach = cmx_rq_detach,
	.free = cmx_rq_free,
};

static int cmx_rq_check(struct cmx_file *file, const struct drm_cmx_rq_create *args)
{
	if (args->slots < 2 || args->slots > CMX_RQ_MAX_SLOTS || !is_power_of_2(args->slots))
		return cmx_refuse(file, -EINVAL, "slots", args->slots, CMX_RQ_MAX_SLOTS,
				  "not a power of two from 2 to the limit");
	if (args->flags)
		return cmx_refuse(file, -EINVAL, "flags", args->flags, 0, "unknown flags");
	if (args->limit > args->slots)
		return cmx_refuse(file, -EINVAL, "limit", args->limit, args->slots,
				  "more than the ring has");
	if (args->token_policy > UB_TOKEN_PLAIN_TEXT)
		return cmx_refuse(file, -EINVAL, "token_policy", args->token_policy,
				  UB_TOKEN_PLAIN_TEXT, "not offered");
	if (args->token_policy == UB_TOKEN_NONE && args->token)
		return cmx_refuse(file, -EINVAL, "token", args->token, 0,
				  "a token without a policy");
	if (!cmx_entity_get(file->cdev->machine, args->entity))
		return cmx_refuse(file, -EINVAL, "entity", args->entity,
				  file->cdev->machine->num_entities, "no such entity");
	return 0;
}

static struct cmx_rq *cmx_rq_alloc(struct cmx_file *file, const struct drm_cmx_rq_create *args)
{
	struct cmx_rq *rq = kzalloc(sizeof(*rq), GFP_KERNEL_ACCOUNT);
	struct cmx_object *cq;

	if (!rq)
		return ERR_PTR(-ENOMEM);
	cmx_object_init(&rq->obj, file, CMX_OBJECT_RQ, &cmx_rq_ops);
	INIT_LIST_HEAD(&rq->link);
	INIT_LIST_HEAD(&rq->waiters);
	rq->args = *args;
	cq = cmx_object_use(file, CMX_OBJECT_CQ, args->cq);
	if (cq) {
		rq->cq = to_cmx_cq(cq);
		return rq;
	}
	cmx_object_put(&rq->obj);
	return ERR_PTR(cmx_refuse(file, -ENOENT, "cq", args->cq, 0, "no such completion ring"));
}

static int cmx_rq_share(struct cmx_rq *rq)
{
	size_t size = sizeof(struct cmx_ring_producer) + (size_t)CMX_SLOT_SIZE * rq->args.slots;
	struct cmx_ring_consumer *consumer;

	rq->rw = cmx_shared_create(rq->obj.file, PAGE_ALIGN(size), true);
	if (IS_ERR(rq->rw))
		return PTR_ERR(rq->rw);
	rq->ro = cmx_shared_create(rq->obj.file, PAGE_SIZE, false);
	if (IS_ERR(rq->ro)) {
		cmx_shared_revoke(rq->rw);
		return PTR_ERR(rq->ro);
	}
	consumer = rq->ro->vaddr;
	consumer->state = UB_QUEUE_READY;
	consumer->generation = 1;
	return 0;
}

int cmx_ioctl_rq_create(struct cmx_file *file, void *data)
{
	struct drm_cmx_rq_create *args = data;
	struct cmx_rq *rq;
	int ret;

	ret = cmx_rq_check(file, args);
	if (ret)
		return ret;
	rq = cmx_rq_alloc(file, args);
	if (IS_ERR(rq))
		return PTR_ERR(rq);
	ret = cmx_object_reserve(&rq->obj);
	if (ret)
		goto err_put_rq;
	ret = cmx_rq_share(rq);
	if (ret)
		goto err_unreserve;

	args->handle = rq->obj.handle;
	args->rw_offset = cmx_shared_offset(rq->rw);
	args->rw_size = rq->rw->size;
	args->ro_offset = cmx_shared_offset(rq->ro);
	args->ro_size = rq->ro->size;
	cmx_object_publish(&rq->obj);
	return 0;

err_unreserve:
	cmx_object_unreserve(&rq->obj);
err_put_rq:
	cmx_object_put(&rq->obj);
	return ret;
}

static void cmx_rq_fail(struct cmx_rq *rq, u32 status)
{
	struct cmx_ring_consumer *consumer = rq->ro->vaddr;

	rq->failed = true;
	WRITE_ONCE(consumer->status, status);
	WRITE_ONCE(consumer->state, UB_QUEUE_ERROR);
}

/* Entries posted and not taken; a broken index fails the ring. */
static u32 cmx_rq_avail(struct cmx_rq *rq)
{
	struct cmx_ring_producer *producer = rq->rw->vaddr;
	/* Acquire: the entries are read after the tail that shows them. */
	u32 avail = smp_load_acquire(&producer->tail) - rq->head;

	if (avail <= rq->args.slots)
		return avail;
	cmx_rq_fail(rq, UB_CR_LOC_OPERATION_ERR);
	return 0;
}

static bool cmx_rq_entry_ok(const struct cmx_rq_entry *entry)
{
	return entry->slots == 1 && entry->num_sge && entry->num_sge <= 2 && !entry->pad &&
	       !entry->pad2 && !entry->reserved[0] && !entry->reserved[1] && !entry->sge[0].seg &&
	       !entry->sge[1].seg;
}

static void cmx_rq_copy(struct cmx_rq *rq, struct cmx_rq_entry *entry)
{
	const u64 *from = rq->rw->vaddr + sizeof(struct cmx_ring_producer) +
			  (rq->head & (rq->args.slots - 1)) * CMX_SLOT_SIZE;
	u64 *to = (u64 *)entry;

	for (u32 i = 0; i < CMX_SLOT_SIZE / sizeof(*to); i++)
		to[i] = READ_ONCE(from[i]);
}

static void cmx_rq_take(struct cmx_rq *rq, struct cmx_rq_entry *entry, u32 left)
{
	struct cmx_ring_consumer *consumer = rq->ro->vaddr;

	cmx_rq_copy(rq, entry);
	/* Release: copied before the client may write the slot again. */
	smp_store_release(&consumer->head, ++rq->head);
	if (left >= rq->args.limit) {
		rq->limit_sent = false;
	} else if (!rq->limit_sent) {
		rq->limit_sent = true;
		cmx_event_post(rq->obj.file, CMX_EVENT_RQ_LIMIT, rq->obj.handle, 0,
			       rq->cq->member->timeline->now, left);
	}
}

/* The ring a message goes to, bound to the sender's timeline, or NULL. */
static struct cmx_rq *cmx_rq_find(struct cmx_cmd *cmd)
{
	const struct cmx_entry_rma *rma = (const void *)cmd->entry;
	struct cmx_queue *q = cmd->queue;
	struct cmx_object *obj = cmx_object_get(q->obj.file, CMX_OBJECT_RQ, rma->target);
	struct cmx_rq *rq;

	if (!obj)
		return NULL;
	rq = container_of(obj, struct cmx_rq, obj);
	/* Bound first: from then on the ring is taken apart under our timeline's lock. */
	if (!cmx_cq_bind(rq->cq, q->member) && !READ_ONCE(rq->detached) && !rq->failed)
		return rq;
	cmx_object_put(obj);
	return NULL;
}

static int cmx_receive_refuse(struct cmx_cmd *cmd, u32 status)
{
	cmd->status = status;
	cmx_cmd_complete_at(cmd, cmd->queue->member->timeline->now);
	return 0;
}

/* Virtual time between two tries of a sender whose receiver is not ready. */
#define CMX_RNR_TIMER_PS	(640ULL * 1000 * 1000)

static int cmx_receive_retry(struct cmx_cmd *cmd, struct cmx_rq *rq)
{
	struct cmx_queue *q = cmd->queue;
	struct cmx_timeline *tl = q->member->timeline;

	if (q->args.rnr_retry == 7) {
		cmd->phase = CMX_PHASE_WAIT;
		list_add_tail(&cmd->receive, &rq->waiters);
		if (list_empty(&rq->link))
			list_add_tail(&rq->link, &q->member->rqs);
		return 0;
	}
	if (cmd->retries++ >= q->args.rnr_retry)
		return cmx_receive_refuse(cmd, UB_CR_RNR_RETRY_CNT_EXC);
	cmd->node.time = tl->now + CMX_RNR_TIMER_PS;
	if (cmd->node.time < tl->now)
		return cmx_receive_refuse(cmd, CMX_CR_TIME_OVERFLOW);
	cmx_heap_push(&tl->heap, &cmd->node);
	return 0;
}

static bool cmx_receives(const struct cmx_cmd *cmd)
{
	u32 op = cmx_cmd_header(cmd)->opcode;

	return op == UB_OP_SEND || op == UB_OP_SEND_IMM || op == UB_OP_WRITE_IMM;
}

static int cmx_receive_match(struct cmx_cmd *cmd, struct cmx_rq *rq)
{
	const struct cmx_entry_rma *rma = (const void *)cmd->entry;
	u32 avail = cmx_rq_avail(rq);
	u64 room;

	if (rq->failed)
		return cmx_receive_refuse(cmd, UB_CR_REM_OPERATION_ERR);
	if (!avail || !cmx_cq_reserve(rq->cq))
		return cmx_receive_retry(cmd, rq);
	cmx_rq_take(rq, &cmd->recv, avail - 1);
	cmd->received = true;
	if (!cmx_rq_entry_ok(&cmd->recv))
		return cmx_receive_refuse(cmd, UB_CR_REM_OPERATION_ERR);
	room = (u64)cmd->recv.sge[0].len + (cmd->recv.num_sge > 1 ? cmd->recv.sge[1].len : 0);
	if (rma->header.opcode != UB_OP_WRITE_IMM && rma->len > room)
		return cmx_receive_refuse(cmd, UB_CR_REM_RESP_LEN_ERR);
	return 1;
}

int cmx_receive_start(struct cmx_cmd *cmd)
{
	if (!cmx_receives(cmd) || cmd->received)
		return 1;
	/* Destroyed while the message waited for its next try: its pages are gone. */
	if (cmd->rq && READ_ONCE(cmd->rq->detached))
		return cmx_receive_refuse(cmd, UB_CR_REM_OPERATION_ERR);
	if (!cmd->rq)
		cmd->rq = cmx_rq_find(cmd);
	if (!cmd->rq)
		return cmx_receive_refuse(cmd, UB_CR_REM_OPERATION_ERR);
	/* A message that has no way takes no receive entry. */
	if (cmx_cmd_cut_off(cmd, cmd->rq->args.entity,
			    ((const struct cmx_entry_rma *)cmd->entry)->len))
		return 0;
	return cmx_receive_match(cmd, cmd->rq);
}

static u8 cmx_receive_opcode(u32 opcode)
{
	switch (opcode) {
	case UB_OP_SEND_IMM:
		return UB_CR_OPC_SEND_WITH_IMM;
	case UB_OP_WRITE_IMM:
		return UB_CR_OPC_WRITE_WITH_IMM;
	default:
		return UB_CR_OPC_SEND;
	}
}

static u8 cmx_receive_status(u32 status)
{
	switch (status) {
	case UB_CR_REM_RESP_LEN_ERR:
		return UB_CR_LOC_LEN_ERR;
	case UB_CR_REM_OPERATION_ERR:
		return UB_CR_LOC_OPERATION_ERR;
	case UB_CR_REM_ACCESS_ABORT:
		return UB_CR_LOC_ACCESS_ERR;
	default:
		return status;
	}
}

void cmx_receive_finish(struct cmx_cmd *cmd)
{
	const struct cmx_entry_rma *rma = (const void *)cmd->entry;
	struct cmx_queue *q = cmd->queue;
	struct cmx_file *file = q->obj.file;
	struct cmx_cqe cqe = {
		.user_ctx = cmd->recv.user_ctx,
		.imm = rma->header.opcode == UB_OP_SEND ? 0 : rma->value,
		.time_ps = q->member->timeline->now,
		.len = cmd->len,
		.remote_id = q->obj.handle,
		.remote_uasid = file->uasid,
		.status = cmx_receive_status(cmd->status),
		.opcode = cmx_receive_opcode(rma->header.opcode),
		.flags = CMX_CQE_RECV,
	};

	if (cmd->received && !cmd->rq->detached) {
		cqe.local_id = cmd->rq->obj.handle;
		memcpy(cqe.remote_eid, file->cdev->machine->entities[q->args.entity]->eid,
		       sizeof(cqe.remote_eid));
		cmx_cq_post(cmd->rq->cq, &cqe, rma->header.flags & CMX_ENTRY_SOLICITED);
		cmd->received = false;
	}
	cmx_rq_unwait(cmd);
}

void cmx_rq_unwait(struct cmx_cmd *cmd)
{
	struct cmx_rq *rq = cmd->rq;

	if (!rq)
		return;
	list_del_init(&cmd->receive);
	if (list_empty(&rq->waiters))
		list_del_init(&rq->link);
	if (cmd->received)
		cmx_cq_unreserve(rq->cq);
	cmd->received = false;
	cmd->rq = NULL;
	cmx_object_put(&rq->obj);
}

/* All try again; those that find no entry left wait again, in the same order. */
static void cmx_rq_retry(struct cmx_rq *rq, struct cmx_timeline *tl)
{
	struct cmx_cmd *cmd, *next;

	list_del_init(&rq->link);
	list_for_each_entry_safe(cmd, next, &rq->waiters, receive) {
		list_del_init(&cmd->receive);
		cmd->phase = CMX_PHASE_START;
		cmd->node.time = tl->now;
		cmx_heap_push(&tl->heap, &cmd->node);
	}
}

void cmx_member_retry_receives(struct cmx_member *member)
{
	struct cmx_rq *rq, *next;

	list_for_each_entry_safe(rq, next, &member->rqs, link)
		cmx_rq_retry(rq, member->timeline);
}

bool cmx_member_receive(struct cmx_member *member)
{
	struct cmx_rq *rq, *next;
	bool any = false;

	list_for_each_entry_safe(rq, next, &member->rqs, link) {
		if (!rq->failed && (!cmx_rq_avail(rq) || !cmx_cq_has_room(rq->cq)))
			continue;
		any = true;
		cmx_rq_retry(rq, member->timeline);
	}
	return any;
}
