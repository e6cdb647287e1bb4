/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel launches: their bounds, outcomes and remote traffic. */
#ifndef CMX_LAUNCH_H
#define CMX_LAUNCH_H

#include <linux/list.h>

#include "cmx_bo.h"
#include "cmx_drm.h"
#include "cmx_entity.h"
#include "cmx_flow.h"
#include "cmx_heap.h"
#include "cmx_vm.h"

struct cmx_batch;
struct cmx_cmd;
struct cmx_member;
struct cmx_timeline;

#define CMX_MAX_RECORDS		65536
#define CMX_MAX_RUN_RECORDS	(16 * CMX_MAX_RECORDS)	/* of one RUN's outcomes */
#define CMX_MAX_BATCH		256
#define CMX_NOT_YET		U64_MAX	/* slices of a record have to enter first; 0 is a time */

/**
 * struct cmx_train - records of a launch that arrive in the order in which they left.
 *
 * Only the first is in the heap, however many are on their way: the one behind it takes its
 * place when it arrives.
 */
struct cmx_train {
	/** @last: what left last, or NULL: it has arrived. */
	struct cmx_parcel *last;
};

/**
 * struct cmx_launch - what a launch has beside its command.
 *
 * It ends with its command, and is there until the last of its records has arrived.
 */
struct cmx_launch {
	/** @node: event of the next record to be sent. */
	struct cmx_heap_node node;
	/** @refs: @cmd, and records on their way. */
	u32 refs;
	/** @queue: handle of the command's queue. */
	u32 queue;
	/** @member: that queue's. */
	struct cmx_member *member;
	/** @cmd: command, or NULL: it is over. */
	struct cmx_cmd *cmd;
	/** @ready: in cmx_member.launches until handed out. */
	struct list_head ready;
	/** @batch: batch it was handed out in, or NULL. */
	struct cmx_batch *batch;
	/** @place: its place there. */
	u32 place;
	/** @chain: its chain there. */
	u32 chain;
	/** @settled: the outcome is in. */
	bool settled;
	/** @status: cmx_cmd.status it will have. */
	u32 status;
	/** @code: the kernel's code. */
	u32 code;
	/** @num_records: records. */
	u32 num_records;
	/** @next_record: next one to send. */
	u32 next_record;
	/** @send_at: not before that. */
	u64 send_at;
	/** @entering: the last one sent, as long as slices of it wait to enter, else NULL. */
	struct cmx_parcel *entering;
	/** @cost: final cost. */
	struct cmx_cost cost;
	/** @generation: cmx_vm.generation when @records were looked up. */
	u64 generation;
	/** @records: remote traffic (kvmalloc()). */
	struct cmx_record *records;
	/** @trains: what is on its way, by whether it goes to another node: that is slower. */
	struct cmx_train trains[2];
};

/**
 * struct cmx_parcel - a record on its way.
 */
struct cmx_parcel {
	/** @node: arrival. */
	struct cmx_heap_node node;
	/** @link: in cmx_member.parcels or cmx_timeline.parcels. */
	struct list_head link;
	/** @launch: whose it is: a reference. */
	struct cmx_launch *launch;
	/** @record: what to do: one of the launch's. */
	const struct cmx_record *record;
	/** @progress: bytes applied. */
	u64 progress;
	/** @flow: the transfer as long as it has to wait for a server, else NULL. */
	struct cmx_flow *flow;
	/** @behind: next one of its train, not in the heap yet, or NULL. */
	struct cmx_parcel *behind;
};

/*
 * Two fields of a record are zero when it comes.  In our copy of it they keep, once it was
 * looked up, where it goes, and whether nothing happens there: that is good as long as no
 * mapping comes or goes.
 */
static inline void cmx_record_aim(struct cmx_record *record, const struct cmx_span *to,
				  bool nothing)
{
	record->tseg = to->entity;
	record->pad2 = nothing;
}

/* All with the timeline's lock held; 0 or -ENOMEM (the event stays, try again). */

/* cmx_launch_start() - issue a launch. */
int cmx_launch_start(struct cmx_cmd *cmd);
/*
 * cmx_launch_is_sending() - whether records are left of a launch that is else done.
 *
 * If not, cmx_cmd.node.time is no earlier than the last one left.
 */
bool cmx_launch_is_sending(struct cmx_cmd *cmd);
/* cmx_launch_settle() - at its bound: 1: the outcome is missing. */
int cmx_launch_settle(struct cmx_cmd *cmd, size_t *budget);
/* cmx_launch_outcome() - its outcome is in. */
void cmx_launch_outcome(struct cmx_launch *launch);
/* cmx_launch_send() - send the next record. */
int cmx_launch_send(struct cmx_launch *launch);
/* cmx_launch_go_on() - all of the last one has entered: the next can from @at on. */
void cmx_launch_go_on(struct cmx_launch *launch, u64 at);
/* cmx_parcel_alloc() - for the launch's next record, or NULL. */
struct cmx_parcel *cmx_parcel_alloc(struct cmx_launch *launch);
/*
 * cmx_parcel_charge() - it leaves now; what has no way is lost.
 * @next: out: when the next one can leave, or CMX_NOT_YET
 *
 * Return: false: it is gone.
 */
bool cmx_parcel_charge(struct cmx_parcel *parcel, u64 *next);
/* cmx_parcel_depart() - have it go on at its time. */
void cmx_parcel_depart(struct cmx_parcel *parcel);
/* cmx_parcel_apply() - a record goes on, or arrives; -EAGAIN: the slice is used up. */
int cmx_parcel_apply(struct cmx_parcel *parcel, size_t *budget);
/* cmx_launch_alloc() - state for @cmd, with its arguments' cost. */
int cmx_launch_alloc(struct cmx_cmd *cmd);
/* cmx_launch_count() - it completed now: what it used of its die. */
void cmx_launch_count(struct cmx_cmd *cmd);
/* cmx_launch_end() - its command goes. */
void cmx_launch_end(struct cmx_launch *launch);
/* cmx_launch_put() - one reference less. */
void cmx_launch_put(struct cmx_launch *launch);
/* cmx_batch_forget() - @launch goes away while a thread has it. */
void cmx_batch_forget(struct cmx_launch *launch);
/* cmx_launches_cancel() - end those that wait for a thread, at their bounds. */
void cmx_launches_cancel(struct cmx_member *member);
/* cmx_parcels_free() - the timeline goes: its unused ones. */
void cmx_parcels_free(struct cmx_timeline *tl);
/* cmx_parcels_drop() - the member goes: what it sent is lost. */
void cmx_parcels_drop(struct cmx_member *member);

#endif
