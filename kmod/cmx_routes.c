// SPDX-License-Identifier: GPL-2.0-only
/*
 * Administrators change what is set; from that, each change computes a new table of what
 * works.  Those who charge traffic keep the table they have until they take the new one,
 * so no change is ever seen in half.
 */
#include <linux/bitmap.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>

#include "cmx_entity.h"
#include "cmx_netlink.h"
#include "cmx_routes.h"
#include "cmx_timeline.h"

static u32 cmx_chip_node(const struct cmx_topology *topo, u32 chip)
{
	return chip / topo->planes;
}

bool cmx_fabric_is_up(const struct cmx_fabric *fabric, u32 object, u32 index)
{
	const struct cmx_topology *topo = &fabric->topo;

	switch (object) {
	case CMX_OBJ_LINK:
		return !test_bit(index, fabric->link_down);
	case CMX_OBJ_CHIP:
		return !test_bit(index, fabric->chip_down) &&
		       (index >= topo->num_l1 ||
			!test_bit(cmx_chip_node(topo, index), fabric->node_down));
	case CMX_OBJ_ENTITY:
		return !test_bit(index, fabric->entity_down) &&
		       !test_bit(cmx_topology_entity_node(topo, index), fabric->node_down);
	default:
		return !test_bit(index, fabric->node_down);
	}
}

static bool cmx_end_is_up(const struct cmx_fabric *fabric, const struct cmx_end *end)
{
	switch (end->kind) {
	case CMX_END_ENTITY:
		return cmx_fabric_is_up(fabric, CMX_OBJ_ENTITY, end->index);
	case CMX_END_CHIP:
		return cmx_fabric_is_up(fabric, CMX_OBJ_CHIP, end->index);
	default:
		return true;
	}
}

static u16 cmx_fabric_effective(const struct cmx_fabric *fabric, u32 index)
{
	struct cmx_link link;

	if (test_bit(index, fabric->link_down))
		return 0;
	cmx_topology_link(&fabric->topo, index, &link);
	if (!cmx_end_is_up(fabric, &link.a) || !cmx_end_is_up(fabric, &link.b))
		return 0;
	return fabric->permille[index];
}

static void cmx_routes_set_link(struct cmx_routes *routes, const struct cmx_topology *topo,
				u32 index, u16 permille)
{
	routes->permille[index] = permille;
	if (permille == CMX_PERMILLE)
		return;
	if (permille)
		routes->links_degraded++;
	else
		routes->links_down++;
	if (index >= topo->first_l2 && index < topo->first_die)
		routes->l2_split |= BIT((index - topo->first_l2) / topo->l2_per_plane %
					topo->planes);
}

static void cmx_routes_fill(struct cmx_routes *routes, const struct cmx_fabric *fabric)
{
	const struct cmx_topology *topo = &fabric->topo;
	u32 i;

	for (i = 0; i < topo->num_links; i++)
		cmx_routes_set_link(routes, topo, i, cmx_fabric_effective(fabric, i));
	for (i = 0; i < topo->num_entities; i++)
		if (cmx_fabric_is_up(fabric, CMX_OBJ_ENTITY, i))
			__set_bit(i, routes->entity_up);
		else
			routes->entities_down++;
	/* An entity that is down has its links down, too. */
	routes->healthy = !routes->links_down && !routes->links_degraded;
}

static struct cmx_routes *cmx_routes_alloc(const struct cmx_topology *topo)
{
	size_t size = ALIGN(struct_size_t(struct cmx_routes, permille, topo->num_links),
			    sizeof(long));
	struct cmx_routes *routes;

	routes = kvzalloc(size + BITS_TO_LONGS(topo->num_entities) * sizeof(long), GFP_KERNEL);
	if (!routes)
		return NULL;
	routes->entity_up = (void *)routes + size;
	kref_init(&routes->ref);
	return routes;
}

static void cmx_routes_release(struct kref *ref)
{
	struct cmx_routes *routes = container_of(ref, struct cmx_routes, ref);

	kvfree_rcu(routes, rcu);
}

void cmx_routes_put(struct cmx_routes *routes)
{
	if (routes)
		kref_put(&routes->ref, cmx_routes_release);
}

struct cmx_routes *cmx_routes_get(struct cmx_fabric *fabric)
{
	struct cmx_routes *routes;

	guard(rcu)();
	do
		routes = rcu_dereference(fabric->routes);
	while (!kref_get_unless_zero(&routes->ref));
	return routes;
}

bool cmx_routes_equal(const struct cmx_topology *topo, const struct cmx_routes *a,
		      const struct cmx_routes *b)
{
	return !memcmp(a->permille, b->permille, array_size(topo->num_links, sizeof(u16))) &&
	       bitmap_equal(a->entity_up, b->entity_up, topo->num_entities);
}

