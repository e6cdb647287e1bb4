// SPDX-License-Identifier: GPL-2.0-only
#include <linux/align.h>
#include <linux/bits.h>
#include <linux/string.h>

#include "cmx_entry.h"
#include "cmx_launch.h"
#include "cmx_queue.h"

#define CMX_FLAGS_ANY	(CMX_ENTRY_COMPLETE | CMX_ENTRY_FENCE | CMX_ENTRY_COMP_ORDER)
#define CMX_FLAGS_MOVE	(CMX_FLAGS_ANY | CMX_ENTRY_OVERLAP)
#define CMX_FLAGS_WRITE	(CMX_FLAGS_MOVE | CMX_ENTRY_INLINE)
#define CMX_FLAGS_SEND	(CMX_FLAGS_WRITE | CMX_ENTRY_SOLICITED)

#define CMX_CLASS_STREAM	BIT(CMX_QUEUE_STREAM)
#define CMX_CLASS_COPY		(BIT(CMX_QUEUE_STREAM) | BIT(CMX_QUEUE_SDMA))
#define CMX_CLASS_UB		BIT(CMX_QUEUE_UB)
#define CMX_CLASS_ALL		(CMX_CLASS_COPY | CMX_CLASS_UB)

/** struct cmx_entry_kind - one opcode's form. */
struct cmx_entry_kind {
	/** @slots: bit n: n slots are allowed. */
	u8 slots;
	/** @classes: bit n: queue class n carries it out. */
	u8 classes;
	/** @flags: entry flags allowed. */
	u16 flags;
	/** @check: the fields behind the header. */
	u32 (*check)(const struct cmx_cmd *cmd);
};

#define CMX_RMA_SLOTS	(BIT(1) | BIT(2) | BIT(3) | BIT(4))

static bool cmx_all_zero(const void *p, size_t len)
{
	return !memchr_inv(p, 0, len);
}

/* Slot @n of the entry, or NULL when it is shorter. */
static const void *cmx_slot(const struct cmx_cmd *cmd, u32 n)
{
	if (cmx_cmd_header(cmd)->slots <= n)
		return NULL;
	return (const u8 *)cmd->entry + n * CMX_SLOT_SIZE;
}

static u32 cmx_check_ext(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_rma_ext *ext = cmx_slot(cmd, 1);
	u32 op = cmx_cmd_header(cmd)->opcode;

	if (!ext)
		return op == UB_OP_CAS || op == UB_OP_WRITE_NOTIFY ? UB_CR_LOC_OPERATION_ERR :
								      UB_CR_SUCCESS;
	if (ext->pad || (op != UB_OP_CAS && ext->compare) ||
	    (op != UB_OP_WRITE_NOTIFY && (ext->notify_va || ext->notify_tseg)) ||
	    !IS_ALIGNED(ext->notify_va, 8) ||
	    (op != UB_OP_SEND_INVALIDATE && ext->invalidate_token))
		return UB_CR_LOC_OPERATION_ERR;
	/* Segments and jetties that were not imported: no such capability yet. */
	if (ext->remote_uasid || ext->remote_id || ext->token_id || ext->notify_tseg ||
	    !cmx_all_zero(ext->remote_eid, sizeof(ext->remote_eid)))
		return UB_CR_LOC_ACCESS_ERR;
	return UB_CR_SUCCESS;
}

static u32 cmx_check_sgl(const struct cmx_cmd *cmd, const struct cmx_entry_rma *rma)
{
	const struct cmx_sge *sge = cmx_slot(cmd, 2);
	u32 room = (rma->header.slots - 2) * 4;
	u64 sum = 0;

	if (!sge || rma->num_sge > room || rma->local_va)
		return UB_CR_LOC_OPERATION_ERR;
	for (u32 i = 0; i < room; i++) {
		if (i >= rma->num_sge && !cmx_all_zero(&sge[i], sizeof(sge[i])))
			return UB_CR_LOC_OPERATION_ERR;
		if (sge[i].seg)
			return UB_CR_LOC_ACCESS_ERR;
		if (i < rma->num_sge && !sge[i].len)
			return UB_CR_LOC_LEN_ERR;
		sum += sge[i].len;
	}
	return sum == rma->len ? UB_CR_SUCCESS : UB_CR_LOC_LEN_ERR;
}

