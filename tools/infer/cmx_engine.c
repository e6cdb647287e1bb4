// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_draft.h"

static uint32_t page_size(const struct cmx_engine *e)
{
	return 1u << e->opt.forward.page_shift;
}

static int init_group(struct cmx_group *g, struct cmx_forward *fwd, struct cmx_infer_err *err)
{
	const struct cmx_forward_options *f = &fwd->opt;
	uint32_t seqs = f->seqs;
	int ret = cmx_kv_pages_init(&g->pages, f->pages, f->page_shift, err);

	if (ret)
		return ret;
	g->fwd = fwd;
	g->running = calloc(seqs, sizeof(*g->running));
	g->slot_used = calloc(seqs, sizeof(*g->slot_used));
	g->part = calloc(seqs, sizeof(*g->part));
	g->part_of = calloc(seqs, sizeof(*g->part_of));
	g->mtp_part = calloc(seqs, sizeof(*g->mtp_part));
	g->mtp_part_of = calloc(seqs, sizeof(*g->mtp_part_of));
	if (!g->running || !g->slot_used || !g->part || !g->part_of || !g->mtp_part ||
	    !g->mtp_part_of)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a batch of %u sequences", seqs);
	return 0;
}

static void free_group(struct cmx_group *g)
{
	cmx_kv_pages_free(&g->pages);
	free(g->running);
	free(g->slot_used);
	free(g->part);
	free(g->part_of);
	free(g->mtp_part);
	free(g->mtp_part_of);
}

static int init_rank(struct cmx_engine *e, const struct cmx_rank *rank, uint32_t i,
		     struct cmx_exchange *x, struct cmx_infer_err *err)
{
	int ret = cmx_forward_init(&e->fwd[i], rank->m, rank->die, &e->opt.forward, err);

	e->turn[i].f = &e->fwd[i];
	if (!ret && x)
		ret = cmx_forward_join(&e->fwd[i], x, i, err);
	return ret ? ret : init_group(&e->group[i], &e->fwd[i], err);
}

int cmx_engine_init_ranks(struct cmx_engine *e, const struct cmx_rank *rank, uint32_t ranks,
			  struct cmx_exchange *x, const struct cmx_engine_options *opt,
			  struct cmx_infer_err *err)
{
	int ret = 0;

	memset(e, 0, sizeof(*e));
	e->opt = *opt;
	/* Logits are asked for where they would not be computed. */
	e->opt.no_reuse |= opt->forward.all_logits;
	e->die = rank->die;
	e->m = rank->m;
	e->waiting.end = &e->waiting.first;
	e->fwd = calloc(ranks, sizeof(*e->fwd));
	e->turn = calloc(ranks, sizeof(*e->turn));
	e->group = calloc(ranks, sizeof(*e->group));
	if (!e->fwd || !e->turn || !e->group)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %u ranks", ranks);
	e->ranks = ranks;
	e->n_groups = ranks;
	for (uint32_t i = 0; i < ranks && !ret; i++)
		ret = init_rank(e, &rank[i], i, x, err);
	return ret;
}

int cmx_engine_init(struct cmx_engine *e, const struct cmx_model *m, struct cmx_die *die,
		    const struct cmx_engine_options *opt, struct cmx_infer_err *err)
{
	const struct cmx_rank rank = { die, m };

	return cmx_engine_init_ranks(e, &rank, 1, NULL, opt, err);
}

void cmx_engine_free(struct cmx_engine *e)
{
	for (uint32_t i = 0; i < e->ranks; i++)
		cmx_forward_free(&e->fwd[i]);
	for (uint32_t i = 0; i < e->n_groups; i++)
		free_group(&e->group[i]);
	free(e->fwd);
	free(e->turn);
	free(e->group);
}

void cmx_sequence_free(struct cmx_sequence *s)
{
	if (!s)
		return;
	cmx_decisions_free(&s->run);
	free(s->pages);
	free(s->draft);
	free(s->token_ps);
	free(s);
}

