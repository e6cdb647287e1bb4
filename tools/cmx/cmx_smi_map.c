// SPDX-License-Identifier: GPL-2.0-only
/*
 * All dies as a map of the racks: a column for each rack, a line for each node, a letter or
 * block for each die.
 */
#include <stdio.h>

#include "cmx_amount.h"
#include "cmx_heat.h"
#include "cmx_part.h"
#include "cmx_smi.h"
#include "cmx_stdout.h"

#define RACK_NODES	4
#define LABEL		4
#define GAP		2
#define MAX_IN_A_ROW	6

static void put_share(const struct cmx_smi *smi, uint32_t permille)
{
	const struct cmx_heat *heat = cmx_heat_of(permille);

	if (smi->colour)
		printf("\033[48;5;%um \033[0m", heat->terminal);
	else if (smi->utf8)
		fputs(heat->block, stdout);
	else
		putchar(heat->letter);
}

static void put_down(const struct cmx_smi *smi)
{
	if (smi->colour)
		printf("\033[48;5;%um\033[97mx\033[0m", CMX_HEAT_DOWN_TERMINAL);
	else
		putchar('x');
}

static void put_node(const struct cmx_smi *smi, uint32_t node, bool last)
{
	const struct cmx_fabric_machine *m = &smi->snapshot.machine;
	uint32_t dies = m->npus_per_node * m->dies_per_npu;

	printf("%-*s", LABEL, cmx_part_node(node).text);
	for (uint32_t i = node * dies; i < (node + 1) * dies; i++) {
		if (smi->snapshot.entities[i].admin_up)
			put_share(smi, cmx_smi_share(smi, i, smi->by));
		else
			put_down(smi);
	}
	printf("%*s", last ? 0 : GAP, "");
}

/* As many racks as fit, but no row of a few left over where it can be helped. */
static uint32_t racks_in_a_row(const struct cmx_smi *smi)
{
	const struct cmx_fabric_machine *m = &smi->snapshot.machine;
	uint32_t width = LABEL + m->npus_per_node * m->dies_per_npu + GAP;
	uint32_t fit = (smi->columns + GAP) / width;

	if (fit >= MAX_IN_A_ROW)
		return MAX_IN_A_ROW;
	if (fit == 5)
		return 4;
	return fit ? fit : 1;
}

static void put_row(const struct cmx_smi *smi, uint32_t first, uint32_t end)
{
	const struct cmx_fabric_machine *m = &smi->snapshot.machine;
	int width = (int)(LABEL + m->npus_per_node * m->dies_per_npu + GAP);

	for (uint32_t r = first; r < end; r++) {
		char name[24];

		snprintf(name, sizeof(name), "rack %u", r);
		printf("%-*s", r + 1 < end ? width : 0, name);
	}
	printf("\n");
	for (uint32_t n = 0; n < RACK_NODES; n++) {
		bool any = false;

		for (uint32_t r = first; r < end; r++) {
			uint32_t node = r * RACK_NODES + n;

			if (node >= m->nodes)
				continue;
			put_node(smi, node, r + 1 == end || node + RACK_NODES >= m->nodes);
			any = true;
		}
		if (any)
			printf("\n");
	}
}

static void put_legend(const struct cmx_smi *smi)
{
	for (uint32_t i = 0; i < CMX_HEAT_STEPS; i++) {
		put_share(smi, cmx_heat_steps[i].limit);
		printf(" %s%s  ", i ? "to " : "", cmx_heat_steps[i].label);
	}
	put_down(smi);
	printf(" down\n");
}

int cmx_smi_print_map(const struct cmx_smi *smi)
{
	static const char * const titles[] = {
		[CMX_SMI_HBM] = "memory in use",
		[CMX_SMI_CORE] = "cube cores busy",
		[CMX_SMI_PORT] = "UB links busy",
	};
	const struct cmx_snapshot *s = &smi->snapshot;
	uint32_t racks = (s->machine.nodes + RACK_NODES - 1) / RACK_NODES;
	uint32_t row = racks_in_a_row(smi);

	printf("%s: %s of %u NPUs", s->machine.profile, titles[smi->by],
	       s->machine.nodes * s->machine.npus_per_node);
	if (smi->by != CMX_SMI_HBM)
		printf(" over %s of virtual time", cmx_amount_time(s->span_ps).text);
	printf("\n");
	for (uint32_t r = 0; r < racks; r += row)
		put_row(smi, r, r + row < racks ? r + row : racks);
	put_legend(smi);
	return cmx_stdout_flush("smi");
}
