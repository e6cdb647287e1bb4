/* SPDX-License-Identifier: GPL-2.0-only */
/* Queues and the commands they have in flight. */
#ifndef CMX_QUEUE_H
#define CMX_QUEUE_H

#include "cmx_cq.h"
#include "cmx_drm.h"
#include "cmx_heap.h"
#include "cmx_leg.h"
#include "cmx_move.h"
#include "cmx_object.h"
#include "cmx_ring.h"
#include "cmx_watch.h"

struct cmx_launch;
struct cmx_rq;
struct cmx_timeline;
struct seq_file;

#define CMX_MAX_INFLIGHT	64

/**
 * struct cmx_queue - a send queue on an entity.
 *
 * The timeline's lock protects it from creation to detach.
 */
struct cmx_queue {
	/** @obj: base. */
	struct cmx_object obj;
	/** @member: timeline membership; it, the CQ and the RQ are used (cmx_object.users). */
	struct cmx_member *member;
	/** @cq: completion ring. */
	struct cmx_cq *cq;
	/** @rq: receive ring, or NULL. */
	struct cmx_rq *rq;
	/** @rw: struct cmx_ring_producer and the slots. */
	struct cmx_shared *rw;
	/** @ro: struct cmx_ring_consumer. */
	struct cmx_shared *ro;
	/** @args: how it was created. */
	struct drm_cmx_queue_create args;
	/** @ordinal: number on the timeline. */
	u32 ordinal;
	/** @head: slots ever taken. */
	u32 head;
	/** @tail: slots ever written, as last seen and checked. */
	u32 tail;
	/** @state: enum ub_queue_state. */
	u32 state;
	/** @status: what moved it to UB_QUEUE_ERROR. */
	u32 status;
	/** @generation: entries into UB_QUEUE_READY. */
	u32 generation;
	/** @waiting: enum drm_cmx_waiting. */
	u32 waiting;
	/** @busy: counted in cmx_member.busy. */
	bool busy;
	/** @blocked: the next entry waits for the last one's completion. */
	bool blocked;
	/** @marker: a flush marker is owed. */
	bool marker;
	/** @flushing: @flush_end is set. */
	bool flushing;
	/** @flush_end: slots the flush goes up to. */
	u32 flush_end;
	/** @detached: no longer on the timeline. */
	bool detached;
	/** @num_inflight: commands in @inflight. */
	u32 num_inflight;
	/** @inflight: commands issued and not complete, oldest first. */
	struct list_head inflight;
	/** @chained: launches taken ahead for a batch, oldest first. */
	struct list_head chained;
	/** @pending: in cmx_timeline.pending. */
	struct list_head pending;
	/** @starved: in cmx_cq.starved. */
	struct list_head starved;
	/** @ready: when the next entry may be issued. */
	u64 ready;
	/** @last_done: latest completion so far. */
	u64 last_done;
	/** @commands: entries completed. */
	u64 commands;
	/** @bytes: bytes moved. */
	u64 bytes;
};

/** enum cmx_phase - where a command is. */
enum cmx_phase {
	CMX_PHASE_CHAINED,	/* taken ahead, not started */
	CMX_PHASE_START,	/* in the heap: to be issued */
	CMX_PHASE_HELD,		/* to be issued when all earlier ones are complete */
	CMX_PHASE_WAIT,		/* a WAIT that is not satisfied, a SEND without receiver */
	CMX_PHASE_LAUNCH,	/* in the heap at its bound: waits for its outcome */
	CMX_PHASE_FLOW,		/* in the heap: its transfers are being charged */
	CMX_PHASE_SENDING,	/* a launch that is done but for records it has not sent */
	CMX_PHASE_LANDED,	/* done, and an earlier one is not: completes after that */
	CMX_PHASE_COMPLETE,	/* in the heap: to take effect and complete */
};

/**
 * struct cmx_cmd - one entry being carried out.
 *
 * What every event looks at comes first: with thousands of queues each line is a miss.
 */
