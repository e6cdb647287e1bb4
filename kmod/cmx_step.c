// SPDX-License-Identifier: GPL-2.0-only
#include <linux/errno.h>
#include <linux/sizes.h>

#include "cmx_bo.h"
#include "cmx_exec.h"
#include "cmx_launch.h"
#include "cmx_queue.h"
#include "cmx_rq.h"
#include "cmx_step.h"
#include "cmx_timeline.h"

/* A slice: after that many bytes or events the lock is dropped and signals are seen. */
#define CMX_SLICE_BYTES		SZ_1M
#define CMX_SLICE_EVENTS	256

static struct cmx_cmd *cmx_node_cmd(struct cmx_heap_node *node)
{
	return container_of(node, struct cmx_cmd, node);
}

/* Whose threads carry out an event; NULL: anybody's. */
static struct cmx_member *cmx_node_member(struct cmx_heap_node *node)
{
	switch (node->type) {
	case CMX_NODE_CMD:
		return cmx_node_cmd(node)->queue->member;
	case CMX_NODE_SENDER:
		return container_of(node, struct cmx_launch, node)->cmd->queue->member;
	case CMX_NODE_PARCEL:
		return container_of(node, struct cmx_parcel, node)->launch->member;
	default:
		return NULL;
	}
}

/* Watches that were satisfied, by this timeline's commands or by others. */
static void cmx_timeline_inbox(struct cmx_timeline *tl)
{
	struct cmx_watch *watch;
	struct cmx_bo *bo;

	/* Who waits for a word of a copy sees all of the copy, wherever a slice ends. */
	if (tl->partial)
		return;
	for (;;) {
		spin_lock(&tl->inbox_lock);
		watch = list_first_entry_or_null(&tl->inbox, struct cmx_watch, inbox);
		if (watch)
			list_del_init(&watch->inbox);
		spin_unlock(&tl->inbox_lock);
		if (!watch)
			return;
		bo = watch->bo;
		watch->bo = NULL;
		if (watch->foreign)
			tl->flags |= CMX_TIMELINE_NONDETERMINISTIC;
		watch->fire(watch);
		cmx_bo_put(bo);
	}
}

static bool cmx_timeline_has_launches(struct cmx_timeline *tl)
{
	struct cmx_member *member;

	list_for_each_entry(member, &tl->members, link)
		if (member->num_launches)
			return true;
	return false;
}

/* Rings that threads without an actor may have written; receives that are possible now. */
static bool cmx_timeline_rings(struct cmx_timeline *tl)
{
	struct cmx_member *member;
	bool any = false;

	list_for_each_entry(member, &tl->members, link) {
		any |= cmx_member_doorbells(member);
		any |= cmx_member_refill(member);
		any |= cmx_member_receive(member);
	}
	return any;
}

/* An entity that is down gets nothing any more: its queues' waits end now. */
static void cmx_timeline_end_waits(struct cmx_timeline *tl)
{
	struct cmx_member *member;
	struct cmx_queue *q;
	unsigned long bit;

	list_for_each_entry(member, &tl->members, link)
		xa_for_each(&member->queues, bit, q)
			if (!cmx_routes_entity_up(tl->servers.routes, q->args.entity))
				cmx_queue_entity_down(q);
}

/* Messages that wait for a receiver find out whether they still reach it. */
static void cmx_timeline_retry_receives(struct cmx_timeline *tl)
{
	struct cmx_member *member;

	list_for_each_entry(member, &tl->members, link)
		cmx_member_retry_receives(member);
}

/* When the host changed the machine has nothing to do with virtual time. */
static void cmx_timeline_take_routes(struct cmx_timeline *tl)
{
	if (!cmx_servers_take_routes(&tl->servers))
		return;
	if (tl->servers.begun)
		tl->flags |= CMX_TIMELINE_NONDETERMINISTIC;
	if (tl->servers.routes->entities_down)
		cmx_timeline_end_waits(tl);
	if (!tl->servers.routes->healthy)
		cmx_timeline_retry_receives(tl);
}

