// SPDX-License-Identifier: GPL-2.0-only
/*
 * A picture of the supernode: racks, nodes and planes, coloured by how busy their links were.
 * Tooltips give the numbers.
 */
#include <stdarg.h>

#include "cmx_amount.h"
#include "cmx_heat.h"
#include "cmx_link_sums.h"
#include "cmx_part.h"
#include "cmx_svg.h"
#include "cmx_topo.h"
#include "cmx_topo_layout.h"

#define INK	"#30363d"
#define FAINT	"#6e7781"

struct drawing {
	const struct cmx_snapshot *snapshot;
	const struct cmx_fabric_machine *machine;
	struct cmx_link_sums sums;
	struct cmx_layout layout;
	FILE *to;
};

/** struct cell - a part's mark: a rectangle with round corners. */
struct cell {
	struct cmx_place at;
	uint32_t width;
	uint32_t height;
	uint32_t round;
	/* As the administrator set it. */
	bool up;
	/* Links that are down for the sake of what is drawn as down at their other end. */
	uint32_t excused;
	const struct cmx_link_sum *links;
};

static void put_label(const struct drawing *d, uint32_t x, uint32_t y, const char *style,
		      const char *format, ...)
{
	char text[160];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(d->to, "<text x=\"%u\" y=\"%u\" %s>", x, y, style);
	cmx_svg_text(d->to, text);
	fputs("</text>\n", d->to);
}

static bool is_down(const struct cell *cell)
{
	return !cell->up || (cell->links->links && !cell->links->up);
}

static bool is_partly_down(const struct cmx_link_sum *sum, uint32_t excused)
{
	return sum->up + excused < sum->links || sum->degraded;
}

/* L1 chips of a plane that are down, in nodes @first to before @end. */
static uint32_t l1_down(const struct drawing *d, uint32_t plane, uint32_t first, uint32_t end)
{
	uint32_t down = 0;

	for (uint32_t n = first; n < end && n < d->machine->nodes; n++)
		down += !d->snapshot->chips[n * d->machine->planes + plane].admin_up;
	return down;
}

static const char *colour_of(const struct drawing *d, const struct cmx_link_sum *sum)
{
	return cmx_heat_of(cmx_link_sum_busy(sum, d->snapshot->span_ps))->colour;
}

static void put_cross(const struct drawing *d, const struct cell *c)
{
	fprintf(d->to,
		"<path d=\"M%u %ul%d %dm0 %dl%d %d\" stroke=\"#fff\" stroke-width=\"1.5\"/>\n",
		c->at.x + 2, c->at.y + 2, (int)c->width - 4, (int)c->height - 4,
		4 - (int)c->height, 4 - (int)c->width, (int)c->height - 4);
}

static void put_cell(const struct drawing *d, const struct cell *c, const char *name)
{
	bool down = is_down(c), partly = !down && is_partly_down(c->links, c->excused);

	fprintf(d->to,
		"<rect class=\"%s\" x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"%u\" "
		"fill=\"%s\"><title>", partly ? "p" : "c", c->at.x, c->at.y, c->width, c->height,
		c->round, down ? CMX_HEAT_DOWN : colour_of(d, c->links));
	cmx_svg_text(d->to, name);
	fprintf(d->to, "%s: %u of %u links up, %u degraded, busy %s</title></rect>\n",
		c->up ? "" : ", down", c->links->up, c->links->links, c->links->degraded,
		cmx_amount_permille(cmx_link_sum_busy(c->links, d->snapshot->span_ps)).text);
	if (down)
		put_cross(d, c);
}

/* RDMA links of all dies of a node as one. */
static struct cmx_link_sum rdma_of(const struct drawing *d, uint32_t node)
{
	uint32_t dies = d->machine->npus_per_node * d->machine->dies_per_npu;
	struct cmx_link_sum sum = {};

	for (uint32_t i = node * dies; i < (node + 1) * dies; i++)
		cmx_link_sum_add(&sum, &d->sums.rdma[i]);
	return sum;
}

static void put_entities(const struct drawing *d, uint32_t node)
{
	const struct cmx_fabric_machine *m = d->machine;
	uint32_t dies = m->npus_per_node * m->dies_per_npu;

	for (uint32_t i = 0; i < dies + m->sockets_per_node; i++) {
		uint32_t entity = i < dies ? node * dies + i :
				  m->num_dies + node * m->sockets_per_node + i - dies;
		struct cell cell = {
			.width = i < dies ? CMX_LAYOUT_DIE - 1 : CMX_LAYOUT_SOCKET - 2,
			.height = 10,
			.round = 1,
			.up = d->snapshot->entities[entity].admin_up,
			.links = &d->sums.entities[entity],
		};

		cell.at = i < dies ? cmx_layout_die(&d->layout, node, i) :
				     cmx_layout_socket(&d->layout, node, i - dies);
		put_cell(d, &cell, cmx_part_entity(m, entity).text);
	}
}

