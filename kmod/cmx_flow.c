// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bytes pass their stages as a stream: each begins when the server before has begun, and
 * the slowest one sets the pace.  A transfer goes in slices, so that others get between;
 * the next slice enters when the first stage is done with the one before and the last one
 * has begun it.  That is back-pressure: no more than a slice of a transfer waits anywhere.
 * A lone transfer takes what it would in one piece, since the times of its slices are
 * differences of the times of their sums.
 */
#include <linux/bitops.h>
#include <linux/overflow.h>
#include <linux/sizes.h>

#include "cmx_charge.h"
#include "cmx_time.h"

/* Bytes that others may have to wait for, in links and in memories. */
#define CMX_SLICE_LINKS		SZ_256K
#define CMX_SLICE_MEM		SZ_2M
#define CMX_MAX_SLICES		65536	/* of a transfer; larger ones have larger slices */

static u32 cmx_flow_ub_stages(const struct cmx_servers *servers, const struct cmx_flow *flow)
{
	bool write = flow->initiator != flow->to;
	u32 stages = CMX_STAGES_MEM | BIT(CMX_STAGE_TX) | BIT(CMX_STAGE_RX);

	if (cmx_kind_of(servers, flow->initiator) == CMX_ENTITY_DIE)
		stages |= write ? BIT(CMX_STAGE_WRITE) : BIT(CMX_STAGE_READ);
	if (flow->far)
		stages |= BIT(CMX_STAGE_UP) | BIT(CMX_STAGE_DOWN);
	if (write && cmx_kind_of(servers, flow->to) == CMX_ENTITY_SOCKET)
		stages |= BIT(CMX_STAGE_INTAKE);
	return stages;
}

static void cmx_flow_plan(const struct cmx_servers *servers, struct cmx_flow *flow, u32 way)
{
	flow->way = way;
	switch (way) {
	case CMX_WAY_LOCAL:
		flow->stages = BIT(CMX_STAGE_LOCAL);
		break;
	case CMX_WAY_SIBLING:
		flow->stages = CMX_STAGES_MEM | BIT(CMX_STAGE_DIE);
		break;
	case CMX_WAY_RDMA:
		flow->stages = CMX_STAGES_MEM | BIT(CMX_STAGE_RDMA_TX) | BIT(CMX_STAGE_RDMA_RX);
		break;
	case CMX_WAY_VPC:
		flow->stages = CMX_STAGES_MEM | BIT(CMX_STAGE_VPC_TX) | BIT(CMX_STAGE_VPC_RX);
		break;
	default:
		flow->stages = cmx_flow_ub_stages(servers, flow);
	}
}

static u32 cmx_flow_way(const struct cmx_servers *servers, const struct cmx_flow *flow)
{
	const struct cmx_topology *topo = &servers->machine->fabric.topo;

	if (flow->from == flow->to)
		return CMX_WAY_LOCAL;
	if (flow->planes & BIT(CMX_PLANE_RDMA))
		return CMX_WAY_RDMA;
	if (flow->planes & BIT(CMX_PLANE_VPC))
		return CMX_WAY_VPC;
	if (!flow->planes && topo->dies_per_npu == 2 && flow->from < topo->num_dies &&
	    (flow->from ^ flow->to) == 1)
		return CMX_WAY_SIBLING;
	return CMX_WAY_UB;
}

void cmx_flow_begin(struct cmx_flow *flow, const struct cmx_servers *servers,
		    const struct cmx_transfer *x, u32 planes, u64 at)
{
	const struct cmx_topology *topo = &servers->machine->fabric.topo;

	cmx_servers_prefetch(servers, x->to);
	flow->start = at;
	flow->at = at;
	flow->end = at;
	flow->bytes = x->bytes;
	flow->sent = 0;
	flow->rate = 0;
	flow->initiator = x->initiator;
	flow->from = x->from;
	flow->to = x->to;
	flow->planes = planes;
	flow->messages = x->messages;
	flow->left = 0;
	flow->from_node = cmx_topology_entity_node(topo, x->from);
	flow->to_node = cmx_topology_entity_node(topo, x->to);
	flow->far = flow->from_node != flow->to_node;
	cmx_flow_plan(servers, flow, cmx_flow_way(servers, flow));
	flow->slice = max_t(u64, flow->way == CMX_WAY_LOCAL ? CMX_SLICE_MEM : CMX_SLICE_LINKS,
			    DIV_ROUND_UP_ULL(x->bytes, CMX_MAX_SLICES));
}

