/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The supernode at one moment: shape, state and counters, read before anything is printed.
 */
#ifndef CMX_SNAPSHOT_H
#define CMX_SNAPSHOT_H

#include <stdint.h>

#include <cmx/fabric.h>

/* What to read besides the machine. */
#define CMX_SNAPSHOT_ENTITIES	(1U << 0)
#define CMX_SNAPSHOT_CHIPS	(1U << 1)
#define CMX_SNAPSHOT_LINKS	(1U << 2)
#define CMX_SNAPSHOT_CLIENTS	(1U << 3)
#define CMX_SNAPSHOT_STATES	(1U << 4)	/* links without their counters: less work */

/** struct cmx_snapshot - lists that were not asked for are NULL. */
struct cmx_snapshot {
	struct cmx_fabric_machine machine;
	struct cmx_fabric_entity *entities;
	struct cmx_fabric_chip *chips;
	struct cmx_fabric_link *links;
	struct cmx_fabric_client *clients;
	uint32_t num_clients;
	/** @span_ps: virtual time of all clocks that the counters are of, so far or since. */
	uint64_t span_ps;
	/** @host_ns: host clock; in a difference: host time between the two. */
	uint64_t host_ns;
};

/* 0, or -1 and a text on stderr. */
int cmx_snapshot_take(const char *command, struct cmx_fabric *fabric, uint32_t what,
		      struct cmx_snapshot *snapshot);
void cmx_snapshot_free(struct cmx_snapshot *snapshot);

/*
 * Turns @earlier into what was added from it to @now: counters are differences, state is that
 * of @now, which must live as long. -1 and a text when another machine was made in between.
 */
int cmx_snapshot_since(const char *command, const struct cmx_snapshot *now,
		       struct cmx_snapshot *earlier);

#endif /* CMX_SNAPSHOT_H */
