// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_infer_shape.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static uint64_t job_positions(const struct cmx_job *j)
{
	return cmx_positions(j->n_prompt, j->n);
}

static uint32_t clamp_u64(uint64_t x, uint32_t min, uint32_t max)
{
	return x < min ? min : x > max ? max : (uint32_t)x;
}

/* What the longest of the jobs takes, or all there is. */
static uint32_t longest(const struct cmx_jobs *jobs, uint32_t limit)
{
	uint64_t most = 1;

	for (uint32_t i = 0; i < jobs->n; i++) {
		uint64_t need = job_positions(&jobs->job[i]);

		most = need > most ? need : most;
	}
	return clamp_u64(most, 1, limit);
}

static int larger_first(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* Pages of the @seqs largest jobs: with them none ever waits for pages. */
static int pages_of_largest(const struct cmx_jobs *jobs, const struct cmx_forward_options *f,
			    uint32_t *pages, struct cmx_infer_err *err)
{
	uint32_t *need = calloc(jobs->n, sizeof(*need)), n = 0;
	uint64_t sum = 0;

	if (!need)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %u requests", jobs->n);
	for (uint32_t i = 0; i < jobs->n; i++) {
		uint64_t positions = job_positions(&jobs->job[i]);

		if (positions <= f->ctx)
			need[n++] = (uint32_t)((positions + (1u << f->page_shift) - 1) >>
					       f->page_shift);
	}
	qsort(need, n, sizeof(*need), larger_first);
	for (uint32_t i = 0; i < n && i < f->seqs; i++)
		sum += need[i];
	free(need);
	*pages = clamp_u64(sum, 1, (1u << 31) >> f->page_shift);
	return 0;
}

static uint32_t prompt_tokens(const struct cmx_jobs *jobs)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < jobs->n; i++)
		sum += jobs->job[i].n_prompt;
	return clamp_u64(sum, 1, CMX_MAX_TOKENS);
}

static uint32_t log2_of(uint32_t power)
{
	return (uint32_t)__builtin_ctz(power);
}

/* Without limits of its own a rank has room for all that can come. */
static int set_received(const struct cmx_model_config *c, struct cmx_engine_options *e,
			struct cmx_infer_err *err)
{
	const struct cmx_layout *l = &e->layout;
	uint64_t most = cmx_exchange_most(l->ep, e->forward.rows, c->n_used,
					  cmx_layout_local(l, c->n_expert));

	if (most > UINT32_MAX)
		return cmx_infer_fail(err, -EINVAL,
				      "--chunk is %u: experts of a die might get %" PRIu64
				      " rows, the limit is %u", e->forward.rows, most, UINT32_MAX);
	e->forward.received = l->ep > 1 ? (uint32_t)most : 0;
	return 0;
}

static int from_options(const struct cmx_infer_options *o, const struct cmx_model_config *c,
			const struct cmx_jobs *jobs, struct cmx_engine_options *e,
			struct cmx_infer_err *err)
{
	uint32_t all = prompt_tokens(jobs);
	struct cmx_forward_options *f = &e->forward;
	int ret;

	*e = (struct cmx_engine_options){
		.no_reuse = o->no_reuse,
		.forward = {
			.ctx = o->ctx ? o->ctx : longest(jobs, c->ctx),
			.rows = o->chunk < all ? o->chunk : all,
			.seqs = o->max_batch < jobs->n ? o->max_batch : jobs->n,
			.page_shift = log2_of(o->kv_page), .pages = o->kv_pages,
			.all_logits = o->logits, .absorb = o->absorb,
		},
	};
	f->mtp = o->mtp == CMX_MTP_ON || (o->mtp == CMX_MTP_AUTO && c->n_mtp);
	f->drafts = f->mtp;
	if (f->mtp && !c->n_mtp)
		return cmx_infer_fail(err, -EINVAL, "--mtp is 1, the model has no MTP block");
	if (f->rows < f->seqs * (1 + f->drafts))
		f->rows = f->seqs * (1 + f->drafts);
	if (f->ctx > c->ctx)
		return cmx_infer_fail(err, -EINVAL, "--ctx is %u, the limit of the model is %u",
				      f->ctx, c->ctx);
	ret = cmx_layout_init(&e->layout, o->ep, o->dp, c, err);
	if (ret || f->pages)
		return ret;
	return pages_of_largest(jobs, f, &f->pages, err);
}

struct pair {
	const char *name;
	bool given;
	double val;
	double recorded;
};

