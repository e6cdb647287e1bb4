// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server is asked, serves when it is free, and is free again when that is over.  Links
 * that are used alike are one server; where planes differ each link is one by itself.
 */
#include <linux/math64.h>
#include <linux/overflow.h>

#include "cmx_charge.h"
#include "cmx_time.h"

/* Time of the present slice. */
static u64 cmx_flow_hold(const struct cmx_flow *flow, const struct cmx_rate *rate)
{
	u64 hold = cmx_time_at(flow->sent + flow->len, rate);

	if (!flow->sent || hold == U64_MAX)
		return hold;
	return hold - cmx_time_at(flow->sent, rate);
}

/* The same at a rate of the moment.  Links often come in equal ones. */
static u64 cmx_flow_hold_odd(struct cmx_step *step, u64 rate)
{
	const struct cmx_flow *flow = step->flow;
	u64 hold;

	if (rate == step->memo_rate)
		return step->memo_hold;
	hold = cmx_time_of(flow->sent + flow->len, rate);
	if (flow->sent && hold != U64_MAX)
		hold -= cmx_time_of(flow->sent, rate);
	step->memo_rate = rate;
	step->memo_hold = hold;
	return hold;
}

/* Each message of a transfer takes time of its own where it is sent first. */
static u64 cmx_flow_messages(const struct cmx_step *step, enum cmx_stage stage)
{
	const struct cmx_flow *flow = step->flow;
	u32 where = flow->stages & CMX_STAGES_ENGINE ?: flow->stages & CMX_STAGES_SENDER;

	if (flow->sent || flow->messages < 2 || !(where & BIT(stage)))
		return 0;
	return (flow->messages - 1) * step->servers->machine->profile->message_ps;
}

static int cmx_charge_time(u64 *free, u64 *busy, u64 at, u64 hold, struct cmx_charge *charge)
{
	u64 begin = max(*free, at), end;

	if (check_add_overflow(begin, hold, &end))
		return -EOVERFLOW;
	*free = end;
	*busy += hold;
	charge->begin = max(charge->begin, begin);
	charge->end = max(charge->end, end);
	return 0;
}

static int cmx_charge_server(const struct cmx_step *step, struct cmx_server *server,
			     const struct cmx_rate *rate, u64 extra, struct cmx_charge *charge)
{
	const struct cmx_flow *flow = step->flow;
	u64 hold;

	if (check_add_overflow(cmx_flow_hold(flow, rate), extra, &hold) ||
	    cmx_charge_time(&server->free, &server->busy, flow->at, hold, charge))
		return -EOVERFLOW;
	server->bytes += flow->len;
	return 0;
}

/* A link that may be degraded. */
static int cmx_charge_link(struct cmx_step *step, struct cmx_server *server,
			   const struct cmx_rate *rate, u32 permille, u64 extra,
			   struct cmx_charge *charge)
{
	struct cmx_rate part;

	if (likely(permille == CMX_PERMILLE))
		return cmx_charge_server(step, server, rate, extra, charge);
	cmx_rate_init(&part, cmx_route_share(rate->rate, permille));
	return cmx_charge_server(step, server, &part, extra, charge);
}

static int cmx_charge_lane(const struct cmx_step *step, struct cmx_lane *lane, u64 hold, u64 extra,
			   u64 bytes, struct cmx_charge *charge)
{
	if (check_add_overflow(hold, extra, &hold) ||
	    cmx_charge_time(&lane->free, &lane->busy, step->flow->at, hold, charge))
		return -EOVERFLOW;
	lane->bytes += bytes;
	return 0;
}

/* What goes over each of several equal links but the lowest. */
static u64 cmx_equal_part(u64 bytes, struct reciprocal_value by, u32 n)
{
	return likely(bytes <= U32_MAX) ? reciprocal_divide(bytes, by) : div_u64(bytes, n);
}

/* -------------------------------------------------------------------- planes apart */

const struct cmx_route *cmx_step_route(struct cmx_step *step)
{
	const struct cmx_flow *flow = step->flow;

	if (!step->routed)
		cmx_route_find(step->servers->machine, flow->routes, flow->from, flow->to,
			       flow->planes, &step->servers->route);
	step->routed = true;
	return &step->servers->route;
}

