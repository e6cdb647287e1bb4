// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cmx_amount.h"
#include "cmx_command.h"
#include "cmx_profile_cmd.h"
#include "cmx_stdout.h"

/* With a prefix where the number alone is hard to read. */
static struct cmx_amount amount_of(const struct cmx_profile_constant *constant, uint64_t value)
{
	struct cmx_amount amount;

	if (!strcmp(constant->unit, "B"))
		return cmx_amount_bytes(value);
	if (!strcmp(constant->unit, "B/s"))
		return cmx_amount_rate(value);
	if (!strcmp(constant->unit, "ps"))
		return cmx_amount_time(value);
	snprintf(amount.text, sizeof(amount.text), "%.6g%s%s", (double)value,
		 *constant->unit ? " " : "", constant->unit);
	return amount;
}

static const char *kind_name(enum cmx_profile_kind kind)
{
	static const char * const names[] = {
		[CMX_PROFILE_PUBLISHED] = "published",
		[CMX_PROFILE_FITTED] = "fitted",
		[CMX_PROFILE_ASSUMED] = "assumed",
	};

	return kind && kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "-";
}

static int fail(void)
{
	fprintf(stderr, "cmx profile: %s\n", cmx_last_error()->text);
	return CMX_EXIT_FAILED;
}

/* Returns an exit status. */
static int put_constant(const struct cmx_profile *profile,
			const struct cmx_profile_constant *constant)
{
	enum cmx_profile_kind kind = 0;
	const char *source = NULL;
	uint64_t value;

	if (cmx_profile_value(profile, constant->name, &value) ||
	    cmx_profile_source(profile, constant->name, &kind, &source))
		return fail();
	printf("  %-22s %20" PRIu64 "  %-14s", constant->name, value,
	       amount_of(constant, value).text);
	/* The module knows values, not where they come from. */
	if (source)
		printf("  %-9s  %s", kind_name(kind), source);
	printf("\n");
	return 0;
}

int cmx_profile_print_text(const struct cmx_profile *profile)
{
	const struct cmx_profile_constant *constants;
	int status = CMX_EXIT_OK;
	size_t count;

	constants = cmx_profile_constants(&count);
	printf("profile %s\n", cmx_profile_name(profile));
	for (size_t i = 0; !status && i < count; i++)
		status = put_constant(profile, &constants[i]);
	return status ? status : cmx_stdout_flush("profile");
}

int cmx_profile_print_check(const char *file, const struct cmx_profile *profile)
{
	const struct cmx_profile_constant *constants;
	size_t count, kinds[CMX_PROFILE_ASSUMED + 1] = {};
	enum cmx_profile_kind kind;
	const char *source;

	constants = cmx_profile_constants(&count);
	for (size_t i = 0; i < count; i++) {
		if (cmx_profile_source(profile, constants[i].name, &kind, &source))
			return fail();
		if (kind <= CMX_PROFILE_ASSUMED)
			kinds[kind]++;
	}
	printf("%s: profile %s: %zu constants, %zu published, %zu fitted, %zu assumed\n", file,
	       cmx_profile_name(profile), count, kinds[CMX_PROFILE_PUBLISHED],
	       kinds[CMX_PROFILE_FITTED], kinds[CMX_PROFILE_ASSUMED]);
	return cmx_stdout_flush("profile");
}
