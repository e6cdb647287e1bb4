// SPDX-License-Identifier: GPL-2.0-only
/* Attention on the latent cache, page by page: one key row serves all heads. */
#include "cmx_level.h"
#include "cmx_attend.h"

static void take_keys(const struct cmx_k_mla *a, const uint32_t *table, struct key_tile *t)
{
	uint32_t mask = (1u << a->page_shift) - 1;

	for (uint32_t i = 0; i < t->n; i++) {
		uint32_t pos = t->first + i;
		size_t page = table[pos >> a->page_shift];
		size_t cell = page << a->page_shift | (pos & mask);

		t->k1[i] = a->cache + cell * (a->kv_lora + a->rope);
		t->k2[i] = t->k1[i] + a->kv_lora;
		t->v[i] = t->k1[i];
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
		attend_tile(&t, q, n);
	}
	for (uint32_t i = 0; i < n; i++)
		attend_divide(&q[i], a->kv_lora);
}

void CMX_K(cmx_k_mla)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_mla *a = args;
	uint32_t tiles = (a->heads + CMX_HEAD_TILE - 1) / CMX_HEAD_TILE;
	uint64_t lo, hi;

	cmx_block_share((uint64_t)a->tokens * tiles, block, nblocks, &lo, &hi);
	for (uint64_t u = lo; u < hi; u++) {
		uint32_t head = (uint32_t)(u % tiles) * CMX_HEAD_TILE;
		uint32_t left = a->heads - head;

		attend_heads(a, (uint32_t)(u / tiles), head,
			     left < CMX_HEAD_TILE ? left : CMX_HEAD_TILE);
	}
}
