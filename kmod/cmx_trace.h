/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints; their fields are ABI, see docs/abi/tracepoints. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM cmx

#if !defined(CMX_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define CMX_TRACE_H

#include <linux/tracepoint.h>

#include "cmx_file.h"
#include "cmx_flow.h"
#include "cmx_queue.h"
#include "cmx_timeline.h"
#include "cmx_watch.h"

TRACE_EVENT(cmx_doorbell,
	TP_PROTO(const struct cmx_queue *q),
	TP_ARGS(q),
	TP_STRUCT__entry(
		__field(u32, timeline)
		__field(u32, uasid)
		__field(u32, queue)
		__field(u32, entity)
		__field(u64, now_ps)
	),
	TP_fast_assign(
		__entry->timeline = q->member->timeline->id;
		__entry->uasid = q->obj.file->uasid;
		__entry->queue = q->obj.handle;
		__entry->entity = q->args.entity;
		__entry->now_ps = q->member->timeline->now;
	),
	TP_printk("timeline=%u uasid=%u queue=%u entity=%u now_ps=%llu", __entry->timeline,
		  __entry->uasid, __entry->queue, __entry->entity, __entry->now_ps)
);

DECLARE_EVENT_CLASS(cmx_command,
	TP_PROTO(const struct cmx_queue *q, const struct cmx_cmd *cmd),
	TP_ARGS(q, cmd),
	TP_STRUCT__entry(
		__field(u32, timeline)
		__field(u32, uasid)
		__field(u32, queue)
		__field(u32, entity)
		__field(u32, index)
		__field(u8, queue_class)
		__field(u8, opcode)
		__field(u8, status)
		__field(u64, user_ctx)
		__field(u64, start_ps)
		__field(u64, now_ps)
		__field(u64, len)
	),
	TP_fast_assign(
		__entry->timeline = q->member->timeline->id;
		__entry->uasid = q->obj.file->uasid;
		__entry->queue = q->obj.handle;
		__entry->entity = q->args.entity;
		__entry->index = cmd->node.index;
		__entry->queue_class = q->args.queue_class;
		__entry->opcode = cmx_cmd_header(cmd)->opcode;
		__entry->status = cmd->status;
		__entry->user_ctx = cmx_cmd_header(cmd)->user_ctx;
		__entry->start_ps = cmd->start;
		__entry->now_ps = q->member->timeline->now;
		__entry->len = cmd->len;
	),
	TP_printk("timeline=%u uasid=%u queue=%u entity=%u index=%u queue_class=%u opcode=%#x status=%u user_ctx=%#llx start_ps=%llu now_ps=%llu len=%llu",
		  __entry->timeline, __entry->uasid, __entry->queue, __entry->entity,
		  __entry->index, __entry->queue_class, __entry->opcode, __entry->status,
		  __entry->user_ctx, __entry->start_ps, __entry->now_ps, __entry->len)
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
	TP_PROTO(const struct cmx_queue *q, const struct cmx_cmd *cmd, u64 va, u64 value),
	TP_ARGS(q, cmd, va, value),
	TP_STRUCT__entry(
		__field(u32, timeline)
		__field(u32, uasid)
		__field(u32, queue)
		__field(u32, index)
		__field(u64, va)
		__field(u64, value)
		__field(u64, now_ps)
	),
	TP_fast_assign(
		__entry->timeline = q->member->timeline->id;
		__entry->uasid = q->obj.file->uasid;
		__entry->queue = q->obj.handle;
		__entry->index = cmd->node.index;
		__entry->va = va;
		__entry->value = value;
		__entry->now_ps = q->member->timeline->now;
	),
	TP_printk("timeline=%u uasid=%u queue=%u index=%u va=%#llx value=%#llx now_ps=%llu",
		  __entry->timeline, __entry->uasid, __entry->queue, __entry->index,
		  __entry->va, __entry->value, __entry->now_ps)
);

TRACE_EVENT(cmx_wake,
	TP_PROTO(const struct cmx_queue *q, const struct cmx_cmd *cmd,
		 const struct cmx_writer *by, u64 time),
	TP_ARGS(q, cmd, by, time),
	TP_STRUCT__entry(
		__field(u32, timeline)
		__field(u32, uasid)
		__field(u32, queue)
		__field(u32, index)
		__field(u32, by_timeline)
		__field(u32, by_uasid)
		__field(u32, by_queue)
		__field(u32, by_index)
		__field(u64, now_ps)
	),
	TP_fast_assign(
		__entry->timeline = q->member->timeline->id;
		__entry->uasid = q->obj.file->uasid;
		__entry->queue = q->obj.handle;
		__entry->index = cmd->node.index;
		__entry->by_timeline = by->timeline;
		__entry->by_uasid = by->uasid;
		__entry->by_queue = by->queue;
		__entry->by_index = by->index;
		__entry->now_ps = time;
	),
	TP_printk("timeline=%u uasid=%u queue=%u index=%u by_timeline=%u by_uasid=%u by_queue=%u by_index=%u now_ps=%llu",
		  __entry->timeline, __entry->uasid, __entry->queue, __entry->index,
		  __entry->by_timeline, __entry->by_uasid, __entry->by_queue,
		  __entry->by_index, __entry->now_ps)
);

TRACE_EVENT(cmx_transfer,
	TP_PROTO(const struct cmx_member *member, u32 queue, u32 entity, u32 index,
		 const struct cmx_flow *flow),
	TP_ARGS(member, queue, entity, index, flow),
	TP_STRUCT__entry(
		__field(u32, timeline)
		__field(u32, uasid)
		__field(u32, queue)
		__field(u32, entity)
		__field(u32, index)
		__field(u32, from)
		__field(u32, to)
		__field(u64, bytes)
		__field(u64, start_ps)
		__field(u64, done_ps)
	),
	TP_fast_assign(
		__entry->timeline = member->timeline->id;
		__entry->uasid = member->obj.file->uasid;
		__entry->queue = queue;
		__entry->entity = entity;
		__entry->index = index;
		__entry->from = flow->from;
		__entry->to = flow->to;
		__entry->bytes = flow->bytes;
		__entry->start_ps = flow->start;
		__entry->done_ps = flow->end;
	),
	TP_printk("timeline=%u uasid=%u queue=%u entity=%u index=%u from=%u to=%u bytes=%llu start_ps=%llu done_ps=%llu",
		  __entry->timeline, __entry->uasid, __entry->queue, __entry->entity,
		  __entry->index, __entry->from, __entry->to, __entry->bytes,
		  __entry->start_ps, __entry->done_ps)
);

TRACE_EVENT(cmx_error,
	TP_PROTO(const struct cmx_queue *q, u32 status),
	TP_ARGS(q, status),
	TP_STRUCT__entry(
		__field(u32, timeline)
		__field(u32, uasid)
		__field(u32, queue)
		__field(u32, status)
		__field(u64, now_ps)
	),
	TP_fast_assign(
		__entry->timeline = q->member->timeline->id;
		__entry->uasid = q->obj.file->uasid;
		__entry->queue = q->obj.handle;
		__entry->status = status;
		__entry->now_ps = q->member->timeline->now;
	),
	TP_printk("timeline=%u uasid=%u queue=%u status=%u now_ps=%llu", __entry->timeline,
		  __entry->uasid, __entry->queue, __entry->status, __entry->now_ps)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE cmx_trace
#include <trace/define_trace.h>
