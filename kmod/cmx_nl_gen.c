// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	uapi/cmx.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "cmx_nl_gen.h"

#include <uapi/cmx_netlink.h>

/* CMX_CMD_ENTITY_GET - do */
static const struct nla_policy cmx_entity_get_nl_policy[CMX_A_ENTITY_INDEX + 1] = {
	[CMX_A_ENTITY_INDEX] = { .type = NLA_U32, },
};

/* CMX_CMD_CHIP_GET - do */
static const struct nla_policy cmx_chip_get_nl_policy[CMX_A_CHIP_INDEX + 1] = {
	[CMX_A_CHIP_INDEX] = { .type = NLA_U32, },
};

/* CMX_CMD_LINK_GET - do */
static const struct nla_policy cmx_link_get_do_nl_policy[CMX_A_LINK_COUNTERS + 1] = {
	[CMX_A_LINK_INDEX] = { .type = NLA_U32, },
	[CMX_A_LINK_COUNTERS] = { .type = NLA_FLAG, },
};

/* CMX_CMD_LINK_GET - dump */
static const struct nla_policy cmx_link_get_dump_nl_policy[CMX_A_LINK_COUNTERS + 1] = {
	[CMX_A_LINK_COUNTERS] = { .type = NLA_FLAG, },
};

/* CMX_CMD_ROUTE_GET - do */
static const struct nla_policy cmx_route_get_nl_policy[CMX_A_ROUTE_PLANES + 1] = {
	[CMX_A_ROUTE_FROM] = { .type = NLA_U32, },
	[CMX_A_ROUTE_TO] = { .type = NLA_U32, },
	[CMX_A_ROUTE_PLANES] = { .type = NLA_U32, },
};

/* CMX_CMD_LINK_SET - do */
static const struct nla_policy cmx_link_set_nl_policy[CMX_A_LINK_PERMILLE + 1] = {
	[CMX_A_LINK_INDEX] = { .type = NLA_U32, },
	[CMX_A_LINK_UP] = NLA_POLICY_MAX(NLA_U32, 1),
	[CMX_A_LINK_PERMILLE] = NLA_POLICY_RANGE(NLA_U32, 1, 1000),
};

/* CMX_CMD_CHIP_SET - do */
static const struct nla_policy cmx_chip_set_nl_policy[CMX_A_CHIP_UP + 1] = {
	[CMX_A_CHIP_INDEX] = { .type = NLA_U32, },
	[CMX_A_CHIP_UP] = NLA_POLICY_MAX(NLA_U32, 1),
};

/* CMX_CMD_ENTITY_SET - do */
static const struct nla_policy cmx_entity_set_nl_policy[CMX_A_ENTITY_UP + 1] = {
	[CMX_A_ENTITY_INDEX] = { .type = NLA_U32, },
	[CMX_A_ENTITY_UP] = NLA_POLICY_MAX(NLA_U32, 1),
};

/* CMX_CMD_NODE_SET - do */
static const struct nla_policy cmx_node_set_nl_policy[CMX_A_NODE_UP + 1] = {
	[CMX_A_NODE_INDEX] = { .type = NLA_U32, },
	[CMX_A_NODE_UP] = NLA_POLICY_MAX(NLA_U32, 1),
};

/* CMX_CMD_PROFILE_SET - do */
static const struct nla_policy cmx_profile_set_nl_policy[CMX_A_PROFILE_ACK_TIMEOUT_PS + 1] = {
	[CMX_A_PROFILE_NAME] = { .type = NLA_NUL_STRING, .len = 31, },
	[CMX_A_PROFILE_USE_NODES] = { .type = NLA_U32, },
	[CMX_A_PROFILE_NODES] = { .type = NLA_U64, },
	[CMX_A_PROFILE_NPUS_PER_NODE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_DIES_PER_NPU] = { .type = NLA_U64, },
	[CMX_A_PROFILE_SOCKETS_PER_NODE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_PLANES] = { .type = NLA_U64, },
	[CMX_A_PROFILE_L2_PER_PLANE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_CUBE_CORES] = { .type = NLA_U64, },
	[CMX_A_PROFILE_VECTOR_CORES] = { .type = NLA_U64, },
	[CMX_A_PROFILE_DIE_CAPACITY] = { .type = NLA_U64, },
	[CMX_A_PROFILE_SOCKET_CAPACITY] = { .type = NLA_U64, },
	[CMX_A_PROFILE_HBM_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_SOCKET_MEM_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_DIE_PORT_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_SOCKET_PORT_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_L2_LINK_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_SIBLING_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_RDMA_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_VPC_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_WIRE_PERMILLE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_FAR_PERMILLE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_DIE_READ_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_DIE_WRITE_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_SOCKET_WRITE_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_DIE_READ_BASE_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_DIE_WRITE_BASE_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_SOCKET_READ_BASE_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_SOCKET_WRITE_BASE_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_READ_PASS_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_WRITE_PASS_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_SIBLING_READ_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_SIBLING_WRITE_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_LOCAL_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_RDMA_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_VPC_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_CUBE_RATE_INT8] = { .type = NLA_U64, },
	[CMX_A_PROFILE_CUBE_RATE_BF16] = { .type = NLA_U64, },
	[CMX_A_PROFILE_CUBE_RATE_F16] = { .type = NLA_U64, },
	[CMX_A_PROFILE_CUBE_RATE_F32] = { .type = NLA_U64, },
	[CMX_A_PROFILE_VECTOR_RATE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_GEMM_PERMILLE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_ATTENTION_PERMILLE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_VECTOR_PERMILLE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_GEMM_MEM_PERMILLE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_ATTENTION_MEM_PERMILLE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_VECTOR_MEM_PERMILLE] = { .type = NLA_U64, },
	[CMX_A_PROFILE_LAUNCH_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_ISSUE_STREAM_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_ISSUE_SDMA_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_ISSUE_UB_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_MESSAGE_PS] = { .type = NLA_U64, },
	[CMX_A_PROFILE_ACK_TIMEOUT_PS] = { .type = NLA_U64, },
};

