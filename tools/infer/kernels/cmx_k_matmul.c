// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_level.h"
#include "cmx_dot.h"

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static void matmul_rows(const struct cmx_k_matmul *a, uint32_t head, uint32_t row, uint32_t end)
{
	const char *w = (const char *)a->w + head * a->w_head;
	size_t row_bytes = weight_row_bytes(a->type, a->k);

	for (uint32_t t = 0; t < a->tokens; t += CMX_TOKEN_TILE) {
		uint32_t n = min_u32(CMX_TOKEN_TILE, a->tokens - t);
		const float *x[CMX_TOKEN_TILE];

		for (uint32_t i = 0; i < n; i++)
			x[i] = a->x + (size_t)(t + i) * a->x_stride + (size_t)head * a->x_head;
		for (uint32_t r = row; r < end; r++) {
			float sum[CMX_TOKEN_TILE];

			CMX_K(cmx_dot_tokens)(a->type, w + r * row_bytes, x, n, a->k, sum);
			for (uint32_t i = 0; i < n; i++) {
				size_t at = (size_t)(t + i) * a->out_stride +
					    (size_t)head * a->out_head + r;

				a->out[at] = a->res ? a->res[at] + sum[i] : sum[i];
			}
		}
	}
}

/* Sixteen outputs of one token; four running sums by k % 4, as for any K and level. */
cmx_inline struct lanes column_tile(uint32_t type, const char *w, size_t row_bytes,
				    const float *x, uint32_t k, uint32_t row, uint32_t rows)
{
	struct lanes acc[4];

	for (uint32_t i = 0; i < 4; i++)
		acc[i] = lanes_set(0);
	for (uint32_t i = 0; i < k; i++) {
		struct lanes v = weight_to(type, w + i * row_bytes, row, rows);

		acc[i % 4] = lanes_add(acc[i % 4], lanes_mul(v, lanes_set(x[i])));
	}
	return lanes_add(lanes_add(acc[0], acc[1]), lanes_add(acc[2], acc[3]));
}

cmx_inline void matmul_columns(const struct cmx_k_matmul *a, uint32_t type, uint32_t head,
			       uint32_t row)
{
	const char *w = (const char *)a->w + head * a->w_head;
	size_t row_bytes = weight_row_bytes(type, a->rows);

	for (uint32_t t = 0; t < a->tokens; t++) {
		const float *x = a->x + (size_t)t * a->x_stride + (size_t)head * a->x_head;
		size_t at = (size_t)t * a->out_stride + (size_t)head * a->out_head + row;
		struct lanes sum = column_tile(type, w, row_bytes, x, a->k, row, a->rows);

		if (a->res)
			sum = lanes_add(lanes_load_to(a->res + at, a->rows - row, 0), sum);
		lanes_store_to(a->out + at, a->rows - row, sum);
	}
}

static void matmul_columns_any(const struct cmx_k_matmul *a, uint32_t head, uint32_t row)
{
	switch (a->type) {
	case CMX_TENSOR_F32:
		matmul_columns(a, CMX_TENSOR_F32, head, row);
		break;
	case CMX_TENSOR_F16:
		matmul_columns(a, CMX_TENSOR_F16, head, row);
		break;
	case CMX_TENSOR_BF16:
		matmul_columns(a, CMX_TENSOR_BF16, head, row);
		break;
	case CMX_TENSOR_Q4_0:
		matmul_columns(a, CMX_TENSOR_Q4_0, head, row);
		break;
	case CMX_TENSOR_Q4_K:
		matmul_columns(a, CMX_TENSOR_Q4_K, head, row);
		break;
	case CMX_TENSOR_Q6_K:
		matmul_columns(a, CMX_TENSOR_Q6_K, head, row);
		break;
	default:
		matmul_columns(a, CMX_TENSOR_Q8_0, head, row);
		break;
	}
}

void CMX_K(cmx_k_matmul)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_matmul *a = args;
	uint32_t tiles = (a->rows + CMX_ROW_TILE - 1) / CMX_ROW_TILE;
	uint64_t lo, hi;

	cmx_block_share((uint64_t)tiles * a->heads, block, nblocks, &lo, &hi);
	for (uint64_t u = lo; u < hi; u++) {
		uint32_t head = (uint32_t)(u / tiles), row = (uint32_t)(u % tiles) * CMX_ROW_TILE;

		if (a->transposed)
			matmul_columns_any(a, head, row);
		else
			matmul_rows(a, head, row, min_u32(row + CMX_ROW_TILE, a->rows));
	}
}
