// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_infer_report.h"

#include <inttypes.h>
#include <string.h>

static const char *const ends[] = {
	[CMX_END_LENGTH] = "length", [CMX_END_EOS] = "eos", [CMX_END_STOP] = "stop",
	[CMX_END_ERROR] = "error", [CMX_END_CANCEL] = "cancel",
};

static double rate(uint64_t n, double s)
{
	return s > 0 ? (double)n / s : 0;
}

/* Tokens to show: one that was chosen out of bad logits is none. */
static uint32_t shown(const struct cmx_sequence *s)
{
	return s->run.n_output - (s->run.end == CMX_END_ERROR && s->run.n_output);
}

static uint64_t ttft_ps(const struct cmx_sequence *s)
{
	return s->run.n_output ? s->token_ps[0] - s->submit_ps : 0;
}

/* Mean distance of the tokens after the first, 0 if there are none. */
static uint64_t tpot_ps(const struct cmx_sequence *s)
{
	uint32_t n = s->run.n_output;

	return n > 1 ? (s->token_ps[n - 1] - s->token_ps[0]) / (n - 1) : 0;
}

static const struct cmx_sequence *only_one(const struct cmx_infer_report *r)
{
	return r->jobs->job[0].seq;
}

static void text_model(const struct cmx_infer_report *r, FILE *f)
{
	fprintf(f, "model          %s, %.1f MB of weights\n", r->cfg->name,
		(double)r->weight_bytes / 1e6);
}

/* Said where it is not what goes without saying. */
static void text_layout(const struct cmx_infer_report *r, FILE *f)
{
	const struct cmx_layout *l = &r->engine->opt.layout;

	if (l->ep > 1)
		fprintf(f, "layout         experts on %u dies (EP), sequences on %u (DP)\n", l->ep,
			l->dp);
}

static void json_layout(const struct cmx_infer_report *r, const char *behind, FILE *f)
{
	const struct cmx_layout *l = &r->engine->opt.layout;

	fprintf(f, "\"layout\": {\"ep\": %u, \"dp\": %u},%s", l->ep, l->dp, behind);
}

static void text_machine(const struct cmx_infer_report *r, FILE *f)
{
	fprintf(f, "NPU launches   %" PRIu64 "\n", r->done.launches);
	fprintf(f, "device moved   %" PRIu64 " bytes (%" PRIu64 " of them to load the model)\n",
		r->done.moved_bytes, r->load.moved_bytes);
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100 * (double)part / (double)all : 0;
}

static void text_mtp(const struct cmx_infer_report *r, FILE *f)
{
	const struct cmx_engine_stats *st = &r->engine->stats;

	if (r->engine->opt.forward.mtp)
		fprintf(f, "MTP drafts     %" PRIu64 ", %" PRIu64 " accepted (%.1f %%)\n",
			st->drafted, st->accepted, percent(st->accepted, st->drafted));
}

/* What is not the driver's, the library's or the host's part of the engine. */
static double kernel_share(const struct cmx_infer_report *r, const struct cmx_host_phase *p)
{
	return p->ticks ? (double)p->kernel_ticks / (double)p->ticks / r->opt->threads : 0;
}

static void text_kernels(const struct cmx_infer_report *r, FILE *f)
{
	fprintf(f, "host kernels   ");
	if (r->prefill.ticks)
		fprintf(f, "%.1f %% of the prompt's time, ", 100 * kernel_share(r, &r->prefill));
	fprintf(f, "%.1f %% of the %s\n", 100 * kernel_share(r, &r->decode),
		r->prefill.ticks ? "output's" : "batch's");
}

void cmx_infer_report_text(const struct cmx_infer_report *r, FILE *f)
{
	const struct cmx_sequence *s = only_one(r);
	uint32_t out = s->run.n_output, steps = out ? out - 1 : 0;

	text_model(r, f);
	text_layout(r, f);
	fprintf(f, "tokens         %u prompt, %u output%s\n", s->run.n_prompt, out,
		s->run.end == CMX_END_EOS ? " (end token)" :
		s->run.end == CMX_END_STOP ? " (stop string)" : "");
	text_mtp(r, f);
	if (r->opt->time_only)
		fprintf(f, "host           time only: nothing was computed\n");
	else
		fprintf(f, "host           %.1f prompt, %.1f output tokens/s, load %.2f s\n",
			rate(s->run.n_prompt, r->prefill_s), rate(steps, r->decode_s), r->load_s);
	if (!r->opt->time_only)
		text_kernels(r, f);
	fprintf(f, "host SIMD      %s (%s)\n", r->isa, r->isa_why);
	fprintf(f, "virtual TTFT   %.3f us (virtual)\n", (double)ttft_ps(s) / 1e6);
	fprintf(f, "virtual TPOT   %.3f us (virtual)\n", (double)tpot_ps(s) / 1e6);
	text_machine(r, f);
}