/* Bytes of the slice that go over a plane; what does not divide goes over the lowest. */
static u64 cmx_plane_bytes(const struct cmx_route *route, u32 plane, u64 len)
{
	u64 rest = len;

	if (plane != route->first)
		return cmx_time_part(len, route->rate[plane], route->total);
	for (u32 p = plane + 1; p < CMX_MAX_PLANES; p++)
		if (route->planes & BIT(p))
			rest -= cmx_time_part(len, route->rate[p], route->total);
	return rest;
}

/*
 * All bytes of the slice at the rate of all planes together is, for one link, its own bytes
 * at its own rate.  Equal planes give exactly the rate of the whole port.
 */
static int cmx_charge_port_planes(struct cmx_step *step, struct cmx_port *port, u32 entity,
				  u64 extra, struct cmx_charge *charge)
{
	const struct cmx_flow *flow = step->flow;
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	const struct cmx_route *route = cmx_step_route(step);
	u64 link = step->speeds->link[cmx_kind_of(step->servers, entity)][flow->far].rate;
	struct cmx_lane *lanes = cmx_port_planes(step->servers, port);
	int ret = 0;

	for (u32 p = 0; !ret && p < topo->planes; p++) {
		u32 ub;
		u64 rate;

		if (!(route->planes & BIT(p)))
			continue;
		ub = cmx_topology_ub_link(topo, entity, p);
		rate = cmx_route_share(link, flow->routes->permille[ub]);
		rate = cmx_time_part(rate, route->total, route->rate[p]);
		ret = cmx_charge_lane(step, &lanes[p], cmx_flow_hold_odd(step, rate), extra,
				      cmx_plane_bytes(route, p, flow->len), charge);
	}
	return ret;
}

static int cmx_charge_port(struct cmx_step *step, struct cmx_port *port, u32 entity,
			   enum cmx_stage stage, struct cmx_charge *charge)
{
	const struct cmx_flow *flow = step->flow;
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	u64 extra = cmx_flow_messages(step, stage);
	const struct cmx_rate *rate;
	int ret;

	if (step->servers->split)
		return cmx_charge_port_planes(step, port, entity, extra, charge);
	rate = &step->speeds->port[cmx_kind_of(step->servers, entity)][flow->far];
	ret = cmx_charge_lane(step, &port->whole, cmx_flow_hold(flow, rate), extra, flow->len,
			      charge);
	if (!ret)
		port->whole.part += cmx_equal_part(flow->len, topo->by_planes, topo->planes);
	return ret;
}

/** struct cmx_chips - L2 chips of a plane, as two nodes use them. */
struct cmx_chips {
	/** @mine: by chip: share of the rate of the node's link. */
	const u16 *mine;
	/** @other: the same of the other node's. */
	const u16 *other;
	/** @trunk: their rates together. */
	u64 trunk;
	/** @share: rate of the chip looked at, by the worse of its two links. */
	u64 share;
	/** @rate: what that makes for all bytes of the slice. */
	u64 rate;
	/** @bytes: bytes that go over it. */
	u64 bytes;
};

static void cmx_chips_init(const struct cmx_step *step, u32 node, u32 plane, u64 trunk,
			   struct cmx_chips *chips)
{
	const struct cmx_flow *flow = step->flow;
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	u32 from = cmx_topology_entity_node(topo, flow->from);
	u32 to = cmx_topology_entity_node(topo, flow->to);
	u32 other = node == from ? to : from;

	chips->mine = &flow->routes->permille[cmx_topology_l2_link(topo, node, plane, 0)];
	chips->other = &flow->routes->permille[cmx_topology_l2_link(topo, other, plane, 0)];
	chips->trunk = trunk;
}

/* Mostly it is as the one before. */
static void cmx_chips_look(const struct cmx_step *step, struct cmx_chips *chips, u32 c, u32 before,
			   u64 bytes, u64 total, u64 plane_rate)
{
	if (before < CMX_MAX_L2_PER_PLANE && chips->mine[c] == chips->mine[before] &&
	    chips->other[c] == chips->other[before])
		return;
	chips->share = cmx_route_share(step->servers->machine->profile->l2_link_rate,
				       min(chips->mine[c], chips->other[c]));
	if (!chips->share)
		return;
	chips->bytes = cmx_time_part(bytes, chips->share, chips->trunk);
	chips->rate = cmx_time_part(cmx_route_share(step->speeds->l2_link, chips->mine[c]),
				    chips->trunk, chips->share);
	chips->rate = cmx_time_part(chips->rate, total, plane_rate);
}

