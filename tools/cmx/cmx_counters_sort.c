// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters in the order of their size.
 */
#include <stdio.h>
#include <stdlib.h>

#include "cmx_counters.h"

/* What a row is sorted by, the larger first, then by number. */
struct row {
	uint64_t size;
	uint32_t number;
};

static int compare(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->size != y->size)
		return x->size > y->size ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static uint64_t link_size(const struct cmx_snapshot *s, uint32_t i)
{
	return s->links[i].up_bytes + s->links[i].down_bytes;
}

static uint64_t entity_size(const struct cmx_snapshot *s, uint32_t i)
{
	return s->entities[i].mem_bytes;
}

static uint32_t *sort(const struct cmx_snapshot *s, uint32_t count,
		      uint64_t (*size)(const struct cmx_snapshot *s, uint32_t i))
{
	struct row *rows = calloc(count, sizeof(*rows));
	uint32_t *numbers = calloc(count, sizeof(*numbers));

	for (uint32_t i = 0; rows && i < count; i++)
		rows[i] = (struct row){ size(s, i), i };
	if (rows)
		qsort(rows, count, sizeof(*rows), compare);
	for (uint32_t i = 0; rows && numbers && i < count; i++)
		numbers[i] = rows[i].number;
	if (!rows) {
		free(numbers);
		numbers = NULL;
	}
	free(rows);
	return numbers;
}

int cmx_counters_make(struct cmx_counters *c)
{
	const struct cmx_fabric_machine *m = &c->snapshot.machine;

	if (cmx_link_sums_make("counters", &c->snapshot, &c->sums))
		return -1;
	c->links = sort(&c->snapshot, m->num_links, link_size);
	c->entities = sort(&c->snapshot, m->num_entities, entity_size);
	if (c->links && c->entities)
		return 0;
	cmx_counters_free(c);
	fprintf(stderr, "cmx counters: no memory for %u links\n", m->num_links);
	return -1;
}

void cmx_counters_free(struct cmx_counters *c)
{
	free(c->links);
	free(c->entities);
	c->links = NULL;
	c->entities = NULL;
	cmx_link_sums_free(&c->sums);
}

uint32_t cmx_counters_rows(const struct cmx_counters *c, uint32_t all)
{
	return c->top && c->top < all ? c->top : all;
}

/* Up is away from entities: into L1 chips from below, out of them above. */
struct cmx_chip_flow cmx_counters_chip(const struct cmx_counters *c, uint32_t chip)
{
	const struct cmx_link_sum *below = &c->sums.chips_below[chip];
	const struct cmx_link_sum *above = &c->sums.chips_above[chip];

	/* L2 chips have nothing above: what comes in on one link goes out on another. */
	return (struct cmx_chip_flow){
		.in = below->up_bytes + above->down_bytes,
		.out = below->down_bytes + above->up_bytes,
	};
}
