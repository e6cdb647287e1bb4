/* SPDX-License-Identifier: MIT */
/*
 * Registered kernels of a context.
 */
#ifndef CMX_KERNELS_H
#define CMX_KERNELS_H

#include <pthread.h>

#include <cmx/kernel.h>

#include "cmx_list.h"

#define CMX_KERNEL_MAX		4096
#define CMX_KERNEL_NAME		64

struct cmx_kernel {
	char name[CMX_KERNEL_NAME];
	cmx_kernel_fn run;
	cmx_kernel_post_fn post;
	cmx_kernel_cost_fn cost;
	uint32_t flags;
	uint32_t args_size;
};

/*
 * Grows only: a reader that saw @count needs no lock. A kernel's number is its index plus
 * one, so that 0 is none.
 */
struct cmx_kernels {
	pthread_mutex_t lock;
	struct cmx_kernel *table[CMX_KERNEL_MAX];
	uint32_t filled;		/* under the lock */
	uint32_t count;			/* those that launches may name */
	struct cmx_list objects;	/* shared objects loaded */
};

void cmx_kernels_init(struct cmx_kernels *kernels);
void cmx_kernels_fini(struct cmx_kernels *kernels);

/* The kernel of a number, or NULL. */
const struct cmx_kernel *cmx_kernels_get(struct cmx_kernels *kernels, uint64_t number);

#endif /* CMX_KERNELS_H */
