// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>

#include "cmx_fabric_priv.h"
#include "cmx_fail.h"

#define COUNT(array)	(sizeof(array) / sizeof(*(array)))

/* -------------------------------------------------------------------------- links */

static void read_link(struct cmx_fabric_link *link, struct nlattr *const *attrs)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(LINK, INDEX, cmx_fabric_link, index),
		CMX_NL_FIELD(LINK, KIND, cmx_fabric_link, kind),
		CMX_NL_FIELD(LINK, PLANE, cmx_fabric_link, plane),
		CMX_NL_FIELD(LINK, RATE, cmx_fabric_link, rate),
		CMX_NL_FIELD(LINK, UP, cmx_fabric_link, admin_up),
		CMX_NL_FIELD(LINK, PERMILLE, cmx_fabric_link, permille),
		CMX_NL_FIELD(LINK, EFFECTIVE, cmx_fabric_link, effective),
		CMX_NL_FIELD(LINK, UP_BYTES, cmx_fabric_link, up_bytes),
		CMX_NL_FIELD(LINK, DOWN_BYTES, cmx_fabric_link, down_bytes),
		CMX_NL_FIELD(LINK, UP_BUSY_PS, cmx_fabric_link, up_busy_ps),
		CMX_NL_FIELD(LINK, DOWN_BUSY_PS, cmx_fabric_link, down_busy_ps),
		CMX_NL_FIELD(LINK, CHANGES, cmx_fabric_link, changes),
	};

	link->plane = UINT32_MAX;
	cmx_nl_read(link, attrs, fields, COUNT(fields));
	cmx_nl_end(&link->a, attrs[CMX_A_LINK_A]);
	cmx_nl_end(&link->b, attrs[CMX_A_LINK_B]);
}

static int take_link(const struct cmx_nl_answer *answer, void *arg)
{
	read_link(arg, answer->attrs);
	return 0;
}

int cmx_fabric_get_link(struct cmx_fabric *fabric, uint32_t index, struct cmx_fabric_link *link)
{
	struct nl_msg *msg = cmx_fabric_request(fabric, CMX_CMD_LINK_GET, NLM_F_ACK);

	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, CMX_A_LINK_INDEX, index) || nla_put_flag(msg, CMX_A_LINK_COUNTERS)) {
		nlmsg_free(msg);
		return cmx_fail_call(-ENOMEM, "cmx_fabric_get_link");
	}
	*link = (struct cmx_fabric_link){ 0 };
	return cmx_fabric_call(fabric, msg, CMX_A_LINK_MAX, take_link, link);
}

static int take_links(const struct cmx_nl_answer *answer, void *arg)
{
	struct cmx_fabric_link *link = cmx_fabric_list_add(arg);

	if (!link)
		return cmx_fail_call(-ENOMEM, "cmx_fabric_links");
	read_link(link, answer->attrs);
	return 0;
}

static int dump_links(struct cmx_fabric *fabric, int flag, struct cmx_fabric_link **rows)
{
	struct cmx_fabric_list list = { .row_size = sizeof(**rows) };
	int ret;

	ret = cmx_fabric_dump(fabric, CMX_CMD_LINK_GET, flag, CMX_A_LINK_MAX, take_links, &list);
	*rows = list.rows;
	return ret;
}

int cmx_fabric_links(struct cmx_fabric *fabric, struct cmx_fabric_link **list)
{
	return dump_links(fabric, CMX_A_LINK_COUNTERS, list);
}

int cmx_fabric_link_states(struct cmx_fabric *fabric, struct cmx_fabric_link **list)
{
	return dump_links(fabric, 0, list);
}

/* -------------------------------------------------------------------------- ports */

static int take_port(const struct cmx_nl_answer *answer, void *arg)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(PORT, KIND, cmx_fabric_port, own.kind),
		CMX_NL_FIELD(PORT, INDEX, cmx_fabric_port, own.index),
		CMX_NL_FIELD(PORT, PORT, cmx_fabric_port, own.port),
		CMX_NL_FIELD(PORT, LINK, cmx_fabric_port, link),
		CMX_NL_FIELD(PORT, LINK_KIND, cmx_fabric_port, link_kind),
		CMX_NL_FIELD(PORT, PLANE, cmx_fabric_port, plane),
		CMX_NL_FIELD(PORT, EFFECTIVE, cmx_fabric_port, effective),
	};
	struct cmx_fabric_port *port = cmx_fabric_list_add(arg);

	if (!port)
		return cmx_fail_call(-ENOMEM, "cmx_fabric_ports");
	port->plane = UINT32_MAX;
	cmx_nl_read(port, answer->attrs, fields, COUNT(fields));
	cmx_nl_end(&port->peer, answer->attrs[CMX_A_PORT_PEER]);
	return 0;
}

int cmx_fabric_ports(struct cmx_fabric *fabric, struct cmx_fabric_port **rows)
{
	struct cmx_fabric_list list = { .row_size = sizeof(**rows) };
	int ret;

	ret = cmx_fabric_dump(fabric, CMX_CMD_PORT_GET, 0, CMX_A_PORT_MAX, take_port, &list);
	*rows = list.rows;
	return ret;
}

/* ------------------------------------------------------------------------- routes */

/* What a way uses of one plane. */
struct route_plane {
	uint32_t plane, chips;
	uint64_t rate;
};

