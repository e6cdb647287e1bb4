// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>

#include "cmx_amount.h"
#include "cmx_command.h"
#include "cmx_part.h"
#include "cmx_ranges.h"
#include "cmx_stdout.h"
#include "cmx_topo.h"

static const struct cmx_fabric_end *end_of(const struct cmx_topo_hop *hop,
					   const struct cmx_fabric_link *link, bool from)
{
	return from == hop->up ? &link->a : &link->b;
}

/* "plane2.chip0-15": @numbers are those of the chips in the plane. */
static void put_chips(const struct cmx_topo_path *path, const struct cmx_topo_hop *hop,
		      uint32_t *numbers)
{
	const struct cmx_fabric_machine *m = &path->snapshot->machine;
	uint32_t first = path->links[hop->first]->b.index - m->num_l1;

	for (uint32_t i = 0; i < hop->count; i++)
		numbers[i] = (path->links[hop->first + i]->b.index - m->num_l1) % m->l2_per_plane;
	printf("plane%u.chip", first / m->l2_per_plane);
	cmx_ranges_put(stdout, numbers, hop->count);
}

static void put_end(const struct cmx_topo_path *path, const struct cmx_topo_hop *hop, bool from,
		    uint32_t *numbers)
{
	const struct cmx_fabric_link *link = path->links[hop->first];

	if (link->kind == CMX_FABRIC_LINK_L2 && from != hop->up)
		put_chips(path, hop, numbers);
	else
		printf("%s", cmx_part_end(&path->snapshot->machine,
					  end_of(hop, link, from)).text);
}

static void put_hop(const struct cmx_topo_path *path, const struct cmx_topo_hop *hop,
		    uint32_t *numbers)
{
	uint32_t down = 0, degraded = 0;

	if (!hop->count) {
		printf("  no link between chips\n");
		return;
	}
	for (uint32_t i = 0; i < hop->count; i++) {
		numbers[i] = path->links[hop->first + i]->index;
		down += !path->links[hop->first + i]->effective;
		degraded += path->links[hop->first + i]->effective < 1000;
	}
	degraded -= down;
	printf("  link%s ", hop->count > 1 ? "s" : "");
	cmx_ranges_put(stdout, numbers, hop->count);
	printf(": ");
	put_end(path, hop, true, numbers);
	printf(" to ");
	put_end(path, hop, false, numbers);
	if (down)
		printf(" (%u down)", down);
	if (degraded)
		printf(" (%u degraded)", degraded);
	printf("\n");
}

static void put_lane(const struct cmx_topo_path *path, const struct cmx_topo_lane *lane,
		     uint32_t *numbers)
{
	if (lane->plane == UINT32_MAX)
		printf("between the dies of an NPU");
	else if (lane->plane < CMX_FABRIC_MAX_PLANES)
		printf("UB plane %u", lane->plane);
	else
		printf("%s plane", lane->plane == CMX_FABRIC_PLANE_RDMA ? "RDMA" : "VPC");
	if (lane->used)
		printf(", %s\n", cmx_amount_rate(lane->rate).text);
	else
		printf(": not used\n");
	for (uint32_t i = 0; i < lane->num_hops; i++)
		put_hop(path, &lane->hops[i], numbers);
}

static void put_expectation(const struct cmx_fabric_route *r)
{
	printf("when nothing else runs:\n");
	printf("  read   %s, 512 bytes in %s\n", cmx_amount_rate(r->read_rate).text,
	       cmx_amount_time(r->read_ps).text);
	printf("  write  %s, 512 bytes in %s\n", cmx_amount_rate(r->write_rate).text,
	       cmx_amount_time(r->write_ps).text);
}

static void put_summary(const struct cmx_topo_path *path)
{
	const struct cmx_fabric_machine *m = &path->snapshot->machine;
	const struct cmx_fabric_route *r = &path->route;

	printf("%s (entity %u) to ", cmx_part_entity(m, r->from).text, r->from);
	printf("%s (entity %u): ", cmx_part_entity(m, r->to).text, r->to);
	if (!r->reachable)
		printf("cut off, commands end with UB_CR_ACK_TIMEOUT\n");
	else if (!r->hops)
		printf("the same entity\n");
	else
		printf("%u link%s%s%s\n", r->hops, r->hops > 1 ? "s" : "",
		       r->planes ? " in each of the planes " : "",
		       cmx_part_planes(r->planes).text);
}

int cmx_topo_print_path(const struct cmx_topo_path *path)
{
	uint32_t *numbers = calloc(path->num_links + 1, sizeof(*numbers));

	if (!numbers) {
		fprintf(stderr, "cmx topo: no memory for %u links\n", path->num_links);
		return CMX_EXIT_FAILED;
	}
	put_summary(path);
	for (uint32_t i = 0; i < path->num_lanes; i++)
		put_lane(path, &path->lanes[i], numbers);
	if (path->route.reachable)
		put_expectation(&path->route);
	free(numbers);
	if (cmx_stdout_flush("topo"))
		return CMX_EXIT_FAILED;
	return path->route.reachable ? CMX_EXIT_OK : CMX_EXIT_FAILED;
}
