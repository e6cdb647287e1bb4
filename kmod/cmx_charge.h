/* SPDX-License-Identifier: GPL-2.0-only */
/* Charging a slice of a transfer to what it passes. */
#ifndef CMX_CHARGE_H
#define CMX_CHARGE_H

#include "cmx_entity.h"
#include "cmx_flow.h"
#include "cmx_server.h"

#define CMX_STAGES_ENGINE	(BIT(CMX_STAGE_READ) | BIT(CMX_STAGE_WRITE))
#define CMX_STAGES_SENDER	(BIT(CMX_STAGE_DIE) | BIT(CMX_STAGE_RDMA_TX) |	\
				 BIT(CMX_STAGE_VPC_TX) | BIT(CMX_STAGE_TX))
#define CMX_STAGES_MEM		(BIT(CMX_STAGE_MEM_FROM) | BIT(CMX_STAGE_MEM_TO))

/** struct cmx_step - one call of cmx_flow_step(). */
struct cmx_step {
	struct cmx_servers *servers;
	const struct cmx_speeds *speeds;
	struct cmx_flow *flow;
	/** @memo_rate: rate last asked for in the present slice, or 0. */
	u64 memo_rate;
	/** @memo_hold: the slice's time at it. */
	u64 memo_hold;
	/** @routed: cmx_servers.route is that of the present slice. */
	bool routed;
};

static inline u32 cmx_kind_of(const struct cmx_servers *servers, u32 entity)
{
	return entity < servers->machine->num_dies ? CMX_ENTITY_DIE : CMX_ENTITY_SOCKET;
}

/*
 * cmx_step_route() - way of the present slice, by the routes it began with.
 *
 * Found when it is first needed: with all planes alike nobody asks.
 */
const struct cmx_route *cmx_step_route(struct cmx_step *step);

/*
 * cmx_charge_slice() - through the stages that are left, as far as nothing has to be waited
 * for after @now.
 *
 * Return: 0: through all; 1: the next one comes at the flow's time; -EOVERFLOW.
 */
int cmx_charge_slice(struct cmx_step *step, u64 now);

#endif
