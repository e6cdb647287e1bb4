// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_kernel_clock.h"

#include <stdatomic.h>

static atomic_uint_fast64_t ticks;

/* Nobody orders anything by it: a reader waits for the launches first. */
void cmx_kernel_clock_add(uint64_t start)
{
	atomic_fetch_add_explicit(&ticks, cmx_kernel_clock_now() - start, memory_order_relaxed);
}

uint64_t cmx_kernel_clock_sum(void)
{
	return atomic_load_explicit(&ticks, memory_order_relaxed);
}
