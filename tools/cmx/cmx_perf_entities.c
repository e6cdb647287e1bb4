// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of entities and planes in options.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_perf.h"

#define PLANE_RDMA	16
#define PLANE_VPC	17
#define MAX_PLANES	16

/* A number or a range at *@text, up to a comma or the end. */
static bool take_range(const char **text, unsigned long limit, unsigned long *first,
		       unsigned long *last)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*first = strtoul(*text, &end, 10);
	*last = *first;
	if (*end == '-') {
		if (end[1] < '0' || end[1] > '9')
			return false;
		*last = strtoul(end + 1, &end, 10);
	}
	if (errno || (*end && *end != ',') || *last < *first || *last >= limit)
		return false;
	*text = end;
	return true;
}

static bool append(struct cmx_perf_list *list, uint32_t max, uint32_t entity)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->entities[i] == entity)
			return false;
	}
	if (list->count == max)
		return false;
	list->entities[list->count++] = entity;
	return true;
}

/* `nodeN': its dies; `socketN': the N-th socket; else entities by number. */
static bool take_item(const struct drm_cmx_info_device *d, const char **text,
		      struct cmx_perf_list *list)
{
	uint32_t dies = d->num_dies / d->num_nodes, base = 0, each = 1;
	unsigned long limit = d->num_entities, first, last;

	if (!strncmp(*text, "node", 4)) {
		*text += 4;
		limit = d->num_nodes;
		each = dies;
	} else if (!strncmp(*text, "socket", 6)) {
		*text += 6;
		limit = d->num_sockets;
		base = d->num_dies;
	}
	if (!take_range(text, limit, &first, &last))
		return false;
	for (unsigned long i = first * each; i < (last + 1) * each; i++) {
		if (!append(list, d->num_entities, base + (uint32_t)i))
			return false;
	}
	return true;
}

bool cmx_perf_entities(struct cmx_ctx *ctx, const char *option, const char *text,
		       struct cmx_perf_list *list)
{
	const struct drm_cmx_info_device *d = cmx_device(ctx);
	const char *at = text;
	bool good = true;

	list->count = 0;
	list->entities = calloc(d->num_entities, sizeof(*list->entities));
	if (!list->entities) {
		cmx_perf_failed("no memory for a list of entities");
		return false;
	}
	do {
		at += at > text && *at == ',';
		good = take_item(d, &at, list);
	} while (good && *at);
	if (!good)
		fprintf(stderr,
			"cmx perf: %s `%s' is not a list of entities below %u (0,4-7), "
			"nodes below %u (node0) or sockets below %u (socket0), each once\n",
			option, text, d->num_entities, d->num_nodes, d->num_sockets);
	return good;
}

bool cmx_perf_planes(const char *text, uint32_t *mask)
{
	const char *at = text;
	unsigned long first, last;
	bool good = true;

	*mask = 0;
	if (!strcmp(text, "rdma"))
		*mask = 1u << PLANE_RDMA;
	else if (!strcmp(text, "vpc"))
		*mask = 1u << PLANE_VPC;
	if (*mask)
		return true;
	do {
		at += at > text && *at == ',';
		good = take_range(&at, MAX_PLANES, &first, &last);
		for (unsigned long i = first; good && i <= last; i++)
			*mask |= 1u << i;
	} while (good && *at);
	if (!good)
		fprintf(stderr,
			"cmx perf: --planes `%s' is not planes below %d (0,2-3), rdma or vpc\n",
			text, MAX_PLANES);
	return good;
}
