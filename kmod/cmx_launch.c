// SPDX-License-Identifier: GPL-2.0-only
/*
 * A launch's duration is known only when its outcome is in.  Until then it stands in
 * the heap at its lower bound, so nothing later than that can happen before it.
 */
#include <linux/align.h>
#include <linux/err.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "cmx_entity.h"
#include "cmx_entry.h"
#include "cmx_file.h"
#include "cmx_launch.h"
#include "cmx_move.h"
#include "cmx_queue.h"
#include "cmx_timeline.h"

static const struct cmx_entry_launch *cmx_launch_entry(const struct cmx_launch *launch)
{
	return (const void *)launch->cmd->entry;
}

int cmx_launch_alloc(struct cmx_cmd *cmd)
{
	const struct cmx_entry_launch *entry = (const void *)cmd->entry;
	struct cmx_timeline *tl = cmd->queue->member->timeline;
	struct cmx_launch *launch;

	if (cmd->launch)
		return 0;
	launch = kzalloc(sizeof(*launch), GFP_KERNEL_ACCOUNT);
	if (!launch)
		return -ENOMEM;
	if (cmx_heap_reserve(&tl->heap)) {
		kfree(launch);
		return -ENOMEM;
	}
	cmx_heap_node_init(&launch->node, CMX_NODE_SENDER);
	launch->node.entity = cmd->node.entity;
	launch->node.ordinal = cmd->node.ordinal;
	launch->node.index = cmd->node.index;
	INIT_LIST_HEAD(&launch->ready);
	launch->cost = entry->cost;
	launch->refs = 1;
	launch->member = cmd->queue->member;
	launch->queue = cmd->queue->obj.handle;
	launch->cmd = cmd;
	cmd->launch = launch;
	return 0;
}

void cmx_launch_put(struct cmx_launch *launch)
{
	if (--launch->refs)
		return;
	kvfree(launch->records);
	kfree(launch);
}

void cmx_launch_end(struct cmx_launch *launch)
{
	struct cmx_member *member = launch->member;

	cmx_heap_remove(&member->timeline->heap, &launch->node);
	cmx_heap_unreserve(&member->timeline->heap);
	if (!list_empty(&launch->ready)) {
		list_del(&launch->ready);
		member->num_launches--;
	}
	if (launch->batch)
		cmx_batch_forget(launch);
	launch->cmd = NULL;
	cmx_launch_put(launch);
}

/* Time-only: the records lie in device memory. */
static int cmx_launch_load_records(struct cmx_launch *launch)
{
	const struct cmx_entry_launch *entry = cmx_launch_entry(launch);
	struct cmx_file *file = launch->cmd->queue->obj.file;

	launch->settled = true;
	if (!entry->record_count)
		return 0;
	launch->num_records = entry->record_count;
	if (!launch->records)
		launch->records = kvmalloc_array(launch->num_records, sizeof(*launch->records),
						 GFP_KERNEL_ACCOUNT);
	if (!launch->records)
		return -ENOMEM;
	return cmx_vm_read(&file->vm, entry->record_va, launch->records,
			   array_size(launch->num_records, sizeof(*launch->records)));
}

/* How long it cannot do anything others see; no launch is shorter than its overhead. */
static u64 cmx_launch_bound(const struct cmx_launch *launch)
{
	const struct cmx_entry_launch *entry = cmx_launch_entry(launch);
	u64 overhead = launch->cmd->queue->member->timeline->servers.machine->profile->launch_ps;

	return min(max(entry->min_ps, overhead), entry->first_ps);
}

int cmx_launch_start(struct cmx_cmd *cmd)
{
	const struct cmx_entry_launch *entry = (const void *)cmd->entry;
	struct cmx_member *member = cmd->queue->member;
	struct cmx_timeline *tl = member->timeline;
	struct cmx_launch *launch;
	int ret = cmx_launch_alloc(cmd);

	if (ret)
		return ret;
	launch = cmd->launch;
	if (entry->launch_flags & CMX_LAUNCH_TIME_ONLY) {
		ret = cmx_launch_load_records(launch);
		if (ret == -ENOMEM)
			return ret;
		if (ret)
			launch->status = UB_CR_LOC_ACCESS_ERR;
	}
	cmd->phase = CMX_PHASE_LAUNCH;
	if (check_add_overflow(tl->now, cmx_launch_bound(launch), &cmd->node.time)) {
		launch->status = CMX_CR_TIME_OVERFLOW;
		launch->settled = true;
		cmd->node.time = tl->now;
	}
	if (launch->settled || !cmx_timeline_free_running(tl))
		cmx_heap_push(&tl->heap, &cmd->node);
	/* Unless it was taken ahead with an earlier one's batch, a thread has to take it. */
	if (!launch->settled && !launch->batch) {
		list_add_tail(&launch->ready, &member->launches);
		member->num_launches++;
	}
	return 0;
}

