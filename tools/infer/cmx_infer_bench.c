// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmx_bench_options.h"
#include "cmx_bench_report.h"
#include "cmx_clock.h"
#include "cmx_command.h"
#include "cmx_infer.h"
#include "cmx_output_file.h"
#include "cmx_ranks.h"
#include "cmx_stdout.h"
#include "cmx_stop.h"
#include "cmx_workload.h"

/* Positions of a cache page: 2^7, the smallest of the published context cache. */
#define PAGE_SHIFT	7u

/* Most tokens of a prefill step on a die, unless it is said, that exchanges rows with others. */
#define EXCHANGE_CHUNK	1024u

/* All that a bench holds; bench_close() undoes any part of it. */
struct bench {
	struct cmx_bench_options opt;
	struct cmx_infer_err err;
	struct cmx_source *source;
	struct cmx_machine *machine;
	struct cmx_ranks ranks;
	struct cmx_engine_options shape;
	struct cmx_engine engine;
	struct cmx_workload work;
	uint64_t counts[CMX_MAX_EXPERTS];	/* how popular experts are */
	struct cmx_sequence **seq;	/* those that count, [work.opt.requests] */
	uint32_t n_seqs;
	struct cmx_output_file trace;
	struct cmx_engine_stats before;
	struct cmx_bench_stats stats;
	struct cmx_bench_profile profile;
	uint64_t cache_bytes, buffer_bytes;
	uint64_t start_ns;		/* of the host's clock */
};

static uint32_t n_dies(const struct bench *b)
{
	return b->shape.layout.ep;
}

/* Requests that run at a time, on all dies. */
static uint32_t all_batches(const struct bench *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_dies(b); i++)
		n += cmx_bench_die_batch(&b->opt, i);
	return n;
}

static bool decodes(const struct bench *b)
{
	return b->opt.phase == CMX_BENCH_DECODE;
}

/* Decode requests that take the places of those that end while it is measured. */
static uint32_t spare(const struct cmx_bench_options *o, uint32_t batch)
{
	/* Every step brings a request two tokens at most. */
	uint64_t ends = 2ull * (o->steps + 1) * batch / o->output + 1;

	return ends < batch ? (uint32_t)ends : batch;
}

static uint32_t shared_tokens(const struct cmx_bench_options *o)
{
	return (uint32_t)((double)o->reuse * o->input) >> PAGE_SHIFT << PAGE_SHIFT;
}

/* A prefill with reuse begins with a request on each die that leaves behind what is shared. */
static uint32_t warm_ups(const struct bench *b)
{
	return !decodes(b) && shared_tokens(&b->opt) ? n_dies(b) : 0;
}

static int make_work(struct bench *b)
{
	const struct cmx_bench_options *o = &b->opt;
	uint32_t batch = all_batches(b);
	struct cmx_workload_options w = {
		.requests = batch, .input = o->input, .output = o->output,
		.handed_over = decodes(b), .shared = shared_tokens(o), .mtp = o->mtp,
		.acceptance = o->acceptance, .seed = o->seed, .rows = b->shape.forward.rows,
		.ranks = n_dies(b),
	};

	if (decodes(b) && o->steps) {
		w.midway = batch;
		w.requests += spare(o, batch);
	}
	w.requests += warm_ups(b);
	return cmx_workload_init(&b->work, cmx_source_config(b->source), o->balance, &w, &b->err);
}

/* Several dies have room for what all of them may send to one: that limits their steps. */
static uint32_t chunk(const struct bench *b)
{
	if (b->opt.chunk)
		return b->opt.chunk;
	return n_dies(b) > 1 ? EXCHANGE_CHUNK : CMX_MAX_STEP_ROWS;
}

