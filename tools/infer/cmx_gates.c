// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_gates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cmx_f64math.h"

/*
 * Popularity by rank r is r^-s. The layers' s are spread evenly between these; docs/timing.md
 * has the two published figures that they come from.
 */
#define LEAST_SLOPE	0.7780
#define MOST_SLOPE	0.8766

/* Of an interval as long as a token is sure to choose the expert. */
#define SURE		(1ull << 32)

struct layer {
	uint64_t *end;		/* [place + 1]: the intervals of experts side by side */
	uint16_t *expert;	/* [place] */
	uint16_t *place;	/* [expert] */
};

struct cmx_gates {
	struct cmx_gates_options opt;
	struct layer *layer;
	char *room;
};

/* The finisher of SplitMix64. */
uint64_t cmx_gates_mix(uint64_t a, uint64_t b)
{
	uint64_t x = a + 0x9e3779b97f4a7c15u * (b + 1);

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static double slope(const struct cmx_gates_options *o, uint32_t moe)
{
	uint32_t steps = o->n_moe - 1;

	if (!steps)
		return MOST_SLOPE;
	return LEAST_SLOPE + (MOST_SLOPE - LEAST_SLOPE) * moe / steps;
}

/* By rank; none is chosen more than once by a token, what is over goes to the others. */
static void shares_by_rank(const struct cmx_gates_options *o, double s, double *share)
{
	double left = 0, used = o->n_used;

	for (uint32_t r = 0; r < o->n_expert; r++) {
		share[r] = cmx_f64_exp(-s * cmx_f64_log(r + 1.0));
		left += share[r];
	}
	for (uint32_t r = 0; r < o->n_expert; r++) {
		double weight = share[r], fair = weight * used / left;

		share[r] = fair > 1 ? 1 : fair;
		left -= weight;
		used -= share[r];
	}
}

static void shuffle(uint16_t *to, uint32_t n, uint64_t seed)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = (uint32_t)(cmx_gates_mix(seed, i) % (i + 1));

		to[i] = to[j];
		to[j] = (uint16_t)i;
	}
}

static void fill_layer(const struct cmx_gates_options *o, uint32_t moe, double *share,
		       uint16_t *rank, struct layer *y)
{
	uint64_t seed = cmx_gates_mix(o->seed, moe);
	double sum = 0;

	shares_by_rank(o, slope(o, moe), share);
	/* One placement serves all layers, so their ranks are alike. */
	shuffle(rank, o->n_expert, o->seed);
	shuffle(y->expert, o->n_expert, seed);
	y->end[0] = 0;
	for (uint32_t i = 0; i < o->n_expert; i++) {
		sum += share[rank[y->expert[i]]];
		y->end[i + 1] = (uint64_t)(sum * (double)SURE + 0.5);
		/* Rounding must not let an expert be chosen twice. */
		if (y->end[i + 1] - y->end[i] > SURE)
			y->end[i + 1] = y->end[i] + SURE;
		y->place[y->expert[i]] = (uint16_t)i;
	}
	y->end[o->n_expert] = o->n_used * SURE;
}

static int fill(struct cmx_gates *g, struct cmx_infer_err *err)
{
	const struct cmx_gates_options *o = &g->opt;
	size_t n = o->n_expert, one = (n + 1) * sizeof(uint64_t) + 2 * n * sizeof(uint16_t);
	double *share = calloc(n, sizeof(*share));
	uint16_t *rank = calloc(n, sizeof(*rank));

	one = (one + 7) / 8 * 8;
	g->layer = calloc(o->n_moe, sizeof(*g->layer));
	g->room = calloc(o->n_moe, one);
	for (uint32_t l = 0; share && rank && g->layer && g->room && l < o->n_moe; l++) {
		struct layer *y = &g->layer[l];

		y->end = (uint64_t *)(g->room + l * one);
		y->expert = (uint16_t *)(y->end + n + 1);
		y->place = y->expert + n;
		fill_layer(o, l, share, rank, y);
	}
	free(share);
	free(rank);
	if (share && rank && g->layer && g->room)
		return 0;
	return cmx_infer_fail(err, -ENOMEM, "no memory for the gates of %u layers", o->n_moe);
}

int cmx_gates_new(const struct cmx_gates_options *opt, struct cmx_gates **out,
		  struct cmx_infer_err *err)
{
	struct cmx_gates *g;
	int ret;

	if (!opt->n_moe || !opt->n_used || opt->n_used > opt->n_expert ||
	    opt->n_expert > CMX_MAX_EXPERTS)
		return cmx_infer_fail(err, -EINVAL,
				      "gates of %u layers that choose %u of %u experts: must be at least one, of at most %u",
				      opt->n_moe, opt->n_used, opt->n_expert, CMX_MAX_EXPERTS);
	g = calloc(1, sizeof(*g));
	if (!g)
		return cmx_infer_fail(err, -ENOMEM, "no memory for gates");
	g->opt = *opt;
	ret = fill(g, err);
	if (ret)
		cmx_gates_free(g);
	else
		*out = g;
	return ret;
}

void cmx_gates_free(struct cmx_gates *g)
{
	if (!g)
		return;
	free(g->layer);
	free(g->room);
	free(g);
}

/* Far apart, so that a token's experts are on different dies. */
static void take_turns(const struct cmx_gates_options *o, uint32_t turn, uint16_t *experts)
{
	for (uint32_t k = 0; k < o->n_used; k++)
		experts[k] = (uint16_t)((turn + (uint64_t)k * o->n_expert / o->n_used) %
					o->n_expert);
}

/* The place whose interval has @at. */
static uint32_t find(const struct layer *y, uint32_t n, uint64_t at)
{
	uint32_t lo = 0, hi = n;

	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (y->end[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	return lo;
}

/*
 * Points at a distance of SURE from each other hit different experts, each with exactly its
 * share.
 */
void cmx_gates_choose(const struct cmx_gates *g, uint32_t moe, const struct cmx_gate_token *t,
		      uint16_t *experts)
{
	const struct cmx_gates_options *o = &g->opt;
	const struct layer *y = &g->layer[moe];
	uint64_t draw;

	if (o->balance == CMX_BALANCE_PERFECT) {
		take_turns(o, t->row, experts);
		return;
	}
	draw = cmx_gates_mix(cmx_gates_mix(o->seed ^ moe, t->stream), t->pos) >> 32;
	for (uint32_t k = 0; k < o->n_used; k++, draw += SURE)
		experts[k] = y->expert[find(y, o->n_expert, draw)];
}

double cmx_gates_share(const struct cmx_gates *g, uint32_t moe, uint32_t expert)
{
	const struct layer *y = &g->layer[moe];
	uint32_t at = y->place[expert];

	if (g->opt.balance == CMX_BALANCE_PERFECT)
		return (double)g->opt.n_used / g->opt.n_expert;
	return (double)(y->end[at + 1] - y->end[at]) / (double)SURE;
}
