/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_INFER_SHAPE_H
#define CMX_INFER_SHAPE_H

#include "cmx_job.h"
#include "cmx_recording.h"

/*
 * How large steps, context and cache are: as the options say, or as the jobs
 * need it; a replay takes what was recorded, with which the options must agree.
 */
int cmx_infer_shape(const struct cmx_infer_options *o, const struct cmx_model_config *c,
		    const struct cmx_jobs *jobs, const struct cmx_recording *replay,
		    struct cmx_engine_options *e, struct cmx_infer_err *err);
/* The recording's part of it. */
void cmx_infer_shape_record(const struct cmx_engine_options *e, const struct cmx_model_config *c,
			    struct cmx_recording *r);

#endif