/* Pages for as many requests as run at a time on a die, each at its longest. */
static int set_forward(struct bench *b)
{
	const struct cmx_bench_options *o = &b->opt;
	uint32_t batch = cmx_bench_most_batch(o);
	uint64_t positions = cmx_positions(o->input, o->output);
	uint64_t pages = (positions + (1u << PAGE_SHIFT) - 1) >> PAGE_SHIFT;
	uint64_t rows = decodes(b) ? 0 : (uint64_t)batch * (o->input - shared_tokens(o));
	struct cmx_forward_options *f = &b->shape.forward;

	if (rows > chunk(b))
		rows = chunk(b);
	if (rows < batch * (1ull + o->mtp))
		rows = batch * (1ull + o->mtp);
	pages *= batch + !!warm_ups(b);
	if (rows > CMX_MAX_STEP_ROWS || pages > (1u << 31) >> PAGE_SHIFT)
		return cmx_infer_fail(&b->err, -ENOSPC,
				      "a step of %" PRIu64 " tokens and %" PRIu64
				      " cache pages: the limits are %u (see --chunk) and %u", rows,
				      pages, CMX_MAX_STEP_ROWS, (1u << 31) >> PAGE_SHIFT);
	b->shape.no_reuse = !warm_ups(b);
	*f = (struct cmx_forward_options){
		.ctx = o->input + o->output, .rows = (uint32_t)rows, .seqs = batch,
		.drafts = o->mtp, .mtp = o->mtp, .pages = (uint32_t)pages,
		.page_shift = PAGE_SHIFT, .narrow = true,
	};
	return 0;
}

static int set_shape(struct bench *b)
{
	const struct cmx_model_config *c = cmx_source_config(b->source);
	struct cmx_layout *l = &b->shape.layout;
	uint64_t most;
	int ret = cmx_layout_init(l, b->opt.ep, 0, c, &b->err);

	if (!ret)
		ret = set_forward(b);
	if (ret || l->ep == 1)
		return ret;
	most = cmx_exchange_most(l->ep, b->shape.forward.rows, c->n_used,
				 cmx_layout_local(l, c->n_expert) + b->opt.redundant);
	if (most > UINT32_MAX)
		return cmx_infer_fail(&b->err, -EINVAL,
				      "experts of a die might get %" PRIu64
				      " rows in a step, the limit is %u (see --chunk)", most,
				      UINT32_MAX);
	b->shape.forward.received = (uint32_t)most;
	return 0;
}

static int open_inputs(struct bench *b)
{
	struct cmx_bench_options *o = &b->opt;
	int ret = cmx_source_open_shape(o->model, o->type, &b->source, &b->err);

	if (ret)
		return ret;
	if (!o->mtp_given && !cmx_source_config(b->source)->n_mtp)
		o->mtp = false;
	ret = set_shape(b);
	if (!ret)
		ret = make_work(b);
	if (ret || !o->trace)
		return ret;
	ret = cmx_output_open(&b->trace, o->trace);
	return ret ? cmx_infer_fail(&b->err, ret, "--trace: %.200s: %s", o->trace,
				    strerror(-ret)) : 0;
}

static int open_machine(struct bench *b)
{
	struct cmx_machine_options m = cmx_ranks_machine(&b->shape, cmx_source_config(b->source));
	const char *why;
	int ret = cmx_isa_choose(&m.isa, &why, &b->err);

	m.threads = b->opt.threads;
	m.time_only = true;
	m.trace = true;
	if (!ret)
		ret = cmx_machine_open(&m, &b->machine, &b->err);
	if (ret)
		return ret;
	return cmx_ranks_open(&b->ranks, b->machine, b->opt.die, &b->shape.layout, &b->err);
}

/* What a system in service has counted: experts' tokens in all layers, of a million each. */
static void count_experts(struct bench *b)
{
	const struct cmx_gates *g = b->work.gates;
	const struct cmx_decisions *d = b->work.decision;

	for (uint32_t e = 0; e < cmx_source_config(b->source)->n_expert; e++) {
		double sum = 0;

		for (uint32_t l = 0; l < d->n_moe; l++)
			sum += cmx_gates_share(g, l, e);
		b->counts[e] = (uint64_t)(sum * 1e6 + 0.5);
	}
	b->ranks.counts = b->counts;
	b->ranks.spare = b->opt.redundant;
}

