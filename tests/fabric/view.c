// SPDX-License-Identifier: GPL-2.0-only
#include "view.h"

#include <stdlib.h>
#include <string.h>

int view_take(struct view *view, const struct world *world)
{
	int count = cmx_fabric_link_states(world->fabric, &view->links);

	if (count < 0)
		return world_failed("links", count);
	view->count = (uint32_t)count;
	count = cmx_fabric_entities(world->fabric, &view->entities);
	if (count >= 0)
		return 0;
	view->entities = NULL;
	view_drop(view);
	return world_failed("entities", count);
}

void view_drop(struct view *view)
{
	free(view->links);
	free(view->entities);
	*view = (struct view){ 0 };
}

/* The link of a kind between two ends; which of several planes or chips is in @b. */
static const struct cmx_fabric_link *find_link(const struct view *view, uint32_t kind, uint32_t a,
					       uint32_t plane, uint32_t b)
{
	for (uint32_t i = 0; i < view->count; i++) {
		const struct cmx_fabric_link *link = &view->links[i];

		if (link->kind == kind && link->a.index == a &&
		    (plane == ~0U || link->plane == plane) && (b == ~0U || link->b.index == b))
			return link;
	}
	return NULL;
}

static uint64_t rate_of(const struct cmx_fabric_link *link)
{
	return link ? link->rate * link->effective / 1000 : 0;
}

static uint64_t min_rate(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* All L2 chips that both nodes reach, each as fast as the slower of the two links. */
static uint64_t trunk_rate(const struct view *view, const struct world *world, uint32_t from,
			   uint32_t to, uint32_t plane, uint32_t *chips)
{
	const struct cmx_fabric_machine *m = &world->machine;
	uint64_t sum = 0;

	for (uint32_t c = 0; c < m->l2_per_plane; c++) {
		uint32_t chip = m->num_l1 + plane * m->l2_per_plane + c;
		uint64_t up = rate_of(find_link(view, CMX_FABRIC_LINK_L2,
						world_node(world, from) * m->planes + plane, plane,
						chip));
		uint64_t down = rate_of(find_link(view, CMX_FABRIC_LINK_L2,
						  world_node(world, to) * m->planes + plane, plane,
						  chip));

		*chips += up && down;
		sum += min_rate(up, down);
	}
	return sum;
}

static void look_at_plane(const struct view *view, const struct world *world, uint32_t from,
			  uint32_t to, uint32_t plane, struct view_route *route)
{
	uint64_t rate = min_rate(rate_of(find_link(view, CMX_FABRIC_LINK_UB, from, plane, ~0U)),
				 rate_of(find_link(view, CMX_FABRIC_LINK_UB, to, plane, ~0U)));

	if (rate && world_node(world, from) != world_node(world, to))
		rate = min_rate(rate, trunk_rate(view, world, from, to, plane,
						 &route->chips[plane]));
	if (!rate) {
		route->chips[plane] = 0;
		return;
	}
	route->rate[plane] = rate;
	route->planes |= 1U << plane;
}

static bool sibling_works(const struct view *view, uint32_t from, uint32_t to)
{
	return rate_of(find_link(view, CMX_FABRIC_LINK_DIE, from < to ? from : to, ~0U, ~0U));
}

/* A node's link to the VPC plane is at its first socket. */
static bool vpc_works(const struct view *view, const struct world *world, uint32_t entity)
{
	const struct cmx_fabric_machine *m = &world->machine;
	uint32_t first = m->num_dies + world_node(world, entity) * m->sockets_per_node;

	return rate_of(find_link(view, CMX_FABRIC_LINK_VPC, first, ~0U, ~0U));
}

static bool is_sibling_way(const struct view *view, const struct world *world, uint32_t from,
			   uint32_t to, uint32_t planes)
{
	return !planes && world_are_siblings(world, from, to) &&
	       (!view || sibling_works(view, from, to));
}

void view_route(const struct view *view, const struct world *world, uint32_t from, uint32_t to,
		uint32_t planes, struct view_route *route)
{
	memset(route, 0, sizeof(*route));
	route->sibling = from != to && is_sibling_way(view, world, from, to, planes);
	route->reachable = !view || (view->entities[from].admin_up && view->entities[to].admin_up);
	if (!view || !route->reachable || from == to || route->sibling)
		return;
	if (planes == 1U << CMX_FABRIC_PLANE_RDMA) {
		route->reachable = rate_of(find_link(view, CMX_FABRIC_LINK_RDMA, from, ~0U, ~0U)) &&
				   rate_of(find_link(view, CMX_FABRIC_LINK_RDMA, to, ~0U, ~0U));
		return;
	}
	if (planes == 1U << CMX_FABRIC_PLANE_VPC) {
		route->reachable = vpc_works(view, world, from) && vpc_works(view, world, to);
		return;
	}
	for (uint32_t p = 0; p < world->machine.planes; p++)
		if (!planes || planes >> p & 1)
			look_at_plane(view, world, from, to, p, route);
	route->reachable = route->planes;
}
