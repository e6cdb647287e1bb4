/* SPDX-License-Identifier: GPL-2.0-only */
/* Packed integers of the quantised types to lanes, for both x86 levels. */
#ifndef CMX_LANES_BYTES_H
#define CMX_LANES_BYTES_H

/* Low or high halves of sixteen bytes. */
static inline __m128i half_bytes(const void *p, uint32_t high)
{
	__m128i v = _mm_loadu_si128(p);

	v = high ? _mm_srli_epi16(v, 4) : v;
	return _mm_and_si128(v, _mm_set1_epi8(15));
}

/* Less @bias. */
static inline struct lanes lanes_load_u4(const void *p, uint32_t high, int bias)
{
	return lanes_from_i8(_mm_sub_epi8(half_bytes(p, high), _mm_set1_epi8((char)bias)));
}

/* With two more bits on top, from @up's bit @shift on, less 32. */
static inline struct lanes lanes_load_u6(const void *low, uint32_t high, const void *up,
					 uint32_t shift)
{
	__m128i u = _mm_srl_epi16(_mm_loadu_si128(up), _mm_cvtsi32_si128((int)shift));

	u = _mm_slli_epi16(_mm_and_si128(u, _mm_set1_epi8(3)), 4);
	return lanes_from_i8(_mm_sub_epi8(_mm_or_si128(half_bytes(low, high), u),
					  _mm_set1_epi8(32)));
}

#endif
