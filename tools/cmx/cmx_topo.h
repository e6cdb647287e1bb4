/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `cmx topo' prints: counts of what is up, ways between entities, the picture.
 */
#ifndef CMX_TOPO_H
#define CMX_TOPO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmx_snapshot.h"

/** enum cmx_topo_what - what is counted of a node or plane. */
enum cmx_topo_what {
	CMX_TOPO_DIES,
	CMX_TOPO_SOCKETS,
	CMX_TOPO_CHIPS,		/* of a node: L1; of a plane: L2 */
	CMX_TOPO_UB,
	CMX_TOPO_L2,
	CMX_TOPO_DIE,
	CMX_TOPO_RDMA,
	CMX_TOPO_VPC,
	CMX_TOPO_NUM,
};

struct cmx_topo_count {
	uint32_t all;
	uint32_t up;
	/* Of those up: links that are not at their full rate. */
	uint32_t degraded;
};

/** struct cmx_topo_counts - of a node, a plane, or all. */
struct cmx_topo_counts {
	struct cmx_topo_count of[CMX_TOPO_NUM];
};

/** struct cmx_topo - a snapshot, counted. */
struct cmx_topo {
	const struct cmx_snapshot *snapshot;
	struct cmx_topo_counts *nodes;
	struct cmx_topo_counts planes[CMX_FABRIC_MAX_PLANES];
	struct cmx_topo_counts all;
};

/* 0, or -1 and a text on stderr; the snapshot has all but clients, and stays the caller's. */
int cmx_topo_count(struct cmx_topo *topo, const struct cmx_snapshot *snapshot);
void cmx_topo_free(struct cmx_topo *topo);

/** struct cmx_topo_hop - links one of which a message takes. */
struct cmx_topo_hop {
	/* In the path's list of links. */
	uint32_t first;
	uint32_t count;
	/* From the lower to the upper end. */
	bool up;
};

#define CMX_TOPO_HOPS	4

/** struct cmx_topo_lane - the way in one plane. */
struct cmx_topo_lane {
	/* UB plane, CMX_FABRIC_PLANE_RDMA or _VPC, or ~0: the link between two dies. */
	uint32_t plane;
	bool used;
	uint64_t rate;
	uint32_t num_hops;
	struct cmx_topo_hop hops[CMX_TOPO_HOPS];
};

/** struct cmx_topo_path - the way between two entities. */
struct cmx_topo_path {
	const struct cmx_snapshot *snapshot;
	struct cmx_fabric_route route;
	/* As asked for; 0: no choice. */
	uint32_t planes;
	struct cmx_topo_lane lanes[CMX_FABRIC_MAX_PLANES];
	uint32_t num_lanes;
	/* Links of all hops. */
	const struct cmx_fabric_link **links;
	uint32_t num_links;
};

/* Finds the links of @route; 0, or -1 and a text on stderr. */
int cmx_topo_path_find(struct cmx_topo_path *path, const struct cmx_snapshot *snapshot,
		       const struct cmx_fabric_route *route, uint32_t planes);
void cmx_topo_path_free(struct cmx_topo_path *path);

/* All return an exit status. */
int cmx_topo_print_tree(const struct cmx_topo *topo);
int cmx_topo_print_tree_json(const struct cmx_topo *topo);
int cmx_topo_print_node(const struct cmx_snapshot *snapshot, uint32_t node);
int cmx_topo_print_node_json(const struct cmx_snapshot *snapshot, uint32_t node);
int cmx_topo_print_path(const struct cmx_topo_path *path);
int cmx_topo_print_path_json(const struct cmx_topo_path *path);

/* Draws; 0 or -1 with a text. Write errors are left to the caller to find. */
int cmx_topo_svg(const struct cmx_snapshot *snapshot, FILE *to);

#endif /* CMX_TOPO_H */
