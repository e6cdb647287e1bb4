// SPDX-License-Identifier: GPL-2.0-only
/*
 * A placement by the tokens of each expert: how many copies of each, where they go, and swaps
 * between the busiest rank and others as long as these help.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_placement.h"

struct packing {
	const struct cmx_placement_shape *shape;
	const uint64_t *counts;
	struct cmx_placement *p;
	uint32_t live, copies;
	uint32_t *copies_of;		/* of each expert */
	uint64_t *weight;		/* of one of an expert's copies, 1024ths of tokens */
	uint64_t *load;			/* of each rank */
	uint32_t *used;			/* places of each rank */
	uint32_t *order;		/* experts, the heaviest copies first */
};

/* Tokens for each copy of @a more than those of @b; of equals the lower number. */
static bool heavier(const struct packing *k, uint32_t a, uint32_t b)
{
	unsigned __int128 x = (unsigned __int128)k->counts[a] * k->copies_of[b];
	unsigned __int128 y = (unsigned __int128)k->counts[b] * k->copies_of[a];

	return x != y ? x > y : a < b;
}

/* No rank has an expert twice, so there are no more copies than live ranks. */
static void count_copies(struct packing *k)
{
	uint32_t experts = k->shape->experts;

	for (uint32_t e = 0; e < experts; e++)
		k->copies_of[e] = 1;
	for (uint32_t n = experts; n < k->copies; n++) {
		uint32_t best = experts;

		for (uint32_t e = 0; e < experts; e++) {
			if (k->copies_of[e] < k->live && (best == experts || heavier(k, e, best)))
				best = e;
		}
		k->copies_of[best]++;
	}
	for (uint32_t e = 0; e < experts; e++)
		k->weight[e] = k->counts[e] * 1024 / k->copies_of[e];
}

/* By insertion: there are few experts, and equal ones keep their order. */
static void sort_experts(struct packing *k)
{
	for (uint32_t n = 0; n < k->shape->experts; n++) {
		uint32_t i = n;

		for (; i && heavier(k, n, k->order[i - 1]); i--)
			k->order[i] = k->order[i - 1];
		k->order[i] = n;
	}
}

static bool is_free(const struct packing *k, uint32_t rank)
{
	return !cmx_placement_failed(k->shape->failed, rank) && k->used[rank] < k->p->local;
}

static void put(struct packing *k, uint32_t rank, uint32_t expert)
{
	cmx_placement_of(k->p, rank)[k->used[rank]++] = (int32_t)expert;
	k->load[rank] += k->weight[expert];
}

