// SPDX-License-Identifier: MIT
/*
 * Time-only rounds: what the gates chose, given by the caller, and what each rank receives
 * for it in the order in which collecting would put it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_ep_priv.h"
#include "cmx_fail.h"

/* Of each live rank: send, flag, wait and return. */
#define USES_OF_A_RANK	4

static size_t starts_of_a_rank(const struct cmx_ep *ep)
{
	return (size_t)ep->desc.local * ep->desc.ranks + 1;
}

static void table_free(struct ep_table *t)
{
	if (!t)
		return;
	free(t->given);
	free(t->tokens);
	free(t->ids);
	free(t->starts);
	free(t->first);
	free(t->origins);
	free(t);
}

static struct ep_table *table_alloc(const struct cmx_ep *ep)
{
	uint32_t ranks = ep->desc.ranks;
	size_t choices = (size_t)ep->desc.max_tokens * ep->desc.topk;
	struct ep_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->given = calloc(ranks, sizeof(*t->given));
	t->tokens = calloc(ranks, sizeof(*t->tokens));
	t->ids = malloc(ranks * choices * sizeof(*t->ids));
	t->starts = malloc(ranks * starts_of_a_rank(ep) * sizeof(*t->starts));
	t->first = calloc(ranks + 1ul, sizeof(*t->first));
	if (t->given && t->tokens && t->ids && t->starts && t->first)
		return t;
	table_free(t);
	return NULL;
}

/* One that nobody looks at any more, or a new one. */
static struct ep_table *table_find_free(struct cmx_ep *ep)
{
	struct cmx_list *pos;

	cmx_list_for(pos, &ep->tables) {
		struct ep_table *t = cmx_container(pos, struct ep_table, node);

		if (!atomic_load_explicit(&t->uses, memory_order_acquire)) {
			cmx_list_del(&t->node);
			memset(t->given, 0, ep->desc.ranks * sizeof(*t->given));
			return t;
		}
	}
	return table_alloc(ep);
}

static int refuse_ids(const struct cmx_ep *ep, uint32_t rank, uint32_t token, const int32_t *ids,
		      int code)
{
	uint32_t k = 0;

	while (code == CMX_EP_CODE_IDS && ids[k] >= -1 && ids[k] < (int64_t)ep->desc.experts)
		k++;
	if (code == CMX_EP_CODE_IDS)
		return cmx_fail(-EINVAL, "ids", (uint64_t)(int64_t)ids[k], ep->desc.experts,
				"rank %u, token %u: choice %u is %d, not -1 to %u", rank, token, k,
				ids[k], ep->desc.experts - 1);
	return cmx_fail(-EINVAL, "ids", token, ep->desc.max_tokens,
			"rank %u, token %u chose an expert twice", rank, token);
}

int cmx_ep_set_routing(struct cmx_ep *ep, uint32_t rank, const int32_t *ids, uint32_t tokens)
{
	size_t choices = (size_t)ep->desc.max_tokens * ep->desc.topk;

	if (ep_has_data(ep))
		return cmx_fail(-EINVAL, "flags", ep->desc.flags, CMX_EP_TIME_ONLY,
				"choices are given in time-only mode only");
	if (rank >= ep->desc.ranks || ep->ranks[rank].failed)
		return cmx_fail(-EINVAL, "rank", rank, ep->desc.ranks,
				"rank %u is none of %u live ranks", rank, ep->live);
	if (tokens > ep->desc.max_tokens)
		return cmx_fail(-ENOSPC, "tokens", tokens, ep->desc.max_tokens,
				"choices of %u tokens, more than max_tokens, %u", tokens,
				ep->desc.max_tokens);
	for (uint32_t t = 0; t < tokens; t++) {
		int code = ep_check_ids(ep, ids + (size_t)t * ep->desc.topk);

		if (code)
			return refuse_ids(ep, rank, t, ids + (size_t)t * ep->desc.topk, code);
	}
	if (!ep->next)
		ep->next = table_find_free(ep);
	if (!ep->next)
		return cmx_fail_call(-ENOMEM, "keeping the choices of a round");
	ep->next->given[rank] = true;
	ep->next->tokens[rank] = tokens;
	if (tokens)
		memcpy(ep->next->ids + rank * choices, ids,
		       (size_t)tokens * ep->desc.topk * sizeof(*ids));
	return 0;
}

/* Calls @visit for every row of the round, by source, token and choice. */
typedef void (*row_fn)(const struct cmx_ep *ep, struct ep_table *t, uint32_t *next,
		       const struct ep_place *place, uint32_t source, uint32_t token,
		       uint32_t choice);

