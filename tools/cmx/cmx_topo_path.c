// SPDX-License-Identifier: GPL-2.0-only
/*
 * The links a route takes, plane by plane.
 */
#include <stdlib.h>
#include <string.h>

#include "cmx_part.h"
#include "cmx_topo.h"

/* The first link of @kind with @index as lower end, from number @from on. */
static const struct cmx_fabric_link *find(const struct cmx_snapshot *s, uint32_t kind,
					  uint32_t index, uint32_t plane, uint32_t from)
{
	for (uint32_t i = from; i < s->machine.num_links; i++) {
		const struct cmx_fabric_link *link = &s->links[i];

		if (link->kind == kind && link->a.index == index &&
		    (plane == UINT32_MAX || link->plane == plane))
			return link;
	}
	return NULL;
}

/* The link of a node's card: its lower end is one of the node's sockets. */
static const struct cmx_fabric_link *find_vpc(const struct cmx_snapshot *s, uint32_t entity)
{
	uint32_t node = cmx_part_entity_node(&s->machine, entity);

	for (uint32_t i = 0; i < s->machine.num_links; i++)
		if (s->links[i].kind == CMX_FABRIC_LINK_VPC &&
		    cmx_part_entity_node(&s->machine, s->links[i].a.index) == node)
			return &s->links[i];
	return NULL;
}

static struct cmx_topo_hop *add_hop(struct cmx_topo_path *path, struct cmx_topo_lane *lane,
				    bool up)
{
	struct cmx_topo_hop *hop = &lane->hops[lane->num_hops++];

	hop->first = path->num_links;
	hop->count = 0;
	hop->up = up;
	return hop;
}

static void add_link(struct cmx_topo_path *path, struct cmx_topo_hop *hop,
		     const struct cmx_fabric_link *link)
{
	if (!link)
		return;
	path->links[path->num_links++] = link;
	hop->count++;
}

static void add_hop_of(struct cmx_topo_path *path, struct cmx_topo_lane *lane,
		       const struct cmx_fabric_link *link, bool up)
{
	add_link(path, add_hop(path, lane, up), link);
}

/* The links of L1 chip @chip to L2 chips that are up, and so is the one from there to @other. */
static void add_trunk(struct cmx_topo_path *path, struct cmx_topo_lane *lane, uint32_t chip,
		      uint32_t other, bool up)
{
	const struct cmx_snapshot *s = path->snapshot;
	const struct cmx_fabric_link *link = find(s, CMX_FABRIC_LINK_L2, chip, lane->plane, 0);
	const struct cmx_fabric_link *far = find(s, CMX_FABRIC_LINK_L2, other, lane->plane, 0);
	struct cmx_topo_hop *hop = add_hop(path, lane, up);

	while (link && far && link->b.index == far->b.index) {
		if (!lane->used || (link->effective && far->effective))
			add_link(path, hop, link);
		link = find(s, CMX_FABRIC_LINK_L2, chip, lane->plane, link->index + 1);
		far = find(s, CMX_FABRIC_LINK_L2, other, lane->plane, far->index + 1);
	}
}

static void find_ub_lane(struct cmx_topo_path *path, uint32_t plane)
{
	const struct cmx_snapshot *s = path->snapshot;
	const struct cmx_fabric_route *r = &path->route;
	const struct cmx_fabric_link *from = find(s, CMX_FABRIC_LINK_UB, r->from, plane, 0);
	const struct cmx_fabric_link *to = find(s, CMX_FABRIC_LINK_UB, r->to, plane, 0);
	struct cmx_topo_lane *lane = &path->lanes[path->num_lanes++];

	lane->plane = plane;
	lane->used = r->planes >> plane & 1;
	lane->rate = r->plane_rate[plane];
	add_hop_of(path, lane, from, true);
	if (from && to && from->b.index != to->b.index) {
		add_trunk(path, lane, from->b.index, to->b.index, true);
		add_trunk(path, lane, to->b.index, from->b.index, false);
	}
	add_hop_of(path, lane, to, false);
}

static void find_sibling_lane(struct cmx_topo_path *path)
{
	const struct cmx_fabric_route *r = &path->route;
	struct cmx_topo_lane *lane = &path->lanes[path->num_lanes++];
	bool up = r->from < r->to;

	lane->plane = UINT32_MAX;
	lane->used = true;
	add_hop_of(path, lane,
		   find(path->snapshot, CMX_FABRIC_LINK_DIE, up ? r->from : r->to, UINT32_MAX, 0),
		   up);
	lane->rate = path->num_links ? path->links[0]->rate * path->links[0]->effective / 1000 : 0;
}

/* RDMA and VPC: in at one end, out at the other. */
static void find_outer_lane(struct cmx_topo_path *path, uint32_t plane)
{
	const struct cmx_snapshot *s = path->snapshot;
	const struct cmx_fabric_route *r = &path->route;
	struct cmx_topo_lane *lane = &path->lanes[path->num_lanes++];
	bool rdma = plane == CMX_FABRIC_PLANE_RDMA;

	lane->plane = plane;
	lane->used = r->reachable;
	add_hop_of(path, lane, rdma ? find(s, CMX_FABRIC_LINK_RDMA, r->from, UINT32_MAX, 0) :
				      find_vpc(s, r->from), true);
	add_hop_of(path, lane, rdma ? find(s, CMX_FABRIC_LINK_RDMA, r->to, UINT32_MAX, 0) :
				      find_vpc(s, r->to), false);
	lane->rate = UINT64_MAX;
	for (uint32_t i = 0; i < path->num_links; i++) {
		uint64_t rate = path->links[i]->rate * path->links[i]->effective / 1000;

		lane->rate = rate < lane->rate ? rate : lane->rate;
	}
}

int cmx_topo_path_find(struct cmx_topo_path *path, const struct cmx_snapshot *snapshot,
		       const struct cmx_fabric_route *route, uint32_t planes)
{
	const struct cmx_fabric_machine *m = &snapshot->machine;

	memset(path, 0, sizeof(*path));
	path->snapshot = snapshot;
	path->route = *route;
	path->planes = planes;
	path->links = calloc((size_t)m->planes * (2 + 2 * (size_t)m->l2_per_plane) + 2,
			     sizeof(*path->links));
	if (!path->links) {
		fprintf(stderr, "cmx topo: no memory for a path\n");
		return -1;
	}
	if (route->from == route->to)
		return 0;
	if (route->sibling)
		find_sibling_lane(path);
	else if (planes >> CMX_FABRIC_PLANE_RDMA & 1)
		find_outer_lane(path, CMX_FABRIC_PLANE_RDMA);
	else if (planes >> CMX_FABRIC_PLANE_VPC & 1)
		find_outer_lane(path, CMX_FABRIC_PLANE_VPC);
	else
		for (uint32_t p = 0; p < m->planes; p++)
			if (!planes || planes >> p & 1)
				find_ub_lane(path, p);
	return 0;
}

void cmx_topo_path_free(struct cmx_topo_path *path)
{
	free(path->links);
	path->links = NULL;
}
