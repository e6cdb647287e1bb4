/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a kernel costs on the virtual die, from its arguments alone: operations
 * and bytes, never host time. The cost of an expert kernel also depends on what
 * the gate chose.
 */
#ifndef CMX_NPU_COST_H
#define CMX_NPU_COST_H

#include <stdbool.h>

#include <cmx_drm.h>

#include "cmx_npu.h"

/* What experts have to do. */
struct cmx_npu_load {
	uint32_t active;	/* experts with tokens */
	uint32_t rows;		/* of all of them */
};

/*
 * @load is read if the cost is data, else it may be NULL. @narrow: activations and cache are BF16
 * on the device, as they are for INT8 models, whatever the host has; and so is attention.
 */
void cmx_npu_cost(enum cmx_npu_id id, const void *args, const struct cmx_npu_load *load,
		  bool narrow, struct cmx_cost *cost);
/* True for an expert's kernel, or what leaves rows for it, of an INT8 model. */
bool cmx_npu_is_int8(enum cmx_npu_id id, const void *args);
/* True if the cost is known only once the gate has chosen. */
bool cmx_npu_cost_is_data(enum cmx_npu_id id, const void *args);
/* The least there can be; what is likely; after execution what there was. */
struct cmx_npu_load cmx_npu_least_load(enum cmx_npu_id id, const void *args);
struct cmx_npu_load cmx_npu_likely_load(enum cmx_npu_id id, const void *args);
struct cmx_npu_load cmx_npu_true_load(enum cmx_npu_id id, const void *args);
/* Independent units of work: a larger grid would leave blocks idle. */
uint64_t cmx_npu_units(enum cmx_npu_id id, const void *args);

/* What tokens at [pos, pos + tokens) of a sequence do with its keys at [first, end). */
struct cmx_key_work {
	uint64_t pairs;
	uint64_t rows;		/* read; up to CMX_QUERY_SHARE tokens share a pass */
};

#define CMX_QUERY_SHARE	128u

void cmx_npu_add_key_work(uint32_t first, uint32_t end, uint32_t pos, uint32_t tokens,
			  struct cmx_key_work *work);

#endif
