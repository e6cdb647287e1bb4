// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmx_chat.h"
#include "cmx_checksum.h"
#include "cmx_clock.h"
#include "cmx_detokenizer.h"
#include "cmx_forward.h"
#include "cmx_infer.h"
#include "cmx_infer_options.h"
#include "cmx_infer_replay.h"
#include "cmx_infer_report.h"
#include "cmx_load_progress.h"
#include "cmx_output_file.h"
#include "cmx_stop.h"

/* All that a run holds; session_close() undoes any part of it. */
struct session {
	struct cmx_infer_options opt;
	struct cmx_infer_err err;
	struct cmx_source *source;
	struct cmx_tokenizer tok;
	struct cmx_decisions replay;
	struct cmx_decisions run;
	struct cmx_die *die;
	struct cmx_model model;
	struct cmx_forward fwd;
	struct cmx_infer_report report;
	struct cmx_detokenizer text;
	FILE *collect;		/* text that is printed as JSON at the end */
	char *collected;
	size_t n_collected;
	struct cmx_output_file logits, trace, record, experts;
	uint32_t *prompt;
	uint32_t n_prompt;
	uint64_t *token_ps;
};

static double host_now(void)
{
	return (double)cmx_clock_ns() / 1e9;
}

/* Rewritten in place on a terminal, one line per phase elsewhere. */
static void progress(const char *phase, uint32_t done, uint32_t total)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%s %u/%u tokens%s", phase, done, total,
			done == total ? "\n" : "");
	else if (done == total)
		fprintf(stderr, "%s %u/%u tokens\n", phase, done, total);
}

static int open_replay(struct session *s)
{
	struct cmx_infer_err why = { .text = "" };
	int fd = open(s->opt.replay, O_RDONLY | O_CLOEXEC), ret;

	if (fd < 0)
		return cmx_infer_fail(&s->err, -errno, "%s: %s", s->opt.replay, strerror(errno));
	ret = cmx_decisions_read(&s->replay, fd, &why);
	close(fd);
	if (ret)
		return cmx_infer_fail(&s->err, ret, "%.120s: %s", s->opt.replay, why.text);
	return 0;
}

/* One turn: what the system says, if anything, and the user. */
static int read_chat(struct session *s)
{
	const struct cmx_infer_options *o = &s->opt;
	const struct cmx_chat_message msg[] = {
		{ CMX_CHAT_SYSTEM, o->system }, { CMX_CHAT_USER, o->text },
	};
	uint32_t skip = !o->system;

	return cmx_chat_encode(&s->tok, o->chat_form, msg + skip, 2 - skip, &s->prompt,
			       &s->n_prompt, &s->err);
}

static int read_prompt(struct session *s)
{
	const struct cmx_infer_options *o = &s->opt;

	if (o->chat)
		return read_chat(s);
	if (o->text)
		return cmx_tokenizer_encode(&s->tok, o->text, strlen(o->text), o->special,
					    &s->prompt, &s->n_prompt, &s->err);
	if (o->ids)
		return cmx_infer_read_ids(o->ids, &s->prompt, &s->n_prompt, &s->err);
	s->n_prompt = s->replay.n_prompt;
	s->prompt = calloc(s->n_prompt, sizeof(*s->prompt));
	if (!s->prompt)
		return cmx_infer_fail(&s->err, -ENOMEM, "no memory for the prompt");
	memcpy(s->prompt, s->replay.ids, s->n_prompt * sizeof(*s->prompt));
	return 0;
}

static int check_replay(struct session *s, const struct cmx_model_config *c)
{
	const struct cmx_decisions *d = &s->replay;
	int ret;

	if (s->n_prompt != d->n_prompt ||
	    memcmp(s->prompt, d->ids, s->n_prompt * sizeof(*s->prompt)))
		return cmx_infer_fail(&s->err, -EINVAL,
				      "the prompt is not the one the decisions were recorded with");
	ret = cmx_infer_check_shape(&s->opt, d, &s->err);
	if (ret)
		return ret;
	if (d->end == CMX_END_EOS &&
	    !cmx_tokenizer_is_end(&s->tok, d->ids[d->n_prompt + d->n_output - 1]))
		return cmx_infer_fail(&s->err, -EINVAL,
				      "the decisions end with an end token, but their last one is %u",
				      d->ids[d->n_prompt + d->n_output - 1]);
	s->opt.n = d->n_output;
	return cmx_decisions_match(d, c, &s->err);
}

