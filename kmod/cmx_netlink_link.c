// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: links, and the ports at their ends. */
#include "cmx_netlink_priv.h"
#include "cmx_time.h"

static u64 cmx_nl_link_rate(const struct cmx_machine *machine, const struct cmx_link *link)
{
	const struct cmx_profile *p = machine->profile;
	bool die = link->a.index < machine->num_dies;

	switch (link->kind) {
	case CMX_LINK_UB:
		return (die ? p->die_port_rate : p->socket_port_rate) / p->planes;
	case CMX_LINK_L2:
		return p->l2_link_rate;
	case CMX_LINK_DIE:
		return p->sibling_rate;
	case CMX_LINK_RDMA:
		return p->rdma_rate;
	default:
		return p->vpc_rate;
	}
}

static int cmx_nl_put_plane(struct sk_buff *skb, int attr, const struct cmx_link *link)
{
	return link->plane == CMX_NO_PLANE ? 0 : nla_put_u32(skb, attr, link->plane);
}

/* -------------------------------------------------------------------------- links */

static int cmx_nl_put_traffic(struct sk_buff *skb, const struct cmx_link_counters *c)
{
	return nla_put_u64_64bit(skb, CMX_A_LINK_UP_BYTES, c->up_bytes, CMX_A_LINK_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_LINK_DOWN_BYTES, c->down_bytes, CMX_A_LINK_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_LINK_UP_BUSY_PS, c->up_busy, CMX_A_LINK_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_LINK_DOWN_BUSY_PS, c->down_busy, CMX_A_LINK_PAD);
}

static int cmx_nl_fill_link(struct sk_buff *skb, const struct cmx_nl_view *view, u32 index)
{
	const struct cmx_fabric *fabric = &view->machine->fabric;
	struct cmx_link link;
	int err;

	cmx_topology_link(&fabric->topo, index, &link);
	err = nla_put_u32(skb, CMX_A_LINK_INDEX, index) ?:
	      nla_put_u32(skb, CMX_A_LINK_KIND, link.kind) ?:
	      cmx_nl_put_plane(skb, CMX_A_LINK_PLANE, &link) ?:
	      cmx_nl_put_end(skb, CMX_A_LINK_A, &link.a) ?:
	      cmx_nl_put_end(skb, CMX_A_LINK_B, &link.b) ?:
	      nla_put_u64_64bit(skb, CMX_A_LINK_RATE, cmx_nl_link_rate(view->machine, &link),
				CMX_A_LINK_PAD) ?:
	      nla_put_u32(skb, CMX_A_LINK_UP, cmx_fabric_is_up(fabric, CMX_OBJ_LINK, index)) ?:
	      nla_put_u32(skb, CMX_A_LINK_PERMILLE, fabric->permille[index]) ?:
	      nla_put_u32(skb, CMX_A_LINK_EFFECTIVE, view->routes->permille[index]);
	if (err || !view->counts)
		return err;
	return nla_put_u32(skb, CMX_A_LINK_CHANGES, fabric->changes[index]) ?:
	       cmx_nl_put_traffic(skb, &view->counts->sum.links[index]);
}

int cmx_nl_link_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct cmx_nl_counts *counts = NULL;
	struct cmx_nl_view view;
	u32 index;
	int err;

	err = cmx_nl_view_get(&view, info->extack);
	if (err)
		return err;
	err = cmx_nl_index(info, CMX_A_LINK_INDEX, "index", view.machine->fabric.topo.num_links,
			   &index);
	if (err)
		goto out_put_view;
	if (info->attrs[CMX_A_LINK_COUNTERS]) {
		counts = cmx_nl_counts_read(&view, true);
		if (!counts) {
			err = -ENOMEM;
			goto out_put_view;
		}
	}
	view.counts = counts;
	err = cmx_nl_reply(info, &view, cmx_nl_fill_link, index);
	cmx_nl_counts_free(counts);
out_put_view:
	cmx_nl_view_put(&view);
	return err;
}

int cmx_nl_link_start(struct netlink_callback *cb)
{
	if (!genl_info_dump(cb)->attrs[CMX_A_LINK_COUNTERS])
		return 0;
	return cmx_nl_counts_start(cb, true);
}

u32 cmx_nl_count_links(const struct cmx_machine *machine)
{
	return machine->fabric.topo.num_links;
}

