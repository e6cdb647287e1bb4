// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: changes of state. */
#include "cmx_netlink_priv.h"

/** struct cmx_nl_change - a request to change a part. */
struct cmx_nl_change {
	/** @object: enum cmx_fabric_object. */
	u32 object;
	/** @count: says how many parts of that kind there are. */
	cmx_nl_count_t count;
	/** @index: attribute: which. */
	int index;
	/** @up: attribute: state. */
	int up;
	/** @permille: attribute: share of the rate, or 0: has none. */
	int permille;
};

static int cmx_nl_change_part(struct genl_info *info, struct cmx_machine *machine,
			      const struct cmx_nl_change *change)
{
	struct nlattr *up = info->attrs[change->up];
	struct nlattr *permille = change->permille ? info->attrs[change->permille] : NULL;
	u32 index, generation;
	int err;

	err = cmx_nl_index(info, change->index, "index", change->count(machine), &index);
	if (err)
		return err;
	if (!up && !permille) {
		NL_SET_ERR_ATTR_MISS(info->extack, NULL, change->up);
		NL_SET_ERR_MSG_FMT(info->extack, "up%s is missing: nothing to change",
				   change->permille ? " or permille" : "");
		return -EINVAL;
	}
	err = cmx_fabric_set(machine, change->object, index, up ? nla_get_u32(up) : -1,
			     permille ? nla_get_u32(permille) : 0, &generation);
	if (err)
		NL_SET_ERR_MSG_FMT(info->extack, "index %u: the change failed (%d)", index, err);
	return err;
}

static int cmx_nl_change(struct genl_info *info, const struct cmx_nl_change *change)
{
	struct cmx_nl_view view;
	int err = cmx_nl_view_get(&view, info->extack);

	if (err)
		return err;
	err = cmx_nl_change_part(info, view.machine, change);
	cmx_nl_view_put(&view);
	return err;
}

int cmx_nl_link_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const struct cmx_nl_change change = {
		.object = CMX_OBJ_LINK,
		.count = cmx_nl_count_links,
		.index = CMX_A_LINK_INDEX,
		.up = CMX_A_LINK_UP,
		.permille = CMX_A_LINK_PERMILLE,
	};

	return cmx_nl_change(info, &change);
}

int cmx_nl_chip_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const struct cmx_nl_change change = {
		.object = CMX_OBJ_CHIP,
		.count = cmx_nl_count_chips,
		.index = CMX_A_CHIP_INDEX,
		.up = CMX_A_CHIP_UP,
	};

	return cmx_nl_change(info, &change);
}

int cmx_nl_entity_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const struct cmx_nl_change change = {
		.object = CMX_OBJ_ENTITY,
		.count = cmx_nl_count_entities,
		.index = CMX_A_ENTITY_INDEX,
		.up = CMX_A_ENTITY_UP,
	};

	return cmx_nl_change(info, &change);
}

int cmx_nl_node_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	static const struct cmx_nl_change change = {
		.object = CMX_OBJ_NODE,
		.count = cmx_nl_count_nodes,
		.index = CMX_A_NODE_INDEX,
		.up = CMX_A_NODE_UP,
	};

	return cmx_nl_change(info, &change);
}