/* On a free-running timeline nobody waits at the bound: it comes when it comes. */
void cmx_launch_outcome(struct cmx_launch *launch)
{
	struct cmx_cmd *cmd = launch->cmd;
	struct cmx_timeline *tl = cmd->queue->member->timeline;

	launch->settled = true;
	if (cmd->phase == CMX_PHASE_LAUNCH && cmd->node.pos == CMX_HEAP_NONE) {
		cmd->node.time = max(cmd->node.time, tl->now);
		cmx_heap_push(&tl->heap, &cmd->node);
	}
}

void cmx_launches_cancel(struct cmx_member *member)
{
	struct cmx_launch *launch, *next;

	list_for_each_entry_safe(launch, next, &member->launches, ready) {
		list_del_init(&launch->ready);
		member->num_launches--;
		launch->status = CMX_CR_CANCELED;
		cmx_launch_outcome(launch);
	}
}

static bool cmx_record_op_ok(const struct cmx_record *record)
{
	switch (record->opcode) {
	case UB_OP_WRITE:
		return record->len && record->len <= CMX_MAX_LEN && !record->value;
	case UB_OP_SWAP:
	case UB_OP_FADD:
	case UB_OP_FAND:
	case UB_OP_FOR:
	case UB_OP_FXOR:
		return (record->len == 4 || record->len == 8) &&
		       IS_ALIGNED(record->va, record->len) && !record->src_va && !record->flags;
	case CMX_OP_SIGNAL:
		return record->len == 8 && IS_ALIGNED(record->va, 8) && !record->src_va &&
		       !record->flags;
	default:
		return false;
	}
}

/* Form and order; the home side's checks come at the access. */
static bool cmx_record_ok(const struct cmx_launch *launch, u32 i, u64 duration)
{
	const struct cmx_record *record = &launch->records[i];

	if (record->pad || record->pad2 || record->reserved || record->tseg ||
	    record->flags & ~CMX_RECORD_FLAGS || !record->messages || !cmx_record_op_ok(record))
		return false;
	if (record->at_ps > duration)
		return false;
	return !i || record->at_ps >= launch->records[i - 1].at_ps;
}

/*
 * All of a range, at the cost of at most @spans translations, which it counts down.
 * @first: out: its beginning
 */
static int cmx_record_range(struct cmx_vm *vm, u64 va, u64 len, u32 access, u32 *spans,
			    struct cmx_span *first)
{
	struct cmx_span more, *span = first;
	int ret;

	if (va + len < va)
		return -EINVAL;
	do {
		if (!*spans)
			return -EMSGSIZE;
		--*spans;
		ret = cmx_vm_translate(vm, va, len, access, span);
		if (ret)
			return ret;
		va += span->len;
		len -= span->len;
		span = &more;
	} while (len);
	return 0;
}

static int cmx_record_mapped(struct cmx_vm *vm, struct cmx_record *record, u32 *spans)
{
	struct cmx_span to, from;
	bool nothing;
	int ret;

	if (record->opcode != UB_OP_WRITE) {
		ret = cmx_vm_check(vm, record->va, record->len, CMX_MAP_WRITE, &to);
		if (ret)
			return ret;
		cmx_record_aim(record, &to, false);
		return to.no_data ? -EOPNOTSUPP : 0;
	}
	ret = cmx_record_range(vm, record->va, record->len, CMX_MAP_WRITE, spans, &to);
	if (ret)
		return ret;
	cmx_record_aim(record, &to, false);
	if (record->flags & CMX_RECORD_DONE)
		return 0;
	ret = cmx_record_range(vm, record->src_va, record->len, CMX_MAP_READ, spans, &from);
	if (ret)
		return ret;
	nothing = to.len == record->len && from.bo != to.bo && to.no_data;
	cmx_record_aim(record, &to, nothing);
	return 0;
}

static u32 cmx_launch_check_records(struct cmx_launch *launch, u64 duration)
{
	struct cmx_vm *vm = &launch->cmd->queue->obj.file->vm;
	u32 spans = CMX_MAX_SPANS;

	/* They are sorted: the first one tells whether the promise was kept. */
	if (launch->num_records && launch->records[0].at_ps < cmx_launch_entry(launch)->first_ps)
		return CMX_CR_KERNEL_ERR;
	guard(rwsem_read)(&vm->lock);
	launch->generation = vm->generation;
	for (u32 i = 0; i < launch->num_records; i++) {
		if (cmx_record_ok(launch, i, duration) &&
		    !cmx_record_mapped(vm, &launch->records[i], &spans))
			continue;
		launch->cmd->imm = i;
		return CMX_CR_RECORD_ERR;
	}
	return UB_CR_SUCCESS;
}

