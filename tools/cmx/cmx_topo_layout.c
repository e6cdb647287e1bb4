// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_topo_layout.h"

#define MARGIN		14
#define MIN_WIDTH	900
#define TITLE		58
#define NODE_LABEL	26
#define NODE_PAD	3
#define NODE_HEIGHT	30
#define NODE_PITCH	34
#define SECOND_ROW	17
#define RACK_PAD	3
#define RACK_LABEL	17
#define RACK_GAP	7
#define NPU_GAP		4
#define COLUMN_GAP	4
#define LANES_GAP	9
#define SWITCH_PAD	6
#define SWITCH_LABEL	12
#define LEGEND		88
#define RACKS_IN_A_ROW	6

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t npu_width(const struct cmx_fabric_machine *m)
{
	return m->dies_per_npu * CMX_LAYOUT_DIE + NPU_GAP;
}

/* The upper row has the label, sockets, L1 chips and outer ports; the lower one the dies. */
static uint32_t node_width(const struct cmx_fabric_machine *m)
{
	uint32_t upper = NODE_LABEL + m->sockets_per_node * CMX_LAYOUT_SOCKET + COLUMN_GAP +
			 m->planes * CMX_LAYOUT_L1 + COLUMN_GAP + 2 * CMX_LAYOUT_OUTER;

	return 2 * NODE_PAD + larger(upper, m->npus_per_node * npu_width(m));
}

static void place_bands(struct cmx_layout *l)
{
	uint32_t lanes = 2 * LANES_GAP + (l->machine->planes - 1) * CMX_LAYOUT_LANE;

	l->above_y = TITLE;
	l->lanes_above_y = l->above_y + l->rack_height;
	l->switch_y = l->lanes_above_y + lanes;
	l->lanes_below_y = l->switch_y + l->switch_height;
	l->below_y = l->lanes_below_y;
	l->legend_y = l->below_y + MARGIN;
	if (l->racks > l->above) {
		l->below_y += lanes;
		l->legend_y = l->below_y + l->rack_height + MARGIN;
	}
	l->height = l->legend_y + LEGEND;
}

void cmx_layout_make(struct cmx_layout *l, const struct cmx_fabric_machine *machine)
{
	uint32_t nodes = machine->nodes < CMX_RACK_NODES ? machine->nodes : CMX_RACK_NODES;
	uint32_t racks_width, switches_width;

	l->machine = machine;
	l->racks = (machine->nodes + CMX_RACK_NODES - 1) / CMX_RACK_NODES;
	l->above = l->racks > RACKS_IN_A_ROW ? (l->racks + 1) / 2 : l->racks;
	l->node_width = node_width(machine);
	l->rack_width = l->node_width + 2 * RACK_PAD;
	l->rack_height = RACK_LABEL + nodes * NODE_PITCH;
	l->switch_rows = (machine->l2_per_plane + CMX_SWITCH_RACKS - 1) / CMX_SWITCH_RACKS;
	l->switch_width = machine->planes * CMX_LAYOUT_L2 + 2 * SWITCH_PAD;
	l->switch_height = l->switch_rows * CMX_LAYOUT_L2 + 2 * SWITCH_PAD +
			   SWITCH_LABEL;
	racks_width = l->above * (l->rack_width + RACK_GAP) - RACK_GAP;
	switches_width = 6 * (l->switch_width + 10);
	l->width = larger(MIN_WIDTH, larger(racks_width, switches_width) + 2 * MARGIN);
	l->rack_x = (l->width - racks_width) / 2;
	place_bands(l);
}

struct cmx_place cmx_layout_rack(const struct cmx_layout *l, uint32_t rack)
{
	bool above = rack < l->above;
	uint32_t column = above ? rack : rack - l->above;

	return (struct cmx_place){ l->rack_x + column * (l->rack_width + RACK_GAP),
				   above ? l->above_y : l->below_y };
}

struct cmx_place cmx_layout_node(const struct cmx_layout *l, uint32_t node)
{
	struct cmx_place at = cmx_layout_rack(l, node / CMX_RACK_NODES);

	at.x += RACK_PAD;
	at.y += RACK_LABEL + node % CMX_RACK_NODES * NODE_PITCH;
	return at;
}

struct cmx_place cmx_layout_die(const struct cmx_layout *l, uint32_t node, uint32_t die)
{
	const struct cmx_fabric_machine *m = l->machine;
	struct cmx_place at = cmx_layout_node(l, node);

	at.x += NODE_PAD + die / m->dies_per_npu * npu_width(m) +
		die % m->dies_per_npu * CMX_LAYOUT_DIE;
	at.y += SECOND_ROW;
	return at;
}

struct cmx_place cmx_layout_socket(const struct cmx_layout *l, uint32_t node, uint32_t socket)
{
	struct cmx_place at = cmx_layout_node(l, node);

	at.x += NODE_PAD + NODE_LABEL + socket * CMX_LAYOUT_SOCKET;
	at.y += NODE_PAD;
	return at;
}

struct cmx_place cmx_layout_l1(const struct cmx_layout *l, uint32_t node, uint32_t plane)
{
	struct cmx_place at = cmx_layout_socket(l, node, l->machine->sockets_per_node);

	at.x += COLUMN_GAP + plane * CMX_LAYOUT_L1;
	return at;
}

struct cmx_place cmx_layout_outer(const struct cmx_layout *l, uint32_t node, uint32_t which)
{
	struct cmx_place at = cmx_layout_l1(l, node, l->machine->planes);

	at.x += COLUMN_GAP + which * CMX_LAYOUT_OUTER;
	return at;
}

struct cmx_place cmx_layout_switch_rack(const struct cmx_layout *l, uint32_t rack)
{
	/* Where six compute racks in a row leave gaps, but for the middle one. */
	uint32_t sixths = rack < CMX_SWITCH_RACKS / 2 ? rack + 1 : rack + 2;

	return (struct cmx_place){ (l->width * sixths / 6) - l->switch_width / 2, l->switch_y };
}

struct cmx_place cmx_layout_l2(const struct cmx_layout *l, uint32_t plane, uint32_t chip)
{
	struct cmx_place at = cmx_layout_switch_rack(l, chip / l->switch_rows);

	at.x += SWITCH_PAD + plane * CMX_LAYOUT_L2;
	at.y += SWITCH_PAD + chip % l->switch_rows * CMX_LAYOUT_L2;
	return at;
}

uint32_t cmx_layout_lane(const struct cmx_layout *l, bool above, uint32_t plane)
{
	return (above ? l->lanes_above_y : l->lanes_below_y) + LANES_GAP +
	       plane * CMX_LAYOUT_LANE;
}

uint32_t cmx_layout_trunk(const struct cmx_layout *l, uint32_t rack, uint32_t plane)
{
	return cmx_layout_rack(l, rack).x +
	       (l->rack_width - (l->machine->planes - 1) * CMX_LAYOUT_L1) / 2 +
	       plane * CMX_LAYOUT_L1;
}
