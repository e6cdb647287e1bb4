// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is up, by node and by plane.
 */
#include <stdlib.h>
#include <string.h>

#include "cmx_part.h"
#include "cmx_topo.h"

static void count(struct cmx_topo_count *c, uint32_t permille)
{
	c->all++;
	c->up += permille > 0;
	c->degraded += permille > 0 && permille < 1000;
}

static void count_entities(struct cmx_topo *topo)
{
	const struct cmx_fabric_machine *m = &topo->snapshot->machine;

	for (uint32_t i = 0; i < m->num_entities; i++) {
		enum cmx_topo_what what = i < m->num_dies ? CMX_TOPO_DIES : CMX_TOPO_SOCKETS;
		uint32_t up = topo->snapshot->entities[i].admin_up ? 1000 : 0;

		count(&topo->nodes[cmx_part_entity_node(m, i)].of[what], up);
		count(&topo->all.of[what], up);
	}
}

static void count_chips(struct cmx_topo *topo)
{
	const struct cmx_fabric_machine *m = &topo->snapshot->machine;

	for (uint32_t i = 0; i < m->num_chips; i++) {
		uint32_t up = topo->snapshot->chips[i].admin_up ? 1000 : 0;

		if (i < m->num_l1)
			count(&topo->nodes[i / m->planes].of[CMX_TOPO_CHIPS], up);
		else
			count(&topo->planes[(i - m->num_l1) / m->l2_per_plane].of[CMX_TOPO_CHIPS],
			      up);
		count(&topo->all.of[CMX_TOPO_CHIPS], up);
	}
}

static void count_links(struct cmx_topo *topo)
{
	static const enum cmx_topo_what whats[] = {
		[CMX_FABRIC_LINK_UB] = CMX_TOPO_UB,
		[CMX_FABRIC_LINK_L2] = CMX_TOPO_L2,
		[CMX_FABRIC_LINK_DIE] = CMX_TOPO_DIE,
		[CMX_FABRIC_LINK_RDMA] = CMX_TOPO_RDMA,
		[CMX_FABRIC_LINK_VPC] = CMX_TOPO_VPC,
	};
	const struct cmx_fabric_machine *m = &topo->snapshot->machine;

	for (uint32_t i = 0; i < m->num_links; i++) {
		const struct cmx_fabric_link *link = &topo->snapshot->links[i];
		enum cmx_topo_what what = whats[link->kind];
		uint32_t node = link->a.kind == CMX_FABRIC_CHIP ?
				link->a.index / m->planes : cmx_part_entity_node(m, link->a.index);

		count(&topo->nodes[node].of[what], link->effective);
		count(&topo->all.of[what], link->effective);
		if (what == CMX_TOPO_UB || what == CMX_TOPO_L2)
			count(&topo->planes[link->plane].of[what], link->effective);
	}
}

int cmx_topo_count(struct cmx_topo *topo, const struct cmx_snapshot *snapshot)
{
	memset(topo, 0, sizeof(*topo));
	topo->snapshot = snapshot;
	topo->nodes = calloc(snapshot->machine.nodes, sizeof(*topo->nodes));
	if (!topo->nodes) {
		fprintf(stderr, "cmx topo: no memory for %u nodes\n", snapshot->machine.nodes);
		return -1;
	}
	count_entities(topo);
	count_chips(topo);
	count_links(topo);
	return 0;
}

void cmx_topo_free(struct cmx_topo *topo)
{
	free(topo->nodes);
	topo->nodes = NULL;
}