static int check_prompt(struct session *s, const struct cmx_model_config *c)
{
	if (!s->n_prompt)
		return cmx_infer_fail(&s->err, -EINVAL, "the prompt is empty");
	for (uint32_t i = 0; i < s->n_prompt; i++) {
		if (s->prompt[i] >= c->vocab)
			return cmx_infer_fail(&s->err, -EINVAL,
					      "prompt token %u is %u, must be below %u", i,
					      s->prompt[i], c->vocab);
	}
	return s->opt.replay ? check_replay(s, c) : 0;
}

/* The shape of the run; a replay takes the recorded one. */
static int choose_shape(struct session *s, const struct cmx_model_config *c,
			struct cmx_forward_options *f)
{
	const struct cmx_infer_options *o = &s->opt;
	uint64_t need = (uint64_t)s->n_prompt + o->n - (o->n > 0);

	*f = (struct cmx_forward_options){
		.ctx = o->ctx, .chunk = o->chunk, .all_logits = o->logits,
		.sampling = {
			.penalty = o->penalty, .temp = o->temp, .top_k = o->top_k,
			.top_p = o->top_p, .min_p = o->min_p, .seed = o->seed,
		},
	};
	if (o->replay) {
		f->ctx = s->replay.ctx;
		f->chunk = s->replay.chunk;
		f->all_logits = s->replay.all_logits;
		f->sampling.penalty = s->replay.penalty;
		f->sampling.temp = s->replay.temp;
		f->sampling.top_k = s->replay.top_k;
		f->sampling.top_p = s->replay.top_p;
		f->sampling.min_p = s->replay.min_p;
	}
	if (!f->ctx)
		f->ctx = need < c->ctx ? (uint32_t)need : c->ctx;
	if (f->ctx > c->ctx)
		return cmx_infer_fail(&s->err, -EINVAL, "--ctx is %u, the limit of the model is %u",
				      f->ctx, c->ctx);
	if (need > f->ctx)
		return cmx_infer_fail(&s->err, -ENOSPC,
				      "prompt of %u and %u output tokens need %" PRIu64
				      " positions, the context has %u", s->n_prompt, o->n, need,
				      f->ctx);
	if (f->chunk > s->n_prompt)
		f->chunk = s->n_prompt;
	return 0;
}

static int start_decisions(struct session *s, const struct cmx_forward_options *f)
{
	struct cmx_decisions *d = &s->run;
	int ret = cmx_decisions_init(d, &s->model.cfg, s->n_prompt + s->opt.n, &s->err);

	if (ret)
		return ret;
	memcpy(d->ids, s->prompt, s->n_prompt * sizeof(*d->ids));
	d->n_prompt = s->n_prompt;
	d->chunk = f->chunk;
	d->ctx = f->ctx;
	d->all_logits = f->all_logits;
	d->penalty = f->sampling.penalty;
	d->temp = f->sampling.temp;
	d->top_k = f->sampling.top_k;
	d->top_p = f->sampling.top_p;
	d->min_p = f->sampling.min_p;
	s->token_ps = calloc(s->opt.n + 1ull, sizeof(*s->token_ps));
	if (!s->token_ps)
		return cmx_infer_fail(&s->err, -ENOMEM, "no memory for %u times", s->opt.n);
	return 0;
}

#define NUM_OUTPUTS	4

struct output {
	const char *option;
	const char *path;
	struct cmx_output_file *file;
};

static void list_outputs(struct session *s, struct output out[NUM_OUTPUTS])
{
	out[0] = (struct output){ "--logits", s->opt.logits, &s->logits };
	out[1] = (struct output){ "--record", s->opt.record, &s->record };
	out[2] = (struct output){ "--trace", s->opt.trace, &s->trace };
	out[3] = (struct output){ "--experts-out", s->opt.experts, &s->experts };
}

static int check_other(struct session *s, const struct output *o, const char *option,
		       const char *path)
{
	if (!path || !cmx_output_replaces(o->file, path))
		return 0;
	return cmx_infer_fail(&s->err, -EINVAL, "%s and %s are one file: %.200s", option, o->option,
			      o->path);
}