static void put_l1_chips(const struct drawing *d, uint32_t node)
{
	for (uint32_t p = 0; p < d->machine->planes; p++) {
		uint32_t chip = node * d->machine->planes + p;
		const struct cell cell = {
			.at = cmx_layout_l1(&d->layout, node, p),
			.width = CMX_LAYOUT_L1 - 3,
			.height = 10,
			.round = 3,
			.up = d->snapshot->chips[chip].admin_up,
			.links = &d->sums.chips_above[chip],
		};

		put_cell(d, &cell, cmx_part_chip(d->machine, chip).text);
	}
}

static void put_outer_ports(const struct drawing *d, uint32_t node)
{
	const struct cmx_link_sum rdma = rdma_of(d, node);
	struct cell cell = {
		.at = cmx_layout_outer(&d->layout, node, 0),
		.width = CMX_LAYOUT_OUTER - 2,
		.height = 10,
		.round = 5,
		.up = true,
		.links = &rdma,
	};
	char name[48];

	snprintf(name, sizeof(name), "n%u, RDMA plane", node);
	put_cell(d, &cell, name);
	snprintf(name, sizeof(name), "n%u, VPC plane", node);
	cell.at = cmx_layout_outer(&d->layout, node, 1);
	cell.links = &d->sums.vpc[node];
	put_cell(d, &cell, name);
}

static void put_node(const struct drawing *d, uint32_t node)
{
	struct cmx_place at = cmx_layout_node(&d->layout, node);

	fprintf(d->to,
		"<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"30\" rx=\"3\" fill=\"#fff\" "
		"stroke=\"#d5dbe1\"/>\n", at.x, at.y, d->layout.node_width);
	put_label(d, at.x + 4, at.y + 12, "font-size=\"10\"", "n%u", node);
	put_entities(d, node);
	put_l1_chips(d, node);
	put_outer_ports(d, node);
}

static void put_rack(const struct drawing *d, uint32_t rack)
{
	struct cmx_place at = cmx_layout_rack(&d->layout, rack);

	fprintf(d->to,
		"<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"4\" fill=\"#f6f8fa\" "
		"stroke=\"#c4ccd4\"/>\n", at.x, at.y, d->layout.rack_width,
		d->layout.rack_height);
	put_label(d, at.x + 6, at.y + 12, "font-size=\"10\" fill=\"" FAINT "\"", "rack %u", rack);
}

/* What the nodes of a compute rack have in a plane. */
static struct cmx_link_sum trunk_of(const struct drawing *d, uint32_t rack, uint32_t plane)
{
	uint32_t end = (rack + 1) * CMX_RACK_NODES;
	struct cmx_link_sum sum = {};

	for (uint32_t n = rack * CMX_RACK_NODES; n < end && n < d->machine->nodes; n++)
		cmx_link_sum_add(&sum, &d->sums.chips_above[n * d->machine->planes + plane]);
	return sum;
}

static void put_line(const struct drawing *d, struct cmx_place from, struct cmx_place to,
		     const struct cmx_link_sum *sum, uint32_t excused, const char *name)
{
	bool down = sum->links && !sum->up, partly = !down && is_partly_down(sum, excused);
	const char *colour = colour_of(d, sum);

	/* The colour of nothing is too faint for a line. */
	if (colour == cmx_heat_steps[0].colour)
		colour = "#d0d7de";
	if (partly)
		fprintf(d->to,
			"<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" stroke=\"%s\" "
			"stroke-width=\"5\"/>\n", from.x, from.y, to.x, to.y, CMX_HEAT_PARTLY);
	fprintf(d->to,
		"<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" stroke=\"%s\" stroke-width=\"3\"",
		from.x, from.y, to.x, to.y, down ? CMX_HEAT_DOWN : colour);
	fprintf(d->to, "%s><title>", down ? " stroke-dasharray=\"3 3\"" : "");
	cmx_svg_text(d->to, name);
	fprintf(d->to, ": %u of %u links up, %u degraded, busy %s</title></line>\n", sum->up,
		sum->links, sum->degraded,
		cmx_amount_permille(cmx_link_sum_busy(sum, d->snapshot->span_ps)).text);
}

