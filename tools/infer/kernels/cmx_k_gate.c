// SPDX-License-Identifier: GPL-2.0-only
/*
 * Routing: choose experts by the biased score, weigh them by the unbiased one.
 * Equal scores go to the lower id, a NaN loses to everything.
 */
#include "cmx_level.h"

#include <math.h>

static void scores_sigmoid(float *s, uint32_t n)
{
	for (uint32_t i = 0; i < n; i += CMX_LANES)
		lanes_store_to(s + i, n - i, lanes_sigmoid(lanes_load_to(s + i, n - i, 0)));
}

static void scores_softmax(float *s, uint32_t n)
{
	struct lanes top = lanes_set(-INFINITY), sum = lanes_set(0), m;

	for (uint32_t i = 0; i < n; i += CMX_LANES)
		top = lanes_max(top, lanes_load_to(s + i, n - i, -INFINITY));
	m = lanes_set(lanes_top(top));
	for (uint32_t i = 0; i < n; i += CMX_LANES) {
		struct lanes e = lanes_load_to(s + i, n - i, -INFINITY);

		e = lanes_exp(lanes_sub(e, m));
		sum = lanes_add(sum, e);
		lanes_store_to(s + i, n - i, e);
	}
	m = lanes_set(lanes_sum(sum));
	for (uint32_t i = 0; i < n; i += CMX_LANES)
		lanes_store_to(s + i, n - i, lanes_div(lanes_load_to(s + i, n - i, 0), m));
}

/* Best entry that is not yet taken; the first one left if all are NaN or -inf. */
static uint32_t best_of(const float *s, const uint8_t *taken, uint32_t n)
{
	uint32_t best = n;

	for (uint32_t i = 0; i < n; i++) {
		if (taken[i])
			continue;
		if (best == n || s[i] > s[best] || (s[best] != s[best] && s[i] == s[i]))
			best = i;
	}
	return best;
}

static float group_score(const struct cmx_k_gate *a, const float *s, uint32_t size)
{
	float first = -INFINITY, second = -INFINITY;

	for (uint32_t i = 0; i < size; i++) {
		if (s[i] > first) {
			second = first;
			first = s[i];
		} else if (s[i] > second) {
			second = s[i];
		}
	}
	return a->group_rule == CMX_GROUP_TOP2 ? first + second : first;
}

/* Marks the experts of the groups that lost, so that no score of theirs can win. */
static void drop_groups(const struct cmx_k_gate *a, const float *s, uint8_t *taken)
{
	uint32_t size = a->n_expert / a->n_group;
	uint8_t kept[CMX_MAX_EXPERTS] = { 0 };
	float score[CMX_MAX_EXPERTS];

	for (uint32_t g = 0; g < a->n_group; g++)
		score[g] = group_score(a, s + g * size, size);
	for (uint32_t i = 0; i < a->n_group_used; i++)
		kept[best_of(score, kept, a->n_group)] = 1;
	for (uint32_t e = 0; e < a->n_expert; e++)
		taken[e] = !kept[e / size];
}

static void weigh(const struct cmx_k_gate *a, const float *prob, const uint32_t *ids, float *w)
{
	float sum = 0, factor = a->scale;

	for (uint32_t j = 0; j < a->n_used; j++)
		sum += prob[ids[j]];
	if (a->norm)
		factor = a->scale / (sum > 1e-20f ? sum : 1e-20f);
	for (uint32_t j = 0; j < a->n_used; j++)
		w[j] = prob[ids[j]] * factor;
}

static void route(const struct cmx_k_gate *a, uint64_t token)
{
	const float *logits = a->logits + token * a->n_expert;
	uint32_t *ids = a->ids + token * a->n_used;
	float prob[CMX_MAX_EXPERTS], pick[CMX_MAX_EXPERTS];
	uint8_t taken[CMX_MAX_EXPERTS] = { 0 };

	memcpy(prob, logits, a->n_expert * sizeof(*prob));
	if (a->func == CMX_GATE_SIGMOID)
		scores_sigmoid(prob, a->n_expert);
	else
		scores_softmax(prob, a->n_expert);
	for (uint32_t e = 0; e < a->n_expert; e++)
		pick[e] = a->bias ? prob[e] + a->bias[e] : prob[e];
	if (a->n_group > 1)
		drop_groups(a, pick, taken);
	for (uint32_t j = 0; j < a->n_used; j++) {
		ids[j] = best_of(pick, taken, a->n_expert);
		taken[ids[j]] = 1;
	}
	weigh(a, prob, ids, a->weights + token * a->n_used);
}

