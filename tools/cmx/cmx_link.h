/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `cmx link' prints.
 */
#ifndef CMX_LINK_H
#define CMX_LINK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmx_snapshot.h"

#define CMX_LINK_ANY	UINT32_MAX

/** struct cmx_link_filter - which links to list; CMX_LINK_ANY: of any. */
struct cmx_link_filter {
	/* Node at one of the ends. */
	uint32_t node;
	/* Mask of planes, the RDMA and VPC ones too; 0: any. */
	uint32_t planes;
	/* enum cmx_fabric_link_kind; 0: any. */
	uint32_t kind;
	/* Only links that are not at their full rate. */
	bool down;
};

bool cmx_link_matches(const struct cmx_fabric_machine *machine,
		      const struct cmx_fabric_link *link, const struct cmx_link_filter *filter);

/* "up", "down", or the share in permille of one between. */
struct cmx_amount cmx_link_state(const struct cmx_fabric_link *link);

/* Shape and state of a link, without its counters. */
json_t *cmx_link_json(const struct cmx_fabric_machine *machine,
		      const struct cmx_fabric_link *link);
/* Adds its counters to that. */
void cmx_link_counters_json(json_t *object, const struct cmx_fabric_link *link);

/* All return an exit status. */
int cmx_link_print_list(const struct cmx_snapshot *snapshot, const struct cmx_link_filter *filter);
int cmx_link_print_list_json(const struct cmx_snapshot *snapshot,
			     const struct cmx_link_filter *filter);
int cmx_link_print_one(const struct cmx_snapshot *snapshot, uint32_t index);
int cmx_link_print_one_json(const struct cmx_snapshot *snapshot, uint32_t index);

#endif /* CMX_LINK_H */
