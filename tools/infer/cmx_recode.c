// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_recode.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cmx_hf_config.h"
#include "kernels/cmx_lanes.h"

uint64_t cmx_recode_stored(enum cmx_recode recode, uint64_t n)
{
	return recode == CMX_RECODE_FP8_BF16 ? n : 2 * n;
}

uint64_t cmx_recode_result(enum cmx_recode recode, uint64_t n)
{
	return 2 * cmx_recode_stored(recode, n);
}

/* Four bits of exponent with bias 7, three of fraction; there is no infinity. */
static float fp8_value(uint8_t b)
{
	uint32_t sign = (uint32_t)(b & 0x80) << 24, e = b >> 3 & 15, m = b & 7;
	float mag = e ? cmx_float((e + 120) << 23 | m << 20) : (float)m * 0x1p-9f;

	return cmx_float(cmx_bits(mag) | sign);
}

/* Nearest, ties to even; what is too large becomes infinite, which the caller refuses. */
static uint16_t to_bf16(float f)
{
	uint32_t u = cmx_bits(f);

	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

static int fp8_fail(const struct cmx_fp8_scales *s, uint64_t i, uint8_t b, float scale,
		    struct cmx_infer_err *err)
{
	if ((b & 0x7f) == 0x7f)
		return cmx_infer_fail(err, -EDOM, "row %" PRIu64 ", column %" PRIu64
				      " is not a number", i / s->cols, i % s->cols);
	return cmx_infer_fail(err, -ERANGE, "row %" PRIu64 ", column %" PRIu64
			      ": %g x scale %g is more than BF16 holds", i / s->cols, i % s->cols,
			      (double)fp8_value(b), (double)scale);
}

static int recode_fp8(const struct cmx_fp8_scales *s, uint64_t first, uint64_t n,
		      const uint8_t *from, uint8_t *to, struct cmx_infer_err *err)
{
	uint64_t wide = (s->cols + CMX_FP8_BLOCK - 1) / CMX_FP8_BLOCK;
	uint64_t row = first / s->cols, col = first % s->cols;

	for (uint64_t i = 0; i < n; i++) {
		float scale = s->scale[row / CMX_FP8_BLOCK * wide + col / CMX_FP8_BLOCK];
		uint8_t b = from[i];
		uint16_t h = to_bf16(fp8_value(b) * scale);

		if ((b & 0x7f) == 0x7f || (h & 0x7f80) == 0x7f80)
			return fp8_fail(s, first + i, b, scale, err);
		memcpy(to + 2 * i, &h, sizeof(h));
		if (++col == s->cols) {
			col = 0;
			row++;
		}
	}
	return 0;
}

int cmx_recode(enum cmx_recode recode, const struct cmx_fp8_scales *s, uint64_t first, uint64_t n,
	       const void *from, void *to, struct cmx_infer_err *err)
{
	if (recode == CMX_RECODE_FP8_BF16)
		return recode_fp8(s, first, n, from, to, err);
	for (uint64_t i = 0; i < n; i++) {
		uint16_t h;
		float f;

		memcpy(&h, (const char *)from + 2 * i, sizeof(h));
		f = recode == CMX_RECODE_F16_F32 ? cmx_f16(h) : cmx_float((uint32_t)h << 16);
		memcpy((char *)to + 4 * i, &f, sizeof(f));
	}
	return 0;
}

int cmx_fp8_check_scales(const float *scale, uint64_t n, struct cmx_infer_err *err)
{
	for (uint64_t i = 0; i < n; i++) {
		if ((cmx_bits(scale[i]) & 0x7f800000) == 0x7f800000)
			return cmx_infer_fail(err, -EDOM, "scale %" PRIu64 " is not finite", i);
	}
	return 0;
}
