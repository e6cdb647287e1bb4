// SPDX-License-Identifier: GPL-2.0-only
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cmx_command.h"
#include "cmx_info.h"

/* JSON numbers of the library are signed: a value past that is all ones, "no limit". */
static json_t *number(uint64_t value)
{
	return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *hex(const __u8 *bytes)
{
	char text[33];

	for (int i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	return json_string(text);
}

static json_t *caps_json(uint64_t caps)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < cmx_info_num_caps; i++) {
		if (caps & cmx_info_caps[i].bit)
			json_array_append_new(list, json_string(cmx_info_caps[i].name));
	}
	return list;
}

static json_t *opcodes_json(const __u64 *words)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < 256; i++) {
		if (words[i / 64] >> (i % 64) & 1)
			json_array_append_new(list, json_integer(i));
	}
	return list;
}

static json_t *device_json(const struct cmx_info *info)
{
	const struct drm_cmx_info_device *device = &info->device;
	char profile[sizeof(device->profile) + 1] = "";

	memcpy(profile, device->profile, sizeof(device->profile));
	return json_pack("{s:s, s:s, s:[i, i], s:i, s:i, s:i, s:i, s:i, s:i, s:o, s:o}",
			 "path", info->path, "profile", profile,
			 "abi", device->abi_major, device->abi_minor,
			 "page_size", device->page_size,
			 "nodes", device->num_nodes, "npus", device->num_npus,
			 "dies", device->num_dies, "sockets", device->num_sockets,
			 "entities", device->num_entities,
			 "caps", caps_json(device->caps),
			 "opcodes", opcodes_json(device->opcodes));
}

static json_t *limits_json(const struct drm_cmx_info_limits *limits)
{
	const struct {
		const char *name;
		uint64_t value;
	} list[] = {
		{ "max_queues", limits->max_queues },
		{ "max_cqs", limits->max_cqs },
		{ "max_rqs", limits->max_rqs },
		{ "max_bos", limits->max_bos },
		{ "max_mappings", limits->max_mappings },
		{ "max_ring_pages", limits->max_ring_pages },
		{ "max_timelines", limits->max_timelines },
		{ "max_actors", limits->max_actors },
		{ "max_slots", limits->max_slots },
		{ "max_cqes", limits->max_cqes },
		{ "max_inflight", limits->max_inflight },
		{ "max_sge", limits->max_sge },
		{ "max_sg_list", limits->max_sg_list },
		{ "max_inline", limits->max_inline },
		{ "max_args", limits->max_args },
		{ "max_batch", limits->max_batch },
		{ "max_records", limits->max_records },
		{ "max_events", limits->max_events },
		{ "va_bits", limits->va_bits },
		{ "max_chunk", limits->max_chunk },
		{ "max_len", limits->max_len },
		{ "max_bo_size", limits->max_bo_size },
	};
	json_t *object = json_object();

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		json_object_set_new(object, list[i].name, number(list[i].value));
	return object;
}

static void add_die(json_t *object, const struct drm_cmx_info_entity *entity)
{
	static const char *const classes[] = { "int8", "bf16", "f16", "f32" };
	json_t *rates = json_object();

	for (int i = 0; i < CMX_OPS_CLASSES; i++)
		json_object_set_new(rates, classes[i], number(entity->cube_rate[i]));
	json_object_set_new(object, "npu", json_integer(entity->npu));
	json_object_set_new(object, "cube_cores", json_integer(entity->cube_cores));
	json_object_set_new(object, "vector_cores", json_integer(entity->vector_cores));
	json_object_set_new(object, "cube_rate", rates);
	json_object_set_new(object, "vector_rate", number(entity->vector_rate));
}

static json_t *entity_json(const struct cmx_info_entry *entry)
{
	const struct drm_cmx_info_entity *entity = &entry->entity;
	bool die = entity->kind == CMX_ENTITY_DIE;
	json_t *object = json_pack("{s:i, s:s, s:i, s:i, s:o, s:o, s:o, s:o}",
				   "index", entry->index, "kind", die ? "die" : "socket",
				   "node", entity->node, "unit", entity->unit,
				   "cna", number(entity->cna), "upi", number(entity->upi),
				   "eid", hex(entity->eid), "guid", hex(entity->guid));

	json_object_set_new(object, "capacity", number(entity->capacity));
	json_object_set_new(object, "used", number(entity->used));
	json_object_set_new(object, "resident", number(entity->resident));
	json_object_set_new(object, "mem_rate", number(entity->mem_rate));
	json_object_set_new(object, "port_rate", number(entity->port_rate));
	if (die)
		add_die(object, entity);
	return object;
}

int cmx_info_print_json(const struct cmx_info *info)
{
	json_t *entities = json_array();
	json_t *root;
	int status = CMX_EXIT_OK;

	for (uint32_t i = 0; i < info->count; i++)
		json_array_append_new(entities, entity_json(&info->entries[i]));
	root = json_pack("{s:o, s:o, s:o}", "device", device_json(info),
			 "limits", limits_json(&info->limits), "entities", entities);
	if (!root || json_dumpf(root, stdout, JSON_INDENT(2)) || putchar('\n') < 0 ||
	    fflush(stdout)) {
		fprintf(stderr, "cmx info: the output could not be written\n");
		status = CMX_EXIT_FAILED;
	}
	json_decref(root);
	return status;
}
