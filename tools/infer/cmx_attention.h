/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_ATTENTION_H
#define CMX_ATTENTION_H

#include "cmx_pass.h"

/*
 * Multi-head latent attention of one layer: p->in in, added to f->x; then @next. Rows of
 * prompts expand the keys and values of their sequence for all heads, a window
 * at a time; absorbed rows work on the latent cache itself, with the expansion
 * in query and output.
 */
void cmx_pass_attention(struct cmx_pass *p, const struct cmx_next *next);

#endif
