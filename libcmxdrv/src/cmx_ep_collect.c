// SPDX-License-Identifier: MIT
/*
 * Kernel of dispatch's second half: packets, which lie by source and in the order in which
 * they were sent, become rows by expert, source and token.  A block has some of the sources.
 */
#include <string.h>

#include "cmx_ep_priv.h"

#define PS_PER_NS	1000

/* Rows of each local expert. */
struct counts {
	uint32_t all[CMX_EP_MAX_LOCAL];
	uint32_t before[CMX_EP_MAX_LOCAL];	/* those of sources before the block's */
};

/* What a packet says. */
struct packet {
	const char *payload;
	uint32_t token, choice, local;
};

static uint64_t flag_of(const struct ep_args *args, uint32_t source)
{
	return *(const uint64_t *)ep_ptr(ep_flag_va(args->ep, args->rank, args->round, source));
}

/* Rows from a source, or ~0: its flag is not one of this round. */
static uint32_t rows_from(const struct ep_args *args, uint32_t source)
{
	uint64_t flag;

	if (args->ep->ranks[source].failed)
		return 0;
	flag = flag_of(args, source);
	if (flag >> 32 != args->round + 1 || (uint32_t)flag > args->ep->cap)
		return UINT32_MAX;
	return (uint32_t)flag;
}

/* The choice that the token's @nth row for this rank was made for. */
static bool find_choice(const struct ep_args *args, uint32_t source, const struct ep_tail *tail,
			uint32_t nth, struct packet *p)
{
	const struct cmx_ep *ep = args->ep;

	for (uint32_t k = 0; k < ep->desc.topk; k++) {
		const struct ep_place *place = ep_place_of(ep, source, tail->token, tail->ids[k]);

		if (!place || place->rank != args->rank || nth--)
			continue;
		p->choice = k;
		p->local = place->local;
		return true;
	}
	return false;
}

/* @last, @nth: of the packet before it: those of a token are neighbours. */
static bool read_packet(const struct ep_args *args, uint32_t source, uint32_t slot,
			uint32_t *last, uint32_t *nth, struct packet *p)
{
	const struct cmx_ep *ep = args->ep;
	uint64_t at = (uint64_t)source * ep->cap + slot;
	const struct ep_tail *tail;

	p->payload = ep_ptr(ep_va(ep, args->rank, EP_PACKETS_IN, args->round) + at * ep->packet);
	tail = (const struct ep_tail *)(p->payload + ep_align(ep->payload, 4));
	if (tail->round != (uint32_t)args->round || tail->token >= ep->desc.max_tokens)
		return false;
	*nth = slot && tail->token == *last ? *nth + 1 : 0;
	*last = tail->token;
	p->token = tail->token;
	return find_choice(args, source, tail, *nth, p);
}

/* All rows there are, by expert; and those before source @lo. */
static int count_packets(const struct ep_args *args, uint32_t lo, struct counts *counts,
			 uint32_t *total)
{
	*total = 0;
	for (uint32_t s = 0; s < args->ep->desc.ranks; s++) {
		uint32_t n = rows_from(args, s), last = 0, nth = 0;

		if (n == UINT32_MAX)
			return CMX_EP_CODE_PACKET;
		*total += n;
		for (uint32_t slot = 0; slot < n; slot++) {
			struct packet p;

			if (!read_packet(args, s, slot, &last, &nth, &p))
				return CMX_EP_CODE_PACKET;
			counts->all[p.local]++;
			counts->before[p.local] += s < lo;
		}
	}
	return *total > args->ep->max_rows ? CMX_EP_CODE_ROWS : 0;
}

/* Rows of source @s behind those of the sources before it, by expert; @next goes on. */
static void place_source(const struct ep_args *args, const struct ep_plan *plan, uint32_t s,
			 uint32_t *next)
{
	const struct cmx_ep *ep = args->ep;
	uint32_t n = rows_from(args, s), last = 0, nth = 0;
	char *rows = ep_ptr(ep_va(ep, args->rank, EP_ROWS, args->round));
	struct packet p;

	for (uint32_t e = 0; e < ep->desc.local; e++)
		plan->starts[e * ep->desc.ranks + s] = next[e];
	for (uint32_t slot = 0; slot < n && read_packet(args, s, slot, &last, &nth, &p); slot++) {
		uint32_t row = next[p.local]++;

		memcpy(rows + (uint64_t)row * ep->packet, p.payload, ep->payload);
		plan->origins[row] = (struct ep_origin){
			.token = p.token, .slot = slot, .choice = p.choice,
		};
	}
}

static void write_plan(const struct cmx_ep *ep, const struct ep_plan *plan,
		       const struct counts *counts, uint32_t total)
{
	uint32_t first = 0;

	*plan->n_active = 0;
	*plan->n_rows = total;
	for (uint32_t e = 0; e < ep->desc.local; e++) {
		plan->first[e] = first;
		first += counts->all[e];
		*plan->n_active += counts->all[e] > 0;
	}
	plan->first[ep->desc.local] = total;
	plan->starts[ep->desc.local * ep->desc.ranks] = total;
}

int ep_collect_block(struct cmx_launch_ctx *lc, const void *bytes, uint32_t block)
{
	const struct ep_args *args = bytes;
	const struct cmx_ep *ep = args->ep;
	struct ep_plan plan = ep_plan_of(ep, args->rank, args->round);
	struct counts counts = {};
	uint32_t lo, hi, total, first = 0;
	int ret;

	if (!ep_has_data(ep))
		return 0;
	ep_part(ep->desc.ranks, block, cmx_launch_grid(lc), &lo, &hi);
	ret = count_packets(args, lo, &counts, &total);
	if (ret)
		return ret;
	if (!block)
		write_plan(ep, &plan, &counts, total);
	for (uint32_t e = 0; e < ep->desc.local; e++) {
		counts.before[e] += first;
		first += counts.all[e];
	}
	for (uint32_t s = lo; s < hi; s++)
		place_source(args, &plan, s, counts.before);
	return 0;
}

/* How many rows there were is known now: each is read and written, and takes its time. */
int ep_collect_post(struct cmx_launch_ctx *lc, const void *bytes)
{
	const struct ep_args *args = bytes;
	const struct cmx_ep *ep = args->ep;
	struct cmx_cost cost;
	uint64_t rows = 0, ps;

	for (uint32_t s = 0; s < ep->desc.ranks; s++) {
		uint32_t n = rows_from(args, s);

		if (n == UINT32_MAX)
			return CMX_EP_CODE_PACKET;
		rows += n;
	}
	if (rows > ep->max_rows)
		return CMX_EP_CODE_ROWS;
	ps = ep_share_ps(rows, ep->desc.costs.row_ps, args->cores);
	cmx_launch_cost(lc, &cost);
	cost.mem_bytes += 2 * rows * ep->packet;
	cost.fixed_ns += (uint32_t)((ps + PS_PER_NS / 2) / PS_PER_NS);
	return cmx_launch_set_cost(lc, &cost);
}
