/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a kernel costs on the virtual die, from its arguments alone: operations
 * and bytes, never host time. The cost of an expert kernel also depends on how
 * many experts the gate chose.
 */
#ifndef CMX_NPU_COST_H
#define CMX_NPU_COST_H

#include <stdbool.h>

#include <cmx_drm.h>

#include "cmx_npu.h"

/* @n_active: experts with tokens; read by the expert kernels only. */
void cmx_npu_cost(enum cmx_npu_id id, const void *args, uint32_t n_active,
		  struct cmx_cost *cost);
/* True if the cost is known only once the gate has chosen. */
bool cmx_npu_cost_is_data(enum cmx_npu_id id);
/* Least and, after execution, true number of active experts. */
uint32_t cmx_npu_min_active(enum cmx_npu_id id, const void *args);
uint32_t cmx_npu_active(enum cmx_npu_id id, const void *args);
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
