// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_json_output.h"
#include "cmx_link.h"
#include "cmx_part.h"

static json_t *end_json(const struct cmx_fabric_machine *m, const struct cmx_fabric_end *end)
{
	json_t *object = json_object();

	cmx_json_set_text(object, "name", cmx_part_end(m, end).text);
	if (end->kind == CMX_FABRIC_ENTITY)
		cmx_json_set(object, "entity", end->index);
	else if (end->kind == CMX_FABRIC_CHIP)
		cmx_json_set(object, "chip", end->index);
	cmx_json_set(object, "port", end->port);
	return object;
}

json_t *cmx_link_json(const struct cmx_fabric_machine *m, const struct cmx_fabric_link *link)
{
	json_t *object = json_object();

	cmx_json_set(object, "link", link->index);
	cmx_json_set_text(object, "kind", cmx_part_link_kind(link->kind));
	if (link->plane < m->planes)
		cmx_json_set(object, "plane", link->plane);
	json_object_set_new(object, "a", end_json(m, &link->a));
	json_object_set_new(object, "b", end_json(m, &link->b));
	cmx_json_set(object, "bytes_per_s", link->rate);
	json_object_set_new(object, "admin_up", json_boolean(link->admin_up));
	cmx_json_set(object, "permille", link->permille);
	cmx_json_set(object, "effective_permille", link->effective);
	return object;
}

void cmx_link_counters_json(json_t *object, const struct cmx_fabric_link *link)
{
	cmx_json_set(object, "changes", link->changes);
	cmx_json_set(object, "up_bytes", link->up_bytes);
	cmx_json_set(object, "down_bytes", link->down_bytes);
	cmx_json_set(object, "up_busy_ps", link->up_busy_ps);
	cmx_json_set(object, "down_busy_ps", link->down_busy_ps);
}

int cmx_link_print_list_json(const struct cmx_snapshot *snapshot,
			     const struct cmx_link_filter *filter)
{
	const struct cmx_fabric_machine *m = &snapshot->machine;
	json_t *list = json_array();

	for (uint32_t i = 0; i < m->num_links; i++)
		if (cmx_link_matches(m, &snapshot->links[i], filter))
			json_array_append_new(list, cmx_link_json(m, &snapshot->links[i]));
	return cmx_json_print("link", list, JSON_INDENT(2));
}

int cmx_link_print_one_json(const struct cmx_snapshot *snapshot, uint32_t index)
{
	json_t *object = cmx_link_json(&snapshot->machine, &snapshot->links[index]);

	cmx_link_counters_json(object, &snapshot->links[index]);
	return cmx_json_print("link", object, JSON_INDENT(2));
}