static int open_output(struct session *s, const struct output *o)
{
	int ret = cmx_output_open(o->file, o->path);

	if (ret)
		return cmx_infer_fail(&s->err, ret, "%s: %.200s: %s", o->option, o->path,
				      strerror(-ret));
	ret = check_other(s, o, "--model", s->opt.model);
	if (!ret)
		ret = check_other(s, o, "--tokenizer", s->opt.tokenizer);
	if (!ret)
		ret = check_other(s, o, "--ids", s->opt.ids);
	return ret ? ret : check_other(s, o, "--replay", s->opt.replay);
}

/* Before the long work, so that a bad path fails at once. */
static int open_outputs(struct session *s)
{
	struct output out[NUM_OUTPUTS];
	int ret = 0;

	list_outputs(s, out);
	for (int i = 0; i < NUM_OUTPUTS && !ret; i++) {
		if (out[i].path)
			ret = open_output(s, &out[i]);
		for (int j = 0; j < i && !ret && out[i].path; j++)
			ret = check_other(s, &out[i], out[j].option, out[j].path);
	}
	return ret;
}

static int commit_outputs(struct session *s)
{
	struct output out[NUM_OUTPUTS];
	int ret = 0;

	list_outputs(s, out);
	for (int i = 0; i < NUM_OUTPUTS && !ret; i++) {
		ret = cmx_output_commit(out[i].file);
		if (ret)
			cmx_infer_fail(&s->err, ret, "%s: %.200s: %s", out[i].option, out[i].path,
				       strerror(-ret));
	}
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
	struct session *s = arg;

	if (s->collect)
		fwrite(c, 1, n, s->collect);
	else if (c0 || c1)
		putchar('?');
	else
		fwrite(c, 1, n, stdout);
}

/* The one given, else that of the folder or of the GGUF file itself. */
static int read_tokenizer(struct session *s)
{
	uint32_t vocab = cmx_source_config(s->source)->vocab;
	const struct cmx_gguf *g = cmx_source_gguf(s->source);
	char path[PATH_MAX];

	if (s->opt.tokenizer)
		return cmx_tokenizer_init_json(&s->tok, s->opt.tokenizer, vocab, &s->err);
	if (g)
		return cmx_tokenizer_init(&s->tok, g, vocab, &s->err);
	if (snprintf(path, sizeof(path), "%s/tokenizer.json", s->opt.model) >= (int)sizeof(path))
		return cmx_infer_fail(&s->err, -ENAMETOOLONG, "--model: the path is longer than %u",
				      PATH_MAX);
	return cmx_tokenizer_init_json(&s->tok, path, vocab, &s->err);
}

static int open_tokenizer(struct session *s)
{
	int ret;

	if (s->opt.json) {
		s->collect = open_memstream(&s->collected, &s->n_collected);
		if (!s->collect)
			return cmx_infer_fail(&s->err, -ENOMEM, "no memory for the text");
	}
	ret = read_tokenizer(s);
	if (ret)
		return ret;
	return cmx_detokenizer_init(&s->text, &s->tok, s->opt.stop, s->opt.n_stops, put_text, s,
				    &s->err);
}

static int open_inputs(struct session *s)
{
	int ret = cmx_source_open(s->opt.model, &s->source, &s->err);

	if (!ret && s->opt.verify)
		ret = verify_model(s);
	if (!ret)
		ret = open_tokenizer(s);
	if (!ret && s->opt.replay)
		ret = open_replay(s);
	if (!ret)
		ret = read_prompt(s);
	if (!ret)
		ret = check_prompt(s, cmx_source_config(s->source));
	return ret ? ret : open_outputs(s);
}

static int open_die(struct session *s)
{
	struct cmx_die_options o = {
		.entity = s->opt.die, .threads = s->opt.threads, .time_only = s->opt.time_only,
		.trace = s->opt.trace,
	};
	int ret = cmx_isa_choose(&o.isa, &s->report.isa_why, &s->err);

	if (ret)
		return ret;
	s->report.isa = cmx_isa_name(o.isa);
	return cmx_die_open(&o, &s->die, &s->err);
}