/* A compute rack's lines to those of the planes. */
static void put_trunks(const struct drawing *d, uint32_t rack)
{
	const struct cmx_layout *l = &d->layout;
	bool above = rack < l->above;
	char name[48];

	for (uint32_t p = 0; p < d->machine->planes; p++) {
		uint32_t first = rack * CMX_RACK_NODES;
		uint32_t excused = d->machine->l2_per_plane *
				   l1_down(d, p, first, first + CMX_RACK_NODES);
		const struct cmx_link_sum sum = trunk_of(d, rack, p);
		struct cmx_place from = { cmx_layout_trunk(l, rack, p), l->below_y };
		struct cmx_place to = { from.x, cmx_layout_lane(l, above, p) };

		if (above)
			from.y = l->above_y + l->rack_height;
		snprintf(name, sizeof(name), "rack %u, plane %u", rack, p);
		put_line(d, from, to, &sum, excused, name);
		fprintf(d->to, "<circle cx=\"%u\" cy=\"%u\" r=\"2.5\" fill=\"" INK "\"/>\n", to.x,
			to.y);
	}
}

/* The line of a plane, and from it to the plane's chips in each switch rack. */
static void put_lane(const struct drawing *d, bool above, uint32_t plane)
{
	const struct cmx_layout *l = &d->layout;
	uint32_t y = cmx_layout_lane(l, above, plane);
	uint32_t edge = above ? l->switch_y : l->switch_y + l->switch_height;

	fprintf(d->to,
		"<path d=\"M38 %uH%u\" stroke=\"#8c959f\" stroke-width=\"1\"/>\n", y,
		l->width - 14);
	put_label(d, 32, y + 3, "font-size=\"9\" text-anchor=\"end\" fill=\"" FAINT "\"", "p%u",
		  plane);
	for (uint32_t r = 0; r < CMX_SWITCH_RACKS; r++) {
		uint32_t x = cmx_layout_switch_rack(l, r).x + 6 + plane * CMX_LAYOUT_L2 +
			     CMX_LAYOUT_L2 / 2 - 1;

		fprintf(d->to,
			"<path d=\"M%u %uV%u\" stroke=\"#8c959f\" stroke-width=\"1\"/>\n"
			"<circle cx=\"%u\" cy=\"%u\" r=\"2\" fill=\"#8c959f\"/>\n", x, y, edge, x,
			y);
	}
}

static void put_switch_rack(const struct drawing *d, uint32_t rack)
{
	struct cmx_place at = cmx_layout_switch_rack(&d->layout, rack);

	fprintf(d->to,
		"<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" rx=\"4\" fill=\"#f6f8fa\" "
		"stroke=\"#c4ccd4\"/>\n", at.x, at.y, d->layout.switch_width,
		d->layout.switch_height);
	put_label(d, at.x + 6, at.y + d->layout.switch_height - 5,
		  "font-size=\"10\" fill=\"" FAINT "\"", "switch rack %u", rack);
}

static void put_l2_chips(const struct drawing *d)
{
	const struct cmx_fabric_machine *m = d->machine;

	for (uint32_t i = m->num_l1; i < m->num_chips; i++) {
		uint32_t l2 = i - m->num_l1;
		const struct cell cell = {
			.at = cmx_layout_l2(&d->layout, l2 / m->l2_per_plane,
					    l2 % m->l2_per_plane),
			.width = CMX_LAYOUT_L2 - 3,
			.height = CMX_LAYOUT_L2 - 3,
			.round = 3,
			.up = d->snapshot->chips[i].admin_up,
			.excused = l1_down(d, l2 / m->l2_per_plane, 0, m->nodes),
			.links = &d->sums.chips_below[i],
		};

		put_cell(d, &cell, cmx_part_chip(m, i).text);
	}
}

static void put_title(const struct drawing *d)
{
	const struct cmx_fabric_machine *m = d->machine;

	put_label(d, 14, 26, "font-size=\"17\" font-weight=\"600\"",
		  "%s: %u node%s, %u NPUs (%u dies), %u CPU sockets", m->profile, m->nodes,
		  m->nodes == 1 ? "" : "s", m->nodes * m->npus_per_node, m->num_dies,
		  m->num_entities - m->num_dies);
	put_label(d, 14, 45, "font-size=\"12\" fill=\"" FAINT "\"",
		  "%u UB planes of %u L2 chips, %u links: %u down, %u degraded; "
		  "load over %s of virtual time",
		  m->planes, m->l2_per_plane, m->num_links, m->links_down, m->links_degraded,
		  cmx_amount_time(d->snapshot->span_ps).text);
}

/* A swatch and what it means; returns where the next one may begin. */
static uint32_t put_key(const struct drawing *d, uint32_t x, uint32_t y, const char *shape,
			const char *text, uint32_t text_width)
{
	fprintf(d->to, "<g transform=\"translate(%u %u)\">%s</g>\n", x, y, shape);
	put_label(d, x + 28, y + 10, "font-size=\"11\"", "%s", text);
	return x + 28 + text_width;
}

