/* SPDX-License-Identifier: GPL-2.0-only */
/* The line that tells, on a terminal, how far a long read has come. */
#ifndef CMX_LOAD_PROGRESS_H
#define CMX_LOAD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct cmx_load_progress {
	const char *what;
	uint64_t shown;		/* per cent */
	bool open;		/* a line is on the screen */
};

/* @p is one of those; fit for cmx_load_options. */
void cmx_load_progress(void *p, uint64_t done, uint64_t total);

#endif
