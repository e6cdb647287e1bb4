// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_i8.h"

#include <string.h>

void cmx_i8_pack(const int8_t *rows, const float *scale, uint32_t n, uint32_t k, void *panel)
{
	float s[CMX_I8_PANEL] = { 0 };
	int32_t sum[CMX_I8_PANEL] = { 0 };
	int8_t *to = panel;

	memset(to, 0, cmx_i8_weights_bytes(k));
	for (uint32_t r = 0; r < n; r++) {
		const int8_t *row = rows + (size_t)r * k;

		s[r] = scale[r];
		for (uint32_t i = 0; i < k; i++) {
			to[(size_t)i / 4 * 4 * CMX_I8_PANEL + 4 * r + i % 4] = row[i];
			sum[r] += row[i];
		}
		sum[r] *= 128;
	}
	to += cmx_i8_weights_bytes(k);
	memcpy(to, s, sizeof(s));
	memcpy(to + sizeof(s), sum, sizeof(sum));
}
