// SPDX-License-Identifier: GPL-2.0-only
/*
 * The netlink family, and what it tells those who listen.
 *
 * Handlers run side by side (parallel_ops) and in every network namespace: there is one
 * machine.  Each holds it with cmx_current_get() to the end of its answer, a dump anew for
 * each of its calls: between them the machine may be replaced, and the dump carries along
 * nothing that points into it.
 */
#include "cmx_netlink.h"
#include "cmx_netlink_priv.h"

#define CMX_NL_EVENT_SIZE	128	/* attributes of the largest event, with room to spare */

int cmx_netlink_init(void)
{
	return genl_register_family(&cmx_nl_family);
}

void cmx_netlink_exit(void)
{
	genl_unregister_family(&cmx_nl_family);
}

/* Not the flag of the operation: the core would refuse without a text. */
int cmx_nl_admin_pre_doit(const struct genl_split_ops *ops, struct sk_buff *skb,
			  struct genl_info *info)
{
	if (netlink_capable(skb, CAP_NET_ADMIN))
		return 0;
	NL_SET_ERR_MSG(info->extack, "changes need CAP_NET_ADMIN in the first user namespace");
	return -EPERM;
}

/* -------------------------------------------------------------------------- events */

/* Listeners that miss an event must know that they did. */
static void cmx_nl_lost(u32 group)
{
	struct net *net;

	guard(rcu)();
	for_each_net_rcu(net)
		genl_set_err(&cmx_nl_family, net, 0, group, -ENOBUFS);
}

/* Small: what waits for a slow listener is charged to it by the size of the buffer. */
static struct sk_buff *cmx_nl_event(u8 cmd, u32 group, void **header)
{
	struct sk_buff *skb = genlmsg_new(CMX_NL_EVENT_SIZE, GFP_ATOMIC);

	if (!skb) {
		cmx_nl_lost(group);
		return NULL;
	}
	*header = genlmsg_put(skb, 0, 0, &cmx_nl_family, 0, cmd);
	return skb;
}

/* In all network namespaces, as reading is. */
static void cmx_nl_event_send(struct sk_buff *skb, void *header, u32 group, int err)
{
	if (WARN_ON_ONCE(err)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	if (genlmsg_multicast_allns(&cmx_nl_family, skb, 0, group) == -ENOMEM)
		cmx_nl_lost(group);
}

void cmx_netlink_notify_state(struct cmx_machine *machine, u32 object, u32 index, bool up,
			      u32 permille, u32 generation)
{
	bool link = object == CMX_OBJ_LINK || object == CMX_OBJ_CHIP;
	u32 group = link ? CMX_NLGRP_LINK : CMX_NLGRP_ENTITY;
	struct sk_buff *skb;
	void *header;
	int err;

	skb = cmx_nl_event(link ? CMX_CMD_LINK_NTF : CMX_CMD_ENTITY_NTF, group, &header);
	if (!skb)
		return;
	err = nla_put_u32(skb, CMX_A_STATE_PART, object) ?:
	      nla_put_u32(skb, CMX_A_STATE_INDEX, index) ?:
	      nla_put_u32(skb, CMX_A_STATE_UP, up) ?:
	      nla_put_u32(skb, CMX_A_STATE_GENERATION, generation);
	if (object == CMX_OBJ_LINK)
		err = err ?: nla_put_u32(skb, CMX_A_STATE_PERMILLE, permille);
	cmx_nl_event_send(skb, header, group, err);
}

void cmx_netlink_notify_error(struct cmx_machine *machine, u32 entity, u32 peer, u32 status,
			      u64 time_ps)
{
	struct sk_buff *skb;
	void *header;
	int err;

	skb = cmx_nl_event(CMX_CMD_ERROR_NTF, CMX_NLGRP_ERROR, &header);
	if (!skb)
		return;
	err = nla_put_u32(skb, CMX_A_ERROR_ENTITY, entity) ?:
	      nla_put_u32(skb, CMX_A_ERROR_STATUS, status) ?:
	      nla_put_u64_64bit(skb, CMX_A_ERROR_TIME_PS, time_ps, CMX_A_ERROR_PAD);
	if (peer != ~0U)
		err = err ?: nla_put_u32(skb, CMX_A_ERROR_PEER, peer);
	cmx_nl_event_send(skb, header, CMX_NLGRP_ERROR, err);
}

void cmx_netlink_notify_profile(struct cmx_machine *machine)
{
	struct sk_buff *skb;
	void *header;
	int err;

	skb = cmx_nl_event(CMX_CMD_PROFILE_NTF, CMX_NLGRP_ENTITY, &header);
	if (!skb)
		return;
	err = nla_put_string(skb, CMX_A_PROFILE_NAME, machine->profile->name) ?:
	      nla_put_u32(skb, CMX_A_PROFILE_USE_NODES, machine->num_nodes);
	cmx_nl_event_send(skb, header, CMX_NLGRP_ENTITY, err);
}
