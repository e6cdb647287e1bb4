// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmx_clock.h"
#include "cmx_command.h"
#include "cmx_infer.h"
#include "cmx_ppl_options.h"
#include "cmx_stdout.h"
#include "cmx_stop.h"

struct measurement {
	struct cmx_ppl_options opt;
	struct cmx_infer_err err;
	struct cmx_text_run run;
	struct cmx_perplexity sum;
	struct cmx_machine_stats load, done;
	uint64_t windows;
	uint64_t shown;		/* tenths of the text */
	uint32_t stride;
	double read_s;
	bool on_line;		/* a line on the terminal waits for its end */
};

static uint64_t to_score(const struct measurement *m)
{
	return m->run.n_ids - 1ull;
}

/* Rewritten in place on a terminal, a line for each tenth of the text elsewhere. */
static void progress(struct measurement *m)
{
	uint64_t all = to_score(m), tenth = m->sum.n * 10 / all;
	bool tty = isatty(STDERR_FILENO);

	if (!tty && tenth == m->shown)
		return;
	m->shown = tenth;
	m->on_line = tty && m->sum.n < all;
	fprintf(stderr, "%sppl %" PRIu64 "/%" PRIu64
		" tokens, perplexity %.4f, %.3f ms (virtual)%s", tty ? "\r" : "", m->sum.n, all,
		cmx_perplexity_value(&m->sum),
		(double)(m->done.now_ps - m->load.now_ps) / 1e9, m->on_line ? "" : "\n");
}

/* Logits of one token, which predict the one behind it. */
static int score(void *arg, const struct cmx_text_window *w, uint32_t pos, const float *logits)
{
	struct cmx_infer_err why = { .text = "" };
	struct measurement *m = arg;
	const struct cmx_text_run *r = &m->run;
	uint64_t at = w->first + pos;
	double nll;
	int ret;

	if (pos + 1 < w->score || pos + 1 == w->n)
		return 0;
	ret = cmx_nll(logits, r->model.cfg.vocab, r->ids[at + 1], &nll, &why);
	if (ret)
		return cmx_infer_fail(&m->err, ret, "token %" PRIu64 " of the text: %s", at,
				      why.text);
	cmx_perplexity_add(&m->sum, nll);
	return 0;
}

static int check_stride(struct measurement *m)
{
	uint32_t ctx = m->run.fwd.opt.ctx;

	m->stride = m->opt.stride ? m->opt.stride : ctx - 1;
	/* A text that fits one window takes no stride. */
	if (m->stride < ctx || m->run.n_ids <= ctx)
		return 0;
	return cmx_infer_fail(&m->err, -EINVAL, "--stride is %u, must be 1..%u for windows of %u",
			      m->stride, ctx - 1, ctx);
}

static int measure(struct measurement *m)
{
	struct cmx_text_run *r = &m->run;
	uint64_t start = cmx_clock_ns();
	struct cmx_text_window w;
	int ret = check_stride(m);

	if (!ret)
		ret = cmx_machine_stats(r->machine, &m->load, &m->err);
	m->done = m->load;
	while (!ret && cmx_text_window(r->n_ids, r->fwd.opt.ctx, m->stride, m->windows, &w)) {
		ret = cmx_text_run_window(r, &w, score, m);
		if (ret)
			break;
		m->windows++;
		ret = cmx_machine_stats(r->machine, &m->done, &m->err);
		progress(m);
	}
	if (m->on_line)
		fputc('\n', stderr);
	m->read_s = (double)(cmx_clock_ns() - start) / 1e9;
	return ret;
}

static double rate(const struct measurement *m)
{
	return m->read_s > 0 ? (double)m->sum.n / m->read_s : 0;
}

