// SPDX-License-Identifier: GPL-2.0-only
#include "run_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORDS	16

struct run run;

static int split(char *text, char **words)
{
	int count = 0;

	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		if (count < MAX_WORDS - 1)
			words[count++] = word;
	words[count] = NULL;
	return count;
}

/* Sends @fd to a file; returns what it was before. */
static int divert(int fd, FILE **file)
{
	int old = dup(fd);

	*file = tmpfile();
	if (old < 0 || !*file || dup2(fileno(*file), fd) < 0)
		abort();
	return old;
}

static void restore(int fd, int old, FILE *file, char *to, size_t size)
{
	size_t got;

	if (dup2(old, fd) < 0)
		abort();
	close(old);
	rewind(file);
	got = fread(to, 1, size - 1, file);
	to[got] = '\0';
	fclose(file);
}

int run_command(int (*main)(int argc, char **argv), const char *line)
{
	char text[512], *words[MAX_WORDS];
	FILE *out, *err;
	int old_out, old_err, count;

	snprintf(text, sizeof(text), "%s", line);
	count = split(text, words);
	fflush(stdout);
	old_out = divert(STDOUT_FILENO, &out);
	old_err = divert(STDERR_FILENO, &err);
	run.status = main(count, words);
	fflush(stdout);
	restore(STDOUT_FILENO, old_out, out, run.out, sizeof(run.out));
	restore(STDERR_FILENO, old_err, err, run.err, sizeof(run.err));
	return run.status;
}

/* One blank for many, none at the ends; returns behind the line. */
static const char *squeeze(const char *from, char *to, size_t size)
{
	size_t used = 0;

	while (*from == ' ')
		from++;
	for (; *from && *from != '\n'; from++) {
		if (*from == ' ' && (from[1] == ' ' || from[1] == '\n'))
			continue;
		if (used + 1 < size)
			to[used++] = *from;
	}
	to[used] = '\0';
	return *from ? from + 1 : from;
}

bool run_has_line(const char *line)
{
	const char *at = run.out;
	char text[512];

	while (*at) {
		at = squeeze(at, text, sizeof(text));
		if (!strcmp(text, line))
			return true;
	}
	return false;
}

bool run_says(const char *text)
{
	return strstr(run.out, text);
}

bool run_complains(const char *text)
{
	return strstr(run.err, text);
}
