// SPDX-License-Identifier: GPL-2.0-only
/*
 * A command that moves bytes is a list of pieces.  They are walked twice with the same
 * cursor: when the command is issued, to check and to charge; and at its completion,
 * to move.  The second walk translates again, since mappings may have gone.
 */
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "cmx_entry.h"
#include "cmx_file.h"
#include "cmx_move.h"
#include "cmx_queue.h"
#include "cmx_rq.h"
#include "cmx_timeline.h"

static u32 cmx_rma_pieces(const struct cmx_entry_rma *rma)
{
	return rma->num_sge ? rma->num_sge : 1;
}

static bool cmx_rma_is_send(u32 opcode)
{
	return opcode == UB_OP_SEND || opcode == UB_OP_SEND_IMM;
}

/* Where a message's byte @total goes: the receive entry's elements, one after another. */
static void cmx_recv_at(const struct cmx_cmd *cmd, u64 total, struct cmx_bytes *out)
{
	for (u32 i = 0; i < cmd->recv.num_sge; i++) {
		const struct cmx_sge *sge = &cmd->recv.sge[i];

		if (total < sge->len) {
			out->dst = sge->va + total;
			out->more &= out->len < sge->len - total;
			out->len = min(out->len, sge->len - total);
			return;
		}
		total -= sge->len;
	}
	out->len = 0;
}

static bool cmx_rma_at(const struct cmx_cmd *cmd, const struct cmx_cursor *c,
		       struct cmx_bytes *out)
{
	const struct cmx_entry_rma *rma = (const void *)cmd->entry;
	const struct cmx_sge *sge = (const void *)((const u8 *)cmd->entry + 2 * CMX_SLOT_SIZE);
	u64 local = rma->local_va, len = rma->len;

	if (c->piece >= cmx_rma_pieces(rma) || c->total >= rma->len)
		return false;
	if (rma->num_sge) {
		local = sge[c->piece].va;
		len = sge[c->piece].len;
	}
	out->len = len - c->done;
	if (rma->header.opcode == UB_OP_READ) {
		out->src = rma->remote_va + c->total;
		out->dst = local + c->done;
		return true;
	}
	out->src = local + c->done;
	if (rma->header.flags & CMX_ENTRY_INLINE)
		out->data = (const u8 *)sge + c->done;
	out->dst = rma->remote_va + c->total;
	out->more = c->total + out->len < rma->len;
	if (cmx_rma_is_send(rma->header.opcode))
		cmx_recv_at(cmd, c->total, out);
	return true;
}

static bool cmx_copy_at(const struct cmx_cmd *cmd, const struct cmx_cursor *c,
			struct cmx_bytes *out)
{
	const struct cmx_entry_copy *copy = (const void *)cmd->entry;
	u32 rows = copy->header.opcode == CMX_OP_COPY_2D ? copy->rows : 1;

	if (c->piece >= rows)
		return false;
	out->dst = copy->dst_va + c->piece * copy->dst_pitch + c->done;
	out->src = copy->src_va + c->piece * copy->src_pitch + c->done;
	out->len = copy->len - c->done;
	return true;
}

static bool cmx_sg_at(const struct cmx_cmd *cmd, const struct cmx_cursor *c,
		      struct cmx_bytes *out)
{
	const struct cmx_entry_copy_sg *sg = (const void *)cmd->entry;

	if (c->piece >= sg->count)
		return false;
	out->dst = cmd->list[c->piece].dst_va + c->done;
	out->src = cmd->list[c->piece].src_va + c->done;
	out->len = cmd->list[c->piece].len - c->done;
	return true;
}

static bool cmx_fill_at(const struct cmx_cmd *cmd, const struct cmx_cursor *c,
			struct cmx_bytes *out)
{
	const struct cmx_entry_fill *fill = (const void *)cmd->entry;

	if (c->piece)
		return false;
	out->dst = fill->dst_va + c->done;
	out->len = fill->len - c->done;
	out->pattern = fill->pattern;
	out->pattern_size = fill->pattern_size;
	return true;
}

