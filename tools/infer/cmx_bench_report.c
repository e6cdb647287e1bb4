// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_bench_report.h"

#include <inttypes.h>

#define MAX_SHOWN	16u

static double ratio(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/*
 * In a decode window each request has few tokens; so the time per token is that of all of
 * them together: what a batch of so many takes for each of its tokens.
 */
struct cmx_bench_figures cmx_bench_figures(const struct cmx_bench_report *r)
{
	const struct cmx_bench_stats *st = r->stats;
	bool decode = r->opt->phase == CMX_BENCH_DECODE;
	struct cmx_bench_figures f = { .s = (double)(st->end_ps - st->start_ps) / 1e12 };
	double npus = (double)r->opt->ep / 2;

	f.step_ms = ratio(f.s * 1e3, (double)st->steps);
	f.tpot_ms = st->tpot.mean;
	if (decode && r->opt->steps)
		f.tpot_ms = ratio(f.s * 1e3 * r->requests, (double)st->output);
	f.tokens_per_s_per_npu = ratio((double)(decode ? st->output : st->input), f.s) / npus;
	return f;
}

static const char *type_name(uint32_t type)
{
	return type == CMX_TENSOR_I8 ? "int8" : type == CMX_TENSOR_BF16 ? "bf16" : "f32";
}

static void rule(FILE *f, const char *title)
{
	int left = (50 - (int)__builtin_strlen(title)) / 2;
	int right = 50 - (int)__builtin_strlen(title) - left;

	while (left--)
		putc('-', f);
	fputs(title, f);
	while (right--)
		putc('-', f);
	putc('\n', f);
}

static void count_line(FILE *f, const char *name, uint64_t n)
{
	fprintf(f, "%-40s %-10" PRIu64 "\n", name, n);
}

static void real_line(FILE *f, const char *name, double x)
{
	fprintf(f, "%-40s %-10.3f\n", name, x);
}

static void spread_lines(FILE *f, const char *title, const char *name, const struct cmx_spread *s)
{
	const struct {
		const char *what;
		double ms;
	} lines[] = { { "Mean", s->mean }, { "Median", s->median }, { "P99", s->p99 } };
	char line[48];

	if (!s->n)
		return;
	rule(f, title);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(line, sizeof(line), "%s %s (ms):", lines[i].what, name);
		real_line(f, line, lines[i].ms);
	}
}

static void text_setup(const struct cmx_bench_report *r, FILE *f)
{
	const struct cmx_bench_options *o = r->opt;

	fprintf(f, "model          %s, %s: %.2f GB of weights on a die\n", r->cfg->name,
		type_name(o->type), (double)r->weight_bytes / 1e9);
	fprintf(f, "die memory     %.2f GB KV cache, %.2f GB buffers\n",
		(double)r->cache_bytes / 1e9, (double)r->buffer_bytes / 1e9);
	fprintf(f, "machine        %u dies, %u requests at a time\n", o->ep, r->requests);
	fprintf(f, "host           %.2f s, %" PRIu64 " launches\n\n", r->host_s, r->launches);
}

static void text_operators(const struct cmx_bench_report *r, FILE *f)
{
	const struct cmx_bench_profile *p = r->profile;
	double steps = r->stats->steps ? (double)r->stats->steps : 1;

	fprintf(f, "\n%-24s %12s %12s %8s\n", "operator (first die)", "a step", "us a step",
		"share");
	for (uint32_t i = 0; i < p->n_ops && i < MAX_SHOWN; i++)
		fprintf(f, "%-24s %12.1f %12.1f %6.1f %%\n", p->op[i].label,
			(double)p->op[i].count / steps, (double)p->op[i].ps / steps / 1e6,
			100 * ratio((double)p->op[i].ps, (double)p->ps));
	if (p->n_ops > MAX_SHOWN)
		fprintf(f, "and %u more, see --json\n", p->n_ops - MAX_SHOWN);
}

void cmx_bench_report_text(const struct cmx_bench_report *r, FILE *f)
{
	const struct cmx_bench_stats *st = r->stats;
	const struct cmx_bench_figures g = cmx_bench_figures(r);

	text_setup(r, f);
	fputs("========= Serving bench (virtual times) ==========\n", f);
	count_line(f, "Successful requests:", st->completed);
	real_line(f, "Benchmark duration (s):", g.s);
	count_line(f, "Total input tokens:", st->input);
	count_line(f, "Total generated tokens:", st->output);
	real_line(f, "Request throughput (req/s):", ratio((double)st->completed, g.s));
	real_line(f, "Output token throughput (tok/s):", ratio((double)st->output, g.s));
	real_line(f, "Total token throughput (tok/s):",
		  ratio((double)(st->input + st->output), g.s));
	spread_lines(f, "Time to first token", "TTFT", &st->ttft);
	spread_lines(f, "Time per output token (without the first)", "TPOT", &st->tpot);
	spread_lines(f, "Inter-token latency", "ITL", &st->itl);
	spread_lines(f, "End-to-end latency", "E2EL", &st->e2el);
	rule(f, "Machine");
	count_line(f, "Steps:", st->steps);
	real_line(f, "Step (ms):", g.step_ms);
	real_line(f, "TPOT of the batch (ms):", g.tpot_ms);
	real_line(f, "Tokens/s/NPU:", g.tokens_per_s_per_npu);
	real_line(f, "Tokens/s/TFLOPS:", g.tokens_per_s_per_npu / CMX_BENCH_NPU_TOPS);
	if (st->drafted)
		real_line(f, "Guesses accepted (%):",
			  100 * ratio((double)st->accepted, (double)st->drafted));
	fputs("==================================================\n", f);
	text_operators(r, f);
}

