// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: the machine, its entities, chips and nodes. */
#include <drm/drm_device.h>

#include "cmx_device.h"
#include "cmx_netlink_priv.h"

/* ------------------------------------------------------------------------ machine */

static int cmx_nl_put_counts(struct sk_buff *skb, const struct cmx_topology *topo)
{
	const u32 values[][2] = {
		{ CMX_A_MACHINE_NODES, topo->nodes },
		{ CMX_A_MACHINE_NPUS_PER_NODE, topo->npus_per_node },
		{ CMX_A_MACHINE_DIES_PER_NPU, topo->dies_per_npu },
		{ CMX_A_MACHINE_SOCKETS_PER_NODE, topo->sockets_per_node },
		{ CMX_A_MACHINE_PLANES, topo->planes },
		{ CMX_A_MACHINE_L2_PER_PLANE, topo->l2_per_plane },
		{ CMX_A_MACHINE_NUM_DIES, topo->num_dies },
		{ CMX_A_MACHINE_NUM_ENTITIES, topo->num_entities },
		{ CMX_A_MACHINE_NUM_L1, topo->num_l1 },
		{ CMX_A_MACHINE_NUM_CHIPS, topo->num_chips },
		{ CMX_A_MACHINE_NUM_LINKS, topo->num_links },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		if (nla_put_u32(skb, values[i][0], values[i][1]))
			return -EMSGSIZE;
	}
	return 0;
}

/* Nobody may unbind the driver meanwhile: the device would go with it. */
static u32 cmx_nl_clients(struct cmx_machine *machine)
{
	struct cmx_device *cdev;
	u32 clients = 0;

	device_lock(&machine->dev);
	cdev = dev_get_drvdata(&machine->dev);
	if (cdev)
		clients = atomic_read(&cdev->drm.open_count);
	device_unlock(&machine->dev);
	return clients;
}

/* @index: clients, counted before the fabric was locked. */
static int cmx_nl_fill_machine(struct sk_buff *skb, const struct cmx_nl_view *view, u32 index)
{
	const struct cmx_routes *routes = view->routes;
	const struct cmx_counters *sum = &view->counts->sum;

	return nla_put_string(skb, CMX_A_MACHINE_PROFILE, view->machine->profile->name) ?:
	       cmx_nl_put_counts(skb, &view->machine->fabric.topo) ?:
	       nla_put_u32(skb, CMX_A_MACHINE_GENERATION, routes->generation) ?:
	       nla_put_u32(skb, CMX_A_MACHINE_LINKS_DOWN, routes->links_down) ?:
	       nla_put_u32(skb, CMX_A_MACHINE_LINKS_DEGRADED, routes->links_degraded) ?:
	       nla_put_u32(skb, CMX_A_MACHINE_CLIENTS, index) ?:
	       nla_put_u32(skb, CMX_A_MACHINE_TIMELINES, sum->timelines) ?:
	       nla_put_u64_64bit(skb, CMX_A_MACHINE_NOW_PS, sum->now, CMX_A_MACHINE_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_MACHINE_TOTAL_PS, sum->total, CMX_A_MACHINE_PAD);
}

int cmx_nl_machine_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct cmx_nl_counts counts = { };
	struct cmx_nl_view view;
	int err;

	err = cmx_nl_view_get(&view, info->extack);
	if (err)
		return err;
	cmx_counters_read(view.machine, &counts.sum);
	view.counts = &counts;
	err = cmx_nl_reply(info, &view, cmx_nl_fill_machine, cmx_nl_clients(view.machine));
	cmx_nl_view_put(&view);
	return err;
}

/* ----------------------------------------------------------------------- entities */

static int cmx_nl_put_identity(struct sk_buff *skb, const struct cmx_entity *entity)
{
	if (nla_put_u32(skb, CMX_A_ENTITY_INDEX, entity->index) ||
	    nla_put_u32(skb, CMX_A_ENTITY_KIND, entity->kind) ||
	    nla_put_u32(skb, CMX_A_ENTITY_NODE, entity->node) ||
	    nla_put_u32(skb, CMX_A_ENTITY_UNIT, entity->unit) ||
	    nla_put_u32(skb, CMX_A_ENTITY_CNA, entity->cna) ||
	    nla_put(skb, CMX_A_ENTITY_EID, sizeof(entity->eid), entity->eid) ||
	    nla_put(skb, CMX_A_ENTITY_GUID, sizeof(entity->guid), entity->guid))
		return -EMSGSIZE;
	return entity->kind == CMX_ENTITY_DIE ?
	       nla_put_u32(skb, CMX_A_ENTITY_NPU, entity->npu) : 0;
}

static int cmx_nl_put_memory(struct sk_buff *skb, struct cmx_entity *entity)
{
	return nla_put_u64_64bit(skb, CMX_A_ENTITY_CAPACITY, entity->capacity,
				 CMX_A_ENTITY_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_ENTITY_USED, atomic64_read(&entity->used),
				 CMX_A_ENTITY_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_ENTITY_RESIDENT, atomic64_read(&entity->resident),
				 CMX_A_ENTITY_PAD);
}

static int cmx_nl_put_work(struct sk_buff *skb, const struct cmx_entity_counters *c)
{
	const u64 values[][2] = {
		{ CMX_A_ENTITY_LAUNCHES, c->launches },
		{ CMX_A_ENTITY_CUBE_BUSY_PS, c->cube_busy },
		{ CMX_A_ENTITY_VECTOR_BUSY_PS, c->vector_busy },
		{ CMX_A_ENTITY_MEM_BUSY_PS, c->mem_busy },
		{ CMX_A_ENTITY_MEM_BYTES, c->mem_bytes },
		{ CMX_A_ENTITY_ERRORS, c->errors },
		{ CMX_A_ENTITY_LOST_BYTES, c->lost_bytes },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		if (nla_put_u64_64bit(skb, values[i][0], values[i][1], CMX_A_ENTITY_PAD))
			return -EMSGSIZE;
	}
	return 0;
}

