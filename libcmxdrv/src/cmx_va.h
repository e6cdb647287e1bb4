/* SPDX-License-Identifier: MIT */
/*
 * Arena of addresses: first fit over an address-sorted array of free ranges.
 */
#ifndef CMX_VA_H
#define CMX_VA_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct cmx_va_range {
	uint64_t start, size;
};

struct cmx_va {
	pthread_mutex_t lock;
	struct cmx_va_range *free;	/* sorted, no two touch */
	size_t count, room;
	size_t taken;			/* ranges handed out */
};

int cmx_va_init(struct cmx_va *va, uint64_t start, uint64_t size);
void cmx_va_fini(struct cmx_va *va);

/* @align is a power of two. Returns 0, -ENOMEM (no memory) or -ENOSPC (no addresses). */
int cmx_va_take(struct cmx_va *va, uint64_t size, uint64_t align, uint64_t *start);

/* Give back a range of cmx_va_take(), whole. Never fails: room for it was kept. */
void cmx_va_give(struct cmx_va *va, uint64_t start, uint64_t size);

#endif /* CMX_VA_H */
