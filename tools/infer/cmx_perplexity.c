// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_perplexity.h"

#include <errno.h>

#include "kernels/cmx_f64math.h"
#include "kernels/cmx_lanes.h"

/* Less than this below the largest logit adds nothing to a double. */
#define EXP_LO	(-600.0)
#define EXP_HI	700.0

int cmx_nll(const float *logits, uint32_t vocab, uint32_t target, double *nll,
	    struct cmx_infer_err *err)
{
	double max = (double)logits[target], sum = 0;

	for (uint32_t i = 0; i < vocab; i++) {
		if ((cmx_bits(logits[i]) & 0x7f800000) == 0x7f800000)
			return cmx_infer_fail(err, -EDOM, "logit %u is not finite", i);
		if ((double)logits[i] > max)
			max = (double)logits[i];
	}
	for (uint32_t i = 0; i < vocab; i++) {
		double d = (double)logits[i] - max;

		sum += d > EXP_LO ? cmx_f64_exp(d) : 0;
	}
	*nll = cmx_f64_log(sum) + (max - (double)logits[target]);
	return 0;
}

void cmx_perplexity_add(struct cmx_perplexity *p, double nll)
{
	p->n++;
	p->nll += nll;
	p->nll_square += nll * nll;
}

double cmx_perplexity_mean(const struct cmx_perplexity *p)
{
	return p->n ? p->nll / (double)p->n : 0;
}

double cmx_perplexity_error(const struct cmx_perplexity *p)
{
	double mean = cmx_perplexity_mean(p), var;

	if (p->n < 2)
		return 0;
	var = (p->nll_square / (double)p->n - mean * mean) / (double)(p->n - 1);
	return var > 0 ? __builtin_sqrt(var) : 0;
}

double cmx_perplexity_value(const struct cmx_perplexity *p)
{
	double mean = cmx_perplexity_mean(p);

	return mean < EXP_HI ? cmx_f64_exp(mean) : __builtin_inf();
}

bool cmx_text_window(uint64_t tokens, uint32_t ctx, uint32_t stride, uint64_t i,
		     struct cmx_text_window *w)
{
	uint64_t first = i * stride, scored = i ? first - stride + ctx : 1;

	if (scored >= tokens)
		return false;
	w->first = first;
	w->n = tokens - first < ctx ? (uint32_t)(tokens - first) : ctx;
	w->score = (uint32_t)(scored - first);
	return true;
}
