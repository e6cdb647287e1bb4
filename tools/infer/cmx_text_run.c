// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_text_run.h"

#include <errno.h>
#include <stdlib.h>

#include "cmx_checksum.h"
#include "cmx_clock.h"
#include "cmx_infer_options.h"
#include "cmx_load_progress.h"
#include "cmx_model_tokenizer.h"

#define TEXT_MAX_BYTES	(1ull << 28)
#define TEXT_PAGE_SHIFT	6u

static int read_text(struct cmx_text_run *r)
{
	struct cmx_infer_err why = { .text = "" };
	uint64_t len;
	char *text;
	int ret = cmx_weight_file_text(r->opt->text, TEXT_MAX_BYTES, &text, &len, r->err);

	if (ret)
		return ret;
	ret = cmx_tokenizer_encode(&r->tok, text, len, false, &r->ids, &r->n_ids, &why);
	free(text);
	return ret ? cmx_infer_fail(r->err, ret, "%.120s: %s", r->opt->text, why.text) : 0;
}

static int check_ids(struct cmx_text_run *r)
{
	const struct cmx_model_config *c = cmx_source_config(r->source);

	for (uint32_t i = 0; i < r->n_ids; i++) {
		if (r->ids[i] >= c->vocab)
			return cmx_infer_fail(r->err, -EINVAL,
					      "token %u of the text is %u, must be below %u", i,
					      r->ids[i], c->vocab);
	}
	if (r->opt->max_tokens && r->n_ids > r->opt->max_tokens)
		r->n_ids = (uint32_t)r->opt->max_tokens;
	if (r->n_ids < 2)
		return cmx_infer_fail(r->err, -EINVAL,
				      "the text has %u tokens, must have at least 2", r->n_ids);
	return 0;
}

static int open_inputs(struct cmx_text_run *r)
{
	struct cmx_load_progress p = { .what = "checksum" };
	int ret = cmx_source_open(r->opt->model, &r->source, r->err);

	if (!ret && r->opt->int8)
		cmx_source_quantise(r->source);
	if (!ret && r->opt->verify)
		ret = cmx_checksum_verify(r->source, cmx_load_progress, &p, r->err);
	if (!ret && r->opt->ids)
		ret = cmx_infer_read_ids(r->opt->ids, &r->ids, &r->n_ids, r->err);
	if (!ret && !r->opt->ids)
		ret = cmx_model_tokenizer(&r->tok, r->source, r->opt->tokenizer, r->err);
	if (!ret && !r->opt->ids)
		ret = read_text(r);
	return ret ? ret : check_ids(r);
}

static int choose_shape(struct cmx_text_run *r, struct cmx_forward_options *f)
{
	const struct cmx_model_config *c = cmx_source_config(r->source);
	uint32_t ctx = r->opt->ctx;

	if (!ctx)
		ctx = c->ctx < CMX_TEXT_CTX ? c->ctx : CMX_TEXT_CTX;
	if (ctx > c->ctx || ctx < 2)
		return cmx_infer_fail(r->err, -EINVAL, "--ctx is %u, must be 2..%u", ctx, c->ctx);
	/* A text that ends before needs no more. */
	if (ctx > r->n_ids)
		ctx = r->n_ids;
	*f = (struct cmx_forward_options){
		.ctx = ctx, .rows = r->opt->chunk < ctx ? r->opt->chunk : ctx, .seqs = 1,
		.page_shift = TEXT_PAGE_SHIFT, .all_logits = true,
		.pages = (uint32_t)((ctx + (1ull << TEXT_PAGE_SHIFT) - 1) >> TEXT_PAGE_SHIFT),
	};
	r->pages = calloc(f->pages, sizeof(*r->pages));
	if (!r->pages)
		return cmx_infer_fail(r->err, -ENOMEM, "no memory for %u pages", f->pages);
	for (uint32_t i = 0; i < f->pages; i++)
		r->pages[i] = i;
	return 0;
}

static int open_die(struct cmx_text_run *r)
{
	struct cmx_machine_options o = { .threads = r->opt->threads };
	int ret = cmx_isa_choose(&o.isa, &r->isa_why, r->err);

	if (ret)
		return ret;
	r->isa = cmx_isa_name(o.isa);
	ret = cmx_machine_open(&o, &r->machine, r->err);
	return ret ? ret : cmx_die_open(r->machine, r->opt->die, &r->die, r->err);
}

static int load_model(struct cmx_text_run *r, const struct cmx_forward_options *f)
{
	struct cmx_load_progress p = { .what = "load" };
	struct cmx_load_options opt = {
		.progress = cmx_load_progress, .progress_ctx = &p,
	};

	cmx_forward_bytes(cmx_source_config(r->source), f, &opt.cache_bytes, &opt.buffer_bytes);
	return cmx_model_load(r->source, r->die, &opt, &r->model, r->err);
}

int cmx_text_run_open(struct cmx_text_run *r, const struct cmx_text_options *opt,
		      struct cmx_infer_err *err)
{
	uint64_t start = cmx_clock_ns();
	struct cmx_forward_options f;
	int ret;

	*r = (struct cmx_text_run){ .opt = opt, .err = err };
	ret = open_inputs(r);
	if (!ret)
		ret = choose_shape(r, &f);
	if (!ret)
		ret = open_die(r);
	if (!ret)
		ret = load_model(r, &f);
	if (!ret)
		ret = cmx_forward_init(&r->fwd, &r->model, r->die, &f, err);
	if (!ret)
		ret = cmx_die_finish(r->die, err);
	r->load_s = (double)(cmx_clock_ns() - start) / 1e9;
	return ret;
}

void cmx_text_run_close(struct cmx_text_run *r)
{
	cmx_forward_free(&r->fwd);
	cmx_model_free(&r->model);
	cmx_machine_close(r->machine);
	cmx_tokenizer_free(&r->tok);
	cmx_source_close(r->source);
	free(r->pages);
	free(r->ids);
}

int cmx_text_run_window(struct cmx_text_run *r, const struct cmx_text_window *w,
			int (*seen)(void *arg, const struct cmx_text_window *w, uint32_t pos,
				    const float *logits), void *arg)
{
	uint32_t vocab = r->model.cfg.vocab, rows = r->fwd.opt.rows;
	struct cmx_part part = { .pages = r->pages };
	int ret;

	ret = cmx_forward_prompt(&r->fwd, 0, r->ids + w->first, w->n, r->err);
	for (uint32_t pos = 0; pos < w->n && !ret; pos += rows) {
		part.pos = pos;
		part.n = w->n - pos < rows ? w->n - pos : rows;
		part.want = part.n;
		ret = cmx_forward_step(&r->fwd, &part, 1, r->err);
		if (!ret)
			ret = cmx_die_finish(r->die, r->err);
		for (uint32_t t = 0; t < part.n && !ret && seen; t++)
			ret = seen(arg, w, pos + t, r->fwd.logits + (uint64_t)t * vocab);
	}
	return ret;
}
