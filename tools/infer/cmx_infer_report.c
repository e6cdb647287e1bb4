// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_infer_report.h"

#include <inttypes.h>

static double rate(uint32_t n, double s)
{
	return s > 0 ? n / s : 0;
}

static uint64_t ttft_ps(const struct cmx_infer_report *r)
{
	return r->run->n_output ? r->token_ps[0] - r->start_ps : 0;
}

/* Mean distance of the tokens after the first, 0 if there are none. */
static uint64_t tpot_ps(const struct cmx_infer_report *r)
{
	uint32_t n = r->run->n_output;

	return n > 1 ? (r->token_ps[n - 1] - r->token_ps[0]) / (n - 1) : 0;
}

void cmx_infer_report_text(const struct cmx_infer_report *r, FILE *f)
{
	uint32_t out = r->run->n_output, steps = out ? out - 1 : 0;

	fprintf(f, "model          %s, %.1f MB of weights\n", r->cfg->name,
		(double)r->weight_bytes / 1e6);
	fprintf(f, "tokens         %u prompt, %u output%s\n", r->run->n_prompt, out,
		r->run->end == CMX_END_EOS ? " (end token)" :
		r->run->end == CMX_END_STOP ? " (stop string)" : "");
	if (r->opt->time_only)
		fprintf(f, "host           time only: nothing was computed\n");
	else
		fprintf(f, "host           %.1f prompt, %.1f output tokens/s, load %.2f s\n",
			rate(r->run->n_prompt, r->prefill_s), rate(steps, r->decode_s), r->load_s);
	fprintf(f, "host SIMD      %s (%s)\n", r->isa, r->isa_why);
	fprintf(f, "virtual TTFT   %.3f us (virtual)\n", (double)ttft_ps(r) / 1e6);
	fprintf(f, "virtual TPOT   %.3f us (virtual)\n", (double)tpot_ps(r) / 1e6);
	fprintf(f, "NPU launches   %" PRIu64 "\n", r->done.launches);
	fprintf(f, "device moved   %" PRIu64 " bytes (%" PRIu64 " of them to load the model)\n",
		r->done.moved_bytes, r->load.moved_bytes);
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

static void json_output(const struct cmx_infer_report *r, FILE *f)
{
	const uint32_t *ids = r->run->ids + r->run->n_prompt;

	fputs("  \"output_ids\": [", f);
	for (uint32_t i = 0; i < r->run->n_output; i++)
		fprintf(f, "%s%u", i ? ", " : "", ids[i]);
	fputs("],\n  \"text\": \"", f);
	json_text(f, r->text, r->text_len);
	fputs("\",\n", f);
}

static void json_virtual(const struct cmx_infer_report *r, FILE *f)
{
	fprintf(f, "  \"virtual\": {\"start_ps\": %" PRIu64 ", \"end_ps\": %" PRIu64
		", \"ttft_ps\": %" PRIu64 ", \"tpot_ps\": %" PRIu64 ",\n    \"token_ps\": [",
		r->start_ps, r->end_ps, ttft_ps(r), tpot_ps(r));
	for (uint32_t i = 0; i < r->run->n_output; i++)
		fprintf(f, "%s%" PRIu64, i ? ", " : "", r->token_ps[i]);
	fputs("]},\n", f);
}

void cmx_infer_report_json(const struct cmx_infer_report *r, FILE *f)
{
	static const char *const ends[] = {
		[CMX_END_LENGTH] = "length", [CMX_END_EOS] = "eos", [CMX_END_STOP] = "stop",
	};
	uint32_t out = r->run->n_output, steps = out ? out - 1 : 0;

	fputs("{\n  \"model\": \"", f);
	for (const char *p = r->cfg->name; *p; p++) {
		/* Comes from the file: keep it plain. */
		putc(*p >= ' ' && *p <= '~' && *p != '"' && *p != '\\' ? *p : '?', f);
	}
	fprintf(f, "\",\n  \"prompt_tokens\": %u,\n  \"output_tokens\": %u,\n  \"end\": \"%s\",\n",
		r->run->n_prompt, out, ends[r->run->end]);
	json_output(r, f);
	json_virtual(r, f);
	fprintf(f, "  \"npu_launches\": %" PRIu64 ",\n  \"moved_bytes\": %" PRIu64
		",\n  \"load_moved_bytes\": %" PRIu64 ",\n  \"time_only\": %s,\n",
		r->done.launches, r->done.moved_bytes, r->load.moved_bytes,
		r->opt->time_only ? "true" : "false");
	fprintf(f, "  \"host\": {\"isa\": \"%s\", \"isa_why\": \"%s\", \"threads\": %u, "
		"\"load_s\": %.6f, \"prefill_tokens_per_s\": %.3f, \"decode_tokens_per_s\": %.3f}\n}\n",
		r->isa, r->isa_why, r->opt->threads, r->load_s,
		rate(r->run->n_prompt, r->prefill_s), rate(steps, r->decode_s));
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
			for (uint32_t j = 0; j < d->n_used; j++)
				fprintf(f, "%s%u", j ? ", " : "", e[j]);
			fputs("]", f);
		}
		fputs("]", f);
	}
	fputs("}}\n", f);
}