static int cmx_charge_chips(struct cmx_step *step, struct cmx_trunk *trunk, u32 node, u32 plane,
			    u64 bytes, struct cmx_charge *charge)
{
	const struct cmx_route *route = cmx_step_route(step);
	struct cmx_lane *lanes = cmx_trunk_chips(step->servers, trunk, plane);
	u32 c = step->servers->machine->fabric.topo.l2_per_plane, before = U32_MAX;
	u32 left = route->chips[plane];
	struct cmx_chips chips;
	u64 rest = bytes;
	int ret = 0;

	cmx_chips_init(step, node, plane, route->trunk[plane], &chips);
	/* Downwards, so that what does not divide is left for the lowest chip in use. */
	while (!ret && left && c--) {
		cmx_chips_look(step, &chips, c, before, bytes, route->total, route->rate[plane]);
		before = c;
		if (!chips.share)
			continue;
		left--;
		ret = cmx_charge_lane(step, &lanes[c], cmx_flow_hold_odd(step, chips.rate), 0,
				      left ? chips.bytes : rest, charge);
		rest -= chips.bytes;
	}
	return ret;
}

static int cmx_charge_trunk_planes(struct cmx_step *step, struct cmx_trunk *trunk, u32 node,
				   struct cmx_charge *charge)
{
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	const struct cmx_route *route = cmx_step_route(step);
	struct cmx_lane *lanes = cmx_trunk_planes(step->servers, trunk);
	u64 whole = step->speeds->l2_link * topo->l2_per_plane;
	int ret = 0;

	for (u32 p = 0; !ret && p < topo->planes; p++) {
		u64 bytes, rate;

		if (!(route->planes & BIT(p)))
			continue;
		bytes = cmx_plane_bytes(route, p, step->flow->len);
		if (step->servers->chip_split & BIT(p)) {
			ret = cmx_charge_chips(step, trunk, node, p, bytes, charge);
			continue;
		}
		rate = cmx_time_part(whole, route->total, route->rate[p]);
		ret = cmx_charge_lane(step, &lanes[p], cmx_flow_hold_odd(step, rate), 0, bytes,
				      charge);
		if (!ret)
			lanes[p].part += cmx_equal_part(bytes, topo->by_l2, topo->l2_per_plane);
	}
	return ret;
}

static int cmx_charge_trunk(struct cmx_step *step, struct cmx_trunk *trunk, u32 node,
			    struct cmx_charge *charge)
{
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	u64 len = step->flow->len, part, first;
	int ret;

	if (step->servers->split)
		return cmx_charge_trunk_planes(step, trunk, node, charge);
	ret = cmx_charge_lane(step, &trunk->whole,
			      cmx_flow_hold(step->flow, &step->speeds->trunk), 0, len, charge);
	if (ret)
		return ret;
	part = cmx_equal_part(len, topo->by_planes, topo->planes);
	first = len - (topo->planes - 1) * part;
	trunk->whole.part += part;
	trunk->sub += cmx_equal_part(part, topo->by_l2, topo->l2_per_plane);
	trunk->sub_first += cmx_equal_part(first, topo->by_l2, topo->l2_per_plane);
	return 0;
}

/* --------------------------------------------------------------------------- stages */

static int cmx_charge_hub(struct cmx_step *step, enum cmx_stage stage, struct cmx_charge *charge)
{
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	bool out = stage == CMX_STAGE_UP || stage == CMX_STAGE_VPC_TX;
	u32 node = cmx_topology_entity_node(topo, out ? step->flow->from : step->flow->to);
	struct cmx_hub *hub = cmx_servers_hub(step->servers, node);

	if (stage == CMX_STAGE_UP || stage == CMX_STAGE_DOWN)
		return cmx_charge_trunk(step, out ? &hub->up : &hub->down, node, charge);
	return cmx_charge_link(step, out ? &hub->vpc_tx : &hub->vpc_rx, &step->speeds->vpc,
			       step->flow->routes->permille[topo->first_vpc + node],
			       cmx_flow_messages(step, stage), charge);
}

