// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmx_forward.h"
#include "cmx_infer.h"
#include "cmx_infer_options.h"
#include "cmx_infer_report.h"
#include "cmx_output_file.h"
#include "cmx_tokenizer.h"

/* All that a run holds; session_close() undoes any part of it. */
struct session {
	struct cmx_infer_options opt;
	struct cmx_infer_err err;
	struct cmx_gguf *gguf;
	struct cmx_tokenizer tok;
	struct cmx_decisions replay;
	struct cmx_decisions run;
	struct cmx_die *die;
	struct cmx_model model;
	struct cmx_forward fwd;
	struct cmx_infer_report report;
	struct cmx_text_stream text;
	struct cmx_output_file logits, trace, record, experts;
	uint32_t *prompt;
	uint32_t n_prompt;
	uint64_t *token_ps;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
	cmx_die_interrupt();
}

static double host_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
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

static int read_prompt(struct session *s)
{
	const struct cmx_infer_options *o = &s->opt;

	if (o->text)
		return cmx_tokenizer_encode(&s->tok, o->text, strlen(o->text), &s->prompt,
					    &s->n_prompt, &s->err);
	if (o->ids)
		return cmx_infer_read_ids(o->ids, &s->prompt, &s->n_prompt, &s->err);
	s->n_prompt = s->replay.n_prompt;
	s->prompt = calloc(s->n_prompt, sizeof(*s->prompt));
	if (!s->prompt)
		return cmx_infer_fail(&s->err, -ENOMEM, "no memory for the prompt");
	memcpy(s->prompt, s->replay.ids, s->n_prompt * sizeof(*s->prompt));
	return 0;
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
	if (!s->opt.replay)
		return 0;
	if (s->n_prompt != s->replay.n_prompt ||
	    memcmp(s->prompt, s->replay.ids, s->n_prompt * sizeof(*s->prompt)))
		return cmx_infer_fail(&s->err, -EINVAL,
				      "the prompt is not the one the decisions were recorded with");
	if (s->opt.has_n && s->opt.n < s->replay.n_output)
		return cmx_infer_fail(&s->err, -EINVAL,
				      "-n is %u, the decisions have %u output tokens", s->opt.n,
				      s->replay.n_output);
	s->opt.n = s->replay.n_output;
	return cmx_decisions_match(&s->replay, c, &s->err);
}

/* The shape of the run; a replay takes the recorded one. */
static int choose_shape(struct session *s, const struct cmx_model_config *c,
			struct cmx_forward_options *f)
{
	const struct cmx_infer_options *o = &s->opt;
	uint64_t need = (uint64_t)s->n_prompt + o->n - (o->n > 0);

	*f = (struct cmx_forward_options){
		.ctx = o->ctx, .chunk = o->chunk, .all_logits = o->logits,
		.sampling = { o->temp, o->top_p, o->seed },
	};
	if (o->replay) {
		f->ctx = s->replay.ctx;
		f->chunk = s->replay.chunk;
		f->all_logits = s->replay.all_logits;
		f->sampling.temp = s->replay.temp;
		f->sampling.top_p = s->replay.top_p;
	}
	if (!f->ctx)
		f->ctx = need < c->ctx ? (uint32_t)need : c->ctx;
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
	d->temp = f->sampling.temp;
	d->top_p = f->sampling.top_p;
	s->token_ps = calloc(s->opt.n + 1ull, sizeof(*s->token_ps));
	if (!s->token_ps)
		return cmx_infer_fail(&s->err, -ENOMEM, "no memory for %u times", s->opt.n);
	return 0;
}

static int open_output(struct session *s, struct cmx_output_file *o, const char *path)
{
	return path ? cmx_output_open(o, path, &s->err) : 0;
}

/* Before the long work, so that a bad path fails at once. */
static int open_outputs(struct session *s)
{
	int ret = open_output(s, &s->logits, s->opt.logits);

	if (!ret)
		ret = open_output(s, &s->trace, s->opt.trace);
	if (!ret)
		ret = open_output(s, &s->record, s->opt.record);
	if (!ret)
		ret = open_output(s, &s->experts, s->opt.experts);
	return ret;
}

