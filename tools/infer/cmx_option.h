/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command-line options, from tables that say where each value goes and what it may be; errors
 * name the option, what it was given and the limits.
 */
#ifndef CMX_OPTION_H
#define CMX_OPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_infer_err.h"

/* Limits of options that several commands have. */
#define CMX_MAX_TOKENS	(1u << 24)	/* of a prompt, an output, a step, a text */
#define CMX_MAX_THREADS	256u

struct cmx_option {
	const char *name;	/* without its dashes; NULL: only the letter */
	char letter;		/* 0: only the name */
	/* Where the value goes: exactly one is set. A flag takes no value. */
	bool *flag;
	const char **text;
	uint32_t *u32;		/* min..max */
	uint64_t *u64;
	float *real;		/* real_min..real_max */
	int (*parse)(void *to, const char *arg, struct cmx_infer_err *err);
	void *to;		/* for parse() */
	bool *given;		/* NULL or: set when the option is there */
	uint64_t min, max;
	float real_min, real_max;
};

#define CMX_OPTIONS_MAX	64

/*
 * Reads @argv by a table of @n <= CMX_OPTIONS_MAX options. A word that is no option is an error.
 * Returns 0 or -EINVAL.
 */
int cmx_options_parse(const struct cmx_option *table, int n, int argc, char **argv,
		      struct cmx_infer_err *err);

int cmx_option_u32(const char *name, const char *arg, uint32_t min, uint32_t max, uint32_t *val,
		   struct cmx_infer_err *err);
/* For parse(): "int8", the one format that weights can be rounded to; @to is a bool. */
int cmx_option_int8(void *to, const char *arg, struct cmx_infer_err *err);

#endif
