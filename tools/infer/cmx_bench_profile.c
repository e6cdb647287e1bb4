// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_bench_profile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPS	128u

/* Commands that say where in a pass a die is; what they are called is up to who launches them. */
enum place {
	PLACE_AS_BEFORE,
	PLACE_MAIN,	/* a pass of the main model begins */
	PLACE_MTP,	/* one of the MTP block */
	PLACE_NORM,	/* the next layer, if its norm is a launch of its own */
	PLACE_LAYER,	/* the next layer, unless its norm came before */
	PLACE_TAIL,	/* no layer any more */
};

static enum place place_of(const char *label)
{
	static const struct {
		const char *label;
		enum place place;
	} marks[] = {
		{ "embed", PLACE_MAIN }, { "MTP embed", PLACE_MTP }, { "attn norm", PLACE_NORM },
		{ "q_a, kv_a", PLACE_LAYER }, { "q, kv_a", PLACE_LAYER },
		{ "hidden norm", PLACE_TAIL }, { "output norm", PLACE_TAIL },
		{ "MTP output norm", PLACE_TAIL }, { "step to die", PLACE_TAIL },
		{ "MTP step to die", PLACE_TAIL }, { "prompt to die", PLACE_TAIL },
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (!strcmp(label, marks[i].label))
			return marks[i].place;
	}
	return PLACE_AS_BEFORE;
}

struct walk {
	struct cmx_bench_profile *p;
	uint32_t next;		/* layer that begins next */
	bool in_layer;
	bool normed;		/* it began with its norm, and no more has come of it */
};

static void begin_layer(struct walk *w)
{
	w->in_layer = w->next < w->p->n_layers;
	w->next++;
}

static void move(struct walk *w, const char *label)
{
	enum place place = place_of(label);

	switch (place) {
	case PLACE_MAIN:
		w->next = 0;
		w->in_layer = false;
		break;
	case PLACE_MTP:
		w->next = w->p->n_layers - 1;
		w->in_layer = false;
		break;
	case PLACE_NORM:
		begin_layer(w);
		break;
	case PLACE_LAYER:
		if (!w->normed)
			begin_layer(w);
		break;
	case PLACE_TAIL:
		w->in_layer = false;
		break;
	case PLACE_AS_BEFORE:
		break;
	}
	if (place != PLACE_AS_BEFORE)
		w->normed = place == PLACE_NORM;
}

static int add_operator(struct cmx_bench_profile *p, const char *label, uint64_t ps,
			struct cmx_infer_err *err)
{
	uint32_t i = 0;

	while (i < p->n_ops && strcmp(p->op[i].label, label))
		i++;
	if (i == MAX_OPS)
		return cmx_infer_fail(err, -ENOSPC, "more than %u operators", MAX_OPS);
	if (i == p->n_ops)
		p->op[p->n_ops++].label = label;
	p->op[i].count++;
	p->op[i].ps += ps;
	return 0;
}

static int longer_first(const void *a, const void *b)
{
	const struct cmx_operator_time *x = a, *y = b;

	if (x->ps != y->ps)
		return x->ps < y->ps ? 1 : -1;
	return strcmp(x->label, y->label);
}

int cmx_bench_profile(struct cmx_bench_profile *p, const struct cmx_trace_event *e, uint64_t n,
		      uint64_t start_ps, uint64_t end_ps, uint32_t n_layers,
		      struct cmx_infer_err *err)
{
	struct walk w = { .p = p };
	int ret = 0;

	*p = (struct cmx_bench_profile){ .n_layers = n_layers };
	p->op = calloc(MAX_OPS, sizeof(*p->op));
	p->layer_ps = calloc(n_layers, sizeof(*p->layer_ps));
	if (!p->op || !p->layer_ps)
		return cmx_infer_fail(err, -ENOMEM, "no memory for the times of operators");
	for (uint64_t i = 0; i < n && !ret; i++) {
		uint64_t ps = e[i].end_ps - e[i].start_ps;

		move(&w, e[i].label);
		if (e[i].start_ps < start_ps || e[i].end_ps > end_ps)
			continue;
		ret = add_operator(p, e[i].label, ps, err);
		*(w.in_layer ? &p->layer_ps[w.next - 1] : &p->other_ps) += ps;
		p->ps += ps;
	}
	qsort(p->op, p->n_ops, sizeof(*p->op), longer_first);
	return ret;
}

void cmx_bench_profile_free(struct cmx_bench_profile *p)
{
	free(p->op);
	free(p->layer_ps);
	*p = (struct cmx_bench_profile){ 0 };
}