/* Text is valid UTF-8 already, but for what JSON itself escapes. */
static void json_text(FILE *f, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t c = (uint8_t)s[i];

		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < ' ')
			fprintf(f, "\\u%04x", c);
		else
			putc(c, f);
	}
}

static void json_ids(const struct cmx_sequence *s, FILE *f)
{
	const uint32_t *ids = s->run.ids + s->run.n_prompt;

	fputs("\"output_ids\": [", f);
	for (uint32_t i = 0; i < shown(s); i++)
		fprintf(f, "%s%u", i ? ", " : "", ids[i]);
	fputs("]", f);
}

static void json_token_ps(const struct cmx_sequence *s, FILE *f)
{
	fputs("\"token_ps\": [", f);
	for (uint32_t i = 0; i < shown(s); i++)
		fprintf(f, "%s%" PRIu64, i ? ", " : "", s->token_ps[i]);
	fputs("]", f);
}

static void json_model(const struct cmx_infer_report *r, FILE *f)
{
	fputs("\"model\": \"", f);
	for (const char *p = r->cfg->name; *p; p++) {
		/* Comes from the file: keep it plain. */
		putc(*p >= ' ' && *p <= '~' && *p != '"' && *p != '\\' ? *p : '?', f);
	}
	fputs("\"", f);
}

static void json_virtual(const struct cmx_infer_report *r, FILE *f)
{
	const struct cmx_sequence *s = only_one(r);

	fprintf(f, "  \"virtual\": {\"start_ps\": %" PRIu64 ", \"end_ps\": %" PRIu64
		", \"ttft_ps\": %" PRIu64 ", \"tpot_ps\": %" PRIu64 ",\n    ",
		r->start_ps, r->done.now_ps, ttft_ps(s), tpot_ps(s));
	json_token_ps(s, f);
	fputs("},\n", f);
}

static void json_machine(const struct cmx_infer_report *r, const char *between, FILE *f)
{
	fprintf(f, "\"npu_launches\": %" PRIu64 ",%s\"moved_bytes\": %" PRIu64
		",%s\"load_moved_bytes\": %" PRIu64 ",%s\"time_only\": %s,%s",
		r->done.launches, between, r->done.moved_bytes, between, r->load.moved_bytes,
		between, r->opt->time_only ? "true" : "false", between);
	fprintf(f, "\"host\": {\"isa\": \"%s\", \"isa_why\": \"%s\", \"threads\": %u, "
		"\"load_s\": %.6f, \"prefill_kernel_share\": %.6f, \"decode_kernel_share\": %.6f, ",
		r->isa, r->isa_why, r->opt->threads, r->load_s, kernel_share(r, &r->prefill),
		kernel_share(r, &r->decode));
}

/* Null if there were none to be made. */
static void json_mtp(const struct cmx_infer_report *r, const char *behind, FILE *f)
{
	const struct cmx_engine_stats *st = &r->engine->stats;

	if (!r->engine->opt.forward.mtp)
		fprintf(f, "\"mtp\": null,%s", behind);
	else
		fprintf(f, "\"mtp\": {\"drafted\": %" PRIu64 ", \"accepted\": %" PRIu64
			", \"acceptance\": %.6f},%s", st->drafted, st->accepted,
			percent(st->accepted, st->drafted) / 100, behind);
}

void cmx_infer_report_json(const struct cmx_infer_report *r, FILE *f)
{
	const struct cmx_job *j = &r->jobs->job[0];
	const struct cmx_sequence *s = j->seq;
	uint32_t out = s->run.n_output, steps = out ? out - 1 : 0;

	fputs("{\n  ", f);
	json_model(r, f);
	fprintf(f, ",\n  \"prompt_tokens\": %u,\n  \"output_tokens\": %u,\n  \"end\": \"%s\",\n  ",
		s->run.n_prompt, out, ends[s->run.end]);
	json_ids(s, f);
	fputs(",\n  \"text\": \"", f);
	json_text(f, j->collected, j->n_collected);
	fputs("\",\n", f);
	json_virtual(r, f);
	fputs("  ", f);
	json_layout(r, "\n  ", f);
	json_mtp(r, "\n  ", f);
	json_machine(r, "\n  ", f);
	fprintf(f, "\"prefill_tokens_per_s\": %.3f, \"decode_tokens_per_s\": %.3f}\n}\n",
		rate(s->run.n_prompt, r->prefill_s), rate(steps, r->decode_s));
}

