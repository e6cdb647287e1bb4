// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_gemm.h"

#include "cmx_level.h"
#include "cmx_panel_lanes.h"

_Static_assert(!(CMX_GEMM_K % CMX_Q4_K_VALUES), "blocks of K are whole blocks of weights");

/* One block of K of a tile: from panels that are @stride apart, for up to CMX_TILE_TOKENS rows. */
struct tile {
	const char *w;
	size_t stride;
	const float *x[CMX_TILE_TOKENS];
	uint32_t k;
	float *c;
	size_t c_stride;	/* between panels */
};

/* How far ahead the quantised weights are asked for, in bytes. */
#define PREFETCH	2048u

/*
 * The sums of a tile live in registers only if no loop over them is left. Where they
 * cannot anyway, long code would just take long to compile.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(CMX_SIMDE) || CMX_LEVEL == CMX_LEVEL_SCALAR
enum { UNROLL = 1 };
#else
enum { UNROLL = 16 };
#endif

/* acc += one weight of every panel and row, for every token. */
cmx_inline void tile_step(const struct tile *a, uint32_t nt, uint32_t np, uint32_t k,
			  const struct lanes *w, struct lanes (*acc)[CMX_TILE_PANELS])
{
#pragma GCC unroll UNROLL
	for (uint32_t t = 0; t < nt; t++) {
		struct lanes x = lanes_set(a->x[t][k]);

#pragma GCC unroll UNROLL
		for (uint32_t p = 0; p < np; p++)
			acc[t][p] = lanes_fma(w[p], x, acc[t][p]);
	}
}

cmx_inline void tile_plain(const struct tile *a, uint32_t type, uint32_t nt, uint32_t np,
			   uint32_t k, struct lanes (*acc)[CMX_TILE_PANELS])
{
	struct lanes w[CMX_TILE_PANELS];

#pragma GCC unroll UNROLL
	for (uint32_t p = 0; p < np; p++)
		w[p] = panel_plain_lanes(type, a->w + p * a->stride, k);
	tile_step(a, nt, np, k, w, acc);
}

/* acc += the run from weight @k on. */
cmx_inline void tile_run(const struct tile *a, uint32_t type, uint32_t nt, uint32_t np,
			 uint32_t k, const struct panel_run *run,
			 struct lanes (*acc)[CMX_TILE_PANELS])
{
	const uint32_t group = panel_group(type), n = panel_run(type) / group;

	for (uint32_t g = 0; g < n; g++) {
#pragma GCC unroll UNROLL
		for (uint32_t p = 0; p < np && type != PANEL_NUMBERS; p++)
			__builtin_prefetch(run[p].q + g * WORDS + PREFETCH);
#pragma GCC unroll UNROLL
		for (uint32_t j = 0; j < group; j++) {
			struct lanes w[CMX_TILE_PANELS];

#pragma GCC unroll UNROLL
			for (uint32_t p = 0; p < np; p++)
				w[p] = panel_run_lanes(type, &run[p], g, j);
			tile_step(a, nt, np, k + g * group + j, w, acc);
		}
	}
}

cmx_inline void clear(struct lanes (*acc)[CMX_TILE_PANELS], uint32_t nt, uint32_t np)
{
#pragma GCC unroll UNROLL
	for (uint32_t t = 0; t < nt; t++) {
#pragma GCC unroll UNROLL
		for (uint32_t p = 0; p < np; p++)
			acc[t][p] = lanes_set(0);
	}
}

/* acc += weights [k, end) with runs that are scaled one by one. */
cmx_inline void tile_runs(const struct tile *a, uint32_t type, uint32_t nt, uint32_t np,
			  uint32_t k, uint32_t end, struct lanes (*acc)[CMX_TILE_PANELS])
{
	struct panel_run run[CMX_TILE_PANELS];

	for (; k < end; k += panel_run(type)) {
#pragma GCC unroll UNROLL
		for (uint32_t p = 0; p < np; p++)
			run[p] = panel_run_at(type, a->w + p * a->stride, k);
		tile_run(a, type, nt, np, k, run, acc);
	}
}

