// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_fabric_priv.h"
#include "cmx_fail.h"
#include "cmx_profile_priv.h"

#define CONSTANT(id, name, member, unit, min, max)	{ #name, unit, min, max },
#define ATTR(id, name, member, unit, min, max)		CMX_A_PROFILE_##id,

static const struct cmx_profile_constant constants[] = { CMX_PROFILE_CONSTANTS(CONSTANT) };
static const uint16_t attrs[] = { CMX_PROFILE_CONSTANTS(ATTR) };

const struct cmx_profile_constant *cmx_profile_constants(size_t *count)
{
	*count = CMX_PROFILE_COUNT;
	return constants;
}

int cmx_profile_find(const char *name)
{
	for (int i = 0; i < CMX_PROFILE_COUNT; i++) {
		if (!strcmp(constants[i].name, name))
			return i;
	}
	return -1;
}

int cmx_profile_attr(size_t row)
{
	return attrs[row];
}

const char *cmx_profile_attr_name(int attr)
{
	for (size_t i = 0; i < CMX_PROFILE_COUNT; i++) {
		if (attrs[i] == attr)
			return constants[i].name;
	}
	return NULL;
}

struct cmx_profile *cmx_profile_alloc(void)
{
	return calloc(1, sizeof(struct cmx_profile));
}

void cmx_profile_free(struct cmx_profile *profile)
{
	if (!profile)
		return;
	for (size_t i = 0; i < CMX_PROFILE_COUNT; i++)
		free(profile->rows[i].source);
	free(profile->description);
	free(profile);
}

/* Whatever the locale says of others. */
static bool is_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.';
}

/* As the module has it. */
int cmx_profile_check_name(const char *name)
{
	size_t len = strlen(name), taken = 0;

	if (!len || len >= CMX_PROFILE_NAME_SIZE)
		return cmx_fail(-EINVAL, "name", len, CMX_PROFILE_NAME_SIZE - 1,
				"name has %zu characters, from 1 to %d", len,
				CMX_PROFILE_NAME_SIZE - 1);
	while (is_name_character(name[taken]))
		taken++;
	if (*name == '.' || taken != len)
		return cmx_fail(-EINVAL, "name", 0, 0,
				"name: only letters, digits, '-', '_' and inner '.' are taken");
	return 0;
}

int cmx_profile_check_value(size_t row, uint64_t value, int error)
{
	const struct cmx_profile_constant *constant = &constants[row];
	bool low = value < constant->min;

	if (!low && value <= constant->max)
		return 0;
	return cmx_fail(error, constant->name, value, low ? constant->min : constant->max,
			"%s is %llu %s, at %s %llu", constant->name, (unsigned long long)value,
			constant->unit, low ? "least" : "most",
			(unsigned long long)(low ? constant->min : constant->max));
}

const char *cmx_profile_name(const struct cmx_profile *profile)
{
	return profile->name;
}

static int fail_unknown(const char *name)
{
	return cmx_fail(-ENOENT, NULL, 0, 0, "%.64s: there is no such constant", name);
}

int cmx_profile_value(const struct cmx_profile *profile, const char *name, uint64_t *value)
{
	int row = cmx_profile_find(name);

	if (row < 0)
		return fail_unknown(name);
	*value = profile->rows[row].value;
	return 0;
}

int cmx_profile_source(const struct cmx_profile *profile, const char *name,
		       enum cmx_profile_kind *kind, const char **source)
{
	int row = cmx_profile_find(name);

	if (row < 0)
		return fail_unknown(name);
	*kind = profile->rows[row].kind;
	*source = profile->rows[row].source;
	return 0;
}

int cmx_profile_set(struct cmx_profile *profile, const char *name, uint64_t value,
		    const char *source)
{
	int row = cmx_profile_find(name), ret;
	char *copy = NULL;

	if (row < 0)
		return fail_unknown(name);
	ret = cmx_profile_check_value((size_t)row, value, -ERANGE);
	if (ret)
		return ret;
	if (source) {
		copy = strdup(source);
		if (!copy)
			return cmx_fail_call(-ENOMEM, "cmx_profile_set");
		free(profile->rows[row].source);
		profile->rows[row].source = copy;
		profile->rows[row].kind = CMX_PROFILE_ASSUMED;
	}
	profile->rows[row].value = value;
	return 0;
}

int cmx_profile_rename(struct cmx_profile *profile, const char *name)
{
	int ret = cmx_profile_check_name(name);

	if (!ret)
		snprintf(profile->name, sizeof(profile->name), "%s", name);
	return ret;
}