static uint32_t pages_for(const struct cmx_engine *e, const struct cmx_sequence *s)
{
	/* There is never a guess at more tokens than are to come. */
	uint64_t positions = cmx_positions(s->req.n_prompt, s->req.n);

	return (uint32_t)((positions + page_size(e) - 1) >> e->opt.forward.page_shift);
}

static int check_tokens(const struct cmx_engine *e, const struct cmx_request *r,
			struct cmx_infer_err *err)
{
	uint32_t vocab = e->m->cfg.vocab;

	if (!r->n_prompt)
		return cmx_infer_fail(err, -EINVAL, "the prompt is empty");
	for (uint32_t i = 0; i < r->n_prompt; i++) {
		if (r->ids[i] >= vocab)
			return cmx_infer_fail(err, -EINVAL,
					      "prompt token %u is %u, must be below %u", i,
					      r->ids[i], vocab);
	}
	return 0;
}

static int check_replay(const struct cmx_engine *e, const struct cmx_request *r,
			struct cmx_infer_err *err)
{
	const struct cmx_decisions *d = r->replay;

	if (cmx_die_time_only(e->die) != !!d)
		return cmx_infer_fail(err, -EINVAL, "decisions go with a time-only die");
	if (d && (d->n_prompt != r->n_prompt || d->most != r->n))
		return cmx_infer_fail(err, -EINVAL,
				      "decisions of %u prompt and up to %u output tokens for %u and %u",
				      d->n_prompt, d->most, r->n_prompt, r->n);
	if (d && d->end == CMX_END_ERROR && !d->n_output)
		return cmx_infer_fail(err, -EINVAL, "refused in the run that was recorded");
	if (r->handed_over && (!d || d->n_output < 2))
		return cmx_infer_fail(err, -EINVAL,
				      "handed over with %u output tokens to come, must be time-only and at least 2",
				      d ? d->n_output : r->n);
	return 0;
}

static int check_request(const struct cmx_engine *e, const struct cmx_sequence *s,
			 struct cmx_infer_err *err)
{
	const struct cmx_request *r = &s->req;
	uint64_t need = cmx_positions(r->n_prompt, r->n);
	int ret = check_tokens(e, r, err);

	if (ret)
		return ret;
	if (need > e->opt.forward.ctx)
		return cmx_infer_fail(err, -ENOSPC,
				      "prompt of %u and %u output tokens need %" PRIu64
				      " positions, the context has %u", r->n_prompt, r->n, need,
				      e->opt.forward.ctx);
	if (pages_for(e, s) > e->opt.forward.pages)
		return cmx_infer_fail(err, -ENOSPC,
				      "prompt of %u and %u output tokens need %u pages of %u positions, the cache has %u",
				      r->n_prompt, r->n, pages_for(e, s), page_size(e),
				      e->opt.forward.pages);
	return check_replay(e, r, err);
}

/* What is known of a sequence before it runs. */
static int fill_sequence(struct cmx_engine *e, struct cmx_sequence *s, struct cmx_infer_err *err)
{
	const struct cmx_request *r = &s->req;
	uint32_t room = r->n_prompt + r->n;
	bool mtp = e->opt.forward.mtp;
	int ret;

	if (cmx_die_time_only(e->die))
		ret = cmx_decisions_init_ids(&s->run, room, mtp ? r->n : 0, err);
	else
		ret = cmx_decisions_init(&s->run, &e->m->cfg, room, mtp, r->n, err);
	if (ret)
		return ret;
	memcpy(s->run.ids, r->ids, r->n_prompt * sizeof(*r->ids));
	s->run.n_prompt = r->n_prompt;
	s->run.most = r->n;
	s->run.top_k = r->sampling.top_k;
	s->run.temp = r->sampling.temp;
	s->run.top_p = r->sampling.top_p;
	s->run.min_p = r->sampling.min_p;
	s->run.penalty = r->sampling.penalty;
	s->req.ids = s->run.ids;
	s->token_ps = calloc(r->n + 1ull, sizeof(*s->token_ps));
	s->draft = calloc(e->opt.forward.drafts + 1ull, sizeof(*s->draft));
	if (!s->token_ps || !s->draft)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %u times", r->n);
	return 0;
}

