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

/* A block that was carried out. */
struct cmx_kernel_block {
	uint64_t start;		/* ticks */
	uint64_t ticks;
	uint32_t block;		/* grid: the end of the launch */
	uint32_t grid;
	uint16_t kernel;	/* enum cmx_npu_id */
	uint16_t thread;	/* 0 is the first one that carried out any */
};

/* A block of kernel @kernel ends that began at @start. Any thread. */
void cmx_kernel_clock_block(uint32_t kernel, uint32_t block, uint32_t grid, uint64_t start);
/* Ticks of all blocks so far, over all threads. */
uint64_t cmx_kernel_clock_sum(void);

/* Keeps every block from now on, up to @max of them. While no launch is on its way. -ENOMEM. */
int cmx_kernel_clock_keep(uint64_t max);
/* Those that were kept, in the order they ended; @n may be more than there was room for. */
const struct cmx_kernel_block *cmx_kernel_clock_kept(uint64_t *n);
void cmx_kernel_clock_forget(void);

#endif