static void cmx_fabric_count_changes(struct cmx_fabric *fabric, const struct cmx_routes *old,
				     const struct cmx_routes *new)
{
	for (u32 i = 0; i < fabric->topo.num_links; i++)
		fabric->changes[i] += old->permille[i] != new->permille[i];
}

static int cmx_fabric_publish(struct cmx_fabric *fabric, struct cmx_routes *old)
{
	struct cmx_routes *routes = cmx_routes_alloc(&fabric->topo);

	if (!routes)
		return -ENOMEM;
	cmx_routes_fill(routes, fabric);
	if (old) {
		routes->generation = old->generation + 1;
		cmx_fabric_count_changes(fabric, old, routes);
	}
	rcu_assign_pointer(fabric->routes, routes);
	cmx_routes_put(old);
	return 0;
}

int cmx_fabric_init(struct cmx_fabric *fabric, const struct cmx_machine *machine)
{
	struct cmx_topology *topo = &fabric->topo;

	mutex_init(&fabric->lock);
	cmx_topology_init(topo, machine);
	fabric->link_down = bitmap_zalloc(topo->num_links, GFP_KERNEL);
	fabric->chip_down = bitmap_zalloc(topo->num_chips, GFP_KERNEL);
	fabric->entity_down = bitmap_zalloc(topo->num_entities, GFP_KERNEL);
	fabric->node_down = bitmap_zalloc(topo->nodes, GFP_KERNEL);
	fabric->permille = kvmalloc_array(topo->num_links, sizeof(*fabric->permille), GFP_KERNEL);
	fabric->changes = kvcalloc(topo->num_links, sizeof(*fabric->changes), GFP_KERNEL);
	if (!fabric->link_down || !fabric->chip_down || !fabric->entity_down ||
	    !fabric->node_down || !fabric->permille || !fabric->changes)
		goto err_fini;
	memset16(fabric->permille, CMX_PERMILLE, topo->num_links);
	if (!cmx_fabric_publish(fabric, NULL))
		return 0;

err_fini:
	cmx_fabric_fini(fabric);
	return -ENOMEM;
}

void cmx_fabric_fini(struct cmx_fabric *fabric)
{
	/* Nobody can ask for routes any more. */
	cmx_routes_put(rcu_dereference_protected(fabric->routes, true));
	bitmap_free(fabric->link_down);
	bitmap_free(fabric->chip_down);
	bitmap_free(fabric->entity_down);
	bitmap_free(fabric->node_down);
	kvfree(fabric->permille);
	kvfree(fabric->changes);
	mutex_destroy(&fabric->lock);
}

static unsigned long *cmx_fabric_bits(struct cmx_fabric *fabric, u32 object, u32 *count)
{
	switch (object) {
	case CMX_OBJ_LINK:
		*count = fabric->topo.num_links;
		return fabric->link_down;
	case CMX_OBJ_CHIP:
		*count = fabric->topo.num_chips;
		return fabric->chip_down;
	case CMX_OBJ_ENTITY:
		*count = fabric->topo.num_entities;
		return fabric->entity_down;
	case CMX_OBJ_NODE:
		*count = fabric->topo.nodes;
		return fabric->node_down;
	default:
		*count = 0;
		return NULL;
	}
}

static int cmx_fabric_change(struct cmx_fabric *fabric, unsigned long *down, u32 index, int up,
			     u32 permille)
{
	bool was_down = test_bit(index, down);
	u16 was = permille ? fabric->permille[index] : 0;
	int ret;

	if (up >= 0)
		__assign_bit(index, down, !up);
	if (permille)
		fabric->permille[index] = permille;
	ret = cmx_fabric_publish(fabric, rcu_dereference_protected(fabric->routes,
								   lockdep_is_held(&fabric->lock)));
	if (!ret)
		return 0;
	__assign_bit(index, down, was_down);
	if (permille)
		fabric->permille[index] = was;
	return ret;
}

int cmx_fabric_set(struct cmx_machine *machine, u32 object, u32 index, int up, u32 permille,
		   u32 *generation)
{
	struct cmx_fabric *fabric = &machine->fabric;
	u32 count;
	unsigned long *down = cmx_fabric_bits(fabric, object, &count);
	int ret;

	if (!down || up < -1 || up > 1 || permille > CMX_PERMILLE ||
	    (permille && object != CMX_OBJ_LINK))
		return -EINVAL;
	if (index >= count)
		return -ENOENT;
	mutex_lock(&fabric->lock);
	ret = cmx_fabric_change(fabric, down, index, up, permille);
	if (!ret) {
		/* Events leave in the order of changes. */
		*generation = rcu_dereference_protected(fabric->routes, true)->generation;
		cmx_netlink_notify_state(machine, object, index, !test_bit(index, down),
					 object == CMX_OBJ_LINK ? fabric->permille[index] : 0,
					 *generation);
	}
	mutex_unlock(&fabric->lock);
	/* Entries that wait on what is down now never get what they wait for. */
	if (!ret)
		cmx_timelines_kick_machine(machine);
	return ret;
}
