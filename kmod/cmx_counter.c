// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include <linux/overflow.h>

#include "cmx_counter.h"
#include "cmx_entity.h"
#include "cmx_timeline.h"

int cmx_totals_init(struct cmx_totals *totals, const struct cmx_machine *machine)
{
	struct cmx_counters *c = &totals->counters;

	totals->num_links = machine->fabric.topo.num_links;
	totals->num_entities = machine->num_entities;
	c->links = kvcalloc(totals->num_links, sizeof(*c->links), GFP_KERNEL);
	c->entities = kvcalloc(totals->num_entities, sizeof(*c->entities), GFP_KERNEL);
	if (c->links && c->entities)
		return 0;
	cmx_totals_fini(totals);
	return -ENOMEM;
}

void cmx_totals_fini(struct cmx_totals *totals)
{
	kvfree(totals->counters.links);
	kvfree(totals->counters.entities);
}

void cmx_counters_add_time(struct cmx_counters *sum, u64 now, u64 total)
{
	sum->now = max(sum->now, now);
	if (check_add_overflow(sum->total, total, &sum->total))
		sum->total = U64_MAX;
}

void cmx_totals_keep(struct cmx_totals *totals, const struct cmx_servers *servers, u64 now)
{
	cmx_counters_add(&totals->counters, servers);
	cmx_counters_add_time(&totals->counters, now, now);
}

static void cmx_link_counters_add(struct cmx_link_counters *sum, const struct cmx_link_counters *c)
{
	sum->up_bytes += c->up_bytes;
	sum->down_bytes += c->down_bytes;
	sum->up_busy += c->up_busy;
	sum->down_busy += c->down_busy;
}

static void cmx_entity_counters_add(struct cmx_entity_counters *sum,
				    const struct cmx_entity_counters *c)
{
	sum->mem_bytes += c->mem_bytes;
	sum->mem_busy += c->mem_busy;
	sum->launches += c->launches;
	sum->cube_busy += c->cube_busy;
	sum->vector_busy += c->vector_busy;
	sum->errors += c->errors;
	sum->lost_bytes += c->lost_bytes;
}

void cmx_totals_add(const struct cmx_totals *totals, struct cmx_counters *sum)
{
	for (u32 i = 0; sum->links && i < totals->num_links; i++)
		cmx_link_counters_add(&sum->links[i], &totals->counters.links[i]);
	for (u32 i = 0; sum->entities && i < totals->num_entities; i++)
		cmx_entity_counters_add(&sum->entities[i], &totals->counters.entities[i]);
	cmx_counters_add_time(sum, totals->counters.now, totals->counters.total);
}

void cmx_counters_read(struct cmx_machine *machine, struct cmx_counters *sum)
{
	cmx_timelines_count(machine, sum);
}

/* One of several links that are counted as one: what it carried, and how long. */
static void cmx_link_add(struct cmx_link_counters *link, bool up, u64 bytes, u64 busy)
{
	*(up ? &link->up_bytes : &link->down_bytes) += bytes;
	*(up ? &link->up_busy : &link->down_busy) += busy;
}

static u64 cmx_lane_bytes(u64 bytes, u64 part, u32 i, u32 n)
{
	return i ? part : bytes - (n - 1) * part;
}

static void cmx_port_add(struct cmx_link_counters *links, const struct cmx_port *port, u32 planes,
			 bool up)
{
	const struct cmx_lane *whole = &port->whole;

	for (u32 p = 0; p < planes; p++) {
		if (port->planes)
			cmx_link_add(&links[p], up, port->planes[p].bytes, port->planes[p].busy);
		else
			cmx_link_add(&links[p], up,
				     cmx_lane_bytes(whole->bytes, whole->part, p, planes),
				     whole->busy);
	}
}

