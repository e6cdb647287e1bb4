/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Products of packed weights and token rows.
 *
 * A sum of K products is made of blocks of CMX_GEMM_SUM: in each of them acc =
 * w * x + acc from zero on with k going up, then the blocks are added in order. With
 * Q8_0 and Q4_0 the blocks are their runs of 32, w is the integer, and c = scale *
 * acc + c adds a block.
 * That depends on K alone, so neither the other tokens nor tiles, blocks or
 * threads change a bit. AVX2 and AVX-512 round a step once (FMA) and give equal
 * bits, so do scalar and SSE2, which round it twice.
 */
#ifndef CMX_GEMM_H
#define CMX_GEMM_H

#include <stddef.h>
#include <stdint.h>

/* Short, since rounding errors grow with the length of a sum. */
#define CMX_GEMM_SUM	64u
/* So much of K is restored at a time. */
#define CMX_GEMM_K	256u

/*
 * Panels times tokens of one call, and how many of each if there are many tokens:
 * their rows and the sums stay in the second level of cache.
 */
#define CMX_GEMM_CELLS	768u
#define CMX_GEMM_TOKENS	192u
#define CMX_GEMM_PANELS	4u

/*
 * The two matrices. Token rows are x_row[t], or t if it is NULL. With INT8 weights
 * they are those of the quantise kernel, @x_bytes apart, or, if that is 0, without a gap.
 */
struct cmx_gemm {
	const char *w;		/* first panel */
	const float *x;
	const uint32_t *x_row;
	size_t x_stride;
	size_t x_bytes;
	uint32_t type;
	uint32_t k;
	/*
	 * 0, or: the stored matrix has rows of this many values, it has @k of them,
	 * and the product is with its transpose.
	 */
	uint32_t stored_k;
};

static inline uint32_t cmx_gemm_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Panels of a call for @tokens tokens, up to CMX_GEMM_TOKENS of them at a time. */
static inline uint32_t cmx_gemm_panels(uint32_t tokens)
{
	return tokens > CMX_GEMM_PANELS ? CMX_GEMM_PANELS : CMX_GEMM_CELLS / tokens;
}

#endif