static int load(struct bench *b)
{
	const struct cmx_load_options how = { .mtp = b->opt.mtp };
	int ret = open_machine(b);

	if (!ret && n_dies(b) > 1)
		count_experts(b);

	if (!ret)
		ret = cmx_ranks_load(&b->ranks, b->source, &b->shape, &how, &b->err);
	if (!ret)
		ret = cmx_engine_init_ranks(&b->engine, b->ranks.rank, n_dies(b),
					    b->ranks.exchange, &b->shape, &b->err);
	cmx_forward_bytes(cmx_source_config(b->source), &b->shape.forward, &b->cache_bytes,
			  &b->buffer_bytes);
	return ret ? ret : cmx_machine_finish(b->machine, &b->err);
}

static int submit(struct bench *b, uint32_t i, struct cmx_sequence **seq)
{
	const struct cmx_request r = cmx_workload_request(&b->work, i);
	int ret = cmx_engine_submit(&b->engine, &r, seq, &b->err);

	if (ret || (*seq)->state != CMX_SEQUENCE_ENDED)
		return ret;
	b->err = (*seq)->err;
	return -EINVAL;
}

static void progress(const struct bench *b, uint64_t steps)
{
	const char *phase = decodes(b) ? "decode" : "prefill";
	double ms = (double)(cmx_machine_now(b->machine) - b->stats.start_ps) / 1e9;
	double host_s = (double)(cmx_clock_ns() - b->start_ns) / 1e9;

	if (decodes(b) && b->opt.steps)
		fprintf(stderr, "%s step %" PRIu64 "/%u, %.3f ms (virtual), host %.1f s\n", phase,
			steps, b->opt.steps, ms, host_s);
	else if (steps < 16 || steps % 64 == 0)
		fprintf(stderr, "%s step %" PRIu64 ", %.3f ms (virtual), host %.1f s\n", phase,
			steps, ms, host_s);
}

/* What is computed now is there for the others, and does not count. */
static int warm_up(struct bench *b)
{
	uint32_t n = warm_ups(b), first = b->work.opt.requests - n;
	struct cmx_sequence **seq = calloc(n, sizeof(*seq));
	int ret = 0, more = 1;

	if (!seq)
		return cmx_infer_fail(&b->err, -ENOMEM, "no memory for %u requests", n);
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = submit(b, first + i, &seq[i]);
	while (!ret && more > 0)
		more = cmx_engine_step(&b->engine, &b->err);
	for (uint32_t i = 0; i < n; i++) {
		if (seq[i])
			cmx_engine_cancel(&b->engine, seq[i]);
		cmx_sequence_free(seq[i]);
	}
	free(seq);
	return ret ? ret : more;
}

static void begin(struct bench *b)
{
	b->before = b->engine.stats;
	b->stats.start_ps = cmx_machine_now(b->machine);
}

/* Steps that are measured; in a decode window the one before has no guesses yet. */
static int run_steps(struct bench *b)
{
	bool window = decodes(b) && b->opt.steps;
	int more = window ? cmx_engine_step(&b->engine, &b->err) : 1;

	if (window && more > 0) {
		begin(b);
		progress(b, 0);
	}
	while (more > 0 && (!window || b->stats.steps < b->opt.steps)) {
		more = cmx_engine_step(&b->engine, &b->err);
		if (more <= 0)
			break;
		progress(b, ++b->stats.steps);
	}
	return more < 0 ? more : 0;
}

static int serve(struct bench *b)
{
	uint32_t n = b->work.opt.requests - warm_ups(b);
	int ret = warm_ups(b) ? warm_up(b) : 0;

	b->seq = calloc(n, sizeof(struct cmx_sequence *));
	if (!b->seq)
		return cmx_infer_fail(&b->err, -ENOMEM, "no memory for %u requests", n);
	begin(b);
	for (; b->n_seqs < n && !ret; b->n_seqs += !ret)
		ret = submit(b, b->n_seqs, &b->seq[b->n_seqs]);
	return ret ? ret : run_steps(b);
}

