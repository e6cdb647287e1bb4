/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Host time that kernels take, in ticks of the processor's own counter: on User
 * Mode Linux a system call for the time takes longer than many a block. Nothing
 * that is computed, and no virtual time, depends on it.
 */
#ifndef CMX_KERNEL_CLOCK_H
#define CMX_KERNEL_CLOCK_H

#include <stdint.h>
#ifdef __x86_64__
#include <x86intrin.h>
#else
#include <time.h>
#endif

static inline uint64_t cmx_kernel_clock_now(void)
{
#ifdef __x86_64__
	return __rdtsc();
#else
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
#endif
}

/* A block ends that began at @start. Any thread. */
void cmx_kernel_clock_add(uint64_t start);
/* Ticks of all blocks so far, over all threads. */
uint64_t cmx_kernel_clock_sum(void);

#endif
