/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOST_DIE_H
#define HOST_DIE_H

#include "cmx_die.h"

/* Grid of every launch. */
extern uint32_t host_die_blocks;
/* New memory is full of NaN, where a real die's is zero: nobody may notice. */
extern bool host_die_poison;
/* What cmx_die_room() says. */
extern uint64_t host_die_room;

/* A machine with one die on it. */
int host_die_open(const struct cmx_machine_options *opt, struct cmx_die **out,
		  struct cmx_infer_err *err);
/* The die's machine, with all of its dies. */
void host_die_close(struct cmx_die *die);

#endif