/* Where the local bytes are: inline, a list, or one range. */
static u32 cmx_check_local(const struct cmx_cmd *cmd, const struct cmx_entry_rma *rma)
{
	if (rma->header.flags & CMX_ENTRY_INLINE) {
		u32 room = rma->header.slots > 2 ? (rma->header.slots - 2) * CMX_SLOT_SIZE : 0;

		if (rma->num_sge || rma->local_va)
			return UB_CR_LOC_OPERATION_ERR;
		return rma->len <= room ? UB_CR_SUCCESS : UB_CR_LOC_LEN_ERR;
	}
	if (rma->num_sge)
		return cmx_check_sgl(cmd, rma);
	return rma->header.slots > 2 ? UB_CR_LOC_OPERATION_ERR : UB_CR_SUCCESS;
}

static u32 cmx_check_rma(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_rma *rma = (const void *)cmd->entry;
	u32 op = rma->header.opcode, status;
	bool send = op >= UB_OP_SEND && op <= UB_OP_SEND_INVALIDATE;
	bool value = op == UB_OP_WRITE_IMM || op == UB_OP_WRITE_NOTIFY || op == UB_OP_SEND_IMM;

	if (!cmx_all_zero(rma->pad, sizeof(rma->pad)) || rma->place_order > 2 ||
	    (!value && rma->value) || (send && rma->remote_va) ||
	    (!send && op != UB_OP_WRITE_IMM && rma->target))
		return UB_CR_LOC_OPERATION_ERR;
	if (rma->len > CMX_MAX_LEN || (!rma->len && !send && op != UB_OP_WRITE_IMM))
		return UB_CR_LOC_LEN_ERR;
	if (rma->tseg)
		return UB_CR_LOC_ACCESS_ERR;
	status = cmx_check_ext(cmd);
	return status ? status : cmx_check_local(cmd, rma);
}

static u32 cmx_check_atomic(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_rma *rma = (const void *)cmd->entry;

	if (!cmx_all_zero(rma->pad, sizeof(rma->pad)) || rma->place_order > 2 || rma->target ||
	    rma->num_sge || rma->header.slots > 2)
		return UB_CR_LOC_OPERATION_ERR;
	if (rma->len != 4 && rma->len != 8)
		return UB_CR_LOC_LEN_ERR;
	if (!IS_ALIGNED(rma->remote_va, rma->len) || !IS_ALIGNED(rma->local_va, rma->len) ||
	    (rma->len == 4 && rma->value > U32_MAX))
		return UB_CR_LOC_OPERATION_ERR;
	if (rma->tseg)
		return UB_CR_LOC_ACCESS_ERR;
	return cmx_check_ext(cmd);
}

static u32 cmx_check_copy(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_copy *copy = (const void *)cmd->entry;
	bool rows = copy->header.opcode == CMX_OP_COPY_2D;

	if (copy->pad || (!rows && (copy->rows || copy->dst_pitch || copy->src_pitch)))
		return UB_CR_LOC_OPERATION_ERR;
	if (!copy->len || copy->len > CMX_MAX_LEN)
		return UB_CR_LOC_LEN_ERR;
	if (!rows)
		return UB_CR_SUCCESS;
	if (copy->dst_pitch < copy->len || copy->src_pitch < copy->len ||
	    copy->dst_pitch > CMX_MAX_LEN || copy->src_pitch > CMX_MAX_LEN || !copy->rows)
		return UB_CR_LOC_OPERATION_ERR;
	if (copy->rows > CMX_MAX_SG_LIST)
		return UB_CR_LOC_LEN_ERR;
	return copy->rows <= CMX_MAX_LEN / copy->len ? UB_CR_SUCCESS : UB_CR_LOC_LEN_ERR;
}

