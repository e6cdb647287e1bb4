// SPDX-License-Identifier: MIT
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_fail.h"
#include "cmx_profile_priv.h"

/* A profile is some 10 KB; more than this is something else. */
#define MAX_FILE_SIZE	(1 << 20)

static const char *const kinds[] = {
	[CMX_PROFILE_PUBLISHED] = "published",
	[CMX_PROFILE_FITTED] = "fitted",
	[CMX_PROFILE_ASSUMED] = "assumed",
};

#define KINDS	(sizeof(kinds) / sizeof(*kinds))

/* ------------------------------------------------------------------------ reading */

/* @json's members are among @names, else the first that is not is named. */
static int check_members(json_t *json, const char *const *names, const char *where)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach(json, key, value) {
		for (i = 0; names[i] && strcmp(names[i], key); i++)
			;
		if (!names[i])
			return cmx_fail(-EINVAL, NULL, 0, 0,
					"%s has a member '%.64s' that it must not", where, key);
	}
	return 0;
}

/* A member that is a text with something in it, or NULL and the error set. */
static const char *get_text(json_t *json, const char *key, const char *where)
{
	const char *text = json_string_value(json_object_get(json, key));

	if (text && *text)
		return text;
	cmx_fail(-EINVAL, NULL, 0, 0, "%s: %s %s", where, key,
		 text ? "is empty" : json_object_get(json, key) ? "is no text" : "is missing");
	return NULL;
}

static int read_value(struct cmx_profile_row *row, json_t *json,
		      const struct cmx_profile_constant *constant, size_t index)
{
	json_t *value = json_object_get(json, "value");

	if (!value)
		return cmx_fail(-EINVAL, constant->name, 0, 0, "%s: value is missing",
				constant->name);
	if (json_is_real(value))
		return cmx_fail(-EINVAL, constant->name, 0, 0,
				"%s: value is %g, only integers are taken", constant->name,
				json_real_value(value));
	if (!json_is_integer(value))
		return cmx_fail(-EINVAL, constant->name, 0, 0, "%s: value is no integer",
				constant->name);
	if (json_integer_value(value) < 0)
		return cmx_fail(-EINVAL, constant->name, 0, constant->min,
				"%s is %lld %s, at least %llu", constant->name,
				(long long)json_integer_value(value), constant->unit,
				(unsigned long long)constant->min);
	row->value = (uint64_t)json_integer_value(value);
	return cmx_profile_check_value(index, row->value, -EINVAL);
}

static int read_kind(struct cmx_profile_row *row, json_t *json, const char *name)
{
	const char *kind = get_text(json, "kind", name);

	if (!kind)
		return -EINVAL;
	for (row->kind = CMX_PROFILE_PUBLISHED; row->kind < KINDS; row->kind++) {
		if (!strcmp(kind, kinds[row->kind]))
			return 0;
	}
	return cmx_fail(-EINVAL, name, 0, 0,
			"%s: kind is '%.32s', must be published, fitted or assumed", name, kind);
}

static int read_unit(json_t *json, const struct cmx_profile_constant *constant)
{
	const char *unit = json_string_value(json_object_get(json, "unit"));

	if (unit && !strcmp(unit, constant->unit))
		return 0;
	return cmx_fail(-EINVAL, constant->name, 0, 0, "%s: unit is '%.32s', must be '%s'",
			constant->name, unit ? unit : "", constant->unit);
}

static int read_row(struct cmx_profile_row *row, json_t *json, size_t index)
{
	static const char *const names[] = { "value", "unit", "kind", "source", NULL };
	const struct cmx_profile_constant *constant;
	const char *source;
	size_t count;
	int ret;

	constant = &cmx_profile_constants(&count)[index];
	if (!json)
		return cmx_fail(-EINVAL, constant->name, 0, 0, "%s is missing", constant->name);
	if (!json_is_object(json))
		return cmx_fail(-EINVAL, constant->name, 0, 0,
				"%s is no object with value, unit, kind and source",
				constant->name);
	ret = check_members(json, names, constant->name);
	if (!ret)
		ret = read_value(row, json, constant, index);
	if (!ret)
		ret = read_unit(json, constant);
	if (!ret)
		ret = read_kind(row, json, constant->name);
	if (ret)
		return ret;
	source = get_text(json, "source", constant->name);
	if (!source)
		return -EINVAL;
	row->source = strdup(source);
	return row->source ? 0 : cmx_fail_call(-ENOMEM, "cmx_profile_read");
}

static int read_rows(struct cmx_profile *profile, json_t *json)
{
	const char *key;
	json_t *value;
	int ret = 0;

	if (!json_is_object(json))
		return cmx_fail(-EINVAL, "constants", 0, 0, "constants %s",
				json ? "is no object" : "is missing");
	json_object_foreach(json, key, value) {
		if (cmx_profile_find(key) < 0)
			return cmx_fail(-EINVAL, NULL, 0, 0, "%.64s: there is no such constant",
					key);
	}
	for (size_t i = 0; !ret && i < CMX_PROFILE_COUNT; i++) {
		size_t count;

		value = json_object_get(json, cmx_profile_constants(&count)[i].name);
		ret = read_row(&profile->rows[i], value, i);
	}
	return ret;
}

