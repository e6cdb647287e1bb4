/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_ATTENTION_H
#define CMX_ATTENTION_H

#include "cmx_pass.h"

/*
 * Multi-head latent attention of one layer: f->h in, added to f->x. A chunk of
 * several tokens expands keys and values for all heads; a single token works
 * on the latent cache, with the expansion absorbed into query and output.
 */
void cmx_pass_attention(struct cmx_pass *p);

#endif
