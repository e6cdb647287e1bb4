// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmx_block_log.h"
#include "cmx_checksum.h"
#include "cmx_clock.h"
#include "cmx_infer.h"
#include "cmx_infer_options.h"
#include "cmx_infer_outputs.h"
#include "cmx_infer_report.h"
#include "cmx_infer_shape.h"
#include "cmx_load_progress.h"
#include "cmx_model_tokenizer.h"
#include "cmx_ranks.h"
#include "cmx_stop.h"
#include "kernels/cmx_kernel_clock.h"

/* All that a run holds; session_close() undoes any part of it. */
struct session {
	struct cmx_infer_options opt;
	struct cmx_infer_err err;
	int broken;		/* what went wrong where no error can be returned */
	bool batch;
	bool err_tty, out_tty;	/* asked once: a system call each token would show */
	struct cmx_source *source;
	struct cmx_tokenizer tok;
	struct cmx_recording replay;
	struct cmx_jobs jobs;
	struct cmx_machine *machine;
	struct cmx_ranks ranks;
	struct cmx_engine_options shape;
	struct cmx_engine engine;
	struct cmx_infer_report report;
	struct cmx_infer_outputs out;
	uint32_t printed;	/* jobs of a batch that are on standard output */
	uint64_t tokens;	/* output tokens so far */
	struct cmx_host_phase ticks;	/* when the present phase began */
};

static double host_now(void)
{
	return (double)cmx_clock_ns() / 1e9;
}

/* Rewritten in place on a terminal, one line per phase elsewhere. */
static void progress(const struct session *s, const char *phase, const char *what, uint32_t done,
		     uint32_t total)
{
	if (s->err_tty)
		fprintf(stderr, "\r%s %u/%u %s%s", phase, done, total, what,
			done == total ? "\n" : "");
	else if (done == total)
		fprintf(stderr, "%s %u/%u %s\n", phase, done, total, what);
}

