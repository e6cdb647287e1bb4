// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: how two entities reach each other. */
#include <linux/bits.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "cmx_netlink_priv.h"
#include "cmx_time.h"

/** struct cmx_nl_way - a question and its answer. */
struct cmx_nl_way {
	/** @from: entity that asks. */
	u32 from;
	/** @to: entity that has the memory. */
	u32 to;
	/** @planes: planes to use, 0: no choice. */
	u32 planes;
	/** @route: the way. */
	struct cmx_route route;
	/** @estimate: what it gives. */
	struct cmx_estimate estimate;
};

static int cmx_nl_put_route_plane(struct sk_buff *skb, const struct cmx_route *route, u32 plane)
{
	struct nlattr *nest = nla_nest_start(skb, CMX_A_ROUTE_PLANE);

	if (!nest || nla_put_u32(skb, CMX_A_ROUTE_PLANE_PLANE, plane) ||
	    nla_put_u64_64bit(skb, CMX_A_ROUTE_PLANE_RATE, route->rate[plane],
			      CMX_A_ROUTE_PLANE_PAD) ||
	    nla_put_u32(skb, CMX_A_ROUTE_PLANE_CHIPS, route->chips[plane]))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int cmx_nl_put_route(struct sk_buff *skb, const struct cmx_nl_way *way)
{
	const struct cmx_route *route = &way->route;
	u32 plane;

	if (nla_put_u32(skb, CMX_A_ROUTE_FROM, way->from) ||
	    nla_put_u32(skb, CMX_A_ROUTE_TO, way->to) ||
	    nla_put_u32(skb, CMX_A_ROUTE_PLANES, route->planes) ||
	    nla_put_u32(skb, CMX_A_ROUTE_HOPS, route->hops) ||
	    nla_put_u32(skb, CMX_A_ROUTE_REACHABLE, route->reachable) ||
	    nla_put_u32(skb, CMX_A_ROUTE_SIBLING, route->sibling))
		return -EMSGSIZE;
	for (plane = 0; plane < CMX_MAX_PLANES; plane++) {
		if (route->planes & BIT(plane) && cmx_nl_put_route_plane(skb, route, plane))
			return -EMSGSIZE;
	}
	return 0;
}

static int cmx_nl_put_estimate(struct sk_buff *skb, const struct cmx_estimate *e)
{
	return nla_put_u64_64bit(skb, CMX_A_ROUTE_READ_RATE, e->read_rate, CMX_A_ROUTE_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_ROUTE_WRITE_RATE, e->write_rate, CMX_A_ROUTE_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_ROUTE_READ_PS, e->read_ps, CMX_A_ROUTE_PAD) ?:
	       nla_put_u64_64bit(skb, CMX_A_ROUTE_WRITE_PS, e->write_ps, CMX_A_ROUTE_PAD);
}

static int cmx_nl_way_reply(struct genl_info *info, const struct cmx_nl_way *way)
{
	struct sk_buff *skb = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *header;

	if (!skb)
		return -ENOMEM;
	header = genlmsg_iput(skb, info);
	if (!header || cmx_nl_put_route(skb, way) ||
	    (way->route.reachable && cmx_nl_put_estimate(skb, &way->estimate))) {
		nlmsg_free(skb);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return genlmsg_reply(skb, info);
}

/* What a queue may be restricted to; see struct drm_cmx_queue_create. */
static int cmx_nl_check_planes(const struct cmx_machine *machine, const struct cmx_nl_way *way,
			       struct netlink_ext_ack *extack)
{
	const u32 rdma = BIT(CMX_PLANE_RDMA), vpc = BIT(CMX_PLANE_VPC);
	u32 known = GENMASK(machine->fabric.topo.planes - 1, 0) | rdma | vpc;
	u32 dies = (way->from < machine->num_dies) + (way->to < machine->num_dies);

	if (way->planes & ~known)
		NL_SET_ERR_MSG_FMT(extack, "planes %#x: there are %#x", way->planes, known);
	else if (way->planes & (rdma | vpc) && !is_power_of_2(way->planes))
		NL_SET_ERR_MSG_FMT(extack, "planes %#x: RDMA and VPC go alone", way->planes);
	else if (way->planes == rdma && dies != 2)
		NL_SET_ERR_MSG_FMT(extack, "planes %#x: only dies are on RDMA", way->planes);
	else if (way->planes == vpc && dies)
		NL_SET_ERR_MSG_FMT(extack, "planes %#x: only sockets are on VPC", way->planes);
	else
		return 0;
	return -EINVAL;
}

static int cmx_nl_way_parse(struct genl_info *info, const struct cmx_machine *machine,
			    struct cmx_nl_way *way)
{
	struct nlattr *planes = info->attrs[CMX_A_ROUTE_PLANES];
	int err;

	err = cmx_nl_index(info, CMX_A_ROUTE_FROM, "from", machine->num_entities, &way->from) ?:
	      cmx_nl_index(info, CMX_A_ROUTE_TO, "to", machine->num_entities, &way->to);
	if (err || !planes)
		return err;
	way->planes = nla_get_u32(planes);
	NL_SET_BAD_ATTR(info->extack, planes);
	return cmx_nl_check_planes(machine, way, info->extack);
}

int cmx_nl_route_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct cmx_nl_way *way;
	struct cmx_routes *routes;
	struct cmx_nl_view view;
	int err;

	way = kzalloc(sizeof(*way), GFP_KERNEL);
	if (!way)
		return -ENOMEM;
	err = cmx_nl_view_get(&view, info->extack);
	if (err)
		goto out_free_way;
	err = cmx_nl_way_parse(info, view.machine, way);
	if (err)
		goto out_put_view;
	routes = cmx_routes_get(&view.machine->fabric);
	cmx_route_find(view.machine, routes, way->from, way->to, way->planes, &way->route);
	if (way->route.reachable)
		cmx_route_estimate(view.machine, routes, way->from, way->to, way->planes,
				   &way->estimate);
	cmx_routes_put(routes);
	err = cmx_nl_way_reply(info, way);
out_put_view:
	cmx_nl_view_put(&view);
out_free_way:
	kfree(way);
	return err;
}
