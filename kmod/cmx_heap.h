/* SPDX-License-Identifier: GPL-2.0-only */
/* Events of a timeline, smallest virtual time first. */
#ifndef CMX_HEAP_H
#define CMX_HEAP_H

#include <linux/types.h>

/** enum cmx_node_type - what a node is embedded in. */
enum cmx_node_type {
	CMX_NODE_SENDER,	/* struct cmx_launch.node: before the launch completes */
	CMX_NODE_PARCEL,	/* struct cmx_parcel.node */
	CMX_NODE_CMD,		/* struct cmx_cmd.node */
	CMX_NODE_ACTOR,		/* struct cmx_actor.node */
};

/**
 * struct cmx_heap_node - an event.
 *
 * Ordered by time, then by entity, queue and index, so that the order of events never
 * depends on the order in which the host produced them.
 */
struct cmx_heap_node {
	/** @time: virtual time, picoseconds. */
	u64 time;
	/** @entity: first tie-break. */
	u32 entity;
	/** @ordinal: second tie-break: the queue's number on the timeline. */
	u32 ordinal;
	/** @index: third tie-break: the entry's place in its queue. */
	u32 index;
	/** @type: enum cmx_node_type; fourth tie-break. */
	u32 type;
	/** @sub: last tie-break: which of several of one entry. */
	u32 sub;
	/** @pos: place in the heap, or CMX_HEAP_NONE. */
	u32 pos;
};

#define CMX_HEAP_NONE	U32_MAX

/** struct cmx_heap_slot - a place in the heap. */
struct cmx_heap_slot {
	/** @time: the node's time. */
	u64 time;
	/** @node: what is there. */
	struct cmx_heap_node *node;
};

/**
 * struct cmx_heap - 4-ary heap of nodes.
 *
 * Room is reserved when a node's owner is created, so a push cannot fail.  A node's time
 * must not change while it is in.
 */
struct cmx_heap {
	/** @slots: by place. */
	struct cmx_heap_slot *slots;
	/** @count: places in use, @hole included. */
	u32 count;
	/** @hole: place 0 is empty: its node left and no other has come yet. */
	bool hole;
	/** @size: room at @slots. */
	u32 size;
	/** @owners: nodes that exist, in the heap or not. */
	u32 owners;
};

void cmx_heap_fini(struct cmx_heap *heap);
/* cmx_heap_reserve() - room for one more owner; may sleep; -ENOMEM. */
int cmx_heap_reserve(struct cmx_heap *heap);
/* cmx_heap_unreserve() - an owner is gone; its node must not be in the heap. */
void cmx_heap_unreserve(struct cmx_heap *heap);
void cmx_heap_push(struct cmx_heap *heap, struct cmx_heap_node *node);
/* cmx_heap_remove() - take @node out if it is in. */
void cmx_heap_remove(struct cmx_heap *heap, struct cmx_heap_node *node);

/* cmx_heap_first() - the node with the smallest time, or NULL. */
struct cmx_heap_node *cmx_heap_first(struct cmx_heap *heap);

static inline void cmx_heap_node_init(struct cmx_heap_node *node, enum cmx_node_type type)
{
	node->type = type;
	node->pos = CMX_HEAP_NONE;
}

#endif