static void read_route_plane(struct cmx_fabric_route *route, struct nlattr *attr)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(ROUTE_PLANE, PLANE, route_plane, plane),
		CMX_NL_FIELD(ROUTE_PLANE, CHIPS, route_plane, chips),
		CMX_NL_FIELD(ROUTE_PLANE, RATE, route_plane, rate),
	};
	struct route_plane row = { .plane = CMX_FABRIC_MAX_PLANES };
	struct nlattr *attrs[CMX_A_ROUTE_PLANE_MAX + 1];

	if (nla_parse_nested(attrs, CMX_A_ROUTE_PLANE_MAX, attr, NULL))
		return;
	cmx_nl_read(&row, attrs, fields, COUNT(fields));
	if (row.plane >= CMX_FABRIC_MAX_PLANES)
		return;
	route->plane_rate[row.plane] = row.rate;
	route->plane_chips[row.plane] = row.chips;
}

static int take_route(const struct cmx_nl_answer *answer, void *arg)
{
	static const struct cmx_nl_field fields[] = {
		CMX_NL_FIELD(ROUTE, FROM, cmx_fabric_route, from),
		CMX_NL_FIELD(ROUTE, TO, cmx_fabric_route, to),
		CMX_NL_FIELD(ROUTE, PLANES, cmx_fabric_route, planes),
		CMX_NL_FIELD(ROUTE, HOPS, cmx_fabric_route, hops),
		CMX_NL_FIELD(ROUTE, REACHABLE, cmx_fabric_route, reachable),
		CMX_NL_FIELD(ROUTE, SIBLING, cmx_fabric_route, sibling),
		CMX_NL_FIELD(ROUTE, READ_RATE, cmx_fabric_route, read_rate),
		CMX_NL_FIELD(ROUTE, WRITE_RATE, cmx_fabric_route, write_rate),
		CMX_NL_FIELD(ROUTE, READ_PS, cmx_fabric_route, read_ps),
		CMX_NL_FIELD(ROUTE, WRITE_PS, cmx_fabric_route, write_ps),
	};
	struct nlattr *attr;
	int left;

	cmx_nl_read(arg, answer->attrs, fields, COUNT(fields));
	nla_for_each_attr(attr, answer->first, answer->len, left) {
		if (nla_type(attr) == CMX_A_ROUTE_PLANE)
			read_route_plane(arg, attr);
	}
	return 0;
}

int cmx_fabric_get_route(struct cmx_fabric *fabric, uint32_t from, uint32_t to, uint32_t planes,
			 struct cmx_fabric_route *route)
{
	struct nl_msg *msg = cmx_fabric_request(fabric, CMX_CMD_ROUTE_GET, NLM_F_ACK);

	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, CMX_A_ROUTE_FROM, from) || nla_put_u32(msg, CMX_A_ROUTE_TO, to) ||
	    (planes && nla_put_u32(msg, CMX_A_ROUTE_PLANES, planes))) {
		nlmsg_free(msg);
		return cmx_fail_call(-ENOMEM, "cmx_fabric_get_route");
	}
	*route = (struct cmx_fabric_route){ 0 };
	return cmx_fabric_call(fabric, msg, CMX_A_ROUTE_MAX, take_route, route);
}

/* ------------------------------------------------------------------------ changes */

/* The command that changes an object, and its attributes. */
struct change {
	uint8_t cmd;
	int index, up, permille;
};

static const struct change *find_change(uint32_t object)
{
	static const struct change changes[] = {
		[CMX_FABRIC_OBJ_LINK] = { CMX_CMD_LINK_SET, CMX_A_LINK_INDEX, CMX_A_LINK_UP,
					  CMX_A_LINK_PERMILLE },
		[CMX_FABRIC_OBJ_CHIP] = { CMX_CMD_CHIP_SET, CMX_A_CHIP_INDEX, CMX_A_CHIP_UP, 0 },
		[CMX_FABRIC_OBJ_ENTITY] = { CMX_CMD_ENTITY_SET, CMX_A_ENTITY_INDEX,
					    CMX_A_ENTITY_UP, 0 },
		[CMX_FABRIC_OBJ_NODE] = { CMX_CMD_NODE_SET, CMX_A_NODE_INDEX, CMX_A_NODE_UP, 0 },
	};

	return object && object < COUNT(changes) ? &changes[object] : NULL;
}

int cmx_fabric_set(struct cmx_fabric *fabric, uint32_t object, uint32_t index, int up,
		   uint32_t permille)
{
	const struct change *change = find_change(object);
	struct nl_msg *msg;

	if (!change)
		return cmx_fail(-EINVAL, "object", object, CMX_FABRIC_OBJ_NODE,
				"object %u: from 1 to %d", object, CMX_FABRIC_OBJ_NODE);
	if (permille && !change->permille)
		return cmx_fail(-EINVAL, "permille", permille, 0,
				"permille %u: only links have a share of their rate", permille);
	msg = cmx_fabric_request(fabric, change->cmd, NLM_F_ACK);
	if (!msg)
		return -ENOMEM;
	if (nla_put_u32(msg, change->index, index) ||
	    (up >= 0 && nla_put_u32(msg, change->up, (uint32_t)up)) ||
	    (permille && nla_put_u32(msg, change->permille, permille))) {
		nlmsg_free(msg);
		return cmx_fail_call(-ENOMEM, "cmx_fabric_set");
	}
	return cmx_fabric_call(fabric, msg, 0, NULL, NULL);
}
