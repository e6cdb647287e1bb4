// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rings to commands and back: taking entries, completing them, flushing what is left
 * after an error.  An entry is copied slot by slot before anything looks at it, and
 * the head the client sees is only published, never read back.
 */
#include <linux/bits.h>
#include <linux/slab.h>

#include "cmx_entry.h"
#include "cmx_file.h"
#include "cmx_launch.h"
#include "cmx_queue.h"
#include "cmx_rq.h"
#include "cmx_timeline.h"
#include "cmx_trace.h"

static struct kmem_cache *cmx_cmd_cache;

int cmx_cmd_cache_create(void)
{
	cmx_cmd_cache = KMEM_CACHE(cmx_cmd, SLAB_ACCOUNT);
	if (!cmx_cmd_cache)
		return -ENOMEM;
	if (!cmx_unit_cache_create())
		return 0;
	kmem_cache_destroy(cmx_cmd_cache);
	return -ENOMEM;
}

void cmx_cmd_cache_destroy(void)
{
	cmx_unit_cache_destroy();
	kmem_cache_destroy(cmx_cmd_cache);
}

static void cmx_cmd_fire(struct cmx_watch *watch)
{
	struct cmx_cmd *cmd = container_of(watch, struct cmx_cmd, watch);

	trace_cmx_wake(cmd->queue, cmd, &watch->by, watch->time);
	cmx_cmd_complete_at(cmd, max(watch->time, watch->timeline->now));
}

/* Commands and their room in the heap are kept for the timeline's next entries. */
static struct cmx_cmd *cmx_cmd_alloc(struct cmx_timeline *tl)
{
	struct cmx_cmd *cmd = list_first_entry_or_null(&tl->pool, struct cmx_cmd, link);

	if (cmd) {
		list_del(&cmd->link);
		return cmd;
	}
	if (cmx_heap_reserve(&tl->heap))
		return NULL;
	cmd = kmem_cache_zalloc(cmx_cmd_cache, GFP_KERNEL);
	if (!cmd) {
		cmx_heap_unreserve(&tl->heap);
		return NULL;
	}
	cmx_heap_node_init(&cmd->node, CMX_NODE_CMD);
	cmd->watch.timeline = tl;
	cmd->watch.fire = cmx_cmd_fire;
	INIT_LIST_HEAD(&cmd->receive);
	return cmd;
}

void cmx_cmd_free(struct cmx_cmd *cmd)
{
	struct cmx_timeline *tl = cmd->queue->member->timeline;

	if (cmd->launch)
		cmx_launch_end(cmd->launch);
	cmd->launch = NULL;
	/* It went away while it was being charged, or that is over and it had many legs. */
	if (cmd->phase == CMX_PHASE_FLOW)
		cmx_flow_drop(&cmd->flow);
	if (cmd->legs.more)
		cmx_legs_free(&cmd->legs);
	kvfree(cmd->list);
	cmd->list = NULL;
	cmd->queue = NULL;
	list_move(&cmd->link, &tl->pool);
}

void cmx_cmd_cache_fini(struct cmx_timeline *tl)
{
	struct cmx_cmd *cmd, *next;

	list_for_each_entry_safe(cmd, next, &tl->pool, link) {
		cmx_heap_unreserve(&tl->heap);
		kmem_cache_free(cmx_cmd_cache, cmd);
	}
}

void cmx_queue_pend(struct cmx_queue *q)
{
	if (!q->busy) {
		q->busy = true;
		q->member->busy++;
	}
	if (list_empty(&q->pending))
		list_add_tail(&q->pending, &q->member->timeline->pending);
}

static void cmx_queue_publish_head(struct cmx_queue *q)
{
	struct cmx_ring_consumer *consumer = q->ro->vaddr;

	/* Release: the slots are copied before the client may write them again. */
	smp_store_release(&consumer->head, q->head);
}

static const u8 *cmx_queue_slot(struct cmx_queue *q, u32 index)
{
	const u8 *slots = (const u8 *)q->rw->vaddr + sizeof(struct cmx_ring_producer);

	return slots + (index & (q->args.slots - 1)) * CMX_SLOT_SIZE;
}

/* A word at a time, each read once: the client may be writing. */
static void cmx_queue_copy_slot(struct cmx_queue *q, u32 index, u64 *to)
{
	const u64 *from = (const u64 *)cmx_queue_slot(q, index);

	for (u32 i = 0; i < CMX_SLOT_SIZE / sizeof(*to); i++)
		to[i] = READ_ONCE(from[i]);
}

