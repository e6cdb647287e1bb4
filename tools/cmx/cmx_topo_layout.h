/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where things are in the picture of a supernode, in pixels. Compute racks stand above and
 * below the switch racks; between them each plane has a line that all racks meet.
 */
#ifndef CMX_TOPO_LAYOUT_H
#define CMX_TOPO_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include <cmx/fabric.h>

#define CMX_RACK_NODES		4	/* nodes in a compute rack */
#define CMX_SWITCH_RACKS	4	/* racks with the L2 chips */

/* Cells with the gap behind them. */
#define CMX_LAYOUT_DIE		9
#define CMX_LAYOUT_SOCKET	12
#define CMX_LAYOUT_L1		10
#define CMX_LAYOUT_OUTER	12
#define CMX_LAYOUT_L2		16
#define CMX_LAYOUT_LANE		10

struct cmx_layout {
	const struct cmx_fabric_machine *machine;
	uint32_t width;
	uint32_t height;
	/* Compute racks, and how many stand above the switch racks. */
	uint32_t racks;
	uint32_t above;
	uint32_t node_width;
	uint32_t rack_width;
	uint32_t rack_height;
	uint32_t rack_x;
	/* Rows of L2 chips in a switch rack. */
	uint32_t switch_rows;
	uint32_t switch_width;
	uint32_t switch_height;
	/* Bands of the picture: their upper edges. */
	uint32_t above_y;
	uint32_t lanes_above_y;
	uint32_t switch_y;
	uint32_t lanes_below_y;
	uint32_t below_y;
	uint32_t legend_y;
};

struct cmx_place {
	uint32_t x;
	uint32_t y;
};

void cmx_layout_make(struct cmx_layout *layout, const struct cmx_fabric_machine *machine);

/* Upper left corners. */
struct cmx_place cmx_layout_rack(const struct cmx_layout *layout, uint32_t rack);
struct cmx_place cmx_layout_node(const struct cmx_layout *layout, uint32_t node);
/* Dies by number in the node. */
struct cmx_place cmx_layout_die(const struct cmx_layout *layout, uint32_t node, uint32_t die);
struct cmx_place cmx_layout_socket(const struct cmx_layout *layout, uint32_t node,
				   uint32_t socket);
struct cmx_place cmx_layout_l1(const struct cmx_layout *layout, uint32_t node, uint32_t plane);
/* RDMA (0) and VPC (1). */
struct cmx_place cmx_layout_outer(const struct cmx_layout *layout, uint32_t node, uint32_t which);
struct cmx_place cmx_layout_switch_rack(const struct cmx_layout *layout, uint32_t rack);
/* @chip: number in its plane. */
struct cmx_place cmx_layout_l2(const struct cmx_layout *layout, uint32_t plane, uint32_t chip);

/* Height of a plane's line that the racks above, or below, meet. */
uint32_t cmx_layout_lane(const struct cmx_layout *layout, bool above, uint32_t plane);
/* Where the lines of a compute rack go down to it. */
uint32_t cmx_layout_trunk(const struct cmx_layout *layout, uint32_t rack, uint32_t plane);

#endif /* CMX_TOPO_LAYOUT_H */
