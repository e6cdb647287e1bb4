// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cmx_array.h"
#include "cmx_batch.h"
#include "cmx_file.h"
#include "cmx_queue.h"
#include "cmx_timeline.h"

void cmx_outcomes_free(struct cmx_outcomes *outcomes)
{
	for (u32 i = 0; outcomes->records && i < outcomes->count; i++)
		kvfree(outcomes->records[i]);
	kvfree(outcomes->records);
	kvfree(outcomes->items);
}

#define CMX_LOAD_PIECE		SZ_64K

/* Between pieces of a long copy; -EINTR: the caller is to end. */
static int cmx_load_pause(void)
{
	cond_resched();
	return fatal_signal_pending(current) ? -EINTR : 0;
}

/* Elements that are all of this version: one piece of memory. */
static int cmx_array_load_all(const struct drm_cmx_array *array, u8 *all, size_t size)
{
	size_t left = array_size(array->count, size), part;
	int ret = 0;

	for (u64 from = array->pointer; left && !ret; from += part, all += part, left -= part) {
		part = min_t(size_t, left, CMX_LOAD_PIECE);
		if (copy_from_user(all, u64_to_user_ptr(from), part))
			return -EFAULT;
		ret = cmx_load_pause();
	}
	return ret;
}

static int cmx_array_load_each(const struct drm_cmx_array *array, u8 *all, size_t size)
{
	int ret = 0;

	for (u32 i = 0; !ret && i < array->count; i++) {
		ret = cmx_array_get(array, i, all + i * size, size);
		/* A large stride makes this much more memory than is kept. */
		if (!ret && !(i % 1024))
			ret = cmx_load_pause();
	}
	return ret;
}

/* A whole array, in elements of this version. */
static void *cmx_array_load(struct cmx_file *file, const char *field,
			    const struct drm_cmx_array *array, size_t size)
{
	int ret = cmx_array_check(file, field, array, size);
	u8 *all;

	if (ret)
		return ERR_PTR(ret);
	all = kvmalloc_array(array->count, size, GFP_KERNEL_ACCOUNT);
	if (!all)
		return ERR_PTR(-ENOMEM);
	ret = array->stride == size ? cmx_array_load_all(array, all, size) :
				      cmx_array_load_each(array, all, size);
	if (!ret)
		return all;
	kvfree(all);
	return ERR_PTR(ret);
}

static int cmx_outcome_check(struct cmx_file *file, const struct drm_cmx_outcome *item)
{
	const struct cmx_cost *cost = &item->cost;

	if (item->status > CMX_OUTCOME_SKIPPED)
		return cmx_refuse(file, -EINVAL, "status", item->status, CMX_OUTCOME_SKIPPED,
				  "unknown outcome");
	if (cost->op_class >= CMX_OPS_CLASSES)
		return cmx_refuse(file, -EINVAL, "op_class", cost->op_class, CMX_OPS_CLASSES - 1,
				  "unknown class of operations");
	if (cost->efficiency >= CMX_EFF_CLASSES)
		return cmx_refuse(file, -EINVAL, "efficiency", cost->efficiency,
				  CMX_EFF_CLASSES - 1, "unknown class of efficiency");
	if (item->status == CMX_OUTCOME_FAILED ? !item->code : !!item->code)
		return cmx_refuse(file, -EINVAL, "code", item->code, 0,
				  "a code belongs to a failed launch, and only there");
	if (item->records.count > CMX_MAX_RECORDS)
		return cmx_refuse(file, -EINVAL, "records", item->records.count, CMX_MAX_RECORDS,
				  "too many records");
	return 0;
}

static int cmx_outcome_copy(struct cmx_file *file, struct cmx_outcomes *outcomes, u32 i)
{
	const struct drm_cmx_outcome *item = &outcomes->items[i];
	void *records;
	int ret = cmx_outcome_check(file, item);

	if (ret || !item->records.count)
		return ret;
	outcomes->total += item->records.count;
	if (outcomes->total > CMX_MAX_RUN_RECORDS)
		return cmx_refuse(file, -EINVAL, "records", outcomes->total, CMX_MAX_RUN_RECORDS,
				  "too many records in one RUN");
	records = cmx_array_load(file, "records", &item->records, sizeof(struct cmx_record));
	if (IS_ERR(records))
		return PTR_ERR(records);
	outcomes->records[i] = records;
	return 0;
}

