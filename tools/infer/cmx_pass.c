// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_pass.h"

void cmx_pass_start(struct cmx_pass *p, const struct cmx_turn *turn, struct cmx_step *st,
		    const char *label, struct cmx_infer_err *err)
{
	*p = (struct cmx_pass){ .f = turn->f, .step = st, .err = err };
	if (!turn->n) {
		cmx_step_clear(st);
		return;
	}
	p->ret = cmx_step_build(st, turn->part, turn->n, err);
	p->n = st->n_rows;
	if (!p->ret)
		p->ret = cmx_die_copy(turn->f->die, st->die, st->host, st->bytes, label, err);
}

void cmx_pass_ranks(struct cmx_pass *p, uint32_t ranks, void (*fn)(struct cmx_pass *p))
{
	int ret = 0;

	for (uint32_t i = 0; i < ranks && !ret; i++) {
		if (!p[i].ret)
			fn(&p[i]);
		ret = p[i].ret;
	}
	for (uint32_t i = 0; i < ranks && ret; i++)
		p[i].ret = ret;
}

void cmx_pass_launch(struct cmx_pass *p, enum cmx_npu_id id, const void *args,
		     const char *label, const struct cmx_npu_load *load)
{
	const struct cmx_forward *f = p->f;

	if (!p->ret && f->observe)
		p->ret = f->observe(f->observe_arg, id, args);
	if (!p->ret)
		p->ret = cmx_die_launch(f->die, id, args, label, load, p->err);
}

const float *cmx_pass_input(struct cmx_pass *p, const struct cmx_weight *w, const float *x,
			    uint32_t k, uint32_t rows, char *room, const char *label)
{
	const struct cmx_k_quantise a = { .x = x, .out = room, .rows = rows, .k = k };

	if (w->type != CMX_TENSOR_I8)
		return x;
	cmx_pass_launch(p, CMX_NPU_QUANTISE, &a, label, NULL);
	return (const float *)room;
}

void cmx_pass_matmul(struct cmx_pass *p, const struct cmx_weight *w, uint32_t rows, uint32_t k,
		     const float *x, const float *res, float *out, const char *label)
{
	const struct cmx_k_matmul a = {
		.w = w->va, .type = w->type, .x = x, .res = res, .out = out,
		.rows = rows, .k = k, .heads = 1, .tokens = p->n,
		.x_stride = k, .out_stride = rows,
	};

	cmx_pass_launch(p, CMX_NPU_MATMUL, &a, label, NULL);
}

const float *cmx_pass_norm_for(struct cmx_pass *p, const float *x, const struct cmx_weight *norm,
			       float *out, uint32_t dim, const struct cmx_weight *w, char *room,
			       const char *label)
{
	const struct cmx_k_norm a = {
		.x = x, .w = (const float *)norm->va, .out = out,
		.rounded = w->type == CMX_TENSOR_I8 ? room : NULL, .dim = dim, .tokens = p->n,
		.x_stride = dim, .out_stride = dim, .eps = p->f->m->cfg.eps,
	};

	cmx_pass_launch(p, CMX_NPU_NORM, &a, label, NULL);
	return a.rounded ? (const float *)a.rounded : out;
}

void cmx_pass_norm(struct cmx_pass *p, const float *x, const uint32_t *pick,
		   const struct cmx_weight *w, float *out, uint32_t dim, uint32_t tokens,
		   const char *label)
{
	const struct cmx_k_norm a = {
		.x = x, .pick = pick, .w = (const float *)w->va, .out = out, .dim = dim,
		.tokens = tokens,
		.x_stride = dim, .out_stride = dim, .eps = p->f->m->cfg.eps,
	};

	cmx_pass_launch(p, CMX_NPU_NORM, &a, label, NULL);
}

void cmx_pass_next(struct cmx_pass *p, const struct cmx_next *next)
{
	const struct cmx_forward *f = p->f;

	if (next->norm)
		p->in = cmx_pass_norm_for(p, f->x, next->norm, f->h, f->m->cfg.hidden, next->w,
					  f->in_i8, next->label);
}

struct cmx_row_end cmx_pass_next_end(struct cmx_pass *p, const struct cmx_next *next)
{
	const struct cmx_forward *f = p->f;
	struct cmx_row_end end = { 0 };

	if (!next->norm)
		return end;
	end.norm = (const float *)next->norm->va;
	end.normed = f->h;
	end.rounded = next->w->type == CMX_TENSOR_I8 ? f->in_i8 : NULL;
	end.eps = f->m->cfg.eps;
	p->in = end.rounded ? (const float *)end.rounded : f->h;
	return end;
}

void cmx_pass_add(struct cmx_pass *p, const struct cmx_weight *w, uint32_t k, const float *x,
		  const struct cmx_next *next, const char *label)
{
	const struct cmx_forward *f = p->f;
	uint32_t hidden = f->m->cfg.hidden;
	struct cmx_k_matmul a = {
		.w = w->va, .type = w->type, .x = x, .res = f->x, .out = f->x, .rows = hidden,
		.k = k, .heads = 1, .tokens = p->n, .x_stride = k, .out_stride = hidden,
	};
	bool few = cmx_pass_few(p);

	if (few)
		a.end = cmx_pass_next_end(p, next);
	cmx_pass_launch(p, CMX_NPU_MATMUL, &a, label, NULL);
	if (!few)
		cmx_pass_next(p, next);
}