/* Links of dies that are no UB planes. */
static int cmx_charge_die(struct cmx_step *step, enum cmx_stage stage, struct cmx_charge *charge)
{
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	const u16 *permille = step->flow->routes->permille;
	u32 entity = stage == CMX_STAGE_RDMA_TX ? step->flow->from : step->flow->to;
	struct cmx_unit *unit = cmx_servers_unit(step->servers, entity);
	u64 extra = cmx_flow_messages(step, stage);

	if (stage == CMX_STAGE_DIE)
		return cmx_charge_link(step, &unit->die, &step->speeds->sibling,
				       permille[topo->first_die + entity / 2], extra, charge);
	return cmx_charge_link(step, stage == CMX_STAGE_RDMA_TX ? &unit->rdma_tx : &unit->rdma_rx,
			       &step->speeds->rdma, permille[topo->first_rdma + entity], extra,
			       charge);
}

static int cmx_charge_local(struct cmx_step *step, struct cmx_charge *charge)
{
	struct cmx_flow *flow = step->flow;
	struct cmx_server *mem = &cmx_servers_unit(step->servers, flow->to)->mem;
	u32 kind = cmx_kind_of(step->servers, flow->to);
	int ret = cmx_charge_server(step, mem, &step->speeds->local[kind], 0, charge);

	/* The same memory reads every byte and writes it. */
	if (!ret)
		mem->bytes += flow->len;
	return ret;
}

static int cmx_charge_launch(struct cmx_step *step, struct cmx_charge *charge)
{
	struct cmx_flow *flow = step->flow;
	struct cmx_server *mem = &cmx_servers_unit(step->servers, flow->to)->mem;
	int ret = cmx_charge_time(&mem->free, &mem->busy, flow->at,
				  cmx_flow_hold_odd(step, flow->rate), charge);

	if (!ret)
		mem->bytes += flow->len;
	return ret;
}

int cmx_charge_stage(struct cmx_step *step, enum cmx_stage stage, struct cmx_charge *charge)
{
	const struct cmx_speeds *speeds = step->speeds;
	const struct cmx_flow *flow = step->flow;
	struct cmx_servers *servers = step->servers;
	u32 from = flow->from, to = flow->to;
	u64 extra = cmx_flow_messages(step, stage);

	switch (stage) {
	case CMX_STAGE_READ:
		return cmx_charge_server(step, &cmx_servers_unit(servers, flow->initiator)->read,
					 &speeds->read[flow->far], extra, charge);
	case CMX_STAGE_WRITE:
		return cmx_charge_server(step, &cmx_servers_unit(servers, flow->initiator)->write,
					 &speeds->write[flow->far], extra, charge);
	case CMX_STAGE_MEM_FROM:
		return cmx_charge_server(step, &cmx_servers_unit(servers, from)->mem,
					 &speeds->mem[cmx_kind_of(servers, from)], 0, charge);
	case CMX_STAGE_TX:
		return cmx_charge_port(step, &cmx_servers_unit(servers, from)->tx, from, stage,
				       charge);
	case CMX_STAGE_RX:
		return cmx_charge_port(step, &cmx_servers_unit(servers, to)->rx, to, stage, charge);
	case CMX_STAGE_UP:
	case CMX_STAGE_DOWN:
	case CMX_STAGE_VPC_TX:
	case CMX_STAGE_VPC_RX:
		return cmx_charge_hub(step, stage, charge);
	case CMX_STAGE_INTAKE:
		return cmx_charge_server(step, &cmx_servers_unit(servers, to)->intake,
					 &speeds->intake[flow->far], 0, charge);
	case CMX_STAGE_MEM_TO:
		return cmx_charge_server(step, &cmx_servers_unit(servers, to)->mem,
					 &speeds->mem[cmx_kind_of(servers, to)], 0, charge);
	case CMX_STAGE_LOCAL:
		return cmx_charge_local(step, charge);
	case CMX_STAGE_LAUNCH:
		return cmx_charge_launch(step, charge);
	default:
		return cmx_charge_die(step, stage, charge);
	}
}
