// SPDX-License-Identifier: GPL-2.0-only
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "cmx_entity.h"
#include "cmx_server.h"

static bool cmx_full_fabric;
module_param_named(full_fabric, cmx_full_fabric, bool, 0444);
MODULE_PARM_DESC(full_fabric, "time every link by itself, even where all are alike (default off)");

/* Sixteen units are no power of two: a cache of their own wastes less. */
static struct kmem_cache *cmx_unit_cache;

#define CMX_GFP_SURE	(GFP_KERNEL_ACCOUNT | __GFP_NOFAIL)

int cmx_unit_cache_create(void)
{
	cmx_unit_cache = kmem_cache_create("cmx_unit", CMX_UNIT_BLOCK * sizeof(struct cmx_unit),
					   0, SLAB_ACCOUNT, NULL);
	return cmx_unit_cache ? 0 : -ENOMEM;
}

void cmx_unit_cache_destroy(void)
{
	kmem_cache_destroy(cmx_unit_cache);
}

static u32 cmx_servers_blocks(const struct cmx_servers *servers)
{
	return DIV_ROUND_UP(servers->machine->num_entities, CMX_UNIT_BLOCK);
}

static u32 cmx_all_planes(const struct cmx_servers *servers)
{
	return GENMASK(servers->machine->fabric.topo.planes - 1, 0);
}

static void cmx_servers_look(struct cmx_servers *servers)
{
	if (!servers->routes->healthy)
		servers->split = true;
	servers->chip_split |= servers->routes->l2_split;
}

int cmx_servers_init(struct cmx_servers *servers, struct cmx_machine *machine)
{
	servers->machine = machine;
	servers->fabric = &machine->fabric;
	servers->units = kcalloc(cmx_servers_blocks(servers), sizeof(*servers->units),
				 GFP_KERNEL_ACCOUNT);
	servers->hubs = kcalloc(machine->num_nodes, sizeof(*servers->hubs), GFP_KERNEL_ACCOUNT);
	if (!servers->units || !servers->hubs) {
		kfree(servers->units);
		kfree(servers->hubs);
		return -ENOMEM;
	}
	servers->routes = cmx_routes_get(&machine->fabric);
	servers->split = cmx_full_fabric;
	servers->chip_split = cmx_full_fabric ? cmx_all_planes(servers) : 0;
	cmx_servers_look(servers);
	return 0;
}

static void cmx_trunk_free(struct cmx_trunk *trunk)
{
	kfree(trunk->planes);
	for (u32 p = 0; p < CMX_MAX_PLANES; p++)
		kfree(trunk->chips[p]);
}

static void cmx_hub_free(struct cmx_hub *hub)
{
	if (!hub)
		return;
	cmx_trunk_free(&hub->up);
	cmx_trunk_free(&hub->down);
	kfree(hub);
}

static void cmx_units_free(struct cmx_unit *units)
{
	if (!units)
		return;
	for (u32 i = 0; i < CMX_UNIT_BLOCK; i++) {
		kfree(units[i].tx.planes);
		kfree(units[i].rx.planes);
	}
	kmem_cache_free(cmx_unit_cache, units);
}

void cmx_servers_fini(struct cmx_servers *servers)
{
	for (u32 i = 0; i < cmx_servers_blocks(servers); i++)
		cmx_units_free(servers->units[i]);
	for (u32 i = 0; i < servers->machine->num_nodes; i++)
		cmx_hub_free(servers->hubs[i]);
	kfree(servers->units);
	kfree(servers->hubs);
	cmx_routes_put(servers->routes);
}

void cmx_servers_use_routes(struct cmx_servers *servers, struct cmx_routes *routes)
{
	kref_get(&routes->ref);
	cmx_routes_put(servers->routes);
	servers->routes = routes;
	cmx_servers_look(servers);
}

bool cmx_servers_take_routes(struct cmx_servers *servers)
{
	struct cmx_fabric *fabric = &servers->machine->fabric;
	struct cmx_routes *routes = cmx_routes_get(fabric);
	bool differ = !cmx_routes_equal(&fabric->topo, routes, servers->routes);

	cmx_servers_use_routes(servers, routes);
	cmx_routes_put(routes);
	return differ;
}

void cmx_servers_restrict(struct cmx_servers *servers, u32 planes)
{
	u32 all = cmx_all_planes(servers);

	if (planes & all && (planes & all) != all)
		servers->split = true;
}

void cmx_servers_add_units(struct cmx_servers *servers, u32 entity)
{
	servers->units[entity / CMX_UNIT_BLOCK] = kmem_cache_zalloc(cmx_unit_cache, CMX_GFP_SURE);
}

struct cmx_hub *cmx_servers_hub(struct cmx_servers *servers, u32 node)
{
	struct cmx_hub **hub = &servers->hubs[node];

	if (unlikely(!*hub))
		*hub = kzalloc(sizeof(**hub), CMX_GFP_SURE);
	return *hub;
}

/* @n links that were one lane: each has its times, and its share of what it carried. */
static struct cmx_lane *cmx_lane_split(const struct cmx_lane *whole, u32 n)
{
	struct cmx_lane *lanes = kcalloc(n, sizeof(*lanes), CMX_GFP_SURE);

	for (u32 i = 0; i < n; i++) {
		lanes[i].free = whole->free;
		lanes[i].busy = whole->busy;
		lanes[i].bytes = whole->part;
	}
	lanes[0].bytes = whole->bytes - (n - 1) * whole->part;
	return lanes;
}

struct cmx_lane *cmx_port_planes(const struct cmx_servers *servers, struct cmx_port *port)
{
	if (!port->planes)
		port->planes = cmx_lane_split(&port->whole, servers->machine->fabric.topo.planes);
	return port->planes;
}

struct cmx_lane *cmx_trunk_planes(const struct cmx_servers *servers, struct cmx_trunk *trunk)
{
	u32 n = servers->machine->fabric.topo.planes;

	if (trunk->planes)
		return trunk->planes;
	trunk->planes = cmx_lane_split(&trunk->whole, n);
	for (u32 p = 0; p < n; p++)
		trunk->planes[p].part = p ? trunk->sub : trunk->sub_first;
	return trunk->planes;
}

struct cmx_lane *cmx_trunk_chips(const struct cmx_servers *servers, struct cmx_trunk *trunk,
				 u32 plane)
{
	if (!trunk->chips[plane])
		trunk->chips[plane] = cmx_lane_split(&cmx_trunk_planes(servers, trunk)[plane],
						     servers->machine->fabric.topo.l2_per_plane);
	return trunk->chips[plane];
}
