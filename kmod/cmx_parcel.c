// SPDX-License-Identifier: GPL-2.0-only
/* Records of launches on their way: charged when they leave, applied when they arrive. */
#include <linux/err.h>
#include <linux/slab.h>

#include "cmx_entity.h"
#include "cmx_exec.h"
#include "cmx_file.h"
#include "cmx_launch.h"
#include "cmx_move.h"
#include "cmx_netlink.h"
#include "cmx_queue.h"
#include "cmx_time.h"
#include "cmx_timeline.h"
#include "cmx_trace.h"

#define CMX_KEPT_PARCELS	1024	/* more are given back */

/* Whether no mapping came or went since it was looked up. */
static bool cmx_parcel_is_known(const struct cmx_parcel *parcel)
{
	const struct cmx_launch *launch = parcel->launch;

	return READ_ONCE(launch->member->obj.file->vm.generation) == launch->generation;
}

/* Where the record goes: all of it was checked, and is again when it arrives. */
static int cmx_parcel_target(const struct cmx_parcel *parcel, u32 *entity)
{
	const struct cmx_record *record = parcel->record;
	struct cmx_file *file = parcel->launch->member->obj.file;
	struct cmx_span span;

	if (cmx_parcel_is_known(parcel)) {
		*entity = record->tseg;
		return 0;
	}
	guard(rwsem_read)(&file->vm.lock);
	if (cmx_vm_translate(&file->vm, record->va, record->len, CMX_MAP_WRITE, &span))
		return -EREMOTEIO;
	*entity = span.entity;
	return 0;
}

/* Some and their room in the heap are kept for the timeline's next records. */
static struct cmx_parcel *cmx_parcel_get(struct cmx_timeline *tl)
{
	struct cmx_parcel *parcel = list_first_entry_or_null(&tl->parcels, struct cmx_parcel, link);

	if (parcel) {
		list_del(&parcel->link);
		tl->num_parcels--;
		return parcel;
	}
	if (cmx_heap_reserve(&tl->heap))
		return NULL;
	parcel = kzalloc(sizeof(*parcel), GFP_KERNEL_ACCOUNT);
	if (!parcel) {
		cmx_heap_unreserve(&tl->heap);
		return NULL;
	}
	cmx_heap_node_init(&parcel->node, CMX_NODE_PARCEL);
	return parcel;
}

static void cmx_parcel_destroy(struct cmx_parcel *parcel, struct cmx_timeline *tl)
{
	cmx_heap_unreserve(&tl->heap);
	kfree(parcel);
}

void cmx_parcels_free(struct cmx_timeline *tl)
{
	struct cmx_parcel *parcel, *next;

	list_for_each_entry_safe(parcel, next, &tl->parcels, link)
		cmx_parcel_destroy(parcel, tl);
}

struct cmx_parcel *cmx_parcel_alloc(struct cmx_launch *launch)
{
	struct cmx_parcel *parcel = cmx_parcel_get(launch->member->timeline);

	if (!parcel)
		return NULL;
	parcel->progress = 0;
	parcel->behind = NULL;
	parcel->node.entity = launch->node.entity;
	parcel->node.ordinal = launch->node.ordinal;
	parcel->node.index = launch->node.index;
	parcel->node.sub = launch->next_record;
	parcel->launch = launch;
	launch->refs++;
	parcel->record = &launch->records[launch->next_record];
	list_add_tail(&parcel->link, &launch->member->parcels);
	return parcel;
}

static void cmx_parcel_drop_flow(struct cmx_parcel *parcel)
{
	if (!parcel->flow)
		return;
	cmx_flow_drop(parcel->flow);
	kfree(parcel->flow);
	parcel->flow = NULL;
}

/* It has arrived, and is no longer in the heap: the one behind it comes next. */
static void cmx_parcel_leave_train(struct cmx_parcel *parcel)
{
	struct cmx_launch *launch = parcel->launch;

	for (u32 i = 0; i < ARRAY_SIZE(launch->trains); i++)
		if (launch->trains[i].last == parcel)
			launch->trains[i].last = NULL;
	if (parcel->behind)
		cmx_heap_push(&launch->member->timeline->heap, &parcel->behind->node);
}

