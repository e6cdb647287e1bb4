// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_option.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int parse_u64(const char *name, const char *arg, uint64_t min, uint64_t max, uint64_t *val,
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
	int ret = parse_u64(name, arg, min, max, &wide, err);

	if (!ret)
		*val = (uint32_t)wide;
	return ret;
}

static int parse_real(const char *name, const char *arg, float min, float max, float *val,
		      struct cmx_infer_err *err)
{
	char *end;

	*val = strtof(arg, &end);
	if (end != arg && !*end && *val >= min && *val <= max)
		return 0;
	return cmx_infer_fail(err, -EINVAL, "%s is '%s', must be a number in %g..%g", name, arg,
			      (double)min, (double)max);
}

int cmx_option_int8(void *to, const char *arg, struct cmx_infer_err *err)
{
	bool *val = to;

	*val = !strcmp(arg, "int8");
	return *val ? 0 : cmx_infer_fail(err, -EINVAL, "--quantize is '%s', must be int8", arg);
}

/* A short one may stand among others: its word is not what is wrong. */
static int bad_option(int opt, const char *word, struct cmx_infer_err *err)
{
	const char letter[] = { '-', (char)optopt, '\0' };

	if (optopt > 0 && optopt <= CHAR_MAX && strncmp(word, "--", 2))
		word = letter;
	if (opt == ':')
		return cmx_infer_fail(err, -EINVAL, "option '%s' needs a value", word);
	return cmx_infer_fail(err, -EINVAL, "unknown option '%s'", word);
}

static int set_option(const struct cmx_option *o, const char *arg, struct cmx_infer_err *err)
{
	char name[32];

	if (o->name)
		snprintf(name, sizeof(name), "--%s", o->name);
	else
		snprintf(name, sizeof(name), "-%c", o->letter);
	if (o->given)
		*o->given = true;
	if (o->u32)
		return cmx_option_u32(name, arg, (uint32_t)o->min, (uint32_t)o->max, o->u32, err);
	if (o->u64)
		return parse_u64(name, arg, o->min, o->max, o->u64, err);
	if (o->real)
		return parse_real(name, arg, o->real_min, o->real_max, o->real, err);
	if (o->parse)
		return o->parse(o->to, arg, err);
	if (o->text)
		*o->text = arg;
	else
		*o->flag = true;
	return 0;
}

/* What getopt_long() wants: an option's value is its place in the table, past all letters. */
static void getopt_forms(const struct cmx_option *table, int n, struct option *longs, char *shorts)
{
	*shorts++ = ':';
	for (int i = 0; i < n; i++) {
		if (table[i].name)
			*longs++ = (struct option){
				.name = table[i].name,
				.has_arg = table[i].flag ? no_argument : required_argument,
				.val = UCHAR_MAX + 1 + i,
			};
		if (!table[i].letter)
			continue;
		*shorts++ = table[i].letter;
		if (!table[i].flag)
			*shorts++ = ':';
	}
	*longs = (struct option){ 0 };
	*shorts = '\0';
}

static const struct cmx_option *find_option(const struct cmx_option *table, int opt)
{
	if (opt > UCHAR_MAX)
		return &table[opt - UCHAR_MAX - 1];
	while (table->letter != opt)
		table++;
	return table;
}

int cmx_options_parse(const struct cmx_option *table, int n, int argc, char **argv,
		      struct cmx_infer_err *err)
{
	struct option longs[CMX_OPTIONS_MAX + 1];
	char shorts[2 * CMX_OPTIONS_MAX + 2];
	int opt, ret = 0;

	getopt_forms(table, n, longs, shorts);
	optind = 0;
	opterr = 0;
	while (!ret && (opt = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (opt == '?' || opt == ':')
			return bad_option(opt, argv[optind - 1], err);
		ret = set_option(find_option(table, opt), optarg, err);
	}
	if (!ret && optind < argc)
		return cmx_infer_fail(err, -EINVAL, "unexpected argument '%s'", argv[optind]);
	return ret;
}
