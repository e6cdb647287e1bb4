/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The end of what goes to standard output.
 */
#ifndef CMX_STDOUT_H
#define CMX_STDOUT_H

/* Returns an exit status, with a text on stderr for whatever was not written. */
int cmx_stdout_flush(const char *command);

#endif /* CMX_STDOUT_H */
