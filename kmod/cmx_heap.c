// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bug.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "cmx_heap.h"

#define CMX_HEAP_ARITY	4
#define CMX_HEAP_MIN	64

static bool cmx_heap_before(const struct cmx_heap_node *a, const struct cmx_heap_node *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	if (a->entity != b->entity)
		return a->entity < b->entity;
	if (a->ordinal != b->ordinal)
		return a->ordinal < b->ordinal;
	if (a->index != b->index)
		return (s32)(a->index - b->index) < 0;
	if (a->type != b->type)
		return a->type < b->type;
	return a->sub < b->sub;
}

static void cmx_heap_place(struct cmx_heap *heap, struct cmx_heap_node *node, u32 pos)
{
	heap->nodes[pos] = node;
	node->pos = pos;
}

static void cmx_heap_up(struct cmx_heap *heap, struct cmx_heap_node *node, u32 pos)
{
	while (pos) {
		u32 parent = (pos - 1) / CMX_HEAP_ARITY;

		if (!cmx_heap_before(node, heap->nodes[parent]))
			break;
		cmx_heap_place(heap, heap->nodes[parent], pos);
		pos = parent;
	}
	cmx_heap_place(heap, node, pos);
}

static u32 cmx_heap_smallest_child(const struct cmx_heap *heap, u32 pos)
{
	u32 first = pos * CMX_HEAP_ARITY + 1;
	u32 end = min(first + CMX_HEAP_ARITY, heap->count);
	u32 best = first;

	for (u32 i = first + 1; i < end; i++)
		if (cmx_heap_before(heap->nodes[i], heap->nodes[best]))
			best = i;
	return best;
}

static void cmx_heap_down(struct cmx_heap *heap, struct cmx_heap_node *node, u32 pos)
{
	while (pos * CMX_HEAP_ARITY + 1 < heap->count) {
		u32 child = cmx_heap_smallest_child(heap, pos);

		if (!cmx_heap_before(heap->nodes[child], node))
			break;
		cmx_heap_place(heap, heap->nodes[child], pos);
		pos = child;
	}
	cmx_heap_place(heap, node, pos);
}

void cmx_heap_push(struct cmx_heap *heap, struct cmx_heap_node *node)
{
	if (WARN_ON_ONCE(node->pos != CMX_HEAP_NONE || heap->count == heap->size))
		return;
	cmx_heap_up(heap, node, heap->count++);
}

void cmx_heap_remove(struct cmx_heap *heap, struct cmx_heap_node *node)
{
	struct cmx_heap_node *last;
	u32 pos = node->pos;

	if (pos == CMX_HEAP_NONE)
		return;
	node->pos = CMX_HEAP_NONE;
	last = heap->nodes[--heap->count];
	if (last == node)
		return;
	if (pos && cmx_heap_before(last, heap->nodes[(pos - 1) / CMX_HEAP_ARITY]))
		cmx_heap_up(heap, last, pos);
	else
		cmx_heap_down(heap, last, pos);
}

int cmx_heap_reserve(struct cmx_heap *heap)
{
	struct cmx_heap_node **nodes;
	u32 size;

	if (heap->owners < heap->size) {
		heap->owners++;
		return 0;
	}
	size = max(heap->size * 2, CMX_HEAP_MIN);
	nodes = kvmalloc_array(size, sizeof(*nodes), GFP_KERNEL_ACCOUNT);
	if (!nodes)
		return -ENOMEM;
	if (heap->count)
		memcpy(nodes, heap->nodes, array_size(heap->count, sizeof(*nodes)));
	kvfree(heap->nodes);
	heap->nodes = nodes;
	heap->size = size;
	heap->owners++;
	return 0;
}

void cmx_heap_unreserve(struct cmx_heap *heap)
{
	heap->owners--;
}

void cmx_heap_fini(struct cmx_heap *heap)
{
	WARN_ON_ONCE(heap->count || heap->owners);
	kvfree(heap->nodes);
}
