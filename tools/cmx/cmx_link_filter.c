// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_link.h"
#include "cmx_part.h"

static bool end_is_in_node(const struct cmx_fabric_machine *m, const struct cmx_fabric_end *end,
			   uint32_t node)
{
	if (end->kind == CMX_FABRIC_ENTITY)
		return cmx_part_entity_node(m, end->index) == node;
	return end->kind == CMX_FABRIC_CHIP && end->index < m->num_l1 &&
	       end->index / m->planes == node;
}

/* Bit of the link's plane as in a queue's mask; the link between two dies is in none. */
static uint32_t plane_bit(const struct cmx_fabric_link *link)
{
	switch (link->kind) {
	case CMX_FABRIC_LINK_UB:
	case CMX_FABRIC_LINK_L2:
		return 1U << link->plane;
	case CMX_FABRIC_LINK_RDMA:
		return 1U << CMX_FABRIC_PLANE_RDMA;
	case CMX_FABRIC_LINK_VPC:
		return 1U << CMX_FABRIC_PLANE_VPC;
	default:
		return 0;
	}
}

bool cmx_link_matches(const struct cmx_fabric_machine *machine,
		      const struct cmx_fabric_link *link, const struct cmx_link_filter *filter)
{
	if (filter->node != CMX_LINK_ANY && !end_is_in_node(machine, &link->a, filter->node) &&
	    !end_is_in_node(machine, &link->b, filter->node))
		return false;
	if (filter->planes && !(plane_bit(link) & filter->planes))
		return false;
	if (filter->kind && link->kind != filter->kind)
		return false;
	return !filter->down || link->effective < 1000;
}