static int sequence_new(struct cmx_engine *e, const struct cmx_request *req,
			struct cmx_sequence **out, struct cmx_infer_err *err)
{
	struct cmx_sequence *s;
	int ret;

	if (req->n > UINT32_MAX - req->n_prompt - 1)
		return cmx_infer_fail(err, -EINVAL, "prompt of %u and %u output tokens: too many",
				      req->n_prompt, req->n);
	s = calloc(1, sizeof(*s));
	if (!s)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a sequence");
	s->req = *req;
	ret = fill_sequence(e, s, err);
	if (ret)
		cmx_sequence_free(s);
	else
		*out = s;
	return ret;
}

static uint64_t now(const struct cmx_engine *e)
{
	return cmx_machine_now(cmx_die_machine(e->die));
}

int cmx_engine_submit(struct cmx_engine *e, const struct cmx_request *req,
		      struct cmx_sequence **out, struct cmx_infer_err *err)
{
	struct cmx_sequence *s = NULL;
	int ret = sequence_new(e, req, &s, err);

	if (ret)
		return ret;
	s->submit_ps = now(e);
	*out = s;
	if (check_request(e, s, &s->err)) {
		s->state = CMX_SEQUENCE_ENDED;
		s->run.end = CMX_END_ERROR;
		return 0;
	}
	*e->waiting.end = s;
	e->waiting.end = &s->next;
	e->waiting.n++;
	return 0;
}

/* The last page first, so that of a prompt kept for others the end goes before the beginning. */
static void drop_pages(struct cmx_sequence *s)
{
	while (s->n_pages)
		cmx_kv_pages_put(&s->group->pages, s->pages[--s->n_pages]);
}

static bool shares_pages(const struct cmx_engine *e, const struct cmx_sequence *s)
{
	return !e->opt.no_reuse && !s->req.handed_over;
}

/* Takes the pages that another sequence has already filled with what comes next. */
static void reuse_pages(struct cmx_engine *e, struct cmx_sequence *s)
{
	struct cmx_kv_pages *pages = &s->group->pages;
	uint32_t size = page_size(e);

	/* The last token of the prompt is computed in any case: its logits are wanted. */
	while (shares_pages(e, s) && s->len % size == 0 && s->len + size < s->req.n_prompt) {
		uint32_t i = s->len / size;
		uint32_t page = cmx_kv_pages_find(pages, s->serial, s->run.ids + s->len);

		if (page == CMX_NO_PAGE)
			return;
		if (i < s->n_pages)
			cmx_kv_pages_put(pages, s->pages[i]);
		else
			s->n_pages++;
		s->pages[i] = page;
		s->serial = pages->page[page].serial;
		s->published++;
		s->len += size;
		s->reused += size;
		e->stats.reused += size;
	}
}

/* All pages that the sequence will ever need. */
static bool take_pages(struct cmx_engine *e, struct cmx_sequence *s)
{
	struct cmx_kv_pages *pages = &s->group->pages;
	uint32_t want = pages_for(e, s);
	uint64_t reused = e->stats.reused;

	reuse_pages(e, s);
	if (want - s->n_pages > cmx_kv_pages_room(pages)) {
		drop_pages(s);
		s->len = 0;
		s->reused = 0;
		s->published = 0;
		s->serial = 0;
		e->stats.reused = reused;
		return false;
	}
	while (s->n_pages < want)
		s->pages[s->n_pages++] = cmx_kv_pages_take(pages);
	if (pages->n - cmx_kv_pages_room(pages) > e->stats.most_pages)
		e->stats.most_pages = pages->n - cmx_kv_pages_room(pages);
	return true;
}

static struct cmx_sequence *pop_waiting(struct cmx_engine *e)
{
	struct cmx_sequence *s = e->waiting.first;

	e->waiting.first = s->next;
	if (!s->next)
		e->waiting.end = &e->waiting.first;
	e->waiting.n--;
	s->next = NULL;
	return s;
}

/* Most pages free, of equal ones the first; NULL if all are full of sequences. */
static struct cmx_group *choose_group(struct cmx_engine *e)
{
	struct cmx_group *best = NULL;

