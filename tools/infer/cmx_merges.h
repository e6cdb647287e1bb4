/* SPDX-License-Identifier: GPL-2.0-only */
/* Byte pair encoding: which tokens join to which, in order of rank. */
#ifndef CMX_MERGES_H
#define CMX_MERGES_H

#include <stddef.h>
#include <stdint.h>

#include "cmx_infer_err.h"

struct cmx_merge {
	uint32_t left;
	uint32_t right;
	uint32_t result;
};

struct cmx_merges {
	struct cmx_merge *merge;	/* by rank */
	uint32_t n;
	uint32_t max;
	uint32_t *slot;			/* hash table of ranks */
	uint32_t mask;
};

/* Room to merge one word, kept from word to word. */
struct cmx_merge_work {
	uint32_t *id;
	uint32_t *prev;
	uint32_t *next;
	uint64_t *heap;
	size_t n_heap;
	size_t cap;
};

/* Room for @max merges. */
int cmx_merges_init(struct cmx_merges *m, uint64_t max, struct cmx_infer_err *err);
void cmx_merges_free(struct cmx_merges *m);
/* The next lower rank. -EEXIST if the pair has one. */
int cmx_merges_add(struct cmx_merges *m, uint32_t left, uint32_t right, uint32_t result);

/* Makes work->id hold @n tokens. */
int cmx_merge_work_reserve(struct cmx_merge_work *w, size_t n, struct cmx_infer_err *err);
void cmx_merge_work_free(struct cmx_merge_work *w);
/*
 * Joins the @n tokens of w->id: the lowest rank first, of equal ones the
 * leftmost. Returns how many are left. Takes O(n log n).
 */
size_t cmx_merges_apply(const struct cmx_merges *m, struct cmx_merge_work *w, size_t n);

#endif