static int load_model(struct session *s, const struct cmx_forward_options *f)
{
	struct cmx_load_progress p = { .what = "load" };
	const struct cmx_load_options opt = {
		.run_bytes = cmx_forward_bytes(cmx_source_config(s->source), f),
		.progress = cmx_load_progress, .progress_ctx = &p,
	};

	return cmx_model_load(s->source, s->die, &opt, &s->model, &s->err);
}

static int load(struct session *s)
{
	struct cmx_forward_options f;
	double start = host_now();
	int ret = open_die(s);

	if (!ret)
		ret = choose_shape(s, cmx_source_config(s->source), &f);
	if (!ret)
		ret = load_model(s, &f);
	if (!ret)
		ret = start_decisions(s, &f);
	if (!ret)
		ret = cmx_forward_init(&s->fwd, &s->model, s->die, &f,
				       s->opt.replay ? &s->replay : NULL, &s->err);
	if (!ret)
		ret = cmx_die_finish(s->die, &s->err);
	if (!ret)
		ret = cmx_die_stats(s->die, &s->report.load, &s->err);
	s->report.load_s = host_now() - start;
	return ret;
}

/* A look at the die's memory, which costs no virtual time. */
static void note_experts(struct session *s, uint32_t pos, uint32_t n)
{
	for (uint32_t l = 0; l < s->run.n_moe; l++) {
		for (uint32_t t = 0; t < n; t++) {
			const uint32_t *from = cmx_forward_experts(&s->fwd, l, t);
			uint16_t *to = cmx_decisions_at(&s->run, pos + t, l);

			for (uint32_t j = 0; j < s->run.n_used; j++)
				to[j] = (uint16_t)from[j];
		}
	}
}

static int write_logits(struct session *s, uint32_t pos, uint32_t n)
{
	size_t count = (size_t)n * s->model.cfg.vocab;

	if (!s->logits.f)
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (!isfinite(s->fwd.logits[i]))
			return cmx_infer_fail(&s->err, -EDOM,
					      "logit %zu of prompt position %zu is not finite",
					      i % s->model.cfg.vocab,
					      pos + i / s->model.cfg.vocab);
	}
	if (fwrite(s->fwd.logits, sizeof(float), count, s->logits.f) == count)
		return 0;
	return cmx_infer_fail(&s->err, -EIO, "%s: %s", s->opt.logits, strerror(errno));
}

static int run_chunk(struct session *s, uint32_t pos, uint32_t n, int64_t sample)
{
	int ret;

	ret = cmx_forward_chunk(&s->fwd, pos, n, sample, &s->err);
	if (!ret)
		ret = cmx_die_finish(s->die, &s->err);
	if (!ret && !s->opt.time_only)
		note_experts(s, pos, n);
	return ret;
}

static int print_token(struct session *s, uint32_t id, bool *stop)
{
	*stop = cmx_detokenizer_put(&s->text, id);
	return flush_stdout(s);
}

/* The id the device chose, or the recorded one. */
static int take_token(struct session *s, uint32_t index)
{
	const struct cmx_sampled *got = s->fwd.sampled;
	struct cmx_decisions *d = &s->run;
	struct cmx_die_stats st;
	int ret = cmx_die_stats(s->die, &st, &s->err);
	uint32_t id;
	bool stop;

	if (ret)
		return ret;
	if (!s->opt.time_only && got->bad)
		return cmx_infer_fail(&s->err, -EDOM,
				      "logits for output token %u are not finite", index);
	id = s->opt.time_only ? s->replay.ids[d->n_prompt + index] : got->id;
	d->ids[d->n_prompt + index] = id;
	d->n_output = index + 1;
	s->token_ps[index] = st.now_ps;
	ret = print_token(s, id, &stop);
	/* A replay ends where the recorded run did, whatever ids are on the way. */
	if (s->opt.replay)
		d->end = d->n_output == s->replay.n_output ? s->replay.end : CMX_END_LENGTH;
	else if (cmx_tokenizer_is_end(&s->tok, id) && !s->opt.ignore_eos)
		d->end = CMX_END_EOS;
	else if (stop)
		d->end = CMX_END_STOP;
	return ret;
}