struct cmx_cmd {
	/** @node: event. */
	struct cmx_heap_node node;
	/** @link: in cmx_queue.inflight, cmx_queue.chained or cmx_timeline.pool. */
	struct list_head link;
	/** @queue: queue. */
	struct cmx_queue *queue;
	/** @phase: enum cmx_phase. */
	u32 phase;
	/** @status: what the completion says. */
	u32 status;
	/** @retries: receiver-not-ready retries made. */
	u32 retries;
	/** @received: @recv is taken. */
	bool received;
	/** @extrapolated: its time is outside the calibration. */
	bool extrapolated;
	/** @ends_known: @ends and @ends_generation are set. */
	bool ends_known;
	/** @launch: state of a launch, or NULL. */
	struct cmx_launch *launch;
	/** @start: when it was issued. */
	u64 start;
	/** @done: when it is done, by what was charged so far. */
	u64 done;
	/** @len: bytes moved. */
	u64 len;
	/** @imm: completion's immediate. */
	u64 imm;
	/** @cursor: what was moved. */
	struct cmx_cursor cursor;
	/** @entry: private copy of the slots. */
	u64 entry[CMX_ENTRY_MAX_SLOTS * CMX_SLOT_SIZE / sizeof(u64)];
	/** @ends: a move's both ends as translated at issue, if they are one piece. */
	struct cmx_ends ends;
	/** @ends_generation: cmx_vm.generation then. */
	u64 ends_generation;
	/** @list: CMX_OP_COPY_SG: private copy of the list (kvmalloc()), or NULL. */
	struct cmx_sg *list;
	/** @rq: receive ring a message goes to. */
	struct cmx_rq *rq;
	/** @receive: in cmx_rq.waiters. */
	struct list_head receive;
	/** @recv: receive entry of a message. */
	struct cmx_rq_entry recv;
	/** @watch: comparison of a WAIT. */
	struct cmx_watch watch;
	/** @flow: CMX_PHASE_FLOW: transfer that is being charged. */
	struct cmx_flow flow;
	/** @legs: CMX_PHASE_FLOW: all of them. */
	struct cmx_legs legs;
};

static inline struct cmx_queue *to_cmx_queue(struct cmx_object *obj)
{
	return container_of(obj, struct cmx_queue, obj);
}

static inline const struct cmx_entry_header *cmx_cmd_header(const struct cmx_cmd *cmd)
{
	return (const struct cmx_entry_header *)cmd->entry;
}

/* All with the timeline's lock held. */

/* cmx_queue_pend() - have the queue's next entry fetched before the clock moves. */
void cmx_queue_pend(struct cmx_queue *q);
/* cmx_timeline_pump() - fetch for pending queues; 1: there are more; -ENOMEM: try again. */
int cmx_timeline_pump(struct cmx_timeline *tl);
/* cmx_queue_fail() - to UB_QUEUE_ERROR; entries left will be flushed. */
void cmx_queue_fail(struct cmx_queue *q, u32 status);
/* cmx_queue_entity_down() - its entity went down: what it waits for cannot reach it. */
void cmx_queue_entity_down(struct cmx_queue *q);
/* cmx_cmd_finish() - @cmd is over at the clock's time: completion, next entry. */
void cmx_cmd_finish(struct cmx_cmd *cmd);
/*
 * cmx_cmd_complete_at() - let @cmd take effect and complete at @time, or when the earlier
 * ones of its queue are complete.
 */
void cmx_cmd_complete_at(struct cmx_cmd *cmd, u64 time);
/* cmx_queue_chain() - take the next entry ahead if it is a launch; NULL: it is not. */
struct cmx_cmd *cmx_queue_chain(struct cmx_queue *q);
/* cmx_cmd_free() - back to the timeline's pool; it must not be in the heap. */
void cmx_cmd_free(struct cmx_cmd *cmd);
/* cmx_queue_show() - a line for debugfs. */
void cmx_queue_show(struct seq_file *m, struct cmx_queue *q);
void cmx_cmd_cache_fini(struct cmx_timeline *tl);
int cmx_cmd_cache_create(void);
void cmx_cmd_cache_destroy(void);

#endif
