// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmx_checksum.h"
#include "cmx_command.h"
#include "cmx_infer.h"
#include "cmx_load_progress.h"
#include "cmx_output_file.h"
#include "cmx_quantise_file.h"
#include "cmx_quantise_options.h"
#include "cmx_stdout.h"
#include "cmx_stop.h"

struct work {
	struct cmx_quantise_command opt;
	struct cmx_infer_err err;
	struct cmx_text_run run;		/* if there is a text */
	struct cmx_calibration calibration;
	struct cmx_source *source;		/* if there is none */
	const struct cmx_source *model;
	struct cmx_output_file out;
};

static bool calibrates(const struct work *w)
{
	return w->opt.text.text || w->opt.text.ids;
}

/* Rewritten in place on a terminal, one line at the end elsewhere. */
static void progress(uint64_t done, uint64_t all)
{
	bool tty = isatty(STDERR_FILENO);

	if (tty)
		fprintf(stderr, "\rcalibration %" PRIu64 "/%" PRIu64 " tokens%s", done, all,
			done == all ? "\n" : "");
	else if (done == all)
		fprintf(stderr, "calibration %" PRIu64 " tokens\n", all);
}

/* Windows side by side: all tokens are seen once. */
static int calibrate(struct work *w)
{
	struct cmx_text_run *r = &w->run;
	uint32_t ctx;
	int ret = cmx_text_run_open(r, &w->opt.text, &w->err);

	if (ret)
		return ret;
	w->model = r->source;
	ret = cmx_calibration_init(&w->calibration, &r->model, r->die, &w->err);
	r->fwd.observe = cmx_calibration_observe;
	r->fwd.observe_arg = &w->calibration;
	ctx = r->fwd.opt.ctx;
	for (uint64_t at = 0; at < r->n_ids && !ret; at += ctx) {
		const struct cmx_text_window win = {
			.first = at, .n = r->n_ids - at < ctx ? (uint32_t)(r->n_ids - at) : ctx,
		};

		ret = cmx_text_run_window(r, &win, NULL, NULL);
		if (!ret)
			progress(at + win.n, r->n_ids);
	}
	return ret;
}

static int open_model(struct work *w)
{
	struct cmx_load_progress p = { .what = "checksum" };
	int ret = cmx_source_open(w->opt.text.model, &w->source, &w->err);

	w->model = w->source;
	if (!ret && w->opt.text.verify)
		ret = cmx_checksum_verify(w->source, cmx_load_progress, &p, &w->err);
	return ret;
}

static int check_output(struct work *w, const char *option, const char *path)
{
	if (!path || !cmx_output_replaces(&w->out, path))
		return 0;
	return cmx_infer_fail(&w->err, -EINVAL, "%s and --output are one file: %.200s", option,
			      path);
}

/* Before the long work, so that a bad path fails at once. */
static int open_output(struct work *w)
{
	int ret = cmx_output_open(&w->out, w->opt.out);

	if (ret)
		return cmx_infer_fail(&w->err, ret, "--output: %.200s: %s", w->opt.out,
				      strerror(-ret));
	ret = check_output(w, "--model", w->opt.text.model);
	if (!ret)
		ret = check_output(w, "--calibrate", w->opt.text.text);
	if (!ret)
		ret = check_output(w, "--ids", w->opt.text.ids);
	return ret ? ret : check_output(w, "--tokenizer", w->opt.text.tokenizer);
}

static int write_model(struct work *w)
{
	struct cmx_load_progress p = { .what = "quantize" };
	const struct cmx_quantise_options o = {
		.calibration = calibrates(w) ? &w->calibration : NULL, .tokens = w->run.n_ids,
		.smooth = w->opt.smooth, .alpha = w->opt.alpha,
		.progress = cmx_load_progress, .progress_ctx = &p,
	};
	const struct cmx_gguf *g = cmx_source_gguf(w->model);
	struct cmx_quantise_result r;
	int ret;

	if (!g)
		return cmx_infer_fail(&w->err, -ENOTSUP,
				      "%.200s is a folder: only GGUF files can be rewritten; 'run' and 'ppl' quantise folders as they load them",
				      w->opt.text.model);
	ret = cmx_quantise_file(g, w->out.f, &o, &r, &w->err);
	if (ret)
		return ret;
	ret = cmx_output_commit(&w->out);
	if (ret)
		return cmx_infer_fail(&w->err, ret, "--output: %.200s: %s", w->opt.out,
				      strerror(-ret));
	printf("%" PRIu64 " tensors to INT8, %.1f MB, relative error of the weights %.6f\n",
	       r.tensors, (double)r.bytes / 1e6, __builtin_sqrt(r.error));
	return 0;
}

static int quantize(struct work *w)
{
	int ret = open_output(w);

	if (!ret)
		ret = calibrates(w) ? calibrate(w) : open_model(w);
	return ret ? ret : write_model(w);
}

static void work_close(struct work *w)
{
	cmx_output_abort(&w->out);
	cmx_calibration_fini(&w->calibration);
	cmx_text_run_close(&w->run);
	cmx_source_close(w->source);
}

int cmx_infer_quantize(int argc, char **argv)
{
	struct work *w = calloc(1, sizeof(*w));
	int ret;

	if (!w) {
		fprintf(stderr, "cmx infer quantize: no memory\n");
		return CMX_EXIT_FAILED;
	}
	cmx_stop_catch();
	ret = cmx_quantise_options_parse(&w->opt, argc, argv, &w->err);
	if (ret) {
		fprintf(stderr, "cmx infer quantize: %s\n", w->err.text);
		free(w);
		return CMX_EXIT_USAGE;
	}
	if (w->opt.help)
		cmx_quantise_usage(stdout);
	else
		ret = quantize(w);
	if (ret)
		fprintf(stderr, "cmx infer quantize: %s\n",
			cmx_stopped() ? "interrupted" : w->err.text);
	work_close(w);
	free(w);
	if (ret)
		return cmx_stopped() ? CMX_EXIT_STOPPED : CMX_EXIT_FAILED;
	return cmx_stdout_flush("infer quantize");
}
