// SPDX-License-Identifier: GPL-2.0-only
/*
 * Picks the next token: the best logit (the lower id of equal ones), or a draw
 * from the softmax at a temperature, cut to the likeliest tokens. The draw is a
 * function of seed and index alone.
 */
#include "cmx_level.h"

#include <stdbool.h>

static bool all_finite(const float *x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if ((cmx_bits(x[i]) & 0x7f800000u) == 0x7f800000u)
			return false;
	}
	return true;
}

static uint32_t argmax(const float *x, uint32_t n)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < n; i++) {
		if (x[i] > x[best])
			best = i;
	}
	return best;
}

/* Uniform in [0, 1), a splitmix64 step of a counter. */
static double draw(uint64_t seed, uint64_t index)
{
	uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return (double)(z >> 11) * 0x1p-53;
}

/* One row at work. */
struct choice {
	const struct cmx_sample_row *r;
	const float *logits;
	const uint32_t *history;
	uint32_t *order;
	float *prob;
	uint32_t vocab;
};

/*
 * Logits with the penalty on ids that were there before, each id once. They
 * take the place of the probabilities, which are made from them later; marks
 * take that of the order.
 */
static const float *penalised(const struct choice *a)
{
	if (a->r->penalty == 1)
		return a->logits;
	for (uint32_t i = 0; i < a->vocab; i++) {
		a->prob[i] = a->logits[i];
		a->order[i] = 0;
	}
	for (uint32_t i = 0; i < a->r->n_history; i++) {
		uint32_t id = a->history[i];

		if (id >= a->vocab || a->order[id])
			continue;
		a->order[id] = 1;
		a->prob[id] = a->prob[id] > 0 ? a->prob[id] / a->r->penalty :
						a->prob[id] * a->r->penalty;
	}
	return a->prob;
}

static void probabilities(const struct choice *a, const float *logits, float top)
{
	const struct lanes t = lanes_set(a->r->temp), m = lanes_set(top);

	for (uint32_t i = 0; i < a->vocab; i += CMX_LANES) {
		struct lanes l = lanes_load_to(logits + i, a->vocab - i, top);

		lanes_store_to(a->prob + i, a->vocab - i, lanes_exp(lanes_div(lanes_sub(l, m), t)));
	}
}

/* A total order, so that every correct sort gives the same result. */
static bool likelier(const float *p, uint32_t a, uint32_t b)
{
	return p[a] > p[b] || (p[a] == p[b] && a < b);
}

/* Restores the heap below @i: parents are less likely than their children. */
static void sift(const float *p, uint32_t *heap, uint32_t i, uint32_t n)
{
	for (;;) {
		uint32_t least = i, child = 2 * i + 1, id = heap[i];

		for (uint32_t c = child; c < child + 2 && c < n; c++) {
			if (likelier(p, heap[least], heap[c]))
				least = c;
		}
		if (least == i)
			return;
		heap[i] = heap[least];
		heap[least] = id;
		i = least;
	}
}

static void sort_by_likelihood(const float *p, uint32_t *order, uint32_t n)
{
	for (uint32_t i = n / 2; i-- > 0;)
		sift(p, order, i, n);
	for (uint32_t end = n; end-- > 1;) {
		uint32_t least = order[0];

		order[0] = order[end];
		order[end] = least;
		sift(p, order, 0, end);
	}
}

static double sum_of(const struct choice *a, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += a->prob[a->order[i]];
	return sum;
}

/* How many of the first @n sorted tokens are needed to hold the share top_p of them. */
static uint32_t nucleus(const struct choice *a, uint32_t n)
{
	double sum = 0, want = (double)a->r->top_p * sum_of(a, n);

	for (uint32_t i = 0; i < n; i++) {
		sum += a->prob[a->order[i]];
		if (sum >= want)
			return i + 1;
	}
	return n;
}

/* How many of the first @n sorted tokens are likely enough beside the first. */
static uint32_t likely_enough(const struct choice *a, uint32_t n)
{
	float least = a->r->min_p * a->prob[a->order[0]];

	while (n > 1 && a->prob[a->order[n - 1]] < least)
		n--;
	return n;
}

/* Sorts the tokens if any are cut off, and returns how many are left. */
static uint32_t cut(const struct choice *a)
{
	uint32_t n = a->vocab;

	if (a->r->top_p >= 1 && a->r->min_p <= 0 && (!a->r->top_k || a->r->top_k >= n))
		return n;
	sort_by_likelihood(a->prob, a->order, n);
	if (a->r->top_k && a->r->top_k < n)
		n = a->r->top_k;
	if (a->r->top_p < 1)
		n = nucleus(a, n);
	return a->r->min_p > 0 ? likely_enough(a, n) : n;
}

static uint32_t draw_token(const struct choice *a, const float *logits)
{
	uint32_t n = a->vocab;
	double left;

	probabilities(a, logits, logits[argmax(logits, n)]);
	for (uint32_t i = 0; i < n; i++)
		a->order[i] = i;
	n = cut(a);
	left = draw(a->r->seed, a->r->index) * sum_of(a, n);
	for (uint32_t i = 0; i + 1 < n; i++) {
		left -= a->prob[a->order[i]];
		if (left < 0)
			return a->order[i];
	}
	return a->order[n - 1];
}

static void choose(const struct choice *a, struct cmx_sampled *out, uint32_t *next)
{
	const float *logits = penalised(a);

	out->id = 0;
	out->bad = !all_finite(logits, a->vocab);
	if (!out->bad)
		out->id = a->r->temp > 0 ? draw_token(a, logits) : argmax(logits, a->vocab);
	*next = out->id;
}

void CMX_K(cmx_k_sample)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_sample *a = args;
	uint64_t lo, hi;

	cmx_block_share(a->n, block, nblocks, &lo, &hi);
	/* Whoever does the first row of a sequence does those that follow. */
	while (lo < hi && a->rows[lo].follows)
		lo++;
	if (lo == hi)
		return;
	for (uint64_t i = lo; i < a->n && (i < hi || a->rows[i].follows); i++) {
		const struct cmx_sample_row *r = &a->rows[i];
		const struct choice c = {
			.r = r, .logits = a->logits + (uint64_t)r->logits * a->vocab,
			.history = a->ids + r->history, .order = a->order + i * a->vocab,
			.prob = a->prob + i * a->vocab, .vocab = a->vocab,
		};

		choose(&c, &a->out[i], a->ids + r->history + r->n_history);
	}
}
