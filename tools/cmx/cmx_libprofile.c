// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_libprofile.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PS_MAX	1000000000000ull	/* a second */

const struct cmx_lib_field cmx_lib_fields[CMX_LIB_CONSTANTS] = {
	[CMX_LIB_DIE_CHUNK] = { "die_chunk", "B", 4096, 1ull << 40 },
	[CMX_LIB_DIE_DEPTH] = { "die_depth", "", 1, 64 },
	[CMX_LIB_DIE_READ_PS] = { "die_read_ps", "ps", 0, PS_MAX },
	[CMX_LIB_DIE_WRITE_PS] = { "die_write_ps", "ps", 0, PS_MAX },
	[CMX_LIB_SOCKET_CHUNK] = { "socket_chunk", "B", 4096, 1ull << 40 },
	[CMX_LIB_SOCKET_DEPTH] = { "socket_depth", "", 1, 64 },
	[CMX_LIB_SOCKET_READ_PS] = { "socket_read_ps", "ps", 0, PS_MAX },
	[CMX_LIB_SOCKET_WRITE_PS] = { "socket_write_ps", "ps", 0, PS_MAX },
	[CMX_LIB_COLLECTIVE_PS] = { "collective_ps", "ps", 0, PS_MAX },
	[CMX_LIB_STEP_PS] = { "step_ps", "ps", 0, PS_MAX },
	[CMX_LIB_HIDDEN] = { "hidden", "", 1, 65536 },
	[CMX_LIB_EXPERTS] = { "experts", "", 1, 4096 },
	[CMX_LIB_PACKET] = { "packet_bytes", "B", 8, 1 << 20 },
	[CMX_LIB_RESULT] = { "result_bytes", "B", 2, 1 << 20 },
	[CMX_LIB_ROW_PS] = { "row_ps", "ps", 0, PS_MAX },
	[CMX_LIB_COUNT_PS] = { "count_ps", "ps", 0, PS_MAX },
	[CMX_LIB_PEER_PS] = { "peer_ps", "ps", 0, PS_MAX },
	[CMX_LIB_FIT_MIN_EP] = { "fit_min_ep", "", 1, 4096 },
	[CMX_LIB_FIT_MAX_EP] = { "fit_max_ep", "", 1, 4096 },
	[CMX_LIB_FIT_TOKENS] = { "fit_tokens", "", 1, 65536 },
	[CMX_LIB_FIT_TOPK] = { "fit_topk", "", 1, 256 },
};

static int fail(struct cmx_libprofile *profile, int ret, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fail(struct cmx_libprofile *profile, int ret, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(profile->error, sizeof(profile->error), fmt, args);
	va_end(args);
	return ret;
}

static int find_field(const char *name)
{
	for (int i = 0; i < CMX_LIB_CONSTANTS; i++) {
		if (!strcmp(cmx_lib_fields[i].name, name))
			return i;
	}
	return -1;
}

static bool kind_ok(const char *kind)
{
	return kind && (!strcmp(kind, "published") || !strcmp(kind, "fitted") ||
			!strcmp(kind, "assumed"));
}

static int take_constant(struct cmx_libprofile *profile, const char *name, json_t *object)
{
	int i = find_field(name);
	const struct cmx_lib_field *field = i < 0 ? NULL : &cmx_lib_fields[i];
	json_t *value = json_object_get(object, "value");
	const char *unit = json_string_value(json_object_get(object, "unit"));
	const char *source = json_string_value(json_object_get(object, "source"));

	if (!field)
		return fail(profile, -EINVAL, "there is no constant `%s'", name);
	if (!json_is_integer(value))
		return fail(profile, -EINVAL, "%s: `value' is not an integer", name);
	if (json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) < field->min ||
	    (uint64_t)json_integer_value(value) > field->max)
		return fail(profile, -ERANGE, "%s: `value' is %lld, not %llu to %llu", name,
			    (long long)json_integer_value(value), (unsigned long long)field->min,
			    (unsigned long long)field->max);
	if (!unit || strcmp(unit, field->unit))
		return fail(profile, -EINVAL, "%s: `unit' is not \"%s\"", name, field->unit);
	if (!kind_ok(json_string_value(json_object_get(object, "kind"))))
		return fail(profile, -EINVAL,
			    "%s: `kind' is not published, fitted or assumed", name);
	if (!source || !*source)
		return fail(profile, -EINVAL, "%s: has no `source'", name);
	profile->value[i] = (uint64_t)json_integer_value(value);
	profile->has[i] = true;
	return 0;
}