/* acc += weights [k, end) without scales. */
cmx_inline void tile_plains(const struct tile *a, uint32_t type, uint32_t nt, uint32_t np,
			    uint32_t k, uint32_t end, struct lanes (*acc)[CMX_TILE_PANELS])
{
	for (; k + 4 <= end; k += 4) {
#pragma GCC unroll UNROLL
		for (uint32_t j = 0; j < 4; j++)
			tile_plain(a, type, nt, np, k + j, acc);
	}
	for (; k < end; k++)
		tile_plain(a, type, nt, np, k, acc);
}

/* Each run is summed from zero, and its scale applied to the sum on the way to c. */
cmx_inline void tile_scaled_runs(const struct tile *a, uint32_t type, uint32_t nt, uint32_t np)
{
	struct panel_run run[CMX_TILE_PANELS];

	for (uint32_t k = 0; k < a->k; k += panel_run(type)) {
		struct lanes sum[CMX_TILE_TOKENS][CMX_TILE_PANELS];

		clear(sum, nt, np);
#pragma GCC unroll UNROLL
		for (uint32_t p = 0; p < np; p++)
			run[p] = panel_run_at(type, a->w + p * a->stride, k);
		tile_run(a, type, nt, np, k, run, sum);
#pragma GCC unroll UNROLL
		for (uint32_t t = 0; t < nt; t++) {
#pragma GCC unroll UNROLL
			for (uint32_t p = 0; p < np; p++) {
				float *c = a->c + p * a->c_stride + t * CMX_PANEL;

				lanes_store(c, lanes_fma(sum[t][p], run[p].scale, lanes_load(c)));
			}
		}
	}
}

/* CMX_GEMM_SUM products are summed from zero, then go to c. */
cmx_inline void tile_sums(const struct tile *a, uint32_t type, uint32_t nt, uint32_t np)
{
	for (uint32_t k = 0; k < a->k; k += CMX_GEMM_SUM) {
		uint32_t end = cmx_gemm_min(a->k, k + CMX_GEMM_SUM);
		struct lanes acc[CMX_TILE_TOKENS][CMX_TILE_PANELS];

		clear(acc, nt, np);
		if (panel_run(type))
			tile_runs(a, type, nt, np, k, end, acc);
		else
			tile_plains(a, type, nt, np, k, end, acc);
#pragma GCC unroll UNROLL
		for (uint32_t t = 0; t < nt; t++) {
#pragma GCC unroll UNROLL
			for (uint32_t p = 0; p < np; p++) {
				float *c = a->c + p * a->c_stride + t * CMX_PANEL;

				lanes_store(c, lanes_add(lanes_load(c), acc[t][p]));
			}
		}
	}
}

/* c += one block of K. */
cmx_inline void tile(const struct tile *a, uint32_t type, uint32_t nt, uint32_t np)
{
	if (panel_scaled_sums(type))
		tile_scaled_runs(a, type, nt, np);
	else
		tile_sums(a, type, nt, np);
}

/* Any number of tokens up to @max, a constant. */
cmx_inline void tile_tokens(const struct tile *a, uint32_t type, uint32_t nt, uint32_t max,
			    uint32_t np)
{
#pragma GCC unroll UNROLL
	for (uint32_t n = 1; n <= max; n++) {
		if (nt == n)
			tile(a, type, n, np);
	}
}

/* Panels side by side that keep enough sums in flight for @nt tokens. */
cmx_inline uint32_t stream_panels(uint32_t type, uint32_t nt)
{
	if (nt > 1)
		return CMX_BLOCK_PANELS;
	return panel_run(type) ? CMX_RUN_PANELS : CMX_TILE_PANELS;
}

