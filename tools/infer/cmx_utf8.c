// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_utf8.h"

uint32_t cmx_utf8_length(uint8_t b)
{
	if (b < 0x80)
		return 1;
	if (b >= 0xc2 && b <= 0xdf)
		return 2;
	if (b >= 0xe0 && b <= 0xef)
		return 3;
	return b >= 0xf0 && b <= 0xf4 ? 4 : 0;
}

/* The second byte also rules out overlong forms, surrogates and codes past U+10FFFF. */
bool cmx_utf8_continues(const uint8_t *s, uint32_t n, uint8_t b)
{
	if ((b & 0xc0) != 0x80)
		return false;
	if (n > 1)
		return true;
	switch (s[0]) {
	case 0xe0:
		return b >= 0xa0;
	case 0xed:
		return b < 0xa0;
	case 0xf0:
		return b >= 0x90;
	case 0xf4:
		return b < 0x90;
	default:
		return true;
	}
}

uint32_t cmx_utf8_next(const uint8_t *s, size_t len, uint32_t *code)
{
	static const uint8_t first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t n = cmx_utf8_length(s[0]);

	*code = CMX_UTF8_REPLACEMENT;
	if (!n || n > len)
		return 1;
	for (uint32_t i = 1; i < n; i++) {
		if (!cmx_utf8_continues(s, i, s[i]))
			return 1;
	}
	*code = s[0] & first_bits[n];
	for (uint32_t i = 1; i < n; i++)
		*code = *code << 6 | (s[i] & 0x3f);
	return n;
}
