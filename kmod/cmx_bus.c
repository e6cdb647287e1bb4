// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cmx bus and its sysfs attributes, named as on the Unified Bus where it has a name
 * for the same thing.  Described in docs/abi/sysfs.
 */
#include <linux/completion.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "cmx_bus.h"
#include "cmx_entity.h"

/*
 * Release functions are code of this module: it may only go when all have run.  The
 * first reference is the bus's own.
 */
static refcount_t cmx_bus_live;
static DECLARE_COMPLETION(cmx_bus_idle);

void cmx_bus_hold(void)
{
	refcount_inc(&cmx_bus_live);
}

void cmx_bus_drop(void)
{
	if (refcount_dec_and_test(&cmx_bus_live))
		complete(&cmx_bus_idle);
}

/* Entities have no driver: the supernode is what an accel device stands for. */
static int cmx_bus_match(struct device *dev, const struct device_driver *drv)
{
	return dev->type == &cmx_supernode_type;
}

const struct bus_type cmx_bus_type = {
	.name = "cmx",
	.match = cmx_bus_match,
};

int cmx_bus_register(void)
{
	refcount_set(&cmx_bus_live, 1);
	return bus_register(&cmx_bus_type);
}

void cmx_bus_unregister(void)
{
	bus_unregister(&cmx_bus_type);
	cmx_bus_drop();
	wait_for_completion(&cmx_bus_idle);
}

/* ---------------------------------------------------------------------- entities */

#define CMX_ENTITY_ATTR(name, format, value)						\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	struct cmx_entity *entity = to_cmx_entity(dev);					\
											\
	return sysfs_emit(buf, format "\n", value);					\
}											\
static DEVICE_ATTR_RO(name)

CMX_ENTITY_ATTR(index, "%u", entity->index);
CMX_ENTITY_ATTR(node, "%u", entity->node);
CMX_ENTITY_ATTR(npu, "%u", entity->npu);
CMX_ENTITY_ATTR(unit, "%u", entity->unit);
CMX_ENTITY_ATTR(eid, "%pI6", entity->eid);
CMX_ENTITY_ATTR(primary_cna, "0x%06x", entity->cna);
CMX_ENTITY_ATTR(upi, "0x%04x", entity->upi);
CMX_ENTITY_ATTR(capacity, "%llu", entity->capacity);
CMX_ENTITY_ATTR(used, "%llu", (u64)atomic64_read(&entity->used));
CMX_ENTITY_ATTR(resident, "%llu", (u64)atomic64_read(&entity->resident));
CMX_ENTITY_ATTR(class_code, "0x%04x", entity->kind == CMX_ENTITY_DIE ? 0x0001 : 0x0002);
CMX_ENTITY_ATTR(entity_idx, "%u", entity->kind == CMX_ENTITY_DIE ? entity->unit : 0);
CMX_ENTITY_ATTR(kind, "%s", entity->kind == CMX_ENTITY_DIE ? "die" : "socket");

static ssize_t guid_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	const u8 *guid = to_cmx_entity(dev)->guid;

	return sysfs_emit(buf, "%02x%02x-%02x%02x-%x-%x-%02x%02x%02x-%*phN\n", guid[0], guid[1],
			  guid[2], guid[3], guid[4] >> 4, guid[4] & 0xf, guid[5], guid[6], guid[7],
			  8, guid + 8);
}
static DEVICE_ATTR_RO(guid);

static struct attribute *cmx_entity_attrs[] = {
	&dev_attr_index.attr,
	&dev_attr_kind.attr,
	&dev_attr_node.attr,
	&dev_attr_npu.attr,
	&dev_attr_unit.attr,
	&dev_attr_eid.attr,
	&dev_attr_guid.attr,
	&dev_attr_primary_cna.attr,
	&dev_attr_class_code.attr,
	&dev_attr_entity_idx.attr,
	&dev_attr_upi.attr,
	&dev_attr_capacity.attr,
	&dev_attr_used.attr,
	&dev_attr_resident.attr,
	NULL,
};

static umode_t cmx_entity_visible(struct kobject *kobj, struct attribute *attr, int n)
{
	struct cmx_entity *entity = to_cmx_entity(kobj_to_dev(kobj));

	if (attr == &dev_attr_npu.attr && entity->kind != CMX_ENTITY_DIE)
		return 0;
	return attr->mode;
}

static const struct attribute_group cmx_entity_group = {
	.attrs = cmx_entity_attrs,
	.is_visible = cmx_entity_visible,
};

static const struct attribute_group *cmx_entity_groups[] = {
	&cmx_entity_group,
	NULL,
};

static void cmx_entity_release(struct device *dev)
{
	kfree(to_cmx_entity(dev));
	cmx_bus_drop();
}

const struct device_type cmx_die_type = {
	.name = "die",
	.groups = cmx_entity_groups,
	.release = cmx_entity_release,
};

const struct device_type cmx_socket_type = {
	.name = "socket",
	.groups = cmx_entity_groups,
	.release = cmx_entity_release,
};

/* --------------------------------------------------------------------- supernode */

#define CMX_MACHINE_ATTR(name, format, ...)						\
static ssize_t name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	struct cmx_machine *machine __maybe_unused = to_cmx_machine(dev);		\
											\
	return sysfs_emit(buf, format "\n", __VA_ARGS__);				\
}											\
static DEVICE_ATTR_RO(name)

CMX_MACHINE_ATTR(profile, "%s", machine->profile->name);
CMX_MACHINE_ATTR(nodes, "%u", machine->num_nodes);
CMX_MACHINE_ATTR(dies, "%u", machine->num_dies);
CMX_MACHINE_ATTR(sockets, "%u", machine->num_entities - machine->num_dies);
CMX_MACHINE_ATTR(entities, "%u", machine->num_entities);
CMX_MACHINE_ATTR(abi_version, "%u.%u", CMX_ABI_MAJOR, CMX_ABI_MINOR);

static struct attribute *cmx_supernode_attrs[] = {
	&dev_attr_profile.attr,
	&dev_attr_nodes.attr,
	&dev_attr_dies.attr,
	&dev_attr_sockets.attr,
	&dev_attr_entities.attr,
	&dev_attr_abi_version.attr,
	NULL,
};
ATTRIBUTE_GROUPS(cmx_supernode);

static void cmx_supernode_release(struct device *dev)
{
	struct cmx_machine *machine = to_cmx_machine(dev);

	cmx_machine_free(machine);
	cmx_bus_drop();
}

const struct device_type cmx_supernode_type = {
	.name = "supernode",
	.groups = cmx_supernode_groups,
	.release = cmx_supernode_release,
};
