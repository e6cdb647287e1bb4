// SPDX-License-Identifier: GPL-2.0-only
#include <inttypes.h>
#include <stdio.h>

#include "cmx_amount.h"
#include "cmx_link.h"
#include "cmx_part.h"
#include "cmx_stdout.h"

struct cmx_amount cmx_link_state(const struct cmx_fabric_link *link)
{
	struct cmx_amount state;

	if (!link->effective)
		snprintf(state.text, sizeof(state.text), "down");
	else if (link->effective >= 1000)
		snprintf(state.text, sizeof(state.text), "up");
	else
		snprintf(state.text, sizeof(state.text), "%u", link->effective);
	return state;
}

static void put_row(const struct cmx_fabric_machine *m, const struct cmx_fabric_link *link)
{
	char plane[12] = "-";

	if (link->plane < m->planes)
		snprintf(plane, sizeof(plane), "%u", link->plane);
	printf("%6u  %-4s  %5s  ", link->index, cmx_part_link_kind(link->kind), plane);
	printf("%-15s  ", cmx_part_end(m, &link->a).text);
	printf("%-15s  %10s  %s\n", cmx_part_end(m, &link->b).text,
	       cmx_amount_rate(link->rate).text, cmx_link_state(link).text);
}

int cmx_link_print_list(const struct cmx_snapshot *snapshot, const struct cmx_link_filter *filter)
{
	const struct cmx_fabric_machine *m = &snapshot->machine;
	uint32_t count = 0;

	printf("  link  kind  plane  %-15s  %-15s  %10s  state\n", "a", "b", "rate");
	for (uint32_t i = 0; i < m->num_links; i++) {
		if (!cmx_link_matches(m, &snapshot->links[i], filter))
			continue;
		put_row(m, &snapshot->links[i]);
		count++;
	}
	printf("%u of %u links\n", count, m->num_links);
	return cmx_stdout_flush("link");
}

/* What at an end keeps a link down that is not set down itself. */
static const char *end_state(const struct cmx_snapshot *s, const struct cmx_fabric_end *end)
{
	if (end->kind == CMX_FABRIC_ENTITY)
		return s->entities[end->index].admin_up ? "up" : "down";
	if (end->kind == CMX_FABRIC_CHIP)
		return s->chips[end->index].admin_up ? "up" : "down";
	return "up";
}

static void put_direction(const struct cmx_fabric_machine *m, const struct cmx_fabric_end *from,
			  const struct cmx_fabric_end *to, uint64_t bytes, uint64_t busy_ps,
			  uint64_t span_ps)
{
	printf("  %s to ", cmx_part_end(m, from).text);
	printf("%s: %" PRIu64 " bytes, busy %s (%s of virtual time)\n",
	       cmx_part_end(m, to).text, bytes, cmx_amount_time(busy_ps).text,
	       cmx_amount_permille(cmx_permille(busy_ps, span_ps)).text);
}

int cmx_link_print_one(const struct cmx_snapshot *snapshot, uint32_t index)
{
	const struct cmx_fabric_machine *m = &snapshot->machine;
	const struct cmx_fabric_link *l = &snapshot->links[index];

	printf("link %u: %s", index, cmx_part_link_kind(l->kind));
	if (l->plane < m->planes)
		printf(", plane %u", l->plane);
	printf(", %s each way\n", cmx_amount_rate(l->rate).text);
	printf("  a: %s, port %u, %s\n", cmx_part_end(m, &l->a).text, l->a.port,
	       end_state(snapshot, &l->a));
	printf("  b: %s, port %u, %s\n", cmx_part_end(m, &l->b).text, l->b.port,
	       end_state(snapshot, &l->b));
	printf("  set %s, %u permille; has %u permille now; changed %u times\n",
	       l->admin_up ? "up" : "down", l->permille, l->effective, l->changes);
	put_direction(m, &l->a, &l->b, l->up_bytes, l->up_busy_ps, snapshot->span_ps);
	put_direction(m, &l->b, &l->a, l->down_bytes, l->down_busy_ps, snapshot->span_ps);
	return cmx_stdout_flush("link");
}