static int check_pairs(const struct pair *p, size_t n, struct cmx_infer_err *err)
{
	for (; n--; p++) {
		if (p->given && p->val != p->recorded)
			return cmx_infer_fail(err, -EINVAL, "%s is %.9g, the decisions have %.9g",
					      p->name, p->val, p->recorded);
	}
	return 0;
}

static int check_job(const struct cmx_infer_options *o, const struct cmx_decisions *d,
		     struct cmx_infer_err *err)
{
	const struct pair pairs[] = {
		{ "--repeat-penalty", o->has_penalty, (double)o->penalty, (double)d->penalty },
		{ "--temp", o->has_temp, (double)o->temp, (double)d->temp },
		{ "--top-k", o->has_top_k, o->top_k, d->top_k },
		{ "--top-p", o->has_top_p, (double)o->top_p, (double)d->top_p },
		{ "--min-p", o->has_min_p, (double)o->min_p, (double)d->min_p },
	};

	/* A run that came to an end of its own may have been for more. */
	if (o->has_n && o->n != d->most && o->n != d->n_output)
		return cmx_infer_fail(err, -EINVAL,
				      "-n is %u, the decisions have %u of %u output tokens", o->n,
				      d->n_output, d->most);
	return check_pairs(pairs, sizeof(pairs) / sizeof(pairs[0]), err);
}

static int check_replay(const struct cmx_infer_options *o, const struct cmx_jobs *jobs,
			const struct cmx_recording *r, struct cmx_infer_err *err)
{
	uint32_t all = prompt_tokens(jobs), chunk = o->chunk < all ? o->chunk : all;
	uint32_t least = r->max_batch * (1 + r->mtp);
	const struct pair pairs[] = {
		{ "--chunk", o->has_chunk, chunk > least ? chunk : least, r->chunk },
		{ "--mtp", o->has_mtp && o->mtp != CMX_MTP_AUTO, o->mtp == CMX_MTP_ON, r->mtp },
		{ "--max-batch", o->has_max_batch, o->max_batch < r->n ? o->max_batch : r->n,
		  r->max_batch },
		{ "--ctx", o->ctx, o->ctx, r->ctx },
		{ "--ep", o->ep, o->ep, r->ep },
		{ "--dp", o->dp, o->dp, r->dp },
		{ "--kv-pages", o->kv_pages, o->kv_pages, r->pages },
		{ "--kv-page", o->has_kv_page, o->kv_page, 1u << r->page_shift },
		{ "--absorb", o->absorb, 1, r->absorb },
		{ "--no-reuse", o->no_reuse, 1, r->no_reuse },
	};
	int ret = check_pairs(pairs, sizeof(pairs) / sizeof(pairs[0]), err);

	for (uint32_t i = 0; i < r->n && !ret; i++)
		ret = check_job(o, r->seq[i], err);
	return ret;
}

int cmx_infer_shape(const struct cmx_infer_options *o, const struct cmx_model_config *c,
		    const struct cmx_jobs *jobs, const struct cmx_recording *replay,
		    struct cmx_engine_options *e, struct cmx_infer_err *err)
{
	int ret;

	if (!replay) {
		ret = from_options(o, c, jobs, e, err);
		return ret ? ret : set_received(c, e, err);
	}
	*e = (struct cmx_engine_options){
		.no_reuse = replay->no_reuse, .layout = { replay->ep, replay->dp, replay->tp },
		.forward = {
			.ctx = replay->ctx, .rows = replay->chunk, .seqs = replay->max_batch,
			.pages = replay->pages, .page_shift = replay->page_shift,
			.all_logits = replay->all_logits, .absorb = replay->absorb,
			.mtp = replay->mtp, .drafts = replay->mtp,
		},
	};
	ret = check_replay(o, jobs, replay, err);
	return ret ? ret : set_received(c, e, err);
}

void cmx_infer_shape_record(const struct cmx_engine_options *e, const struct cmx_model_config *c,
			    struct cmx_recording *r)
{
	const struct cmx_forward_options *f = &e->forward;

	*r = (struct cmx_recording){
		.n_moe = cmx_model_n_moe(c) + f->mtp, .n_expert = c->n_expert, .n_used = c->n_used,
		.vocab = c->vocab, .chunk = f->rows, .max_batch = f->seqs, .ctx = f->ctx,
		.pages = f->pages, .page_shift = f->page_shift, .all_logits = f->all_logits,
		.absorb = f->absorb, .no_reuse = e->no_reuse, .mtp = f->mtp, .ep = e->layout.ep,
		.dp = e->layout.dp, .tp = e->layout.tp,
	};
}