void cmx_flow_begin_launch(struct cmx_flow *flow, u32 entity, u64 bytes, u64 rate, u64 at)
{
	*flow = (struct cmx_flow){
		.start = at,
		.at = at,
		.end = at,
		.bytes = bytes,
		.slice = max_t(u64, CMX_SLICE_MEM, bytes / CMX_MAX_SLICES + 1),
		.rate = rate,
		.initiator = entity,
		.from = entity,
		.to = entity,
		.stages = BIT(CMX_STAGE_LAUNCH),
	};
}

/* Something does not work, or did not: whether this slice has a way, and which. */
static int cmx_flow_find_way(struct cmx_step *step)
{
	struct cmx_flow *flow = step->flow;
	const struct cmx_route *route = cmx_step_route(step);

	if (!route->reachable)
		return -EHOSTUNREACH;
	if (flow->way == CMX_WAY_SIBLING || flow->way == CMX_WAY_UB)
		cmx_flow_plan(step->servers, flow,
			      route->sibling ? CMX_WAY_SIBLING : CMX_WAY_UB);
	return 0;
}

/* Dies have no link to the VPC plane, sockets none to the RDMA plane. */
static bool cmx_flow_ends_fit(const struct cmx_step *step)
{
	const struct cmx_flow *flow = step->flow;
	u32 kind = flow->way == CMX_WAY_RDMA ? CMX_ENTITY_DIE : CMX_ENTITY_SOCKET;

	if (flow->way != CMX_WAY_RDMA && flow->way != CMX_WAY_VPC)
		return true;
	return cmx_kind_of(step->servers, flow->from) == kind &&
	       cmx_kind_of(step->servers, flow->to) == kind;
}

static int cmx_flow_begin_slice(struct cmx_step *step)
{
	struct cmx_flow *flow = step->flow;
	int ret;

	if (!cmx_flow_ends_fit(step))
		return -EINVAL;
	flow->routes = step->servers->routes;
	step->routed = false;
	step->memo_rate = 0;
	/* Once planes are told apart, the way a slice takes may not be that of the one before. */
	if (step->servers->split) {
		ret = cmx_flow_find_way(step);
		if (ret)
			return ret;
	}
	flow->len = min(flow->bytes - flow->sent, flow->slice);
	flow->left = flow->stages;
	return 0;
}

static int cmx_flow_finish(struct cmx_step *step)
{
	struct cmx_flow *flow = step->flow;
	bool write = flow->initiator != flow->to;
	u32 target = cmx_kind_of(step->servers, write ? flow->to : flow->from);

	if (flow->rate)
		return 0;
	return check_add_overflow(flow->end,
				  step->speeds->latency[flow->way][write][target][flow->far],
				  &flow->end) ? -EOVERFLOW : 0;
}

static int cmx_flow_run(struct cmx_step *step, u64 now)
{
	struct cmx_flow *flow = step->flow;
	int ret;

	for (;;) {
		if (flow->at > now)
			return 1;
		if (!flow->left) {
			ret = cmx_flow_begin_slice(step);
			if (ret)
				return ret;
		}
		ret = cmx_charge_slice(step, now);
		if (ret)
			return ret;
		flow->sent += flow->len;
		if (flow->sent >= flow->bytes)
			return cmx_flow_finish(step);
		flow->at = max(flow->first_end, flow->at);
	}
}

int cmx_flow_step(struct cmx_servers *servers, struct cmx_flow *flow, u64 now)
{
	struct cmx_step step = {
		.servers = servers,
		.speeds = &servers->machine->speeds,
		.flow = flow,
		.routed = false,
		.memo_rate = 0,
		.memo_hold = 0,
	};
	struct cmx_routes *held = flow->left ? flow->routes : NULL;
	int ret;

	ret = cmx_flow_run(&step, now);
	if (ret < 0)
		flow->left = 0;
	/* A slice goes on with the routes it began with, whatever comes meanwhile. */
	if (flow->left && flow->routes == held)
		return ret;
	if (flow->left)
		kref_get(&flow->routes->ref);
	cmx_routes_put(held);
	return ret;
}

void cmx_flow_drop(struct cmx_flow *flow)
{
	if (flow->left)
		cmx_routes_put(flow->routes);
	flow->left = 0;
}
