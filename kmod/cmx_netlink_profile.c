// SPDX-License-Identifier: GPL-2.0-only
/* Netlink: the profile of the machine, and loading another. */
#include <linux/ctype.h>
#include <linux/slab.h>

#include "cmx_constants.h"
#include "cmx_current.h"
#include "cmx_netlink_priv.h"

#define ATTR(id, name, member, unit, min, max)	CMX_A_PROFILE_##id,
/* By field of the profile. */
static const u16 cmx_nl_constants[] = { CMX_PROFILE_CONSTANTS(ATTR) };
#undef ATTR

static int cmx_nl_fill_profile(struct sk_buff *skb, const struct cmx_nl_view *view, u32 index)
{
	const struct cmx_profile *profile = view->machine->profile;
	u32 i;

	if (nla_put_string(skb, CMX_A_PROFILE_NAME, profile->name) ||
	    nla_put_u32(skb, CMX_A_PROFILE_USE_NODES, view->machine->num_nodes))
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(cmx_nl_constants); i++) {
		if (nla_put_u64_64bit(skb, cmx_nl_constants[i],
				      cmx_profile_get(profile, &cmx_profile_fields[i]),
				      CMX_A_PROFILE_PAD))
			return -EMSGSIZE;
	}
	return 0;
}

int cmx_nl_profile_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct cmx_nl_view view;
	int err;

	err = cmx_nl_view_get(&view, info->extack);
	if (err)
		return err;
	err = cmx_nl_reply(info, &view, cmx_nl_fill_profile, 0);
	cmx_nl_view_put(&view);
	return err;
}

/* Printed, and shown in sysfs: nothing that a terminal or a script would trip over. */
static int cmx_nl_parse_name(struct genl_info *info, char *name, size_t size)
{
	const char *c;

	if (GENL_REQ_ATTR_CHECK(info, CMX_A_PROFILE_NAME)) {
		NL_SET_ERR_MSG(info->extack, "name is missing");
		return -EINVAL;
	}
	nla_strscpy(name, info->attrs[CMX_A_PROFILE_NAME], size);
	for (c = name; isalnum(*c) || *c == '-' || *c == '_' || (*c == '.' && c > name); c++)
		;
	if (c > name && !*c)
		return 0;
	NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[CMX_A_PROFILE_NAME],
			    "name: only letters, digits, '-', '_' and inner '.' are taken");
	return -EINVAL;
}

static int cmx_nl_parse_constants(struct genl_info *info, struct cmx_profile *profile)
{
	const struct cmx_profile_field *field = cmx_profile_fields;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(cmx_nl_constants); i++, field++) {
		if (GENL_REQ_ATTR_CHECK(info, cmx_nl_constants[i])) {
			NL_SET_ERR_MSG_FMT(info->extack, "%s is missing", field->name);
			return -EINVAL;
		}
		cmx_profile_put(profile, field, nla_get_u64(info->attrs[cmx_nl_constants[i]]));
	}
	return 0;
}

/* Fill and check @profile, and say how many @nodes of it to use. */
static int cmx_nl_parse_profile(struct genl_info *info, struct cmx_profile *profile, u32 *nodes)
{
	struct nlattr *use = info->attrs[CMX_A_PROFILE_USE_NODES];
	char why[NETLINK_MAX_FMTMSG_LEN];
	int err;

	err = cmx_nl_parse_name(info, profile->name, sizeof(profile->name)) ?:
	      cmx_nl_parse_constants(info, profile);
	if (err)
		return err;
	*nodes = use && nla_get_u32(use) ? nla_get_u32(use) : profile->nodes;
	err = cmx_profile_check(profile, *nodes, why, sizeof(why));
	if (err)
		NL_SET_ERR_MSG_FMT(info->extack, "%s", why);
	return err;
}

int cmx_nl_profile_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct cmx_profile *profile = kzalloc(sizeof(*profile), GFP_KERNEL);
	u32 nodes;
	int err;

	if (!profile)
		return -ENOMEM;
	err = cmx_nl_parse_profile(info, profile, &nodes);
	if (!err)
		err = cmx_current_replace(profile, nodes, info->extack);
	kfree(profile);
	return err;
}