/* The rank with the least to do that may have one more, or ranks if there is none. */
static uint32_t find_rank(const struct packing *k, uint32_t expert)
{
	uint32_t best = k->p->ranks;

	for (uint32_t rank = 0; rank < k->p->ranks; rank++) {
		if (!is_free(k, rank) || cmx_placement_has(k->p, rank, expert))
			continue;
		if (best == k->p->ranks || k->load[rank] < k->load[best] ||
		    (k->load[rank] == k->load[best] && k->used[rank] < k->used[best]))
			best = rank;
	}
	return best;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* False: all ranks with room have an expert already that is still to be placed. */
static bool pack(struct packing *k)
{
	sort_experts(k);
	for (uint32_t i = 0; i < k->shape->experts; i++) {
		uint32_t expert = k->order[i];

		for (uint32_t n = 0; n < k->copies_of[expert]; n++) {
			uint32_t rank = find_rank(k, expert);

			if (rank == k->p->ranks)
				return false;
			put(k, rank, expert);
		}
	}
	return true;
}

/* -------------------------------------------------------------------------- refinement */

struct exchange {
	uint32_t from, to;		/* places, from the busiest rank's to another's */
	uint32_t rank;
	uint64_t most;
};

/* What @rank would give for @expert of the busiest rank: one of its own, or a free place. */
static void try_rank(const struct packing *k, uint32_t busy, uint32_t from, uint32_t rank,
		     struct exchange *best)
{
	uint32_t mine = (uint32_t)cmx_placement_of(k->p, busy)[from];
	uint32_t ends = k->used[rank] + (k->used[rank] < k->p->local);

	for (uint32_t to = 0; to < ends; to++) {
		int32_t theirs = cmx_placement_of(k->p, rank)[to];
		uint64_t back = theirs < 0 ? 0 : k->weight[theirs], most;

		if (back >= k->weight[mine])
			continue;
		most = larger(k->load[busy] - k->weight[mine] + back,
			      k->load[rank] + k->weight[mine] - back);
		if (most >= best->most ||
		    (theirs >= 0 && cmx_placement_has(k->p, busy, (uint32_t)theirs)))
			continue;
		*best = (struct exchange){ .from = from, .to = to, .rank = rank, .most = most };
	}
}

static void carry_out(struct packing *k, uint32_t busy, const struct exchange *x)
{
	int32_t *mine = cmx_placement_of(k->p, busy) + x->from;
	int32_t *theirs = cmx_placement_of(k->p, x->rank) + x->to;
	int32_t expert = *mine;
	uint64_t back = *theirs < 0 ? 0 : k->weight[*theirs];

	k->load[busy] -= k->weight[expert] - back;
	k->load[x->rank] += k->weight[expert] - back;
	*mine = *theirs;
	*theirs = expert;
	if (*mine >= 0)
		return;
	/* A rank's experts are in its first places. */
	k->used[x->rank]++;
	*mine = cmx_placement_of(k->p, busy)[--k->used[busy]];
	cmx_placement_of(k->p, busy)[k->used[busy]] = CMX_PLACEMENT_NONE;
}

/* The best exchange of the busiest rank; false: none makes it less busy. */
static bool improve(struct packing *k)
{
	struct exchange best = {};
	uint32_t busy = 0;

	for (uint32_t rank = 1; rank < k->p->ranks; rank++)
		if (k->load[rank] > k->load[busy])
			busy = rank;
	best.most = k->load[busy];
	for (uint32_t from = 0; from < k->used[busy]; from++) {
		uint32_t mine = (uint32_t)cmx_placement_of(k->p, busy)[from];

		for (uint32_t rank = 0; rank < k->p->ranks; rank++) {
			if (rank != busy && !cmx_placement_failed(k->shape->failed, rank) &&
			    !cmx_placement_has(k->p, rank, mine))
				try_rank(k, busy, from, rank, &best);
		}
	}
	if (best.most == k->load[busy])
		return false;
	carry_out(k, busy, &best);
	return true;
}

/* Of equally busy ranks each takes its turn, so as many rounds as copies are enough. */
static void refine(struct packing *k)
{
	for (uint32_t n = 0; n < k->copies; n++)
		if (!improve(k))
			return;
}

static int packing_open(struct packing *k, struct cmx_infer_err *err)
{
	uint32_t experts = k->shape->experts, ranks = k->shape->ranks;

	k->copies_of = calloc(experts, sizeof(*k->copies_of));
	k->weight = calloc(experts, sizeof(*k->weight));
	k->order = calloc(experts, sizeof(*k->order));
	k->load = calloc(ranks, sizeof(*k->load));
	k->used = calloc(ranks, sizeof(*k->used));
	if (k->copies_of && k->weight && k->order && k->load && k->used)
		return 0;
	return cmx_infer_fail(err, -ENOMEM, "no memory for a placement of %u experts", experts);
}

static void packing_close(struct packing *k)
{
	free(k->copies_of);
	free(k->weight);
	free(k->order);
	free(k->load);
	free(k->used);
}

/* Greedy choices may end worse than no choice at all, or without an end; then take that. */
static int take_better(struct packing *k, bool packed, struct cmx_infer_err *err)
{
	struct cmx_placement even;
	int ret = cmx_placement_even(k->shape, &even, err);

	if (!ret && (!packed || cmx_placement_busiest(&even, k->counts) <
				cmx_placement_busiest(k->p, k->counts))) {
		struct cmx_placement worse = *k->p;

		*k->p = even;
		even = worse;
	}
	cmx_placement_free(&even);
	return ret;
}

static int check_counts(const struct cmx_placement_shape *s, const uint64_t *counts,
			struct cmx_infer_err *err)
{
	for (uint32_t e = 0; e < s->experts; e++) {
		if (counts[e] > CMX_PLACEMENT_MAX_COUNT)
			return cmx_infer_fail(err, -EINVAL,
					      "placement: counts[%u] is %llu, more than %llu", e,
					      (unsigned long long)counts[e],
					      (unsigned long long)CMX_PLACEMENT_MAX_COUNT);
	}
	return 0;
}

int cmx_placement_balance(const struct cmx_placement_shape *shape, const uint64_t *counts,
			  struct cmx_placement *out, struct cmx_infer_err *err)
{
	struct packing k = { .shape = shape, .counts = counts, .p = out };
	int ret = cmx_placement_begin(shape, out, &k.live, err);
	bool packed;

	if (!ret)
		ret = check_counts(shape, counts, err);
	if (!ret)
		ret = packing_open(&k, err);
	if (!ret) {
		k.copies = shape->physical ? shape->physical : shape->experts;
		count_copies(&k);
		packed = pack(&k);
		if (packed)
			refine(&k);
		ret = take_better(&k, packed, err);
	}
	packing_close(&k);
	if (ret)
		cmx_placement_free(out);
	return ret;
}