	for (uint32_t i = 0; i < e->n_groups; i++) {
		struct cmx_group *g = &e->group[i];

		if (g->n_running == e->opt.forward.seqs)
			continue;
		if (!best || cmx_kv_pages_room(&g->pages) > cmx_kv_pages_room(&best->pages))
			best = g;
	}
	return best;
}

/* Prompt and first token are there already. */
static void take_over(struct cmx_engine *e, struct cmx_sequence *s)
{
	uint32_t n = s->req.n_prompt;

	s->run.ids[n] = s->req.replay->ids[n];
	s->run.n_output = 1;
	s->token_ps[0] = now(e);
	s->len = n;
	s->state = CMX_SEQUENCE_OUTPUT;
}

static int let_in(struct cmx_engine *e, struct cmx_sequence *s, struct cmx_infer_err *err)
{
	struct cmx_group *g = s->group;
	uint32_t slot = 0;
	int ret;

	while (g->slot_used[slot])
		slot++;
	g->slot_used[slot] = true;
	s->slot = slot;
	s->state = CMX_SEQUENCE_PROMPT;
	g->running[g->n_running++] = s;
	ret = cmx_forward_prompt(g->fwd, slot, s->run.ids, s->req.n_prompt, err);
	if (!ret && s->req.handed_over)
		take_over(e, s);
	return ret;
}

/* In the order in which they came: none overtakes one that finds no room. */
static int admit(struct cmx_engine *e, struct cmx_infer_err *err)
{
	struct cmx_group *g;
	int ret = 0;

	while (!ret && e->waiting.first && (g = choose_group(e))) {
		struct cmx_sequence *s = e->waiting.first;

		if (!s->pages)
			s->pages = calloc(pages_for(e, s) + 1ull, sizeof(*s->pages));
		if (!s->pages)
			return cmx_infer_fail(err, -ENOMEM, "no memory for a page table");
		s->group = g;
		if (!take_pages(e, s))
			return 0;
		pop_waiting(e);
		ret = let_in(e, s, err);
	}
	return ret;
}

/* Out of the batch; the slot and the pages are free again. */
static void retire(struct cmx_sequence *s)
{
	struct cmx_group *g = s->group;
	uint32_t i = 0;

	while (g->running[i] != s)
		i++;
	g->n_running--;
	memmove(g->running + i, g->running + i + 1,
		(g->n_running - i) * sizeof(struct cmx_sequence *));
	for (i = 0; i < g->n_parts; i++) {
		if (g->part_of[i] == s)
			g->part_of[i] = NULL;
	}
	g->slot_used[s->slot] = false;
	drop_pages(s);
}

static void end_sequence(struct cmx_sequence *s, enum cmx_end_reason why)
{
	if (s->state != CMX_SEQUENCE_WAITS)
		retire(s);
	s->state = CMX_SEQUENCE_ENDED;
	s->run.end = why;
}

void cmx_engine_cancel(struct cmx_engine *e, struct cmx_sequence *s)
{
	struct cmx_sequence **at = &e->waiting.first;

	if (s->state == CMX_SEQUENCE_ENDED)
		return;
	if (s->state == CMX_SEQUENCE_WAITS) {
		while (*at != s)
			at = &(*at)->next;
		*at = s->next;
		if (!s->next)
			e->waiting.end = at;
		e->waiting.n--;
		s->next = NULL;
	}
	end_sequence(s, CMX_END_CANCEL);
}

static void add_part(struct cmx_group *g, struct cmx_sequence *s, const struct cmx_part *part)
{
	struct cmx_part *p = &g->part[g->n_parts];

	*p = *part;
	p->pages = s->pages;
	p->slot = s->slot;
	p->pos = s->len;
	p->sampling = &s->req.sampling;
	p->replay = s->req.replay;
	g->part_of[g->n_parts++] = s;
}

