/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Signals that ask a sub-command to end. It looks at the flag and undoes what is half done.
 */
#ifndef CMX_STOP_H
#define CMX_STOP_H

#include <stdbool.h>

/*
 * Catch them, and let a write to a pipe without a reader fail. One that comes seconds after
 * the first ends the process at once, which seems to hang then.
 */
void cmx_stop_catch(void);

/* Whether one came; for any thread. */
bool cmx_stopped(void);

#endif /* CMX_STOP_H */
