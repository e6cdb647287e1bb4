/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_INFER_REPLAY_H
#define CMX_INFER_REPLAY_H

#include "cmx_decisions.h"
#include "cmx_infer_options.h"

/* What shapes a run and is given must be what the recorded one had. */
int cmx_infer_check_shape(const struct cmx_infer_options *o, const struct cmx_decisions *d,
			  struct cmx_infer_err *err);

#endif