/* Ops table for cmx */
static const struct genl_split_ops cmx_nl_ops[] = {
	{
		.cmd	= CMX_CMD_MACHINE_GET,
		.doit	= cmx_nl_machine_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= CMX_CMD_ENTITY_GET,
		.doit		= cmx_nl_entity_get_doit,
		.policy		= cmx_entity_get_nl_policy,
		.maxattr	= CMX_A_ENTITY_INDEX,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= CMX_CMD_ENTITY_GET,
		.start	= cmx_nl_entity_start,
		.dumpit	= cmx_nl_entity_get_dumpit,
		.done	= cmx_nl_counted_done,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= CMX_CMD_CHIP_GET,
		.doit		= cmx_nl_chip_get_doit,
		.policy		= cmx_chip_get_nl_policy,
		.maxattr	= CMX_A_CHIP_INDEX,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= CMX_CMD_CHIP_GET,
		.dumpit	= cmx_nl_chip_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= CMX_CMD_NODE_GET,
		.dumpit	= cmx_nl_node_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd	= CMX_CMD_PORT_GET,
		.dumpit	= cmx_nl_port_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= CMX_CMD_LINK_GET,
		.doit		= cmx_nl_link_get_doit,
		.policy		= cmx_link_get_do_nl_policy,
		.maxattr	= CMX_A_LINK_COUNTERS,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= CMX_CMD_LINK_GET,
		.start		= cmx_nl_link_start,
		.dumpit		= cmx_nl_link_get_dumpit,
		.done		= cmx_nl_counted_done,
		.policy		= cmx_link_get_dump_nl_policy,
		.maxattr	= CMX_A_LINK_COUNTERS,
		.flags		= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= CMX_CMD_ROUTE_GET,
		.doit		= cmx_nl_route_get_doit,
		.policy		= cmx_route_get_nl_policy,
		.maxattr	= CMX_A_ROUTE_PLANES,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= CMX_CMD_CLIENT_GET,
		.start	= cmx_nl_client_start,
		.dumpit	= cmx_nl_client_get_dumpit,
		.flags	= GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= CMX_CMD_LINK_SET,
		.pre_doit	= cmx_nl_admin_pre_doit,
		.doit		= cmx_nl_link_set_doit,
		.policy		= cmx_link_set_nl_policy,
		.maxattr	= CMX_A_LINK_PERMILLE,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= CMX_CMD_CHIP_SET,
		.pre_doit	= cmx_nl_admin_pre_doit,
		.doit		= cmx_nl_chip_set_doit,
		.policy		= cmx_chip_set_nl_policy,
		.maxattr	= CMX_A_CHIP_UP,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= CMX_CMD_ENTITY_SET,
		.pre_doit	= cmx_nl_admin_pre_doit,
		.doit		= cmx_nl_entity_set_doit,
		.policy		= cmx_entity_set_nl_policy,
		.maxattr	= CMX_A_ENTITY_UP,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= CMX_CMD_NODE_SET,
		.pre_doit	= cmx_nl_admin_pre_doit,
		.doit		= cmx_nl_node_set_doit,
		.policy		= cmx_node_set_nl_policy,
		.maxattr	= CMX_A_NODE_UP,
		.flags		= GENL_CMD_CAP_DO,
	},
	{
		.cmd	= CMX_CMD_PROFILE_GET,
		.doit	= cmx_nl_profile_get_doit,
		.flags	= GENL_CMD_CAP_DO,
	},
	{
		.cmd		= CMX_CMD_PROFILE_SET,
		.pre_doit	= cmx_nl_admin_pre_doit,
		.doit		= cmx_nl_profile_set_doit,
		.policy		= cmx_profile_set_nl_policy,
		.maxattr	= CMX_A_PROFILE_ACK_TIMEOUT_PS,
		.flags		= GENL_CMD_CAP_DO,
	},
};

static const struct genl_multicast_group cmx_nl_mcgrps[] = {
	[CMX_NLGRP_LINK] = { "link", },
	[CMX_NLGRP_ENTITY] = { "entity", },
	[CMX_NLGRP_ERROR] = { "error", },
};

struct genl_family cmx_nl_family __ro_after_init = {
	.name		= CMX_FAMILY_NAME,
	.version	= CMX_FAMILY_VERSION,
	.netnsok	= true,
	.parallel_ops	= true,
	.module		= THIS_MODULE,
	.split_ops	= cmx_nl_ops,
	.n_split_ops	= ARRAY_SIZE(cmx_nl_ops),
	.mcgrps		= cmx_nl_mcgrps,
	.n_mcgrps	= ARRAY_SIZE(cmx_nl_mcgrps),
};