/* The token before the next one, and the guesses behind it. */
static uint32_t plan_output(struct cmx_group *g)
{
	uint32_t rows = 0;

	for (uint32_t i = 0; i < g->n_running; i++) {
		struct cmx_sequence *s = g->running[i];
		uint32_t own = 1 + s->n_draft;
		const struct cmx_part part = {
			.n = own, .absorbed = true, .want = own, .sample = own,
			.index = s->run.n_output, .guesses = s->n_draft,
			.first_guess = s->run.n_guesses,
		};

		if (s->state != CMX_SEQUENCE_OUTPUT)
			continue;
		add_part(g, s, &part);
		rows += own;
	}
	return rows;
}

/* What is left of the step goes to prompts, the oldest first. */
static void plan_prompts(struct cmx_engine *e, struct cmx_group *g, uint32_t budget)
{
	for (uint32_t i = 0; i < g->n_running && budget; i++) {
		struct cmx_sequence *s = g->running[i];
		struct cmx_part part = { .absorbed = e->opt.forward.absorb };
		uint32_t left;

		if (s->state != CMX_SEQUENCE_PROMPT)
			continue;
		reuse_pages(e, s);
		left = s->req.n_prompt - s->len;
		part.n = left < budget ? left : budget;
		part.sample = part.n == left && s->req.n;
		part.want = e->opt.forward.all_logits ? part.n : part.sample;
		add_part(g, s, &part);
		budget -= part.n;
	}
}

/* A look at the die's memory, which costs no virtual time. */
static void note_experts(struct cmx_engine *e, const struct cmx_part *p, struct cmx_sequence *s)
{
	uint32_t n_moe = s->run.n_moe - e->opt.forward.mtp, sure = p->n - p->guesses;
	const struct cmx_forward *f = s->group->fwd;

	for (uint32_t l = 0; l < n_moe; l++) {
		for (uint32_t t = 0; t < p->n; t++)
			cmx_forward_note(f, l, p->first_row + t,
					 cmx_decisions_at(&s->run, p->pos + t, l));
		for (uint32_t t = sure; t < p->n; t++)
			cmx_forward_note(f, l, p->first_row + t,
					 cmx_decisions_guess_at(&s->run, p->first_guess + t - sure,
								l));
	}
}

/* Pages that the prompt has filled can be found from now on. */
static void publish_pages(struct cmx_engine *e, struct cmx_sequence *s)
{
	uint32_t size = page_size(e), full = s->len < s->req.n_prompt ? s->len : s->req.n_prompt;

	for (; shares_pages(e, s) && (s->published + 1) * size <= full; s->published++)
		s->serial = cmx_kv_pages_publish(&s->group->pages, s->pages[s->published],
						 s->serial, s->run.ids + s->published * size);
}

/* Why a sequence ends with the output token it now has, CMX_END_LENGTH if nothing ends it. */
static enum cmx_end_reason take_token(struct cmx_sequence *s, const struct cmx_sampled *got,
				      uint64_t ps)
{
	const struct cmx_decisions *replay = s->req.replay;
	uint32_t index = s->run.n_output++, id = got->id;
	enum cmx_end_reason end = CMX_END_LENGTH;
	bool bad = replay ? replay->n_output == s->run.n_output && replay->end == CMX_END_ERROR :
			    got->bad;

	if (replay)
		id = replay->ids[s->req.n_prompt + index];
	s->run.ids[s->req.n_prompt + index] = id;
	s->token_ps[index] = ps;
	if (bad) {
		cmx_infer_fail(&s->err, -EDOM, "logits for output token %u are not finite", index);
		return CMX_END_ERROR;
	}
	if (s->req.token)
		end = s->req.token(s->req.arg, s, id);
	/* A replay ends where the recorded run did, whatever ids are on the way. */
	if (replay)
		end = s->run.n_output == replay->n_output ? replay->end : CMX_END_LENGTH;
	return end;
}

static bool output_is_over(const struct cmx_sequence *s)
{
	return s->run.n_output == s->req.n;
}

