/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From numbers as files have them to numbers as the die has them.
 *
 * FP8 weights become BF16: the die has no FP8 units, BF16 takes half the memory
 * of F32, and where scales are powers of two no bit is lost. Elsewhere a weight
 * is the F32 product of number and scale, rounded to nearest even.
 */
#ifndef CMX_RECODE_H
#define CMX_RECODE_H

#include <stdint.h>

#include "cmx_infer_err.h"

enum cmx_recode {
	CMX_RECODE_NONE,
	CMX_RECODE_F16_F32,
	CMX_RECODE_BF16_F32,
	CMX_RECODE_FP8_BF16,
};

/* A matrix's FP8 scales, one for each CMX_FP8_BLOCK squared, cut at the edges. */
struct cmx_fp8_scales {
	const float *scale;	/* [rows of blocks][blocks of a row] */
	uint64_t cols;		/* of the matrix */
};

/* Bytes of @n stored values; @recode must not be NONE. */
uint64_t cmx_recode_stored(enum cmx_recode recode, uint64_t n);
uint64_t cmx_recode_result(enum cmx_recode recode, uint64_t n);

/*
 * Values [@first, @first + @n) of a tensor. @from may be the last bytes of @to.
 * -EDOM if an FP8 value is not a number, -ERANGE if times its scale it is too large.
 */
int cmx_recode(enum cmx_recode recode, const struct cmx_fp8_scales *s, uint64_t first, uint64_t n,
	       const void *from, void *to, struct cmx_infer_err *err);

/* All scales finite. */
int cmx_fp8_check_scales(const float *scale, uint64_t n, struct cmx_infer_err *err);

#endif
