/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * INT8 products (W8A8): weights with a scale for each row of the matrix, token
 * rows with a scale of their own, sums of products in 32 bits. Sums are exact, so
 * all SIMD levels, tiles and batches give the same bits.
 *
 * A panel of weights is [k / 4][row][k % 4] bytes, K padded with zeros to a
 * multiple of four, sixteen scales, and for levels that multiply unsigned by
 * signed sixteen times 128 x the sum of a row. A token row is its scale, zeros up
 * to CMX_I8_HEAD bytes, and the values, padded with zeros to a multiple of 64.
 */
#ifndef CMX_I8_H
#define CMX_I8_H

#include <stddef.h>
#include <stdint.h>

#define CMX_I8_PANEL	16u
#define CMX_I8_HEAD	64u
/* Largest magnitude of a quantised value. */
#define CMX_I8_MAX	127
/* 128 x 127 x this is the largest sum that 32 bits hold. */
#define CMX_I8_MAX_K	131072u

static inline size_t cmx_i8_weights_bytes(uint32_t k)
{
	return (size_t)CMX_I8_PANEL * ((k + 3) / 4 * 4);
}

static inline size_t cmx_i8_panel_bytes(uint32_t k)
{
	return cmx_i8_weights_bytes(k) + CMX_I8_PANEL * (sizeof(float) + sizeof(int32_t));
}

static inline size_t cmx_i8_packed_bytes(uint64_t rows, uint32_t k)
{
	return (rows + CMX_I8_PANEL - 1) / CMX_I8_PANEL * cmx_i8_panel_bytes(k);
}

static inline size_t cmx_i8_row_bytes(uint32_t k)
{
	return CMX_I8_HEAD + ((size_t)k + 63) / 64 * 64;
}

/* Packs @n <= CMX_I8_PANEL rows of @k values each, one behind the other; the others become zero. */
void cmx_i8_pack(const int8_t *rows, const float *scale, uint32_t n, uint32_t k, void *panel);

#endif
