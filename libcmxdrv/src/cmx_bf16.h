/* SPDX-License-Identifier: MIT */
/* BF16: the upper half of an f32. */
#ifndef CMX_BF16_H
#define CMX_BF16_H

#include <stdint.h>
#include <string.h>

/* To nearest, ties to even; what is no number stays none. */
static inline uint16_t cmx_to_bf16(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	if (value != value)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static inline float cmx_from_bf16(uint16_t bf16)
{
	uint32_t bits = (uint32_t)bf16 << 16;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

#endif
