// SPDX-License-Identifier: GPL-2.0-only
#include <linux/err.h>

#include "cmx_file.h"
#include "cmx_launch.h"
#include "cmx_queue.h"
#include "cmx_timeline.h"
#include "cmx_vm.h"
#include "cmx_watch.h"

bool cmx_cond_holds(u32 cond, u64 memory, u64 value)
{
	switch (cond) {
	case CMX_COND_EQ:
		return memory == value;
	case CMX_COND_NE:
		return memory != value;
	case CMX_COND_GE:
		return (s64)(memory - value) >= 0;
	default:
		return (s64)(memory - value) > 0;
	}
}

static bool cmx_watch_less(struct rb_node *a, const struct rb_node *b)
{
	return rb_entry(a, struct cmx_watch, rb)->offset <
	       rb_entry(b, struct cmx_watch, rb)->offset;
}

static int cmx_watch_find(struct cmx_watch *watch, struct cmx_vm *vm, u64 va)
{
	struct cmx_span span;
	size_t len = sizeof(u64);
	void *word;
	int ret;

	ret = cmx_vm_check(vm, va, sizeof(u64), CMX_MAP_READ, &span);
	if (ret)
		return ret;
	if (span.no_data)
		return -EOPNOTSUPP;
	/* Backed now, so that writers can look at the word without sleeping. */
	word = cmx_bo_access(span.bo, span.offset, &len, true);
	if (IS_ERR(word))
		return PTR_ERR(word);
	cmx_bo_get(span.bo);
	watch->bo = span.bo;
	watch->offset = span.offset;
	watch->word = word;
	return 0;
}

int cmx_watch_arm(struct cmx_watch *watch, struct cmx_vm *vm, u64 va)
{
	struct cmx_bo *bo;
	bool holds;
	int ret;

	down_read(&vm->lock);
	ret = cmx_watch_find(watch, vm, va);
	up_read(&vm->lock);
	if (ret)
		return ret;

	bo = watch->bo;
	watch->foreign = false;
	INIT_LIST_HEAD(&watch->inbox);
	spin_lock(&bo->watch_lock);
	rb_add_cached(&watch->rb, &bo->watches, cmx_watch_less);
	/*
	 * A writer stores, then looks for watches; we put the watch in, then look at the
	 * word.  One of the two sees the other.  Pairs with cmx_watch_notify().
	 */
	smp_mb();
	holds = cmx_cond_holds(watch->cond, READ_ONCE(*watch->word), watch->value);
	if (holds) {
		rb_erase_cached(&watch->rb, &bo->watches);
		watch->bo = NULL;
	}
	spin_unlock(&bo->watch_lock);
	if (!holds)
		return 0;
	cmx_bo_put(bo);
	return 1;
}

void cmx_watch_cancel(struct cmx_watch *watch)
{
	struct cmx_bo *bo = watch->bo;

	if (!bo)
		return;
	spin_lock(&bo->watch_lock);
	spin_lock(&watch->timeline->inbox_lock);
	if (list_empty(&watch->inbox))
		rb_erase_cached(&watch->rb, &bo->watches);
	else
		list_del_init(&watch->inbox);
	spin_unlock(&watch->timeline->inbox_lock);
	spin_unlock(&bo->watch_lock);
	watch->bo = NULL;
	cmx_bo_put(bo);
}

static struct rb_node *cmx_watch_first(struct cmx_bo *bo, u64 offset)
{
	struct rb_node *node = bo->watches.rb_root.rb_node, *best = NULL;

	while (node) {
		if (rb_entry(node, struct cmx_watch, rb)->offset + sizeof(u64) > offset) {
			best = node;
			node = node->rb_left;
		} else {
			node = node->rb_right;
		}
	}
	return best;
}

/* The event @tl carries out: a command, a record of a launch, or none. */
static void cmx_writer_find(struct cmx_writer *by, struct cmx_timeline *tl)
{
	const struct cmx_heap_node *node = tl->active;
	const struct cmx_parcel *parcel;
	const struct cmx_queue *q;

	*by = (struct cmx_writer){};
	if (!node || (node->type != CMX_NODE_PARCEL && node->type != CMX_NODE_CMD))
		return;
	by->timeline = tl->id;
	by->index = node->index;
	if (node->type == CMX_NODE_PARCEL) {
		parcel = container_of(node, struct cmx_parcel, node);
		by->uasid = parcel->launch->member->obj.file->uasid;
		by->queue = parcel->launch->queue;
	} else {
		q = container_of(node, struct cmx_cmd, node)->queue;
		by->uasid = q->obj.file->uasid;
		by->queue = q->obj.handle;
	}
}

static void cmx_watch_fire(struct cmx_watch *watch, struct cmx_timeline *from, u64 time)
{
	struct cmx_timeline *to = watch->timeline;

	rb_erase_cached(&watch->rb, &watch->bo->watches);
	watch->time = time;
	cmx_writer_find(&watch->by, from);
	watch->foreign = to != from;
	spin_lock(&to->inbox_lock);
	list_add_tail(&watch->inbox, &to->inbox);
	/*
	 * Woken inside the lock: the owner cannot take the watch from the inbox, and
	 * with it perhaps the last reference to @to, before this is over.
	 */
	if (watch->foreign)
		cmx_timeline_kick(to);
	spin_unlock(&to->inbox_lock);
}

void cmx_watch_notify(struct cmx_bo *bo, u64 offset, u64 len, struct cmx_timeline *from,
		      u64 time)
{
	struct rb_node *node, *next;

	/* The bytes before the look at the tree: see cmx_watch_arm(). */
	smp_mb();
	if (RB_EMPTY_ROOT(&bo->watches.rb_root))
		return;
	spin_lock(&bo->watch_lock);
	for (node = cmx_watch_first(bo, offset); node; node = next) {
		struct cmx_watch *watch = rb_entry(node, struct cmx_watch, rb);

		next = rb_next(node);
		if (watch->offset >= offset + len)
			break;
		if (cmx_cond_holds(watch->cond, READ_ONCE(*watch->word), watch->value))
			cmx_watch_fire(watch, from, time);
	}
	spin_unlock(&bo->watch_lock);
}
