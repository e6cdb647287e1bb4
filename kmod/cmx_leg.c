// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include "cmx_device.h"
#include "cmx_entity.h"
#include "cmx_file.h"
#include "cmx_leg.h"
#include "cmx_netlink.h"
#include "cmx_queue.h"
#include "cmx_timeline.h"
#include "cmx_trace.h"

#define CMX_LEGS_MIN	8
#define CMX_TIMER_PS	4096000ULL	/* UB's unit of timeouts */

void cmx_legs_reset(struct cmx_legs *legs)
{
	legs->count = 0;
	legs->next = 0;
}

void cmx_legs_free(struct cmx_legs *legs)
{
	kvfree(legs->more);
	legs->more = NULL;
	legs->room = 0;
	cmx_legs_reset(legs);
}

static int cmx_legs_grow(struct cmx_legs *legs)
{
	u32 room = max(legs->room * 2, CMX_LEGS_MIN);
	struct cmx_transfer *more = kvmalloc_array(room, sizeof(*more), GFP_KERNEL_ACCOUNT);

	if (!more)
		return -ENOMEM;
	if (legs->room)
		memcpy(more, legs->more, array_size(legs->room, sizeof(*more)));
	kvfree(legs->more);
	legs->more = more;
	legs->room = room;
	return 0;
}

static struct cmx_transfer *cmx_legs_at(struct cmx_legs *legs, u32 i)
{
	return i ? &legs->more[i - 1] : &legs->one;
}

int cmx_legs_add(struct cmx_legs *legs, const struct cmx_transfer *x)
{
	if (legs->count && legs->count - 1 == legs->room && cmx_legs_grow(legs))
		return -ENOMEM;
	*cmx_legs_at(legs, legs->count++) = *x;
	return 0;
}

struct cmx_transfer *cmx_legs_last(struct cmx_legs *legs)
{
	return legs->count ? cmx_legs_at(legs, legs->count - 1) : NULL;
}

static struct cmx_timeline *cmx_cmd_timeline(const struct cmx_cmd *cmd)
{
	return cmd->queue->member->timeline;
}

/* ----------------------------------------------------------------- what does not work */

bool cmx_cmd_is_down(const struct cmx_cmd *cmd)
{
	const struct cmx_routes *routes = cmx_cmd_timeline(cmd)->servers.routes;

	return !routes->healthy && !cmx_routes_entity_up(routes, cmd->queue->args.entity);
}

/* Tell it to who watches the machine, beside the client that gets the completion. */
static void cmx_cmd_fabric_error(struct cmx_cmd *cmd, u32 peer, u32 status, u64 lost)
{
	struct cmx_timeline *tl = cmx_cmd_timeline(cmd);
	u32 entity = cmd->queue->args.entity;
	struct cmx_unit *unit = cmx_servers_unit(&tl->servers, entity);

	unit->errors++;
	unit->lost_bytes += lost;
	cmd->status = status;
	cmx_netlink_notify_error(tl->servers.machine, entity, peer, status, tl->now);
}

void cmx_cmd_entity_down(struct cmx_cmd *cmd)
{
	cmx_cmd_fabric_error(cmd, U32_MAX, CMX_CR_ENTITY_DOWN, 0);
	cmx_cmd_complete_at(cmd, cmx_cmd_timeline(cmd)->now);
}

/* How long a queue waits for an answer. */
static u64 cmx_queue_timeout(const struct cmx_queue *q)
{
	if (q->args.queue_class == CMX_QUEUE_UB)
		return CMX_TIMER_PS << q->args.err_timeout;
	return q->member->timeline->servers.machine->profile->ack_timeout_ps;
}

static void cmx_cmd_unreachable(struct cmx_cmd *cmd, u32 peer, u64 lost)
{
	u64 now = cmx_cmd_timeline(cmd)->now, time;

	if (cmx_cmd_is_down(cmd)) {
		cmx_cmd_fabric_error(cmd, U32_MAX, CMX_CR_ENTITY_DOWN, lost);
		cmx_cmd_complete_at(cmd, now);
		return;
	}
	cmx_cmd_fabric_error(cmd, peer, UB_CR_ACK_TIMEOUT, lost);
	if (check_add_overflow(now, cmx_queue_timeout(cmd->queue), &time))
		time = now;
	cmx_cmd_complete_at(cmd, time);
}

bool cmx_cmd_cut_off(struct cmx_cmd *cmd, u32 peer, u64 bytes)
{
	const struct cmx_servers *servers = &cmx_cmd_timeline(cmd)->servers;
	const struct cmx_queue *q = cmd->queue;
	struct cmx_route route;

	if (servers->routes->healthy)
		return false;
	cmx_route_find(servers->machine, servers->routes, q->args.entity, peer, q->args.planes,
		       &route);
	if (route.reachable)
		return false;
	cmx_cmd_unreachable(cmd, peer, bytes);
	return true;
}

/* ---------------------------------------------------------------------------- charging */

