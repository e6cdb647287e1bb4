/* SPDX-License-Identifier: GPL-2.0-only */
/* What works, as the links' states say, and the ways that leaves: worked out here anew. */
#ifndef VIEW_H
#define VIEW_H

#include "world.h"

/** struct view - states of all links and entities. */
struct view {
	struct cmx_fabric_link *links;
	uint32_t count;
	struct cmx_fabric_entity *entities;
};

/** struct view_route - a way. */
struct view_route {
	bool reachable;
	bool sibling;
	uint32_t planes;
	uint64_t rate[CMX_FABRIC_MAX_PLANES];
	uint32_t chips[CMX_FABRIC_MAX_PLANES];
};

/* 0, or a negative errno with a text. */
int view_take(struct view *view, const struct world *world);
void view_drop(struct view *view);

/** view_route() - from one entity to another over @planes; @view NULL: all works. */
void view_route(const struct view *view, const struct world *world, uint32_t from, uint32_t to,
		uint32_t planes, struct view_route *route);

#endif /* VIEW_H */