static int read_profile(struct cmx_profile *profile, json_t *json)
{
	static const char *const names[] = { "name", "description", "constants", NULL };
	const char *name, *description;
	int ret;

	if (!json_is_object(json))
		return cmx_fail(-EINVAL, NULL, 0, 0,
				"a profile is an object with name, description and constants");
	ret = check_members(json, names, "the profile");
	if (ret)
		return ret;
	name = get_text(json, "name", "the profile");
	description = get_text(json, "description", "the profile");
	if (!name || !description)
		return -EINVAL;
	ret = cmx_profile_rename(profile, name);
	if (ret)
		return ret;
	profile->description = strdup(description);
	if (!profile->description)
		return cmx_fail_call(-ENOMEM, "cmx_profile_read");
	return read_rows(profile, json_object_get(json, "constants"));
}

/* The whole file; *size is at most MAX_FILE_SIZE. */
static int read_file(const char *path, char **bytes, size_t *size)
{
	FILE *file = fopen(path, "re");
	int ret = 0;

	if (!file)
		return cmx_fail_call(-errno, path);
	*bytes = malloc(MAX_FILE_SIZE + 1);
	if (!*bytes) {
		fclose(file);
		return cmx_fail_call(-ENOMEM, "cmx_profile_read");
	}
	*size = fread(*bytes, 1, MAX_FILE_SIZE + 1, file);
	if (ferror(file))
		ret = cmx_fail_call(errno ? -errno : -EIO, path);
	else if (*size > MAX_FILE_SIZE)
		ret = cmx_fail(-EFBIG, NULL, *size, MAX_FILE_SIZE,
			       "%s: more than %d bytes are no profile", path, MAX_FILE_SIZE);
	fclose(file);
	if (ret)
		free(*bytes);
	return ret;
}

/* Put the file's name before what was said of it. */
static int name_file(int ret, const char *path)
{
	struct cmx_error error = *cmx_last_error();

	return cmx_fail(ret, error.field, error.value, error.limit, "%s: %.300s", path,
			error.text);
}

static int parse(const char *path, const char *bytes, size_t size, struct cmx_profile **out)
{
	struct cmx_profile *profile;
	json_error_t error;
	json_t *json;
	int ret;

	json = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
	if (!json)
		return cmx_fail(-EINVAL, NULL, (uint64_t)error.line, 0, "%s: line %d: %s", path,
				error.line, error.text);
	profile = cmx_profile_alloc();
	ret = profile ? read_profile(profile, json) : cmx_fail_call(-ENOMEM, "cmx_profile_read");
	json_decref(json);
	if (ret) {
		cmx_profile_free(profile);
		return name_file(ret, path);
	}
	*out = profile;
	return 0;
}

int cmx_profile_read(const char *path, struct cmx_profile **profile)
{
	size_t size = 0;
	char *bytes;
	int ret;

	ret = read_file(path, &bytes, &size);
	if (ret)
		return ret;
	ret = parse(path, bytes, size, profile);
	free(bytes);
	return ret;
}

/* ------------------------------------------------------------------------ writing */

/* Of a profile that came from the module. */
static const char unknown[] = "read from the module, which keeps no sources";

static json_t *build_row(const struct cmx_profile_row *row,
			 const struct cmx_profile_constant *constant)
{
	const char *kind = kinds[row->kind ? row->kind : CMX_PROFILE_ASSUMED];

	return json_pack("{s:I, s:s, s:s, s:s}", "value", (json_int_t)row->value, "unit",
			 constant->unit, "kind", kind, "source",
			 row->source ? row->source : unknown);
}

static json_t *build(const struct cmx_profile *profile)
{
	const struct cmx_profile_constant *constants;
	json_t *rows = json_object();
	size_t count;
	int ret = 0;

	constants = cmx_profile_constants(&count);
	for (size_t i = 0; i < count && !ret; i++)
		ret = json_object_set_new(rows, constants[i].name,
					  build_row(&profile->rows[i], &constants[i]));
	if (ret) {
		json_decref(rows);
		return NULL;
	}
	return json_pack("{s:s, s:s, s:o}", "name", profile->name, "description",
			 profile->description ? profile->description : "read from the module",
			 "constants", rows);
}

static int write_file(json_t *json, const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "we") : stdout;
	int ret = 0;

	if (!file)
		return cmx_fail_call(-errno, path);
	errno = 0;
	if (json_dumpf(json, file, JSON_INDENT(2)) || fputc('\n', file) == EOF || fflush(file))
		ret = errno ? -errno : -EIO;
	if (file != stdout && fclose(file) && !ret)
		ret = errno ? -errno : -EIO;
	return ret ? cmx_fail_call(ret, path) : 0;
}

int cmx_profile_write(const struct cmx_profile *profile, const char *path)
{
	json_t *json = build(profile);
	int ret;

	if (!json)
		return cmx_fail_call(-ENOMEM, "cmx_profile_write");
	ret = write_file(json, path);
	json_decref(json);
	return ret;
}
