// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_restore.h"

#include "kernels/cmx_dot.h"

void cmx_restore_row(uint32_t type, const void *row, uint32_t k, float *out)
{
	for (uint32_t i = 0; i < k; i += CMX_LANES)
		lanes_store_to(out + i, k - i, weight_to(type, row, i, k));
}