/* Tokens one after the other, as long as the guess that the next one was made from is right. */
static void take_tokens(struct cmx_engine *e, const struct cmx_part *p, struct cmx_sequence *s,
			uint64_t ps)
{
	enum cmx_end_reason end = CMX_END_LENGTH;
	uint32_t guesses = s->n_draft;

	s->n_draft = 0;
	for (uint32_t i = 0; i < p->sample; i++) {
		bool right;

		end = take_token(s, &s->group->fwd->sampled[p->first_sample + i], ps);
		s->len = p->pos + p->n - p->sample + i + 1;
		right = i < guesses &&
			s->draft[i] == s->run.ids[s->req.n_prompt + s->run.n_output - 1];
		if (i < guesses)
			cmx_draft_count(e, s, right);
		if (!right || end != CMX_END_LENGTH || output_is_over(s))
			break;
	}
	if (end != CMX_END_LENGTH || output_is_over(s))
		end_sequence(s, end);
	else
		s->state = CMX_SEQUENCE_OUTPUT;
}

static int hand_out(struct cmx_engine *e, const struct cmx_part *p, struct cmx_sequence *s,
		    uint64_t ps, struct cmx_infer_err *err)
{
	bool prompt = s->state == CMX_SEQUENCE_PROMPT, data = !cmx_die_time_only(e->die);
	uint32_t vocab = e->m->cfg.vocab;
	int ret = 0;

	s->len = p->pos + p->n;
	if (data)
		note_experts(e, p, s);
	if (prompt && data && e->opt.forward.all_logits && s->req.logits)
		ret = s->req.logits(s->req.arg, s, p->pos, p->n,
				    s->group->fwd->logits + (uint64_t)p->first_logits * vocab, err);
	if (ret)
		return ret;
	if (prompt && !e->opt.forward.mtp)
		publish_pages(e, s);
	if (p->sample)
		take_tokens(e, p, s, ps);
	else if (s->len == s->req.n_prompt && !s->req.n)
		end_sequence(s, CMX_END_LENGTH);
	return 0;
}

/* The MTP block's part of a prompt's pages comes a step later than the rest. */
static int launch_drafts(struct cmx_engine *e, struct cmx_infer_err *err)
{
	int ret = cmx_draft_launch(e, err);

	for (uint32_t i = 0; i < e->n_groups && !ret; i++) {
		const struct cmx_group *g = &e->group[i];

		for (uint32_t j = 0; j < g->n_mtp_parts; j++)
			publish_pages(e, g->mtp_part_of[j]);
	}
	return ret;
}

/* What each group does in this step; how many sequences all of them have. */
static uint32_t plan_step(struct cmx_engine *e)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < e->n_groups; i++) {
		struct cmx_group *g = &e->group[i];

		g->n_parts = 0;
		plan_prompts(e, g, e->opt.forward.rows - plan_output(g));
		e->turn[i] = (struct cmx_turn){ g->fwd, g->part, g->n_parts };
		all += g->n_parts;
	}
	return all;
}

static int take_step(struct cmx_engine *e, struct cmx_infer_err *err)
{
	int ret = cmx_forward_steps(e->turn, e->ranks, err);

	if (!ret)
		ret = cmx_die_finish(e->die, err);
	return ret ? ret : cmx_draft_take(e, err);
}

static int hand_out_group(struct cmx_engine *e, const struct cmx_group *g, uint64_t ps,
			  struct cmx_infer_err *err)
{
	int ret = 0;

	e->stats.rows += g->fwd->step.n_rows;
	for (uint32_t i = 0; i < g->n_parts && !ret; i++)
		ret = g->part_of[i] ? hand_out(e, &g->part[i], g->part_of[i], ps, err) : 0;
	return ret;
}

int cmx_engine_step(struct cmx_engine *e, struct cmx_infer_err *err)
{
	uint32_t n;
	uint64_t ps;
	int ret = launch_drafts(e, err);

	if (!ret)
		ret = admit(e, err);
	if (ret)
		return ret;
	n = plan_step(e);
	if (!n)
		return 0;
	ret = take_step(e, err);
	if (ret)
		return ret;
	ps = now(e);
	e->stats.steps++;
	if (n > e->stats.most_seqs)
		e->stats.most_seqs = n;
	for (uint32_t i = 0; i < e->n_groups && !ret; i++)
		ret = hand_out_group(e, &e->group[i], ps, err);
	return ret ? ret : 1;
}