void CMX_K(cmx_k_gate)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_gate *a = args;
	uint64_t lo, hi;

	cmx_block_share(a->tokens, block, nblocks, &lo, &hi);
	for (uint64_t t = lo; t < hi; t++)
		route(a, t);
}

/* A counting sort: the slots follow from all tokens together. */
void CMX_K(cmx_k_gate_end)(const void *args)
{
	const struct cmx_k_gate *a = args;
	uint32_t n = a->tokens * a->n_used, next[CMX_MAX_EXPERTS] = { 0 }, sum = 0;

	if (!a->plan)
		return;
	for (uint32_t i = 0; i < n; i++)
		next[a->ids[i]]++;
	a->plan->n_active = 0;
	a->plan->n_rows = n;
	for (uint32_t e = 0; e < a->n_expert; e++) {
		a->plan->n_active += next[e] > 0;
		a->plan->first[e] = sum;
		sum += next[e];
		next[e] = a->plan->first[e];
	}
	a->plan->first[a->n_expert] = sum;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t slot = next[a->ids[i]]++;

		a->slot_token[slot] = i / a->n_used;
		a->token_slot[i] = slot;
	}
}

void CMX_K(cmx_k_route)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_route *a = args;
	const struct cmx_k_matmul product = {
		.w = a->w, .x = a->x, .out = a->logits, .type = a->type,
		.rows = a->gate.n_expert, .k = a->k, .heads = 1, .tokens = a->gate.tokens,
		.x_stride = a->k, .out_stride = a->gate.n_expert,
	};

	CMX_K(cmx_k_matmul)(&product, block, nblocks);
}

void CMX_K(cmx_k_route_end)(const void *args)
{
	const struct cmx_k_route *a = args;

	CMX_K(cmx_k_gate)(&a->gate, 0, 1);
	CMX_K(cmx_k_gate_end)(&a->gate);
}

/* As BF16 would have it: to nearest, ties to even. */
static inline float round_bf16(float y)
{
	uint32_t u = cmx_bits(y);

	return y != y ? y : cmx_float((u + 0x7fff + (u >> 16 & 1)) & 0xffff0000);
}

static struct lanes combine_row(const struct cmx_k_combine *a, uint64_t row, uint32_t i)
{
	uint64_t at = row * a->hidden + i;
	uint32_t n = cmx_gemm_min(a->hidden - i, CMX_LANES);
	float y[CMX_LANES] = { 0 };

	if (a->form == CMX_COMBINE_F32)
		return lanes_load_to((const float *)a->y + at, a->hidden - i, 0);
	for (uint32_t j = 0; j < n; j++)
		y[j] = a->form == CMX_COMBINE_BF16 ?
			       cmx_float((uint32_t)((const uint16_t *)a->y)[at + j] << 16) :
			       round_bf16(((const float *)a->y)[at + j]);
	return lanes_load(y);
}

static void combine_token(const struct cmx_k_combine *a, uint64_t t)
{
	const uint32_t *slot = a->token_slot ? a->token_slot + t * a->n_used : NULL;
	const float *w = a->weights + t * a->n_used;
	uint32_t h = a->hidden;

	for (uint32_t i = 0; i < h; i += CMX_LANES) {
		struct lanes sum = lanes_set(0), x = lanes_load_to(a->x + t * h + i, h - i, 0);

		for (uint32_t j = 0; j < a->n_used; j++) {
			uint64_t row = slot ? slot[j] : t * a->n_used + j;

			sum = lanes_add(sum, lanes_mul(combine_row(a, row, i), lanes_set(w[j])));
		}
		sum = lanes_add(x, sum);
		if (a->shared)
			sum = lanes_add(sum, lanes_load_to(a->shared + t * h + i, h - i, 0));
		lanes_store_to(a->out + t * h + i, h - i, sum);
	}
}

void CMX_K(cmx_k_combine)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_combine *a = args;
	uint64_t lo, hi;

	cmx_block_share(a->tokens, block, nblocks, &lo, &hi);
	for (uint64_t t = lo; t < hi; t++)
		combine_token(a, t);
	CMX_K(cmx_end_rows)(&a->end, a->out, a->hidden, lo, hi);
}
