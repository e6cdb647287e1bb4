/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many blocks a launch is cut into. Neither results nor virtual times depend
 * on it, so it may go by the host's threads.
 */
#ifndef CMX_NPU_GRID_H
#define CMX_NPU_GRID_H

#include <cmx_drm.h>

#include "cmx_npu.h"

/* Operations that are worth a block of their own. */
#define CMX_GRID_OPS	65536u
/* Blocks for each thread that even out their unequal lengths, if there is so much work. */
#define CMX_GRID_SHARE	4u

/*
 * At least 1, at most cmx_npu_units(). @likely is the cost of the launch with what experts are
 * likely to do, so the answer is the same whether it is executed or only timed.
 */
uint32_t cmx_npu_grid(enum cmx_npu_id id, const void *args, const struct cmx_cost *likely,
		      uint32_t threads);

#endif
