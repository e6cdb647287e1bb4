/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's clock: never set back, of no meaning but the difference of two readings.
 */
#ifndef CMX_CLOCK_H
#define CMX_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Also good in a signal handler. */
static inline uint64_t cmx_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

static inline uint64_t cmx_clock_ms(void)
{
	return cmx_clock_ns() / 1000000U;
}

#endif /* CMX_CLOCK_H */
