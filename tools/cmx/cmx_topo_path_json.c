// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_command.h"
#include "cmx_json_output.h"
#include "cmx_link.h"
#include "cmx_part.h"
#include "cmx_topo.h"

static json_t *hop_json(const struct cmx_topo_path *path, const struct cmx_topo_hop *hop)
{
	const struct cmx_fabric_machine *m = &path->snapshot->machine;
	json_t *links = json_array();

	for (uint32_t i = 0; i < hop->count; i++) {
		const struct cmx_fabric_link *link = path->links[hop->first + i];
		json_t *object = json_object();

		cmx_json_set(object, "link", link->index);
		cmx_json_set_text(object, "from",
				  cmx_part_end(m, hop->up ? &link->a : &link->b).text);
		cmx_json_set_text(object, "to",
				  cmx_part_end(m, hop->up ? &link->b : &link->a).text);
		cmx_json_set(object, "effective_permille", link->effective);
		json_array_append_new(links, object);
	}
	return links;
}

static json_t *lane_json(const struct cmx_topo_path *path, const struct cmx_topo_lane *lane)
{
	json_t *object = json_object(), *hops = json_array();

	cmx_json_set_text(object, "plane", lane->plane == UINT32_MAX ? "die" :
			  cmx_part_planes(1U << lane->plane).text);
	json_object_set_new(object, "used", json_boolean(lane->used));
	cmx_json_set(object, "bytes_per_s", lane->used ? lane->rate : 0);
	for (uint32_t i = 0; i < lane->num_hops; i++)
		json_array_append_new(hops, hop_json(path, &lane->hops[i]));
	json_object_set_new(object, "hops", hops);
	return object;
}

static json_t *entity_json(const struct cmx_topo_path *path, uint32_t index)
{
	json_t *object = json_object();

	cmx_json_set(object, "entity", index);
	cmx_json_set_text(object, "name", cmx_part_entity(&path->snapshot->machine, index).text);
	return object;
}

int cmx_topo_print_path_json(const struct cmx_topo_path *path)
{
	const struct cmx_fabric_route *r = &path->route;
	json_t *root = json_object(), *lanes = json_array();
	int status;

	for (uint32_t i = 0; i < path->num_lanes; i++)
		json_array_append_new(lanes, lane_json(path, &path->lanes[i]));
	json_object_set_new(root, "from", entity_json(path, r->from));
	json_object_set_new(root, "to", entity_json(path, r->to));
	json_object_set_new(root, "reachable", json_boolean(r->reachable));
	cmx_json_set(root, "hops", r->hops);
	cmx_json_set_text(root, "planes", cmx_part_planes(r->planes).text);
	cmx_json_set(root, "read_bytes_per_s", r->read_rate);
	cmx_json_set(root, "write_bytes_per_s", r->write_rate);
	cmx_json_set(root, "read_512_ps", r->read_ps);
	cmx_json_set(root, "write_512_ps", r->write_ps);
	json_object_set_new(root, "lanes", lanes);
	status = cmx_json_print("topo", root, JSON_INDENT(2));
	return status || r->reachable ? status : CMX_EXIT_FAILED;
}
