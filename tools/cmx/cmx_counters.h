/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `cmx counters' prints.
 */
#ifndef CMX_COUNTERS_H
#define CMX_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_link_sums.h"
#include "cmx_snapshot.h"

/** struct cmx_counters - a snapshot, or the difference of two, and how much of it to show. */
struct cmx_counters {
	struct cmx_snapshot snapshot;
	struct cmx_link_sums sums;
	/* Rows of each table, the busiest first; 0: all. */
	uint32_t top;
	/* The snapshot is a difference: rates can be told. */
	bool rate;
	/* Clients instead of links, entities and chips. */
	bool clients;
	/* Numbers of the links, and of the entities, the busiest first. */
	uint32_t *links;
	uint32_t *entities;
};

/** struct cmx_chip_flow - bytes of a switch chip. */
struct cmx_chip_flow {
	uint64_t in;
	uint64_t out;
};

struct cmx_chip_flow cmx_counters_chip(const struct cmx_counters *counters, uint32_t chip);

/* Rows to show of @all. */
uint32_t cmx_counters_rows(const struct cmx_counters *counters, uint32_t all);

/* Sums up and sorts; 0, or -1 and a text on stderr. */
int cmx_counters_make(struct cmx_counters *counters);
void cmx_counters_free(struct cmx_counters *counters);

/* Both return an exit status. */
int cmx_counters_print_text(const struct cmx_counters *counters);
int cmx_counters_print_json(const struct cmx_counters *counters);

#endif /* CMX_COUNTERS_H */
