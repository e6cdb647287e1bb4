// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_merges.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE		UINT32_MAX
#define MERGES_MAX	(1u << 25)

int cmx_merges_init(struct cmx_merges *m, uint64_t max, struct cmx_infer_err *err)
{
	uint64_t slots = 16;

	memset(m, 0, sizeof(*m));
	if (max > MERGES_MAX)
		return cmx_infer_fail(err, -EINVAL, "%" PRIu64 " merges, the limit is %u", max,
				      MERGES_MAX);
	while (slots < 2 * max)
		slots *= 2;
	m->merge = calloc(max + 1, sizeof(*m->merge));
	m->slot = malloc(slots * sizeof(*m->slot));
	if (!m->merge || !m->slot) {
		cmx_merges_free(m);
		return cmx_infer_fail(err, -ENOMEM, "no memory for %" PRIu64 " merges", max);
	}
	memset(m->slot, 0xff, slots * sizeof(*m->slot));
	m->max = (uint32_t)max;
	m->mask = (uint32_t)slots - 1;
	return 0;
}

void cmx_merges_free(struct cmx_merges *m)
{
	free(m->merge);
	free(m->slot);
	memset(m, 0, sizeof(*m));
}

/* The slot of a pair: with its rank, or empty. */
static uint32_t *slot_of(const struct cmx_merges *m, uint32_t left, uint32_t right)
{
	uint64_t h = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15ull;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93ull;
	for (uint32_t i = (uint32_t)(h >> 32);; i++) {
		uint32_t *slot = &m->slot[i & m->mask];

		if (*slot == NONE ||
		    (m->merge[*slot].left == left && m->merge[*slot].right == right))
			return slot;
	}
}

int cmx_merges_add(struct cmx_merges *m, uint32_t left, uint32_t right, uint32_t result)
{
	uint32_t *slot;

	if (m->n == m->max)
		return -ENOSPC;
	slot = slot_of(m, left, right);
	if (*slot != NONE)
		return -EEXIST;
	m->merge[m->n] = (struct cmx_merge){ left, right, result };
	*slot = m->n++;
	return 0;
}

int cmx_merge_work_reserve(struct cmx_merge_work *w, size_t n, struct cmx_infer_err *err)
{
	size_t cap = w->cap ? w->cap : 256;

	if (n <= w->cap)
		return 0;
	while (cap < n)
		cap *= 2;
	cmx_merge_work_free(w);
	w->id = malloc(cap * sizeof(*w->id));
	w->prev = malloc(cap * sizeof(*w->prev));
	w->next = malloc(cap * sizeof(*w->next));
	/* A pair for each neighbour at first, and each merge takes one out and puts two in. */
	w->heap = malloc(2 * cap * sizeof(*w->heap));
	if (!w->id || !w->prev || !w->next || !w->heap) {
		cmx_merge_work_free(w);
		return cmx_infer_fail(err, -ENOMEM, "no memory for a word of %zu tokens", n);
	}
	w->cap = cap;
	return 0;
}

void cmx_merge_work_free(struct cmx_merge_work *w)
{
	free(w->id);
	free(w->prev);
	free(w->next);
	free(w->heap);
	memset(w, 0, sizeof(*w));
}

static void heap_push(struct cmx_merge_work *w, uint64_t key)
{
	size_t i = w->n_heap++;

	for (; i && w->heap[(i - 1) / 2] > key; i = (i - 1) / 2)
		w->heap[i] = w->heap[(i - 1) / 2];
	w->heap[i] = key;
}

static uint64_t heap_pop(struct cmx_merge_work *w)
{
	uint64_t top = w->heap[0], last = w->heap[--w->n_heap];
	size_t i = 0;

	for (size_t child; (child = 2 * i + 1) < w->n_heap; i = child) {
		if (child + 1 < w->n_heap && w->heap[child + 1] < w->heap[child])
			child++;
		if (w->heap[child] >= last)
			break;
		w->heap[i] = w->heap[child];
	}
	w->heap[i] = last;
	return top;
}

/* Offers the pair that starts at @left, if it has a rank. Lower rank first, then position. */
static void offer(const struct cmx_merges *m, struct cmx_merge_work *w, uint32_t left)
{
	uint32_t rank;

	if (left == NONE || w->next[left] == NONE)
		return;
	rank = *slot_of(m, w->id[left], w->id[w->next[left]]);
	if (rank != NONE)
		heap_push(w, (uint64_t)rank << 32 | left);
}

/* An offer is stale once one of its two tokens has joined another. */
static bool still_there(const struct cmx_merge *x, const struct cmx_merge_work *w, uint32_t left)
{
	return w->id[left] == x->left && w->next[left] != NONE &&
	       w->id[w->next[left]] == x->right;
}

static void join(struct cmx_merge_work *w, uint32_t left, uint32_t result)
{
	uint32_t gone = w->next[left];

	w->id[left] = result;
	w->id[gone] = NONE;
	w->next[left] = w->next[gone];
	if (w->next[left] != NONE)
		w->prev[w->next[left]] = left;
}

size_t cmx_merges_apply(const struct cmx_merges *m, struct cmx_merge_work *w, size_t n)
{
	size_t left = 0;

	w->n_heap = 0;
	if (!m->n || n < 2)
		return n;
	for (uint32_t i = 0; i < n; i++) {
		w->prev[i] = i - 1;
		w->next[i] = i + 1 < n ? i + 1 : NONE;
	}
	for (uint32_t i = 0; i < n; i++)
		offer(m, w, i);
	while (w->n_heap) {
		uint64_t key = heap_pop(w);
		const struct cmx_merge *x = &m->merge[key >> 32];
		uint32_t at = (uint32_t)key;

		if (!still_there(x, w, at))
			continue;
		join(w, at, x->result);
		offer(m, w, at);
		offer(m, w, w->prev[at]);
	}
	for (size_t i = 0; i < n; i++) {
		if (w->id[i] != NONE)
			w->id[left++] = w->id[i];
	}
	return left;
}
