// SPDX-License-Identifier: GPL-2.0-only
/* Feed-forward products: dense, shared and routed experts. */
#include "cmx_level.h"
#include "cmx_dot.h"

_Static_assert(CMX_ROW_TILE == CMX_LANES, "a tile of rows is one set of lanes");

/* One matrix pair and the tokens that pass through it. */
struct glu_group {
	const char *gate;
	const char *up;
	const float *x;
	const uint32_t *rows_of_x;	/* NULL: rows 0, 1, 2... */
	float *out;
	uint32_t gate_type;
	uint32_t up_type;
	uint32_t rows;
	uint32_t k;
	uint32_t tokens;
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The sums of one row for up to CMX_TOKEN_TILE tokens, stored down a column. */
static void dot_column(uint32_t type, const char *row, const float *const *x, uint32_t n,
		       uint32_t k, float *out)
{
	float sum[CMX_TOKEN_TILE];

	CMX_K(cmx_dot_tokens)(type, row, x, n, k, sum);
	for (uint32_t i = 0; i < n; i++)
		out[i * CMX_ROW_TILE] = sum[i];
}

static void glu_tokens(const struct glu_group *g, uint32_t t, uint32_t n, uint32_t row,
		       uint32_t end)
{
	size_t gate_bytes = weight_row_bytes(g->gate_type, g->k);
	size_t up_bytes = weight_row_bytes(g->up_type, g->k);
	float gate[CMX_TOKEN_TILE * CMX_ROW_TILE], up[CMX_TOKEN_TILE * CMX_ROW_TILE];
	const float *x[CMX_TOKEN_TILE];

	for (uint32_t i = 0; i < n; i++)
		x[i] = g->x + (size_t)(g->rows_of_x ? g->rows_of_x[t + i] : t + i) * g->k;
	for (uint32_t r = row; r < end; r++) {
		dot_column(g->gate_type, g->gate + r * gate_bytes, x, n, g->k, gate + r - row);
		dot_column(g->up_type, g->up + r * up_bytes, x, n, g->k, up + r - row);
	}
	for (uint32_t i = 0; i < n; i++) {
		float *out = g->out + (size_t)(t + i) * g->rows + row;
		struct lanes y = lanes_load_to(gate + i * CMX_ROW_TILE, end - row, 0);
		struct lanes u = lanes_load_to(up + i * CMX_ROW_TILE, end - row, 0);

		lanes_store_to(out, end - row, lanes_mul(lanes_silu(y), u));
	}
}

static void glu_rows(const struct glu_group *g, uint32_t row, uint32_t end)
{
	for (uint32_t t = 0; t < g->tokens; t += CMX_TOKEN_TILE)
		glu_tokens(g, t, min_u32(CMX_TOKEN_TILE, g->tokens - t), row, end);
}

void CMX_K(cmx_k_glu)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_glu *a = args;
	const struct glu_group g = {
		.gate = a->gate, .up = a->up, .x = a->x, .out = a->out,
		.gate_type = a->gate_type, .up_type = a->up_type,
		.rows = a->rows, .k = a->k, .tokens = a->tokens,
	};
	uint32_t tiles = (a->rows + CMX_ROW_TILE - 1) / CMX_ROW_TILE;
	uint64_t lo, hi;

	cmx_block_share(tiles, block, nblocks, &lo, &hi);
	for (uint64_t u = lo; u < hi; u++)
		glu_rows(&g, (uint32_t)u * CMX_ROW_TILE,
			 min_u32((uint32_t)(u + 1) * CMX_ROW_TILE, a->rows));
}

/*
 * Units run over the experts that have tokens. Calls @fn for each unit of this
 * block's share with the expert and its first row.
 */
static void for_expert_tiles(const struct cmx_plan *plan, uint32_t n_expert, uint32_t rows,
			     uint32_t block, uint32_t nblocks,
			     void (*fn)(const void *args, uint32_t expert, uint32_t row),
			     const void *args)
{
	uint32_t tiles = (rows + CMX_ROW_TILE - 1) / CMX_ROW_TILE;
	uint64_t lo, hi, unit = 0;

	cmx_block_share((uint64_t)plan->n_active * tiles, block, nblocks, &lo, &hi);
	for (uint32_t e = 0; e < n_expert && unit < hi; e++) {
		if (plan->first[e] == plan->first[e + 1])
			continue;
		for (uint32_t i = 0; i < tiles; i++, unit++) {
			if (unit >= lo && unit < hi)
				fn(args, e, i * CMX_ROW_TILE);
		}
	}
}

static void expert_glu_tile(const void *args, uint32_t e, uint32_t row)
{
	const struct cmx_k_expert_glu *a = args;
	uint32_t first = a->plan->first[e];
	const struct glu_group g = {
		.gate = (const char *)a->gate +
			(size_t)e * a->rows * weight_row_bytes(a->gate_type, a->k),
		.up = (const char *)a->up +
		      (size_t)e * a->rows * weight_row_bytes(a->up_type, a->k),
		.x = a->x, .rows_of_x = a->slot_token + first,
		.out = a->out + (size_t)first * a->rows,
		.gate_type = a->gate_type, .up_type = a->up_type,
		.rows = a->rows, .k = a->k, .tokens = a->plan->first[e + 1] - first,
	};

	glu_rows(&g, row, min_u32(row + CMX_ROW_TILE, a->rows));
}

void CMX_K(cmx_k_expert_glu)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_expert_glu *a = args;

	for_expert_tiles(a->plan, a->n_expert, a->rows, block, nblocks, expert_glu_tile, a);
}

static void expert_down_tile(const void *args, uint32_t e, uint32_t row)
{
	const struct cmx_k_expert_down *a = args;
	size_t row_bytes = weight_row_bytes(a->type, a->k);
	const char *w = (const char *)a->w + (size_t)e * a->rows * row_bytes;
	uint32_t end = min_u32(row + CMX_ROW_TILE, a->rows), last = a->plan->first[e + 1];

	for (uint32_t s = a->plan->first[e]; s < last; s += CMX_TOKEN_TILE) {
		uint32_t n = min_u32(CMX_TOKEN_TILE, last - s);
		const float *x[CMX_TOKEN_TILE];

		for (uint32_t i = 0; i < n; i++)
			x[i] = a->x + (size_t)(s + i) * a->k;
		for (uint32_t r = row; r < end; r++) {
			float sum[CMX_TOKEN_TILE];

			CMX_K(cmx_dot_tokens)(a->type, w + r * row_bytes, x, n, a->k, sum);
			for (uint32_t i = 0; i < n; i++)
				a->out[(size_t)(s + i) * a->rows + r] = sum[i];
		}
	}
}

void CMX_K(cmx_k_expert_down)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_expert_down *a = args;

	for_expert_tiles(a->plan, a->n_expert, a->rows, block, nblocks, expert_down_tile, a);
}
