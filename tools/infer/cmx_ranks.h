/* SPDX-License-Identifier: GPL-2.0-only */
/* The dies of a layout, the weights on each of them, and what connects them. */
#ifndef CMX_RANKS_H
#define CMX_RANKS_H

#include "cmx_engine.h"
#include "cmx_placement.h"

struct cmx_ranks {
	struct cmx_machine *machine;
	struct cmx_layout layout;
	struct cmx_die **die;		/* [ep] */
	struct cmx_model *model;	/* [ep] */
	struct cmx_rank *rank;		/* [ep] */
	struct cmx_placement placement;	/* of all layers alike */
	/* For cmx_ranks_load(), to be set after cmx_ranks_open(); counts may be NULL. */
	const uint64_t *counts;		/* how often experts are chosen, to place them by */
	uint32_t spare;			/* places of a rank beyond those that all experts need */
	struct cmx_exchange *exchange;	/* NULL: one die has it all */
};

/* Options of the machine for runs of this shape, but for threads and SIMD level. */
struct cmx_machine_options cmx_ranks_machine(const struct cmx_engine_options *e,
					     const struct cmx_model_config *c);
/* Dies @first and those behind it. cmx_ranks_close() in any case, before the machine is closed. */
int cmx_ranks_open(struct cmx_ranks *r, struct cmx_machine *m, uint32_t first,
		   const struct cmx_layout *layout, struct cmx_infer_err *err);
/* Weights, each expert only where it belongs, and the exchange. Memory for @e is counted. */
int cmx_ranks_load(struct cmx_ranks *r, const struct cmx_source *src,
		   const struct cmx_engine_options *e, const struct cmx_load_options *opt,
		   struct cmx_infer_err *err);
void cmx_ranks_close(struct cmx_ranks *r);

/* Of all dies. */
uint64_t cmx_ranks_weight_bytes(const struct cmx_ranks *r);

#endif