/* No events: work is elsewhere, or to come, or nothing can ever happen. */
static int cmx_timeline_empty(struct cmx_timeline *tl)
{
	if (cmx_timeline_rings(tl))
		return CMX_STEP_MORE;
	if (cmx_timeline_free_running(tl)) {
		cmx_timeline_poll_over(tl);
		return CMX_STEP_BLOCKED;
	}
	if (tl->running || tl->num_batches || cmx_timeline_has_launches(tl) || !tl->actors)
		return CMX_STEP_BLOCKED;
	cmx_timeline_stall(tl);
	return CMX_STEP_MORE;
}

static int cmx_cmd_event(struct cmx_cmd *cmd, size_t *budget)
{
	switch (cmd->phase) {
	case CMX_PHASE_START:
		cmx_heap_remove(&cmd->queue->member->timeline->heap, &cmd->node);
		return cmx_cmd_start(cmd, budget);
	case CMX_PHASE_LAUNCH:
		return cmx_launch_settle(cmd, budget);
	case CMX_PHASE_FLOW:
		cmx_heap_remove(&cmd->queue->member->timeline->heap, &cmd->node);
		cmx_cmd_flow(cmd);
		return 0;
	default:
		return cmx_cmd_apply(cmd, budget);
	}
}

static int cmx_node_event(struct cmx_heap_node *node, size_t *budget)
{
	switch (node->type) {
	case CMX_NODE_CMD:
		return cmx_cmd_event(cmx_node_cmd(node), budget);
	case CMX_NODE_SENDER:
		return cmx_launch_send(container_of(node, struct cmx_launch, node));
	case CMX_NODE_PARCEL:
		return cmx_parcel_apply(container_of(node, struct cmx_parcel, node), budget);
	default:
		cmx_actor_release(container_of(node, struct cmx_actor, node), CMX_RUN_DONE);
		return 0;
	}
}

/* The clock may not pass a launch's bound before its outcome is in. */
static bool cmx_node_is_unsettled(struct cmx_heap_node *node)
{
	return node->type == CMX_NODE_CMD && cmx_node_cmd(node)->phase == CMX_PHASE_LAUNCH &&
	       !cmx_node_cmd(node)->launch->settled;
}

/* It takes effect bit by bit; the others do nothing before they do all. */
static bool cmx_node_has_begun(struct cmx_heap_node *node)
{
	return node->type == CMX_NODE_PARCEL ||
	       (node->type == CMX_NODE_CMD && cmx_node_cmd(node)->phase == CMX_PHASE_COMPLETE);
}

static int cmx_member_step(struct cmx_member *member, size_t *budget)
{
	struct cmx_timeline *tl = member->timeline;
	/* What has begun goes on, even if something that comes before it was added. */
	struct cmx_heap_node *node = tl->partial ? tl->partial : cmx_heap_first(&tl->heap);
	struct cmx_member *owner;
	int ret;

	if (!node)
		return cmx_timeline_empty(tl);
	if (tl->running && !cmx_timeline_free_running(tl))
		return CMX_STEP_BLOCKED;
	owner = cmx_node_member(node);
	if (owner && owner != member && !owner->orphan) {
		cmx_member_kick(owner);
		return CMX_STEP_BLOCKED;
	}
	if (cmx_node_is_unsettled(node))
		return CMX_STEP_BLOCKED;
	tl->now = max(tl->now, node->time);
	tl->active = node;
	ret = cmx_node_event(node, budget);
	tl->active = NULL;
	tl->partial = ret < 0 && cmx_node_has_begun(node) ? node : NULL;
	return ret;
}

int cmx_member_slice(struct cmx_member *member, struct cmx_actor *actor)
{
	struct cmx_timeline *tl = member->timeline;
	size_t budget = CMX_SLICE_BYTES;
	int ret;

	lockdep_assert_held(&tl->lock);
	for (u32 i = 0; i < CMX_SLICE_EVENTS && budget; i++) {
		if (unlikely(cmx_servers_are_stale(&tl->servers)) && !tl->partial)
			cmx_timeline_take_routes(tl);
		cmx_timeline_inbox(tl);
		ret = list_empty(&tl->pending) ? 0 : cmx_timeline_pump(tl);
		if (ret)
			return ret < 0 ? ret : CMX_STEP_MORE;
		if (actor && actor->state == CMX_ACTOR_RELEASED)
			return CMX_STEP_MORE;
		ret = cmx_member_step(member, &budget);
		if (ret)
			return ret == -EAGAIN ? CMX_STEP_MORE : ret;
	}
	return CMX_STEP_MORE;
}
