/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sub-command of cmx as a function call, with what it printed.
 */
#ifndef RUN_COMMAND_H
#define RUN_COMMAND_H

#include <stdbool.h>

struct run {
	int status;
	char out[1 << 20];
	char err[1 << 12];
};

/* The last one; cut to the room there is. */
extern struct run run;

/* @line: the words of the command line, one blank between them, no quotes. */
int run_command(int (*main)(int argc, char **argv), const char *line);

/* Whether a line of standard output is @line, blanks drawn together. */
bool run_has_line(const char *line);
bool run_says(const char *text);
bool run_complains(const char *text);

#endif /* RUN_COMMAND_H */
