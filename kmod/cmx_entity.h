/* SPDX-License-Identifier: GPL-2.0-only */
/* Entities: what has memory or engines.  Dies first, then CPU sockets. */
#ifndef CMX_ENTITY_H
#define CMX_ENTITY_H

#include <linux/atomic.h>
#include <linux/device.h>
#include <linux/types.h>

#include "cmx_counter.h"
#include "cmx_profile.h"
#include "cmx_routes.h"
#include "cmx_time.h"

/**
 * struct cmx_entity - a die or a CPU socket, a device on the cmx bus.
 */
struct cmx_entity {
	/** @dev: device on the bus; its reference count is this structure's. */
	struct device dev;
	/** @index: number in ioctls. */
	u32 index;
	/** @kind: enum drm_cmx_entity_kind. */
	u32 kind;
	/** @node: node it is in. */
	u32 node;
	/** @npu: NPU in the node, or ~0. */
	u32 npu;
	/** @unit: die in the NPU or socket in the node. */
	u32 unit;
	/** @cna: primary compact network address. */
	u32 cna;
	/** @upi: partition. */
	u32 upi;
	/** @eid: entity identifier, network byte order. */
	u8 eid[16];
	/** @guid: global identity. */
	u8 guid[16];
	/** @capacity: bytes of memory. */
	u64 capacity;
	/** @used: bytes charged to BOs. */
	atomic64_t used;
	/** @resident: bytes of host memory behind them. */
	atomic64_t resident;
	/** @profile: the machine's profile. */
	const struct cmx_profile *profile;
};

static inline struct cmx_entity *to_cmx_entity(struct device *dev)
{
	return container_of(dev, struct cmx_entity, dev);
}

/**
 * struct cmx_machine - all entities of the supernode.
 *
 * Read-only once registered, but for what has a lock of its own.
 */
struct cmx_machine {
	/** @dev: the supernode on the bus, parent of the entities; holds this structure. */
	struct device dev;
	/** @profile: shape and speeds: @own_profile. */
	const struct cmx_profile *profile;
	/** @own_profile: a copy, so that a profile that was loaded goes with its machine. */
	struct cmx_profile own_profile;
	/** @fabric: wiring, and what of it works. */
	struct cmx_fabric fabric;
	/** @speeds: what the profile's constants come to. */
	struct cmx_speeds speeds;
	/** @totals: what timelines that are gone have counted. */
	struct cmx_totals totals;
	/** @num_nodes: nodes in use (module parameter, at most the profile's). */
	u32 num_nodes;
	/** @num_dies: entities 0 to num_dies - 1. */
	u32 num_dies;
	/** @num_entities: dies and sockets. */
	u32 num_entities;
	/** @entities: by index. */
	struct cmx_entity **entities;
};

static inline struct cmx_machine *to_cmx_machine(struct device *dev)
{
	return container_of(dev, struct cmx_machine, dev);
}

/*
 * cmx_machine_create() - build a supernode and register all devices.
 * @profile: passed cmx_profile_check(); copied
 * @nodes: how many of its nodes
 */
struct cmx_machine *cmx_machine_create(const struct cmx_profile *profile, u32 nodes);
/* cmx_machine_destroy() - unregister; memory goes with the last references. */
void cmx_machine_destroy(struct cmx_machine *machine);
/* cmx_machine_free() - release function of cmx_machine.dev. */
void cmx_machine_free(struct cmx_machine *machine);

/* cmx_entity_alloc() - entity @index of @machine, initialised, not yet on the bus. */
struct cmx_entity *cmx_entity_alloc(struct cmx_machine *machine, u32 index);
/* cmx_entity_charge() - account @bytes of capacity; -ENOSPC leaves it alone. */
int cmx_entity_charge(struct cmx_entity *entity, u64 bytes);
void cmx_entity_uncharge(struct cmx_entity *entity, u64 bytes);
/* cmx_entity_free_bytes() - capacity not charged at the moment. */
u64 cmx_entity_free_bytes(struct cmx_entity *entity);
/* cmx_entity_get() - entity by user-given @index (speculation safe), or NULL. */
struct cmx_entity *cmx_entity_get(struct cmx_machine *machine, u32 index);

#endif
