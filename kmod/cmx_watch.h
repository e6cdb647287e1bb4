/* SPDX-License-Identifier: GPL-2.0-only */
/* Waiters for a u64 in memory. */
#ifndef CMX_WATCH_H
#define CMX_WATCH_H

#include <linux/list.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct cmx_bo;
struct cmx_timeline;
struct cmx_vm;

/** struct cmx_writer - the command that wrote a word; all zero: the host did. */
struct cmx_writer {
	/** @timeline: number of its timeline. */
	u32 timeline;
	/** @uasid: its client. */
	u32 uasid;
	/** @queue: handle of its queue. */
	u32 queue;
	/** @index: its first slot. */
	u32 index;
};

/**
 * struct cmx_watch - a comparison that waits to become true.
 *
 * In @bo's tree while armed; when a device write satisfies it, it moves to the
 * inbox of its timeline with the time of that write.  The owner's timeline lock is
 * held to arm, cancel and take it from the inbox; a writer on another timeline holds
 * only cmx_bo.watch_lock and cmx_timeline.inbox_lock.
 */
struct cmx_watch {
	/** @rb: in cmx_bo.watches. */
	struct rb_node rb;
	/** @inbox: in cmx_timeline.inbox. */
	struct list_head inbox;
	/** @timeline: whose inbox. */
	struct cmx_timeline *timeline;
	/** @fire: called from the inbox, timeline lock held. */
	void (*fire)(struct cmx_watch *watch);
	/** @bo: memory, a reference while armed or fired; NULL: idle. */
	struct cmx_bo *bo;
	/** @word: kernel address of the u64. */
	u64 *word;
	/** @offset: its place in @bo. */
	u64 offset;
	/** @value: compared with. */
	u64 value;
	/** @time: when it was satisfied. */
	u64 time;
	/** @by: who satisfied it. */
	struct cmx_writer by;
	/** @cond: enum cmx_cond. */
	u32 cond;
	/** @foreign: satisfied from another timeline. */
	bool foreign;
};

bool cmx_cond_holds(u32 cond, u64 memory, u64 value);

/*
 * cmx_watch_arm() - wait for a u64 of the address space, unless the comparison holds.
 *
 * Return: 1 it holds, nothing is armed; 0 armed; -EFAULT, -EACCES, -EOPNOTSUPP
 * (CMX_BO_NO_DATA), -ENOMEM.
 */
int cmx_watch_arm(struct cmx_watch *watch, struct cmx_vm *vm, u64 va);
/* cmx_watch_cancel() - stop waiting, armed or fired; the timeline lock is held. */
void cmx_watch_cancel(struct cmx_watch *watch);
/*
 * cmx_watch_notify() - bytes of a BO were written at virtual @time.
 * @from: timeline of the writer; its lock is held
 */
void cmx_watch_notify(struct cmx_bo *bo, u64 offset, u64 len, struct cmx_timeline *from,
		      u64 time);

#endif
