// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_level.h"
#include "cmx_dot.h"

cmx_inline void dot_tokens_typed(uint32_t type, const char *row, const float *const *x,
				 uint32_t n, uint32_t k, float *out)
{
	if (n == CMX_TOKEN_TILE) {
		dot_tile(type, row, x, CMX_TOKEN_TILE, k, out);
		return;
	}
	for (uint32_t t = 0; t < n; t++)
		dot_tile(type, row, x + t, 1, k, out + t);
}

/* Out of line: one loop nest for each type, shared by all kernels. */
void CMX_K(cmx_dot_tokens)(uint32_t type, const char *row, const float *const *x, uint32_t n,
			   uint32_t k, float *out)
{
	switch (type) {
	case CMX_TENSOR_F32:
		dot_tokens_typed(CMX_TENSOR_F32, row, x, n, k, out);
		break;
	case CMX_TENSOR_F16:
		dot_tokens_typed(CMX_TENSOR_F16, row, x, n, k, out);
		break;
	case CMX_TENSOR_BF16:
		dot_tokens_typed(CMX_TENSOR_BF16, row, x, n, k, out);
		break;
	case CMX_TENSOR_Q4_0:
		dot_tokens_typed(CMX_TENSOR_Q4_0, row, x, n, k, out);
		break;
	case CMX_TENSOR_Q4_K:
		dot_tokens_typed(CMX_TENSOR_Q4_K, row, x, n, k, out);
		break;
	case CMX_TENSOR_Q6_K:
		dot_tokens_typed(CMX_TENSOR_Q6_K, row, x, n, k, out);
		break;
	default:
		dot_tokens_typed(CMX_TENSOR_Q8_0, row, x, n, k, out);
		break;
	}
}
