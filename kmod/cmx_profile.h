/* SPDX-License-Identifier: GPL-2.0-only */
/* Shape and speeds of a supernode.  Integers only: bytes/s, operations/s, picoseconds. */
#ifndef CMX_PROFILE_H
#define CMX_PROFILE_H

#include <linux/types.h>

#include "cmx_drm.h"

/** enum cmx_path_kind - classes of paths between two entities. */
enum cmx_path_kind {
	/** @CMX_PATH_LOCAL: inside one entity. */
	CMX_PATH_LOCAL,
	/** @CMX_PATH_SIBLING: the two dies of an NPU. */
	CMX_PATH_SIBLING,
	/** @CMX_PATH_NPU_INTRA: die to die, one node. */
	CMX_PATH_NPU_INTRA,
	/** @CMX_PATH_NPU_INTER: die to die, two nodes. */
	CMX_PATH_NPU_INTER,
	/** @CMX_PATH_CPU_INTRA: die and socket, one node. */
	CMX_PATH_CPU_INTRA,
	/** @CMX_PATH_CPU_INTER: die and socket, two nodes. */
	CMX_PATH_CPU_INTER,
	/** @CMX_PATH_CPU_CPU: socket to socket. */
	CMX_PATH_CPU_CPU,
	/** @CMX_PATH_KINDS: number of kinds. */
	CMX_PATH_KINDS,
};

/** struct cmx_path_speed - one kind of path, one direction of use. */
struct cmx_path_speed {
	/** @rate: bytes/s of a large transfer. */
	u64 rate;
	/** @latency_ps: time of the first byte, issue to completion, without @rate. */
	u64 latency_ps;
};

/**
 * struct cmx_profile - constants of a machine; docs/timing.md has each one's source.
 */
struct cmx_profile {
	/** @name: shown to users. */
	const char *name;
	/** @nodes: nodes of the supernode. */
	u32 nodes;
	/** @npus_per_node: NPUs of a node. */
	u32 npus_per_node;
	/** @dies_per_npu: dies of an NPU. */
	u32 dies_per_npu;
	/** @sockets_per_node: CPU sockets of a node. */
	u32 sockets_per_node;
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
	/** @die_port_rate: bytes/s of a die's UB port, one way. */
	u64 die_port_rate;
	/** @socket_port_rate: bytes/s of a socket's UB port, one way. */
	u64 socket_port_rate;
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
	/** @issue_ps: time to take an entry from a ring. */
	u64 issue_ps;
	/** @message_ps: time a port needs for each message beside its bytes. */
	u64 message_ps;
	/** @read: paths used by reads. */
	struct cmx_path_speed read[CMX_PATH_KINDS];
	/** @write: paths used by writes. */
	struct cmx_path_speed write[CMX_PATH_KINDS];
};

/* cmx_profile_builtin() - the profile a supernode has when none is loaded. */
const struct cmx_profile *cmx_profile_builtin(void);

#endif
