// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t pages_of(const struct cmx_step *st, const struct cmx_part *p)
{
	return ((p->pos + p->n - 1) >> st->max.page_shift) + 1;
}

/* Either one window of a long sequence each time, or several short sequences in one. */
static uint32_t max_windows(const struct cmx_step_limits *max)
{
	return max->parts * (max->ctx / max->window + 1);
}

static uint64_t table_entries(const struct cmx_step_limits *max)
{
	return (uint64_t)max->parts * (((max->ctx - 1) >> max->page_shift) + 1);
}

uint64_t cmx_step_bytes(const struct cmx_step_limits *max)
{
	return max->samples * sizeof(struct cmx_sample_row) + max->rows * sizeof(struct cmx_row) +
	       (max_windows(max) + max->parts) * sizeof(struct cmx_span) +
	       max->want * sizeof(uint32_t) + table_entries(max) * sizeof(uint32_t) +
	       (max->sources ? max->rows * sizeof(uint32_t) : 0);
}

int cmx_step_init(struct cmx_step *st, const struct cmx_step_limits *max, void *host, void *die,
		  struct cmx_infer_err *err)
{
	*st = (struct cmx_step){ .max = *max, .host = host, .die = die };
	st->window = calloc(max_windows(max), sizeof(*st->window));
	return st->window ? 0 : cmx_infer_fail(err, -ENOMEM, "no memory for a step");
}

void cmx_step_free(struct cmx_step *st)
{
	free(st->window);
	st->window = NULL;
}

/* The arrays one behind the other from @base on; returns where the block ends. */
static char *place(const struct cmx_step *st, char *base, struct cmx_step_arrays *a)
{
	a->samples = (struct cmx_sample_row *)base;
	a->rows = (struct cmx_row *)(a->samples + st->n_samples);
	a->spans = (struct cmx_span *)(a->rows + st->n_rows);
	a->want = (uint32_t *)(a->spans + st->n_spans);
	a->tables = a->want + st->n_want;
	a->sources = a->tables + st->n_tables;
	return (char *)(a->sources + (st->max.sources ? st->n_rows : 0));
}

static int check_part(const struct cmx_step *st, const struct cmx_part *p,
		      struct cmx_infer_err *err)
{
	if (!p->n || p->pos >= st->max.ctx || p->n > st->max.ctx - p->pos)
		return cmx_infer_fail(err, -ENOSPC,
				      "%u tokens at position %u: the context has %u positions",
				      p->n, p->pos, st->max.ctx);
	if (p->want > p->n || p->sample > p->want || p->guesses >= p->n ||
	    (p->sample && !p->sampling))
		return cmx_infer_fail(err, -EINVAL,
				      "%u tokens to choose from %u rows of logits of %u tokens",
				      p->sample, p->want, p->n);
	return 0;
}

static int check_total(const struct cmx_step *st, struct cmx_infer_err *err)
{
	const struct {
		const char *what;
		uint32_t n, max;
	} counts[] = {
		{ "sequences", st->n_parts, st->max.parts },
		{ "tokens", st->n_rows, st->max.rows },
		{ "rows of logits", st->n_want, st->max.want },
		{ "tokens to choose", st->n_samples, st->max.samples },
	};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		if (counts[i].n > counts[i].max)
			return cmx_infer_fail(err, -ENOSPC, "a step of %u %s, the limit is %u",
					      counts[i].n, counts[i].what, counts[i].max);
	}
	return st->n_rows ? 0 : cmx_infer_fail(err, -EINVAL, "a step without tokens");
}

static int count_parts(struct cmx_step *st, struct cmx_infer_err *err)
{
	int ret = 0;

	for (uint32_t i = 0; i < st->n_parts && !ret; i++) {
		const struct cmx_part *p = &st->part[i];

		ret = check_part(st, p, err);
		st->n_rows += p->n;
		st->n_absorbed += p->absorbed ? p->n : 0;
		st->n_want += p->want;
		st->n_samples += p->sample;
		/* Not more than the block has room for. */
		if (!ret && i < st->max.parts)
			st->n_tables += pages_of(st, p);
	}
	return ret ? ret : check_total(st, err);
}

static void add_work(struct cmx_window *w, const struct cmx_part *p)
{
	cmx_npu_add_key_work(w->first, w->end, p->pos, p->n, &w->work);
}