/* Slots written and not taken; a tail too far ahead drops them all and fails the queue. */
static u32 cmx_queue_avail(struct cmx_queue *q)
{
	struct cmx_ring_producer *producer = q->rw->vaddr;
	/* Acquire: the slots are read after the tail that shows them. */
	u32 tail = smp_load_acquire(&producer->tail);

	if (tail - q->head > q->args.slots) {
		q->head = tail;
		q->tail = tail;
		cmx_queue_publish_head(q);
		cmx_queue_fail(q, UB_CR_LOC_OPERATION_ERR);
		return 0;
	}
	q->tail = tail;
	return tail - q->head;
}

/* Copy the next entry without taking it: slots, or 0 when there is no whole one. */
static u32 cmx_queue_peek(struct cmx_queue *q, u64 *entry)
{
	const struct cmx_entry_header *header = (const void *)entry;
	u32 avail = cmx_queue_avail(q), slots;

	if (!avail)
		return 0;
	cmx_queue_copy_slot(q, q->head, entry);
	slots = header->slots;
	if (!slots || slots > CMX_ENTRY_MAX_SLOTS || slots > avail) {
		/* Where the next entry begins cannot be known: all of them go. */
		q->head = q->tail;
		cmx_queue_publish_head(q);
		cmx_queue_fail(q, UB_CR_LOC_OPERATION_ERR);
		return 0;
	}
	for (u32 i = 1; i < slots; i++)
		cmx_queue_copy_slot(q, q->head + i, entry + i * CMX_SLOT_SIZE / sizeof(u64));
	return slots;
}

static void cmx_queue_take(struct cmx_queue *q, u32 slots)
{
	q->head += slots;
	cmx_queue_publish_head(q);
}

static void cmx_queue_starve(struct cmx_queue *q)
{
	if (list_empty(&q->starved))
		list_add_tail(&q->starved, &q->cq->starved);
}

static void cmx_cmd_reset(struct cmx_cmd *cmd, struct cmx_queue *q)
{
	cmd->queue = q;
	cmd->status = UB_CR_SUCCESS;
	cmd->start = q->member->timeline->now;
	cmd->retries = 0;
	cmd->cursor = (struct cmx_cursor){};
	cmd->received = false;
	cmd->len = 0;
	cmd->imm = 0;
	cmd->extrapolated = false;
	cmd->node.entity = q->args.entity;
	cmd->node.ordinal = q->ordinal;
	cmd->node.index = q->head;
}

/* Promise a completion for the next entry; false: the queue waits for room. */
static bool cmx_queue_reserve(struct cmx_queue *q)
{
	if (cmx_cq_reserve(q->cq))
		return true;
	cmx_queue_starve(q);
	return false;
}

/*
 * The next entry as a command.  One taken ahead has no completion promised: when that
 * happens depends on the host, and the room it would take away from other queues must
 * not.
 * Return: 1 with @out; 0 nothing to do now; -ENOMEM.
 */
static int cmx_queue_next(struct cmx_queue *q, bool ahead, struct cmx_cmd **out)
{
	struct cmx_timeline *tl = q->member->timeline;
	struct cmx_cmd *cmd = cmx_cmd_alloc(tl);
	u32 slots;

	if (!cmd)
		return -ENOMEM;
	slots = cmx_queue_peek(q, cmd->entry);
	if (!slots || (!ahead && !cmx_queue_reserve(q))) {
		list_add(&cmd->link, &tl->pool);
		return 0;
	}
	cmx_cmd_reset(cmd, q);
	cmx_queue_take(q, slots);
	INIT_LIST_HEAD(&cmd->link);
	trace_cmx_fetch(q, cmd);
	*out = cmd;
	return 1;
}

static void cmx_queue_issue(struct cmx_queue *q, struct cmx_cmd *cmd)
{
	struct cmx_timeline *tl = q->member->timeline;

	list_move_tail(&cmd->link, &q->inflight);
	q->num_inflight++;
	q->blocked = true;
	cmd->phase = CMX_PHASE_START;
	cmd->node.time = max(q->ready, tl->now);
	cmx_heap_push(&tl->heap, &cmd->node);
}

/* What was taken ahead last turned out to be no launch that a thread can have. */
static bool cmx_queue_chain_ended(struct cmx_queue *q)
{
	return !list_empty(&q->chained) &&
	       !list_last_entry(&q->chained, struct cmx_cmd, link)->launch;
}

struct cmx_cmd *cmx_queue_chain(struct cmx_queue *q)
{
	const struct cmx_entry_header *header;
	struct cmx_cmd *cmd;
	u64 first[CMX_SLOT_SIZE / sizeof(u64)];
	const struct cmx_entry_launch *launch;

