// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_mtp.h"

#include <errno.h>
#include <stdlib.h>

#include "cmx_pass.h"

/* The ids as the block sees them: what stands at a position is the token behind it. */
static uint32_t *next_ids(const struct cmx_forward *f)
{
	return f->ids + 1;
}

/* The next token's row and the hidden state, each normed, side by side. */
static void pass_join(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_mtp_weights *w = &f->m->mtp;
	const struct cmx_model_config *c = &f->m->cfg;
	const struct cmx_k_embed embed = {
		.ids = next_ids(f), .rows = p->step->at.rows, .table = w->embed.va,
		.type = w->embed.type, .out = f->x, .hidden = c->hidden, .vocab = c->vocab,
		.tokens = p->n,
	};
	struct cmx_k_norm norm = {
		.x = f->x, .w = (const float *)w->enorm.va, .out = f->pair, .dim = c->hidden,
		.tokens = p->n, .x_stride = c->hidden, .out_stride = 2 * c->hidden, .eps = c->eps,
	};

	cmx_pass_launch(p, CMX_NPU_EMBED, &embed, "MTP embed", NULL);
	cmx_pass_launch(p, CMX_NPU_NORM, &norm, "MTP embed norm", NULL);
	norm.x = f->hidden;
	norm.pick = p->step->at.sources;
	norm.w = (const float *)w->hnorm.va;
	norm.out = f->pair + c->hidden;
	cmx_pass_launch(p, CMX_NPU_NORM, &norm, "MTP hidden norm", NULL);
	cmx_pass_matmul(p, &w->eh_proj, c->hidden, 2 * c->hidden, f->pair, NULL, f->x,
			"MTP join");
}

static void pass_head(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_mtp_weights *w = &f->m->mtp;
	const struct cmx_model_config *c = &f->m->cfg;
	struct cmx_pass tail = *p;

	tail.n = p->step->n_want;
	if (!tail.n)
		return;
	cmx_pass_norm(&tail, f->x, p->step->at.want, &w->head_norm, f->h, c->hidden, tail.n,
		      "MTP output norm");
	cmx_pass_matmul(&tail, &w->head, c->vocab, c->hidden, f->h, NULL, f->logits, "MTP head");
	p->ret = tail.ret;
}

static void pass_choose(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_step *st = p->step;
	const struct cmx_k_sample a = {
		.logits = f->logits, .rows = st->at.samples, .ids = next_ids(f),
		.order = f->order, .prob = f->prob, .out = f->sample_out,
		.vocab = f->m->cfg.vocab, .n = st->n_samples, .n_draw = st->n_draw,
		.n_sort = st->n_sort, .n_penalty = st->n_penalty, .n_history = st->n_history,
	};

	if (!st->n_samples)
		return;
	cmx_pass_launch(p, CMX_NPU_SAMPLE, &a, "MTP draft", NULL);
	if (!p->ret)
		p->ret = cmx_die_copy(f->die, f->drafted, f->sample_out,
				      st->n_samples * sizeof(*f->drafted), "drafts to host",
				      p->err);
}

static void step_start(struct cmx_pass *p)
{
	if (p->n)
		pass_join(p);
}

static void step_end(struct cmx_pass *p)
{
	pass_head(p);
	pass_choose(p);
}

static int take_step(struct cmx_pass *p, const struct cmx_turn *turn, uint32_t ranks,
		     struct cmx_infer_err *err)
{
	for (uint32_t i = 0; i < ranks; i++) {
		if (!turn[i].f->opt.mtp)
			return cmx_infer_fail(err, -EINVAL, "no room was made for an MTP step");
		cmx_pass_start(&p[i], &turn[i], &turn[i].f->mtp_step, "MTP step to die", err);
		if (p[i].ret)
			return p[i].ret;
	}
	cmx_pass_ranks(p, ranks, step_start);
	cmx_pass_layers(p, ranks, turn->f->m->cfg.n_layer, turn->f->m->cfg.n_layer + 1);
	cmx_pass_ranks(p, ranks, step_end);
	return p->ret;
}

int cmx_mtp_steps(const struct cmx_turn *turn, uint32_t ranks, struct cmx_infer_err *err)
{
	struct cmx_pass *p = calloc(ranks, sizeof(*p));
	int ret;

	if (!p)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a step of %u ranks", ranks);
	ret = take_step(p, turn, ranks, err);
	free(p);
	return ret;
}

int cmx_mtp_step(struct cmx_forward *f, struct cmx_part *part, uint32_t n,
		 struct cmx_infer_err *err)
{
	const struct cmx_turn turn = { f, part, n };
	struct cmx_pass p;

	return take_step(&p, &turn, 1, err);
}
