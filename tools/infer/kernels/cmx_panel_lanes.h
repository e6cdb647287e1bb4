/* SPDX-License-Identifier: GPL-2.0-only */
/* Packed weights of every type as lanes: lane r is row r of the panel. */
#ifndef CMX_PANEL_LANES_H
#define CMX_PANEL_LANES_H

#include "cmx_dot.h"
#include "cmx_gemm.h"
#include "cmx_panel.h"

_Static_assert(CMX_PANEL == CMX_LANES, "a panel has a row for each lane");

#define HALVES		(2u * CMX_PANEL)
#define WORDS		(4u * CMX_PANEL)
#define Q8_0_PANEL	(CMX_Q8_0_BYTES * CMX_PANEL)
#define Q4_0_PANEL	(CMX_Q4_0_BYTES * CMX_PANEL)
#define Q4_K_PANEL	(CMX_Q4_K_BYTES * CMX_PANEL)
#define Q6_K_PANEL	(CMX_Q6_K_BYTES * CMX_PANEL)

/*
 * A block of K of a panel of a type whose runs are summed before they are scaled,
 * as numbers: [k][r] without the scales, and behind CMX_GEMM_K of them the scales
 * [k / 32][r].
 */
#define PANEL_NUMBERS	0x100u

/* What a run of panel_run() weights of a row has in common, and where the run is. */
struct panel_run {
	struct lanes scale;
	struct lanes min;	/* negative; Q4_K only */
	const char *q;
	const char *up;		/* Q6_K only */
};

/* Weights that share a scale; 0 for the types without scales. */
cmx_inline uint32_t panel_run(uint32_t type)
{
	switch (type) {
	case CMX_TENSOR_Q8_0:
	case CMX_TENSOR_Q4_0:
	case CMX_TENSOR_Q4_K:
	case PANEL_NUMBERS:
		return 32;
	case CMX_TENSOR_Q6_K:
		return 16;
	default:
		return 0;
	}
}

/* Weights that share words: the loop over a run is unrolled by them. */
cmx_inline uint32_t panel_group(uint32_t type)
{
	if (type == CMX_TENSOR_Q8_0 || type == PANEL_NUMBERS)
		return 4;
	return type == CMX_TENSOR_Q6_K ? 16 : 8;
}

/* Scales and minima number @sub of Q4_K, six bits each; of the last four two bits are apart. */
cmx_inline void panel_q4_k_scales(const uint8_t *s, uint32_t sub, uint8_t *scale, uint8_t *min)
{
	const uint8_t *a = s + sub * CMX_PANEL, *b = a + 4 * CMX_PANEL, *c = a - 4 * CMX_PANEL;

	for (uint32_t r = 0; r < CMX_PANEL; r++) {
		if (sub < 4) {
			scale[r] = a[r] & 63;
			min[r] = b[r] & 63;
		} else {
			scale[r] = (uint8_t)((b[r] & 15) | c[r] >> 6 << 4);
			min[r] = (uint8_t)(b[r] >> 4 | a[r] >> 6 << 4);
		}
	}
}

cmx_inline struct panel_run panel_q4_k_run(const char *w, uint32_t k)
{
	const char *block = w + k / CMX_Q4_K_VALUES * Q4_K_PANEL;
	uint8_t scale[CMX_PANEL], min[CMX_PANEL];
	struct panel_run run;

	panel_q4_k_scales((const uint8_t *)block + 2 * HALVES, k % CMX_Q4_K_VALUES / 32, scale,
			  min);
	run.scale = lanes_mul(lanes_load_f16(block), lanes_load_i8(scale));
	run.min = lanes_mul(lanes_load_f16(block + HALVES), lanes_load_i8(min));
	run.min = lanes_sub(lanes_set(0), run.min);
	run.q = block + 2 * HALVES + 12 * CMX_PANEL + k % CMX_Q4_K_VALUES / 8 * WORDS;
	return run;
}

cmx_inline struct panel_run panel_q6_k_run(const char *w, uint32_t k)
{
	const char *block = w + k / CMX_Q6_K_VALUES * Q6_K_PANEL;
	const char *scales = block + HALVES, *q = scales + CMX_Q6_K_VALUES / 16 * CMX_PANEL;
	uint32_t i = k % CMX_Q6_K_VALUES / 16;
	struct panel_run run;

	run.scale = lanes_mul(lanes_load_f16(block), lanes_load_i8(scales + i * CMX_PANEL));
	run.scale = lanes_mul(run.scale, lanes_set(0x1p-26f));
	run.q = q + 2 * i * WORDS;
	run.up = q + (CMX_Q6_K_VALUES / 8 + i) * WORDS;
	return run;
}

/* The run that starts at weight @k; all of its numbers are exact. */
cmx_inline struct panel_run panel_run_at(uint32_t type, const char *w, uint32_t k)
{
	const char *block = w + k / 32 * (type == CMX_TENSOR_Q8_0 ? Q8_0_PANEL : Q4_0_PANEL);
	const float unit = type == CMX_TENSOR_Q8_0 ? 0x1p-24f : 0x1p-28f;
	struct panel_run run;

	if (type == CMX_TENSOR_Q4_K)
		return panel_q4_k_run(w, k);
	if (type == CMX_TENSOR_Q6_K)
		return panel_q6_k_run(w, k);
	if (type == PANEL_NUMBERS) {
		run.q = w + k * WORDS;
		run.scale = lanes_load((const float *)w + (CMX_GEMM_K + k / 32) * CMX_PANEL);
		return run;
	}
	run.q = block + HALVES;
	run.scale = lanes_mul(lanes_load_f16(block), lanes_set(unit));
	return run;
}

/* Whole runs are summed before their scale is applied. */
cmx_inline bool panel_scaled_sums(uint32_t type)
{
	return type == CMX_TENSOR_Q8_0 || type == CMX_TENSOR_Q4_0 || type == PANEL_NUMBERS;
}

/*
 * Weight @j of group number @g of a run, still without its scale if runs are
 * summed first. The bits are the same on every level.
 */
cmx_inline struct lanes panel_run_lanes(uint32_t type, const struct panel_run *run, uint32_t g,
					uint32_t j)
{
	const char *q = run->q + g * WORDS;

	switch (type) {
	case PANEL_NUMBERS:
		return lanes_load((const float *)q + (3 * g + j) * CMX_PANEL);
	case CMX_TENSOR_Q8_0:
		return lanes_top8(q, j);
	case CMX_TENSOR_Q4_0:
		return lanes_top4(q, j);
	case CMX_TENSOR_Q4_K:
		/* The product is exact, so an FMA rounds the same. */
		return lanes_fma(lanes_low4(q, j), run->scale, run->min);
	default:
		return lanes_mul(lanes_top6(q + j / 8 * WORDS, j % 8, run->up, j), run->scale);
	}
}

/* Weight @k of the types without scales. */
cmx_inline struct lanes panel_plain_lanes(uint32_t type, const char *w, uint32_t k)
{
	switch (type) {
	case CMX_TENSOR_F32:
		return lanes_load((const float *)w + (size_t)k * CMX_PANEL);
	case CMX_TENSOR_F16:
		return lanes_load_f16(w + (size_t)k * HALVES);
	default:
		return lanes_bf16_of_two(w + (size_t)(k / 2) * WORDS, k % 2);
	}
}

#endif
