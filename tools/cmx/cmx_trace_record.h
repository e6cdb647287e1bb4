/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events of the module out of the kernel's ring buffers, as docs/abi/tracepoints has them.
 */
#ifndef CMX_TRACE_RECORD_H
#define CMX_TRACE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "cmx_trace_session.h"

/** enum cmx_trace_record_kind - events that are kept. */
enum cmx_trace_record_kind {
	CMX_RECORD_DOORBELL,
	CMX_RECORD_FETCH,
	CMX_RECORD_START,
	CMX_RECORD_COMPLETE,
	CMX_RECORD_WAIT,
	CMX_RECORD_WAKE,
	CMX_RECORD_TRANSFER,
	CMX_RECORD_ERROR,
	CMX_RECORD_KINDS,
};

/** struct cmx_trace_record - an event; what it does not have is 0. */
struct cmx_trace_record {
	/** @host_ns: when the host saw it. */
	uint64_t host_ns;
	/** @start_ps: of the command or the transfer. */
	uint64_t start_ps;
	/** @now_ps: clock; TRANSFER: arrival. */
	uint64_t now_ps;
	/** @bytes: moved. */
	uint64_t bytes;
	/** @user_ctx: of the entry. */
	uint64_t user_ctx;
	/** @va: WAIT: of the word. */
	uint64_t va;
	/** @value: WAIT: compared with. */
	uint64_t value;
	/** @kind: enum cmx_trace_record_kind. */
	uint32_t kind;
	/** @timeline: clock's number. */
	uint32_t timeline;
	/** @uasid: client. */
	uint32_t uasid;
	/** @queue: handle. */
	uint32_t queue;
	/** @entity: where the queue is. */
	uint32_t entity;
	/** @index: first slot of the entry. */
	uint32_t index;
	/** @from: TRANSFER: entity; WAKE: writer's timeline. */
	uint32_t from;
	/** @to: TRANSFER: entity; WAKE: writer's client, 0: the host. */
	uint32_t to;
	/** @by_queue: WAKE: writer's queue. */
	uint32_t by_queue;
	/** @by_index: WAKE: writer's entry. */
	uint32_t by_index;
	/** @queue_class: enum drm_cmx_queue_class. */
	uint32_t queue_class;
	/** @opcode: of the entry. */
	uint32_t opcode;
	/** @status: of its completion. */
	uint32_t status;
};

struct cmx_trace_layout;

/** struct cmx_trace_log - records in the order of the host's clock once sorted. */
struct cmx_trace_log {
	/** @layout: where fields are. */
	struct cmx_trace_layout *layout;
	/** @records: records. */
	struct cmx_trace_record *records;
	/** @num_records: how many. */
	size_t num_records;
	/** @max_records: room. */
	size_t max_records;
	/** @lost: events the ring buffer says are missing, or that found no memory here. */
	uint64_t lost;
	/** @page: room for a page of a ring buffer. */
	uint8_t *page;
};

/* All return 0, or -1 with a text on stderr. */

/** cmx_trace_log_open() - learn where the running kernel puts the fields. */
int cmx_trace_log_open(struct cmx_trace_log *log, const struct cmx_trace_session *session);

/** cmx_trace_log_drain() - take what is in the buffers; 1: there is more. */
int cmx_trace_log_drain(struct cmx_trace_log *log, const struct cmx_trace_session *session);

/** cmx_trace_log_sort() - by host time. */
void cmx_trace_log_sort(struct cmx_trace_log *log);

void cmx_trace_log_close(struct cmx_trace_log *log);

#endif /* CMX_TRACE_RECORD_H */