static int prefill(struct session *s)
{
	uint32_t n = s->n_prompt, chunk = s->fwd.opt.chunk;
	double start = host_now();
	int ret;

	memcpy(s->fwd.prompt, s->prompt, n * sizeof(*s->prompt));
	s->report.start_ps = s->report.load.now_ps;
	ret = cmx_forward_prompt(&s->fwd, n, &s->err);
	for (uint32_t pos = 0; pos < n && !ret; pos += chunk) {
		uint32_t step = n - pos < chunk ? n - pos : chunk;
		bool last = pos + step == n;

		ret = run_chunk(s, pos, step, last && s->opt.n ? 0 : -1);
		if (!ret)
			ret = write_logits(s, pos, step);
		if (!ret)
			progress("prompt", pos + step, n);
	}
	s->report.prefill_s = host_now() - start;
	return ret;
}

static int decode(struct session *s)
{
	double start = host_now();
	int ret = s->opt.n ? take_token(s, 0) : 0;

	for (uint32_t i = 1; i < s->opt.n && !ret && s->run.end == CMX_END_LENGTH; i++) {
		ret = run_chunk(s, s->n_prompt + i - 1, 1, i);
		if (!ret)
			ret = take_token(s, i);
		/* On one terminal the text itself shows the progress. */
		if (!ret && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO))
			progress("output", i + 1, s->opt.n);
	}
	s->report.decode_s = host_now() - start;
	cmx_detokenizer_end(&s->text);
	if (!s->opt.json)
		fputs("\n\n", stdout);
	if (!ret)
		ret = flush_stdout(s);
	if (!ret && !isatty(STDERR_FILENO))
		fprintf(stderr, "output %u/%u tokens\n", s->run.n_output, s->opt.n);
	return ret;
}

static int finish_report(struct session *s)
{
	struct cmx_infer_report *r = &s->report;
	int ret = cmx_die_stats(s->die, &r->done, &s->err);

	r->opt = &s->opt;
	r->cfg = &s->model.cfg;
	r->run = &s->run;
	if (s->collect && fflush(s->collect) && !ret)
		ret = cmx_infer_fail(&s->err, -ENOMEM, "no memory for the text");
	r->text = s->collected;
	r->text_len = s->n_collected;
	r->weight_bytes = s->model.weight_bytes;
	r->token_ps = s->token_ps;
	r->end_ps = r->done.now_ps;
	return ret;
}

static void write_trace(struct session *s)
{
	uint64_t n;
	const struct cmx_trace_event *e = cmx_die_events(s->die, &n);

	if (s->trace.f)
		cmx_trace_write_json(cmx_die_track(s->die), e, n, s->trace.f);
}

static int write_outputs(struct session *s)
{
	int ret = 0;

	if (s->record.f)
		ret = cmx_decisions_write(&s->run, s->record.f, &s->err);
	write_trace(s);
	if (!ret && s->experts.f)
		cmx_infer_write_experts(&s->run, s->model.cfg.n_dense, s->experts.f);
	return ret;
}

static int print_report(struct session *s)
{
	if (s->opt.json)
		cmx_infer_report_json(&s->report, stdout);
	else
		cmx_infer_report_text(&s->report, stdout);
	return flush_stdout(s);
}

static int run(struct session *s)
{
	int ret = open_inputs(s);

	if (!ret)
		ret = load(s);
	if (!ret)
		ret = prefill(s);
	if (!ret)
		ret = decode(s);
	if (!ret)
		ret = finish_report(s);
	if (!ret)
		ret = write_outputs(s);
	/* Files appear when all else has succeeded. */
	if (!ret)
		ret = print_report(s);
	return ret ? ret : commit_outputs(s);
}

static void session_close(struct session *s)
{
	cmx_output_abort(&s->logits);
	cmx_output_abort(&s->trace);
	cmx_output_abort(&s->record);
	cmx_output_abort(&s->experts);
	cmx_model_free(&s->model);
	cmx_die_close(s->die);
	cmx_decisions_free(&s->run);
	cmx_decisions_free(&s->replay);
	cmx_detokenizer_free(&s->text);
	cmx_tokenizer_free(&s->tok);
	cmx_source_close(s->source);
	if (s->collect)
		fclose(s->collect);
	free(s->collected);
	free(s->token_ps);
	free(s->prompt);
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