/* The bytes at the cursor, up to the end of their piece; false: at the end. */
static bool cmx_cmd_at(const struct cmx_cmd *cmd, const struct cmx_cursor *c,
		       struct cmx_bytes *out)
{
	*out = (struct cmx_bytes){};
	switch (cmx_cmd_header(cmd)->opcode) {
	case CMX_OP_COPY:
	case CMX_OP_COPY_2D:
		return cmx_copy_at(cmd, c, out);
	case CMX_OP_COPY_SG:
		return cmx_sg_at(cmd, c, out);
	case CMX_OP_FILL:
		return cmx_fill_at(cmd, c, out);
	default:
		return cmx_rma_at(cmd, c, out);
	}
}

static u64 cmx_piece_len(const struct cmx_cmd *cmd, u32 piece)
{
	struct cmx_cursor c = { .piece = piece };
	const struct cmx_entry_rma *rma = (const void *)cmd->entry;
	const struct cmx_sge *sge = (const void *)((const u8 *)cmd->entry + 2 * CMX_SLOT_SIZE);
	struct cmx_bytes bytes;

	if (rma->header.opcode < CMX_OP_COPY)
		return rma->num_sge ? sge[piece].len : rma->len;
	return cmx_cmd_at(cmd, &c, &bytes) ? bytes.len : 0;
}

static void cmx_cursor_advance(const struct cmx_cmd *cmd, struct cmx_cursor *c, u64 n)
{
	c->done += n;
	c->total += n;
	while (c->done && c->done >= cmx_piece_len(cmd, c->piece)) {
		c->done = 0;
		c->piece++;
	}
}

/* Moved in slices, such bytes would depend on where the slices end. */
static bool cmx_ends_overlap(const struct cmx_ends *ends)
{
	u64 src = ends->src.offset, dst = ends->dst.offset;

	return ends->src.bo == ends->dst.bo && src < dst + ends->len && dst < src + ends->len;
}

static int cmx_bytes_translate(struct cmx_vm *vm, const struct cmx_bytes *bytes,
			       struct cmx_ends *ends)
{
	int ret;

	ends->src = (struct cmx_span){};
	ends->len = bytes->len;
	if (!bytes->data && !bytes->pattern_size) {
		ret = cmx_vm_translate(vm, bytes->src, ends->len, CMX_MAP_READ, &ends->src);
		if (ret)
			return ret;
		ends->len = min(ends->len, ends->src.len);
	}
	if (cmx_vm_translate(vm, bytes->dst, ends->len, CMX_MAP_WRITE, &ends->dst))
		return -EREMOTEIO;
	ends->len = min(ends->len, ends->dst.len);
	return cmx_ends_overlap(ends) ? -EINVAL : 0;
}

static void cmx_fill(void *to, size_t len, u64 pattern, u32 size)
{
	switch (size) {
	case 1:
		memset(to, pattern, len);
		break;
	case 2:
		memset16(to, pattern, len / 2);
		break;
	case 4:
		memset32(to, pattern, len / 4);
		break;
	default:
		memset64(to, pattern, len / 8);
	}
}

/* Where the bytes come from: NULL for zeros (never had bytes); clips @len. */
static const void *cmx_source(const struct cmx_bytes *bytes, const struct cmx_span *src,
			      size_t *len)
{
	if (bytes->data)
		return bytes->data;
	if (src->no_data)
		return NULL;
	return cmx_bo_access(src->bo, src->offset, len, false);
}

static int cmx_bytes_store(const struct cmx_bytes *bytes, const struct cmx_ends *ends, size_t *len)
{
	void *to = cmx_bo_access(ends->dst.bo, ends->dst.offset, len, true);
	const void *from;

	if (IS_ERR(to))
		return PTR_ERR(to);
	if (bytes->pattern_size) {
		cmx_fill(to, *len, bytes->pattern, bytes->pattern_size);
		return 0;
	}
	from = cmx_source(bytes, &ends->src, len);
	if (IS_ERR(from))
		return PTR_ERR(from);
	/* Ranges that overlap were refused (cmx_ends_overlap()). */
	if (from)
		memcpy(to, from, *len);
	else
		memset(to, 0, *len);
	return 0;
}