static u32 cmx_check_copy_sg(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_copy_sg *sg = (const void *)cmd->entry;

	if (sg->pad || !cmx_all_zero(sg->reserved, sizeof(sg->reserved)) ||
	    !IS_ALIGNED(sg->list_va, 8))
		return UB_CR_LOC_OPERATION_ERR;
	return sg->count && sg->count <= CMX_MAX_SG_LIST ? UB_CR_SUCCESS : UB_CR_LOC_LEN_ERR;
}

static u32 cmx_check_fill(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_fill *fill = (const void *)cmd->entry;
	u32 size = fill->pattern_size;

	if (fill->pad || !cmx_all_zero(fill->reserved, sizeof(fill->reserved)) ||
	    (size != 1 && size != 2 && size != 4 && size != 8) ||
	    (size < 8 && fill->pattern >> (8 * size)) || !IS_ALIGNED(fill->dst_va, size))
		return UB_CR_LOC_OPERATION_ERR;
	if (!fill->len || fill->len > CMX_MAX_LEN || !IS_ALIGNED(fill->len, size))
		return UB_CR_LOC_LEN_ERR;
	return UB_CR_SUCCESS;
}

static u32 cmx_check_wait(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_wait *wait = (const void *)cmd->entry;

	if (wait->cond > CMX_COND_GT || wait->pad || !IS_ALIGNED(wait->va, 8) ||
	    !cmx_all_zero(wait->reserved, sizeof(wait->reserved)))
		return UB_CR_LOC_OPERATION_ERR;
	return UB_CR_SUCCESS;
}

static u32 cmx_check_signal(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_signal *signal = (const void *)cmd->entry;

	if (signal->op > CMX_SIGNAL_ADD || signal->pad || !IS_ALIGNED(signal->va, 8) ||
	    !cmx_all_zero(signal->reserved, sizeof(signal->reserved)))
		return UB_CR_LOC_OPERATION_ERR;
	return UB_CR_SUCCESS;
}

static u32 cmx_check_sync(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_sync *sync = (const void *)cmd->entry;

	if (!cmx_all_zero(sync->reserved, sizeof(sync->reserved)) || !IS_ALIGNED(sync->va, 8) ||
	    (sync->header.opcode != CMX_OP_TIMESTAMP && sync->va))
		return UB_CR_LOC_OPERATION_ERR;
	return UB_CR_SUCCESS;
}

static u32 cmx_check_delay(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_delay *delay = (const void *)cmd->entry;

	if (!cmx_all_zero(delay->reserved, sizeof(delay->reserved)))
		return UB_CR_LOC_OPERATION_ERR;
	return delay->ps <= CMX_MAX_DELAY ? UB_CR_SUCCESS : UB_CR_LOC_LEN_ERR;
}

static bool cmx_cost_ok(const struct cmx_cost *cost)
{
	return cost->op_class < CMX_OPS_CLASSES && cost->efficiency < CMX_EFF_CLASSES;
}

static u32 cmx_check_launch(const struct cmx_cmd *cmd)
{
	const struct cmx_entry_launch *launch = (const void *)cmd->entry;
	u32 room = (launch->header.slots - 2) * CMX_SLOT_SIZE + sizeof(launch->args);
	bool time_only = launch->launch_flags & CMX_LAUNCH_TIME_ONLY;

	if (launch->launch_flags & ~CMX_LAUNCH_FLAGS || launch->pad || !launch->grid ||
	    !cmx_cost_ok(&launch->cost) || !IS_ALIGNED(launch->record_va, 8) ||
	    (!time_only && (launch->record_va || launch->record_count)))
		return UB_CR_LOC_OPERATION_ERR;
	if (launch->args_size > room || launch->record_count > CMX_MAX_RECORDS)
		return UB_CR_LOC_LEN_ERR;
	return UB_CR_SUCCESS;
}