/* The next leg enters when the one before is as far as a next slice of it would have to be. */
static bool cmx_legs_begin(struct cmx_cmd *cmd, struct cmx_legs *legs, struct cmx_flow *flow,
			   u64 at)
{
	const struct cmx_transfer *x;

	if (legs->next == legs->count)
		return false;
	x = cmx_legs_at(legs, legs->next++);
	cmx_flow_begin(flow, &cmx_cmd_timeline(cmd)->servers, x, cmd->queue->args.planes, at);
	cmd->extrapolated |= cmx_time_extrapolated(x->bytes);
	return true;
}

static u64 cmx_legs_left(struct cmx_legs *legs, const struct cmx_flow *flow)
{
	u64 left = flow->bytes - flow->sent;

	for (u32 i = legs->next; i < legs->count; i++)
		left += cmx_legs_at(legs, i)->bytes;
	return left;
}

static void cmx_cmd_flow_failed(struct cmx_cmd *cmd, struct cmx_legs *legs,
				const struct cmx_flow *flow, int error)
{
	u32 own = cmd->queue->args.entity;

	if (error == -EHOSTUNREACH) {
		cmx_cmd_unreachable(cmd, flow->from == own ? flow->to : flow->from,
				    cmx_legs_left(legs, flow));
		return;
	}
	cmd->status = error == -EOVERFLOW ? CMX_CR_TIME_OVERFLOW : UB_CR_LOC_OPERATION_ERR;
	cmx_cmd_complete_at(cmd, cmx_cmd_timeline(cmd)->now);
}

/* A launch's use of its own memory is no transfer. */
static void cmx_cmd_trace_leg(const struct cmx_cmd *cmd, const struct cmx_flow *flow)
{
	const struct cmx_queue *q = cmd->queue;

	if (!flow->rate)
		trace_cmx_transfer(q->member, q->obj.handle, q->args.entity, cmd->node.index, flow);
}

/* Return: whether the command has to come back at the flow's time. */
static bool cmx_cmd_step(struct cmx_cmd *cmd, struct cmx_legs *legs, struct cmx_flow *flow)
{
	struct cmx_timeline *tl = cmx_cmd_timeline(cmd);
	int ret;

	do {
		ret = cmx_flow_step(&tl->servers, flow, tl->now);
		if (ret)
			break;
		cmd->done = max(cmd->done, flow->end);
		cmx_cmd_trace_leg(cmd, flow);
	} while (cmx_legs_begin(cmd, legs, flow, flow->at));
	if (!ret)
		cmx_cmd_complete_at(cmd, cmd->done);
	else if (ret < 0)
		cmx_cmd_flow_failed(cmd, legs, flow, ret);
	return ret > 0;
}

static void cmx_cmd_push_flow(struct cmx_cmd *cmd)
{
	cmd->phase = CMX_PHASE_FLOW;
	cmd->node.time = cmd->flow.at;
	cmx_heap_push(&cmx_cmd_timeline(cmd)->heap, &cmd->node);
}

void cmx_cmd_flow(struct cmx_cmd *cmd)
{
	if (cmx_cmd_step(cmd, &cmd->legs, &cmd->flow))
		cmx_cmd_push_flow(cmd);
}

/*
 * A copy engine has to fetch and decode a descriptor first.  For the other classes that is
 * part of the latencies, which were measured with it.
 */
static u64 cmx_cmd_delay(const struct cmx_cmd *cmd)
{
	const struct cmx_profile *p = cmx_cmd_timeline(cmd)->servers.machine->profile;

	return cmd->queue->args.queue_class == CMX_QUEUE_SDMA ? p->issue_ps[CMX_QUEUE_SDMA] : 0;
}

/*
 * Most commands never wait for a server: they are charged with the timeline's own state,
 * which is in the processor's cache, and only those that wait take it with them.
 */
static void cmx_cmd_begin(struct cmx_cmd *cmd)
{
	struct cmx_timeline *tl = cmx_cmd_timeline(cmd);

	if (!cmx_cmd_step(cmd, &tl->legs, &tl->flow))
		return;
	cmd->flow = tl->flow;
	cmd->legs = tl->legs;
	tl->flow.left = 0;
	tl->legs = (struct cmx_legs){};
	cmx_cmd_push_flow(cmd);
}

void cmx_cmd_charge(struct cmx_cmd *cmd)
{
	struct cmx_timeline *tl = cmx_cmd_timeline(cmd);
	u64 at;

	cmd->done = tl->now;
	if (check_add_overflow(tl->now, cmx_cmd_delay(cmd), &at)) {
		cmd->status = CMX_CR_TIME_OVERFLOW;
		cmx_cmd_complete_at(cmd, tl->now);
		return;
	}
	cmx_legs_begin(cmd, &tl->legs, &tl->flow, at);
	cmx_cmd_begin(cmd);
}

void cmx_cmd_charge_memory(struct cmx_cmd *cmd, u64 bytes, u64 rate, u64 at)
{
	struct cmx_timeline *tl = cmx_cmd_timeline(cmd);

	cmx_legs_reset(&tl->legs);
	cmx_flow_begin_launch(&tl->flow, cmd->queue->args.entity, bytes, rate, at);
	cmx_cmd_begin(cmd);
}
