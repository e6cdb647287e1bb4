// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_draft.h"

#include <errno.h>

#include "cmx_mtp.h"

/* A guess costs nothing but time, so it is always the likeliest token. */
static const struct cmx_sampling likeliest = { .penalty = 1, .top_p = 1 };

/* With one token to go, or none, a guess would be of no use. */
static bool wants_guess(const struct cmx_sequence *s)
{
	return s->state == CMX_SEQUENCE_OUTPUT && s->req.n - s->run.n_output > 1;
}

/* The rows of a part that are still its sequence's: guesses that were wrong are not. */
static void add_part(struct cmx_group *g, const struct cmx_part *done, struct cmx_sequence *s)
{
	struct cmx_part *p = &g->mtp_part[g->n_mtp_parts];
	bool guess = wants_guess(s);

	*p = *done;
	p->n = s->len - done->pos;
	p->source = done->first_row;
	p->guesses = 0;
	p->want = guess;
	p->sample = guess;
	p->sampling = &likeliest;
	g->mtp_part_of[g->n_mtp_parts++] = s;
	s->n_draft = guess;
}

/* Sequences that have pairs, of all groups. */
static uint32_t plan_pairs(struct cmx_engine *e)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < e->n_groups; i++) {
		struct cmx_group *g = &e->group[i];

		g->n_mtp_parts = 0;
		for (uint32_t j = 0; j < g->n_parts && e->opt.forward.mtp; j++) {
			if (g->part_of[j])
				add_part(g, &g->part[j], g->part_of[j]);
		}
		e->turn[i] = (struct cmx_turn){ g->fwd, g->mtp_part, g->n_mtp_parts };
		all += g->n_mtp_parts;
	}
	return all;
}

int cmx_draft_launch(struct cmx_engine *e, struct cmx_infer_err *err)
{
	return plan_pairs(e) ? cmx_mtp_steps(e->turn, e->ranks, err) : 0;
}

/* A look at the die's memory, which costs no virtual time. */
static void note_experts(const struct cmx_part *p, struct cmx_sequence *s)
{
	uint32_t moe = s->run.n_moe - 1;

	for (uint32_t t = 0; t < p->n; t++)
		cmx_forward_note(s->group->fwd, moe, p->first_row + t,
				 cmx_decisions_at(&s->run, p->pos + t, moe));
}

static int take_guess(const struct cmx_part *p, struct cmx_sequence *s, struct cmx_infer_err *err)
{
	const struct cmx_decisions *replay = s->req.replay;

	if (!replay)
		s->draft[0] = s->group->fwd->drafted[p->first_sample].id;
	else if (s->run.n_guesses < replay->n_guesses)
		s->draft[0] = replay->guesses[s->run.n_guesses];
	else
		return cmx_infer_fail(err, -EINVAL, "decisions: %u guesses, one more is needed",
				      replay->n_guesses);
	return 0;
}

static int take_group(const struct cmx_engine *e, const struct cmx_group *g,
		      struct cmx_infer_err *err)
{
	int ret = 0;

	for (uint32_t i = 0; i < g->n_mtp_parts && !ret; i++) {
		const struct cmx_part *p = &g->mtp_part[i];

		if (!cmx_die_time_only(e->die))
			note_experts(p, g->mtp_part_of[i]);
		if (p->sample)
			ret = take_guess(p, g->mtp_part_of[i], err);
	}
	return ret;
}

int cmx_draft_take(struct cmx_engine *e, struct cmx_infer_err *err)
{
	int ret = 0;

	for (uint32_t i = 0; i < e->n_groups && !ret; i++)
		ret = take_group(e, &e->group[i], err);
	return ret;
}

void cmx_draft_count(struct cmx_engine *e, struct cmx_sequence *s, bool right)
{
	s->run.guesses[s->run.n_guesses++] = s->draft[0];
	s->accepted += right;
	e->stats.drafted++;
	e->stats.accepted += right;
}
