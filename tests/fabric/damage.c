// SPDX-License-Identifier: GPL-2.0-only
#include "damage.h"

#include <errno.h>

static uint32_t objects_of(const struct world *world, uint32_t object)
{
	switch (object) {
	case CMX_FABRIC_OBJ_LINK:
		return world->machine.num_links;
	case CMX_FABRIC_OBJ_CHIP:
		return world->machine.num_chips;
	case CMX_FABRIC_OBJ_ENTITY:
		return world->machine.num_entities;
	default:
		return world->machine.nodes;
	}
}

/* Links most of the time: there are many of them, and one node down is the end of much. */
struct change change_random(const struct world *world, struct random *random)
{
	static const uint32_t objects[] = {
		CMX_FABRIC_OBJ_LINK, CMX_FABRIC_OBJ_LINK, CMX_FABRIC_OBJ_LINK, CMX_FABRIC_OBJ_LINK,
		CMX_FABRIC_OBJ_LINK, CMX_FABRIC_OBJ_CHIP, CMX_FABRIC_OBJ_ENTITY,
		CMX_FABRIC_OBJ_NODE,
	};
	struct change change = { .object = objects[random_below(random, 8)] };

	change.index = random_below(random, objects_of(world, change.object));
	change.up = random_below(random, 8) > 0;
	if (change.object == CMX_FABRIC_OBJ_LINK && random_below(random, 2)) {
		change.permille = random_below(random, 2) ? 1000 : 1 + random_below(random, 1000);
		change.up = random_below(random, 2) ? -1 : change.up;
	}
	return change;
}

int change_make(struct cmx_fabric *fabric, const struct change *change)
{
	int ret = cmx_fabric_set(fabric, change->object, change->index, change->up,
				 change->permille);

	return ret < 0 ? world_failed("change", ret) : 0;
}

int damage_some(struct world *world, uint32_t changes)
{
	int ret = 0;

	while (!ret && changes--) {
		struct change change = change_random(world, &world->random);

		if (change.up == 1)
			change.up = 0;
		ret = change_make(world->fabric, &change);
	}
	return ret;
}

int damage_heal(struct world *world)
{
	int ret = 0;

	for (uint32_t object = CMX_FABRIC_OBJ_LINK; object <= CMX_FABRIC_OBJ_NODE; object++) {
		struct change change = {
			.object = object, .up = 1,
			.permille = object == CMX_FABRIC_OBJ_LINK ? 1000 : 0,
		};
		uint32_t count = objects_of(world, object);

		for (; !ret && change.index < count; change.index++)
			ret = change_make(world->fabric, &change);
	}
	return ret;
}
