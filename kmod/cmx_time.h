/* SPDX-License-Identifier: GPL-2.0-only */
/* What a command costs on the virtual clock: the one interface to the machine's speed. */
#ifndef CMX_TIME_H
#define CMX_TIME_H

#include <linux/types.h>

#include "cmx_entity.h"

/** struct cmx_server - when the resources of one entity are free, picoseconds. */
struct cmx_server {
	/** @mem: memory. */
	u64 mem;
	/** @tx: outgoing half of the port. */
	u64 tx;
	/** @rx: incoming half of the port. */
	u64 rx;
	/** @die: incoming half of the path from the other die of the NPU. */
	u64 die;
};

#define CMX_SERVER_BLOCK	64	/* entities of one allocation */

/** struct cmx_servers - resources of a timeline, allocated as they are used. */
struct cmx_servers {
	/** @machine: entities. */
	struct cmx_machine *machine;
	/** @blocks: CMX_SERVER_BLOCK servers each, or NULL. */
	struct cmx_server **blocks;
};

int cmx_servers_init(struct cmx_servers *servers, struct cmx_machine *machine);
void cmx_servers_fini(struct cmx_servers *servers);

/** struct cmx_transfer - bytes that go from one entity to another. */
struct cmx_transfer {
	/** @initiator: entity whose queue asks. */
	u32 initiator;
	/** @from: entity the bytes are read from. */
	u32 from;
	/** @to: entity they are written to. */
	u32 to;
	/** @messages: messages they are sent in. */
	u32 messages;
	/** @bytes: how many. */
	u64 bytes;
	/** @start: when the first can leave. */
	u64 start;
	/** @done: out: when the last has arrived and the initiator knows. */
	u64 done;
};

/*
 * cmx_time_transfer() - charge a transfer to the resources it uses.
 *
 * Transfers must be charged in the order of the virtual clock.
 * Return: 0 or -EOVERFLOW.
 */
int cmx_time_transfer(struct cmx_servers *servers, struct cmx_transfer *x);

/*
 * cmx_time_launch() - duration of a launch that starts at @start.
 * @cube: cube cores of its queue
 * @vector: vector cores of its queue
 * @done: out: when it ends
 *
 * The memory it shares with other commands of the die is charged.
 * Return: as cmx_time_transfer().
 */
int cmx_time_launch(struct cmx_servers *servers, u32 entity, u32 cube, u32 vector,
		    const struct cmx_cost *cost, u64 start, u64 *done);

/* cmx_time_issue() - time from one entry's issue to the next one's. */
u64 cmx_time_issue(const struct cmx_servers *servers);

/* cmx_time_launch_overhead() - what every launch takes at least. */
u64 cmx_time_launch_overhead(const struct cmx_servers *servers);

/* cmx_time_extrapolated() - whether @bytes is outside what the paths were fitted on. */
bool cmx_time_extrapolated(u64 bytes);

#endif
