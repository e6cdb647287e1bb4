/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOST_DIE_H
#define HOST_DIE_H

#include "cmx_die.h"

/* Grid of every launch. */
extern uint32_t host_die_blocks;
/* What cmx_die_room() says. */
extern uint64_t host_die_room;

#endif
