// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_ranges.h"

void cmx_ranges_put(FILE *to, const uint32_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t first = numbers[i];

		fprintf(to, "%s%u", i ? "," : "", first);
		while (i + 1 < count && numbers[i + 1] == numbers[i] + 1)
			i++;
		if (numbers[i] != first)
			fprintf(to, "-%u", numbers[i]);
	}
}
