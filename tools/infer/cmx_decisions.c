// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_decisions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t expert_count(const struct cmx_decisions *d, uint64_t positions)
{
	return positions * d->n_moe * d->n_used;
}

int cmx_decisions_init(struct cmx_decisions *d, const struct cmx_model_config *c,
		       uint32_t capacity, struct cmx_infer_err *err)
{
	uint64_t n;

	*d = (struct cmx_decisions){
		.n_moe = cmx_model_n_moe(c), .n_used = c->n_used, .capacity = capacity,
	};
	n = expert_count(d, capacity);
	d->ids = calloc(capacity + 1ull, sizeof(*d->ids));
	d->experts = malloc((n + 1) * sizeof(*d->experts));
	if (!d->ids || !d->experts) {
		cmx_decisions_free(d);
		return cmx_infer_fail(err, -ENOMEM,
				      "no memory for the decisions of %u positions", capacity);
	}
	memset(d->experts, 0xff, n * sizeof(*d->experts));
	return 0;
}

void cmx_decisions_free(struct cmx_decisions *d)
{
	free(d->ids);
	free(d->experts);
	d->ids = NULL;
	d->experts = NULL;
}

uint32_t cmx_decisions_positions(const struct cmx_decisions *d)
{
	if (d->end == CMX_END_ERROR && !d->n_output)
		return 0;
	return d->n_prompt + d->n_output - (d->n_output > 0);
}

uint16_t *cmx_decisions_at(const struct cmx_decisions *d, uint32_t pos, uint32_t moe)
{
	return d->experts + ((uint64_t)pos * d->n_moe + moe) * d->n_used;
}

int cmx_decisions_mark(const struct cmx_decisions *d, uint32_t moe, uint32_t pos, uint32_t n,
		       uint8_t *seen, uint32_t *count, struct cmx_infer_err *err)
{
	for (uint32_t i = pos; i < pos + n; i++) {
		const uint16_t *e = cmx_decisions_at(d, i, moe);

		if (i >= d->capacity || *e == CMX_NOT_ROUTED)
			return cmx_infer_fail(err, -EINVAL,
					      "decisions: none for position %u in MoE layer %u", i,
					      moe);
		for (uint32_t j = 0; j < d->n_used; j++) {
			*count += !seen[e[j]];
			seen[e[j]] = 1;
		}
	}
	return 0;
}
