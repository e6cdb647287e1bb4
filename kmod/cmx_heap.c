// SPDX-License-Identifier: GPL-2.0-only
#include <linux/bug.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "cmx_heap.h"

#define CMX_HEAP_ARITY	4
#define CMX_HEAP_MIN	64

static bool cmx_heap_tie_before(const struct cmx_heap_node *a, const struct cmx_heap_node *b)
{
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

/* Times first: they lie in the array, a node is only looked at when they are equal. */
static bool cmx_slot_before(const struct cmx_heap_slot *a, const struct cmx_heap_slot *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return cmx_heap_tie_before(a->node, b->node);
}

static void cmx_heap_place(struct cmx_heap *heap, const struct cmx_heap_slot *slot, u32 pos)
{
	heap->slots[pos] = *slot;
	slot->node->pos = pos;
}

static void cmx_heap_up(struct cmx_heap *heap, const struct cmx_heap_slot *slot, u32 pos)
{
	while (pos) {
		u32 parent = (pos - 1) / CMX_HEAP_ARITY;

		if (!cmx_slot_before(slot, &heap->slots[parent]))
			break;
		cmx_heap_place(heap, &heap->slots[parent], pos);
		pos = parent;
	}
	cmx_heap_place(heap, slot, pos);
}

static u32 cmx_heap_smallest_child(const struct cmx_heap *heap, u32 pos)
{
	u32 first = pos * CMX_HEAP_ARITY + 1;
	u32 end = min(first + CMX_HEAP_ARITY, heap->count);
	u32 best = first;

	for (u32 i = first + 1; i < end; i++)
		if (cmx_slot_before(&heap->slots[i], &heap->slots[best]))
			best = i;
	return best;
}

static void cmx_heap_down(struct cmx_heap *heap, const struct cmx_heap_slot *slot, u32 pos)
{
	while (pos * CMX_HEAP_ARITY + 1 < heap->count) {
		u32 child = cmx_heap_smallest_child(heap, pos);

		if (!cmx_slot_before(&heap->slots[child], slot))
			break;
		cmx_heap_place(heap, &heap->slots[child], pos);
		pos = child;
	}
	cmx_heap_place(heap, slot, pos);
}

/* Put the last slot at @pos, whose node has left. */
static void cmx_heap_close(struct cmx_heap *heap, u32 pos)
{
	struct cmx_heap_slot last = heap->slots[--heap->count];

	if (pos == heap->count)
		return;
	if (pos && cmx_slot_before(&last, &heap->slots[(pos - 1) / CMX_HEAP_ARITY]))
		cmx_heap_up(heap, &last, pos);
	else
		cmx_heap_down(heap, &last, pos);
}

static void cmx_heap_fill_hole(struct cmx_heap *heap)
{
	if (!heap->hole)
		return;
	heap->hole = false;
	cmx_heap_close(heap, 0);
}

void cmx_heap_push(struct cmx_heap *heap, struct cmx_heap_node *node)
{
	struct cmx_heap_slot slot = { .time = node->time, .node = node };

	if (WARN_ON_ONCE(node->pos != CMX_HEAP_NONE))
		return;
	if (heap->hole) {
		heap->hole = false;
		cmx_heap_down(heap, &slot, 0);
		return;
	}
	if (WARN_ON_ONCE(heap->count == heap->size))
		return;
	cmx_heap_up(heap, &slot, heap->count++);
}

/*
 * What takes the first node away mostly pushes the same or the queue's next one, which
 * then only has to sink as far as it must: the root stays empty until somebody looks.
 */
void cmx_heap_remove(struct cmx_heap *heap, struct cmx_heap_node *node)
{
	u32 pos = node->pos;

	if (pos == CMX_HEAP_NONE)
		return;
	if (pos) {
		cmx_heap_fill_hole(heap);
		pos = node->pos;
	}
	node->pos = CMX_HEAP_NONE;
	if (pos)
		cmx_heap_close(heap, pos);
	else
		heap->hole = true;
}

struct cmx_heap_node *cmx_heap_first(struct cmx_heap *heap)
{
	cmx_heap_fill_hole(heap);
	return heap->count ? heap->slots[0].node : NULL;
}

int cmx_heap_reserve(struct cmx_heap *heap)
{
	struct cmx_heap_slot *slots;
	u32 size;

	if (heap->owners < heap->size) {
		heap->owners++;
		return 0;
	}
	size = max(heap->size * 2, CMX_HEAP_MIN);
	slots = kvmalloc_array(size, sizeof(*slots), GFP_KERNEL_ACCOUNT);
	if (!slots)
		return -ENOMEM;
	if (heap->count)
		memcpy(slots, heap->slots, array_size(heap->count, sizeof(*slots)));
	kvfree(heap->slots);
	heap->slots = slots;
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
	WARN_ON_ONCE(cmx_heap_first(heap) || heap->owners);
	kvfree(heap->slots);
}