void cmx_infer_report_job(const struct cmx_job *j, uint32_t number, FILE *f)
{
	const struct cmx_sequence *s = j->seq;
	const char *why = cmx_job_has_failed(j) ? cmx_job_error(j) : "";

	fprintf(f, "{\"request\": %u, \"end\": \"%s\", \"prompt_tokens\": %u", number,
		*why ? "error" : ends[s->run.end], j->n_prompt);
	if (*why) {
		fputs(", \"error\": \"", f);
		json_text(f, why, strlen(why));
		fputs("\"", f);
	}
	if (s && (shown(s) || !*why)) {
		fprintf(f, ", \"reused_tokens\": %u, \"output_tokens\": %u, ", s->reused,
			shown(s));
		json_ids(s, f);
		fprintf(f, ", \"ttft_ps\": %" PRIu64 ", \"tpot_ps\": %" PRIu64 ", ", ttft_ps(s),
			tpot_ps(s));
		json_token_ps(s, f);
	}
	if (s && s->run.n_guesses)
		fprintf(f, ", \"drafted\": %u, \"accepted\": %u", s->run.n_guesses,
			s->accepted);
	fputs(", \"text\": \"", f);
	json_text(f, j->collected, j->n_collected);
	fputs("\"}\n", f);
}

/* What all requests came to. */
struct totals {
	uint32_t failed;
	uint64_t prompt;
	uint64_t output;
};

static struct totals sum_up(const struct cmx_infer_report *r)
{
	struct totals t = { 0 };

	for (uint32_t i = 0; i < r->jobs->n; i++) {
		const struct cmx_job *j = &r->jobs->job[i];

		t.failed += cmx_job_has_failed(j);
		if (!j->seq || j->seq->run.end == CMX_END_ERROR)
			continue;
		t.prompt += j->n_prompt;
		t.output += j->seq->run.n_output;
	}
	return t;
}

void cmx_infer_report_batch_text(const struct cmx_infer_report *r, FILE *f)
{
	const struct cmx_engine_stats *st = &r->engine->stats;
	double s = r->prefill_s + r->decode_s;
	uint64_t ps = r->done.now_ps - r->start_ps;
	struct totals t = sum_up(r);

	text_model(r, f);
	text_layout(r, f);
	fprintf(f, "requests       %u, %u of them failed\n", r->jobs->n, t.failed);
	fprintf(f, "tokens         %" PRIu64 " prompt (%" PRIu64 " reused), %" PRIu64 " output\n",
		t.prompt, st->reused, t.output);
	fprintf(f, "steps          %" PRIu64 ", up to %u sequences, %u of %u pages in use\n",
		st->steps, st->most_seqs, st->most_pages, r->engine->opt.forward.pages);
	text_mtp(r, f);
	if (r->opt->time_only)
		fprintf(f, "host           time only: nothing was computed\n");
	else
		fprintf(f, "host           %.1f tokens/s, %.1f of them output, load %.2f s\n",
			rate(st->rows, s), rate(t.output, s), r->load_s);
	if (!r->opt->time_only)
		text_kernels(r, f);
	fprintf(f, "host SIMD      %s (%s)\n", r->isa, r->isa_why);
	fprintf(f, "virtual time   %.3f us (virtual), %.1f output tokens/s (virtual)\n",
		(double)ps / 1e6, rate(t.output, (double)ps / 1e12));
	text_machine(r, f);
}

void cmx_infer_report_batch_json(const struct cmx_infer_report *r, FILE *f)
{
	const struct cmx_engine_stats *st = &r->engine->stats;
	double s = r->prefill_s + r->decode_s;
	struct totals t = sum_up(r);

	fputs("{\"totals\": {", f);
	json_model(r, f);
	fprintf(f, ", \"requests\": %u, \"failed\": %u, \"prompt_tokens\": %" PRIu64
		", \"reused_tokens\": %" PRIu64 ", \"output_tokens\": %" PRIu64
		", \"steps\": %" PRIu64 ", \"rows\": %" PRIu64 ", \"most_sequences\": %u, "
		"\"most_pages\": %u, \"pages\": %u, ", r->jobs->n, t.failed, t.prompt, st->reused,
		t.output, st->steps, st->rows, st->most_seqs, st->most_pages,
		r->engine->opt.forward.pages);
	fprintf(f, "\"virtual\": {\"start_ps\": %" PRIu64 ", \"end_ps\": %" PRIu64 "}, ",
		r->start_ps, r->done.now_ps);
	json_layout(r, " ", f);
	json_mtp(r, " ", f);
	json_machine(r, " ", f);
	fprintf(f, "\"tokens_per_s\": %.3f, \"output_tokens_per_s\": %.3f}}}\n",
		rate(st->rows, s), rate(t.output, s));
}

void cmx_infer_write_experts(const struct cmx_decisions *d, uint32_t first_layer, FILE *f)
{
	uint32_t positions = cmx_decisions_positions(d);

	fputs("{\"experts\": {", f);
	for (uint32_t l = 0; l < d->n_moe; l++) {
		fprintf(f, "%s\"%u\": [", l ? ", " : "", first_layer + l);
		for (uint32_t pos = 0; pos < positions; pos++) {
			const uint16_t *e = cmx_decisions_at(d, pos, l);

			fputs(pos ? ", [" : "[", f);
			for (uint32_t j = 0; j < d->n_used && *e != CMX_NOT_ROUTED; j++)
				fprintf(f, "%s%u", j ? ", " : "", e[j]);
			fputs("]", f);
		}
		fputs("]", f);
	}
	fputs("}}\n", f);
}
