// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_panel.h"

#include <string.h>

#include "../cmx_tensor_type.h"
#include "cmx_i8.h"

/* Where things are in a packed block of the types that have several. */
#define HALVES		(2 * CMX_PANEL)
#define WORDS		(4 * CMX_PANEL)

size_t cmx_panel_bytes(uint32_t type, uint32_t k)
{
	if (type == CMX_TENSOR_I8)
		return cmx_i8_panel_bytes(k);
	return CMX_PANEL * cmx_tensor_bytes(type, type == CMX_TENSOR_BF16 ? k + (k & 1) : k);
}

/* One block of one row to its places in the packed block; @r is the row. */
static void pack_q8_0(const uint8_t *b, uint32_t r, uint8_t *to)
{
	memcpy(to + 2 * r, b, 2);
	for (uint32_t i = 0; i < CMX_Q8_0_VALUES; i += 4)
		memcpy(to + HALVES + i * CMX_PANEL + 4 * r, b + 2 + i, 4);
}

static void put_word(uint8_t *to, uint32_t i, uint32_t r, uint32_t word)
{
	memcpy(to + i * WORDS + 4 * r, &word, sizeof(word));
}

static void pack_q4_0(const uint8_t *b, uint32_t r, uint8_t *to)
{
	memcpy(to + 2 * r, b, 2);
	for (uint32_t i = 0; i < CMX_Q4_0_VALUES / 8; i++) {
		uint32_t word = 0;

		for (uint32_t j = 0; j < 8; j++)
			word |= (b[2 + (8 * i + j) % 16] >> i / 2 * 4 & 15u) << 4 * j;
		put_word(to + HALVES, i, r, word ^ 0x88888888u);
	}
}

static void pack_q4_k(const uint8_t *b, uint32_t r, uint8_t *to)
{
	memcpy(to + 2 * r, b, 2);
	memcpy(to + HALVES + 2 * r, b + 2, 2);
	for (uint32_t i = 0; i < 12; i++)
		to[2 * HALVES + i * CMX_PANEL + r] = b[4 + i];
	to += 2 * HALVES + 12 * CMX_PANEL;
	for (uint32_t i = 0; i < CMX_Q4_K_VALUES / 8; i++) {
		const uint8_t *q = b + 16 + i / 8 * 32 + i % 4 * 8;
		uint32_t word = 0;

		for (uint32_t j = 0; j < 8; j++)
			word |= (q[j] >> i / 4 % 2 * 4 & 15u) << 4 * j;
		put_word(to, i, r, word);
	}
}

/* Value @k of a block, with its bias taken off: six bits, signed. */
static uint32_t q6_k_value(const uint8_t *b, uint32_t k)
{
	uint32_t half = k / 128, quarter = k % 128 / 32, i = k % 32;
	uint32_t low = b[half * 64 + quarter % 2 * 32 + i] >> quarter / 2 * 4 & 15u;
	uint32_t up = b[128 + half * 32 + i] >> 2 * quarter & 3u;

	return (low | up << 4) ^ 32;
}

static void pack_q6_k(const uint8_t *b, uint32_t r, uint8_t *to)
{
	uint8_t *low = to + HALVES + 16 * CMX_PANEL, *up = low + CMX_Q6_K_VALUES / 8 * WORDS;

	memcpy(to + 2 * r, b + 208, 2);
	for (uint32_t i = 0; i < 16; i++)
		to[HALVES + i * CMX_PANEL + r] = b[192 + i];
	for (uint32_t i = 0; i < CMX_Q6_K_VALUES / 16; i++) {
		uint32_t l[2] = { 0, 0 }, u = 0;

		for (uint32_t j = 0; j < 16; j++) {
			uint32_t v = q6_k_value(b, 16 * i + j);

			l[j / 8] |= (v & 15) << j % 8 * 4;
			u |= (v >> 4) << 2 * j;
		}
		put_word(low, 2 * i, r, l[0]);
		put_word(low, 2 * i + 1, r, l[1]);
		put_word(up, i, r, u);
	}
}

static void pack_f32(uint32_t k, const uint8_t *rows, uint32_t n, uint8_t *panel)
{
	for (uint32_t i = 0; i < k; i++) {
		for (uint32_t r = 0; r < n; r++)
			memcpy(panel + i * WORDS + 4 * r, rows + ((size_t)r * k + i) * 4, 4);
	}
}

static void pack_halves(uint32_t type, uint32_t k, const uint8_t *rows, uint32_t n, uint8_t *panel)
{
	for (uint32_t i = 0; i < k; i++) {
		for (uint32_t r = 0; r < n; r++) {
			uint32_t at = type == CMX_TENSOR_F16 ? i * HALVES + 2 * r :
							       i / 2 * WORDS + 4 * r + i % 2 * 2;

			memcpy(panel + at, rows + ((size_t)r * k + i) * 2, 2);
		}
	}
}

static void pack_blocks(uint32_t type, uint32_t k, const uint8_t *rows, uint32_t n, uint8_t *panel)
{
	struct cmx_tensor_block b = cmx_tensor_block(type);
	size_t row = cmx_tensor_bytes(type, k);

	for (uint32_t i = 0; i < k / b.values; i++) {
		uint8_t *to = panel + (size_t)i * b.bytes * CMX_PANEL;

		for (uint32_t r = 0; r < n; r++) {
			const uint8_t *from = rows + r * row + (size_t)i * b.bytes;

			if (type == CMX_TENSOR_Q8_0)
				pack_q8_0(from, r, to);
			else if (type == CMX_TENSOR_Q4_0)
				pack_q4_0(from, r, to);
			else if (type == CMX_TENSOR_Q4_K)
				pack_q4_k(from, r, to);
			else
				pack_q6_k(from, r, to);
		}
	}
}

void cmx_panel_pack(uint32_t type, uint32_t k, const void *rows, uint32_t n, void *panel)
{
	if (n < CMX_PANEL || (type == CMX_TENSOR_BF16 && k & 1))
		memset(panel, 0, cmx_panel_bytes(type, k));
	if (type == CMX_TENSOR_F32)
		pack_f32(k, rows, n, panel);
	else if (type == CMX_TENSOR_F16 || type == CMX_TENSOR_BF16)
		pack_halves(type, k, rows, n, panel);
	else
		pack_blocks(type, k, rows, n, panel);
}