/* Keys of a sequence too long for one window: a token has keys in those that begin before it. */
static void window_pieces(struct cmx_step *st, const struct cmx_part *p, uint32_t row)
{
	uint32_t all = p->pos + p->n;

	for (uint32_t first = 0; first < all; first += st->max.window) {
		uint32_t keys = all - first < st->max.window ? all - first : st->max.window;
		uint32_t skip = first > p->pos ? first - p->pos : 0;
		struct cmx_window *w = &st->window[st->n_windows++];

		*w = (struct cmx_window){
			.row = row + skip, .rows = p->n - skip, .span = st->n_spans++, .spans = 1,
			.keys = keys, .first = first,
			.end = first + keys < all ? first + keys : UINT32_MAX,
		};
		add_work(w, p);
	}
}

/* Joins the window before it if there is room. */
static void window_whole(struct cmx_step *st, const struct cmx_part *p, uint32_t row)
{
	struct cmx_window *w = &st->window[st->n_windows - (st->n_windows > 0)];
	uint32_t all = p->pos + p->n;

	if (!st->n_windows || w->first || w->end != UINT32_MAX ||
	    all > st->max.window - w->keys) {
		w = &st->window[st->n_windows++];
		*w = (struct cmx_window){ .row = row, .span = st->n_spans, .end = UINT32_MAX };
	}
	w->rows += p->n;
	w->keys += all;
	w->spans++;
	st->n_spans++;
	add_work(w, p);
}

static void plan_windows(struct cmx_step *st)
{
	uint32_t row = st->n_absorbed;

	for (uint32_t i = 0; i < st->n_parts; i++) {
		const struct cmx_part *p = &st->part[i];

		if (p->absorbed)
			continue;
		if (p->pos + p->n > st->max.window)
			window_pieces(st, p, row);
		else
			window_whole(st, p, row);
		row += p->n;
	}
}

/* Where the filling has got to. */
struct cursor {
	struct cmx_step_arrays at;	/* on the host */
	uint32_t row, want, sample, table, window, keys, span;
};

static void fill_rows(struct cmx_step *st, const struct cmx_part *p, uint32_t keys,
		      struct cursor *c)
{
	uint32_t mask = (1u << st->max.page_shift) - 1;

	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t pos = p->pos + i;

		if (st->max.sources)
			c->at.sources[c->row] = p->source + i;
		c->at.rows[c->row++] = (struct cmx_row){
			.pos = pos, .id = p->slot * st->max.ids_stride + pos, .keys = keys,
			.cell = p->pages[pos >> st->max.page_shift] << st->max.page_shift |
				(pos & mask),
		};
	}
}

static void fill_samples(struct cmx_step *st, const struct cmx_part *p, struct cursor *c)
{
	const struct cmx_sampling *s = p->sampling;

	for (uint32_t i = 0; i < p->sample; i++) {
		uint32_t ids = p->pos + p->n - p->sample + i + 1;

		c->at.samples[c->sample++] = (struct cmx_sample_row){
			.seed = s->seed, .index = p->index + i,
			.logits = p->first_logits + p->want - p->sample + i,
			.history = p->slot * st->max.ids_stride, .n_history = ids,
			.follows = i > 0, .top_k = s->top_k, .temp = s->temp, .top_p = s->top_p,
			.min_p = s->min_p, .penalty = s->penalty,
		};
		st->n_draw += s->temp > 0;
		st->n_sort += s->temp > 0 && (s->top_p < 1 || s->min_p > 0 || s->top_k);
		st->n_penalty += s->penalty != 1;
		st->n_history += s->penalty != 1 ? ids : 0;
	}
}

/* What all forms have: rows, what is wanted of them, the page table. */
static void fill_part(struct cmx_step *st, struct cmx_part *p, uint32_t keys, struct cursor *c)
{
	p->first_row = c->row;
	p->first_logits = c->want;
	p->first_sample = c->sample;
	fill_rows(st, p, keys, c);
	for (uint32_t i = p->n - p->want; i < p->n; i++)
		c->at.want[c->want++] = p->first_row + i;
	fill_samples(st, p, c);
	memcpy(c->at.tables + c->table, p->pages, pages_of(st, p) * sizeof(*p->pages));
	c->table += pages_of(st, p);
}

static void fill_spans(struct cmx_step *st, const struct cmx_part *p, uint32_t table,
		       struct cursor *c)
{
	uint32_t all = p->pos + p->n, pos = 0;

