/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The block that predicts a second token (MTP).
 *
 * Pair i of a sequence is the main model's hidden state at position i, behind
 * its last norm, and the token at position i + 1; the block's logits for it are
 * a guess at the token at position i + 2. Its layer has a cache of its own, by
 * pair, in the sequence's pages, so each pair goes through it once, in order.
 */
#ifndef CMX_MTP_H
#define CMX_MTP_H

#include "cmx_forward.h"

/*
 * Launches a step of pairs, which are the tokens of @part: their hidden states
 * are the rows of the last step of the main model from part.source on, and the
 * tokens behind them are on the die already. Logits are in f->logits; where one
 * is chosen, it is the id at position pos + n + 1, and, copied back, f->drafted.
 * The parts must live until the step is finished.
 */
int cmx_mtp_step(struct cmx_forward *f, struct cmx_part *part, uint32_t n,
		 struct cmx_infer_err *err);
/* The same on all ranks of an exchange; those without pairs have part in its experts only. */
int cmx_mtp_steps(const struct cmx_turn *turn, uint32_t ranks, struct cmx_infer_err *err);

#endif