int cmx_outcomes_copy(struct cmx_file *file, const struct drm_cmx_array *array,
		      struct cmx_outcomes *outcomes)
{
	void *items;
	int ret = 0;

	if (array->count > CMX_MAX_BATCH)
		return cmx_refuse(file, -EINVAL, "outcomes", array->count, CMX_MAX_BATCH,
				  "more than a batch can have");
	items = cmx_array_load(file, "outcomes", array, sizeof(struct drm_cmx_outcome));
	if (IS_ERR(items))
		return PTR_ERR(items);
	outcomes->items = items;
	outcomes->count = array->count;
	outcomes->records = kvcalloc(array->count, sizeof(*outcomes->records),
				     GFP_KERNEL_ACCOUNT);
	if (!outcomes->records)
		ret = -ENOMEM;
	for (u32 i = 0; !ret && i < array->count; i++)
		ret = cmx_outcome_copy(file, outcomes, i);
	return ret;
}

struct cmx_batch *cmx_batch_find(struct cmx_member *member)
{
	struct cmx_batch *batch;

	lockdep_assert_held(&member->timeline->lock);
	list_for_each_entry(batch, &member->timeline->batches, link)
		if (batch->member == member && batch->owner == current)
			return batch;
	return NULL;
}

static void cmx_batch_free(struct cmx_batch *batch)
{
	list_del(&batch->link);
	batch->member->timeline->num_batches--;
	for (u32 i = 0; i < batch->count; i++)
		if (batch->launches[i])
			batch->launches[i]->batch = NULL;
	put_task_struct(batch->owner);
	kfree(batch);
}

static void cmx_launch_take_outcome(struct cmx_launch *launch, struct cmx_outcomes *outcomes,
				    u32 i)
{
	const struct drm_cmx_outcome *item = &outcomes->items[i];

	launch->cost = item->cost;
	launch->code = item->code;
	if (item->status == CMX_OUTCOME_FAILED)
		launch->status = CMX_CR_KERNEL_ERR;
	else if (item->status == CMX_OUTCOME_SKIPPED)
		launch->status = UB_CR_WR_FLUSH_ERR;
	launch->records = outcomes->records[i];
	launch->num_records = item->records.count;
	outcomes->records[i] = NULL;
	cmx_launch_outcome(launch);
}

void cmx_batch_settle(struct cmx_batch *batch, struct cmx_outcomes *outcomes)
{
	struct cmx_member *member = batch->member;

	for (u32 i = 0; i < batch->count; i++)
		if (batch->launches[i])
			cmx_launch_take_outcome(batch->launches[i], outcomes, i);
	cmx_batch_free(batch);
	cmx_timeline_kick(member->timeline);
}

void cmx_batch_forget(struct cmx_launch *launch)
{
	launch->batch->launches[launch->place] = NULL;
	launch->batch = NULL;
}

static void cmx_batch_add(struct cmx_batch *batch, struct cmx_launch *launch, u32 chain)
{
	launch->batch = batch;
	launch->place = batch->count;
	launch->chain = chain;
	batch->launches[batch->count++] = launch;
}

/* The launch and, of the same queue, those behind it that need nothing in between. */
static void cmx_batch_add_chain(struct cmx_batch *batch, struct cmx_launch *launch, u32 chain,
				u32 max)
{
	struct cmx_queue *q = launch->cmd->queue;
	struct cmx_cmd *cmd;

	list_del_init(&launch->ready);
	batch->member->num_launches--;
	cmx_batch_add(batch, launch, chain);
	/* Ones taken ahead before, that a thread gave back. */
	list_for_each_entry(cmd, &q->chained, link)
		if (cmd->launch && !cmd->launch->batch && !cmd->launch->settled &&
		    batch->count < max)
			cmx_batch_add(batch, cmd->launch, chain);
	while (batch->count < max && (cmd = cmx_queue_chain(q)))
		cmx_batch_add(batch, cmd->launch, chain);
}

static struct cmx_batch *cmx_batch_alloc(struct cmx_member *member, struct cmx_actor *actor,
					 u32 max)
{
	struct cmx_timeline *tl = member->timeline;
	struct cmx_batch *batch = kzalloc(struct_size(batch, launches, max), GFP_KERNEL_ACCOUNT);

	if (!batch)
		return NULL;
	batch->id = tl->next_batch++;
	batch->member = member;
	batch->actor = actor;
	batch->owner = get_task_struct(current);
	list_add_tail(&batch->link, &tl->batches);
	/* Those who sleep without a limit begin to look whether the owner lives. */
	if (!tl->num_batches++)
		cmx_timeline_kick(tl);
	return batch;
}

