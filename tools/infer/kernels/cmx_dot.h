/* SPDX-License-Identifier: GPL-2.0-only */
/* Rows of every type as lanes, for what looks rows up. */
#ifndef CMX_DOT_H
#define CMX_DOT_H

#include <stdbool.h>
#include <stddef.h>

#include "cmx_lanes.h"
#include "../cmx_tensor_type.h"

#define cmx_inline static inline __attribute__((always_inline))

cmx_inline size_t weight_row_bytes(uint32_t type, uint32_t k)
{
	switch (type) {
	case CMX_TENSOR_F32:
		return (size_t)k * 4;
	case CMX_TENSOR_Q8_0:
		return (size_t)k / CMX_Q8_0_VALUES * CMX_Q8_0_BYTES;
	case CMX_TENSOR_Q4_0:
		return (size_t)k / CMX_Q4_0_VALUES * CMX_Q4_0_BYTES;
	case CMX_TENSOR_Q4_K:
		return (size_t)k / CMX_Q4_K_VALUES * CMX_Q4_K_BYTES;
	case CMX_TENSOR_Q6_K:
		return (size_t)k / CMX_Q6_K_VALUES * CMX_Q6_K_BYTES;
	default:
		return (size_t)k * 2;
	}
}

cmx_inline float half_at(const char *p)
{
	uint16_t h;

	memcpy(&h, p, sizeof(h));
	return cmx_f16(h);
}

cmx_inline struct lanes q8_0_lanes(const char *row, uint32_t k)
{
	const char *block = row + weight_row_bytes(CMX_TENSOR_Q8_0, k);

	return lanes_mul(lanes_load_i8(block + 2 + k % CMX_Q8_0_VALUES), lanes_set(half_at(block)));
}

cmx_inline struct lanes q4_0_lanes(const char *row, uint32_t k)
{
	const char *block = row + weight_row_bytes(CMX_TENSOR_Q4_0, k);

	return lanes_mul(lanes_load_u4(block + 2, k / CMX_LANES & 1, 8), lanes_set(half_at(block)));
}

/* Scale and minimum number @i: six bits each, the upper two apart for the last four. */
cmx_inline void q4_k_scale(const uint8_t *s, uint32_t i, float *scale, float *min)
{
	if (i < 4) {
		*scale = (float)(s[i] & 63);
		*min = (float)(s[i + 4] & 63);
	} else {
		*scale = (float)((s[i + 4] & 15) | (s[i - 4] >> 6) << 4);
		*min = (float)(s[i + 4] >> 4 | (s[i] >> 6) << 4);
	}
}

cmx_inline struct lanes q4_k_lanes(const char *row, uint32_t k)
{
	const char *block = row + weight_row_bytes(CMX_TENSOR_Q4_K, k);
	uint32_t sub = k % CMX_Q4_K_VALUES / 32;
	const char *q = block + 16 + sub / 2 * 32 + k % 32;
	float scale, min;

	q4_k_scale((const uint8_t *)block + 4, sub, &scale, &min);
	/* Both products are exact, so the difference is the only rounding. */
	return lanes_sub(lanes_mul(lanes_load_u4(q, sub & 1, 0), lanes_set(half_at(block) * scale)),
			 lanes_set(half_at(block + 2) * min));
}

cmx_inline struct lanes q6_k_lanes(const char *row, uint32_t k)
{
	const char *block = row + weight_row_bytes(CMX_TENSOR_Q6_K, k);
	uint32_t half = k % CMX_Q6_K_VALUES / 128, quarter = k % 128 / 32, i = k % 32;
	const char *low = block + half * 64 + (quarter & 1) * 32 + i;
	const char *up = block + 128 + half * 32 + i;
	int8_t scale = (int8_t)block[192 + k % CMX_Q6_K_VALUES / 16];

	return lanes_mul(lanes_load_u6(low, quarter >> 1, up, 2 * quarter),
			 lanes_set(half_at(block + 208) * (float)scale));
}

cmx_inline struct lanes plain_lanes(uint32_t type, const char *row, uint32_t k)
{
	switch (type) {
	case CMX_TENSOR_F32:
		return lanes_load((const float *)(row + (size_t)k * 4));
	case CMX_TENSOR_F16:
		return lanes_load_f16(row + (size_t)k * 2);
	default:
		return lanes_load_bf16(row + (size_t)k * 2);
	}
}

/* Sixteen weights from index @k, a multiple of 16. */
cmx_inline struct lanes weight_lanes(uint32_t type, const char *row, uint32_t k)
{
	switch (type) {
	case CMX_TENSOR_Q8_0:
		return q8_0_lanes(row, k);
	case CMX_TENSOR_Q4_0:
		return q4_0_lanes(row, k);
	case CMX_TENSOR_Q4_K:
		return q4_k_lanes(row, k);
	case CMX_TENSOR_Q6_K:
		return q6_k_lanes(row, k);
	default:
		return plain_lanes(type, row, k);
	}
}

/* The last @n < 16 weights of a row, the other lanes zero. Rows of blocks have no such tail. */
cmx_inline struct lanes weight_tail(uint32_t type, const char *row, uint32_t k, uint32_t n)
{
	char buf[CMX_LANES * 4] = { 0 };
	uint32_t size = type == CMX_TENSOR_F32 ? 4 : 2;

	memcpy(buf, row + (size_t)k * size, (size_t)n * size);
	return plain_lanes(type, buf, 0);
}

cmx_inline struct lanes weight_to(uint32_t type, const char *row, uint32_t k, uint32_t end)
{
	return end - k >= CMX_LANES ? weight_lanes(type, row, k) :
				      weight_tail(type, row, k, end - k);
}

#endif