	do {
		uint32_t n = all - pos < st->max.window ? all - pos : st->max.window;

		c->at.spans[c->span++] = (struct cmx_span){
			.table = table, .pos = pos, .out = pos ? 0 : c->keys, .n = n,
		};
		pos += n;
	} while (pos < all);
}

/* Sequences of a window one behind the other. */
static void fill_plain(struct cmx_step *st, struct cmx_part *p, struct cursor *c)
{
	uint32_t table = c->table;

	while (c->row >= st->window[c->window].row + st->window[c->window].rows) {
		c->window++;
		c->keys = 0;
	}
	fill_spans(st, p, table, c);
	fill_part(st, p, c->keys, c);
	c->keys += p->pos + p->n;
}

static void fill(struct cmx_step *st, struct cmx_part *part)
{
	struct cursor c = { 0 };

	st->bytes = (uint64_t)(place(st, st->host, &c.at) - st->host);
	place(st, st->die, &st->at);
	for (uint32_t i = 0; i < st->n_parts; i++) {
		if (!part[i].absorbed)
			continue;
		fill_part(st, &part[i], c.table, &c);
		cmx_npu_add_key_work(0, UINT32_MAX, part[i].pos, part[i].n, &st->absorbed);
	}
	for (uint32_t i = 0; i < st->n_parts; i++) {
		if (!part[i].absorbed)
			fill_plain(st, &part[i], &c);
	}
}

void cmx_step_clear(struct cmx_step *st)
{
	*st = (struct cmx_step){
		.max = st->max, .host = st->host, .die = st->die, .window = st->window,
	};
}

int cmx_step_build(struct cmx_step *st, struct cmx_part *part, uint32_t n,
		   struct cmx_infer_err *err)
{
	int ret;

	cmx_step_clear(st);
	st->part = part;
	st->n_parts = n;
	ret = count_parts(st, err);
	if (ret)
		return ret;
	plan_windows(st);
	fill(st, part);
	return 0;
}

/* What the gate of one MoE layer chose for token @i of a part. */
static bool chosen(const struct cmx_part *p, uint32_t moe, uint32_t i, uint16_t *experts)
{
	uint32_t sure = p->n - p->guesses, row = p->first_row + i;

	if (i < sure)
		return cmx_decisions_get(p->replay, moe, p->pos + i, row, experts);
	return cmx_decisions_get_guess(p->replay, moe, p->first_guess + i - sure, row, experts);
}

static int not_decided(const struct cmx_part *p, uint32_t moe, uint32_t i,
		       struct cmx_infer_err *err)
{
	uint32_t sure = p->n - p->guesses;

	if (i < sure)
		return cmx_infer_fail(err, -EINVAL,
				      "decisions: none for position %u in MoE layer %u",
				      p->pos + i, moe);
	return cmx_infer_fail(err, -EINVAL, "decisions: none for guess %u in MoE layer %u",
			      p->first_guess + i - sure, moe);
}

int cmx_step_choices(const struct cmx_step *st, uint32_t moe, uint32_t n_used, int32_t *ids,
		     struct cmx_infer_err *err)
{
	uint16_t experts[CMX_MAX_EXPERTS_USED];

	for (uint32_t i = 0; i < st->n_parts; i++) {
		const struct cmx_part *p = &st->part[i];

		for (uint32_t t = 0; t < p->n; t++) {
			int32_t *to = ids + (uint64_t)(p->first_row + t) * n_used;

			if (!chosen(p, moe, t, experts))
				return not_decided(p, moe, t, err);
			for (uint32_t k = 0; k < n_used; k++)
				to[k] = experts[k];
		}
	}
	return 0;
}

int cmx_step_active(const struct cmx_step *st, uint32_t moe, uint32_t *active,
		    struct cmx_infer_err *err)
{
	uint8_t seen[CMX_MAX_EXPERTS] = { 0 };
	uint16_t experts[CMX_MAX_EXPERTS_USED];

	*active = 0;
	for (uint32_t i = 0; i < st->n_parts; i++) {
		const struct cmx_part *p = &st->part[i];

		for (uint32_t t = 0; t < p->n; t++) {
			if (!chosen(p, moe, t, experts))
				return not_decided(p, moe, t, err);
			for (uint32_t k = 0; k < p->replay->n_used; k++) {
				*active += !seen[experts[k]];
				seen[experts[k]] = 1;
			}
		}
	}
	return 0;
}