/* Threads that sleep get their share: queues are dealt out, chains stay whole. */
struct cmx_batch *cmx_batch_take(struct cmx_member *member, struct cmx_actor *actor, u32 max)
{
	u32 share = DIV_ROUND_UP(member->num_launches, member->sleepers + 1);
	struct cmx_batch *batch;
	u32 chain = 0;

	max = min_t(u32, max, CMX_MAX_BATCH);
	batch = cmx_batch_alloc(member, actor, max);
	if (!batch)
		return ERR_PTR(-ENOMEM);
	while (chain < share && batch->count < max) {
		struct cmx_launch *launch = list_first_entry(&member->launches, struct cmx_launch,
							     ready);

		cmx_batch_add_chain(batch, launch, chain++, max);
	}
	if (member->num_launches)
		cmx_member_kick(member);
	return batch;
}

static bool cmx_launch_is_started(const struct cmx_launch *launch)
{
	return launch->cmd->phase == CMX_PHASE_LAUNCH;
}

void cmx_batch_return(struct cmx_batch *batch)
{
	struct cmx_member *member = batch->member;

	for (u32 i = batch->count; i-- > 0;) {
		struct cmx_launch *launch = batch->launches[i];

		if (!launch || !cmx_launch_is_started(launch))
			continue;
		list_add(&launch->ready, &member->launches);
		member->num_launches++;
	}
	cmx_batch_free(batch);
	cmx_member_kick(member);
}

void cmx_batch_fill(const struct cmx_batch *batch, u32 i, struct drm_cmx_launch *out)
{
	const struct cmx_launch *launch = batch->launches[i];
	const struct cmx_entry_launch *entry = (const void *)launch->cmd->entry;
	const struct cmx_queue *q = launch->cmd->queue;

	memset(out, 0, sizeof(*out));
	out->queue = q->obj.handle;
	out->entity = q->args.entity;
	out->chain = launch->chain;
	out->grid = entry->grid;
	out->kernel = entry->kernel;
	out->user_ctx = entry->header.user_ctx;
	out->args_size = entry->args_size;
	out->cost = entry->cost;
	/* The arguments go on into the slots behind: the copy is one array. */
	memcpy(out->args, (const u8 *)launch->cmd->entry + offsetof(struct cmx_entry_launch, args),
	       entry->args_size);
}

/* The whole client ended or became another program, not one thread of it alone. */
static bool cmx_batch_client_ended(const struct cmx_batch *batch)
{
	const struct task_struct *owner = batch->owner;

	return !(READ_ONCE(owner->flags) & PF_EXITING) ||
	       READ_ONCE(owner->signal->flags) & SIGNAL_GROUP_EXIT;
}

/* Its launches end as cancelled, at their bounds. */
static void cmx_batch_cancel(struct cmx_batch *batch)
{
	/* The file's end, which tells the peers, finds no batch any more. */
	if (cmx_batch_client_ended(batch))
		batch->member->held_work = true;
	for (u32 i = 0; i < batch->count; i++) {
		struct cmx_launch *launch = batch->launches[i];

		if (!launch)
			continue;
		launch->status = CMX_CR_CANCELED;
		cmx_launch_outcome(launch);
	}
	if (batch->actor)
		cmx_actor_run(batch->actor);
	cmx_batch_free(batch);
}

/* Ended, or become another program by exec(): its RUN would be refused. */
static bool cmx_batch_is_lost(const struct cmx_batch *batch)
{
	const struct task_struct *owner = batch->owner;

	return READ_ONCE(owner->flags) & PF_EXITING ||
	       READ_ONCE(owner->mm) != batch->member->obj.file->mm;
}

void cmx_batches_reap(struct cmx_timeline *tl)
{
	struct cmx_batch *batch, *next;

	list_for_each_entry_safe(batch, next, &tl->batches, link)
		if (cmx_batch_is_lost(batch))
			cmx_batch_cancel(batch);
}

void cmx_batches_drop(struct cmx_member *member)
{
	struct cmx_batch *batch, *next;

	list_for_each_entry_safe(batch, next, &member->timeline->batches, link) {
		if (batch->member != member)
			continue;
		member->held_work = true;
		cmx_batch_free(batch);
	}
}