/* Members of a train go in its order: those before this one are gone. */
static void cmx_parcel_free(struct cmx_parcel *parcel)
{
	struct cmx_launch *launch = parcel->launch;
	struct cmx_timeline *tl = launch->member->timeline;

	cmx_heap_remove(&tl->heap, &parcel->node);
	cmx_parcel_leave_train(parcel);
	cmx_parcel_drop_flow(parcel);
	if (tl->partial == &parcel->node)
		tl->partial = NULL;
	list_del(&parcel->link);
	cmx_member_idle(launch->member);
	cmx_launch_put(launch);
	if (tl->num_parcels == CMX_KEPT_PARCELS) {
		cmx_parcel_destroy(parcel, tl);
		return;
	}
	list_add(&parcel->link, &tl->parcels);
	tl->num_parcels++;
}

static void cmx_parcel_lost(struct cmx_parcel *parcel, u32 status)
{
	struct cmx_member *member = parcel->launch->member;

	cmx_event_post(member->obj.file, CMX_EVENT_QUEUE_ERROR, parcel->launch->queue, status,
		       member->timeline->now, parcel->record->va);
}

static void cmx_parcel_unreachable(struct cmx_parcel *parcel, const struct cmx_flow *flow)
{
	struct cmx_servers *servers = &parcel->launch->member->timeline->servers;
	u32 status, own = parcel->node.entity;
	struct cmx_unit *unit = cmx_servers_unit(servers, own);

	status = cmx_routes_entity_up(servers->routes, own) ? UB_CR_ACK_TIMEOUT :
							      CMX_CR_ENTITY_DOWN;
	unit->errors++;
	unit->lost_bytes += flow->bytes - flow->sent;
	cmx_parcel_lost(parcel, status);
	cmx_netlink_notify_error(servers->machine, own, flow->to, status,
				 parcel->launch->member->timeline->now);
}

static void cmx_parcel_failed(struct cmx_parcel *parcel, const struct cmx_flow *flow, int error)
{
	switch (error) {
	case -EHOSTUNREACH:
		cmx_parcel_unreachable(parcel, flow);
		break;
	case -EOVERFLOW:
		cmx_parcel_lost(parcel, CMX_CR_TIME_OVERFLOW);
		break;
	case -EINVAL:
		cmx_parcel_lost(parcel, UB_CR_LOC_OPERATION_ERR);
		break;
	default:
		cmx_parcel_lost(parcel, UB_CR_REM_ACCESS_ABORT);
	}
	cmx_parcel_free(parcel);
}

/*
 * Charge what the way up to now takes; it is due again later, on its way or arrived.
 * @next: out: when the next record can leave, or CMX_NOT_YET
 * Return: false: it is gone.
 */