int cmx_nl_link_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return cmx_nl_dump_parts(skb, cb, cmx_nl_count_links, cmx_nl_fill_link);
}

/* -------------------------------------------------------------------------- ports */

/* Ports of an entity: one for each plane, the other die's, that of RDMA or VPC. */
static bool cmx_nl_entity_link(const struct cmx_topology *topo, u32 entity, u32 port, u32 *link)
{
	u32 socket = entity - topo->num_dies;
	bool die = entity < topo->num_dies;

	if (port < topo->planes)
		*link = cmx_topology_ub_link(topo, entity, port);
	else if (die && port == topo->planes)
		*link = topo->first_die + entity / 2;
	else if (die)
		*link = topo->first_rdma + entity;
	else
		*link = topo->first_vpc + socket / topo->sockets_per_node;
	if (port < topo->planes)
		return true;
	if (port == topo->planes)
		return die && topo->dies_per_npu == 2;
	return die || socket % topo->sockets_per_node == 0;
}

/* Parts are entities, then chips. */
static u32 cmx_nl_part_ports(const struct cmx_topology *topo, u32 part)
{
	if (part < topo->num_entities)
		return topo->planes + 2;
	return cmx_topology_chip_ports(topo, part - topo->num_entities);
}

static int cmx_nl_put_port(struct sk_buff *skb, const struct cmx_nl_view *view, u32 index,
			   const struct cmx_link *link, const struct cmx_end *own,
			   const struct cmx_end *peer)
{
	return nla_put_u32(skb, CMX_A_PORT_KIND, own->kind) ?:
	       nla_put_u32(skb, CMX_A_PORT_INDEX, own->index) ?:
	       nla_put_u32(skb, CMX_A_PORT_PORT, own->port) ?:
	       nla_put_u32(skb, CMX_A_PORT_LINK, index) ?:
	       nla_put_u32(skb, CMX_A_PORT_LINK_KIND, link->kind) ?:
	       cmx_nl_put_plane(skb, CMX_A_PORT_PLANE, link) ?:
	       nla_put_u32(skb, CMX_A_PORT_EFFECTIVE, view->routes->permille[index]) ?:
	       cmx_nl_put_end(skb, CMX_A_PORT_PEER, peer);
}

/* One port; one that is not wired takes no message. */
static int cmx_nl_dump_port(struct sk_buff *skb, struct netlink_callback *cb,
			    const struct cmx_nl_view *view, u32 part, u32 port)
{
	const struct cmx_topology *topo = &view->machine->fabric.topo;
	bool chip = part >= topo->num_entities;
	struct cmx_link link;
	void *header;
	bool at_a;
	u32 index;

	if (chip)
		index = cmx_topology_chip_link(topo, part - topo->num_entities, port);
	else if (!cmx_nl_entity_link(topo, part, port, &index))
		return 0;
	cmx_topology_link(topo, index, &link);
	header = cmx_nl_dump_put(skb, cb);
	if (!header)
		return -EMSGSIZE;
	at_a = chip ? link.a.kind == CMX_END_CHIP && link.a.index == part - topo->num_entities :
		      link.a.kind == CMX_END_ENTITY && link.a.index == part;
	if (cmx_nl_put_port(skb, view, index, &link, at_a ? &link.a : &link.b,
			    at_a ? &link.b : &link.a)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

static void cmx_nl_dump_ports(struct sk_buff *skb, struct netlink_callback *cb,
			      const struct cmx_nl_view *view)
{
	const struct cmx_topology *topo = &view->machine->fabric.topo;
	struct cmx_nl_dump *dump = cmx_nl_dump_of(cb);

	for (; dump->index < topo->num_entities + topo->num_chips; dump->index++) {
		for (; dump->sub < cmx_nl_part_ports(topo, dump->index); dump->sub++) {
			if (cmx_nl_dump_port(skb, cb, view, dump->index, dump->sub))
				return;
		}
		dump->sub = 0;
	}
}

int cmx_nl_port_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct cmx_nl_view view;
	int err;

	err = cmx_nl_view_get(&view, cb->extack);
	if (err)
		return err;
	cmx_nl_view_lock(&view);
	cmx_nl_dump_seq(cb, &view);
	cmx_nl_dump_ports(skb, cb, &view);
	cmx_nl_view_unlock(&view);
	cmx_nl_view_put(&view);
	return skb->len;
}
