// SPDX-License-Identifier: GPL-2.0-only
/*
 * A server is asked, serves when it is free, and is free again when that is over.  Links
 * that are used alike are one server; where planes differ each link is one by itself.
 */
#include <linux/math64.h>
#include <linux/overflow.h>

#include "cmx_charge.h"
#include "cmx_time.h"

/** struct cmx_charge - what a slice found at a stage. */
struct cmx_charge {
	/** @at: when it came. */
	u64 at;
	/** @begin: when it was served. */
	u64 begin;
	/** @end: when that was over. */
	u64 end;
};

/* Time of the present slice.  Transfers of one size often come one after another. */
static __always_inline u64 cmx_flow_hold(const struct cmx_step *step, enum cmx_stage stage,
					 const struct cmx_rate *rate)
{
	const struct cmx_flow *flow = step->flow;
	struct cmx_hold *known = &step->servers->holds[stage][flow->far];
	u64 time;

	if (flow->sent) {
		time = cmx_time_at(flow->sent + flow->len, rate);
		return time == U64_MAX ? time : time - cmx_time_at(flow->sent, rate);
	}
	if (known->rate == rate->rate && known->len == flow->len)
		return known->time;
	time = cmx_time_at(flow->len, rate);
	*known = (struct cmx_hold){ .rate = rate->rate, .len = flow->len, .time = time };
	return time;
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
	u32 where;

	if (likely(flow->messages < 2) || flow->sent)
		return 0;
	where = flow->stages & CMX_STAGES_ENGINE ?: flow->stages & CMX_STAGES_SENDER;
	if (!(where & BIT(stage)))
		return 0;
	return (flow->messages - 1) * step->servers->machine->profile->message_ps;
}

static int cmx_charge_time(u64 *free, u64 *busy, u64 hold, struct cmx_charge *charge)
{
	u64 begin = max(*free, charge->at), end;

	if (check_add_overflow(begin, hold, &end))
		return -EOVERFLOW;
	*free = end;
	*busy += hold;
	charge->begin = max(charge->begin, begin);
	charge->end = max(charge->end, end);
	return 0;
}

static __always_inline int cmx_charge_server(const struct cmx_step *step, enum cmx_stage stage,
					     struct cmx_server *server,
					     const struct cmx_rate *rate,
					     struct cmx_charge *charge)
{
	const struct cmx_flow *flow = step->flow;
	u64 hold;

	if (check_add_overflow(cmx_flow_hold(step, stage, rate), cmx_flow_messages(step, stage),
			       &hold) ||
	    cmx_charge_time(&server->free, &server->busy, hold, charge))
		return -EOVERFLOW;
	server->bytes += flow->len;
	return 0;
}

/* A link that may be degraded. */
static int cmx_charge_link(struct cmx_step *step, enum cmx_stage stage, struct cmx_server *server,
			   const struct cmx_rate *rate, u32 permille, struct cmx_charge *charge)
{
	struct cmx_rate part;

	if (likely(permille == CMX_PERMILLE))
		return cmx_charge_server(step, stage, server, rate, charge);
	cmx_rate_init(&part, cmx_route_share(rate->rate, permille));
	return cmx_charge_server(step, stage, server, &part, charge);
}

static __always_inline int cmx_charge_lane(struct cmx_lane *lane, u64 hold, u64 extra, u64 bytes,
					   struct cmx_charge *charge)
{
	if (check_add_overflow(hold, extra, &hold) ||
	    cmx_charge_time(&lane->free, &lane->busy, hold, charge))
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

static struct cmx_port *cmx_port_at(const struct cmx_step *step, enum cmx_stage stage)
{
	if (stage == CMX_STAGE_TX)
		return &cmx_servers_unit(step->servers, step->flow->from)->tx;
	return &cmx_servers_unit(step->servers, step->flow->to)->rx;
}

/*
 * All bytes of the slice at the rate of all planes together is, for one link, its own bytes
 * at its own rate.  Equal planes give exactly the rate of the whole port.
 */
static int cmx_charge_port_planes(struct cmx_step *step, enum cmx_stage stage,
				  struct cmx_charge *charge)
{
	const struct cmx_flow *flow = step->flow;
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	u32 entity = stage == CMX_STAGE_TX ? flow->from : flow->to;
	struct cmx_port *port = cmx_port_at(step, stage);
	u64 extra = cmx_flow_messages(step, stage);
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
		ret = cmx_charge_lane(&lanes[p], cmx_flow_hold_odd(step, rate), extra,
				      cmx_plane_bytes(route, p, flow->len), charge);
	}
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
	u32 other = node == flow->from_node ? flow->to_node : flow->from_node;

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
		ret = cmx_charge_lane(&lanes[c], cmx_flow_hold_odd(step, chips.rate), 0,
				      left ? chips.bytes : rest, charge);
		rest -= chips.bytes;
	}
	return ret;
}