static int take_all(struct cmx_libprofile *profile, json_t *root)
{
	const char *name = json_string_value(json_object_get(root, "name"));
	json_t *constants = json_object_get(root, "constants"), *value;
	const char *key;

	if (!name || !*name || strlen(name) >= sizeof(profile->name))
		return fail(profile, -EINVAL, "`name' is not a text of 1 to %zu characters",
			    sizeof(profile->name) - 1);
	strcpy(profile->name, name);
	if (!json_is_object(constants))
		return fail(profile, -EINVAL, "`constants' is not an object");
	json_object_foreach(constants, key, value) {
		int ret = take_constant(profile, key, value);

		if (ret)
			return ret;
	}
	return 0;
}

int cmx_libprofile_data(const char *folder, const char *name, char *path, size_t size)
{
	/* From where the command is: build/bin, build/san/bin. */
	const char *const tops[] = { "../../", "../../../" };
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	if (n <= 0)
		return -ENOENT;
	exe[n] = '\0';
	*strrchr(exe, '/') = '\0';
	for (size_t i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		int len = snprintf(path, size, "%s/%s%s/%s", exe, tops[i], folder, name);

		if (len > 0 && (size_t)len < size && !access(path, R_OK))
			return 0;
	}
	return -ENOENT;
}

static int find_file(struct cmx_libprofile *profile, const char *name, char path[PATH_MAX])
{
	const char *folder = secure_getenv("CMX_LIB_PROFILES");
	char file[80];
	int len = 0;

	if (strchr(name, '/')) {
		len = snprintf(path, PATH_MAX, "%s", name);
		return len < PATH_MAX ? 0 : fail(profile, -ENAMETOOLONG, "the path is too long");
	}
	if (strlen(name) > 31)
		return fail(profile, -ENOENT, "there is no library profile `%.40s'", name);
	snprintf(file, sizeof(file), "%s.json", name);
	if (folder)
		len = snprintf(path, PATH_MAX, "%s/%s", folder, file);
	if (folder && len < PATH_MAX && !access(path, R_OK))
		return 0;
	if (cmx_libprofile_data("libcmxdrv/profiles/lib", file, path, PATH_MAX))
		return fail(profile, -ENOENT, "there is no library profile `%.40s'", name);
	return 0;
}

int cmx_libprofile_load(struct cmx_libprofile *profile, const char *name)
{
	char path[PATH_MAX], text[sizeof(profile->error)];
	json_error_t error;
	json_t *root;
	int ret;

	memset(profile, 0, sizeof(*profile));
	ret = find_file(profile, name, path);
	if (ret)
		return ret;
	root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return fail(profile, -EINVAL, "%.200s: line %d: %s", path, error.line, error.text);
	ret = take_all(profile, root);
	json_decref(root);
	if (!ret)
		return 0;
	memcpy(text, profile->error, sizeof(text));
	return fail(profile, ret, "%.150s: %.230s", path, text);
}

int cmx_libprofile_needs(struct cmx_libprofile *profile, enum cmx_lib_constant first,
			 enum cmx_lib_constant last, const char *what)
{
	for (int i = first; i <= (int)last; i++) {
		if (!profile->has[i])
			return fail(profile, -ENOENT,
				    "library profile `%s' has no `%s', which %s needs",
				    profile->name, cmx_lib_fields[i].name, what);
	}
	return 0;
}
