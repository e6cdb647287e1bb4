// SPDX-License-Identifier: GPL-2.0-only
/* Attention of a prompt: every head has keys and values of its own. */
#include "cmx_level.h"
#include "cmx_attend.h"

static void take_keys(const struct cmx_k_attention *a, uint32_t head, uint32_t row,
		      struct key_tile *t)
{
	uint32_t latent = a->kv_lora + a->rope;
	size_t first = (size_t)head * a->window + row;

	for (uint32_t i = 0; i < t->n; i++) {
		t->k1[i] = a->keys + (first + i) * a->nope;
		t->k2[i] = a->latent + ((size_t)row + i) * latent + a->kv_lora;
		t->v[i] = a->values + (first + i) * a->dv;
	}
}

static void start_query(const struct cmx_k_attention *a, uint32_t head, uint32_t token,
			struct query *q)
{
	size_t at = (size_t)token * a->heads + head;

	*q = (struct query){
		.q1 = a->q + at * (a->nope + a->rope), .out = a->out + at * a->dv,
		.top = -INFINITY, .end = a->rows[token].pos + 1,
	};
	q->q2 = q->q1 + a->nope;
	if (a->first) {
		q->top = a->state[2 * at];
		q->sum = a->state[2 * at + 1];
	}
}

/* Either all keys were seen, or the next launch goes on from here. */
static void stop_query(const struct cmx_k_attention *a, uint32_t head, uint32_t token,
		       const struct query *q)
{
	size_t at = (size_t)token * a->heads + head;

	if (q->end <= a->end) {
		attend_divide(q, a->dv);
	} else {
		a->state[2 * at] = q->top;
		a->state[2 * at + 1] = q->sum;
	}
}

/* Tokens of one sequence. */
static void attend_run(const struct cmx_k_attention *a, uint32_t head, uint32_t token, uint32_t n)
{
	struct key_tile t = { .d1 = a->nope, .d2 = a->rope, .dv = a->dv, .scale = a->scale };
	struct query q[CMX_QUERY_TILE];
	uint32_t end = 0;

	for (uint32_t i = 0; i < n; i++) {
		start_query(a, head, token + i, &q[i]);
		end = q[i].end > end ? q[i].end : end;
	}
	if (end > a->end)
		end = a->end;
	for (t.first = a->first; t.first < end; t.first += CMX_KEY_TILE) {
		t.n = end - t.first < CMX_KEY_TILE ? end - t.first : CMX_KEY_TILE;
		take_keys(a, head, a->rows[token].keys + (t.first - a->first), &t);
		attend_tile(&t, q, n);
	}
	for (uint32_t i = 0; i < n; i++)
		stop_query(a, head, token + i, &q[i]);
}

void CMX_K(cmx_k_attention)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_attention *a = args;
	uint32_t tiles = (a->tokens + CMX_QUERY_TILE - 1) / CMX_QUERY_TILE;
	uint64_t lo, hi;

	cmx_block_share((uint64_t)tiles * a->heads, block, nblocks, &lo, &hi);
	for (uint64_t u = lo; u < hi; u++) {
		uint32_t token = (uint32_t)(u % tiles) * CMX_QUERY_TILE, n;
		uint32_t end = a->tokens - token < CMX_QUERY_TILE ? a->tokens :
								    token + CMX_QUERY_TILE;

		for (; token < end; token += n) {
			for (n = 1; token + n < end; n++) {
				if (a->rows[token + n].keys != a->rows[token].keys)
					break;
			}
			attend_run(a, (uint32_t)(u / tiles), token, n);
		}
	}
}