static void put_scale(const struct drawing *d, uint32_t x, uint32_t y)
{
	put_label(d, x, y + 10, "font-size=\"11\"", "busy, up to:");
	for (uint32_t i = 0; i < CMX_HEAT_STEPS; i++) {
		uint32_t at = x + 76 + 44 * i;

		fprintf(d->to,
			"<rect x=\"%u\" y=\"%u\" width=\"43\" height=\"14\" fill=\"%s\" "
			"stroke=\"#b9c2cb\" stroke-width=\"0.5\"/>\n", at, y,
			cmx_heat_steps[i].colour);
		put_label(d, at + 21, y + 26, "font-size=\"10\" text-anchor=\"middle\"", "%s",
			  cmx_heat_steps[i].label);
	}
}

static void put_legend(const struct drawing *d)
{
	static const char square[] =
		"<rect width=\"10\" height=\"10\" rx=\"1\" x=\"8\" y=\"1\" fill=\"#eef1f4\" "
		"stroke=\"#8c959f\"/>";
	static const char bar[] =
		"<rect width=\"7\" height=\"10\" rx=\"3\" x=\"10\" y=\"1\" fill=\"#eef1f4\" "
		"stroke=\"#8c959f\"/>";
	static const char circle[] =
		"<circle r=\"5\" cx=\"13\" cy=\"6\" fill=\"#eef1f4\" stroke=\"#8c959f\"/>";
	static const char pair[] =
		"<path d=\"M3 1h9v10h-9zM13 1h9v10h-9z\" fill=\"#eef1f4\" stroke=\"#8c959f\"/>";
	static const char down[] =
		"<rect width=\"12\" height=\"12\" x=\"7\" rx=\"1\" fill=\"" CMX_HEAT_DOWN "\"/>"
		"<path d=\"M9 2l8 8m0 -8l-8 8\" stroke=\"#fff\" stroke-width=\"1.5\"/>";
	static const char partly[] =
		"<rect class=\"p\" width=\"11\" height=\"11\" x=\"7\" rx=\"1\" fill=\"#eef1f4\"/>";
	uint32_t y = d->layout.legend_y, x = 14;

	put_label(d, x, y + 10, "font-size=\"11\" font-weight=\"600\"", "A node:");
	x = put_key(d, x + 50, y, square, "CPU socket", 70);
	x = put_key(d, x, y, bar, "L1 chip, one a plane (its links to L2)", 208);
	x = put_key(d, x, y, circle, "RDMA, VPC ports", 98);
	put_key(d, x, y, pair, d->machine->dies_per_npu == 2 ? "NPU of two dies" : "dies", 100);
	put_scale(d, 14, y + 26);
	x = put_key(d, 420, y + 26, down, "down", 40);
	x = put_key(d, x, y + 26, partly, "some links down or degraded", 166);
	put_label(d, 14, y + 74, "font-size=\"11\" fill=\"" FAINT "\"",
		  "Colours: how much of the time the links of a part were busy, the mean of "
		  "those that are up, in the busier direction.");
}

static void put_picture(const struct drawing *d)
{
	const struct cmx_layout *l = &d->layout;

	fprintf(d->to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" fill=\"" INK "\">\n"
		"<style>.c{stroke:#b9c2cb;stroke-width:.5}"
		".p{stroke:" CMX_HEAT_PARTLY ";stroke-width:2}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n", l->width, l->height,
		l->width, l->height);
	put_title(d);
	for (uint32_t p = 0; p < d->machine->planes; p++) {
		put_lane(d, true, p);
		if (l->racks > l->above)
			put_lane(d, false, p);
	}
	for (uint32_t r = 0; r < l->racks; r++) {
		put_trunks(d, r);
		put_rack(d, r);
	}
	for (uint32_t n = 0; n < d->machine->nodes; n++)
		put_node(d, n);
	for (uint32_t r = 0; r < CMX_SWITCH_RACKS; r++)
		put_switch_rack(d, r);
	put_l2_chips(d);
	put_legend(d);
	fputs("</svg>\n", d->to);
}

int cmx_topo_svg(const struct cmx_snapshot *snapshot, FILE *to)
{
	struct drawing d = { .snapshot = snapshot, .machine = &snapshot->machine, .to = to };

	if (cmx_link_sums_make("topo", snapshot, &d.sums))
		return -1;
	cmx_layout_make(&d.layout, d.machine);
	put_picture(&d);
	cmx_link_sums_free(&d.sums);
	return 0;
}
