// SPDX-License-Identifier: GPL-2.0-only
/* The supernode: builds and takes down all of its devices. */
#include <linux/slab.h>

#include "cmx_bus.h"
#include "cmx_entity.h"

/* Files of a device that was removed still look at its entities: they go with the machine. */
static void cmx_machine_put_entities(struct cmx_machine *machine)
{
	if (!machine->entities)
		return;
	for (u32 i = 0; i < machine->num_entities; i++)
		if (machine->entities[i])
			put_device(&machine->entities[i]->dev);
	kfree(machine->entities);
}

void cmx_machine_free(struct cmx_machine *machine)
{
	cmx_machine_put_entities(machine);
	cmx_totals_fini(&machine->totals);
	cmx_fabric_fini(&machine->fabric);
	kfree(machine);
}

static int cmx_machine_alloc_entities(struct cmx_machine *machine)
{
	struct cmx_entity *entity;
	u32 i;

	machine->entities = kcalloc(machine->num_entities, sizeof(*machine->entities), GFP_KERNEL);
	if (!machine->entities)
		return -ENOMEM;

	for (i = 0; i < machine->num_entities; i++) {
		entity = cmx_entity_alloc(machine, i);
		if (IS_ERR(entity))
			return PTR_ERR(entity);
		machine->entities[i] = entity;
	}
	return 0;
}

static void cmx_machine_del_entities(struct cmx_machine *machine, u32 count)
{
	while (count--)
		device_del(&machine->entities[count]->dev);
}

static int cmx_machine_add_entities(struct cmx_machine *machine)
{
	int err;
	u32 i;

	for (i = 0; i < machine->num_entities; i++) {
		err = device_add(&machine->entities[i]->dev);
		if (err) {
			cmx_machine_del_entities(machine, i);
			return err;
		}
	}
	return 0;
}

static struct cmx_machine *cmx_machine_alloc(const struct cmx_profile *profile, u32 nodes)
{
	struct cmx_machine *machine = kzalloc(sizeof(*machine), GFP_KERNEL);

	if (!machine)
		return ERR_PTR(-ENOMEM);

	machine->own_profile = *profile;
	machine->profile = &machine->own_profile;
	cmx_speeds_init(&machine->speeds, profile);
	machine->num_nodes = nodes;
	machine->num_dies = nodes * profile->npus_per_node * profile->dies_per_npu;
	machine->num_entities = machine->num_dies + nodes * profile->sockets_per_node;
	if (cmx_fabric_init(&machine->fabric, machine))
		goto err_free_machine;
	if (cmx_totals_init(&machine->totals, machine))
		goto err_fini_fabric;

	cmx_bus_hold();
	device_initialize(&machine->dev);
	machine->dev.bus = &cmx_bus_type;
	machine->dev.type = &cmx_supernode_type;
	return machine;

err_fini_fabric:
	cmx_fabric_fini(&machine->fabric);
err_free_machine:
	kfree(machine);
	return ERR_PTR(-ENOMEM);
}

/*
 * All entities exist before the supernode is on the bus: the accel driver may bind to it
 * at once.
 */
struct cmx_machine *cmx_machine_create(const struct cmx_profile *profile, u32 nodes)
{
	struct cmx_machine *machine;
	int err;

	machine = cmx_machine_alloc(profile, nodes);
	if (IS_ERR(machine))
		return machine;

	err = dev_set_name(&machine->dev, "cmx0");
	if (err)
		goto err_put_machine;
	err = cmx_machine_alloc_entities(machine);
	if (err)
		goto err_put_machine;
	err = device_add(&machine->dev);
	if (err)
		goto err_put_machine;
	err = cmx_machine_add_entities(machine);
	if (err)
		goto err_del_machine;
	return machine;

err_del_machine:
	device_del(&machine->dev);
err_put_machine:
	put_device(&machine->dev);
	return ERR_PTR(err);
}

void cmx_machine_destroy(struct cmx_machine *machine)
{
	cmx_machine_del_entities(machine, machine->num_entities);
	device_del(&machine->dev);
	put_device(&machine->dev);
}