static int open_replay(struct session *s)
{
	struct cmx_infer_err why = { .text = "" };
	int fd = open(s->opt.replay, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return cmx_infer_fail(&s->err, -errno, "%s: %s", s->opt.replay, strerror(errno));
	ret = cmx_recording_read(&s->replay, fd, &why);
	close(fd);
	if (ret)
		return cmx_infer_fail(&s->err, ret, "%.120s: %s", s->opt.replay, why.text);
	return cmx_recording_match(&s->replay, cmx_source_config(s->source), &s->err);
}

/* The one prompt of the command line. */
static int read_prompt(struct session *s)
{
	const struct cmx_infer_options *o = &s->opt;
	struct cmx_job *j;
	int ret = cmx_jobs_add(&s->jobs, o, &j, &s->err);

	if (ret || o->ids)
		return ret ? ret : cmx_infer_read_ids(o->ids, &j->ids, &j->n_prompt, &s->err);
	j->text = strdup(o->text);
	return j->text ? 0 : cmx_infer_fail(&s->err, -ENOMEM, "no memory for the prompt");
}

static int check_same_prompt(struct session *s)
{
	const struct cmx_job *j = &s->jobs.job[0];
	const struct cmx_decisions *d = s->replay.seq[0];

	if (s->replay.n == 1 && j->n_prompt == d->n_prompt &&
	    !memcmp(j->ids, d->ids, j->n_prompt * sizeof(*j->ids)))
		return 0;
	return cmx_infer_fail(&s->err, -EINVAL,
			      "the prompt is not the one the decisions were recorded with");
}

static int check_replay_ends(struct session *s)
{
	for (uint32_t i = 0; i < s->replay.n; i++) {
		const struct cmx_decisions *d = s->replay.seq[i];
		uint32_t last;

		if (d->end != CMX_END_EOS)
			continue;
		last = d->ids[d->n_prompt + d->n_output - 1];
		if (!cmx_tokenizer_is_end(&s->tok, last))
			return cmx_infer_fail(&s->err, -EINVAL,
					      "the decisions end with an end token, but their last one is %u",
					      last);
	}
	return 0;
}

/* A prompt that is given must be the recorded one; nothing else is taken from it. */
static int read_replay(struct session *s)
{
	int ret = open_replay(s);

	if (!ret && s->jobs.n)
		ret = check_same_prompt(s);
	if (!ret)
		ret = check_replay_ends(s);
	if (ret)
		return ret;
	cmx_jobs_free(&s->jobs);
	return cmx_jobs_replay(&s->jobs, s->replay.seq, s->replay.n, &s->opt, &s->err);
}

static int read_jobs(struct session *s)
{
	const struct cmx_infer_options *o = &s->opt;
	int ret = 0;

	if (o->batch)
		ret = cmx_jobs_read(&s->jobs, o->batch, o, &s->err);
	else if (o->text || o->ids)
		ret = read_prompt(s);
	if (!ret)
		ret = cmx_jobs_encode(&s->jobs, &s->tok, o, &s->err);
	if (!ret && !o->batch && s->jobs.n && s->jobs.job[0].failed) {
		s->err = s->jobs.job[0].err;
		ret = -EINVAL;
	}
	if (!ret && o->replay)
		ret = read_replay(s);
	s->batch = o->batch || s->jobs.n > 1;
	return ret;
}

/* What was written so far must have got there; nobody reads the rest otherwise. */
static int flush_stdout(struct session *s)
{
	errno = EIO;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return cmx_infer_fail(&s->err, -EIO, "standard output: %s", strerror(errno));
}

static int verify_model(struct session *s)
{
	struct cmx_load_progress p = { .what = "checksum" };

	return cmx_checksum_verify(s->source, cmx_load_progress, &p, &s->err);
}

/* A vocabulary may come from anywhere: no control sequences to a terminal. */
static void put_text(void *arg, const char *c, uint32_t n)
{
	bool c0 = n == 1 && ((uint8_t)*c < ' ' || *c == 0x7f) && *c != '\n' && *c != '\t';
	bool c1 = n == 2 && (uint8_t)c[0] == 0xc2 && (uint8_t)c[1] < 0xa0;
	const struct cmx_job *j = arg;

	if (j->collect)
		fwrite(c, 1, n, j->collect);
	else if (c0 || c1)
		putchar('?');
	else
		fwrite(c, 1, n, stdout);
}

static int open_text(struct session *s, struct cmx_job *j)
{
	if (s->opt.json || s->batch) {
		j->collect = open_memstream(&j->collected, &j->n_collected);
		if (!j->collect)
			return cmx_infer_fail(&s->err, -ENOMEM, "no memory for the text");
	}
	return cmx_detokenizer_init(&j->out, &s->tok, (const char *const *)j->stop, j->n_stops,
				    put_text, j, &s->err);
}

static int open_inputs(struct session *s)
{
	int ret = cmx_source_open(s->opt.model, &s->source, &s->err);

	if (!ret && s->opt.int8)
		cmx_source_quantise(s->source);
	if (!ret && s->opt.verify)
		ret = verify_model(s);
	if (!ret)
		ret = cmx_model_tokenizer(&s->tok, s->source, s->opt.tokenizer, &s->err);
	if (!ret)
		ret = read_jobs(s);
	for (uint32_t i = 0; i < s->jobs.n && !ret; i++)
		ret = open_text(s, &s->jobs.job[i]);
	return ret ? ret : cmx_infer_outputs_open(&s->out, &s->opt, &s->err);
}

static int open_machine(struct session *s)
{
	struct cmx_machine_options o = cmx_ranks_machine(&s->shape, cmx_source_config(s->source));
	int ret = cmx_isa_choose(&o.isa, &s->report.isa_why, &s->err);

	if (ret)
		return ret;
	s->report.isa = cmx_isa_name(o.isa);
	o.threads = s->opt.threads;
	o.time_only = s->opt.time_only;
	o.trace = s->opt.trace;
	ret = cmx_machine_open(&o, &s->machine, &s->err);
	if (ret)
		return ret;
	return cmx_ranks_open(&s->ranks, s->machine, s->opt.die, &s->shape.layout, &s->err);
}

static int load_model(struct session *s)
{
	struct cmx_load_progress p = { .what = "load" };
	const struct cmx_load_options opt = {
		.progress = cmx_load_progress, .progress_ctx = &p,
	};

	return cmx_ranks_load(&s->ranks, s->source, &s->shape, &opt, &s->err);
}

/* A prompt that can never run is worth no loading. */
static int check_single(struct session *s)
{
	const struct cmx_job *j = &s->jobs.job[0];
	uint64_t need = cmx_positions(j->n_prompt, j->n);
	uint32_t vocab = cmx_source_config(s->source)->vocab;

	if (s->batch)
		return 0;
	if (need > s->shape.forward.ctx)
		return cmx_infer_fail(&s->err, -ENOSPC,
				      "prompt of %u and %u output tokens need %" PRIu64
				      " positions, the context has %u", j->n_prompt, j->n, need,
				      s->shape.forward.ctx);
	for (uint32_t i = 0; i < j->n_prompt; i++) {
		if (j->ids[i] >= vocab)
			return cmx_infer_fail(&s->err, -EINVAL,
					      "prompt token %u is %u, must be below %u", i,
					      j->ids[i], vocab);
	}
	return 0;
}

static int load(struct session *s)
{
	double start = host_now();
	int ret = cmx_infer_shape(&s->opt, cmx_source_config(s->source), &s->jobs,
				  s->opt.replay ? &s->replay : NULL, &s->shape, &s->err);

	if (!ret)
		ret = check_single(s);
	if (!ret)
		ret = open_machine(s);
	if (!ret)
		ret = load_model(s);
	if (!ret)
		ret = cmx_engine_init_ranks(&s->engine, s->ranks.rank, s->shape.layout.ep,
					    s->ranks.exchange, &s->shape, &s->err);
	if (!ret)
		ret = cmx_machine_finish(s->machine, &s->err);
	if (!ret)
		ret = cmx_machine_stats(s->machine, &s->report.load, &s->err);
	s->report.load_s = host_now() - start;
	return ret;
}

/* All jobs' logits stand in the order of the jobs, whichever comes first. */
static int write_logits(void *arg, const struct cmx_sequence *seq, uint32_t pos, uint32_t n,
			const float *logits, struct cmx_infer_err *err)
{
	const struct cmx_job *j = arg;
	struct session *s = j->owner;
	uint32_t vocab = s->engine.m->cfg.vocab;
	size_t count = (size_t)n * vocab;
	FILE *f = s->out.logits.f;

	(void)seq;
	for (size_t i = 0; i < count; i++) {
		if (!isfinite(logits[i]))
			return cmx_infer_fail(err, -EDOM,
					      "logit %zu of prompt position %zu is not finite",
					      i % vocab, pos + i / vocab);
	}
	if (s->batch && fseeko(f, (off_t)((j->first_logits + pos) * vocab * sizeof(*logits)),
			       SEEK_SET))
		return cmx_infer_fail(err, -errno, "%s: of a batch, to a file only: %s",
				      s->opt.logits, strerror(errno));
	if (fwrite(logits, sizeof(*logits), count, f) == count)
		return 0;
	return cmx_infer_fail(err, -EIO, "%s: %s", s->opt.logits, strerror(errno));
}

static enum cmx_end_reason take_token(void *arg, const struct cmx_sequence *seq, uint32_t id)
{
	struct cmx_job *j = arg;
	struct session *s = j->owner;
	bool stop = cmx_detokenizer_put(&j->out, id);

	(void)seq;
	s->tokens++;
	if (!j->collect && !s->broken)
		s->broken = flush_stdout(s);
	if (cmx_tokenizer_is_end(&s->tok, id) && !j->ignore_eos)
		return CMX_END_EOS;
	return stop ? CMX_END_STOP : CMX_END_LENGTH;
}

static int submit(struct session *s)
{
	uint64_t rows = 0;
	int ret = 0;

	for (uint32_t i = 0; i < s->jobs.n && !ret; i++) {
		struct cmx_job *j = &s->jobs.job[i];
		const struct cmx_request r = {
			.ids = j->ids, .n_prompt = j->n_prompt, .n = j->n, .replay = j->replay,
			.sampling = j->sampling, .token = take_token,
			.logits = s->out.logits.f ? write_logits : NULL, .arg = j,
		};

		j->owner = s;
		j->first_logits = rows;
		if (j->failed)
			continue;
		ret = cmx_engine_submit(&s->engine, &r, &j->seq, &s->err);
		if (!ret && !cmx_job_has_failed(j))
			rows += j->n_prompt;
	}
	return ret;
}

/* The lines of a batch come out in the order of the requests. */
static int print_jobs(struct session *s)
{
	int ret = 0;

	while (s->batch && s->printed < s->jobs.n && !ret) {
		struct cmx_job *j = &s->jobs.job[s->printed];

		if (j->seq && j->seq->state != CMX_SEQUENCE_ENDED)
			break;
		cmx_detokenizer_end(&j->out);
		if (fflush(j->collect))
			return cmx_infer_fail(&s->err, -ENOMEM, "no memory for the text");
		cmx_infer_report_job(j, s->printed++, stdout);
		ret = flush_stdout(s);
	}
	return ret;
}

/* What is counted of a single run's output. */
static const char *output_unit(const struct session *s, char *buf, size_t size)
{
	const struct cmx_engine_stats *st = &s->engine.stats;

	if (!st->drafted)
		return "tokens";
	snprintf(buf, size, "tokens, %.0f %% of drafts accepted",
		 100 * (double)st->accepted / (double)st->drafted);
	return buf;
}

static struct cmx_host_phase ticks_now(void)
{
	return (struct cmx_host_phase){
		.ticks = cmx_kernel_clock_now(), .kernel_ticks = cmx_kernel_clock_sum(),
	};
}

/* Those since @from, which moves on. */
static struct cmx_host_phase ticks_since(struct cmx_host_phase *from)
{
	const struct cmx_host_phase now = ticks_now(), since = {
		.start = from->ticks, .ticks = now.ticks - from->ticks,
		.kernel_ticks = now.kernel_ticks - from->kernel_ticks,
	};

	*from = now;
	return since;
}

/* On one terminal the text itself shows the progress. */
static void show_progress(struct session *s, double start)
{
	const struct cmx_sequence *seq = s->jobs.job[0].seq;
	bool first = !s->report.prefill_s;
	char unit[48];

	if (first && (s->tokens || seq->state >= CMX_SEQUENCE_OUTPUT)) {
		s->report.prefill_s = host_now() - start;
		s->report.prefill = ticks_since(&s->ticks);
	}
	if (s->batch)
		progress(s, "batch", "requests", s->printed, s->jobs.n);
	else if (first)
		progress(s, "prompt", "tokens", seq->len, seq->run.n_prompt);
	else if (s->err_tty && !s->out_tty)
		progress(s, "output", output_unit(s, unit, sizeof(unit)), seq->run.n_output,
			 s->opt.n);
}

/* What stands behind the text of a single run. */
static int end_text(struct session *s)
{
	struct cmx_job *j = &s->jobs.job[0];
	char unit[48];

	cmx_detokenizer_end(&j->out);
	if (!s->opt.json)
		fputs("\n\n", stdout);
	if (!s->err_tty)
		fprintf(stderr, "output %u/%u %s\n", j->seq->run.n_output,
			j->replay ? j->replay->n_output : j->n,
			output_unit(s, unit, sizeof(unit)));
	if (cmx_job_has_failed(j)) {
		s->err = j->seq->err;
		return -EDOM;
	}
	return flush_stdout(s);
}

static int generate(struct session *s)
{
	double start = host_now();
	int ret = submit(s), more = 1;

	if (!ret && s->out.blocks.f)
		ret = cmx_block_log_start(&s->err);
	s->ticks = ticks_now();

	s->report.start_ps = s->report.load.now_ps;
	if (!ret && !s->batch && cmx_job_has_failed(&s->jobs.job[0])) {
		s->err = s->jobs.job[0].seq->err;
		return -EINVAL;
	}
	while (!ret && more) {
		more = cmx_engine_step(&s->engine, &s->err);
		ret = more < 0 ? more : s->broken;
		if (!ret)
			ret = print_jobs(s);
		if (!ret && more)
			show_progress(s, start);
	}
	s->report.decode_s = host_now() - start - s->report.prefill_s;
	s->report.decode = ticks_since(&s->ticks);
	return ret || s->batch ? ret : end_text(s);
}

static int finish_report(struct session *s)
{
	struct cmx_infer_report *r = &s->report;
	int ret = cmx_machine_stats(s->machine, &r->done, &s->err);

	r->opt = &s->opt;
	r->cfg = &s->engine.m->cfg;
	r->jobs = &s->jobs;
	r->engine = &s->engine;
	r->weight_bytes = cmx_ranks_weight_bytes(&s->ranks);
	for (uint32_t i = 0; i < s->jobs.n && !ret; i++) {
		if (s->jobs.job[i].collect && fflush(s->jobs.job[i].collect))
			ret = cmx_infer_fail(&s->err, -ENOMEM, "no memory for the text");
	}
	return ret;
}

static void write_trace(struct session *s)
{
	FILE *f = s->out.trace.f;
	uint64_t n;

	if (!f)
		return;
	cmx_trace_begin(f);
	for (uint32_t i = 0; i < s->shape.layout.ep; i++) {
		const struct cmx_die *die = s->ranks.die[i];
		const struct cmx_trace_event *e = cmx_die_events(die, &n);

		cmx_trace_track(cmx_die_track(die), !i, e, n, f);
	}
	cmx_trace_end(f);
}

/* Jobs that never got to the engine are recorded as refused. */
static int write_record(struct session *s)
{
	struct cmx_decisions *refused = calloc(s->jobs.n, sizeof(*refused));
	struct cmx_recording r;
	int ret = 0;

	cmx_infer_shape_record(&s->shape, &s->engine.m->cfg, &r);
	r.n = s->jobs.n;
	r.seq = calloc(r.n, sizeof(struct cmx_decisions *));
	if (!refused || !r.seq)
		ret = cmx_infer_fail(&s->err, -ENOMEM, "no memory for the decisions");
	for (uint32_t i = 0; i < r.n && !ret; i++) {
		const struct cmx_job *j = &s->jobs.job[i];

		refused[i] = (struct cmx_decisions){
			.end = CMX_END_ERROR, .most = j->n, .top_p = 1, .penalty = 1,
		};
		r.seq[i] = j->seq ? &j->seq->run : &refused[i];
	}
	if (!ret)
		ret = cmx_recording_write(&r, s->out.record.f, &s->err);
	free(r.seq);
	free(refused);
	return ret;
}

static int write_outputs(struct session *s)
{
	int ret = 0;

	if (s->out.record.f)
		ret = write_record(s);
	write_trace(s);
	if (!ret && s->out.blocks.f)
		ret = cmx_block_log_write(&s->report, s->out.blocks.f, &s->err);
	if (!ret && s->out.experts.f)
		cmx_infer_write_experts(&s->jobs.job[0].seq->run, s->engine.m->cfg.n_dense,
					s->out.experts.f);
	return ret;
}

/* The totals of a batch do not get between its lines, which are JSON already. */
static int print_report(struct session *s)
{
	if (s->batch && s->opt.json)
		cmx_infer_report_batch_json(&s->report, stdout);
	else if (s->batch)
		cmx_infer_report_batch_text(&s->report, stderr);
	else if (s->opt.json)
		cmx_infer_report_json(&s->report, stdout);
	else
		cmx_infer_report_text(&s->report, stdout);
	return flush_stdout(s);
}

static int count_failed(struct session *s)
{
	uint32_t failed = 0;

	for (uint32_t i = 0; i < s->jobs.n; i++)
		failed += cmx_job_has_failed(&s->jobs.job[i]);
	if (!failed)
		return 0;
	return cmx_infer_fail(&s->err, -EINVAL, "%u of %u requests failed", failed, s->jobs.n);
}

static int run(struct session *s)
{
	int ret = open_inputs(s);

	if (!ret)
		ret = load(s);
	if (!ret)
		ret = generate(s);
	if (!ret)
		ret = finish_report(s);
	if (!ret)
		ret = write_outputs(s);
	/* Files appear when all else has succeeded. */
	if (!ret)
		ret = print_report(s);
	if (!ret)
		ret = cmx_infer_outputs_commit(&s->out, &s->opt, &s->err);
	return ret ? ret : count_failed(s);
}

static void session_close(struct session *s)
{
	cmx_infer_outputs_abort(&s->out);
	cmx_block_log_end();
	cmx_engine_free(&s->engine);
	cmx_ranks_close(&s->ranks);
	cmx_machine_close(s->machine);
	cmx_jobs_free(&s->jobs);
	cmx_recording_free(&s->replay);
	cmx_tokenizer_free(&s->tok);
	cmx_source_close(s->source);
}

int cmx_infer_run(int argc, char **argv)
{
	struct session *s = calloc(1, sizeof(*s));
	int ret;

	if (!s) {
		fprintf(stderr, "cmx infer run: no memory\n");
		return 1;
	}
	cmx_stop_catch();
	s->err_tty = isatty(STDERR_FILENO);
	s->out_tty = isatty(STDOUT_FILENO);
	ret = cmx_infer_options_parse(&s->opt, argc, argv, &s->err);
	if (ret) {
		fprintf(stderr, "cmx infer run: %s\n", s->err.text);
		free(s);
		return 2;
	}
	if (s->opt.help) {
		cmx_infer_usage(stdout);
		ret = flush_stdout(s);
	} else {
		ret = run(s);
	}
	if (ret)
		fprintf(stderr, "cmx infer run: %s\n",
			cmx_stopped() ? "interrupted" : s->err.text);
	session_close(s);
	free(s);
	/* A signal after the last step changes nothing. */
	if (ret && cmx_stopped())
		return 130;
	return ret ? 1 : 0;
}
