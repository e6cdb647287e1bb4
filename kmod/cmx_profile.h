/* SPDX-License-Identifier: GPL-2.0-only */
/* Shape and speeds of a supernode.  Integers only: bytes/s, operations/s, picoseconds. */
#ifndef CMX_PROFILE_H
#define CMX_PROFILE_H

#include <linux/types.h>

#include "cmx_drm.h"

#define CMX_PROFILE_NAME	32
#define CMX_QUEUE_CLASSES	(CMX_QUEUE_UB + 1)

/**
 * struct cmx_profile - constants of a machine; docs/timing.md has each one's source.
 */
struct cmx_profile {
	/** @name: shown to users. */
	char name[CMX_PROFILE_NAME];
	/** @nodes: nodes of the supernode. */
	u32 nodes;
	/** @npus_per_node: NPUs of a node. */
	u32 npus_per_node;
	/** @dies_per_npu: dies of an NPU. */
	u32 dies_per_npu;
	/** @sockets_per_node: CPU sockets of a node. */
	u32 sockets_per_node;
	/** @planes: UB sub-planes, L1 chips of a node. */
	u32 planes;
	/** @l2_per_plane: L2 chips of a sub-plane. */
	u32 l2_per_plane;
	/** @cube_cores: cube cores of a die. */
	u32 cube_cores;
	/** @vector_cores: vector cores of a die. */
	u32 vector_cores;
	/** @die_capacity: bytes of a die's HBM. */
	u64 die_capacity;
	/** @socket_capacity: bytes of a socket's memory. */
	u64 socket_capacity;
	/** @hbm_rate: bytes/s of a die's HBM. */
	u64 hbm_rate;
	/** @socket_mem_rate: bytes/s of a socket's memory. */
	u64 socket_mem_rate;
	/** @die_port_rate: raw bytes/s of a die's UB links together, one way. */
	u64 die_port_rate;
	/** @socket_port_rate: raw bytes/s of a socket's UB links together, one way. */
	u64 socket_port_rate;
	/** @l2_link_rate: raw bytes/s of a link between an L1 and an L2 chip, one way. */
	u64 l2_link_rate;
	/** @sibling_rate: bytes/s between the two dies of an NPU, one way. */
	u64 sibling_rate;
	/** @rdma_rate: bytes/s of a die's link to the RDMA plane, one way. */
	u64 rdma_rate;
	/** @vpc_rate: bytes/s of a node's link to the VPC plane, one way. */
	u64 vpc_rate;
	/** @die_read_rate: bytes/s a die's engines can read over UB. */
	u64 die_read_rate;
	/** @die_write_rate: bytes/s a die's engines can write over UB. */
	u64 die_write_rate;
	/** @socket_write_rate: bytes/s a socket takes in of what others write. */
	u64 socket_write_rate;
	/** @wire_permille: share of a UB link's raw rate that bytes of users get. */
	u32 wire_permille;
	/** @far_permille: what is left of UB rates when another node is addressed. */
	u32 far_permille;
	/** @die_read_base_ps: latency of reads of a die's memory, without switches. */
	u64 die_read_base_ps;
	/** @die_write_base_ps: latency of writes to a die's memory, without switches. */
	u64 die_write_base_ps;
	/** @socket_read_base_ps: the same for reads of a socket's memory. */
	u64 socket_read_base_ps;
	/** @socket_write_base_ps: the same for writes to a socket's memory. */
	u64 socket_write_base_ps;
	/** @read_pass_ps: what each pass through a switch chip adds to a read. */
	u64 read_pass_ps;
	/** @write_pass_ps: what each pass through a switch chip adds to a write. */
	u64 write_pass_ps;
	/** @sibling_read_ps: latency of reads between the dies of an NPU. */
	u64 sibling_read_ps;
	/** @sibling_write_ps: latency of writes between the dies of an NPU. */
	u64 sibling_write_ps;
	/** @local_ps: latency inside an entity. */
	u64 local_ps;
	/** @rdma_ps: latency over the RDMA plane. */
	u64 rdma_ps;
	/** @vpc_ps: latency over the VPC plane. */
	u64 vpc_ps;
	/** @cube_rate: operations/s of a die's cube cores, by enum drm_cmx_op_class. */
	u64 cube_rate[CMX_OPS_CLASSES];
	/** @vector_rate: operations/s of a die's vector cores. */
	u64 vector_rate;
	/** @compute_permille: share of cube or vector peak reached, by enum cmx_efficiency. */
	u32 compute_permille[CMX_EFF_CLASSES];
	/** @mem_permille: share of the memory rate reached, by enum cmx_efficiency. */
	u32 mem_permille[CMX_EFF_CLASSES];
	/** @launch_ps: fixed time of a kernel launch on the device. */
	u64 launch_ps;
	/** @issue_ps: time to take an entry, by enum drm_cmx_queue_class. */
	u64 issue_ps[CMX_QUEUE_CLASSES];
	/** @message_ps: time an engine needs for each message beside its bytes. */
	u64 message_ps;
	/** @ack_timeout_ps: when a queue without a timeout of its own gives up on a peer. */
	u64 ack_timeout_ps;
};

/** struct cmx_profile_field - a constant, in the order of CMX_PROFILE_CONSTANTS. */
struct cmx_profile_field {
	/** @name: name. */
	const char *name;
	/** @offset: in struct cmx_profile. */
	u16 offset;
	/** @size: 4 or 8 bytes. */
	u16 size;
	/** @min: smallest value. */
	u64 min;
	/** @max: largest value. */
	u64 max;
};

extern const struct cmx_profile_field cmx_profile_fields[];
extern const u32 cmx_profile_num_fields;

/* cmx_profile_builtin() - the profile a supernode has when none is loaded. */
const struct cmx_profile *cmx_profile_builtin(void);

/* cmx_profile_get() - value of @field. */
u64 cmx_profile_get(const struct cmx_profile *profile, const struct cmx_profile_field *field);
/* cmx_profile_put() - set it; a value that does not fit becomes one that no field takes. */
void cmx_profile_put(struct cmx_profile *profile, const struct cmx_profile_field *field, u64 value);

/*
 * cmx_profile_check() - whether a machine can be built from it.
 * @nodes: nodes to use, 0: all
 * @why: out: the field, its value and its limit
 *
 * Return: 0 or -EINVAL.
 */
int cmx_profile_check(const struct cmx_profile *profile, u32 nodes, char *why, size_t size);

#endif
