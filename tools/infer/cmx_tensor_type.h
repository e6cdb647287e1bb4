/* SPDX-License-Identifier: GPL-2.0-only */
/* Number formats of weights in the die's memory. */
#ifndef CMX_TENSOR_TYPE_H
#define CMX_TENSOR_TYPE_H

#include <stdint.h>

/* Numbered as in GGUF files. */
enum cmx_tensor_type {
	CMX_TENSOR_F32 = 0,
	CMX_TENSOR_F16 = 1,
	CMX_TENSOR_Q4_0 = 2,
	CMX_TENSOR_Q8_0 = 8,
	CMX_TENSOR_Q4_K = 12,
	CMX_TENSOR_Q6_K = 14,
	CMX_TENSOR_I8 = 24,	/* a scale for each row, apart from it */
	CMX_TENSOR_BF16 = 30,
};

/*
 * The blocks of the quantised types, as they are stored. "d" is a half float;
 * a weight is what stands in the brackets.
 *   Q8_0: d, 32 signed bytes q                                       [d * q]
 *   Q4_0: d, 16 bytes; byte i has value i low and 16 + i high        [d * (q - 8)]
 *   Q4_K: d, dmin, 12 bytes of eight 6-bit scales s and minima m, 128 bytes; of
 *         each 64 values the first 32 are low halves, the rest high  [d * s * q - dmin * m]
 *   Q6_K: 128 bytes of low halves, 64 bytes of upper bit pairs, 16 signed
 *         scales s, d                                                [d * s * (q - 32)]
 */
#define CMX_Q8_0_VALUES		32u
#define CMX_Q8_0_BYTES		34u
#define CMX_Q4_0_VALUES		32u
#define CMX_Q4_0_BYTES		18u
#define CMX_Q4_K_VALUES		256u
#define CMX_Q4_K_BYTES		144u
#define CMX_Q6_K_VALUES		256u
#define CMX_Q6_K_BYTES		210u

/* A row of values is whole blocks. */
struct cmx_tensor_block {
	uint32_t values;
	uint32_t bytes;
};

/* Zeros if the type is unknown. */
struct cmx_tensor_block cmx_tensor_block(uint32_t type);
const char *cmx_tensor_type_name(uint32_t type);
/* Bytes of @n values of @type, or 0 if the type is unknown or @n does not fill whole blocks. */
uint64_t cmx_tensor_bytes(uint32_t type, uint64_t n);

#endif