static void json_spread(FILE *f, const char *name, const struct cmx_spread *s)
{
	if (!s->n)
		fprintf(f, "  \"mean_%s_ms\": null, \"median_%s_ms\": null, \"std_%s_ms\": null, "
			"\"p99_%s_ms\": null,\n", name, name, name, name);
	else
		fprintf(f, "  \"mean_%s_ms\": %.6f, \"median_%s_ms\": %.6f, \"std_%s_ms\": %.6f, "
			"\"p99_%s_ms\": %.6f,\n", name, s->mean, name, s->median, name, s->std,
			name, s->p99);
}

static void json_setup(const struct cmx_bench_report *r, FILE *f)
{
	const struct cmx_bench_options *o = r->opt;

	fputs("{\n  \"model\": \"", f);
	for (const char *p = r->cfg->name; *p; p++)
		putc(*p >= ' ' && *p <= '~' && *p != '"' && *p != '\\' ? *p : '?', f);
	fprintf(f, "\",\n  \"quantize\": \"%s\", \"phase\": \"%s\", \"time_only\": true,\n",
		type_name(o->type), o->phase == CMX_BENCH_DECODE ? "decode" : "prefill");
	fprintf(f, "  \"npus\": %u, \"ep\": %u, \"batch_per_npu\": %u, \"max_concurrency\": %u,\n",
		o->npus, o->ep, o->batch, r->requests);
	fprintf(f, "  \"input_len\": %u, \"output_len\": %u, \"microbatches\": 1, \"mtp\": %d, "
		"\"mtp_acceptance\": %.6f,\n", o->input, o->output, o->mtp,
		(double)o->acceptance);
	fprintf(f, "  \"balance\": \"%s\", \"redundant\": %u, \"reuse\": %.6f, \"seed\": %" PRIu64
		",\n", o->balance == CMX_BALANCE_PERFECT ? "perfect" : "default", o->redundant,
		(double)o->reuse, o->seed);
	fprintf(f, "  \"weight_bytes\": %" PRIu64 ", \"kv_bytes\": %" PRIu64
		", \"buffer_bytes\": %" PRIu64 ",\n", r->weight_bytes, r->cache_bytes,
		r->buffer_bytes);
}

static void json_profile(const struct cmx_bench_report *r, FILE *f)
{
	const struct cmx_bench_profile *p = r->profile;

	fputs("  \"operators\": [", f);
	for (uint32_t i = 0; i < p->n_ops; i++)
		fprintf(f, "%s\n    {\"name\": \"%s\", \"count\": %" PRIu64 ", \"ps\": %" PRIu64
			"}", i ? "," : "", p->op[i].label, p->op[i].count, p->op[i].ps);
	fputs("],\n  \"layer_ps\": [", f);
	for (uint32_t i = 0; i < p->n_layers; i++)
		fprintf(f, "%s%" PRIu64, i ? ", " : "", p->layer_ps[i]);
	fprintf(f, "],\n  \"other_ps\": %" PRIu64 "\n}\n", p->other_ps);
}

void cmx_bench_report_json(const struct cmx_bench_report *r, FILE *f)
{
	const struct cmx_bench_stats *st = r->stats;
	const struct cmx_bench_figures g = cmx_bench_figures(r);

	json_setup(r, f);
	fprintf(f, "  \"duration\": %.12f, \"completed\": %" PRIu64
		", \"total_input_tokens\": %" PRIu64 ", \"total_output_tokens\": %" PRIu64 ",\n",
		g.s, st->completed, st->input, st->output);
	fprintf(f, "  \"request_throughput\": %.6f, \"output_throughput\": %.6f, "
		"\"total_token_throughput\": %.6f,\n", ratio((double)st->completed, g.s),
		ratio((double)st->output, g.s), ratio((double)(st->input + st->output), g.s));
	json_spread(f, "ttft", &st->ttft);
	/* The mean is that of the batch, see cmx_bench_figures(). */
	fprintf(f, "  \"mean_tpot_ms\": %.6f, \"median_tpot_ms\": %.6f, \"std_tpot_ms\": %.6f, "
		"\"p99_tpot_ms\": %.6f,\n", g.tpot_ms, st->tpot.median, st->tpot.std, st->tpot.p99);
	json_spread(f, "itl", &st->itl);
	json_spread(f, "e2el", &st->e2el);
	fprintf(f, "  \"start_ps\": %" PRIu64 ", \"end_ps\": %" PRIu64 ", \"steps\": %" PRIu64
		", \"step_ms\": %.6f,\n", st->start_ps, st->end_ps, st->steps, g.step_ms);
	fprintf(f, "  \"tokens_per_s_per_npu\": %.6f, \"tokens_per_s_per_tflops\": %.6f,\n",
		g.tokens_per_s_per_npu, g.tokens_per_s_per_npu / CMX_BENCH_NPU_TOPS);
	fprintf(f, "  \"drafted\": %" PRIu64 ", \"accepted\": %" PRIu64 ", \"npu_launches\": %"
		PRIu64 ",\n", st->drafted, st->accepted, r->launches);
	json_profile(r, f);
}
