// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_decisions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t expert_count(const struct cmx_decisions *d, uint64_t positions)
{
	return positions * d->n_moe * d->n_used;
}

uint64_t cmx_decisions_guess_entries(const struct cmx_decisions *d, uint32_t guesses)
{
	return guesses ? (uint64_t)guesses * (d->n_moe - 1) * d->n_used : 0;
}

static int decisions_alloc(struct cmx_decisions *d, struct cmx_infer_err *err)
{
	uint64_t n = expert_count(d, d->capacity);
	uint64_t g = cmx_decisions_guess_entries(d, d->max_guesses);

	d->ids = calloc(d->capacity + 1ull, sizeof(*d->ids));
	d->experts = malloc((n + 1) * sizeof(*d->experts));
	d->guesses = calloc(d->max_guesses + 1ull, sizeof(*d->guesses));
	d->guess_experts = malloc((g + 1) * sizeof(*d->guess_experts));
	if (!d->ids || !d->experts || !d->guesses || !d->guess_experts) {
		cmx_decisions_free(d);
		return cmx_infer_fail(err, -ENOMEM,
				      "no memory for the decisions of %u positions", d->capacity);
	}
	memset(d->experts, 0xff, n * sizeof(*d->experts));
	memset(d->guess_experts, 0xff, g * sizeof(*d->guess_experts));
	return 0;
}

int cmx_decisions_init(struct cmx_decisions *d, const struct cmx_model_config *c,
		       uint32_t capacity, bool mtp, uint32_t guesses, struct cmx_infer_err *err)
{
	*d = (struct cmx_decisions){
		.n_moe = cmx_model_n_moe(c) + mtp, .n_used = c->n_used,
		.capacity = capacity, .max_guesses = mtp ? guesses : 0,
	};
	return decisions_alloc(d, err);
}

int cmx_decisions_init_ids(struct cmx_decisions *d, uint32_t capacity, uint32_t guesses,
			   struct cmx_infer_err *err)
{
	*d = (struct cmx_decisions){ .capacity = capacity, .max_guesses = guesses };
	d->ids = calloc(capacity + 1ull, sizeof(*d->ids));
	d->guesses = calloc(guesses + 1ull, sizeof(*d->guesses));
	if (d->ids && d->guesses)
		return 0;
	cmx_decisions_free(d);
	return cmx_infer_fail(err, -ENOMEM, "no memory for the tokens of %u positions", capacity);
}

void cmx_decisions_free(struct cmx_decisions *d)
{
	free(d->ids);
	free(d->experts);
	free(d->guesses);
	free(d->guess_experts);
	d->ids = NULL;
	d->experts = NULL;
	d->guesses = NULL;
	d->guess_experts = NULL;
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

uint16_t *cmx_decisions_guess_at(const struct cmx_decisions *d, uint32_t guess, uint32_t moe)
{
	return d->guess_experts + ((uint64_t)guess * (d->n_moe - 1) + moe) * d->n_used;
}

/* Rows of wrong guesses are none of the sequence's own. */
#define GUESSED	(1ull << 63)

static bool from_gates(const struct cmx_decisions *d, uint32_t moe, uint64_t stream, uint32_t pos,
		       uint32_t row, uint16_t *experts)
{
	const struct cmx_gate_token t = { stream, pos, row + d->turn };

	if (d->gates)
		cmx_gates_choose(d->gates, moe, &t, experts);
	return d->gates;
}

bool cmx_decisions_get(const struct cmx_decisions *d, uint32_t moe, uint32_t pos, uint32_t row,
		       uint16_t *experts)
{
	if (pos >= d->capacity || moe >= d->n_moe)
		return false;
	if (!d->experts)
		return from_gates(d, moe, d->stream, pos, row, experts);
	memcpy(experts, cmx_decisions_at(d, pos, moe), d->n_used * sizeof(*experts));
	return *experts != CMX_NOT_ROUTED;
}

bool cmx_decisions_get_guess(const struct cmx_decisions *d, uint32_t moe, uint32_t guess,
			     uint32_t row, uint16_t *experts)
{
	if (guess >= d->n_guesses || moe >= d->n_moe)
		return false;
	if (!d->experts)
		return from_gates(d, moe, d->stream | GUESSED, guess, row, experts);
	memcpy(experts, cmx_decisions_guess_at(d, guess, moe), d->n_used * sizeof(*experts));
	return *experts != CMX_NOT_ROUTED;
}