cmx_inline void stream(const struct tile *a, uint32_t type, uint32_t nt, uint32_t np)
{
	if (nt == 1 && np > 1)
		tile(a, type, 1, stream_panels(type, 1));
	else if (np > 1)
		tile_tokens(a, type, nt, CMX_STREAM_TOKENS, CMX_BLOCK_PANELS);
	else
		tile_tokens(a, type, nt, CMX_STREAM_TOKENS, 1);
}

#define STREAM(name, type) \
static __attribute__((noinline)) void name(const struct tile *a, uint32_t nt, uint32_t np) \
{ \
	stream(a, type, nt, np); \
}

STREAM(stream_f32, CMX_TENSOR_F32)
STREAM(stream_f16, CMX_TENSOR_F16)
STREAM(stream_bf16, CMX_TENSOR_BF16)
STREAM(stream_q8_0, CMX_TENSOR_Q8_0)
STREAM(stream_q4_0, CMX_TENSOR_Q4_0)
STREAM(stream_q4_k, CMX_TENSOR_Q4_K)
STREAM(stream_q6_k, CMX_TENSOR_Q6_K)

static void stream_any(uint32_t type, const struct tile *a, uint32_t nt, uint32_t np)
{
	switch (type) {
	case CMX_TENSOR_F32:
		stream_f32(a, nt, np);
		break;
	case CMX_TENSOR_F16:
		stream_f16(a, nt, np);
		break;
	case CMX_TENSOR_BF16:
		stream_bf16(a, nt, np);
		break;
	case CMX_TENSOR_Q4_0:
		stream_q4_0(a, nt, np);
		break;
	case CMX_TENSOR_Q4_K:
		stream_q4_k(a, nt, np);
		break;
	case CMX_TENSOR_Q6_K:
		stream_q6_k(a, nt, np);
		break;
	default:
		stream_q8_0(a, nt, np);
		break;
	}
}

/*
 * Weights [first, first + n) of each row of a panel, restored: out[k][row]. They
 * start at a multiple of @step, which divides a run.
 */
cmx_inline void restore(uint32_t type, uint32_t step, const char *w, uint32_t first, uint32_t n,
			float *out)
{
	const uint32_t len = panel_run(type), group = panel_group(type);

	if (!len) {
		for (uint32_t i = 0; i < n; i++)
			lanes_store(out + i * CMX_PANEL, panel_plain_lanes(type, w, first + i));
		return;
	}
	for (uint32_t i = first; i < first + n; i += step) {
		const struct panel_run run = panel_run_at(type, w, i - i % len);

		for (uint32_t g = i % len / group; g < (i % len + step) / group; g++) {
#pragma GCC unroll UNROLL
			for (uint32_t j = 0; j < group; j++, out += CMX_PANEL) {
				struct lanes v = panel_run_lanes(type, &run, g, j);

				lanes_store(out, panel_scaled_sums(type) ?
						 lanes_mul(v, run.scale) : v);
			}
		}
	}
}

/* The same from weight 0 on as PANEL_NUMBERS. */
cmx_inline void restore_numbers(uint32_t type, const char *w, uint32_t n, float *out)
{
	float *scale = out + CMX_GEMM_K * CMX_PANEL;

	for (uint32_t i = 0; i < n; i += panel_run(type), scale += CMX_PANEL) {
		const struct panel_run run = panel_run_at(type, w, i);

		lanes_store(scale, run.scale);
		for (uint32_t g = 0; g < panel_run(type) / panel_group(type); g++) {
#pragma GCC unroll UNROLL
			for (uint32_t j = 0; j < panel_group(type); j++, out += CMX_PANEL)
				lanes_store(out, panel_run_lanes(type, &run, g, j));
		}
	}
}

/* With @part it may be half a run. */
#define RESTORE(name, type) \
static __attribute__((noinline)) void name(bool part, const char *w, uint32_t first, uint32_t n, \
					   float *out) \
{ \
	if (part) \
		restore(type, CMX_PANEL, w, first, n, out); \
	else if (panel_scaled_sums(type)) \
		restore_numbers(type, w, n, out); \
	else \
		restore(type, panel_run(type), w, first, n, out); \
}

