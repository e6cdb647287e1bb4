// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of entities in options.
 */
#include <stdlib.h>
#include <string.h>

#include "cmx_part.h"
#include "cmx_perf.h"

/* What is being read, for the error texts. */
struct reading {
	const char *option;
	const char *text;
	const struct cmx_fabric_machine *machine;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* All of @text is a number or a range of them. */
static bool take_range(const char *text, uint64_t limit, uint64_t *first, uint64_t *last)
{
	char *end;

	if (!is_digit(*text))
		return false;
	/* What is too large for it becomes the largest, which no machine has. */
	*first = strtoull(text, &end, 10);
	*last = *first;
	if (*end == '-') {
		if (!is_digit(end[1]))
			return false;
		*last = strtoull(end + 1, &end, 10);
	}
	return !*end && *first <= *last && *last < limit;
}

static bool append(const struct reading *r, struct cmx_perf_list *list, uint32_t entity)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->entities[i] != entity)
			continue;
		fprintf(stderr, "cmx perf: %s `%s' has entity %u (%s) twice\n", r->option, r->text,
			entity, cmx_part_entity(r->machine, entity).text);
		return false;
	}
	list->entities[list->count++] = entity;
	return true;
}

static bool unreadable(const struct reading *r, const char *item)
{
	const struct cmx_fabric_machine *m = r->machine;

	fprintf(stderr,
		"cmx perf: %s `%s': `%s' is not entities below %u (0, 4-7), nodes below %u "
		"(node0), sockets below %u (socket0), n0.npu0.die0 or n0.socket0\n",
		r->option, r->text, item, m->num_entities, m->nodes,
		m->num_entities - m->num_dies);
	return false;
}

/* `nodeN': its dies; `socketN': the N-th socket; a part's name; else entities by number. */
static bool take_item(const struct reading *r, const char *item, struct cmx_perf_list *list)
{
	const struct cmx_fabric_machine *m = r->machine;
	uint32_t base = 0, each = 1, entity;
	uint64_t limit = m->num_entities, first, last;
	const char *range = item;

	if (*item == 'n' && is_digit(item[1]))
		return !cmx_part_parse_entity("perf", m, item, &entity) && append(r, list, entity);
	if (!strncmp(item, "node", 4)) {
		range += 4;
		limit = m->nodes;
		each = m->num_dies / m->nodes;
	} else if (!strncmp(item, "socket", 6)) {
		range += 6;
		limit = m->num_entities - m->num_dies;
		base = m->num_dies;
	}
	if (!take_range(range, limit, &first, &last))
		return unreadable(r, item);
	for (uint64_t i = first * each; i < (last + 1) * each; i++) {
		if (!append(r, list, base + (uint32_t)i))
			return false;
	}
	return true;
}

bool cmx_perf_entities(const struct cmx_fabric_machine *machine, const char *option,
		       const char *text, struct cmx_perf_list *list)
{
	const struct reading r = { option, text, machine };
	char *copy = strdup(text), *rest = copy, *item;
	bool good = true;

	list->count = 0;
	/* As many as there can be: none is in it twice. */
	list->entities = calloc(machine->num_entities, sizeof(*list->entities));
	if (!list->entities || !copy) {
		free(copy);
		cmx_perf_failed("no memory for a list of entities");
		return false;
	}
	while (good && (item = strsep(&rest, ",")))
		good = take_item(&r, item, list);
	free(copy);
	return good;
}