static int measure(struct bench *b)
{
	const struct cmx_trace_event *e;
	uint64_t n;
	int ret;

	b->stats.end_ps = cmx_machine_now(b->machine);
	b->stats.drafted = b->engine.stats.drafted - b->before.drafted;
	b->stats.accepted = b->engine.stats.accepted - b->before.accepted;
	ret = cmx_bench_stats(b->seq, b->n_seqs, &b->stats, &b->err);
	if (ret)
		return ret;
	e = cmx_die_events(b->ranks.die[0], &n);
	return cmx_bench_profile(&b->profile, e, n, b->stats.start_ps, b->stats.end_ps,
				 b->engine.m->cfg.n_layer + b->opt.mtp, &b->err);
}

static int write_trace(struct bench *b)
{
	int ret;

	if (!b->opt.trace)
		return 0;
	cmx_trace_begin(b->trace.f);
	for (uint32_t i = 0; i < n_dies(b); i++) {
		uint64_t n;
		const struct cmx_trace_event *e = cmx_die_events(b->ranks.die[i], &n);

		cmx_trace_track(cmx_die_track(b->ranks.die[i]), !i, e, n, b->trace.f);
	}
	cmx_trace_end(b->trace.f);
	ret = cmx_output_commit(&b->trace);
	return ret ? cmx_infer_fail(&b->err, ret, "--trace: %.200s: %s", b->opt.trace,
				    strerror(-ret)) : 0;
}

static int report(struct bench *b)
{
	struct cmx_machine_stats machine;
	struct cmx_bench_report r = {
		.opt = &b->opt, .cfg = &b->engine.m->cfg, .stats = &b->stats,
		.profile = &b->profile, .requests = all_batches(b),
		.weight_bytes = b->ranks.model[0].weight_bytes,
		.cache_bytes = b->cache_bytes, .buffer_bytes = b->buffer_bytes,
		.host_s = (double)(cmx_clock_ns() - b->start_ns) / 1e9,
	};
	int ret = measure(b);

	if (!ret)
		ret = cmx_machine_stats(b->machine, &machine, &b->err);
	if (!ret)
		ret = write_trace(b);
	if (ret)
		return ret;
	r.launches = machine.launches;
	if (b->opt.json)
		cmx_bench_report_json(&r, stdout);
	else
		cmx_bench_report_text(&r, stdout);
	return cmx_stdout_flush("infer bench") ? -EIO : 0;
}

static void bench_close(struct bench *b)
{
	cmx_output_abort(&b->trace);
	cmx_bench_profile_free(&b->profile);
	for (uint32_t i = 0; b->seq && i < b->work.opt.requests - warm_ups(b); i++)
		cmx_sequence_free(b->seq[i]);
	free(b->seq);
	cmx_workload_free(&b->work);
	cmx_engine_free(&b->engine);
	cmx_ranks_close(&b->ranks);
	cmx_machine_close(b->machine);
	cmx_source_close(b->source);
}

/* What was measured before a signal is a result as well. */
static int bench_main(struct bench *b)
{
	int ret, stopped;

	b->start_ns = cmx_clock_ns();
	ret = open_inputs(b);
	if (!ret)
		ret = load(b);
	if (!ret)
		ret = serve(b);
	stopped = ret && cmx_stopped();
	if (stopped)
		fprintf(stderr, "cmx infer bench: interrupted\n");
	if (!ret || (stopped && b->stats.steps))
		ret = report(b);
	if (ret && !stopped)
		fprintf(stderr, "cmx infer bench: %s\n", b->err.text);
	return stopped ? CMX_EXIT_STOPPED : ret ? CMX_EXIT_FAILED : CMX_EXIT_OK;
}

int cmx_infer_bench(int argc, char **argv)
{
	struct bench *b = calloc(1, sizeof(*b));
	int ret;

	if (!b) {
		fprintf(stderr, "cmx infer bench: no memory\n");
		return CMX_EXIT_FAILED;
	}
	cmx_stop_catch();
	ret = cmx_bench_options_parse(&b->opt, argc, argv, &b->err);
	if (ret) {
		fprintf(stderr, "cmx infer bench: %s\n", b->err.text);
		ret = CMX_EXIT_USAGE;
	} else if (b->opt.help) {
		cmx_bench_usage(stdout);
		ret = cmx_stdout_flush("infer bench");
	} else {
		ret = bench_main(b);
	}
	bench_close(b);
	free(b);
	return ret;
}
