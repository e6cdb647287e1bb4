// SPDX-License-Identifier: GPL-2.0-only
/* Attention on the latent cache, page by page: one key row serves all heads. */
#include "cmx_level.h"
#include "cmx_attend.h"

static const float *key_row(const struct cmx_k_mla *a, const uint32_t *table, uint32_t pos)
{
	size_t page = table[pos >> a->page_shift];
	size_t cell = page << a->page_shift | (pos & ((1u << a->page_shift) - 1));

	return a->cache + cell * (a->kv_lora + a->rope);
}

static void take_keys(const struct cmx_k_mla *a, const uint32_t *table, struct key_tile *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		t->k1[i] = key_row(a, table, t->first + i);
		t->k2[i] = t->k1[i] + a->kv_lora;
		t->v[i] = t->k1[i];
	}
}

/* The rows of a tile come from memory while the one before it is at work. */
static void ask_for_keys(const struct cmx_k_mla *a, const uint32_t *table, uint32_t first,
			 uint32_t end)
{
	if (end > first + CMX_KEY_TILE)
		end = first + CMX_KEY_TILE;
	for (uint32_t pos = first; pos < end; pos++) {
		const float *row = key_row(a, table, pos);

		for (uint32_t i = 0; i < a->kv_lora + a->rope; i += CMX_LANES)
			__builtin_prefetch(row + i, 0, 2);
	}
}

/* Some heads of one token. */
static void attend_heads(const struct cmx_k_mla *a, uint32_t token, uint32_t head, uint32_t n)
{
	const struct cmx_row *row = &a->rows[token];
	struct key_tile t = { .d1 = a->kv_lora, .d2 = a->rope, .dv = a->kv_lora,
			      .scale = a->scale };
	struct query q[CMX_HEAD_TILE];
	uint32_t end = row->pos + 1;

	for (uint32_t i = 0; i < n; i++) {
		size_t at = (size_t)token * a->heads + head + i;

		q[i] = (struct query){
			.q1 = a->q_latent + at * a->kv_lora,
			.q2 = a->q + at * (a->nope + a->rope) + a->nope,
			.out = a->out + at * a->kv_lora, .top = -INFINITY, .end = end,
		};
	}
	for (t.first = 0; t.first < end; t.first += CMX_KEY_TILE) {
		t.n = end - t.first < CMX_KEY_TILE ? end - t.first : CMX_KEY_TILE;
		take_keys(a, a->tables + row->keys, &t);
		ask_for_keys(a, a->tables + row->keys, t.first + CMX_KEY_TILE, end);
		attend_tile(&t, q, n);
	}
	for (uint32_t i = 0; i < n; i++)
		attend_divide(&q[i], a->kv_lora);
}

/* Heads that a block has of one token go together: they share what is done with each key. */
void CMX_K(cmx_k_mla)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_mla *a = args;
	uint32_t groups = (a->heads + CMX_HEAD_GROUP - 1) / CMX_HEAD_GROUP;
	uint64_t u, hi;

	cmx_block_share((uint64_t)a->tokens * groups, block, nblocks, &u, &hi);
	while (u < hi) {
		uint32_t group = (uint32_t)(u % groups), head = group * CMX_HEAD_GROUP;
		uint32_t n = CMX_HEAD_TILE / CMX_HEAD_GROUP, heads;

		if (n > groups - group)
			n = groups - group;
		if (n > hi - u)
			n = (uint32_t)(hi - u);
		heads = n * CMX_HEAD_GROUP;
		if (heads > a->heads - head)
			heads = a->heads - head;
		attend_heads(a, (uint32_t)(u / groups), head, heads);
		u += n;
	}
}