static u32 cmx_node_at(const struct cmx_step *step, enum cmx_stage stage)
{
	bool out = stage == CMX_STAGE_UP || stage == CMX_STAGE_VPC_TX;

	return out ? step->flow->from_node : step->flow->to_node;
}

static struct cmx_trunk *cmx_trunk_at(const struct cmx_step *step, enum cmx_stage stage)
{
	struct cmx_hub *hub = cmx_servers_hub(step->servers, cmx_node_at(step, stage));

	return stage == CMX_STAGE_UP ? &hub->up : &hub->down;
}

static int cmx_charge_trunk_planes(struct cmx_step *step, enum cmx_stage stage,
				   struct cmx_charge *charge)
{
	u32 node = cmx_node_at(step, stage);
	struct cmx_trunk *trunk = cmx_trunk_at(step, stage);
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
		ret = cmx_charge_lane(&lanes[p], cmx_flow_hold_odd(step, rate), 0, bytes,
				      charge);
		if (!ret)
			lanes[p].part += cmx_equal_part(bytes, topo->by_l2, topo->l2_per_plane);
	}
	return ret;
}

/* --------------------------------------------------------------------- planes alike */

static int cmx_charge_port(struct cmx_step *step, enum cmx_stage stage, struct cmx_charge *charge)
{
	const struct cmx_flow *flow = step->flow;
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	u32 entity = stage == CMX_STAGE_TX ? flow->from : flow->to;
	struct cmx_lane *lane = &cmx_port_at(step, stage)->whole;
	const struct cmx_rate *rate = &step->speeds->port[cmx_kind_of(step->servers, entity)]
							 [flow->far];

	if (cmx_charge_lane(lane, cmx_flow_hold(step, stage, rate), cmx_flow_messages(step, stage),
			    flow->len, charge))
		return -EOVERFLOW;
	lane->part += cmx_equal_part(flow->len, topo->by_planes, topo->planes);
	return 0;
}

static int cmx_charge_trunk(struct cmx_step *step, enum cmx_stage stage, struct cmx_charge *charge)
{
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	struct cmx_trunk *trunk = cmx_trunk_at(step, stage);
	u64 len = step->flow->len, part, first;

	if (cmx_charge_lane(&trunk->whole, cmx_flow_hold(step, stage, &step->speeds->trunk), 0,
			    len, charge))
		return -EOVERFLOW;
	part = cmx_equal_part(len, topo->by_planes, topo->planes);
	first = len - (topo->planes - 1) * part;
	trunk->whole.part += part;
	trunk->sub += cmx_equal_part(part, topo->by_l2, topo->l2_per_plane);
	trunk->sub_first += cmx_equal_part(first, topo->by_l2, topo->l2_per_plane);
	return 0;
}

/* --------------------------------------------------------------------------- stages */

static int cmx_charge_vpc(struct cmx_step *step, enum cmx_stage stage, struct cmx_charge *charge)
{
	u32 node = cmx_node_at(step, stage);
	struct cmx_hub *hub = cmx_servers_hub(step->servers, node);
	u32 link = step->servers->machine->fabric.topo.first_vpc + node;

	return cmx_charge_link(step, stage,
			       stage == CMX_STAGE_VPC_TX ? &hub->vpc_tx : &hub->vpc_rx,
			       &step->speeds->vpc, step->flow->routes->permille[link], charge);
}

/* Links of dies that are no UB planes. */
static int cmx_charge_die(struct cmx_step *step, enum cmx_stage stage, struct cmx_charge *charge)
{
	const struct cmx_topology *topo = &step->servers->machine->fabric.topo;
	const u16 *permille = step->flow->routes->permille;
	u32 entity = stage == CMX_STAGE_RDMA_TX ? step->flow->from : step->flow->to;
	struct cmx_unit *unit = cmx_servers_unit(step->servers, entity);

	if (stage == CMX_STAGE_DIE)
		return cmx_charge_link(step, stage, &unit->die, &step->speeds->sibling,
				       permille[topo->first_die + entity / 2], charge);
	return cmx_charge_link(step, stage,
			       stage == CMX_STAGE_RDMA_TX ? &unit->rdma_tx : &unit->rdma_rx,
			       &step->speeds->rdma, permille[topo->first_rdma + entity], charge);
}

