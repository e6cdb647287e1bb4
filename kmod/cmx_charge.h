/* SPDX-License-Identifier: GPL-2.0-only */
/* Charging a slice of a transfer to what it passes. */
#ifndef CMX_CHARGE_H
#define CMX_CHARGE_H

#include "cmx_entity.h"
#include "cmx_flow.h"
#include "cmx_server.h"

/** enum cmx_stage - servers a slice asks, in this order. */
enum cmx_stage {
	CMX_STAGE_READ,		/* a die's engines, UB reads */
	CMX_STAGE_WRITE,	/* a die's engines, UB writes */
	CMX_STAGE_MEM_FROM,	/* memory read */
	CMX_STAGE_DIE,		/* link between the dies of an NPU */
	CMX_STAGE_RDMA_TX,
	CMX_STAGE_VPC_TX,
	CMX_STAGE_TX,		/* links of the source */
	CMX_STAGE_UP,		/* to the L2 chips */
	CMX_STAGE_DOWN,		/* from the L2 chips */
	CMX_STAGE_RX,		/* links of the destination */
	CMX_STAGE_RDMA_RX,
	CMX_STAGE_VPC_RX,
	CMX_STAGE_INTAKE,	/* a socket takes in what is written */
	CMX_STAGE_MEM_TO,	/* memory written */
	CMX_STAGE_LOCAL,	/* memory read and written */
	CMX_STAGE_LAUNCH,	/* memory used by a launch */
};

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

/** struct cmx_charge - what a slice found at a stage. */
struct cmx_charge {
	/** @begin: when it was served. */
	u64 begin;
	/** @end: when that was over. */
	u64 end;
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

/* cmx_charge_stage() - have it served at the flow's time; 0 or -EOVERFLOW. */
int cmx_charge_stage(struct cmx_step *step, enum cmx_stage stage, struct cmx_charge *charge);

#endif
