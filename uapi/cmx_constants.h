/* SPDX-License-Identifier: MIT */
/*
 * Constants of a profile: names, units and the values the module takes.  The one list that
 * the module, the library and the netlink attributes agree by.
 */
#ifndef _UAPI_CMX_CONSTANTS_H_
#define _UAPI_CMX_CONSTANTS_H_

#define CMX_MIN_RATE	1000000ULL		/* a megabyte in a second */
#define CMX_MAX_RATE	100000000000000ULL	/* 100 terabytes in a second */
#define CMX_MAX_OPS	1000000000000000000ULL	/* operations in a second */
#define CMX_MAX_PS	1000000000000ULL	/* a second */

/*
 * X(ID, name, member, unit, min, max): attribute CMX_A_PROFILE_ID, key in a profile's file,
 * member of the module's struct cmx_profile (others leave it out), unit, limits.  Those of
 * the shape keep a node below 128 dies and 128 sockets, which an EID has room for.
 */
#define CMX_PROFILE_CONSTANTS(X)							\
	X(NODES, nodes, nodes, "", 1, 64)						\
	X(NPUS_PER_NODE, npus_per_node, npus_per_node, "", 1, 32)			\
	X(DIES_PER_NPU, dies_per_npu, dies_per_npu, "", 1, 2)				\
	X(SOCKETS_PER_NODE, sockets_per_node, sockets_per_node, "", 1, 16)		\
	X(PLANES, planes, planes, "", 1, 16)						\
	X(L2_PER_PLANE, l2_per_plane, l2_per_plane, "", 1, 64)				\
	X(CUBE_CORES, cube_cores, cube_cores, "", 1, 1024)				\
	X(VECTOR_CORES, vector_cores, vector_cores, "", 1, 1024)			\
	X(DIE_CAPACITY, die_capacity, die_capacity, "B", 1 << 20, 1ULL << 40)		\
	X(SOCKET_CAPACITY, socket_capacity, socket_capacity, "B", 1 << 20, 1ULL << 42)	\
	X(HBM_RATE, hbm_rate, hbm_rate, "B/s", CMX_MIN_RATE, CMX_MAX_RATE)		\
	X(SOCKET_MEM_RATE, socket_mem_rate, socket_mem_rate, "B/s", CMX_MIN_RATE,	\
	  CMX_MAX_RATE)									\
	X(DIE_PORT_RATE, die_port_rate, die_port_rate, "B/s", CMX_MIN_RATE, CMX_MAX_RATE) \
	X(SOCKET_PORT_RATE, socket_port_rate, socket_port_rate, "B/s", CMX_MIN_RATE,	\
	  CMX_MAX_RATE)									\
	X(L2_LINK_RATE, l2_link_rate, l2_link_rate, "B/s", CMX_MIN_RATE, CMX_MAX_RATE)	\
	X(SIBLING_RATE, sibling_rate, sibling_rate, "B/s", CMX_MIN_RATE, CMX_MAX_RATE)	\
	X(RDMA_RATE, rdma_rate, rdma_rate, "B/s", CMX_MIN_RATE, CMX_MAX_RATE)		\
	X(VPC_RATE, vpc_rate, vpc_rate, "B/s", CMX_MIN_RATE, CMX_MAX_RATE)		\
	X(WIRE_PERMILLE, wire_permille, wire_permille, "permille", 1, 1000)		\
	X(FAR_PERMILLE, far_permille, far_permille, "permille", 1, 1000)		\
	X(DIE_READ_RATE, die_read_rate, die_read_rate, "B/s", CMX_MIN_RATE, CMX_MAX_RATE) \
	X(DIE_WRITE_RATE, die_write_rate, die_write_rate, "B/s", CMX_MIN_RATE,		\
	  CMX_MAX_RATE)									\
	X(SOCKET_WRITE_RATE, socket_write_rate, socket_write_rate, "B/s", CMX_MIN_RATE,	\
	  CMX_MAX_RATE)									\
	X(DIE_READ_BASE_PS, die_read_base_ps, die_read_base_ps, "ps", 0, CMX_MAX_PS)	\
	X(DIE_WRITE_BASE_PS, die_write_base_ps, die_write_base_ps, "ps", 0, CMX_MAX_PS)	\
	X(SOCKET_READ_BASE_PS, socket_read_base_ps, socket_read_base_ps, "ps", 0, CMX_MAX_PS) \
	X(SOCKET_WRITE_BASE_PS, socket_write_base_ps, socket_write_base_ps, "ps", 0,	\
	  CMX_MAX_PS)									\
	X(READ_PASS_PS, read_pass_ps, read_pass_ps, "ps", 0, CMX_MAX_PS)		\
	X(WRITE_PASS_PS, write_pass_ps, write_pass_ps, "ps", 0, CMX_MAX_PS)		\
	X(SIBLING_READ_PS, sibling_read_ps, sibling_read_ps, "ps", 0, CMX_MAX_PS)	\
	X(SIBLING_WRITE_PS, sibling_write_ps, sibling_write_ps, "ps", 0, CMX_MAX_PS)	\
	X(LOCAL_PS, local_ps, local_ps, "ps", 0, CMX_MAX_PS)				\
	X(RDMA_PS, rdma_ps, rdma_ps, "ps", 0, CMX_MAX_PS)				\
	X(VPC_PS, vpc_ps, vpc_ps, "ps", 0, CMX_MAX_PS)					\
	X(CUBE_RATE_INT8, cube_rate_int8, cube_rate[CMX_OPS_INT8], "op/s", 1, CMX_MAX_OPS) \
	X(CUBE_RATE_BF16, cube_rate_bf16, cube_rate[CMX_OPS_BF16], "op/s", 1, CMX_MAX_OPS) \
	X(CUBE_RATE_F16, cube_rate_f16, cube_rate[CMX_OPS_F16], "op/s", 1, CMX_MAX_OPS)	\
	X(CUBE_RATE_F32, cube_rate_f32, cube_rate[CMX_OPS_F32], "op/s", 1, CMX_MAX_OPS)	\
	X(VECTOR_RATE, vector_rate, vector_rate, "op/s", 1, CMX_MAX_OPS)		\
	X(GEMM_PERMILLE, gemm_permille, compute_permille[CMX_EFF_GEMM], "permille", 1, 1000) \
	X(ATTENTION_PERMILLE, attention_permille, compute_permille[CMX_EFF_ATTENTION],	\
	  "permille", 1, 1000)								\
	X(VECTOR_PERMILLE, vector_permille, compute_permille[CMX_EFF_VECTOR], "permille", \
	  1, 1000)									\
	X(GEMM_MEM_PERMILLE, gemm_mem_permille, mem_permille[CMX_EFF_GEMM], "permille", 1, \
	  1000)										\
	X(ATTENTION_MEM_PERMILLE, attention_mem_permille, mem_permille[CMX_EFF_ATTENTION], \
	  "permille", 1, 1000)								\
	X(VECTOR_MEM_PERMILLE, vector_mem_permille, mem_permille[CMX_EFF_VECTOR],	\
	  "permille", 1, 1000)								\
	X(LAUNCH_PS, launch_ps, launch_ps, "ps", 0, CMX_MAX_PS)				\
	X(ISSUE_STREAM_PS, issue_stream_ps, issue_ps[CMX_QUEUE_STREAM], "ps", 0, CMX_MAX_PS) \
	X(ISSUE_SDMA_PS, issue_sdma_ps, issue_ps[CMX_QUEUE_SDMA], "ps", 0, CMX_MAX_PS)	\
	X(ISSUE_UB_PS, issue_ub_ps, issue_ps[CMX_QUEUE_UB], "ps", 0, CMX_MAX_PS)	\
	X(MESSAGE_PS, message_ps, message_ps, "ps", 0, CMX_MAX_PS / 1000)			\
	X(ACK_TIMEOUT_PS, ack_timeout_ps, ack_timeout_ps, "ps", 1, 1000 * CMX_MAX_PS)

#endif
