/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Speculative decoding: a guess at each sequence's next token but one, which the
 * next step checks. Guesses change how long a run takes, never what comes out.
 */
#ifndef CMX_DRAFT_H
#define CMX_DRAFT_H

#include "cmx_engine.h"

/*
 * Before a step: launches the MTP block for what the step before left, and plans
 * a guess for each sequence that has more than one token to go.
 */
int cmx_draft_launch(struct cmx_engine *e, struct cmx_infer_err *err);
/* When the step is finished, before its tokens are handed out: what the guesses were. */
int cmx_draft_take(struct cmx_engine *e, struct cmx_infer_err *err);
/* Counts a guess as it is put to the test, and whether it was right. */
void cmx_draft_count(struct cmx_engine *e, struct cmx_sequence *s, bool right);

#endif
