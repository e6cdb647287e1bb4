/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a model is spread over dies. A rank is a die. Attention, dense layers, shared experts,
 * embedding and head are on each of them; sequences are spread over @dp groups. The experts
 * of a layer are shared out over all @ep ranks.
 */
#ifndef CMX_LAYOUT_H
#define CMX_LAYOUT_H

#include "cmx_model_config.h"

#define CMX_MAX_RANKS	1024u

struct cmx_layout {
	uint32_t ep;	/* ranks */
	uint32_t dp;	/* groups */
	uint32_t tp;	/* dies of a group */
};

/*
 * What options ask for, 0 where one was not given. Errors name the option, its value and
 * its limit.
 */
int cmx_layout_init(struct cmx_layout *l, uint32_t ep, uint32_t dp,
		    const struct cmx_model_config *c, struct cmx_infer_err *err);

/* Experts of a rank in each layer, copies included. */
uint32_t cmx_layout_local(const struct cmx_layout *l, uint32_t n_expert);

#endif
