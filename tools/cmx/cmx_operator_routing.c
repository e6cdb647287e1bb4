// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_operator_routing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TOPK	64

/* The finisher of SplitMix64. */
uint64_t cmx_routing_mix(uint64_t a, uint64_t b)
{
	uint64_t x = a + 0x9e3779b97f4a7c15u * (b + 1);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* @topk different experts, each set equally likely. */
static void draw(const struct cmx_routing_options *opt, uint64_t stream, uint16_t *experts)
{
	uint64_t state = cmx_routing_mix(opt->seed, stream);

	for (uint32_t k = 0; k < opt->topk;) {
		uint16_t e;
		uint32_t i = 0;

		state = cmx_routing_mix(state, k);
		e = (uint16_t)(((state >> 32) * opt->experts) >> 32);
		while (i < k && experts[i] != e)
			i++;
		if (i == k)
			experts[k++] = e;
	}
}

/* Every expert equally often, those of a token far apart; at no time many ranks send to one. */
static void take_turns(const struct cmx_routing_options *opt, uint64_t stream, uint16_t *experts)
{
	uint64_t first = stream / opt->tokens * opt->experts / opt->ep + stream % opt->tokens;

	for (uint32_t k = 0; k < opt->topk; k++)
		experts[k] = (uint16_t)((first + (uint64_t)k * opt->experts / opt->topk) %
					opt->experts);
}

/*
 * The ranks share the experts' load evenly: expert e takes the part [e, e + 1) of a line that
 * is cut into ep equal pieces. One that lies on several ranks is on each of them, and they get
 * its tokens in proportion. With ep a divisor of the number of experts each is on one rank.
 */
static uint16_t rank_of(const struct cmx_routing_options *opt, uint64_t stream, uint32_t k,
			uint16_t expert)
{
	uint64_t replica = cmx_routing_mix(stream ^ opt->seed, 1000 + k) >> 32;
	uint64_t place = ((uint64_t)expert << 32 | replica) * opt->ep / opt->experts;

	return (uint16_t)(place >> 32);
}

static void route_token(struct cmx_routing *r, uint32_t source, uint32_t token)
{
	const struct cmx_routing_options *opt = &r->opt;
	uint64_t stream = (uint64_t)source * opt->tokens + token;
	struct cmx_row *row = r->rows + stream * opt->topk;
	uint16_t experts[MAX_TOPK];

	if (opt->balanced)
		take_turns(opt, stream, experts);
	else
		draw(opt, stream, experts);
	for (uint32_t k = 0; k < opt->topk; k++, row++) {
		uint16_t rank = rank_of(opt, stream, k, experts[k]);

		*row = (struct cmx_row){
			.source = (uint16_t)source, .rank = rank, .expert = experts[k],
			.k = (uint16_t)k, .token = token,
			.slot = r->sent[(size_t)source * opt->ep + rank]++,
		};
		if (row->slot >= r->max_slots)
			r->max_slots = row->slot + 1;
	}
}

/* Rows of one rank and source are already in the order of their slots. */
static void fill_inbox(struct cmx_routing *r)
{
	uint32_t ep = r->opt.ep, n = ep * r->opt.tokens * r->opt.topk;

	for (uint32_t i = 0; i < n; i++)
		r->first[r->rows[i].rank + 1]++;
	for (uint32_t rank = 0; rank < ep; rank++)
		r->first[rank + 1] += r->first[rank];
	for (uint32_t i = 0; i < n; i++)
		r->inbox[r->first[r->rows[i].rank]++] = r->rows[i];
	/* Each has moved to where the next one begins. */
	memmove(r->first + 1, r->first, ep * sizeof(*r->first));
	r->first[0] = 0;
}

int cmx_routing_make(struct cmx_routing *r, const struct cmx_routing_options *opt)
{
	size_t rows = (size_t)opt->ep * opt->tokens * opt->topk;

	memset(r, 0, sizeof(*r));
	if (!opt->ep || opt->ep > 4096 || !opt->topk || opt->topk > MAX_TOPK ||
	    opt->topk > opt->experts || rows >= UINT32_MAX)
		return -EINVAL;
	r->opt = *opt;
	r->rows = calloc(rows + 1, sizeof(*r->rows));
	r->inbox = calloc(rows + 1, sizeof(*r->inbox));
	r->first = calloc(opt->ep + 1, sizeof(*r->first));
	r->sent = calloc((size_t)opt->ep * opt->ep, sizeof(*r->sent));
	if (!r->rows || !r->inbox || !r->first || !r->sent) {
		cmx_routing_free(r);
		return -ENOMEM;
	}
	for (uint32_t source = 0; source < opt->ep; source++)
		for (uint32_t token = 0; token < opt->tokens; token++)
			route_token(r, source, token);
	fill_inbox(r);
	return 0;
}

void cmx_routing_free(struct cmx_routing *r)
{
	free(r->rows);
	free(r->inbox);
	free(r->first);
	free(r->sent);
	memset(r, 0, sizeof(*r));
}
