/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Weights to INT8. All projections and experts are (cmx_site.h). Norms, the router,
 * embedding and head are not, nor is the expansion of the latent: its absorbed form
 * multiplies along the output channels, on the wrong side of their scales.
 */
#ifndef CMX_QUANTISE_H
#define CMX_QUANTISE_H

#include <stdint.h>

#include "cmx_infer_err.h"

/*
 * Rounds a row of @k weights to @q and returns the scale: weight i becomes q[i] x scale.
 * Scales that clip the largest weights are tried and the one with the least sum of
 * @importance x squared error is taken (NULL: all 1), never one worse than max / 127.
 * Weights must be finite.
 */
float cmx_quantise_row(const float *w, const float *importance, uint32_t k, int8_t *q);
/* That sum, for a row that was rounded. */
double cmx_quantise_error(const float *w, const float *importance, uint32_t k, const int8_t *q,
			  float scale);
/* -EDOM names the first weight that is not finite. */
int cmx_quantise_check(const float *w, uint32_t k, struct cmx_infer_err *err);

#endif