RESTORE(restore_f32, CMX_TENSOR_F32)
RESTORE(restore_f16, CMX_TENSOR_F16)
RESTORE(restore_bf16, CMX_TENSOR_BF16)
RESTORE(restore_q8_0, CMX_TENSOR_Q8_0)
RESTORE(restore_q4_0, CMX_TENSOR_Q4_0)
RESTORE(restore_q4_k, CMX_TENSOR_Q4_K)
RESTORE(restore_q6_k, CMX_TENSOR_Q6_K)

static void restore_any(uint32_t type, bool part, const char *w, uint32_t first, uint32_t n,
			float *out)
{
	switch (type) {
	case CMX_TENSOR_F32:
		restore_f32(part, w, first, n, out);
		break;
	case CMX_TENSOR_F16:
		restore_f16(part, w, first, n, out);
		break;
	case CMX_TENSOR_BF16:
		restore_bf16(part, w, first, n, out);
		break;
	case CMX_TENSOR_Q4_0:
		restore_q4_0(part, w, first, n, out);
		break;
	case CMX_TENSOR_Q4_K:
		restore_q4_k(part, w, first, n, out);
		break;
	case CMX_TENSOR_Q6_K:
		restore_q6_k(part, w, first, n, out);
		break;
	default:
		restore_q8_0(part, w, first, n, out);
		break;
	}
}

/*
 * Rows [first, first + n) of the stored matrix, of each the sixteen values from
 * @row on: they are the weights of a panel of the transposed one.
 */
static void restore_transposed(const struct cmx_gemm *g, uint32_t row, uint32_t first, uint32_t n,
			       float *out)
{
	size_t panel = cmx_panel_bytes(g->type, g->stored_k);
	uint32_t cols = g->stored_k - row < CMX_PANEL ? g->stored_k - row : CMX_PANEL;
	float buf[CMX_PANEL * CMX_PANEL] = { 0 };

	for (uint32_t i = 0; i < n; i += CMX_PANEL) {
		restore_any(g->type, true, g->w + (first + i) / CMX_PANEL * panel, row, cols, buf);
		lanes_transpose(buf, out + i * CMX_PANEL);
	}
}

static const float *x_row(const struct cmx_gemm *g, uint32_t t)
{
	return g->x + (g->x_row ? g->x_row[t] : t) * g->x_stride;
}

/*
 * Reads as many panels at a time as keep the adders busy, from as many places far
 * apart: each is one stream of memory.
 */
static void few_tokens(const struct cmx_gemm *g, uint32_t panel, uint32_t np, uint32_t t,
		       uint32_t nt, float *c)
{
	size_t bytes = cmx_panel_bytes(g->type, g->k), block = cmx_panel_bytes(g->type, CMX_GEMM_K);
	uint32_t wide = stream_panels(g->type, nt), each = np / wide;
	struct tile a = { .stride = each * bytes, .c_stride = each * nt * CMX_PANEL };

	for (uint32_t p = 0; p < np; p++) {
		bool all = p < each;

		if (p == each)
			p = each * wide;
		if (p == np)
			break;
		a.w = g->w + (panel + p) * bytes;
		a.c = c + p * nt * CMX_PANEL;
		for (uint32_t k = 0; k < g->k; k += CMX_GEMM_K, a.w += block) {
			a.k = cmx_gemm_min(g->k - k, CMX_GEMM_K);
			for (uint32_t i = 0; i < nt; i++)
				a.x[i] = x_row(g, t + i) + k;
			stream_any(g->type, &a, nt, all ? wide : 1);
		}
	}
}

/* A block of K of the panels of one tile, with restored weights. */
#define SLAB_FLOATS	((CMX_GEMM_K + CMX_GEMM_K / 32) * CMX_PANEL)

struct slab {
	float w[CMX_BLOCK_PANELS][SLAB_FLOATS];
};

