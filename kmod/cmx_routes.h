/* SPDX-License-Identifier: GPL-2.0-only */
/* State of the fabric and the ways it leaves: tables that are replaced as a whole. */
#ifndef CMX_ROUTES_H
#define CMX_ROUTES_H

#include <linux/bitops.h>
#include <linux/kref.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "cmx_topology.h"

struct cmx_machine;

#define CMX_MAX_PLANES		16
#define CMX_MAX_L2_PER_PLANE	64
#define CMX_PLANE_RDMA		16	/* bits of a mask of planes */
#define CMX_PLANE_VPC		17
#define CMX_PERMILLE		1000

/** enum cmx_fabric_object - what has a state. */
enum cmx_fabric_object {
	CMX_OBJ_LINK = 1,
	CMX_OBJ_CHIP,
	CMX_OBJ_ENTITY,
	CMX_OBJ_NODE,
};

/**
 * struct cmx_routes - what works, at one moment; immutable.
 *
 * Readers take a reference; cmx_routes_get() never blocks on a writer.
 */
struct cmx_routes {
	/** @ref: references; freed after a grace period. */
	struct kref ref;
	/** @rcu: for cmx_routes_get(). */
	struct rcu_head rcu;
	/** @generation: changes up to here. */
	u32 generation;
	/** @healthy: every part is up, every link at its full rate. */
	bool healthy;
	/** @l2_split: planes in which a link between chips is not at its full rate. */
	u32 l2_split;
	/** @links_down: links with share 0. */
	u32 links_down;
	/** @links_degraded: links with share 1 to 999. */
	u32 links_degraded;
	/** @entities_down: entities that do not work. */
	u32 entities_down;
	/** @entity_up: bit for each entity, behind @permille. */
	unsigned long *entity_up;
	/** @permille: by link: share of its rate; 0 when it or what is at an end is down. */
	u16 permille[];
};

/** struct cmx_fabric - state as set by the administrator, in struct cmx_machine. */
struct cmx_fabric {
	/** @topo: wiring. */
	struct cmx_topology topo;
	/** @lock: serialises changes; protects all below but @routes. */
	struct mutex lock;
	/** @routes: current table, RCU. */
	struct cmx_routes __rcu *routes;
	/** @link_down: bit for each link set down. */
	unsigned long *link_down;
	/** @chip_down: bit for each chip set down. */
	unsigned long *chip_down;
	/** @entity_down: bit for each entity set down. */
	unsigned long *entity_down;
	/** @node_down: bit for each node set down. */
	unsigned long *node_down;
	/** @permille: by link: share set. */
	u16 *permille;
	/** @changes: by link: times its effective share changed. */
	u32 *changes;
};

/* cmx_fabric_init() - everything is up; 0 or -ENOMEM. */
int cmx_fabric_init(struct cmx_fabric *fabric, const struct cmx_machine *machine);
void cmx_fabric_fini(struct cmx_fabric *fabric);

/* cmx_routes_get() - reference to the current table. */
struct cmx_routes *cmx_routes_get(struct cmx_fabric *fabric);
/* cmx_routes_put() - drop it; NULL is fine. */
void cmx_routes_put(struct cmx_routes *routes);
/* cmx_routes_equal() - whether the same works by both. */
bool cmx_routes_equal(const struct cmx_topology *topo, const struct cmx_routes *a,
		      const struct cmx_routes *b);

/*
 * cmx_fabric_set() - change the state of a part and publish new routes.
 * @up: 1, 0, or -1: leave it
 * @permille: links: 1 to 1000, or 0: leave it; others: 0
 * @generation: out: of the table with the change
 *
 * Tells listeners (cmx_netlink.h).  Return: 0, -ENOENT, -EINVAL or -ENOMEM (nothing changed).
 */
int cmx_fabric_set(struct cmx_machine *machine, u32 object, u32 index, int up, u32 permille,
		   u32 *generation);

/* cmx_routes_entity_up() - whether an entity works. */
static inline bool cmx_routes_entity_up(const struct cmx_routes *routes, u32 entity)
{
	return test_bit(entity, routes->entity_up);
}

/* cmx_fabric_is_up() - state as set, of a node's parts with their node's. */
bool cmx_fabric_is_up(const struct cmx_fabric *fabric, u32 object, u32 index);

/** struct cmx_route - the way between two entities, by one table. */
struct cmx_route {
	/** @planes: UB planes in use. */
	u32 planes;
	/** @reachable: false: cut off. */
	bool reachable;
	/** @sibling: over the link between the dies of an NPU. */
	bool sibling;
	/** @hops: links on the way; 0: the same entity. */
	u32 hops;
	/** @first: lowest of @planes. */
	u32 first;
	/** @total: sum of @rate. */
	u64 total;
	/** @rate: bytes/s of each plane, raw, after degradation; bytes go in proportion. */
	u64 rate[CMX_MAX_PLANES];
	/** @trunk: across nodes: bytes/s of each plane's L2 links together, or 0. */
	u64 trunk[CMX_MAX_PLANES];
	/** @chips: L2 chips in use in each plane, or 0. */
	u32 chips[CMX_MAX_PLANES];
};

/* cmx_route_share() - @permille of @rate; no link that is up has nothing. */
u64 cmx_route_share(u64 rate, u32 permille);

/*
 * cmx_route_find() - way from @from to @to.
 * @planes: as in struct drm_cmx_queue_create; 0: any UB plane, or the sibling link
 *
 * Over the RDMA and VPC planes only @reachable and @hops are set.
 */
void cmx_route_find(const struct cmx_machine *machine, const struct cmx_routes *routes, u32 from,
		    u32 to, u32 planes, struct cmx_route *route);

#endif
