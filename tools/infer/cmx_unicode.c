// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_unicode.h"

enum cmx_unicode_class cmx_unicode_class(uint32_t code)
{
	uint32_t lo = 0, hi = cmx_unicode_table_len;

	/* The last run that starts at or before the code; there is one at 0. */
	while (hi - lo > 1) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (cmx_unicode_table[mid] >> 3 <= code)
			lo = mid;
		else
			hi = mid;
	}
	return cmx_unicode_table[lo] & 7;
}