static void cmx_launch_schedule(struct cmx_launch *launch)
{
	struct cmx_timeline *tl = launch->cmd->queue->member->timeline;

	if (launch->next_record >= launch->num_records)
		return;
	launch->node.sub = launch->next_record;
	launch->node.time = max(launch->cmd->start + launch->records[launch->next_record].at_ps,
				launch->send_at);
	cmx_heap_push(&tl->heap, &launch->node);
}

/* What the outcome makes of the launch: its times, or a status. */
static u32 cmx_launch_price(struct cmx_launch *launch, struct cmx_launch_time *time)
{
	const struct cmx_entry_launch *entry = cmx_launch_entry(launch);
	struct cmx_cmd *cmd = launch->cmd;
	struct cmx_queue *q = cmd->queue;
	u64 end;

	cmd->imm = launch->code;
	if (launch->status)
		return launch->status;
	if (cmx_time_launch(q->member->timeline->servers.machine->profile, q->args.cube_cores,
			    q->args.vector_cores, &launch->cost, time) ||
	    check_add_overflow(cmd->start, time->total, &end))
		return CMX_CR_TIME_OVERFLOW;
	if (time->total < entry->min_ps)
		return CMX_CR_KERNEL_ERR;
	return cmx_launch_check_records(launch, time->total);
}

/* It computes and moves at the same time; others may use the memory as well. */
static void cmx_launch_charge(struct cmx_launch *launch, const struct cmx_launch_time *time)
{
	struct cmx_cmd *cmd = launch->cmd;
	u64 begin = cmd->start + time->overhead;

	cmd->done = begin + time->compute;
	if (!launch->cost.mem_bytes) {
		cmx_cmd_complete_at(cmd, cmd->done);
		return;
	}
	cmx_cmd_charge_memory(cmd, launch->cost.mem_bytes, time->mem_rate, begin);
}

int cmx_launch_settle(struct cmx_cmd *cmd, size_t *budget)
{
	struct cmx_launch *launch = cmd->launch;
	struct cmx_timeline *tl = cmd->queue->member->timeline;
	struct cmx_launch_time time;

	if (!launch->settled)
		return 1;
	cmx_heap_remove(&tl->heap, &cmd->node);
	if (cmx_cmd_is_down(cmd)) {
		cmx_cmd_entity_down(cmd);
		return 0;
	}
	cmd->status = cmx_launch_price(launch, &time);
	/* Each record was looked up; one that spans many mappings is not told apart. */
	*budget -= min_t(size_t, *budget, (size_t)launch->num_records * CMX_SLOT_SIZE);
	if (cmd->status) {
		/* A refused launch ends at its bound: the records' times mean nothing. */
		cmx_cmd_complete_at(cmd, cmd->node.time);
		return 0;
	}
	cmx_launch_schedule(launch);
	cmx_launch_charge(launch, &time);
	return 0;
}

void cmx_launch_count(struct cmx_cmd *cmd)
{
	struct cmx_queue *q = cmd->queue;
	struct cmx_timeline *tl = q->member->timeline;
	const struct cmx_profile *p = tl->servers.machine->profile;
	struct cmx_unit *unit = cmx_servers_unit(&tl->servers, q->args.entity);
	u64 time = tl->now - cmd->start;

	unit->launches++;
	unit->cube_busy += cmx_time_part(time, q->args.cube_cores, p->cube_cores);
	unit->vector_busy += cmx_time_part(time, q->args.vector_cores, p->vector_cores);
}

/*
 * Records of a launch leave one after another: the next enters when the engine is free, and
 * behind all slices of the one before, so that no flag overtakes bytes.  It is mostly the next
 * event, too, and stays first in the heap.
 */
int cmx_launch_send(struct cmx_launch *launch)
{
	struct cmx_timeline *tl = launch->cmd->queue->member->timeline;
	struct cmx_parcel *parcel = cmx_parcel_alloc(launch);
	bool sent;
	u64 next;

	if (!parcel)
		return -ENOMEM;
	cmx_heap_remove(&tl->heap, &launch->node);
	sent = cmx_parcel_charge(parcel, &next);
	launch->next_record++;
	if (sent)
		cmx_parcel_depart(parcel);
	if (next == CMX_NOT_YET)
		launch->entering = parcel;
	else
		cmx_launch_go_on(launch, next);
	return 0;
}

void cmx_launch_go_on(struct cmx_launch *launch, u64 at)
{
	struct cmx_cmd *cmd = launch->cmd;

	launch->entering = NULL;
	launch->send_at = at;
	cmx_launch_schedule(launch);
	if (cmd->phase == CMX_PHASE_SENDING)
		cmx_cmd_complete_at(cmd, cmd->node.time);
}

/* Its cores store what it records: they are busy until the last store was taken. */
bool cmx_launch_is_sending(struct cmx_cmd *cmd)
{
	const struct cmx_launch *launch = cmd->launch;

	if (cmd->status)
		return false;
	cmd->node.time = max(cmd->node.time, launch->send_at);
	return launch->entering || launch->next_record < launch->num_records;
}
