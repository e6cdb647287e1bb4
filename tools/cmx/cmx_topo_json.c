// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_json_output.h"
#include "cmx_part.h"
#include "cmx_topo.h"

static json_t *counts_json(const struct cmx_topo_counts *counts, const char *key, uint32_t number)
{
	static const char * const names[CMX_TOPO_NUM] = {
		"dies", "sockets", "chips", "ub_links", "l2_links", "die_links", "rdma_links",
		"vpc_links",
	};
	json_t *object = json_object();

	if (key)
		cmx_json_set(object, key, number);
	for (int i = 0; i < CMX_TOPO_NUM; i++) {
		const struct cmx_topo_count *c = &counts->of[i];
		json_t *of;

		/* Planes have no dies. */
		if (!c->all)
			continue;
		of = json_object();
		cmx_json_set(of, "all", c->all);
		cmx_json_set(of, "up", c->up);
		cmx_json_set(of, "degraded", c->degraded);
		json_object_set_new(object, names[i], of);
	}
	return object;
}

static json_t *machine_json(const struct cmx_fabric_machine *m)
{
	json_t *object = json_object();

	cmx_json_set_text(object, "profile", m->profile);
	cmx_json_set(object, "nodes", m->nodes);
	cmx_json_set(object, "npus_per_node", m->npus_per_node);
	cmx_json_set(object, "dies_per_npu", m->dies_per_npu);
	cmx_json_set(object, "sockets_per_node", m->sockets_per_node);
	cmx_json_set(object, "planes", m->planes);
	cmx_json_set(object, "l2_per_plane", m->l2_per_plane);
	cmx_json_set(object, "dies", m->num_dies);
	cmx_json_set(object, "entities", m->num_entities);
	cmx_json_set(object, "l1_chips", m->num_l1);
	cmx_json_set(object, "chips", m->num_chips);
	cmx_json_set(object, "links", m->num_links);
	cmx_json_set(object, "generation", m->generation);
	cmx_json_set(object, "links_down", m->links_down);
	cmx_json_set(object, "links_degraded", m->links_degraded);
	return object;
}

int cmx_topo_print_tree_json(const struct cmx_topo *topo)
{
	const struct cmx_fabric_machine *m = &topo->snapshot->machine;
	json_t *nodes = json_array(), *planes = json_array();

	for (uint32_t i = 0; i < m->nodes; i++)
		json_array_append_new(nodes, counts_json(&topo->nodes[i], "node", i));
	for (uint32_t i = 0; i < m->planes; i++)
		json_array_append_new(planes, counts_json(&topo->planes[i], "plane", i));
	return cmx_json_print("topo",
			      json_pack("{s:o, s:o, s:o, s:o}", "machine", machine_json(m),
					"all", counts_json(&topo->all, NULL, 0), "nodes", nodes,
					"planes", planes), JSON_INDENT(2));
}