static int cmx_nl_put_entity_state(struct sk_buff *skb, const struct cmx_nl_view *view, u32 index)
{
	const struct cmx_fabric *fabric = &view->machine->fabric;
	u32 plane, link, up = 0;

	for (plane = 0; plane < fabric->topo.planes; plane++) {
		link = cmx_topology_ub_link(&fabric->topo, index, plane);
		up += !!view->routes->permille[link];
	}
	return nla_put_u32(skb, CMX_A_ENTITY_UP,
			   cmx_fabric_is_up(fabric, CMX_OBJ_ENTITY, index)) ?:
	       nla_put_u32(skb, CMX_A_ENTITY_PORTS_UP, up);
}

static int cmx_nl_fill_entity(struct sk_buff *skb, const struct cmx_nl_view *view, u32 index)
{
	struct cmx_entity *entity = cmx_entity_get(view->machine, index);
	int err;

	err = cmx_nl_put_identity(skb, entity) ?:
	      cmx_nl_put_entity_state(skb, view, index) ?:
	      cmx_nl_put_memory(skb, entity);
	if (err || !view->counts)
		return err;
	return cmx_nl_put_work(skb, &view->counts->sum.entities[index]);
}

int cmx_nl_entity_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct cmx_nl_counts *counts;
	struct cmx_nl_view view;
	u32 index;
	int err;

	err = cmx_nl_view_get(&view, info->extack);
	if (err)
		return err;
	err = cmx_nl_index(info, CMX_A_ENTITY_INDEX, "index", view.machine->num_entities, &index);
	if (err)
		goto out_put_view;
	counts = cmx_nl_counts_read(&view, false);
	view.counts = counts;
	err = counts ? cmx_nl_reply(info, &view, cmx_nl_fill_entity, index) : -ENOMEM;
	cmx_nl_counts_free(counts);
out_put_view:
	cmx_nl_view_put(&view);
	return err;
}

int cmx_nl_entity_start(struct netlink_callback *cb)
{
	return cmx_nl_counts_start(cb, false);
}

u32 cmx_nl_count_entities(const struct cmx_machine *machine)
{
	return machine->num_entities;
}

int cmx_nl_entity_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return cmx_nl_dump_parts(skb, cb, cmx_nl_count_entities, cmx_nl_fill_entity);
}

/* -------------------------------------------------------------------------- chips */

static int cmx_nl_fill_chip(struct sk_buff *skb, const struct cmx_nl_view *view, u32 index)
{
	const struct cmx_fabric *fabric = &view->machine->fabric;
	const struct cmx_topology *topo = &fabric->topo;
	u32 plane = cmx_topology_chip_plane(topo, index);
	u32 ports = cmx_topology_chip_ports(topo, index);
	bool l1 = index < topo->num_l1;
	u32 unit = l1 ? index / topo->planes : (index - topo->num_l1) % topo->l2_per_plane;
	u32 port, ports_up = 0;

	for (port = 0; port < ports; port++)
		ports_up += !!view->routes->permille[cmx_topology_chip_link(topo, index, port)];
	if (nla_put_u32(skb, CMX_A_CHIP_INDEX, index) ||
	    nla_put_u32(skb, CMX_A_CHIP_LEVEL, l1 ? 1 : 2) ||
	    nla_put_u32(skb, CMX_A_CHIP_PLANE, plane) ||
	    nla_put_u32(skb, CMX_A_CHIP_UNIT, unit) ||
	    nla_put_u32(skb, CMX_A_CHIP_PORTS, ports) ||
	    nla_put_u32(skb, CMX_A_CHIP_PORTS_UP, ports_up))
		return -EMSGSIZE;
	return nla_put_u32(skb, CMX_A_CHIP_UP, cmx_fabric_is_up(fabric, CMX_OBJ_CHIP, index));
}

int cmx_nl_chip_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct cmx_nl_view view;
	u32 index;
	int err;

	err = cmx_nl_view_get(&view, info->extack);
	if (err)
		return err;
	err = cmx_nl_index(info, CMX_A_CHIP_INDEX, "index", view.machine->fabric.topo.num_chips,
			   &index);
	if (!err)
		err = cmx_nl_reply(info, &view, cmx_nl_fill_chip, index);
	cmx_nl_view_put(&view);
	return err;
}

u32 cmx_nl_count_chips(const struct cmx_machine *machine)
{
	return machine->fabric.topo.num_chips;
}

int cmx_nl_chip_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return cmx_nl_dump_parts(skb, cb, cmx_nl_count_chips, cmx_nl_fill_chip);
}

/* -------------------------------------------------------------------------- nodes */

static int cmx_nl_fill_node(struct sk_buff *skb, const struct cmx_nl_view *view, u32 index)
{
	return nla_put_u32(skb, CMX_A_NODE_INDEX, index) ?:
	       nla_put_u32(skb, CMX_A_NODE_UP,
			   cmx_fabric_is_up(&view->machine->fabric, CMX_OBJ_NODE, index));
}

u32 cmx_nl_count_nodes(const struct cmx_machine *machine)
{
	return machine->num_nodes;
}

int cmx_nl_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return cmx_nl_dump_parts(skb, cb, cmx_nl_count_nodes, cmx_nl_fill_node);
}
