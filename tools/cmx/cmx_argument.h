/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Values of options. All return 0, or -1 and a text on stderr that names the option, the
 * value and its limits.
 */
#ifndef CMX_ARGUMENT_H
#define CMX_ARGUMENT_H

#include <stdint.h>

int cmx_argument_number(const char *command, const char *option, const char *text, uint64_t min,
			uint64_t max, uint64_t *value);

/* Seconds, with a fraction or not, from 0.001 to 86400 (a day). */
int cmx_argument_seconds(const char *command, const char *option, const char *text,
			 uint64_t *ms);

/* One of @words (up to a NULL): its place. */
int cmx_argument_word(const char *command, const char *option, const char *text,
		      const char * const *words, uint32_t *place);

#endif /* CMX_ARGUMENT_H */
