/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Links summed up by the part they belong to.
 */
#ifndef CMX_LINK_SUMS_H
#define CMX_LINK_SUMS_H

#include <stdint.h>

#include "cmx_snapshot.h"

struct cmx_link_sum {
	uint32_t links;
	/** @up: carry traffic, at full rate or less. */
	uint32_t up;
	/** @degraded: of these, not at full rate. */
	uint32_t degraded;
	/** @up_bytes: away from entities, over all links. */
	uint64_t up_bytes;
	uint64_t down_bytes;
	uint64_t up_busy_ps;
	uint64_t down_busy_ps;
};

struct cmx_link_sums {
	/** @entities: UB links of each entity. */
	struct cmx_link_sum *entities;
	/** @siblings: link between the dies of an NPU, at both. */
	struct cmx_link_sum *siblings;
	/** @rdma: RDMA link of each die. */
	struct cmx_link_sum *rdma;
	/** @chips_below: by chip: L1: links to entities; L2: links to L1 chips. */
	struct cmx_link_sum *chips_below;
	/** @chips_above: by chip: L1: links to L2 chips; L2: none. */
	struct cmx_link_sum *chips_above;
	/** @vpc: VPC link of each node. */
	struct cmx_link_sum *vpc;
	/** @planes_ub: by plane: links of entities. */
	struct cmx_link_sum planes_ub[CMX_FABRIC_MAX_PLANES];
	/** @planes_l2: by plane: links between chips. */
	struct cmx_link_sum planes_l2[CMX_FABRIC_MAX_PLANES];
	/** @kinds: by enum cmx_fabric_link_kind. */
	struct cmx_link_sum kinds[CMX_FABRIC_LINK_VPC + 1];
	/* All arrays are parts of this one. */
	struct cmx_link_sum *storage;
};

/* Needs the links; 0, or -1 and a text on stderr. */
int cmx_link_sums_make(const char *command, const struct cmx_snapshot *snapshot,
		       struct cmx_link_sums *sums);
void cmx_link_sums_free(struct cmx_link_sums *sums);

void cmx_link_sum_add(struct cmx_link_sum *sum, const struct cmx_link_sum *other);

/* Busy share in permille of the busier direction, mean of the links that are up. */
uint32_t cmx_link_sum_busy(const struct cmx_link_sum *sum, uint64_t span_ps);

#endif /* CMX_LINK_SUMS_H */
