// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_entity.h"
#include "cmx_topology.h"

void cmx_topology_init(struct cmx_topology *topo, const struct cmx_machine *machine)
{
	const struct cmx_profile *p = machine->profile;
	u32 npus = machine->num_nodes * p->npus_per_node;

	topo->nodes = machine->num_nodes;
	topo->planes = p->planes;
	topo->l2_per_plane = p->l2_per_plane;
	topo->npus_per_node = p->npus_per_node;
	topo->dies_per_npu = p->dies_per_npu;
	topo->sockets_per_node = p->sockets_per_node;
	topo->num_dies = machine->num_dies;
	topo->num_entities = machine->num_entities;
	topo->num_l1 = topo->nodes * topo->planes;
	topo->num_chips = topo->num_l1 + topo->planes * topo->l2_per_plane;
	topo->first_l2 = topo->num_entities * topo->planes;
	topo->first_die = topo->first_l2 + topo->num_l1 * topo->l2_per_plane;
	topo->first_rdma = topo->first_die + (topo->dies_per_npu == 2 ? npus : 0);
	topo->first_vpc = topo->first_rdma + topo->num_dies;
	topo->num_links = topo->first_vpc + topo->nodes;
	topo->by_dies = reciprocal_value(p->npus_per_node * p->dies_per_npu);
	topo->by_sockets = reciprocal_value(p->sockets_per_node);
	topo->by_planes = reciprocal_value(p->planes);
	topo->by_l2 = reciprocal_value(p->l2_per_plane);
}

static u32 cmx_topology_dies_per_node(const struct cmx_topology *topo)
{
	return topo->npus_per_node * topo->dies_per_npu;
}

/* Where a node's L1 chips have the entity, counted from their first port that is no trunk. */
static u32 cmx_topology_place(const struct cmx_topology *topo, u32 entity)
{
	u32 dies = cmx_topology_dies_per_node(topo);

	if (entity < topo->num_dies)
		return entity % dies;
	return dies + (entity - topo->num_dies) % topo->sockets_per_node;
}

static u32 cmx_topology_placed(const struct cmx_topology *topo, u32 node, u32 place)
{
	u32 dies = cmx_topology_dies_per_node(topo);

	if (place < dies)
		return node * dies + place;
	return topo->num_dies + node * topo->sockets_per_node + place - dies;
}

u32 cmx_topology_chip_plane(const struct cmx_topology *topo, u32 chip)
{
	if (chip < topo->num_l1)
		return chip % topo->planes;
	return (chip - topo->num_l1) / topo->l2_per_plane;
}

u32 cmx_topology_chip_ports(const struct cmx_topology *topo, u32 chip)
{
	if (chip >= topo->num_l1)
		return topo->nodes;
	return topo->l2_per_plane + cmx_topology_dies_per_node(topo) + topo->sockets_per_node;
}

u32 cmx_topology_chip_link(const struct cmx_topology *topo, u32 chip, u32 port)
{
	u32 plane = cmx_topology_chip_plane(topo, chip), node;

	if (chip >= topo->num_l1)
		return cmx_topology_l2_link(topo, port, plane,
					    (chip - topo->num_l1) % topo->l2_per_plane);
	node = chip / topo->planes;
	if (port < topo->l2_per_plane)
		return cmx_topology_l2_link(topo, node, plane, port);
	return cmx_topology_ub_link(topo,
				    cmx_topology_placed(topo, node, port - topo->l2_per_plane),
				    plane);
}

static struct cmx_end cmx_end_of(u32 kind, u32 index, u32 port)
{
	return (struct cmx_end){ .kind = kind, .index = index, .port = port };
}

static void cmx_topology_ub(const struct cmx_topology *topo, u32 i, struct cmx_link *link)
{
	u32 entity = i / topo->planes, node = cmx_topology_entity_node(topo, entity);

	link->kind = CMX_LINK_UB;
	link->plane = i % topo->planes;
	link->a = cmx_end_of(CMX_END_ENTITY, entity, link->plane);
	link->b = cmx_end_of(CMX_END_CHIP, cmx_topology_l1_chip(topo, node, link->plane),
			     topo->l2_per_plane + cmx_topology_place(topo, entity));
}

static void cmx_topology_l2(const struct cmx_topology *topo, u32 i, struct cmx_link *link)
{
	u32 l1 = i / topo->l2_per_plane, chip = i % topo->l2_per_plane;

	link->kind = CMX_LINK_L2;
	link->plane = l1 % topo->planes;
	link->a = cmx_end_of(CMX_END_CHIP, l1, chip);
	link->b = cmx_end_of(CMX_END_CHIP, cmx_topology_l2_chip(topo, link->plane, chip),
			     l1 / topo->planes);
}

/* Entities have one port for each plane, then the sibling's, then the other network's. */
void cmx_topology_link(const struct cmx_topology *topo, u32 index, struct cmx_link *link)
{
	u32 other = topo->planes + 1, i;

	if (index < topo->first_l2) {
		cmx_topology_ub(topo, index, link);
		return;
	}
	if (index < topo->first_die) {
		cmx_topology_l2(topo, index - topo->first_l2, link);
		return;
	}
	link->plane = CMX_NO_PLANE;
	if (index < topo->first_rdma) {
		i = index - topo->first_die;
		link->kind = CMX_LINK_DIE;
		link->a = cmx_end_of(CMX_END_ENTITY, 2 * i, topo->planes);
		link->b = cmx_end_of(CMX_END_ENTITY, 2 * i + 1, topo->planes);
	} else if (index < topo->first_vpc) {
		i = index - topo->first_rdma;
		link->kind = CMX_LINK_RDMA;
		link->a = cmx_end_of(CMX_END_ENTITY, i, other);
		link->b = cmx_end_of(CMX_END_RDMA, 0, i);
	} else {
		i = index - topo->first_vpc;
		link->kind = CMX_LINK_VPC;
		link->a = cmx_end_of(CMX_END_ENTITY, topo->num_dies + i * topo->sockets_per_node,
				     other);
		link->b = cmx_end_of(CMX_END_VPC, 0, i);
	}
}