	if (q->state != UB_QUEUE_READY || cmx_queue_chain_ended(q) || !cmx_queue_avail(q))
		return NULL;
	cmx_queue_copy_slot(q, q->head, first);
	header = (const void *)first;
	launch = (const void *)first;
	if (header->opcode != CMX_OP_LAUNCH || launch->launch_flags & CMX_LAUNCH_TIME_ONLY)
		return NULL;
	if (cmx_queue_next(q, true, &cmd) <= 0)
		return NULL;
	list_add_tail(&cmd->link, &q->chained);
	cmd->phase = CMX_PHASE_CHAINED;
	/* The slots may have changed since the look: what counts is the copy. */
	launch = (const void *)cmd->entry;
	if (cmx_entry_check(cmd, q->args.queue_class) ||
	    cmx_cmd_header(cmd)->opcode != CMX_OP_LAUNCH ||
	    launch->launch_flags & CMX_LAUNCH_TIME_ONLY || cmx_launch_alloc(cmd))
		return NULL;
	return cmd;
}

static void cmx_queue_idle(struct cmx_queue *q)
{
	if (!q->busy || q->num_inflight || !list_empty(&q->starved) || !list_empty(&q->pending))
		return;
	q->busy = false;
	q->member->busy--;
	cmx_member_idle(q->member);
}

static void cmx_queue_post(struct cmx_queue *q, u64 user_ctx, u8 opcode, u32 status, u8 flags)
{
	struct cmx_cqe cqe = {
		.user_ctx = user_ctx,
		.time_ps = q->member->timeline->now,
		.local_id = q->obj.handle,
		.status = status,
		.opcode = opcode,
		.flags = flags,
	};

	cmx_cq_post(q->cq, &cqe, false);
}

/* Entries a flush completes before others get their turn. */
#define CMX_FLUSH_TURN	256

/*
 * Complete entries up to where the ring was written when the flush began: a client that
 * goes on writing must not keep us here.
 * Return: 1 done; 0 out of room; -EAGAIN there are more.
 */
static int cmx_queue_flush_ring(struct cmx_queue *q)
{
	u64 entry[CMX_ENTRY_MAX_SLOTS * CMX_SLOT_SIZE / sizeof(u64)];
	const struct cmx_entry_header *header = (const void *)entry;
	u32 slots, avail;

	if (!q->flushing) {
		avail = cmx_queue_avail(q);
		q->flush_end = q->head + avail;
		q->flushing = true;
	}
	for (u32 i = 0; (s32)(q->flush_end - q->head) > 0; i++) {
		if (i == CMX_FLUSH_TURN)
			return -EAGAIN;
		slots = cmx_queue_peek(q, entry);
		if (!slots)
			break;
		if (!cmx_queue_reserve(q))
			return 0;
		cmx_queue_take(q, slots);
		cmx_queue_post(q, header->user_ctx, header->opcode, UB_CR_WR_FLUSH_ERR, 0);
	}
	q->flushing = false;
	return 1;
}

static bool cmx_queue_flush_chained(struct cmx_queue *q)
{
	const struct cmx_entry_header *header;
	struct cmx_cmd *cmd, *next;

	list_for_each_entry_safe(cmd, next, &q->chained, link) {
		if (!cmx_queue_reserve(q))
			return false;
		header = cmx_cmd_header(cmd);
		cmx_queue_post(q, header->user_ctx, header->opcode, UB_CR_WR_FLUSH_ERR, 0);
		cmx_cmd_free(cmd);
	}
	return true;
}

/* After an error: entries complete unseen, then comes the marker, as the ring has room. */
static int cmx_queue_flush(struct cmx_queue *q)
{
	int ret;

	/* Completions stay in posting order: what is in flight comes first. */
	if (q->num_inflight || !cmx_queue_flush_chained(q))
		return 0;
	ret = cmx_queue_flush_ring(q);
	if (ret == 1 && q->marker && cmx_queue_reserve(q)) {
		q->marker = false;
		cmx_queue_post(q, 0, 0, UB_CR_WR_FLUSH_ERR_DONE, CMX_CQE_MARKER);
	}
	/* What was written since the flush began has its turn, too. */
	if (ret == -EAGAIN || (ret == 1 && list_empty(&q->starved) && cmx_queue_avail(q)))
		cmx_queue_pend(q);
	return CMX_FLUSH_TURN;
}

/* Return: how much work it was, or -ENOMEM. */
static int cmx_queue_fetch(struct cmx_queue *q)
{
	struct cmx_cmd *cmd;
	int ret;

	/* It waits for room again below, if there still is none. */
	list_del_init(&q->starved);
	if (q->state != UB_QUEUE_READY)
		return cmx_queue_flush(q);
	if (q->blocked || q->num_inflight >= CMX_MAX_INFLIGHT)
		return 0;
	cmd = list_first_entry_or_null(&q->chained, struct cmx_cmd, link);
	if (!cmd) {
		ret = cmx_queue_next(q, false, &cmd);
		if (ret <= 0)
			return ret;
	} else if (!cmx_queue_reserve(q)) {
		return 0;
	}
	cmx_queue_issue(q, cmd);
	return 0;
}

