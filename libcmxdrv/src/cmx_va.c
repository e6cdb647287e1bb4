// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_va.h"

int cmx_va_init(struct cmx_va *va, uint64_t start, uint64_t size)
{
	va->free = malloc(8 * sizeof(*va->free));
	if (!va->free)
		return -ENOMEM;
	pthread_mutex_init(&va->lock, NULL);
	va->free[0] = (struct cmx_va_range){ start, size };
	va->count = 1;
	va->room = 8;
	va->taken = 0;
	return 0;
}

void cmx_va_fini(struct cmx_va *va)
{
	if (!va->free)
		return;
	pthread_mutex_destroy(&va->lock);
	free(va->free);
	va->free = NULL;
}

/*
 * A take splits one free range into at most two, and each range handed out may come back
 * as a free range of its own: with that much room a give needs no memory.
 */
static int va_keep_room(struct cmx_va *va)
{
	size_t need = va->count + va->taken + 2;
	struct cmx_va_range *grown;

	if (need <= va->room)
		return 0;
	grown = realloc(va->free, 2 * need * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	va->free = grown;
	va->room = 2 * need;
	return 0;
}

static void va_insert(struct cmx_va *va, size_t at, uint64_t start, uint64_t size)
{
	memmove(&va->free[at + 1], &va->free[at], (va->count - at) * sizeof(*va->free));
	va->free[at] = (struct cmx_va_range){ start, size };
	va->count++;
}

static void va_remove(struct cmx_va *va, size_t at)
{
	va->count--;
	memmove(&va->free[at], &va->free[at + 1], (va->count - at) * sizeof(*va->free));
}

/* Cut [start, start + size) out of free range @at, which contains it. */
static void va_cut(struct cmx_va *va, size_t at, uint64_t start, uint64_t size)
{
	struct cmx_va_range *range = &va->free[at];
	uint64_t before = start - range->start;
	uint64_t after = range->size - before - size;

	if (before && after) {
		range->size = before;
		va_insert(va, at + 1, start + size, after);
	} else if (before) {
		range->size = before;
	} else if (after) {
		*range = (struct cmx_va_range){ start + size, after };
	} else {
		va_remove(va, at);
	}
}

static int va_take_locked(struct cmx_va *va, uint64_t size, uint64_t align, uint64_t *start)
{
	if (va_keep_room(va))
		return -ENOMEM;
	for (size_t i = 0; i < va->count; i++) {
		struct cmx_va_range *range = &va->free[i];
		uint64_t skip = -range->start & (align - 1);

		if (range->size < skip || range->size - skip < size)
			continue;
		*start = range->start + skip;
		va_cut(va, i, *start, size);
		va->taken++;
		return 0;
	}
	return -ENOSPC;
}

int cmx_va_take(struct cmx_va *va, uint64_t size, uint64_t align, uint64_t *start)
{
	int ret;

	pthread_mutex_lock(&va->lock);
	ret = va_take_locked(va, size, align, start);
	pthread_mutex_unlock(&va->lock);
	return ret;
}

/* Index of the first free range behind @start. */
static size_t va_search(const struct cmx_va *va, uint64_t start)
{
	size_t low = 0, high = va->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (va->free[mid].start > start)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

void cmx_va_give(struct cmx_va *va, uint64_t start, uint64_t size)
{
	struct cmx_va_range *before, *after;
	size_t at;

	pthread_mutex_lock(&va->lock);
	at = va_search(va, start);
	before = at ? &va->free[at - 1] : NULL;
	after = at < va->count ? &va->free[at] : NULL;
	if (before && before->start + before->size != start)
		before = NULL;
	if (after && start + size != after->start)
		after = NULL;
	if (before) {
		before->size += size + (after ? after->size : 0);
		if (after)
			va_remove(va, at);
	} else if (after) {
		after->start = start;
		after->size += size;
	} else {
		va_insert(va, at, start, size);
	}
	va->taken--;
	pthread_mutex_unlock(&va->lock);
}
