// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_memory_group.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT 8192u

static bool read_text(const char *path, char text[MAX_TEXT])
{
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, MAX_TEXT - 1, f) : 0;

	text[n] = 0;
	if (f)
		fclose(f);
	return n;
}

static bool read_in(const char *dir, const char *name, char text[MAX_TEXT])
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", dir, name) < PATH_MAX && read_text(path, text);
}

/* A line's number; 0 if there is no such line. */
static uint64_t number_of(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, key, len) && at[len] == ' ')
			return strtoull(at + len, NULL, 10);
	}
	return 0;
}

static uint64_t room_of(const char *dir)
{
	char text[MAX_TEXT];
	uint64_t limit, used = 0, cache = 0;

	/* The topmost group has no such file. */
	if (!read_in(dir, "memory.max", text) || text[0] < '0' || text[0] > '9')
		return UINT64_MAX;
	limit = strtoull(text, NULL, 10);
	if (read_in(dir, "memory.current", text))
		used = strtoull(text, NULL, 10);
	if (read_in(dir, "memory.stat", text))
		cache = number_of(text, "active_file") + number_of(text, "inactive_file");
	used -= cache < used ? cache : used;
	return limit > used ? limit - used : 0;
}

uint64_t cmx_memory_group_room(const char *list, const char *root)
{
	char text[MAX_TEXT], dir[PATH_MAX], *group;
	uint64_t room = UINT64_MAX;
	size_t top = strlen(root);

	if (!read_text(list, text))
		return room;
	/* The line of the one hierarchy of version 2. */
	group = !strncmp(text, "0::/", 4) ? text + 3 : strstr(text, "\n0::/");
	if (!group)
		return room;
	group += *group == '\n' ? 4 : 0;
	group[strcspn(group, "\n")] = 0;
	if (snprintf(dir, sizeof(dir), "%s%s", root, group) >= PATH_MAX)
		return room;
	for (char *end = dir + strlen(dir); end && end >= dir + top; end = strrchr(dir, '/')) {
		uint64_t here;

		*end = 0;
		here = room_of(dir);
		room = here < room ? here : room;
	}
	return room;
}
