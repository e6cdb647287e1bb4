/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weight matrices as the die has them: panels of CMX_PANEL rows, one behind the
 * other, each of them k-major, so that a product reads its weights front to back
 * whatever its shape is. Rows that the last panel lacks are zero. With r for the
 * row in the panel:
 *   F32, F16   [k][r]
 *   BF16       [k / 2][r][k % 2], an odd k padded
 *   Q8_0       32 k: halves d[r], bytes [k / 4][r][k % 4]
 *   Q4_0       32 k: halves d[r], words [k / 8][r], value k in the bits 4 * (k % 8)
 *              and up, less 8 as a signed number of four bits
 *   Q4_K       256 k: halves d[r], halves dmin[r], the twelve bytes of scales as
 *              [byte][r], words as above but without a sign
 *   Q6_K       256 k: halves d[r], scales [k / 16][r], words as above with the low
 *              four bits, words [k / 16][r] with the upper two in the bits
 *              2 * (k % 16) and up; both together are a signed number of six bits
 *   I8         cmx_i8.h has it
 * A panel takes no more bytes than its rows did, but for the padding.
 */
#ifndef CMX_PANEL_H
#define CMX_PANEL_H

#include <stddef.h>
#include <stdint.h>

#define CMX_PANEL	16u

/* One panel of rows of @k values. */
size_t cmx_panel_bytes(uint32_t type, uint32_t k);

/* A matrix of @rows rows. */
static inline size_t cmx_packed_bytes(uint32_t type, uint64_t rows, uint32_t k)
{
	return (rows + CMX_PANEL - 1) / CMX_PANEL * cmx_panel_bytes(type, k);
}

/* Packs @n <= CMX_PANEL rows as files have them, one behind the other. */
void cmx_panel_pack(uint32_t type, uint32_t k, const void *rows, uint32_t n, void *panel);

#endif
