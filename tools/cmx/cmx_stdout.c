// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_stdout.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmx_command.h"

int cmx_stdout_flush(const char *command)
{
	/* An earlier failure left no reason. */
	errno = EIO;
	if (!fflush(stdout) && !ferror(stdout))
		return CMX_EXIT_OK;
	fprintf(stderr, "cmx %s: standard output: %s\n", command, strerror(errno));
	return CMX_EXIT_FAILED;
}