static bool cmx_parcel_step(struct cmx_parcel *parcel, struct cmx_flow *flow, u64 *next)
{
	const struct cmx_launch *launch = parcel->launch;
	struct cmx_timeline *tl = launch->member->timeline;
	int ret = cmx_flow_step(&tl->servers, flow, tl->now);

	*next = tl->now;
	if (ret > 0 && !cmx_flow_has_entered(flow))
		*next = CMX_NOT_YET;
	else if (ret >= 0 && flow->way == CMX_WAY_UB)
		/* What does not pass the engine leaves it free for the next one. */
		*next = flow->first_end;
	if (ret < 0) {
		cmx_parcel_failed(parcel, flow, ret);
		return false;
	}
	parcel->node.time = ret ? flow->at : flow->end;
	if (!ret) {
		trace_cmx_transfer(launch->member, launch->queue, parcel->node.entity,
				   parcel->node.index, flow);
		cmx_parcel_drop_flow(parcel);
	} else if (!parcel->flow) {
		/* Some of it was charged: it may not fail now. */
		parcel->flow = kmemdup(flow, sizeof(*flow), GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
		flow->left = 0;
	}
	return true;
}

bool cmx_parcel_charge(struct cmx_parcel *parcel, u64 *next)
{
	const struct cmx_queue *q = parcel->launch->cmd->queue;
	struct cmx_timeline *tl = q->member->timeline;
	struct cmx_transfer x = {
		.initiator = parcel->node.entity,
		.from = parcel->node.entity,
		.messages = parcel->record->messages,
		.bytes = parcel->record->len,
	};

	*next = tl->now;
	if (cmx_parcel_target(parcel, &x.to)) {
		cmx_parcel_failed(parcel, &tl->flow, -EREMOTEIO);
		return false;
	}
	cmx_flow_begin(&tl->flow, &tl->servers, &x, q->args.planes, tl->now);
	tl->flow.first_end = tl->now;
	return cmx_parcel_step(parcel, &tl->flow, next);
}

/*
 * One that waits for a server, or overtakes those before it, goes by itself.  Of one launch
 * only the times are compared: records are numbered as they leave.
 */
void cmx_parcel_depart(struct cmx_parcel *parcel)
{
	struct cmx_timeline *tl = parcel->launch->member->timeline;
	struct cmx_train *train = &parcel->launch->trains[tl->flow.far];
	struct cmx_parcel *last = train->last;
	bool alone = parcel->flow || (last && parcel->node.time < last->node.time);

	if (alone || !last)
		cmx_heap_push(&tl->heap, &parcel->node);
	if (alone)
		return;
	if (last)
		last->behind = parcel;
	train->last = parcel;
}

static int cmx_parcel_write(struct cmx_parcel *parcel, size_t *budget)
{
	const struct cmx_record *record = parcel->record;
	struct cmx_member *member = parcel->launch->member;
	u64 moved;
	int ret;

	while (parcel->progress < record->len) {
		struct cmx_bytes bytes = {
			.dst = record->va + parcel->progress,
			.src = record->src_va + parcel->progress,
			.len = record->len - parcel->progress,
		};

		if (!*budget)
			return -EAGAIN;
		ret = cmx_bytes_move(&member->obj.file->vm, &bytes, member->timeline, &moved,
				     budget);
		if (ret)
			return ret;
		parcel->progress += moved;
		*budget -= min_t(size_t, *budget, CMX_SLOT_SIZE);
	}
	return 0;
}

/* The bytes are there already: this is when those who wait for them see them. */
static int cmx_parcel_notify(struct cmx_parcel *parcel, size_t *budget)
{
	u64 va = parcel->record->va, len = parcel->record->len;
	struct cmx_member *member = parcel->launch->member;
	struct cmx_vm *vm = &member->obj.file->vm;
	struct cmx_span span;

	guard(rwsem_read)(&vm->lock);
	for (; len; va += span.len, len -= span.len) {
		if (cmx_vm_translate(vm, va, len, CMX_MAP_WRITE, &span))
			return -EREMOTEIO;
		cmx_watch_notify(span.bo, span.offset, span.len, member->timeline,
				 member->timeline->now);
		*budget -= min_t(size_t, *budget, CMX_SLOT_SIZE);
	}
	return 0;
}

static int cmx_parcel_effect(struct cmx_parcel *parcel, size_t *budget)
{
	const struct cmx_record *record = parcel->record;
	struct cmx_member *member = parcel->launch->member;
	u32 op = record->opcode == CMX_OP_SIGNAL ? UB_OP_SWAP : record->opcode;
	u64 old;

	if (record->flags & CMX_RECORD_DONE)
		return cmx_parcel_notify(parcel, budget);
	if (op == UB_OP_WRITE && record->pad2 && cmx_parcel_is_known(parcel))
		return 0;
	if (op == UB_OP_WRITE)
		return cmx_parcel_write(parcel, budget);
	return cmx_word_update(member->obj.file, member->timeline, op, record->va, record->len,
			       record->value, 0, &old);
}

/* A launch that is over waits for nothing; one that is not is there, whatever comes of this. */
static void cmx_parcel_go_on(struct cmx_parcel *parcel)
{
	struct cmx_launch *launch = parcel->launch;
	bool awaited = launch->cmd && launch->entering == parcel;
	struct cmx_heap *heap = &launch->member->timeline->heap;
	u64 next;

	cmx_heap_remove(heap, &parcel->node);
	if (cmx_parcel_step(parcel, parcel->flow, &next))
		cmx_heap_push(heap, &parcel->node);
	if (awaited && next != CMX_NOT_YET)
		cmx_launch_go_on(launch, next);
}

int cmx_parcel_apply(struct cmx_parcel *parcel, size_t *budget)
{
	struct cmx_member *member = parcel->launch->member;
	int ret;

	if (parcel->flow) {
		cmx_parcel_go_on(parcel);
		return 0;
	}
	ret = cmx_parcel_effect(parcel, budget);
	if (ret == -EAGAIN || ret == -ENOMEM)
		return ret;
	if (ret) {
		cmx_parcel_lost(parcel, UB_CR_REM_ACCESS_ABORT);
	} else {
		member->timeline->bytes += parcel->record->len;
		atomic64_add(parcel->record->len, &member->obj.file->bytes);
	}
	cmx_parcel_free(parcel);
	return 0;
}

/* In the order in which they left. */
void cmx_parcels_drop(struct cmx_member *member)
{
	struct cmx_parcel *parcel, *next;

	list_for_each_entry_safe(parcel, next, &member->parcels, link)
		cmx_parcel_free(parcel);
}
