// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_argument.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SECONDS	86400

int cmx_argument_number(const char *command, const char *option, const char *text, uint64_t min,
			uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *value >= min && *value <= max)
		return 0;
	fprintf(stderr, "cmx %s: %s `%s' is not a number from %" PRIu64 " to %" PRIu64 "\n",
		command, option, text, min, max);
	return -1;
}

int cmx_argument_seconds(const char *command, const char *option, const char *text, uint64_t *ms)
{
	double seconds;
	char *end;

	errno = 0;
	seconds = strtod(text, &end);
	/* No hexadecimal, infinity or sign. */
	if (*text >= '0' && *text <= '9' && !*end && !errno && !strpbrk(text, "xX") &&
	    seconds >= 0.001 && seconds <= MAX_SECONDS) {
		*ms = (uint64_t)(seconds * 1000 + 0.5);
		return 0;
	}
	fprintf(stderr, "cmx %s: %s `%s' is not a number of seconds from 0.001 to %d\n", command,
		option, text, MAX_SECONDS);
	return -1;
}

int cmx_argument_word(const char *command, const char *option, const char *text,
		      const char * const *words, uint32_t *place)
{
	for (*place = 0; words[*place]; (*place)++)
		if (!strcmp(words[*place], text))
			return 0;
	fprintf(stderr, "cmx %s: %s `%s' is none of", command, option, text);
	for (uint32_t i = 0; words[i]; i++)
		fprintf(stderr, "%s %s", i ? "," : "", words[i]);
	fputc('\n', stderr);
	return -1;
}
