// SPDX-License-Identifier: GPL-2.0-only
/*
 * One node in full: its entities and L1 chips, with each of their links.
 */
#include <stdio.h>

#include "cmx_amount.h"
#include "cmx_json_output.h"
#include "cmx_link.h"
#include "cmx_part.h"
#include "cmx_stdout.h"
#include "cmx_topo.h"

static bool is_of_node(const struct cmx_fabric_machine *m, uint32_t entity, uint32_t node)
{
	return cmx_part_entity_node(m, entity) == node;
}

/* A cell of a column for the link of @kind (in @plane) that has @entity at an end. */
static void put_cell(const struct cmx_snapshot *s, uint32_t entity, uint32_t kind, uint32_t plane)
{
	const char *state = "-";
	struct cmx_amount amount;

	for (uint32_t i = 0; i < s->machine.num_links; i++) {
		const struct cmx_fabric_link *link = &s->links[i];
		bool other = link->b.kind == CMX_FABRIC_ENTITY && link->b.index == entity;

		if (link->kind != kind || (kind == CMX_FABRIC_LINK_UB && link->plane != plane) ||
		    link->a.kind != CMX_FABRIC_ENTITY || (link->a.index != entity && !other))
			continue;
		amount = cmx_link_state(link);
		state = amount.text;
		break;
	}
	printf(" %5s", state);
}

static uint32_t first_link_of(const struct cmx_snapshot *s, uint32_t kind, uint32_t index)
{
	uint32_t i = 0;

	while (i < s->machine.num_links &&
	       (s->links[i].kind != kind || s->links[i].a.index != index))
		i++;
	return i;
}

static void put_entity(const struct cmx_snapshot *s, uint32_t i)
{
	const struct cmx_fabric_entity *e = &s->entities[i];

	printf("%6u  %-15s %#-7x %-5s %6u-", i, cmx_part_entity(&s->machine, i).text, e->cna,
	       e->admin_up ? "up" : "down", first_link_of(s, CMX_FABRIC_LINK_UB, i));
	printf("%-6u", first_link_of(s, CMX_FABRIC_LINK_UB, i) + s->machine.planes - 1);
	for (uint32_t p = 0; p < s->machine.planes; p++)
		put_cell(s, i, CMX_FABRIC_LINK_UB, p);
	put_cell(s, i, CMX_FABRIC_LINK_DIE, 0);
	put_cell(s, i, CMX_FABRIC_LINK_RDMA, 0);
	put_cell(s, i, CMX_FABRIC_LINK_VPC, 0);
	printf("\n");
}

/* The uplinks that are not up; all others are. */
static void put_uplinks(const struct cmx_snapshot *s, uint32_t chip)
{
	bool all = true;

	for (uint32_t i = 0; i < s->machine.num_links; i++) {
		const struct cmx_fabric_link *link = &s->links[i];

		if (link->kind != CMX_FABRIC_LINK_L2 || link->a.index != chip ||
		    link->effective == 1000)
			continue;
		printf("%s%s %s", all ? "" : ", ", cmx_part_end(&s->machine, &link->b).text,
		       cmx_link_state(link).text);
		all = false;
	}
	printf("%s\n", all ? "all up" : "");
}

static void put_chip(const struct cmx_snapshot *s, uint32_t chip)
{
	const struct cmx_fabric_chip *c = &s->chips[chip];
	uint32_t first = first_link_of(s, CMX_FABRIC_LINK_L2, chip);

	printf("%6u  %-15s %-5s %5u/%-5u %6u-%-6u ", chip, cmx_part_chip(&s->machine, chip).text,
	       c->admin_up ? "up" : "down", c->ports_up, c->ports, first,
	       first + s->machine.l2_per_plane - 1);
	put_uplinks(s, chip);
}

int cmx_topo_print_node(const struct cmx_snapshot *s, uint32_t node)
{
	const struct cmx_fabric_machine *m = &s->machine;

	printf("node %u of %s: %u NPUs, %u sockets, %u L1 chips; links: up, down or permille\n\n",
	       node, m->profile, m->npus_per_node, m->sockets_per_node, m->planes);
	printf("entity  name            CNA     state     UB links   ");
	for (uint32_t p = 0; p < m->planes; p++)
		printf("  p%-3u", p);
	printf("   die  rdma   vpc\n");
	for (uint32_t i = 0; i < m->num_entities; i++)
		if (is_of_node(m, i, node))
			put_entity(s, i);
	printf("\n  chip  name            state    ports up   links to L2 chips\n");
	for (uint32_t p = 0; p < m->planes; p++)
		put_chip(s, node * m->planes + p);
	return cmx_stdout_flush("topo");
}

static json_t *entity_json(const struct cmx_snapshot *s, uint32_t i)
{
	const struct cmx_fabric_entity *e = &s->entities[i];
	json_t *object = json_object();

	cmx_json_set(object, "entity", i);
	cmx_json_set_text(object, "name", cmx_part_entity(&s->machine, i).text);
	cmx_json_set_text(object, "kind", i < s->machine.num_dies ? "die" : "socket");
	json_object_set_new(object, "admin_up", json_boolean(e->admin_up));
	cmx_json_set(object, "cna", e->cna);
	json_object_set_new(object, "eid", cmx_json_hex(e->eid));
	json_object_set_new(object, "guid", cmx_json_hex(e->guid));
	cmx_json_set(object, "capacity_bytes", e->capacity);
	cmx_json_set(object, "used_bytes", e->used);
	cmx_json_set(object, "ub_links_up", e->ports_up);
	return object;
}

static json_t *chip_json(const struct cmx_snapshot *s, uint32_t i)
{
	const struct cmx_fabric_chip *c = &s->chips[i];
	json_t *object = json_object();

	cmx_json_set(object, "chip", i);
	cmx_json_set_text(object, "name", cmx_part_chip(&s->machine, i).text);
	cmx_json_set(object, "level", c->level);
	cmx_json_set(object, "plane", c->plane);
	json_object_set_new(object, "admin_up", json_boolean(c->admin_up));
	cmx_json_set(object, "ports", c->ports);
	cmx_json_set(object, "ports_up", c->ports_up);
	return object;
}

int cmx_topo_print_node_json(const struct cmx_snapshot *s, uint32_t node)
{
	const struct cmx_link_filter filter = { .node = node };
	const struct cmx_fabric_machine *m = &s->machine;
	json_t *entities = json_array(), *chips = json_array(), *links = json_array();

	for (uint32_t i = 0; i < m->num_entities; i++)
		if (is_of_node(m, i, node))
			json_array_append_new(entities, entity_json(s, i));
	for (uint32_t p = 0; p < m->planes; p++)
		json_array_append_new(chips, chip_json(s, node * m->planes + p));
	for (uint32_t i = 0; i < m->num_links; i++)
		if (cmx_link_matches(m, &s->links[i], &filter))
			json_array_append_new(links, cmx_link_json(m, &s->links[i]));
	return cmx_json_print("topo",
			      json_pack("{s:i, s:o, s:o, s:o}", "node", (int)node, "entities",
					entities, "chips", chips, "links", links),
			      JSON_INDENT(2));
}
