/* SPDX-License-Identifier: GPL-2.0-only */
/* Transfers of a command, one after another. */
#ifndef CMX_LEG_H
#define CMX_LEG_H

#include "cmx_flow.h"

struct cmx_cmd;

/** struct cmx_legs - what a command moves from where to where, in order. */
struct cmx_legs {
	/** @one: the first. */
	struct cmx_transfer one;
	/** @more: those behind it (kvmalloc()), or NULL. */
	struct cmx_transfer *more;
	/** @room: elements at @more. */
	u32 room;
	/** @count: how many, @one included. */
	u32 count;
	/** @next: the one that is charged next. */
	u32 next;
};

/* cmx_legs_reset() - there are none; keeps memory. */
void cmx_legs_reset(struct cmx_legs *legs);
void cmx_legs_free(struct cmx_legs *legs);
/* cmx_legs_add() - append; 0 or -ENOMEM. */
int cmx_legs_add(struct cmx_legs *legs, const struct cmx_transfer *x);
/* cmx_legs_last() - the last one, or NULL. */
struct cmx_transfer *cmx_legs_last(struct cmx_legs *legs);

/* All with the timeline's lock held, and the command's event out of the heap. */

/* cmx_cmd_charge() - begin with the legs in cmx_timeline.legs, which are the command's. */
void cmx_cmd_charge(struct cmx_cmd *cmd);
/* cmx_cmd_charge_memory() - a launch's memory, from @at on; it is not done before. */
void cmx_cmd_charge_memory(struct cmx_cmd *cmd, u64 bytes, u64 rate, u64 at);
/* cmx_cmd_flow() - go on with what is being charged, then complete. */
void cmx_cmd_flow(struct cmx_cmd *cmd);
/* cmx_cmd_is_down() - whether the entity of its queue is down. */
bool cmx_cmd_is_down(const struct cmx_cmd *cmd);
/* cmx_cmd_entity_down() - end it as that entity's. */
void cmx_cmd_entity_down(struct cmx_cmd *cmd);
/* cmx_cmd_cut_off() - whether @peer, for which @bytes are, cannot be reached; it ends then. */
bool cmx_cmd_cut_off(struct cmx_cmd *cmd, u32 peer, u64 bytes);

#endif