/* Work of one pump, before signals are looked at again. */
#define CMX_PUMP_WORK	4096

int cmx_timeline_pump(struct cmx_timeline *tl)
{
	struct cmx_queue *q;
	u32 work = 0;
	int ret;

	while ((q = list_first_entry_or_null(&tl->pending, struct cmx_queue, pending))) {
		if (work >= CMX_PUMP_WORK)
			return 1;
		list_del_init(&q->pending);
		ret = cmx_queue_fetch(q);
		if (ret < 0) {
			list_add(&q->pending, &tl->pending);
			return ret;
		}
		work += ret + 1;
		cmx_queue_idle(q);
	}
	return 0;
}

static bool cmx_cmd_may_complete(const struct cmx_cmd *cmd)
{
	return list_is_first(&cmd->link, &cmd->queue->inflight) ||
	       list_prev_entry(cmd, link)->phase == CMX_PHASE_COMPLETE;
}

/* Completions of a queue are in posting order: one may have others behind it that wait. */
void cmx_cmd_complete_at(struct cmx_cmd *cmd, u64 time)
{
	struct cmx_queue *q = cmd->queue;

	cmd->node.time = time;
	if (cmd->launch && cmx_launch_is_sending(cmd)) {
		cmd->phase = CMX_PHASE_SENDING;
		return;
	}
	cmd->phase = CMX_PHASE_LANDED;
	while (cmd->phase == CMX_PHASE_LANDED && cmx_cmd_may_complete(cmd)) {
		q->last_done = max(q->last_done, cmd->node.time);
		cmd->phase = CMX_PHASE_COMPLETE;
		cmd->node.time = q->last_done;
		cmx_heap_push(&q->member->timeline->heap, &cmd->node);
		if (list_is_last(&cmd->link, &q->inflight))
			break;
		cmd = list_next_entry(cmd, link);
	}
}

static void cmx_cmd_post(struct cmx_cmd *cmd)
{
	const struct cmx_entry_header *header = cmx_cmd_header(cmd);
	struct cmx_queue *q = cmd->queue;
	struct cmx_cqe cqe = {
		.user_ctx = header->user_ctx,
		.imm = cmd->imm,
		.time_ps = q->member->timeline->now,
		.len = cmd->len,
		.local_id = q->obj.handle,
		.status = cmd->status,
		.opcode = header->opcode,
		.flags = cmd->extrapolated ? CMX_CQE_EXTRAPOLATED : 0,
	};

	if (cmd->status == UB_CR_SUCCESS && !(header->flags & CMX_ENTRY_COMPLETE))
		cmx_cq_unreserve(q->cq);
	else
		cmx_cq_post(q->cq, &cqe, false);
}

static void cmx_cmd_count(struct cmx_cmd *cmd)
{
	struct cmx_queue *q = cmd->queue;
	struct cmx_timeline *tl = q->member->timeline;
	struct cmx_file *file = q->obj.file;

	q->commands++;
	q->bytes += cmd->len;
	tl->commands++;
	tl->bytes += cmd->len;
	atomic64_inc(&file->commands);
	atomic64_add(cmd->len, &file->bytes);
	if (!cmd->launch) {
		atomic64_add(tl->now - cmd->start, &file->copy_ps);
		return;
	}
	cmx_launch_count(cmd);
	tl->launches++;
	atomic64_inc(&file->launches);
	atomic64_add(tl->now - cmd->start, &file->busy_ps);
}

/* What waits for all earlier entries is issued when the last of them is over. */
static void cmx_queue_release_held(struct cmx_cmd *cmd)
{
	struct cmx_queue *q = cmd->queue;
	struct cmx_timeline *tl = q->member->timeline;
	struct cmx_cmd *next;

	if (list_is_last(&cmd->link, &q->inflight))
		return;
	next = list_next_entry(cmd, link);
	if (next->phase != CMX_PHASE_HELD)
		return;
	next->phase = CMX_PHASE_START;
	next->node.time = tl->now;
	cmx_heap_push(&tl->heap, &next->node);
}

void cmx_cmd_finish(struct cmx_cmd *cmd)
{
	struct cmx_queue *q = cmd->queue;
	bool newest = list_is_last(&cmd->link, &q->inflight);

	trace_cmx_complete(q, cmd);
	cmx_cmd_count(cmd);
	cmx_cmd_post(cmd);
	if (cmd->status != UB_CR_SUCCESS)
		cmx_queue_fail(q, cmd->status);
	cmx_queue_release_held(cmd);
	q->num_inflight--;
	q->ready = max(q->ready, q->member->timeline->now);
	/* Only the newest command holds the next entry back. */
	if (newest)
		q->blocked = false;
	cmx_queue_pend(q);
	cmx_member_progress(q->member);
	cmx_cmd_free(cmd);
}
