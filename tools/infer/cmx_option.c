// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_option.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

int cmx_option_u64(const char *name, const char *arg, uint64_t min, uint64_t max, uint64_t *val,
		   struct cmx_infer_err *err)
{
	char *end;

	errno = 0;
	*val = strtoull(arg, &end, 10);
	if (isdigit((unsigned char)*arg) && !*end && !errno && *val >= min && *val <= max)
		return 0;
	return cmx_infer_fail(err, -EINVAL, "%s is '%s', must be a number in %llu..%llu", name,
			      arg, (unsigned long long)min, (unsigned long long)max);
}

int cmx_option_u32(const char *name, const char *arg, uint32_t min, uint32_t max, uint32_t *val,
		   struct cmx_infer_err *err)
{
	uint64_t wide;
	int ret = cmx_option_u64(name, arg, min, max, &wide, err);

	if (!ret)
		*val = (uint32_t)wide;
	return ret;
}

int cmx_option_float(const char *name, const char *arg, float min, float max, float *val,
		     struct cmx_infer_err *err)
{
	char *end;

	*val = strtof(arg, &end);
	if (end != arg && !*end && *val >= min && *val <= max)
		return 0;
	return cmx_infer_fail(err, -EINVAL, "%s is '%s', must be a number in %g..%g", name, arg,
			      (double)min, (double)max);
}

int cmx_option_int8(const char *name, const char *arg, bool *val, struct cmx_infer_err *err)
{
	*val = !strcmp(arg, "int8");
	return *val ? 0 : cmx_infer_fail(err, -EINVAL, "%s is '%s', must be int8", name, arg);
}

/* A short one may stand among others: its word is not what is wrong. */
int cmx_option_bad(int opt, const char *word, struct cmx_infer_err *err)
{
	const char letter[] = { '-', (char)optopt, '\0' };

	if (optopt > 0 && optopt <= CHAR_MAX && strncmp(word, "--", 2))
		word = letter;
	if (opt == ':')
		return cmx_infer_fail(err, -EINVAL, "option '%s' needs a value", word);
	return cmx_infer_fail(err, -EINVAL, "unknown option '%s'", word);
}
