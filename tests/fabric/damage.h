/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of the machine that go down, degrade and come back. */
#ifndef DAMAGE_H
#define DAMAGE_H

#include "world.h"

/** struct change - of one part. */
struct change {
	/** @object: enum cmx_fabric_object. */
	uint32_t object;
	/** @index: which. */
	uint32_t index;
	/** @up: 1, 0, or -1: as it is. */
	int up;
	/** @permille: links: share of the rate, 0: as it is. */
	uint32_t permille;
};

/** change_random() - so that about an eighth of all parts are down after many. */
struct change change_random(const struct world *world, struct random *random);
/** change_make() - 0, or a negative errno with a text. */
int change_make(struct cmx_fabric *fabric, const struct change *change);
/** damage_some() - so many changes, all for the worse. */
int damage_some(struct world *world, uint32_t changes);
/** damage_heal() - everything up and at its full rate. */
int damage_heal(struct world *world);

#endif /* DAMAGE_H */
