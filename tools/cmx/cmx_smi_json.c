// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_amount.h"
#include "cmx_json_output.h"
#include "cmx_part.h"
#include "cmx_smi.h"

static json_t *die_json(const struct cmx_smi *smi, uint32_t die)
{
	const struct cmx_snapshot *s = &smi->snapshot;
	const struct cmx_fabric_entity *e = &s->entities[die];
	json_t *object = json_object();

	cmx_json_set(object, "entity", die);
	cmx_json_set_text(object, "name", cmx_part_entity(&s->machine, die).text);
	cmx_json_set(object, "npu", die / s->machine.dies_per_npu);
	cmx_json_set(object, "chip", die % s->machine.dies_per_npu);
	cmx_json_set_text(object, "health", cmx_smi_health(smi, die));
	cmx_json_set(object, "cna", e->cna);
	cmx_json_set(object, "hbm_used_bytes", e->used);
	cmx_json_set(object, "hbm_total_bytes", e->capacity);
	cmx_json_set(object, "resident_bytes", e->resident);
	cmx_json_set(object, "launches", e->launches);
	cmx_json_set(object, "aicore_permille", cmx_smi_share(smi, die, CMX_SMI_CORE));
	cmx_json_set(object, "vector_permille", cmx_permille(e->vector_busy_ps, s->span_ps));
	cmx_json_set(object, "port_permille", cmx_smi_share(smi, die, CMX_SMI_PORT));
	cmx_json_set(object, "errors", e->errors);
	return object;
}

static json_t *process_json(const struct cmx_fabric_client *client,
			    const struct cmx_fabric_client_entity *on)
{
	json_t *object = json_object();

	cmx_json_set(object, "entity", on->index);
	cmx_json_set(object, "pid", client->pid);
	cmx_json_set(object, "uid", client->uid);
	cmx_json_set_text(object, "name", client->comm);
	cmx_json_set(object, "queues", on->queues);
	cmx_json_set(object, "bytes", on->bytes);
	return object;
}

static json_t *processes_json(const struct cmx_smi *smi)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < smi->snapshot.num_clients; i++) {
		const struct cmx_fabric_client *c = &smi->snapshot.clients[i];

		for (uint32_t k = 0; k < c->num_entities; k++)
			if (cmx_smi_shows(smi, c->entities[k].index))
				json_array_append_new(list, process_json(c, &c->entities[k]));
	}
	return list;
}

int cmx_smi_print_json(const struct cmx_smi *smi, size_t flags)
{
	const struct cmx_snapshot *s = &smi->snapshot;
	json_t *root = json_object(), *dies = json_array();

	for (uint32_t i = 0; i < s->machine.num_dies; i++)
		if (cmx_smi_shows(smi, i))
			json_array_append_new(dies, die_json(smi, i));
	cmx_json_set_text(root, "profile", s->machine.profile);
	cmx_json_set(root, "generation", s->machine.generation);
	cmx_json_set(root, "virtual_ps", s->span_ps);
	json_object_set_new(root, "dies", dies);
	json_object_set_new(root, "processes", processes_json(smi));
	cmx_json_set(root, "clients_hidden", s->machine.clients > s->num_clients ?
		     s->machine.clients - s->num_clients : 0);
	return cmx_json_print("smi", root, flags);
}
