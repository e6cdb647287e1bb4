// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_part.h"

#include <stdio.h>

static uint32_t dies_per_node(const struct cmx_fabric_machine *machine)
{
	return machine->npus_per_node * machine->dies_per_npu;
}

uint32_t cmx_part_entity_node(const struct cmx_fabric_machine *machine, uint32_t index)
{
	if (index < machine->num_dies)
		return index / dies_per_node(machine);
	return (index - machine->num_dies) / machine->sockets_per_node;
}

struct cmx_part cmx_part_entity(const struct cmx_fabric_machine *machine, uint32_t index)
{
	uint32_t die = index % dies_per_node(machine);
	struct cmx_part part;

	if (index < machine->num_dies)
		snprintf(part.text, sizeof(part.text), "n%u.npu%u.die%u",
			 index / dies_per_node(machine), die / machine->dies_per_npu,
			 die % machine->dies_per_npu);
	else if (index < machine->num_entities)
		snprintf(part.text, sizeof(part.text), "n%u.socket%u",
			 cmx_part_entity_node(machine, index),
			 (index - machine->num_dies) % machine->sockets_per_node);
	else
		snprintf(part.text, sizeof(part.text), "entity %u", index);
	return part;
}

struct cmx_part cmx_part_chip(const struct cmx_fabric_machine *machine, uint32_t index)
{
	uint32_t l2 = index - machine->num_l1;
	struct cmx_part part;

	if (index < machine->num_l1)
		snprintf(part.text, sizeof(part.text), "n%u.plane%u", index / machine->planes,
			 index % machine->planes);
	else if (index < machine->num_chips)
		snprintf(part.text, sizeof(part.text), "plane%u.chip%u",
			 l2 / machine->l2_per_plane, l2 % machine->l2_per_plane);
	else
		snprintf(part.text, sizeof(part.text), "chip %u", index);
	return part;
}

struct cmx_part cmx_part_node(uint32_t node)
{
	struct cmx_part part;

	snprintf(part.text, sizeof(part.text), "n%u", node);
	return part;
}

struct cmx_part cmx_part_end(const struct cmx_fabric_machine *machine,
			     const struct cmx_fabric_end *end)
{
	switch (end->kind) {
	case CMX_FABRIC_ENTITY:
		return cmx_part_entity(machine, end->index);
	case CMX_FABRIC_CHIP:
		return cmx_part_chip(machine, end->index);
	case CMX_FABRIC_RDMA:
		return (struct cmx_part){ "rdma" };
	case CMX_FABRIC_VPC:
		return (struct cmx_part){ "vpc" };
	default:
		return (struct cmx_part){ "?" };
	}
}

struct cmx_part cmx_part_process(const char comm[16])
{
	struct cmx_part part;
	int len = 0;

	for (; len < 15 && comm[len]; len++)
		part.text[len] = comm[len] >= ' ' && comm[len] <= '~' ? comm[len] : '?';
	part.text[len] = '\0';
	return part;
}

/* Bits @first to @last of a mask of planes, behind @used characters. */
static int put_planes(struct cmx_part *part, int used, uint32_t first, uint32_t last)
{
	char *to = part->text + used;
	size_t room = sizeof(part->text) - (size_t)used;
	const char *comma = used ? "," : "";

	if (first == CMX_FABRIC_PLANE_RDMA || first == CMX_FABRIC_PLANE_VPC)
		return used + snprintf(to, room, "%s%s", comma,
				       first == CMX_FABRIC_PLANE_RDMA ? "rdma" : "vpc");
	if (first == last)
		return used + snprintf(to, room, "%s%u", comma, first);
	return used + snprintf(to, room, "%s%u-%u", comma, first, last);
}

struct cmx_part cmx_part_planes(uint32_t planes)
{
	struct cmx_part part = { "" };
	int used = 0;

	/* The worst mask, every other plane and both others, has 35 characters. */
	for (uint32_t p = 0; p <= CMX_FABRIC_PLANE_VPC; p++) {
		uint32_t last = p;

		if (!(planes >> p & 1))
			continue;
		while (p < CMX_FABRIC_MAX_PLANES && last + 1 < CMX_FABRIC_MAX_PLANES &&
		       planes >> (last + 1) & 1)
			last++;
		used = put_planes(&part, used, p, last);
		p = last;
	}
	return part;
}

const char *cmx_part_link_kind(uint32_t kind)
{
	static const char * const names[] = {
		[CMX_FABRIC_LINK_UB] = "ub",
		[CMX_FABRIC_LINK_L2] = "l2",
		[CMX_FABRIC_LINK_DIE] = "die",
		[CMX_FABRIC_LINK_RDMA] = "rdma",
		[CMX_FABRIC_LINK_VPC] = "vpc",
	};

	return kind && kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}

const char *cmx_part_object(uint32_t object)
{
	static const char * const names[] = {
		[CMX_FABRIC_OBJ_LINK] = "link",
		[CMX_FABRIC_OBJ_CHIP] = "chip",
		[CMX_FABRIC_OBJ_ENTITY] = "entity",
		[CMX_FABRIC_OBJ_NODE] = "node",
	};

	return object && object < sizeof(names) / sizeof(names[0]) ? names[object] : "?";
}
