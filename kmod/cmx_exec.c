// SPDX-License-Identifier: GPL-2.0-only
/*
 * A command has two moments on the virtual clock.  At issue its form and addresses
 * are checked and its resources charged, which gives the time of its completion.  At
 * completion it takes effect, so that everybody sees effects in virtual order.
 */
#include <linux/err.h>
#include <linux/overflow.h>

#include "cmx_entity.h"
#include "cmx_entry.h"
#include "cmx_exec.h"
#include "cmx_file.h"
#include "cmx_launch.h"
#include "cmx_queue.h"
#include "cmx_rq.h"
#include "cmx_timeline.h"
#include "cmx_trace.h"

static bool cmx_op_is_ub(u32 opcode)
{
	return opcode < CMX_OP_COPY;
}

/* Completion status for an error of a check or a move. */
static u32 cmx_status_of(const struct cmx_cmd *cmd, int error)
{
	u32 opcode = cmx_cmd_header(cmd)->opcode;
	bool remote = error == -EREMOTEIO;

	if (error == -EOVERFLOW)
		return CMX_CR_TIME_OVERFLOW;
	if (error == -EINVAL)
		return UB_CR_LOC_OPERATION_ERR;
	if (error == -EMSGSIZE)
		return UB_CR_LOC_LEN_ERR;
	if (!cmx_op_is_ub(opcode))
		return UB_CR_LOC_ACCESS_ERR;
	if (error == -EOPNOTSUPP)
		return UB_CR_REM_UNSUPPORTED_REQ;
	/* Reads have their remote side at the source. */
	if (opcode == UB_OP_READ)
		remote = !remote;
	return remote ? UB_CR_REM_ACCESS_ABORT : UB_CR_LOC_ACCESS_ERR;
}

static u64 cmx_cmd_now(const struct cmx_cmd *cmd)
{
	return cmd->queue->member->timeline->now;
}

static int cmx_cmd_refuse(struct cmx_cmd *cmd, u32 status)
{
	cmd->status = status;
	cmx_cmd_complete_at(cmd, cmx_cmd_now(cmd));
	return 0;
}

/*
 * A word somewhere: @va's entity is where it is done; @round: the old value comes back.
 * Becomes the next leg of the command.
 */
static int cmx_word_leg(struct cmx_cmd *cmd, u64 va, u32 len, bool round, struct cmx_transfer *x)
{
	struct cmx_file *file = cmd->queue->obj.file;
	struct cmx_span span;

	*x = (struct cmx_transfer){
		.initiator = cmd->queue->args.entity,
		.from = cmd->queue->args.entity,
		.messages = 1,
		.bytes = len,
	};
	guard(rwsem_read)(&file->vm.lock);
	if (cmx_vm_check(&file->vm, va, len, CMX_MAP_WRITE, &span))
		return -EREMOTEIO;
	if (span.no_data)
		return -EOPNOTSUPP;
	x->to = span.entity;
	if (round)
		swap(x->from, x->to);
	return 0;
}

static int cmx_start_word(struct cmx_cmd *cmd, u64 va, u32 len, bool round)
{
	struct cmx_legs *legs = &cmd->queue->member->timeline->legs;
	struct cmx_transfer x;
	int ret = cmx_word_leg(cmd, va, len, round, &x);

	if (ret)
		return cmx_cmd_refuse(cmd, cmx_status_of(cmd, ret));
	cmx_legs_reset(legs);
	ret = cmx_legs_add(legs, &x);
	if (ret)
		return ret;
	cmx_cmd_charge(cmd);
	return 0;
}

static int cmx_start_atomic(struct cmx_cmd *cmd)
{
	const struct cmx_entry_rma *rma = (const void *)cmd->entry;
	struct cmx_file *file = cmd->queue->obj.file;
	struct cmx_span span;

	if (rma->local_va) {
		guard(rwsem_read)(&file->vm.lock);
		if (cmx_vm_check(&file->vm, rma->local_va, rma->len, CMX_MAP_WRITE, &span))
			return cmx_cmd_refuse(cmd, UB_CR_LOC_ACCESS_ERR);
	}
	return cmx_start_word(cmd, rma->remote_va, rma->len, true);
}

/* The word that tells of the bytes follows them. */
static int cmx_notify_leg(struct cmx_cmd *cmd)
{
	const struct cmx_entry_rma_ext *ext = (const void *)&cmd->entry[CMX_SLOT_SIZE / 8];
	struct cmx_transfer x;
	int ret;

	if (cmx_cmd_header(cmd)->opcode != UB_OP_WRITE_NOTIFY)
		return 0;
	ret = cmx_word_leg(cmd, ext->notify_va, sizeof(u64), false, &x);
	return ret ? ret : cmx_legs_add(&cmd->queue->member->timeline->legs, &x);
}

