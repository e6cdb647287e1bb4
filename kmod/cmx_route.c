// SPDX-License-Identifier: GPL-2.0-only
/* The way between two entities, by one table of what works. */
#include <linux/math64.h>

#include "cmx_entity.h"
#include "cmx_routes.h"
#include "cmx_time.h"

u64 cmx_route_share(u64 rate, u32 permille)
{
	if (permille == CMX_PERMILLE)
		return rate;
	return permille ? max(cmx_time_part(rate, permille, CMX_PERMILLE), 1ULL) : 0;
}

static u64 cmx_route_port_rate(const struct cmx_machine *machine, const struct cmx_routes *routes,
			       u32 entity, u32 plane)
{
	const struct cmx_profile *p = machine->profile;
	u64 port = entity < machine->num_dies ? p->die_port_rate : p->socket_port_rate;

	return cmx_route_share(div_u64(port, p->planes),
			 routes->permille[cmx_topology_ub_link(&machine->fabric.topo, entity,
							       plane)]);
}

/* All L2 chips that both nodes reach; each carries what the worse of its two links can. */
static void cmx_route_trunk(const struct cmx_machine *machine, const struct cmx_routes *routes,
			    u32 from, u32 to, u32 plane, struct cmx_route *route)
{
	const struct cmx_topology *topo = &machine->fabric.topo;
	const u16 *up = &routes->permille[cmx_topology_l2_link(topo, from, plane, 0)];
	const u16 *down = &routes->permille[cmx_topology_l2_link(topo, to, plane, 0)];
	u64 rate = machine->profile->l2_link_rate;

	if (!(routes->l2_split & BIT(plane))) {
		route->chips[plane] = topo->l2_per_plane;
		route->trunk[plane] = rate * topo->l2_per_plane;
		return;
	}
	for (u32 c = 0; c < topo->l2_per_plane; c++) {
		u32 permille = min(up[c], down[c]);

		if (!permille)
			continue;
		route->chips[plane]++;
		route->trunk[plane] += cmx_route_share(rate, permille);
	}
}

static void cmx_route_plane(const struct cmx_machine *machine, const struct cmx_routes *routes,
			    u32 from, u32 to, u32 plane, struct cmx_route *route)
{
	const struct cmx_topology *topo = &machine->fabric.topo;
	u32 a = cmx_topology_entity_node(topo, from), b = cmx_topology_entity_node(topo, to);
	u64 rate = min(cmx_route_port_rate(machine, routes, from, plane),
		       cmx_route_port_rate(machine, routes, to, plane));

	if (rate && a != b) {
		cmx_route_trunk(machine, routes, a, b, plane, route);
		rate = min(rate, route->trunk[plane]);
	}
	if (!rate)
		return;
	if (!route->planes)
		route->first = plane;
	route->planes |= BIT(plane);
	route->rate[plane] = rate;
	route->total += rate;
	route->hops = a == b ? 2 : 4;
	route->reachable = true;
}

/* Which link of another network than UB carries an entity's traffic, or ~0. */
static u32 cmx_route_link(const struct cmx_machine *machine, u32 entity, bool rdma)
{
	const struct cmx_topology *topo = &machine->fabric.topo;

	if (rdma)
		return entity < topo->num_dies ? topo->first_rdma + entity : ~0U;
	return entity < topo->num_dies ? ~0U :
	       topo->first_vpc + cmx_topology_entity_node(topo, entity);
}

static void cmx_route_other(const struct cmx_machine *machine, const struct cmx_routes *routes,
			    u32 from, u32 to, bool rdma, struct cmx_route *route)
{
	u32 a = cmx_route_link(machine, from, rdma), b = cmx_route_link(machine, to, rdma);

	if (a == ~0U || b == ~0U || !routes->permille[a] || !routes->permille[b])
		return;
	route->hops = 2;
	/* A VPC link serves its node's sockets, one of which may be down. */
	route->reachable = cmx_routes_entity_up(routes, from) && cmx_routes_entity_up(routes, to);
}

static bool cmx_route_sibling(const struct cmx_machine *machine, const struct cmx_routes *routes,
			      u32 from, u32 to)
{
	const struct cmx_topology *topo = &machine->fabric.topo;

	return topo->dies_per_npu == 2 && from < topo->num_dies && (from ^ to) == 1 &&
	       routes->permille[topo->first_die + from / 2];
}

void cmx_route_find(const struct cmx_machine *machine, const struct cmx_routes *routes, u32 from,
		    u32 to, u32 planes, struct cmx_route *route)
{
	*route = (struct cmx_route){};
	if (from == to) {
		route->reachable = cmx_routes_entity_up(routes, from);
		return;
	}
	if (planes & (BIT(CMX_PLANE_RDMA) | BIT(CMX_PLANE_VPC))) {
		cmx_route_other(machine, routes, from, to, planes & BIT(CMX_PLANE_RDMA), route);
		return;
	}
	if (!planes && cmx_route_sibling(machine, routes, from, to)) {
		route->sibling = true;
		route->reachable = true;
		route->hops = 1;
		return;
	}
	for (u32 p = 0; p < machine->fabric.topo.planes; p++)
		if (!planes || planes & BIT(p))
			cmx_route_plane(machine, routes, from, to, p, route);
}
