// SPDX-License-Identifier: GPL-2.0-only
/* Feed-forward products: dense, shared and routed experts. */
#include "cmx_level.h"

/* A pair of matrices, and the tokens that pass through it. */
struct glu_group {
	struct cmx_gemm gate;
	struct cmx_gemm up;
	float *out;
	uint32_t rows;
	uint32_t tokens;
};

static uint32_t panels_of(uint32_t rows)
{
	return (rows + CMX_PANEL - 1) / CMX_PANEL;
}

static void glu_panels(const struct glu_group *g, uint32_t panel, uint32_t np)
{
	float gate[CMX_GEMM_CELLS * CMX_PANEL], up[CMX_GEMM_CELLS * CMX_PANEL];

	for (uint32_t t = 0, nt; t < g->tokens; t += nt) {
		nt = cmx_gemm_min(g->tokens - t, CMX_GEMM_TOKENS);
		CMX_K(cmx_gemm)(&g->gate, panel, np, t, nt, gate);
		CMX_K(cmx_gemm)(&g->up, panel, np, t, nt, up);
		for (uint32_t i = 0; i < np * nt; i++) {
			uint32_t row = (panel + i / nt) * CMX_PANEL;
			float *out = g->out + (size_t)(t + i % nt) * g->rows + row;
			struct lanes y = lanes_silu(lanes_load(gate + i * CMX_PANEL));

			y = lanes_mul(y, lanes_load(up + i * CMX_PANEL));
			lanes_store_to(out, g->rows - row, y);
		}
	}
}

static void glu_share(const struct glu_group *g, uint32_t panel, uint32_t end)
{
	uint32_t most = cmx_gemm_panels(g->tokens);

	for (uint32_t np; panel < end; panel += np) {
		np = cmx_gemm_min(end - panel, most);
		glu_panels(g, panel, np);
	}
}

void CMX_K(cmx_k_glu)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_glu *a = args;
	const struct glu_group g = {
		.gate = { .w = a->gate, .type = a->gate_type, .k = a->k, .x = a->x,
			  .x_stride = a->k },
		.up = { .w = a->up, .type = a->up_type, .k = a->k, .x = a->x, .x_stride = a->k },
		.out = a->out, .rows = a->rows, .tokens = a->tokens,
	};
	uint64_t lo, hi;

	cmx_block_share(panels_of(a->rows), block, nblocks, &lo, &hi);
	glu_share(&g, (uint32_t)lo, (uint32_t)hi);
}

void CMX_K(cmx_k_glu_end)(const void *args)
{
	const struct cmx_k_glu *a = args;
	const struct cmx_row_end end = { .rounded = a->rounded };

	CMX_K(cmx_end_rows)(&end, a->out, a->rows, 0, a->tokens);
}

/*
 * Units are the panels of the experts that have tokens. Calls @fn with each expert
 * of this block's share and its panels.
 */
static void for_experts(const struct cmx_plan *plan, uint32_t n_expert, uint32_t rows,
			uint32_t block, uint32_t nblocks,
			void (*fn)(const void *args, uint32_t expert, uint32_t panel, uint32_t end),
			const void *args)
{
	uint32_t panels = panels_of(rows);
	uint64_t lo, hi, unit = 0;

	cmx_block_share((uint64_t)plan->n_active * panels, block, nblocks, &lo, &hi);
	for (uint32_t e = 0; e < n_expert && unit < hi; e++) {
		uint64_t next = unit + panels;

		if (plan->first[e] == plan->first[e + 1])
			continue;
		if (next > lo)
			fn(args, e, (uint32_t)(lo > unit ? lo - unit : 0),
			   (uint32_t)((hi < next ? hi : next) - unit));
		unit = next;
	}
}

/* Bytes from one row of the input to the next one. */
static size_t row_bytes(const struct cmx_k_expert_glu *a)
{
	if (a->x_stride)
		return a->x_stride;
	return a->gate_type == CMX_TENSOR_I8 ? cmx_i8_row_bytes(a->k) : a->k * sizeof(*a->x);
}

static void expert_glu(const void *args, uint32_t e, uint32_t panel, uint32_t end)
{
	const struct cmx_k_expert_glu *a = args;
	uint32_t first = a->plan->first[e];
	const uint32_t *rows = a->slot_token ? a->slot_token + first : NULL;
	size_t bytes = row_bytes(a), skip = rows ? 0 : first * bytes;
	const float *x = (const float *)((const char *)a->x + skip);
	const struct glu_group g = {
		.gate = { .w = (const char *)a->gate +
			       e * cmx_packed_bytes(a->gate_type, a->rows, a->k),
			  .type = a->gate_type, .k = a->k, .x = x, .x_bytes = bytes,
			  .x_stride = bytes / sizeof(*x), .x_row = rows },
		.up = { .w = (const char *)a->up + e * cmx_packed_bytes(a->up_type, a->rows, a->k),
			.type = a->up_type, .k = a->k, .x = x, .x_bytes = bytes,
			.x_stride = bytes / sizeof(*x), .x_row = rows },
		.out = a->out + (size_t)first * a->rows, .rows = a->rows,
		.tokens = a->plan->first[e + 1] - first,
	};

	glu_share(&g, panel, end);
}

void CMX_K(cmx_k_expert_glu)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_expert_glu *a = args;

	for_experts(a->plan, a->n_expert, a->rows, block, nblocks, expert_glu, a);
}

void CMX_K(cmx_k_expert_glu_end)(const void *args)
{
	const struct cmx_k_expert_glu *a = args;
	const struct cmx_row_end end = { .rounded = a->rounded };

	CMX_K(cmx_end_rows)(&end, a->out, a->rows, 0, (uint64_t)a->tokens * a->n_used);
}

static void down_panels(const struct cmx_k_expert_down *a, const struct cmx_gemm *g,
			uint32_t panel, uint32_t np, uint32_t slot, uint32_t nt)
{
	float c[CMX_GEMM_CELLS * CMX_PANEL];

	CMX_K(cmx_gemm)(g, panel, np, slot, nt, c);
	for (uint32_t i = 0; i < np * nt; i++) {
		uint32_t row = (panel + i / nt) * CMX_PANEL;

		lanes_store_to(a->out + (size_t)(slot + i % nt) * a->rows + row, a->rows - row,
			       lanes_load(c + i * CMX_PANEL));
	}
}

static void expert_down(const void *args, uint32_t e, uint32_t panel, uint32_t end)
{
	const struct cmx_k_expert_down *a = args;
	uint32_t slot = a->plan->first[e], last = a->plan->first[e + 1];
	uint32_t most = cmx_gemm_panels(last - slot);
	const struct cmx_gemm g = {
		.w = (const char *)a->w + e * cmx_packed_bytes(a->type, a->rows, a->k),
		.type = a->type, .k = a->k, .x = a->x, .x_stride = a->k,
	};

	for (uint32_t np; panel < end; panel += np) {
		np = cmx_gemm_min(end - panel, most);
		for (uint32_t s = slot, nt; s < last; s += nt) {
			nt = cmx_gemm_min(last - s, CMX_GEMM_TOKENS);
			down_panels(a, &g, panel, np, s, nt);
		}
	}
}

void CMX_K(cmx_k_expert_down)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_expert_down *a = args;

	for_experts(a->plan, a->n_expert, a->rows, block, nblocks, expert_down, a);
}