static int cmx_charge_local(struct cmx_step *step, struct cmx_charge *charge)
{
	struct cmx_flow *flow = step->flow;
	struct cmx_server *mem = &cmx_servers_unit(step->servers, flow->to)->mem;
	u32 kind = cmx_kind_of(step->servers, flow->to);
	int ret = cmx_charge_server(step, CMX_STAGE_LOCAL, mem, &step->speeds->local[kind],
				    charge);

	/* The same memory reads every byte and writes it. */
	if (!ret)
		mem->bytes += flow->len;
	return ret;
}

static int cmx_charge_launch(struct cmx_step *step, struct cmx_charge *charge)
{
	struct cmx_flow *flow = step->flow;
	struct cmx_server *mem = &cmx_servers_unit(step->servers, flow->to)->mem;
	int ret = cmx_charge_time(&mem->free, &mem->busy, cmx_flow_hold_odd(step, flow->rate),
				  charge);

	if (!ret)
		mem->bytes += flow->len;
	return ret;
}

/* Engines and memories, one server each. */
static int cmx_charge_unit(struct cmx_step *step, enum cmx_stage stage, struct cmx_charge *charge)
{
	const struct cmx_speeds *speeds = step->speeds;
	const struct cmx_flow *flow = step->flow;
	bool asks = stage == CMX_STAGE_READ || stage == CMX_STAGE_WRITE;
	u32 entity = asks ? flow->initiator : stage == CMX_STAGE_MEM_FROM ? flow->from : flow->to;
	struct cmx_unit *unit = cmx_servers_unit(step->servers, entity);
	struct cmx_server *server = &unit->mem;
	const struct cmx_rate *rate;

	switch (stage) {
	case CMX_STAGE_READ:
		server = &unit->read;
		rate = &speeds->read[flow->far];
		break;
	case CMX_STAGE_WRITE:
		server = &unit->write;
		rate = &speeds->write[flow->far];
		break;
	case CMX_STAGE_INTAKE:
		server = &unit->intake;
		rate = &speeds->intake[flow->far];
		break;
	default:
		rate = &speeds->mem[cmx_kind_of(step->servers, entity)];
	}
	return cmx_charge_server(step, stage, server, rate, charge);
}

/* Not inline: it would take registers from what most slices pass. */
static noinline int cmx_charge_other(struct cmx_step *step, enum cmx_stage stage,
				     struct cmx_charge *charge)
{
	switch (stage) {
	case CMX_STAGE_TX:
	case CMX_STAGE_RX:
		return cmx_charge_port_planes(step, stage, charge);
	case CMX_STAGE_UP:
	case CMX_STAGE_DOWN:
		return cmx_charge_trunk_planes(step, stage, charge);
	case CMX_STAGE_VPC_TX:
	case CMX_STAGE_VPC_RX:
		return cmx_charge_vpc(step, stage, charge);
	case CMX_STAGE_LOCAL:
		return cmx_charge_local(step, charge);
	case CMX_STAGE_LAUNCH:
		return cmx_charge_launch(step, charge);
	default:
		return cmx_charge_die(step, stage, charge);
	}
}

static int cmx_charge_stage(struct cmx_step *step, enum cmx_stage stage, struct cmx_charge *charge)
{
	struct cmx_charge other;
	int ret;

	switch (stage) {
	case CMX_STAGE_READ:
	case CMX_STAGE_WRITE:
	case CMX_STAGE_MEM_FROM:
	case CMX_STAGE_INTAKE:
	case CMX_STAGE_MEM_TO:
		return cmx_charge_unit(step, stage, charge);
	case CMX_STAGE_TX:
	case CMX_STAGE_RX:
		if (likely(!step->servers->split))
			return cmx_charge_port(step, stage, charge);
		break;
	case CMX_STAGE_UP:
	case CMX_STAGE_DOWN:
		if (likely(!step->servers->split))
			return cmx_charge_trunk(step, stage, charge);
		break;
	default:
		break;
	}
	/* A copy: the address of @charge itself would bind it to memory. */
	other = *charge;
	ret = cmx_charge_other(step, stage, &other);
	*charge = other;
	return ret;
}

/* What a slice finds at a stage is kept in registers from one to the next. */
int cmx_charge_slice(struct cmx_step *step, u64 now)
{
	struct cmx_flow *flow = step->flow;
	u64 at = flow->at, end = flow->end;
	u32 left = flow->left;
	int ret = 0;

	while (left) {
		struct cmx_charge charge = { .at = at };

		ret = cmx_charge_stage(step, __ffs(left), &charge);
		if (ret)
			break;
		if (left == flow->stages)
			flow->first_end = charge.end;
		left &= left - 1;
		end = max(end, charge.end);
		at = charge.begin;
		if (at > now && left) {
			ret = 1;
			break;
		}
	}
	flow->left = left;
	flow->end = end;
	flow->at = at;
	return ret;
}