static int cmx_start_move(struct cmx_cmd *cmd, size_t *budget)
{
	int ret = 0;

	if (!cmx_receive_start(cmd))
		return 0;
	if (cmx_cmd_header(cmd)->opcode == CMX_OP_COPY_SG)
		ret = cmx_move_load_list(cmd);
	if (!ret)
		ret = cmx_move_start(cmd, budget);
	if (!ret)
		ret = cmx_notify_leg(cmd);
	if (ret == -ENOMEM)
		return ret;
	if (ret)
		return cmx_cmd_refuse(cmd, cmx_status_of(cmd, ret));
	cmx_cmd_charge(cmd);
	return 0;
}

static int cmx_start_delay(struct cmx_cmd *cmd)
{
	const struct cmx_entry_delay *delay = (const void *)cmd->entry;
	u64 time;

	if (check_add_overflow(cmx_cmd_now(cmd), delay->ps, &time))
		return cmx_cmd_refuse(cmd, CMX_CR_TIME_OVERFLOW);
	cmx_cmd_complete_at(cmd, time);
	return 0;
}

static int cmx_start_wait(struct cmx_cmd *cmd)
{
	const struct cmx_entry_wait *wait = (const void *)cmd->entry;
	int ret;

	cmd->watch.cond = wait->cond;
	cmd->watch.value = wait->value;
	ret = cmx_watch_arm(&cmd->watch, &cmd->queue->obj.file->vm, wait->va);
	if (ret == -ENOMEM)
		return ret;
	if (ret < 0)
		return cmx_cmd_refuse(cmd, ret == -EOPNOTSUPP ? UB_CR_LOC_OPERATION_ERR :
								UB_CR_LOC_ACCESS_ERR);
	if (ret) {
		cmx_cmd_complete_at(cmd, cmx_cmd_now(cmd));
		return 0;
	}
	cmd->phase = CMX_PHASE_WAIT;
	trace_cmx_wait(cmd->queue, cmd, wait->va, wait->value);
	return 0;
}

static int cmx_start_op(struct cmx_cmd *cmd, size_t *budget)
{
	const struct cmx_entry_signal *signal = (const void *)cmd->entry;
	u32 opcode = cmx_cmd_header(cmd)->opcode;

	switch (opcode) {
	case UB_OP_NOP:
	case CMX_OP_BARRIER:
	case CMX_OP_TIMESTAMP:
		cmx_cmd_complete_at(cmd, cmx_cmd_now(cmd));
		return 0;
	case CMX_OP_WAIT:
		return cmx_start_wait(cmd);
	case CMX_OP_SIGNAL:
		return cmx_start_word(cmd, signal->va, sizeof(u64), false);
	case CMX_OP_LAUNCH:
		return cmx_launch_start(cmd);
	case UB_OP_CAS ... UB_OP_FXOR:
		return cmx_start_atomic(cmd);
	case CMX_OP_DELAY:
		return cmx_start_delay(cmd);
	default:
		return cmx_start_move(cmd, budget);
	}
}

/* Entries that wait for all earlier ones of their queue. */
static bool cmx_cmd_is_held(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_header *header = cmx_cmd_header(cmd);
	bool ordered = header->flags & CMX_ENTRY_FENCE || header->opcode == CMX_OP_BARRIER ||
		       header->opcode == CMX_OP_TIMESTAMP;

	return ordered && !list_is_first(&cmd->link, &cmd->queue->inflight);
}

/* One that waits for a receiver is not on its way: the next must not pass it. */
static bool cmx_cmd_is_on_its_way(const struct cmx_cmd *cmd)
{
	return cmd->phase == CMX_PHASE_FLOW || cmd->phase == CMX_PHASE_LANDED ||
	       cmd->phase == CMX_PHASE_COMPLETE;
}

static void cmx_cmd_let_next(struct cmx_cmd *cmd)
{
	struct cmx_queue *q = cmd->queue;
	struct cmx_timeline *tl = q->member->timeline;

	q->ready = tl->now + tl->servers.machine->profile->issue_ps[q->args.queue_class];
	q->blocked = false;
	cmx_queue_pend(q);
}

int cmx_cmd_start(struct cmx_cmd *cmd, size_t *budget)
{
	struct cmx_queue *q = cmd->queue;
	struct cmx_timeline *tl = q->member->timeline;
	u32 status = cmx_entry_check(cmd, q->args.queue_class);
	int ret;

	if (!status && cmx_cmd_is_held(cmd)) {
		cmd->phase = CMX_PHASE_HELD;
		return 0;
	}
	cmd->start = tl->now;
	tl->servers.begun = true;
	trace_cmx_start(q, cmd);
	if (cmx_cmd_is_down(cmd)) {
		cmx_cmd_entity_down(cmd);
		return 0;
	}
	ret = status ? cmx_cmd_refuse(cmd, status) : cmx_start_op(cmd, budget);
	if (ret) {
		cmx_heap_push(&tl->heap, &cmd->node);
		return ret;
	}
	if (!status && cmx_cmd_is_on_its_way(cmd) &&
	    cmx_cmd_header(cmd)->flags & CMX_ENTRY_OVERLAP)
		cmx_cmd_let_next(cmd);
	return 0;
}

