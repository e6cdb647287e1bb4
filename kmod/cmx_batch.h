/* SPDX-License-Identifier: GPL-2.0-only */
/* Launches handed to a thread. */
#ifndef CMX_BATCH_H
#define CMX_BATCH_H

#include <linux/list.h>
#include <linux/types.h>

#include "cmx_drm.h"
#include "cmx_launch.h"

struct cmx_file;
struct cmx_member;
struct task_struct;

/**
 * struct cmx_batch - launches a thread carries out.
 */
struct cmx_batch {
	/** @id: number on the timeline. */
	u64 id;
	/** @link: in cmx_timeline.batches. */
	struct list_head link;
	/** @member: file they belong to. */
	struct cmx_member *member;
	/** @owner: thread, a reference. */
	struct task_struct *owner;
	/** @actor: actor whose wait the thread had, or NULL. */
	struct cmx_actor *actor;
	/** @count: launches. */
	u32 count;
	/** @launches: in order; NULL: its queue was destroyed. */
	struct cmx_launch *launches[];
};

/**
 * struct cmx_outcomes - outcomes copied from the client.
 */
struct cmx_outcomes {
	/** @count: elements. */
	u32 count;
	/** @total: records of all of them. */
	u32 total;
	/** @items: outcomes. */
	struct drm_cmx_outcome *items;
	/** @records: records of each (kvmalloc()), or NULL. */
	struct cmx_record **records;
};

/* cmx_outcomes_copy() - from user memory; no lock held. */
int cmx_outcomes_copy(struct cmx_file *file, const struct drm_cmx_array *array,
		      struct cmx_outcomes *outcomes);
void cmx_outcomes_free(struct cmx_outcomes *outcomes);

/* All with the timeline's lock held. */

/* cmx_batch_find() - the calling thread's batch of this member, or NULL. */
struct cmx_batch *cmx_batch_find(struct cmx_member *member);
/* cmx_batch_settle() - take the outcomes; the batch is over. */
void cmx_batch_settle(struct cmx_batch *batch, struct cmx_outcomes *outcomes);
/* cmx_batch_take() - hand launches to the calling thread; ERR_PTR(-ENOMEM). */
struct cmx_batch *cmx_batch_take(struct cmx_member *member, struct cmx_actor *actor, u32 max);
/* cmx_batch_return() - the thread did not get it: undo cmx_batch_take(). */
void cmx_batch_return(struct cmx_batch *batch);
/* cmx_batch_fill() - what the thread is told about launch @i. */
void cmx_batch_fill(const struct cmx_batch *batch, u32 i, struct drm_cmx_launch *out);
/* cmx_batches_reap() - fail batches whose threads have ended. */
void cmx_batches_reap(struct cmx_timeline *tl);
/* cmx_batches_drop() - the member goes. */
void cmx_batches_drop(struct cmx_member *member);

#endif
