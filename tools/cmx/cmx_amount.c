// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_amount.h"

#include <inttypes.h>
#include <stdio.h>

static struct cmx_amount scaled(uint64_t value, unsigned int base, const char * const *units,
				unsigned int num_units)
{
	struct cmx_amount amount;
	double scaled_value = (double)value;
	unsigned int u = 0;

	/* What would round up to the next unit is written in it. */
	while (u + 1 < num_units && scaled_value >= base - 0.05) {
		scaled_value /= base;
		u++;
	}
	if (!u)
		snprintf(amount.text, sizeof(amount.text), "%" PRIu64 " %s", value, units[u]);
	else
		snprintf(amount.text, sizeof(amount.text), "%.4g %s", scaled_value, units[u]);
	return amount;
}

struct cmx_amount cmx_amount_bytes(uint64_t bytes)
{
	static const char * const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	return scaled(bytes, 1024, units, 7);
}

struct cmx_amount cmx_amount_rate(uint64_t bytes_per_s)
{
	static const char * const units[] = { "B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s",
					      "EB/s" };

	return scaled(bytes_per_s, 1000, units, 7);
}

struct cmx_amount cmx_amount_time(uint64_t ps)
{
	static const char * const units[] = { "ps", "ns", "us", "ms", "s" };

	return scaled(ps, 1000, units, 5);
}

struct cmx_amount cmx_amount_permille(uint64_t permille)
{
	struct cmx_amount amount;

	snprintf(amount.text, sizeof(amount.text), "%" PRIu64 ".%" PRIu64 " %%", permille / 10,
		 permille % 10);
	return amount;
}

uint64_t cmx_permille(uint64_t part, uint64_t whole)
{
	if (!whole)
		return 0;
	return (uint64_t)((__uint128_t)part * 1000 / whole);
}

uint64_t cmx_rate(uint64_t bytes, uint64_t ps)
{
	__uint128_t rate;

	if (!ps)
		return 0;
	rate = (__uint128_t)bytes * 1000000000000ULL / ps;
	return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}