/* A plane of a trunk as it would be, were the planes told apart. */
static struct cmx_lane cmx_trunk_plane(const struct cmx_trunk *trunk, u32 p, u32 planes)
{
	if (trunk->planes)
		return trunk->planes[p];
	return (struct cmx_lane){
		.busy = trunk->whole.busy,
		.bytes = cmx_lane_bytes(trunk->whole.bytes, trunk->whole.part, p, planes),
		.part = p ? trunk->sub : trunk->sub_first,
	};
}

static void cmx_trunk_add(struct cmx_link_counters *links, const struct cmx_trunk *trunk,
			  const struct cmx_topology *topo, bool up)
{
	u32 n = topo->l2_per_plane;

	for (u32 p = 0; p < topo->planes; p++) {
		struct cmx_lane lane = cmx_trunk_plane(trunk, p, topo->planes);
		const struct cmx_lane *chips = trunk->chips[p];

		for (u32 c = 0; c < n; c++, links++)
			cmx_link_add(links, up,
				     chips ? chips[c].bytes :
					     cmx_lane_bytes(lane.bytes, lane.part, c, n),
				     chips ? chips[c].busy : lane.busy);
	}
}

static void cmx_unit_add_links(struct cmx_link_counters *links, const struct cmx_topology *topo,
			       u32 entity, const struct cmx_unit *unit)
{
	struct cmx_link_counters *ub = &links[cmx_topology_ub_link(topo, entity, 0)];
	struct cmx_link_counters *rdma = &links[topo->first_rdma + entity];

	cmx_port_add(ub, &unit->tx, topo->planes, true);
	cmx_port_add(ub, &unit->rx, topo->planes, false);
	if (entity >= topo->num_dies)
		return;
	cmx_link_add(rdma, true, unit->rdma_tx.bytes, unit->rdma_tx.busy);
	cmx_link_add(rdma, false, unit->rdma_rx.bytes, unit->rdma_rx.busy);
	/* The lower end is the even die: up is what the odd one gets. */
	if (topo->dies_per_npu == 2)
		cmx_link_add(&links[topo->first_die + entity / 2], entity & 1, unit->die.bytes,
			     unit->die.busy);
}

static void cmx_unit_add(struct cmx_entity_counters *sum, const struct cmx_unit *unit)
{
	sum->mem_bytes += unit->mem.bytes;
	sum->mem_busy += unit->mem.busy;
	sum->launches += unit->launches;
	sum->cube_busy += unit->cube_busy;
	sum->vector_busy += unit->vector_busy;
	sum->errors += unit->errors;
	sum->lost_bytes += unit->lost_bytes;
}

static void cmx_hub_add(struct cmx_link_counters *links, const struct cmx_topology *topo, u32 node,
			const struct cmx_hub *hub)
{
	struct cmx_link_counters *l2 = &links[cmx_topology_l2_link(topo, node, 0, 0)];
	struct cmx_link_counters *vpc = &links[topo->first_vpc + node];

	cmx_trunk_add(l2, &hub->up, topo, true);
	cmx_trunk_add(l2, &hub->down, topo, false);
	cmx_link_add(vpc, true, hub->vpc_tx.bytes, hub->vpc_tx.busy);
	cmx_link_add(vpc, false, hub->vpc_rx.bytes, hub->vpc_rx.busy);
}

void cmx_counters_add(struct cmx_counters *sum, const struct cmx_servers *servers)
{
	const struct cmx_topology *topo = &servers->machine->fabric.topo;

	for (u32 i = 0; i < topo->num_entities; i++) {
		const struct cmx_unit *block = servers->units[i / CMX_UNIT_BLOCK];

		if (block && sum->entities)
			cmx_unit_add(&sum->entities[i], &block[i % CMX_UNIT_BLOCK]);
		if (block && sum->links)
			cmx_unit_add_links(sum->links, topo, i, &block[i % CMX_UNIT_BLOCK]);
	}
	for (u32 n = 0; sum->links && n < topo->nodes; n++)
		if (servers->hubs[n])
			cmx_hub_add(sum->links, topo, n, servers->hubs[n]);
}