static __attribute__((noinline)) void tile_f32(const struct tile *a, uint32_t nt, uint32_t np)
{
	if (np == CMX_BLOCK_PANELS)
		tile_tokens(a, CMX_TENSOR_F32, nt, CMX_TILE_TOKENS, CMX_BLOCK_PANELS);
	else
		tile_tokens(a, CMX_TENSOR_F32, nt, CMX_TILE_TOKENS, 1);
}

static __attribute__((noinline)) void tile_numbers(const struct tile *a, uint32_t nt, uint32_t np)
{
	if (np == CMX_BLOCK_PANELS)
		tile_tokens(a, PANEL_NUMBERS, nt, CMX_TILE_TOKENS, CMX_BLOCK_PANELS);
	else
		tile_tokens(a, PANEL_NUMBERS, nt, CMX_TILE_TOKENS, 1);
}

/* All tokens with one block of K of some panels, in tiles of about the same size. */
static void tile_rows(const struct cmx_gemm *g, struct tile *a, uint32_t k, uint32_t np,
		      uint32_t t, uint32_t nt, float *c)
{
	uint32_t tiles = (nt + CMX_TILE_TOKENS - 1) / CMX_TILE_TOKENS;

	for (uint32_t i = 0; i < tiles; i++) {
		uint32_t lo = nt * i / tiles, n = nt * (i + 1) / tiles - lo;

		for (uint32_t j = 0; j < n; j++)
			a->x[j] = x_row(g, t + lo + j) + k;
		a->c = c + lo * CMX_PANEL;
		if (panel_scaled_sums(g->type) && !g->stored_k)
			tile_numbers(a, n, np);
		else
			tile_f32(a, n, np);
	}
}

/* Has the tile read block @k of K of @np panels from @panel on. */
static void load_panels(const struct cmx_gemm *g, uint32_t panel, uint32_t np, uint32_t k,
			struct tile *a, struct slab *slab)
{
	size_t bytes = cmx_panel_bytes(g->type, g->k);
	const char *w = g->w + panel * bytes + k / CMX_GEMM_K *
			cmx_panel_bytes(g->type, CMX_GEMM_K);

	if (g->type == CMX_TENSOR_F32 && !g->stored_k) {
		a->w = w;
		a->stride = bytes;
		return;
	}
	for (uint32_t i = 0; i < np; i++) {
		if (g->stored_k)
			restore_transposed(g, (panel + i) * CMX_PANEL, k, a->k, slab->w[i]);
		else
			restore_any(g->type, false, w + i * bytes, 0, a->k, slab->w[i]);
	}
	a->w = (const char *)slab;
	a->stride = sizeof(slab->w[0]);
}

/* Each panel's block of K meets all tokens while it is in the cache. */
static void many_tokens(const struct cmx_gemm *g, uint32_t panel, uint32_t np, uint32_t t,
			uint32_t nt, float *c)
{
	struct tile a = { .c_stride = nt * CMX_PANEL };
	struct slab slab;

	for (uint32_t k = 0; k < g->k; k += CMX_GEMM_K) {
		a.k = cmx_gemm_min(g->k - k, CMX_GEMM_K);
		for (uint32_t p = 0, n; p < np; p += n) {
			n = np - p < CMX_BLOCK_PANELS ? 1 : CMX_BLOCK_PANELS;
			load_panels(g, panel + p, n, k, &a, &slab);
			tile_rows(g, &a, k, n, t, nt, c + p * a.c_stride);
		}
	}
}

void CMX_K(cmx_gemm)(const struct cmx_gemm *g, uint32_t panel, uint32_t np, uint32_t t,
		     uint32_t nt, float *c)
{
	if (g->type == CMX_TENSOR_I8) {
		CMX_K(cmx_gemm_i8)(g, panel, np, t, nt, c);
		return;
	}
	memset(c, 0, (size_t)np * nt * CMX_PANEL * sizeof(*c));
	if (nt <= CMX_STREAM_TOKENS && !g->stored_k)
		few_tokens(g, panel, np, t, nt, c);
	else
		many_tokens(g, panel, np, t, nt, c);
}
