// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_kernel_clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

static atomic_uint_fast64_t ticks;
static atomic_uint_fast64_t n_kept;
static atomic_uint n_threads;
static struct cmx_kernel_block *kept;
static uint64_t max_kept;

/* Threads are numbered as they come. */
static uint16_t this_thread(void)
{
	static _Thread_local unsigned int number;

	if (!number)
		number = atomic_fetch_add_explicit(&n_threads, 1, memory_order_relaxed) + 1;
	return (uint16_t)(number - 1);
}

/* Nobody orders anything by it: a reader waits for the launches first. */
void cmx_kernel_clock_block(uint32_t kernel, uint32_t block, uint32_t grid, uint64_t start)
{
	uint64_t took = cmx_kernel_clock_now() - start, i;

	atomic_fetch_add_explicit(&ticks, took, memory_order_relaxed);
	if (!kept)
		return;
	i = atomic_fetch_add_explicit(&n_kept, 1, memory_order_relaxed);
	if (i < max_kept)
		kept[i] = (struct cmx_kernel_block){
			.start = start, .ticks = took, .block = block, .grid = grid,
			.kernel = (uint16_t)kernel, .thread = this_thread(),
		};
}

uint64_t cmx_kernel_clock_sum(void)
{
	return atomic_load_explicit(&ticks, memory_order_relaxed);
}

int cmx_kernel_clock_keep(uint64_t max)
{
	/* Pages that are never touched cost nothing. */
	struct cmx_kernel_block *room = calloc(max, sizeof(*room));

	if (!room)
		return -ENOMEM;
	cmx_kernel_clock_forget();
	max_kept = max;
	kept = room;
	return 0;
}

const struct cmx_kernel_block *cmx_kernel_clock_kept(uint64_t *n)
{
	*n = atomic_load_explicit(&n_kept, memory_order_relaxed);
	return kept;
}

void cmx_kernel_clock_forget(void)
{
	free(kept);
	kept = NULL;
	atomic_store_explicit(&n_kept, 0, memory_order_relaxed);
}