static const struct cmx_entry_kind cmx_entry_kinds[256] = {
	[UB_OP_WRITE] = { CMX_RMA_SLOTS, CMX_CLASS_UB, CMX_FLAGS_WRITE, cmx_check_rma },
	[UB_OP_WRITE_IMM] = { CMX_RMA_SLOTS, CMX_CLASS_UB, CMX_FLAGS_SEND, cmx_check_rma },
	[UB_OP_WRITE_NOTIFY] = { CMX_RMA_SLOTS, CMX_CLASS_UB, CMX_FLAGS_WRITE, cmx_check_rma },
	[UB_OP_READ] = { CMX_RMA_SLOTS, CMX_CLASS_UB, CMX_FLAGS_MOVE, cmx_check_rma },
	[UB_OP_CAS ... UB_OP_FXOR] = { BIT(1) | BIT(2), CMX_CLASS_UB, CMX_FLAGS_MOVE,
				       cmx_check_atomic },
	[UB_OP_SEND ... UB_OP_SEND_IMM] = { CMX_RMA_SLOTS, CMX_CLASS_UB, CMX_FLAGS_SEND,
					    cmx_check_rma },
	[UB_OP_NOP] = { BIT(1), CMX_CLASS_ALL, CMX_FLAGS_MOVE, cmx_check_sync },
	[CMX_OP_COPY ... CMX_OP_COPY_2D] = { BIT(1), CMX_CLASS_COPY, CMX_FLAGS_MOVE,
					     cmx_check_copy },
	[CMX_OP_COPY_SG] = { BIT(1), CMX_CLASS_COPY, CMX_FLAGS_MOVE, cmx_check_copy_sg },
	[CMX_OP_FILL] = { BIT(1), CMX_CLASS_COPY, CMX_FLAGS_MOVE, cmx_check_fill },
	[CMX_OP_WAIT] = { BIT(1), CMX_CLASS_ALL, CMX_FLAGS_ANY, cmx_check_wait },
	[CMX_OP_SIGNAL] = { BIT(1), CMX_CLASS_ALL, CMX_FLAGS_MOVE, cmx_check_signal },
	[CMX_OP_TIMESTAMP] = { BIT(1), CMX_CLASS_ALL, CMX_FLAGS_ANY, cmx_check_sync },
	[CMX_OP_BARRIER] = { BIT(1), CMX_CLASS_ALL, CMX_FLAGS_ANY, cmx_check_sync },
	[CMX_OP_DELAY] = { BIT(1), CMX_CLASS_ALL, CMX_FLAGS_ANY, cmx_check_delay },
	[CMX_OP_LAUNCH] = { BIT(2) | BIT(3) | BIT(4), CMX_CLASS_STREAM, CMX_FLAGS_ANY,
			    cmx_check_launch },
};

u32 cmx_entry_check(const struct cmx_cmd *cmd, u32 queue_class)
{
	const struct cmx_entry_header *header = cmx_cmd_header(cmd);
	const struct cmx_entry_kind *kind = &cmx_entry_kinds[header->opcode];

	if (!(kind->classes & BIT(queue_class)))
		return UB_CR_UNSUPPORTED_OPCODE;
	if (!(kind->slots & BIT(header->slots)) || header->flags & ~kind->flags || header->pad)
		return UB_CR_LOC_OPERATION_ERR;
	return kind->check(cmd);
}

void cmx_exec_opcodes(u64 bits[4])
{
	memset(bits, 0, 4 * sizeof(*bits));
	for (u32 op = 0; op < 256; op++)
		if (cmx_entry_kinds[op].check)
			bits[op / 64] |= 1ULL << (op % 64);
}
