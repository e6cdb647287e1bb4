/* SPDX-License-Identifier: MIT */
/*
 * Reserved process addresses.
 */
#ifndef CMX_RESERVE_H
#define CMX_RESERVE_H

#include <stdint.h>

/*
 * Reserve addresses that nothing else in the process gets, as many as can be had.
 * Returns 0 or -ENOMEM.
 */
int cmx_reserve_take(void **start, uint64_t *size);

void cmx_reserve_give(void *start, uint64_t size);

/* Make a part that was mapped over inaccessible again. */
void cmx_reserve_restore(void *start, uint64_t size);

#endif /* CMX_RESERVE_H */
