// SPDX-License-Identifier: GPL-2.0-only
/* Entities: identity, place, memory in use. */
#include <linux/nospec.h>
#include <linux/slab.h>
#include <linux/unaligned.h>

#include "cmx_bus.h"
#include "cmx_entity.h"

#define CMX_GUID_VENDOR		0xffff	/* not an assigned vendor: a virtual device */
#define CMX_DEFAULT_UPI		0x0001	/* one partition: everybody reaches everybody */
#define CMX_CNA_SOCKET		0x80	/* low byte of a socket's address; dies are below */

/* Place in the machine: dies by node, NPU, die; then sockets by node. */
static void cmx_entity_place(struct cmx_entity *entity, const struct cmx_machine *machine)
{
	const struct cmx_profile *profile = machine->profile;
	u32 dies_per_node = profile->npus_per_node * profile->dies_per_npu;
	u32 index = entity->index;

	if (index < machine->num_dies) {
		entity->kind = CMX_ENTITY_DIE;
		entity->node = index / dies_per_node;
		entity->npu = index % dies_per_node / profile->dies_per_npu;
		entity->unit = index % profile->dies_per_npu;
		entity->capacity = profile->die_capacity;
		entity->cna = index % dies_per_node;
	} else {
		index -= machine->num_dies;
		entity->kind = CMX_ENTITY_SOCKET;
		entity->node = index / profile->sockets_per_node;
		entity->npu = ~0U;
		entity->unit = index % profile->sockets_per_node;
		entity->capacity = profile->socket_capacity;
		entity->cna = CMX_CNA_SOCKET | entity->unit;
	}
	/* 24 bits: node, counted from 1 so that no address is 0, and port in the node. */
	entity->cna |= (entity->node + 1) << 8;
	entity->upi = CMX_DEFAULT_UPI;
}

/*
 * EID: a unique local IPv6 prefix ("CMX"), supernode 0, and the CNA.
 * GUID: vendor, device, version and type, reserved, sequence.
 */
static void cmx_entity_name(struct cmx_entity *entity)
{
	put_unaligned_be32(0xfd434d58, entity->eid);
	put_unaligned_be32(entity->cna, entity->eid + 12);
	put_unaligned_be16(CMX_GUID_VENDOR, entity->guid);
	put_unaligned_be16(entity->kind + 1, entity->guid + 2);
	entity->guid[4] = 0x10 | entity->kind;
	put_unaligned_be64(entity->index, entity->guid + 8);
}

struct cmx_entity *cmx_entity_alloc(struct cmx_machine *machine, u32 index)
{
	struct cmx_entity *entity;
	u32 number;
	int err;

	entity = kzalloc(sizeof(*entity), GFP_KERNEL);
	if (!entity)
		return ERR_PTR(-ENOMEM);

	entity->index = index;
	entity->profile = machine->profile;
	cmx_entity_place(entity, machine);
	cmx_entity_name(entity);

	cmx_bus_hold();
	device_initialize(&entity->dev);
	entity->dev.bus = &cmx_bus_type;
	entity->dev.type = entity->kind == CMX_ENTITY_DIE ? &cmx_die_type : &cmx_socket_type;
	entity->dev.parent = &machine->dev;
	/* A thousand events at load, for devices that no driver binds to, help nobody. */
	dev_set_uevent_suppress(&entity->dev, true);

	number = entity->kind == CMX_ENTITY_DIE ? index : index - machine->num_dies;
	err = dev_set_name(&entity->dev, "%s-%s%u", dev_name(&machine->dev),
			   entity->dev.type->name, number);
	if (err) {
		put_device(&entity->dev);
		return ERR_PTR(err);
	}
	return entity;
}

int cmx_entity_charge(struct cmx_entity *entity, u64 bytes)
{
	s64 used = atomic64_read(&entity->used);

	do {
		if (bytes > entity->capacity - used)
			return -ENOSPC;
	} while (!atomic64_try_cmpxchg(&entity->used, &used, used + bytes));
	return 0;
}

void cmx_entity_uncharge(struct cmx_entity *entity, u64 bytes)
{
	atomic64_sub(bytes, &entity->used);
}

u64 cmx_entity_free_bytes(struct cmx_entity *entity)
{
	return entity->capacity - atomic64_read(&entity->used);
}

struct cmx_entity *cmx_entity_get(struct cmx_machine *machine, u32 index)
{
	if (index >= machine->num_entities)
		return NULL;
	return machine->entities[array_index_nospec(index, machine->num_entities)];
}
