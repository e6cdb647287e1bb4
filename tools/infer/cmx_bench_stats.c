// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_bench_stats.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int cmx_times_add(struct cmx_times *t, double ms, struct cmx_infer_err *err)
{
	uint64_t room = t->room ? 2 * t->room : 256;
	double *more;

	if (t->n == t->room) {
		more = realloc(t->ms, room * sizeof(*more));
		if (!more)
			return cmx_infer_fail(err, -ENOMEM, "no memory for the times of a bench");
		t->ms = more;
		t->room = room;
	}
	t->ms[t->n++] = ms;
	return 0;
}

void cmx_times_free(struct cmx_times *t)
{
	free(t->ms);
	*t = (struct cmx_times){ 0 };
}

static int smaller_first(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double percentile(const struct cmx_times *t, double p)
{
	double at = p / 100 * (double)(t->n - 1);
	uint64_t i = (uint64_t)at;
	double next = t->ms[i + 1 < t->n ? i + 1 : i];

	return t->ms[i] + (next - t->ms[i]) * (at - (double)i);
}

struct cmx_spread cmx_times_spread(struct cmx_times *t)
{
	struct cmx_spread s = { .n = t->n };
	double squares = 0;

	if (!t->n)
		return s;
	qsort(t->ms, t->n, sizeof(*t->ms), smaller_first);
	for (uint64_t i = 0; i < t->n; i++)
		s.mean += t->ms[i] / (double)t->n;
	for (uint64_t i = 0; i < t->n; i++)
		squares += (t->ms[i] - s.mean) * (t->ms[i] - s.mean);
	s.std = sqrt(squares / (double)t->n);
	s.median = percentile(t, 50);
	s.p99 = percentile(t, 99);
	return s;
}

static double ms(uint64_t ps)
{
	return (double)ps / 1e9;
}

struct lists {
	struct cmx_times ttft, tpot, itl, e2el;
};

/* Tokens of one step arrive together, so they are one arrival. */
static int add_arrivals(struct cmx_sequence *s, const struct cmx_bench_stats *st,
			struct lists *l, struct cmx_infer_err *err)
{
	uint64_t first = 0, last = 0, n = 0;
	int ret = 0;

	for (uint32_t i = 0; i < s->run.n_output && !ret; i++) {
		uint64_t ps = s->token_ps[i];

		if (ps < st->start_ps || ps > st->end_ps)
			continue;
		/* What comes at the very beginning belongs to the step before. */
		n += ps > st->start_ps && last;
		first = last ? first : ps;
		if (last && ps > last)
			ret = cmx_times_add(&l->itl, ms(ps - last), err);
		last = ps;
	}
	if (!ret && n && last > first)
		ret = cmx_times_add(&l->tpot, ms(last - first) / (double)n, err);
	return ret;
}

static int add_sequence(struct cmx_sequence *s, struct cmx_bench_stats *st, struct lists *l,
			struct cmx_infer_err *err)
{
	uint32_t n = s->run.n_output;
	uint64_t last = n ? s->token_ps[n - 1] : 0;
	bool done = s->state == CMX_SEQUENCE_ENDED && n && last > st->start_ps;
	int ret = add_arrivals(s, st, l, err);

	/* The first token of those handed over came with them. */
	for (uint32_t i = s->req.handed_over; i < n; i++)
		st->output += s->token_ps[i] > st->start_ps;
	st->completed += done;
	if (!s->req.handed_over && n)
		st->input += s->req.n_prompt;
	if (!ret && !s->req.handed_over && n)
		ret = cmx_times_add(&l->ttft, ms(s->token_ps[0] - s->submit_ps), err);
	if (!ret && done)
		ret = cmx_times_add(&l->e2el, ms(last - s->submit_ps), err);
	return ret;
}

int cmx_bench_stats(struct cmx_sequence *const *seq, uint32_t n, struct cmx_bench_stats *st,
		    struct cmx_infer_err *err)
{
	struct lists l = { 0 };
	int ret = 0;

	for (uint32_t i = 0; i < n && !ret; i++)
		ret = add_sequence(seq[i], st, &l, err);
	st->ttft = cmx_times_spread(&l.ttft);
	st->tpot = cmx_times_spread(&l.tpot);
	st->itl = cmx_times_spread(&l.itl);
	st->e2el = cmx_times_spread(&l.e2el);
	cmx_times_free(&l.ttft);
	cmx_times_free(&l.tpot);
	cmx_times_free(&l.itl);
	cmx_times_free(&l.e2el);
	return ret;
}