/* The word in which the bytes go on is looked at when the rest of it is there. */
static void cmx_ends_tell(const struct cmx_ends *ends, bool more, u64 len, struct cmx_timeline *tl)
{
	u64 first = ends->dst.offset, end = first + len;

	if (more)
		end = max(round_down(end, sizeof(u64)), first);
	if (end > first)
		cmx_watch_notify(ends->dst.bo, first, end - first, tl, tl->now);
}

static int cmx_ends_move(const struct cmx_ends *ends, const struct cmx_bytes *bytes,
			 struct cmx_timeline *tl, u64 *moved, size_t *budget)
{
	size_t len;
	int ret;

	if (ends->dst.no_data) {
		*moved = ends->len;
		return 0;
	}
	len = min_t(u64, ends->len, max_t(size_t, *budget, sizeof(u64)));
	if (bytes->pattern_size)
		len = round_down(len, bytes->pattern_size);
	ret = cmx_bytes_store(bytes, ends, &len);
	if (ret)
		return ret;
	cmx_ends_tell(ends, len < bytes->len || bytes->more, len, tl);
	*moved = len;
	*budget -= min(*budget, len);
	return 0;
}

int cmx_bytes_move(struct cmx_vm *vm, const struct cmx_bytes *bytes, struct cmx_timeline *tl,
		   u64 *moved, size_t *budget)
{
	struct cmx_ends ends;
	int ret;

	*moved = 0;
	guard(rwsem_read)(&vm->lock);
	ret = cmx_bytes_translate(vm, bytes, &ends);
	return ret ? ret : cmx_ends_move(&ends, bytes, tl, moved, budget);
}

/* What was translated at issue is good as long as no mapping came or went since. */
static int cmx_cmd_move(struct cmx_cmd *cmd, const struct cmx_bytes *bytes, u64 *moved,
			size_t *budget)
{
	struct cmx_vm *vm = &cmd->queue->obj.file->vm;
	struct cmx_ends ends = cmd->ends;
	int ret;

	*moved = 0;
	guard(rwsem_read)(&vm->lock);
	if (cmd->ends_known && cmd->ends_generation == vm->generation) {
		ends.src.offset += cmd->cursor.done;
		ends.dst.offset += cmd->cursor.done;
		ends.len = bytes->len;
	} else {
		ret = cmx_bytes_translate(vm, bytes, &ends);
		if (ret)
			return ret;
	}
	return cmx_ends_move(&ends, bytes, cmd->queue->member->timeline, moved, budget);
}

int cmx_move_apply(struct cmx_cmd *cmd, size_t *budget)
{
	struct cmx_bytes bytes;
	u64 moved;
	int ret;

	while (cmx_cmd_at(cmd, &cmd->cursor, &bytes)) {
		if (!*budget)
			return -EAGAIN;
		if (!bytes.len)
			return -EREMOTEIO;
		ret = cmx_cmd_move(cmd, &bytes, &moved, budget);
		if (ret)
			return ret;
		cmx_cursor_advance(cmd, &cmd->cursor, moved);
		cmd->len = cmd->cursor.total;
		/* Pieces that move nothing in memory cost host time too. */
		*budget -= min_t(size_t, *budget, CMX_SLOT_SIZE);
	}
	return 0;
}

static u32 cmx_bo_entity(const struct cmx_span *span, u32 otherwise)
{
	return span->bo ? span->entity : otherwise;
}

static void cmx_transfer_ends(const struct cmx_cmd *cmd, const struct cmx_ends *ends,
			      struct cmx_transfer *x)
{
	u32 own = cmd->queue->args.entity;
	u32 opcode = cmx_cmd_header(cmd)->opcode;

	x->from = cmx_bo_entity(&ends->src, own);
	x->to = cmx_bo_entity(&ends->dst, own);
	x->initiator = own;
	if (opcode == UB_OP_READ)
		x->initiator = x->to;
	else if (opcode < UB_OP_READ)
		x->initiator = x->from;
}

