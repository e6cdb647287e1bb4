/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether a model fits, asked before the first byte is loaded. */
#ifndef CMX_LOAD_ROOM_H
#define CMX_LOAD_ROOM_H

#include "cmx_die.h"

/* Bytes of the die's memory, by what they are for. */
struct cmx_load_need {
	uint64_t weights;
	uint64_t cache;
	uint64_t buffers;
};

/*
 * -ENOSPC with the numbers unless all of it fits into the die's memory and, but for a
 * time-only die, into this computer's and what its cgroups leave.
 */
int cmx_load_check_room(struct cmx_die *die, const struct cmx_load_need *need,
			struct cmx_infer_err *err);
/* Bytes that programs can still get, as a file like /proc/meminfo says. */
int cmx_load_available(const char *path, uint64_t *bytes, struct cmx_infer_err *err);

#endif
