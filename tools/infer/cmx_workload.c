// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_workload.h"

#include <errno.h>
#include <stdlib.h>

/* What every output is, and a guess that is wrong. */
#define OUTPUT_ID	1u
#define WRONG_ID	0u

enum stream {
	STREAM_PROMPT = 1,
	STREAM_GUESS,
};

/* Output tokens that a request has behind it when it is handed over; two are to come. */
static uint32_t behind(const struct cmx_workload_options *o, uint32_t i)
{
	uint32_t of_rank = (o->midway + o->ranks - 1) / o->ranks;

	if (i >= o->midway)
		return 0;
	return (uint32_t)((uint64_t)(i / o->ranks) * (o->output - 1) / of_rank);
}

static uint64_t draw(const struct cmx_workload_options *o, enum stream what, uint64_t stream,
		     uint64_t i)
{
	return cmx_gates_mix(cmx_gates_mix(cmx_gates_mix(o->seed, what), stream), i);
}

/* Where all prompts are alike they are that of stream 0. */
static void fill_prompts(struct cmx_workload *w, uint32_t vocab)
{
	const struct cmx_workload_options *o = &w->opt;

	for (uint32_t i = 0; i < o->requests && !o->handed_over; i++) {
		for (uint32_t t = 0; t < o->input; t++) {
			uint64_t stream = t < o->shared ? 0 : i + 1ull;

			w->ids[(uint64_t)i * o->input + t] =
				(uint32_t)(draw(o, STREAM_PROMPT, stream, t) % vocab);
		}
	}
}

static void fill_decision(struct cmx_workload *w, const struct cmx_model_config *c, uint32_t i)
{
	const struct cmx_workload_options *o = &w->opt;
	uint32_t done = behind(o, i);
	struct cmx_decisions *d = &w->decision[i];

	*d = (struct cmx_decisions){
		.n_moe = cmx_model_n_moe(c) + o->mtp, .n_used = c->n_used,
		.n_prompt = o->input + done, .n_output = o->output - done,
		.most = o->output - done, .end = CMX_END_LENGTH, .top_p = 1, .penalty = 1,
		.capacity = o->input + o->output, .ids = w->output, .gates = w->gates,
		.stream = i, .turn = i % o->ranks * o->rows,
	};
	if (!o->mtp)
		return;
	d->guesses = w->guesses + (uint64_t)i * o->output;
	d->n_guesses = d->most;
	d->max_guesses = d->most;
	for (uint32_t g = 0; g < d->most; g++) {
		double u = (double)(draw(o, STREAM_GUESS, i, g) >> 11) / (double)(1ull << 53);

		d->guesses[g] = u < (double)o->acceptance ? OUTPUT_ID : WRONG_ID;
	}
}

static int make_gates(struct cmx_workload *w, const struct cmx_model_config *c,
		      enum cmx_balance balance, struct cmx_infer_err *err)
{
	const struct cmx_gates_options g = {
		.balance = balance, .n_moe = cmx_model_n_moe(c) + w->opt.mtp,
		.n_expert = c->n_expert, .n_used = c->n_used, .seed = w->opt.seed,
	};

	return g.n_moe ? cmx_gates_new(&g, &w->gates, err) : 0;
}

static int check(const struct cmx_workload_options *o, const struct cmx_model_config *c,
		 struct cmx_infer_err *err)
{
	uint64_t positions = (uint64_t)o->input + o->output;

	if (!o->requests || !o->ranks || !o->input || o->output < 1u + o->handed_over)
		return cmx_infer_fail(err, -EINVAL,
				      "%u requests on %u ranks of %u and %u tokens: too few",
				      o->requests, o->ranks, o->input, o->output);
	if (positions > c->ctx)
		return cmx_infer_fail(err, -EINVAL,
				      "%u input and %u output tokens, the model's context is %u",
				      o->input, o->output, c->ctx);
	return 0;
}

int cmx_workload_init(struct cmx_workload *w, const struct cmx_model_config *c,
		      enum cmx_balance balance, const struct cmx_workload_options *opt,
		      struct cmx_infer_err *err)
{
	uint64_t positions = (uint64_t)opt->input + opt->output;
	int ret;

	*w = (struct cmx_workload){ .opt = *opt };
	ret = check(opt, c, err);
	if (!ret)
		ret = make_gates(w, c, balance, err);
	if (ret)
		return ret;
	w->decision = calloc(opt->requests, sizeof(*w->decision));
	/* Nobody looks for what prompts that are in the cache have in common. */
	w->ids = calloc(opt->handed_over ? positions : (uint64_t)opt->requests * opt->input,
			sizeof(*w->ids));
	w->output = malloc(positions * sizeof(*w->output));
	w->guesses = calloc(opt->mtp ? (uint64_t)opt->requests * opt->output : 1,
			    sizeof(*w->guesses));
	if (!w->decision || !w->ids || !w->output || !w->guesses)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %u requests", opt->requests);
	for (uint64_t i = 0; i < positions; i++)
		w->output[i] = OUTPUT_ID;
	fill_prompts(w, c->vocab);
	for (uint32_t i = 0; i < opt->requests; i++)
		fill_decision(w, c, i);
	return 0;
}

void cmx_workload_free(struct cmx_workload *w)
{
	cmx_gates_free(w->gates);
	free(w->decision);
	free(w->ids);
	free(w->output);
	free(w->guesses);
	*w = (struct cmx_workload){ 0 };
}

struct cmx_request cmx_workload_request(const struct cmx_workload *w, uint32_t i)
{
	const struct cmx_decisions *d = &w->decision[i];

	return (struct cmx_request){
		.ids = w->opt.handed_over ? w->ids : w->ids + (uint64_t)i * w->opt.input,
		.n_prompt = d->n_prompt, .n = d->most, .replay = d,
		.handed_over = w->opt.handed_over,
		.sampling = { .penalty = 1, .top_p = 1 },
	};
}