static int open_inputs(struct session *s)
{
	struct cmx_model_config cfg;
	int ret = cmx_gguf_open(s->opt.model, &s->gguf, &s->err);

	if (!ret)
		ret = cmx_model_config_read(s->gguf, &cfg, &s->err);
	if (!ret)
		ret = cmx_tokenizer_init(&s->tok, s->gguf, cfg.vocab, &s->err);
	if (!ret && s->opt.replay)
		ret = open_replay(s);
	if (!ret)
		ret = read_prompt(s);
	if (!ret)
		ret = check_prompt(s, &cfg);
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

static int load(struct session *s)
{
	struct cmx_forward_options f;
	double start = host_now();
	int ret = open_die(s);

	if (!ret)
		ret = cmx_model_load(s->gguf, s->die, &s->model, &s->err);
	if (!ret)
		ret = choose_shape(s, &s->model.cfg, &f);
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

static int write_logits(struct session *s, uint32_t n)
{
	size_t count = (size_t)n * s->model.cfg.vocab;

	if (!s->logits.f)
		return 0;
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
	if (!ret && interrupted)
		ret = -EINTR;
	if (!ret && !s->opt.time_only)
		note_experts(s, pos, n);
	return ret;
}

static void print_token(struct session *s, uint32_t id)
{
	char out[CMX_TEXT_MAX];
	uint32_t len;
	const char *b = cmx_tokenizer_bytes(&s->tok, id, &len);

	if (s->opt.json)
		return;
	for (uint32_t i = 0; i < len; i++)
		fwrite(out, 1, cmx_text_put(&s->text, (uint8_t)b[i], out), stdout);
	fflush(stdout);
}

/* The id the device chose, or the recorded one. */
static int take_token(struct session *s, uint32_t index)
{
	const struct cmx_sampled *got = s->fwd.sampled;
	struct cmx_decisions *d = &s->run;
	struct cmx_die_stats st;
	int ret = cmx_die_stats(s->die, &st, &s->err);
	uint32_t id;

	if (ret)
		return ret;
	if (!s->opt.time_only && got->bad)
		return cmx_infer_fail(&s->err, -EDOM,
				      "logits for output token %u are not finite", index);
	id = s->opt.time_only ? s->replay.ids[d->n_prompt + index] : got->id;
	d->ids[d->n_prompt + index] = id;
	d->n_output = index + 1;
	s->token_ps[index] = st.now_ps;
	if (id == s->tok.eos && !s->opt.ignore_eos)
		d->end = CMX_END_EOS;
	print_token(s, id);
	return 0;
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
			ret = write_logits(s, step);
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

	for (uint32_t i = 1; i < s->opt.n && !ret && s->run.end != CMX_END_EOS; i++) {
		ret = run_chunk(s, s->n_prompt + i - 1, 1, i);
		if (!ret)
			ret = take_token(s, i);
		/* On one terminal the text itself shows the progress. */
		if (!ret && isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO))
			progress("output", i + 1, s->opt.n);
	}
	s->report.decode_s = host_now() - start;
	if (!s->opt.json) {
		char out[CMX_TEXT_MAX];

		fwrite(out, 1, cmx_text_end(&s->text, out), stdout);
		fputs("\n\n", stdout);
		fflush(stdout);
	}
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
	r->tok = &s->tok;
	r->run = &s->run;
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
	if (!ret)
		ret = cmx_output_commit(&s->logits, &s->err);
	if (!ret)
		ret = cmx_output_commit(&s->record, &s->err);
	if (!ret)
		ret = cmx_output_commit(&s->trace, &s->err);
	return ret ? ret : cmx_output_commit(&s->experts, &s->err);
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
	if (ret)
		return ret;
	if (s->opt.json)
		cmx_infer_report_json(&s->report, stdout);
	else
		cmx_infer_report_text(&s->report, stdout);
	return 0;
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
	cmx_tokenizer_free(&s->tok);
	cmx_gguf_close(s->gguf);
	free(s->token_ps);
	free(s->prompt);
}

int cmx_infer_run(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal };
	struct session *s = calloc(1, sizeof(*s));
	int ret;

	if (!s) {
		fprintf(stderr, "cmx infer run: no memory\n");
		return 1;
	}
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	ret = cmx_infer_options_parse(&s->opt, argc, argv, &s->err);
	if (ret) {
		fprintf(stderr, "cmx infer run: %s\n", s->err.text);
		free(s);
		return 2;
	}
	if (s->opt.help)
		cmx_infer_usage(stdout);
	else
		ret = run(s);
	if (ret)
		fprintf(stderr, "cmx infer run: %s\n",
			interrupted ? "interrupted" : s->err.text);
	session_close(s);
	free(s);
	/* A signal after the last step changes nothing. */
	if (ret && interrupted)
		return 130;
	return ret || fflush(stdout) ? 1 : 0;
}
