/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals that ask a sub-command to end. It looks at the flag and undoes what is half done.
 */
#ifndef CMX_STOP_H
#define CMX_STOP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Catch them, and let a write to a pipe without a reader fail. One that comes seconds after
 * the first ends the process at once, which seems to hang then.
 */
void cmx_stop_catch(void);

/* Whether one came; for any thread. */
bool cmx_stopped(void);

/*
 * Waits until @fd (-1: none) can be read, @ms went by (UINT64_MAX: no limit) or a signal came,
 * also when it came before. Returns whether @fd can be read.
 */
bool cmx_stop_wait(int fd, uint64_t ms);

#endif /* CMX_STOP_H */
