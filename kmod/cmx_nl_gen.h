/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	uapi/cmx.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_CMX_GEN_H
#define _LINUX_CMX_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/cmx_netlink.h>

int cmx_nl_admin_pre_doit(const struct genl_split_ops *ops,
			  struct sk_buff *skb, struct genl_info *info);
int cmx_nl_entity_start(struct netlink_callback *cb);
int cmx_nl_link_start(struct netlink_callback *cb);
int cmx_nl_client_start(struct netlink_callback *cb);
int cmx_nl_counted_done(struct netlink_callback *cb);

int cmx_nl_machine_get_doit(struct sk_buff *skb, struct genl_info *info);
int cmx_nl_entity_get_doit(struct sk_buff *skb, struct genl_info *info);
int cmx_nl_entity_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int cmx_nl_chip_get_doit(struct sk_buff *skb, struct genl_info *info);
int cmx_nl_chip_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int cmx_nl_node_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int cmx_nl_port_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int cmx_nl_link_get_doit(struct sk_buff *skb, struct genl_info *info);
int cmx_nl_link_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int cmx_nl_route_get_doit(struct sk_buff *skb, struct genl_info *info);
int cmx_nl_client_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int cmx_nl_link_set_doit(struct sk_buff *skb, struct genl_info *info);
int cmx_nl_chip_set_doit(struct sk_buff *skb, struct genl_info *info);
int cmx_nl_entity_set_doit(struct sk_buff *skb, struct genl_info *info);
int cmx_nl_node_set_doit(struct sk_buff *skb, struct genl_info *info);
int cmx_nl_profile_get_doit(struct sk_buff *skb, struct genl_info *info);
int cmx_nl_profile_set_doit(struct sk_buff *skb, struct genl_info *info);

enum {
	CMX_NLGRP_LINK,
	CMX_NLGRP_ENTITY,
	CMX_NLGRP_ERROR,
};

extern struct genl_family cmx_nl_family;

#endif /* _LINUX_CMX_GEN_H */