/* Neighbouring pieces with the same ends go as one transfer. */
static int cmx_charge_add(struct cmx_cmd *cmd, const struct cmx_ends *ends, bool first)
{
	struct cmx_legs *legs = &cmd->queue->member->timeline->legs;
	struct cmx_transfer *last = cmx_legs_last(legs);
	struct cmx_transfer x = { .messages = 1, .bytes = ends->len };

	cmx_transfer_ends(cmd, ends, &x);
	if (!last || last->from != x.from || last->to != x.to)
		return cmx_legs_add(legs, &x);
	last->messages += first;
	last->bytes += x.bytes;
	return 0;
}

/* A message without bytes still crosses the fabric. */
static int cmx_charge_empty(struct cmx_cmd *cmd)
{
	struct cmx_transfer x = {
		.initiator = cmd->queue->args.entity,
		.from = cmd->queue->args.entity,
		.to = cmd->rq ? cmd->rq->args.entity : cmd->queue->args.entity,
		.messages = 1,
	};

	return cmx_legs_add(&cmd->queue->member->timeline->legs, &x);
}

int cmx_move_start(struct cmx_cmd *cmd, size_t *budget)
{
	struct cmx_vm *vm = &cmd->queue->obj.file->vm;
	struct cmx_cursor c = {};
	struct cmx_bytes bytes;
	struct cmx_ends ends;
	u32 spans = 0;
	int ret = 0;

	cmx_legs_reset(&cmd->queue->member->timeline->legs);
	guard(rwsem_read)(&vm->lock);
	while (!ret && cmx_cmd_at(cmd, &c, &bytes)) {
		bool first = !c.done;

		/* A list of ranges of many mappings each could keep us here for hours. */
		if (++spans > CMX_MAX_SPANS)
			ret = -EMSGSIZE;
		else
			ret = bytes.len ? cmx_bytes_translate(vm, &bytes, &ends) : -EREMOTEIO;
		if (!ret)
			ret = cmx_charge_add(cmd, &ends, first);
		if (!ret)
			cmx_cursor_advance(cmd, &c, ends.len);
	}
	*budget -= min_t(size_t, *budget, (size_t)spans * CMX_SLOT_SIZE);
	if (ret)
		return ret;
	/* One step took it to its end: the bytes lie in one mapping on either side. */
	cmd->ends_known = spans == 1;
	if (cmd->ends_known) {
		cmd->ends = ends;
		cmd->ends_generation = vm->generation;
	}
	return c.total ? 0 : cmx_charge_empty(cmd);
}

int cmx_vm_read(struct cmx_vm *vm, u64 va, void *to, size_t len)
{
	struct cmx_span span;

	guard(rwsem_read)(&vm->lock);
	while (len) {
		int ret = cmx_vm_translate(vm, va, len, CMX_MAP_READ, &span);
		size_t part;
		void *from;

		if (ret)
			return ret;
		if (span.no_data)
			return -EACCES;
		part = span.len;
		from = cmx_bo_access(span.bo, span.offset, &part, false);
		if (IS_ERR(from))
			return PTR_ERR(from);
		memcpy(to, from, part);
		va += part;
		to += part;
		len -= part;
	}
	return 0;
}

int cmx_move_load_list(struct cmx_cmd *cmd)
{
	const struct cmx_entry_copy_sg *sg = (const void *)cmd->entry;
	size_t size = array_size(sg->count, sizeof(*cmd->list));
	u64 total = 0;
	int ret;

	if (!cmd->list)
		cmd->list = kvmalloc(size, GFP_KERNEL_ACCOUNT);
	if (!cmd->list)
		return -ENOMEM;
	ret = cmx_vm_read(&cmd->queue->obj.file->vm, sg->list_va, cmd->list, size);
	if (ret)
		return ret;
	for (u32 i = 0; i < sg->count; i++) {
		if (cmd->list[i].pad)
			return -EINVAL;
		if (!cmd->list[i].len || cmd->list[i].len > CMX_MAX_LEN - total)
			return -EMSGSIZE;
		total += cmd->list[i].len;
	}
	return 0;
}
