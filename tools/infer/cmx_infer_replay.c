// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_infer_replay.h"

#include <errno.h>

static int check_sampling(const struct cmx_infer_options *o, const struct cmx_decisions *d,
			  struct cmx_infer_err *err)
{
	const struct {
		const char *name;
		bool given;
		double val, recorded;
	} fields[] = {
		{ "--repeat-penalty", o->has_penalty, (double)o->penalty, (double)d->penalty },
		{ "--temp", o->has_temp, (double)o->temp, (double)d->temp },
		{ "--top-k", o->has_top_k, o->top_k, d->top_k },
		{ "--top-p", o->has_top_p, (double)o->top_p, (double)d->top_p },
		{ "--min-p", o->has_min_p, (double)o->min_p, (double)d->min_p },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].given && fields[i].val != fields[i].recorded)
			return cmx_infer_fail(err, -EINVAL, "%s is %g, the decisions have %g",
					      fields[i].name, fields[i].val, fields[i].recorded);
	}
	return 0;
}

int cmx_infer_check_shape(const struct cmx_infer_options *o, const struct cmx_decisions *d,
			  struct cmx_infer_err *err)
{
	uint32_t chunk = o->chunk < d->n_prompt ? o->chunk : d->n_prompt;
	/* A run that came to an end of its own may have been for more. */
	bool longer = o->n > d->n_output && d->end == CMX_END_LENGTH;

	if (o->has_n && (o->n < d->n_output || longer))
		return cmx_infer_fail(err, -EINVAL, "-n is %u, the decisions have %u output tokens",
				      o->n, d->n_output);
	if (o->has_chunk && chunk != d->chunk)
		return cmx_infer_fail(err, -EINVAL, "--chunk is %u, the decisions have %u",
				      o->chunk, d->chunk);
	if (o->ctx && o->ctx != d->ctx)
		return cmx_infer_fail(err, -EINVAL, "--ctx is %u, the decisions have %u", o->ctx,
				      d->ctx);
	return check_sampling(o, d, err);
}