static int cmx_apply_store(struct cmx_cmd *cmd, u64 va, u64 value, u32 len)
{
	struct cmx_queue *q = cmd->queue;
	struct cmx_bytes bytes = { .dst = va, .len = len, .data = &value };
	size_t budget = len;
	u64 moved;

	/* One piece: a naturally aligned word is never split. */
	return cmx_bytes_move(&q->obj.file->vm, &bytes, q->member->timeline, &moved, &budget);
}

static int cmx_apply_atomic(struct cmx_cmd *cmd)
{
	const struct cmx_entry_rma *rma = (const void *)cmd->entry;
	const struct cmx_entry_rma_ext *ext = (const void *)&cmd->entry[CMX_SLOT_SIZE / 8];
	u64 compare = rma->header.slots > 1 ? ext->compare : 0;
	struct cmx_queue *q = cmd->queue;
	int ret;

	/* Done once: a failed store of the old value is tried again without it. */
	if (!cmd->cursor.piece) {
		ret = cmx_word_update(q->obj.file, q->member->timeline, rma->header.opcode,
				      rma->remote_va, rma->len, rma->value, compare, &cmd->imm);
		if (ret)
			return ret;
		cmd->cursor.piece = 1;
		cmd->len = rma->len;
	}
	if (!rma->local_va)
		return 0;
	ret = cmx_apply_store(cmd, rma->local_va, cmd->imm, rma->len);
	return ret == -EREMOTEIO ? -EFAULT : ret;
}

static int cmx_apply_signal(struct cmx_cmd *cmd)
{
	const struct cmx_entry_signal *signal = (const void *)cmd->entry;
	struct cmx_queue *q = cmd->queue;
	u32 op = signal->op == CMX_SIGNAL_ADD ? UB_OP_FADD : UB_OP_SWAP;

	cmd->len = sizeof(u64);
	return cmx_word_update(q->obj.file, q->member->timeline, op, signal->va, sizeof(u64),
			       signal->value, 0, &cmd->imm);
}

static int cmx_apply_notify(struct cmx_cmd *cmd, size_t *budget)
{
	const struct cmx_entry_rma *rma = (const void *)cmd->entry;
	const struct cmx_entry_rma_ext *ext = (const void *)&cmd->entry[CMX_SLOT_SIZE / 8];
	struct cmx_queue *q = cmd->queue;
	int ret = cmx_move_apply(cmd, budget);
	u64 old;

	if (ret)
		return ret;
	return cmx_word_update(q->obj.file, q->member->timeline, UB_OP_SWAP, ext->notify_va,
			       sizeof(u64), rma->value, 0, &old);
}

static int cmx_apply_op(struct cmx_cmd *cmd, size_t *budget)
{
	const struct cmx_entry_sync *sync = (const void *)cmd->entry;

	switch (cmx_cmd_header(cmd)->opcode) {
	case UB_OP_NOP:
	case CMX_OP_BARRIER:
	case CMX_OP_WAIT:
	case CMX_OP_DELAY:
	case CMX_OP_LAUNCH:
		return 0;
	case CMX_OP_TIMESTAMP:
		cmd->imm = cmx_cmd_now(cmd);
		cmd->len = sync->va ? sizeof(u64) : 0;
		return sync->va ? cmx_apply_store(cmd, sync->va, cmd->imm, sizeof(u64)) : 0;
	case CMX_OP_SIGNAL:
		return cmx_apply_signal(cmd);
	case UB_OP_CAS ... UB_OP_FXOR:
		return cmx_apply_atomic(cmd);
	case UB_OP_WRITE_NOTIFY:
		return cmx_apply_notify(cmd, budget);
	default:
		return cmx_move_apply(cmd, budget);
	}
}

int cmx_cmd_apply(struct cmx_cmd *cmd, size_t *budget)
{
	int ret = cmd->status ? 0 : cmx_apply_op(cmd, budget);

	if (ret == -EAGAIN || ret == -ENOMEM)
		return ret;
	if (ret)
		cmd->status = cmx_status_of(cmd, ret);
	cmx_heap_remove(&cmd->queue->member->timeline->heap, &cmd->node);
	if (cmd->rq)
		cmx_receive_finish(cmd);
	cmx_cmd_finish(cmd);
	return 0;
}
