/* SPDX-License-Identifier: GPL-2.0-only */
/* What a timeline's traffic shares: when each part of the machine is free again. */
#ifndef CMX_SERVER_H
#define CMX_SERVER_H

#include <linux/prefetch.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "cmx_routes.h"

struct cmx_counters;
struct cmx_machine;

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
	CMX_STAGES,
};

/** struct cmx_server - serves one after another, in the order of the clock. */
struct cmx_server {
	/** @free: when it is free, picoseconds. */
	u64 free;
	/** @busy: how long it was busy. */
	u64 busy;
	/** @bytes: bytes of users it carried. */
	u64 bytes;
};

/**
 * struct cmx_lane - one direction of a link, or of equal links that are always used alike.
 */
struct cmx_lane {
	/** @free: when it is free, picoseconds. */
	u64 free;
	/** @busy: how long it was busy. */
	u64 busy;
	/** @bytes: bytes of users it carried. */
	u64 bytes;
	/** @part: of them, what went over each link but the lowest, if there are several. */
	u64 part;
};

/** struct cmx_port - one direction of all of an entity's UB links. */
struct cmx_port {
	/** @whole: all planes, before they are told apart. */
	struct cmx_lane whole;
	/** @planes: each plane, or NULL. */
	struct cmx_lane *planes;
};

/** struct cmx_trunk - one direction of all links between a node and the L2 chips. */
struct cmx_trunk {
	/** @whole: all planes, before they are told apart. */
	struct cmx_lane whole;
	/** @sub: of @whole.part, what went over each L2 chip but the lowest of its plane. */
	u64 sub;
	/** @sub_first: the same of the lowest plane. */
	u64 sub_first;
	/** @planes: each plane, or NULL. */
	struct cmx_lane *planes;
	/** @chips: each L2 chip of a plane, or NULL: before they are told apart. */
	struct cmx_lane *chips[CMX_MAX_PLANES];
};

/** struct cmx_unit - servers and counters of an entity. */
struct cmx_unit {
	/** @mem: memory. */
	struct cmx_server mem;
	/** @rx: UB links, in: with @mem what most writes to it touch. */
	struct cmx_port rx;
	/** @tx: UB links, out. */
	struct cmx_port tx;
	/** @read: engine that reads over UB. */
	struct cmx_server read;
	/** @write: engine that writes over UB. */
	struct cmx_server write;
	/** @intake: a socket's, for what others write. */
	struct cmx_server intake;
	/** @die: link from the other die of the NPU. */
	struct cmx_server die;
	/** @rdma_tx: link to the RDMA plane, out. */
	struct cmx_server rdma_tx;
	/** @rdma_rx: the same, in. */
	struct cmx_server rdma_rx;
	/** @launches: launches completed. */
	u64 launches;
	/** @cube_busy: their time, weighed by their share of the cube cores. */
	u64 cube_busy;
	/** @vector_busy: the same of the vector cores. */
	u64 vector_busy;
	/** @errors: commands and records of its queues that failed for the fabric's sake. */
	u64 errors;
	/** @lost_bytes: bytes that found no way; not those an entity that is down refuses. */
	u64 lost_bytes;
};

/** struct cmx_hub - servers of a node. */
struct cmx_hub {
	/** @up: to the L2 chips. */
	struct cmx_trunk up;
	/** @down: from the L2 chips. */
	struct cmx_trunk down;
	/** @vpc_tx: link to the VPC plane, out. */
	struct cmx_server vpc_tx;
	/** @vpc_rx: the same, in. */
	struct cmx_server vpc_rx;
};

/** struct cmx_hold - how long a stage is busy with the first slice of a transfer. */
struct cmx_hold {
	/** @rate: at that rate. */
	u64 rate;
	/** @len: with so many bytes. */
	u64 len;
	/** @time: picoseconds. */
	u64 time;
};

#define CMX_UNIT_BLOCK	16	/* entities of one allocation */

/**
 * struct cmx_servers - all of a timeline's, allocated as they are used.
 *
 * As long as all planes are whole and used alike, links side by side are one server: each
 * of them would have that server's times.  What makes them differ sets @split, and they
 * are told apart from then on; the timeline's lock protects all of it.
 */
struct cmx_servers {
	/** @machine: entities. */
	struct cmx_machine *machine;
	/** @fabric: the machine's. */
	struct cmx_fabric *fabric;
	/** @routes: what works; a reference. */
	struct cmx_routes *routes;
	/** @split: planes are told apart. */
	bool split;
	/** @begun: a command began: a change of @routes has a place in time. */
	bool begun;
	/** @chip_split: planes whose L2 chips are told apart. */
	u32 chip_split;
	/** @units: CMX_UNIT_BLOCK entities each, or NULL. */
	struct cmx_unit **units;
	/** @hubs: by node, or NULL. */
	struct cmx_hub **hubs;
	/** @route: of the slice that is being charged. */
	struct cmx_route route;
	/** @holds: last ones, by stage and whether another node is addressed. */
	struct cmx_hold holds[CMX_STAGES][2];
};

int cmx_servers_init(struct cmx_servers *servers, struct cmx_machine *machine);
void cmx_servers_fini(struct cmx_servers *servers);
/*
 * cmx_servers_are_stale() - whether there are newer routes than those in use.
 *
 * No reference is taken to what is only compared: it differs, or we hold it ourselves.
 */
static inline bool cmx_servers_are_stale(const struct cmx_servers *servers)
{
	return rcu_access_pointer(servers->fabric->routes) != servers->routes;
}

/* cmx_servers_take_routes() - use the newest from now on; whether other parts work then. */
bool cmx_servers_take_routes(struct cmx_servers *servers);
/* cmx_servers_use_routes() - use these from now on. */
void cmx_servers_use_routes(struct cmx_servers *servers, struct cmx_routes *routes);
/* cmx_servers_restrict() - some queue does not use all planes. */
void cmx_servers_restrict(struct cmx_servers *servers, u32 planes);

/* These may not fail: what was charged before cannot be taken back. */
void cmx_servers_add_units(struct cmx_servers *servers, u32 entity);
struct cmx_hub *cmx_servers_hub(struct cmx_servers *servers, u32 node);
struct cmx_lane *cmx_port_planes(const struct cmx_servers *servers, struct cmx_port *port);
struct cmx_lane *cmx_trunk_planes(const struct cmx_servers *servers, struct cmx_trunk *trunk);
/* cmx_trunk_chips() - L2 chips of a plane, one by one. */
struct cmx_lane *cmx_trunk_chips(const struct cmx_servers *servers, struct cmx_trunk *trunk,
				 u32 plane);

/* cmx_servers_prefetch() - a write to @entity is about to be charged. */
static inline void cmx_servers_prefetch(const struct cmx_servers *servers, u32 entity)
{
	const struct cmx_unit *block = servers->units[entity / CMX_UNIT_BLOCK];

	if (block)
		prefetchw(&block[entity % CMX_UNIT_BLOCK].rx.whole);
}

static inline struct cmx_unit *cmx_servers_unit(struct cmx_servers *servers, u32 entity)
{
	if (unlikely(!servers->units[entity / CMX_UNIT_BLOCK]))
		cmx_servers_add_units(servers, entity);
	return servers->units[entity / CMX_UNIT_BLOCK] + entity % CMX_UNIT_BLOCK;
}

int cmx_unit_cache_create(void);
void cmx_unit_cache_destroy(void);

#endif
