/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_RMS_H
#define CMX_RMS_H

#include "cmx_lanes.h"

/* 1 / sqrt(mean square + eps) */
static inline float rms_factor(const float *x, uint32_t dim, float eps)
{
	struct lanes acc = lanes_set(0);

	for (uint32_t i = 0; i < dim; i += CMX_LANES) {
		struct lanes v = lanes_load_to(x + i, dim - i, 0);

		acc = lanes_add(acc, lanes_mul(v, v));
	}
	return 1.0f / __builtin_sqrtf(lanes_sum(acc) / (float)dim + eps);
}

static inline void norm_row(const float *x, const float *w, float *out, uint32_t dim, float eps)
{
	struct lanes f = lanes_set(rms_factor(x, dim, eps));

	for (uint32_t i = 0; i < dim; i += CMX_LANES) {
		struct lanes v = lanes_mul(lanes_load_to(x + i, dim - i, 0), f);

		lanes_store_to(out + i, dim - i, lanes_mul(v, lanes_load_to(w + i, dim - i, 0)));
	}
}

#endif