static void each_row(const struct cmx_ep *ep, struct ep_table *t, uint32_t *next, row_fn visit)
{
	size_t choices = (size_t)ep->desc.max_tokens * ep->desc.topk;

	for (uint32_t s = 0; s < ep->desc.ranks; s++) {
		const int32_t *ids = t->ids + s * choices;
		uint32_t n = ep->ranks[s].failed ? 0 : t->tokens[s] * ep->desc.topk;

		for (uint32_t i = 0; i < n; i++) {
			const struct ep_place *p = ep_place_of(ep, s, i / ep->desc.topk, ids[i]);

			if (p)
				visit(ep, t, next, p, s, i / ep->desc.topk, i % ep->desc.topk);
		}
	}
}

static uint32_t *start_of(const struct cmx_ep *ep, struct ep_table *t,
			  const struct ep_place *place, uint32_t source)
{
	return t->starts + place->rank * starts_of_a_rank(ep) + place->local * ep->desc.ranks +
	       source;
}

static void count_row(const struct cmx_ep *ep, struct ep_table *t, uint32_t *next,
		      const struct ep_place *place, uint32_t source, uint32_t token,
		      uint32_t choice)
{
	(void)next;
	(void)token;
	(void)choice;
	++*start_of(ep, t, place, source);
}

/* @next: of each rank, local expert and source, how many rows are there already. */
static void put_row(const struct cmx_ep *ep, struct ep_table *t, uint32_t *next,
		    const struct ep_place *place, uint32_t source, uint32_t token,
		    uint32_t choice)
{
	uint32_t *start = start_of(ep, t, place, source);
	uint32_t at = *start + next[start - t->starts]++;

	t->origins[t->first[place->rank] + at] = (struct ep_origin){
		.token = token, .choice = choice,
	};
}

/* Counts become the places where rows begin; a rank's last one is how many it gets. */
static void sum_starts(const struct cmx_ep *ep, struct ep_table *t)
{
	size_t n = starts_of_a_rank(ep);

	for (uint32_t r = 0; r < ep->desc.ranks; r++) {
		uint32_t *starts = t->starts + r * n, at = 0;

		for (size_t i = 0; i < n; i++) {
			uint32_t count = starts[i];

			starts[i] = at;
			at += count;
		}
		t->first[r + 1] = t->first[r] + at;
	}
}

static int table_fill(const struct cmx_ep *ep, struct ep_table *t)
{
	size_t n = ep->desc.ranks * starts_of_a_rank(ep);
	uint32_t *next = calloc(n, sizeof(*next));
	uint32_t rows;

	if (!next)
		return -ENOMEM;
	memset(t->starts, 0, n * sizeof(*t->starts));
	each_row(ep, t, NULL, count_row);
	sum_starts(ep, t);
	rows = t->first[ep->desc.ranks];
	if (rows > t->room) {
		free(t->origins);
		t->origins = malloc(rows * sizeof(*t->origins));
		t->room = t->origins ? rows : 0;
	}
	if (rows <= t->room)
		each_row(ep, t, next, put_row);
	free(next);
	return rows <= t->room ? 0 : -ENOMEM;
}

static int table_make(struct cmx_ep *ep)
{
	struct ep_table *t = ep->next;

	for (uint32_t r = 0; r < ep->desc.ranks; r++) {
		if (!ep->ranks[r].failed && !(t && t->given[r]))
			return cmx_fail(-EINVAL, "rank", r, ep->desc.ranks,
					"round %llu: no choices of rank %u (cmx_ep_set_routing)",
					(unsigned long long)ep->rounds, r);
	}
	if (table_fill(ep, t))
		return cmx_fail_call(-ENOMEM, "the rows of a round");
	t->round = ep->rounds;
	atomic_store_explicit(&t->uses, ep->live * USES_OF_A_RANK, memory_order_release);
	cmx_list_add(&ep->tables, &t->node);
	ep->next = NULL;
	return 0;
}

int ep_table_get(struct cmx_ep *ep, uint64_t round, struct ep_table **table)
{
	struct cmx_list *pos;
	int ret = 0;

	*table = NULL;
	if (ep_has_data(ep))
		return 0;
	if (round == ep->rounds)
		ret = table_make(ep);
	if (ret)
		return ret;
	cmx_list_for(pos, &ep->tables) {
		struct ep_table *t = cmx_container(pos, struct ep_table, node);

		/* One that is not used is of an old round. */
		if (t->round == round && atomic_load_explicit(&t->uses, memory_order_relaxed))
			*table = t;
	}
	return 0;
}

void ep_table_put(struct ep_table *table)
{
	if (table)
		atomic_fetch_sub_explicit(&table->uses, 1, memory_order_release);
}

void ep_tables_free(struct cmx_ep *ep)
{
	while (!cmx_list_empty(&ep->tables)) {
		struct ep_table *t = cmx_container(ep->tables.next, struct ep_table, node);

		cmx_list_del(&t->node);
		table_free(t);
	}
	table_free(ep->next);
}
