/* SPDX-License-Identifier: GPL-2.0-only */
/* What a load should have left in the counters, and whether it did. */
#ifndef ACCOUNT_H
#define ACCOUNT_H

#include "load.h"
#include "view.h"

/** struct account - bytes by where they should have passed. */
struct account {
	/* UB links of an entity, and its own links to RDMA and sibling, out and in. */
	uint64_t ub_out[MAX_ENTITIES], ub_in[MAX_ENTITIES];
	uint64_t die_out[MAX_ENTITIES], die_in[MAX_ENTITIES];
	uint64_t rdma_out[MAX_ENTITIES], rdma_in[MAX_ENTITIES];
	/* What the memory of an entity read and wrote. */
	uint64_t memory[MAX_ENTITIES];
	/* By node: links to the L2 chips, and to the VPC plane. */
	uint64_t trunk_out[MAX_ENTITIES], trunk_in[MAX_ENTITIES];
	uint64_t vpc_out[MAX_ENTITIES], vpc_in[MAX_ENTITIES];
	/** @failed: commands that ended with an error. */
	uint32_t failed;
	/** @lost: bytes that did not leave for want of a way, by the queue's entity. */
	uint64_t lost[MAX_ENTITIES];
};

/** account_add() - all commands of a load; @view: what worked, NULL: all. */
void account_add(struct account *account, const struct world *world, const struct view *view,
		 const struct load *load);

/* The checks return false with texts on stdout. */

/** account_matches() - links carried exactly that, and chips gave what they got. */
bool account_matches(const struct account *account, const struct world *world);
/** account_chips_balance() - chips gave what they got. */
bool account_chips_balance(const struct world *world, const struct cmx_fabric_link *links,
			   uint32_t count);
/** account_entities_match() - entities say of themselves what they lost, read and wrote. */
bool account_entities_match(const struct account *account, const struct world *world);
/** account_nobody_overworked() - no link and no memory was busy for longer than @elapsed. */
bool account_nobody_overworked(const struct world *world, uint64_t elapsed);

#endif /* ACCOUNT_H */
