/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints; their fields are ABI, see docs/abi/tracepoints. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cmx

#if !defined(CMX_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CMX_TRACE_H

#include <linux/tracepoint.h>

#include "cmx_file.h"
#include "cmx_queue.h"
#include "cmx_timeline.h"

TRACE_EVENT(cmx_doorbell,
	TP_PROTO(const struct cmx_queue *q),
	TP_ARGS(q),
	TP_STRUCT__entry(
		__field(u32, uasid)
		__field(u32, queue)
		__field(u32, entity)
		__field(u64, now_ps)
	),
	TP_fast_assign(
		__entry->uasid = q->obj.file->uasid;
		__entry->queue = q->obj.handle;
		__entry->entity = q->args.entity;
		__entry->now_ps = q->member->timeline->now;
	),
	TP_printk("uasid=%u queue=%u entity=%u now_ps=%llu", __entry->uasid, __entry->queue,
		  __entry->entity, __entry->now_ps)
);

DECLARE_EVENT_CLASS(cmx_command,
	TP_PROTO(const struct cmx_queue *q, const struct cmx_cmd *cmd),
	TP_ARGS(q, cmd),
	TP_STRUCT__entry(
		__field(u32, uasid)
		__field(u32, queue)
		__field(u32, entity)
		__field(u32, index)
		__field(u8, opcode)
		__field(u8, status)
		__field(u64, user_ctx)
		__field(u64, start_ps)
		__field(u64, now_ps)
		__field(u64, len)
	),
	TP_fast_assign(
		__entry->uasid = q->obj.file->uasid;
		__entry->queue = q->obj.handle;
		__entry->entity = q->args.entity;
		__entry->index = cmd->node.index;
		__entry->opcode = cmx_cmd_header(cmd)->opcode;
		__entry->status = cmd->status;
		__entry->user_ctx = cmx_cmd_header(cmd)->user_ctx;
		__entry->start_ps = cmd->start;
		__entry->now_ps = q->member->timeline->now;
		__entry->len = cmd->len;
	),
	TP_printk("uasid=%u queue=%u entity=%u index=%u opcode=%#x status=%u user_ctx=%#llx start_ps=%llu now_ps=%llu len=%llu",
		  __entry->uasid, __entry->queue, __entry->entity, __entry->index,
		  __entry->opcode, __entry->status, __entry->user_ctx, __entry->start_ps,
		  __entry->now_ps, __entry->len)
);

DEFINE_EVENT(cmx_command, cmx_fetch,
	TP_PROTO(const struct cmx_queue *q, const struct cmx_cmd *cmd),
	TP_ARGS(q, cmd)
);

DEFINE_EVENT(cmx_command, cmx_start,
	TP_PROTO(const struct cmx_queue *q, const struct cmx_cmd *cmd),
	TP_ARGS(q, cmd)
);

DEFINE_EVENT(cmx_command, cmx_complete,
	TP_PROTO(const struct cmx_queue *q, const struct cmx_cmd *cmd),
	TP_ARGS(q, cmd)
);

TRACE_EVENT(cmx_wait,
	TP_PROTO(const struct cmx_queue *q, u64 va, u64 value),
	TP_ARGS(q, va, value),
	TP_STRUCT__entry(
		__field(u32, uasid)
		__field(u32, queue)
		__field(u64, va)
		__field(u64, value)
		__field(u64, now_ps)
	),
	TP_fast_assign(
		__entry->uasid = q->obj.file->uasid;
		__entry->queue = q->obj.handle;
		__entry->va = va;
		__entry->value = value;
		__entry->now_ps = q->member->timeline->now;
	),
	TP_printk("uasid=%u queue=%u va=%#llx value=%#llx now_ps=%llu", __entry->uasid,
		  __entry->queue, __entry->va, __entry->value, __entry->now_ps)
);

TRACE_EVENT(cmx_error,
	TP_PROTO(const struct cmx_queue *q, u32 status),
	TP_ARGS(q, status),
	TP_STRUCT__entry(
		__field(u32, uasid)
		__field(u32, queue)
		__field(u32, status)
		__field(u64, now_ps)
	),
	TP_fast_assign(
		__entry->uasid = q->obj.file->uasid;
		__entry->queue = q->obj.handle;
		__entry->status = status;
		__entry->now_ps = q->member->timeline->now;
	),
	TP_printk("uasid=%u queue=%u status=%u now_ps=%llu", __entry->uasid, __entry->queue,
		  __entry->status, __entry->now_ps)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cmx_trace
#include <trace/define_trace.h>
