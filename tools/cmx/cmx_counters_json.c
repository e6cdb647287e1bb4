// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_amount.h"
#include "cmx_counters.h"
#include "cmx_json_output.h"
#include "cmx_link.h"
#include "cmx_part.h"

static json_t *link_json(const struct cmx_counters *c, uint32_t i)
{
	const struct cmx_snapshot *s = &c->snapshot;
	const struct cmx_fabric_link *link = &s->links[i];
	json_t *object = cmx_link_json(&s->machine, link);

	cmx_link_counters_json(object, link);
	if (c->rate) {
		cmx_json_set(object, "up_bytes_per_s", cmx_rate(link->up_bytes, s->span_ps));
		cmx_json_set(object, "down_bytes_per_s", cmx_rate(link->down_bytes, s->span_ps));
	}
	return object;
}

static json_t *entity_json(const struct cmx_counters *c, uint32_t i)
{
	const struct cmx_snapshot *s = &c->snapshot;
	const struct cmx_fabric_entity *e = &s->entities[i];
	json_t *object = json_object();

	cmx_json_set(object, "entity", i);
	cmx_json_set_text(object, "name", cmx_part_entity(&s->machine, i).text);
	cmx_json_set(object, "mem_bytes", e->mem_bytes);
	cmx_json_set(object, "mem_busy_ps", e->mem_busy_ps);
	cmx_json_set(object, "launches", e->launches);
	cmx_json_set(object, "cube_busy_ps", e->cube_busy_ps);
	cmx_json_set(object, "vector_busy_ps", e->vector_busy_ps);
	cmx_json_set(object, "errors", e->errors);
	cmx_json_set(object, "lost_bytes", e->lost_bytes);
	if (c->rate)
		cmx_json_set(object, "mem_bytes_per_s", cmx_rate(e->mem_bytes, s->span_ps));
	return object;
}

static json_t *chip_json(const struct cmx_counters *c, uint32_t i)
{
	const struct cmx_chip_flow flow = cmx_counters_chip(c, i);
	json_t *object = json_object();

	cmx_json_set(object, "chip", i);
	cmx_json_set_text(object, "name", cmx_part_chip(&c->snapshot.machine, i).text);
	cmx_json_set(object, "in_bytes", flow.in);
	cmx_json_set(object, "out_bytes", flow.out);
	return object;
}

static json_t *client_json(const struct cmx_snapshot *s, const struct cmx_fabric_client *c)
{
	json_t *object = json_object(), *entities = json_array();

	cmx_json_set(object, "client", c->id);
	cmx_json_set(object, "pid", c->pid);
	cmx_json_set(object, "uid", c->uid);
	cmx_json_set_text(object, "name", c->comm);
	cmx_json_set(object, "queues", c->queues);
	cmx_json_set(object, "cqs", c->cqs);
	cmx_json_set(object, "bos", c->bos);
	cmx_json_set(object, "mappings", c->mappings);
	cmx_json_set(object, "commands", c->commands);
	cmx_json_set(object, "launches", c->launches);
	cmx_json_set(object, "bytes", c->bytes);
	for (uint32_t i = 0; i < c->num_entities; i++) {
		json_t *on = json_object();

		cmx_json_set(on, "entity", c->entities[i].index);
		cmx_json_set_text(on, "name",
				  cmx_part_entity(&s->machine, c->entities[i].index).text);
		cmx_json_set(on, "queues", c->entities[i].queues);
		cmx_json_set(on, "bytes", c->entities[i].bytes);
		json_array_append_new(entities, on);
	}
	json_object_set_new(object, "entities", entities);
	return object;
}

static void add_clients(json_t *root, const struct cmx_counters *c)
{
	const struct cmx_snapshot *s = &c->snapshot;
	json_t *list = json_array();

	for (uint32_t i = 0; i < s->num_clients; i++)
		json_array_append_new(list, client_json(s, &s->clients[i]));
	json_object_set_new(root, "clients", list);
	cmx_json_set(root, "clients_hidden", s->machine.clients > s->num_clients ?
		     s->machine.clients - s->num_clients : 0);
}

static void add_lists(json_t *root, const struct cmx_counters *c)
{
	const struct cmx_fabric_machine *m = &c->snapshot.machine;
	json_t *links = json_array(), *entities = json_array(), *chips = json_array();

	for (uint32_t i = 0; i < cmx_counters_rows(c, m->num_links); i++)
		json_array_append_new(links, link_json(c, c->links[i]));
	for (uint32_t i = 0; i < cmx_counters_rows(c, m->num_entities); i++)
		json_array_append_new(entities, entity_json(c, c->entities[i]));
	/* All of them: a sum over them is to come out. */
	for (uint32_t i = 0; i < m->num_chips; i++)
		json_array_append_new(chips, chip_json(c, i));
	json_object_set_new(root, "links", links);
	json_object_set_new(root, "entities", entities);
	json_object_set_new(root, "chips", chips);
}

int cmx_counters_print_json(const struct cmx_counters *c)
{
	json_t *root = json_object();

	cmx_json_set(root, "virtual_ps", c->snapshot.span_ps);
	if (c->rate)
		cmx_json_set(root, "host_ns", c->snapshot.host_ns);
	if (c->clients)
		add_clients(root, c);
	else
		add_lists(root, c);
	return cmx_json_print("counters", root, JSON_INDENT(2));
}
