/* SPDX-License-Identifier: GPL-2.0-only */
/* Weight rows of every type as lanes, and their products with token rows. */
#ifndef CMX_DOT_H
#define CMX_DOT_H

#include <stddef.h>

#include "cmx_lanes.h"
#include "../cmx_gguf.h"

#define cmx_inline static inline __attribute__((always_inline))

cmx_inline size_t weight_row_bytes(uint32_t type, uint32_t k)
{
	switch (type) {
	case CMX_TENSOR_F32:
		return (size_t)k * 4;
	case CMX_TENSOR_Q8_0:
		return (size_t)k / CMX_Q8_0_VALUES * CMX_Q8_0_BYTES;
	default:
		return (size_t)k * 2;
	}
}

/* Sixteen weights from index @k, a multiple of 16. The product with a Q8_0 scale is exact. */
cmx_inline struct lanes weight_lanes(uint32_t type, const char *row, uint32_t k)
{
	const char *block;
	uint16_t d;

	switch (type) {
	case CMX_TENSOR_F32:
		return lanes_load((const float *)(row + (size_t)k * 4));
	case CMX_TENSOR_F16:
		return lanes_load_f16(row + (size_t)k * 2);
	case CMX_TENSOR_BF16:
		return lanes_load_bf16(row + (size_t)k * 2);
	default:
		block = row + (size_t)k / CMX_Q8_0_VALUES * CMX_Q8_0_BYTES;
		memcpy(&d, block, sizeof(d));
		return lanes_mul(lanes_load_i8(block + 2 + k % CMX_Q8_0_VALUES),
				 lanes_set(cmx_f16(d)));
	}
}

/* The last @n < 16 weights of a row, the other lanes zero. Q8_0 rows have no such tail. */
cmx_inline struct lanes weight_tail(uint32_t type, const char *row, uint32_t k, uint32_t n)
{
	char buf[CMX_LANES * 4] = { 0 };
	uint32_t size = type == CMX_TENSOR_F32 ? 4 : 2;

	memcpy(buf, row + (size_t)k * size, (size_t)n * size);
	return weight_lanes(type, buf, 0);
}

cmx_inline struct lanes weight_to(uint32_t type, const char *row, uint32_t k, uint32_t end)
{
	return end - k >= CMX_LANES ? weight_lanes(type, row, k) :
				      weight_tail(type, row, k, end - k);
}

/* out[i] = row . x[i] for @n <= CMX_TOKEN_TILE token rows. */
cmx_inline void dot_tile(uint32_t type, const char *row, const float *const *x, uint32_t n,
			 uint32_t k, float *out)
{
	struct lanes acc[CMX_TOKEN_TILE];
	uint32_t i = 0;

	for (uint32_t t = 0; t < n; t++)
		acc[t] = lanes_set(0);
	for (; i + CMX_LANES <= k; i += CMX_LANES) {
		struct lanes w = weight_lanes(type, row, i);

		for (uint32_t t = 0; t < n; t++)
			acc[t] = lanes_add(acc[t], lanes_mul(w, lanes_load(x[t] + i)));
	}
	if (i < k) {
		struct lanes w = weight_tail(type, row, i, k - i);

		for (uint32_t t = 0; t < n; t++)
			acc[t] = lanes_add(acc[t],
					   lanes_mul(w, lanes_load_part(x[t] + i, k - i, 0)));
	}
	for (uint32_t t = 0; t < n; t++)
		out[t] = lanes_sum(acc[t]);
}

#endif