static void print_text(const struct measurement *m)
{
	const struct cmx_text_run *r = &m->run;
	double mean = cmx_perplexity_mean(&m->sum);

	printf("model          %s, %.1f MB of weights\n", r->model.cfg.name,
	       (double)r->model.weight_bytes / 1e6);
	printf("tokens         %" PRIu64 " of %" PRIu64 " scored, %" PRIu64
	       " windows of %u, stride %u\n", m->sum.n, to_score(m), m->windows,
	       r->fwd.opt.ctx, m->stride);
	printf("nll            %.6f nats per token, standard error %.6f\n", mean,
	       cmx_perplexity_error(&m->sum));
	printf("perplexity     %.6f\n", cmx_perplexity_value(&m->sum));
	printf("host           %.1f tokens/s, load %.2f s\n", rate(m), r->load_s);
	printf("host SIMD      %s (%s)\n", r->isa, r->isa_why);
	printf("virtual time   %.3f us (virtual)\n",
	       (double)(m->done.now_ps - m->load.now_ps) / 1e6);
	printf("NPU launches   %" PRIu64 "\n", m->done.launches);
}

static void print_json(const struct measurement *m)
{
	const struct cmx_text_run *r = &m->run;
	double value = cmx_perplexity_value(&m->sum);

	fputs("{\n  \"model\": \"", stdout);
	for (const char *p = r->model.cfg.name; *p; p++)
		putchar(*p >= ' ' && *p <= '~' && *p != '"' && *p != '\\' ? *p : '?');
	printf("\",\n  \"tokens\": %" PRIu64 ",\n  \"scored\": %" PRIu64
	       ",\n  \"windows\": %" PRIu64 ",\n  \"ctx\": %u,\n  \"stride\": %u,\n",
	       to_score(m), m->sum.n, m->windows, r->fwd.opt.ctx, m->stride);
	printf("  \"nll\": %.17g,\n  \"nll_error\": %.17g,\n", cmx_perplexity_mean(&m->sum),
	       cmx_perplexity_error(&m->sum));
	/* JSON has no infinity. */
	if (value < __builtin_inf())
		printf("  \"perplexity\": %.17g,\n", value);
	else
		fputs("  \"perplexity\": null,\n", stdout);
	printf("  \"virtual\": {\"start_ps\": %" PRIu64 ", \"end_ps\": %" PRIu64
	       "},\n  \"npu_launches\": %" PRIu64 ",\n  \"weight_bytes\": %" PRIu64 ",\n",
	       m->load.now_ps, m->done.now_ps, m->done.launches, r->model.weight_bytes);
	printf("  \"host\": {\"isa\": \"%s\", \"isa_why\": \"%s\", \"threads\": %u, ", r->isa,
	       r->isa_why, m->opt.text.threads);
	printf("\"load_s\": %.6f, \"tokens_per_s\": %.3f}\n}\n", r->load_s, rate(m));
}

/* What was scored before a signal is a result as well. */
static int report(struct measurement *m, int ret)
{
	bool partial = ret && cmx_stopped() && m->sum.n;

	if (ret)
		fprintf(stderr, "cmx infer ppl: %s\n", cmx_stopped() ? "interrupted" : m->err.text);
	if (ret && !partial)
		return cmx_stopped() ? CMX_EXIT_STOPPED : CMX_EXIT_FAILED;
	if (m->opt.json)
		print_json(m);
	else
		print_text(m);
	ret = cmx_stdout_flush("infer ppl");
	return partial && !ret ? CMX_EXIT_STOPPED : ret;
}

int cmx_infer_ppl(int argc, char **argv)
{
	struct measurement *m = calloc(1, sizeof(*m));
	int ret;

	if (!m) {
		fprintf(stderr, "cmx infer ppl: no memory\n");
		return CMX_EXIT_FAILED;
	}
	cmx_stop_catch();
	ret = cmx_ppl_options_parse(&m->opt, argc, argv, &m->err);
	if (ret) {
		fprintf(stderr, "cmx infer ppl: %s\n", m->err.text);
		ret = CMX_EXIT_USAGE;
	} else if (m->opt.help) {
		cmx_ppl_usage(stdout);
		ret = cmx_stdout_flush("infer ppl");
	} else {
		ret = cmx_text_run_open(&m->run, &m->opt.text, &m->err);
		if (!ret)
			ret = measure(m);
		ret = report(m, ret);
		cmx_text_run_close(&m->run);
	}
	free(m);
	return ret;
}
