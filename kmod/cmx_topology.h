/* SPDX-License-Identifier: GPL-2.0-only */
/* The wiring of a supernode: numbers of its links, chips and ports.  Arithmetic only. */
#ifndef CMX_TOPOLOGY_H
#define CMX_TOPOLOGY_H

#include <linux/reciprocal_div.h>
#include <linux/types.h>

struct cmx_machine;

#define CMX_NO_PLANE	(~0U)

/** enum cmx_link_kind - kinds of links, in the order of their numbers. */
enum cmx_link_kind {
	CMX_LINK_UB = 1,	/* entity to the L1 chip of a plane */
	CMX_LINK_L2,		/* L1 chip to L2 chip */
	CMX_LINK_DIE,		/* the two dies of an NPU */
	CMX_LINK_RDMA,		/* die to the RDMA plane */
	CMX_LINK_VPC,		/* node to the VPC plane, at its socket 0 */
};

/** enum cmx_end_kind - what is at an end of a link. */
enum cmx_end_kind {
	CMX_END_ENTITY = 1,
	CMX_END_CHIP,
	CMX_END_RDMA,
	CMX_END_VPC,
};

/** struct cmx_topology - counts, and where each kind's numbers begin. */
struct cmx_topology {
	/** @nodes: nodes in use. */
	u32 nodes;
	/** @planes: UB sub-planes. */
	u32 planes;
	/** @l2_per_plane: L2 chips of a sub-plane. */
	u32 l2_per_plane;
	/** @npus_per_node: NPUs of a node. */
	u32 npus_per_node;
	/** @dies_per_npu: dies of an NPU. */
	u32 dies_per_npu;
	/** @sockets_per_node: CPU sockets of a node. */
	u32 sockets_per_node;
	/** @num_dies: entities 0 to num_dies - 1. */
	u32 num_dies;
	/** @num_entities: dies, then sockets. */
	u32 num_entities;
	/** @num_l1: chips 0 to num_l1 - 1, by node, then plane. */
	u32 num_l1;
	/** @num_chips: L1 chips, then L2 chips by plane, then number in the plane. */
	u32 num_chips;
	/** @first_l2: first link between chips. */
	u32 first_l2;
	/** @first_die: first link between dies. */
	u32 first_die;
	/** @first_rdma: first link of the RDMA plane. */
	u32 first_rdma;
	/** @first_vpc: first link of the VPC plane. */
	u32 first_vpc;
	/** @num_links: all. */
	u32 num_links;
	/** @by_dies: divides by the dies of a node. */
	struct reciprocal_value by_dies;
	/** @by_sockets: divides by the sockets of a node. */
	struct reciprocal_value by_sockets;
	/** @by_planes: divides by @planes. */
	struct reciprocal_value by_planes;
	/** @by_l2: divides by @l2_per_plane. */
	struct reciprocal_value by_l2;
};

/** struct cmx_end - an end of a link. */
struct cmx_end {
	/** @kind: enum cmx_end_kind. */
	u32 kind;
	/** @index: entity or chip, else 0. */
	u32 index;
	/** @port: port there. */
	u32 port;
};

/** struct cmx_link - a link. */
struct cmx_link {
	/** @kind: enum cmx_link_kind. */
	u32 kind;
	/** @plane: UB sub-plane, or CMX_NO_PLANE. */
	u32 plane;
	/** @a: lower end: entity, or L1 chip. */
	struct cmx_end a;
	/** @b: upper end. */
	struct cmx_end b;
};

/* cmx_topology_init() - from the machine's profile and nodes. */
void cmx_topology_init(struct cmx_topology *topo, const struct cmx_machine *machine);
/* cmx_topology_link() - what link @index (below num_links) is. */
void cmx_topology_link(const struct cmx_topology *topo, u32 index, struct cmx_link *link);
/* cmx_topology_chip_plane() - plane of a chip. */
u32 cmx_topology_chip_plane(const struct cmx_topology *topo, u32 chip);
/* cmx_topology_chip_ports() - ports of a chip that are wired. */
u32 cmx_topology_chip_ports(const struct cmx_topology *topo, u32 chip);
/* cmx_topology_chip_link() - link at @port of @chip. */
u32 cmx_topology_chip_link(const struct cmx_topology *topo, u32 chip, u32 port);

/* cmx_topology_entity_node() - node of an entity. */
static inline u32 cmx_topology_entity_node(const struct cmx_topology *topo, u32 entity)
{
	if (entity < topo->num_dies)
		return reciprocal_divide(entity, topo->by_dies);
	return reciprocal_divide(entity - topo->num_dies, topo->by_sockets);
}

static inline u32 cmx_topology_ub_link(const struct cmx_topology *topo, u32 entity, u32 plane)
{
	return entity * topo->planes + plane;
}

static inline u32 cmx_topology_l2_link(const struct cmx_topology *topo, u32 node, u32 plane,
				       u32 chip)
{
	return topo->first_l2 + (node * topo->planes + plane) * topo->l2_per_plane + chip;
}

static inline u32 cmx_topology_l1_chip(const struct cmx_topology *topo, u32 node, u32 plane)
{
	return node * topo->planes + plane;
}

static inline u32 cmx_topology_l2_chip(const struct cmx_topology *topo, u32 plane, u32 chip)
{
	return topo->num_l1 + plane * topo->l2_per_plane + chip;
}

#endif
