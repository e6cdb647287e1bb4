/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that appears under its name only when it is complete. What is no regular file
 * (a device, a FIFO) cannot be replaced and is written to as it is.
 */
#ifndef CMX_OUTPUT_FILE_H
#define CMX_OUTPUT_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct cmx_output_file {
	FILE *f;			/* NULL: not open */
	char target[PATH_MAX];		/* links followed; empty: written to as it is */
	char temp[PATH_MAX + 8];
};

/* 0 or -errno. */
int cmx_output_open(struct cmx_output_file *o, const char *path);
/* Flushes and renames: 0, or -errno and no file is left behind. */
int cmx_output_commit(struct cmx_output_file *o);
/* Drops what was written; does nothing after a commit. */
void cmx_output_abort(struct cmx_output_file *o);
/* Whether a commit would replace what @path names. */
bool cmx_output_replaces(const struct cmx_output_file *o, const char *path);

#endif /* CMX_OUTPUT_FILE_H */
