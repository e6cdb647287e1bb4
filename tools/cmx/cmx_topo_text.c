// SPDX-License-Identifier: GPL-2.0-only
/*
 * The supernode as a tree. Nodes in the same state share a branch, so that 48 of them fit on
 * a page; so do planes.
 */
#include <stdlib.h>
#include <string.h>

#include "cmx_command.h"
#include "cmx_part.h"
#include "cmx_ranges.h"
#include "cmx_stdout.h"
#include "cmx_topo.h"

#define BRANCH	"|-- "
#define LAST	"`-- "

static const char * const nouns[CMX_TOPO_NUM][2] = {
	[CMX_TOPO_DIES] = { "die", "dies" },
	[CMX_TOPO_SOCKETS] = { "socket", "sockets" },
	[CMX_TOPO_CHIPS] = { "chip", "chips" },
	[CMX_TOPO_UB] = { "link of dies and sockets", "links of dies and sockets" },
	[CMX_TOPO_L2] = { "link between L1 and L2", "links between L1 and L2" },
	[CMX_TOPO_DIE] = { "link between dies of an NPU", "links between dies of an NPU" },
	[CMX_TOPO_RDMA] = { "RDMA link", "RDMA links" },
	[CMX_TOPO_VPC] = { "VPC link", "VPC links" },
};

static void put_count(const struct cmx_topo_counts *counts, enum cmx_topo_what what,
		      const char *level)
{
	const struct cmx_topo_count *c = &counts->of[what];

	printf("%u of %u %s%s up", c->up, c->all, level, nouns[what][c->all != 1]);
	if (c->degraded)
		printf(" (%u degraded)", c->degraded);
}

static void put_node_counts(const struct cmx_topo *topo, const struct cmx_topo_counts *counts)
{
	const struct cmx_fabric_machine *m = &topo->snapshot->machine;

	printf("|   " BRANCH "%u NPUs: ", m->npus_per_node);
	put_count(counts, CMX_TOPO_DIES, "");
	if (counts->of[CMX_TOPO_DIE].all) {
		printf(", ");
		put_count(counts, CMX_TOPO_DIE, "");
	}
	printf("\n|   " BRANCH);
	put_count(counts, CMX_TOPO_SOCKETS, "");
	printf("\n|   " BRANCH);
	put_count(counts, CMX_TOPO_CHIPS, "L1 ");
	printf(": ");
	put_count(counts, CMX_TOPO_UB, "");
	printf(",\n|   |   ");
	put_count(counts, CMX_TOPO_L2, "");
	printf("\n|   " LAST);
	put_count(counts, CMX_TOPO_RDMA, "");
	printf(", ");
	put_count(counts, CMX_TOPO_VPC, "");
	printf("\n");
}

static void put_plane_counts(const struct cmx_topo *topo, const struct cmx_topo_counts *counts)
{
	(void)topo;
	printf("|   " BRANCH);
	put_count(counts, CMX_TOPO_CHIPS, "L2 ");
	printf("\n|   " BRANCH);
	put_count(counts, CMX_TOPO_UB, "");
	printf("\n|   " LAST);
	put_count(counts, CMX_TOPO_L2, "");
	printf("\n");
}

/* A branch for each state that some of @list have. @members: room for @num. */
static void put_groups(const struct cmx_topo *topo, const char *noun,
		       const struct cmx_topo_counts *list, uint32_t num, uint32_t *members,
		       void (*put)(const struct cmx_topo *topo, const struct cmx_topo_counts *c))
{
	for (uint32_t i = 0; i < num; i++) {
		uint32_t count = 0, first;

		for (first = 0; memcmp(&list[first], &list[i], sizeof(*list)); first++)
			;
		if (first < i)
			continue;
		for (uint32_t j = i; j < num; j++)
			if (!memcmp(&list[j], &list[i], sizeof(*list)))
				members[count++] = j;
		printf(BRANCH "%s%s ", noun, count > 1 ? "s" : "");
		cmx_ranges_put(stdout, members, count);
		printf(count > 1 ? ", each:\n" : ":\n");
		put(topo, &list[i]);
	}
}

static void put_summary(const struct cmx_fabric_machine *m)
{
	printf("supernode %s: %u nodes, %u NPUs, %u dies, %u sockets, %u L1 and %u L2 chips, "
	       "%u links\n", m->profile, m->nodes, m->nodes * m->npus_per_node, m->num_dies,
	       m->num_entities - m->num_dies, m->num_l1, m->num_chips - m->num_l1, m->num_links);
	printf("state %u: %u links down, %u degraded\n", m->generation, m->links_down,
	       m->links_degraded);
}

int cmx_topo_print_tree(const struct cmx_topo *topo)
{
	const struct cmx_fabric_machine *m = &topo->snapshot->machine;
	uint32_t *members = calloc(m->nodes + CMX_FABRIC_MAX_PLANES, sizeof(*members));

	if (!members) {
		fprintf(stderr, "cmx topo: no memory for %u nodes\n", m->nodes);
		return CMX_EXIT_FAILED;
	}
	put_summary(m);
	put_groups(topo, "node", topo->nodes, m->nodes, members, put_node_counts);
	put_groups(topo, "UB plane", topo->planes, m->planes, members, put_plane_counts);
	printf(BRANCH "RDMA plane: ");
	put_count(&topo->all, CMX_TOPO_RDMA, "");
	printf("\n" LAST "VPC plane: ");
	put_count(&topo->all, CMX_TOPO_VPC, "");
	printf("\n");
	free(members);
	return cmx_stdout_flush("topo");
}
