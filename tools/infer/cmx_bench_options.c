// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_bench_options.h"

#include <errno.h>
#include <string.h>

#include "cmx_option.h"
#include "cmx_tensor_type.h"

#define MAX_DIES	768u
#define MAX_BATCH	4096u
#define MAX_LENGTH	(1u << 20)
#define MAX_STEPS	(1u << 20)
#define MAX_REDUNDANT	64u

void cmx_bench_usage(FILE *f)
{
	fputs("usage: cmx infer bench -m MODEL --time-only [options]\n"
	      "Serves made-up requests and prints how long they take on the virtual machine. The\n"
	      "commands are those of a real run; nothing is computed, and the model needs no files.\n"
	      "\n"
	      "  -m, --model NAME     deepseek-r1, deepseek-v3, deepseek-v2 or deepseek-v2-lite, or\n"
	      "                       a config.json, or a folder with one\n"
	      "      --time-only      must be there: a bench has no weights\n"
	      "      --quantize T     weights: int8 (the default), bf16 or f32\n"
	      "      --phase P        decode, the default: prompts are in the cache; or prefill\n"
	      "      --npus N         NPUs of two dies each (default: half of the dies, rounded up)\n"
	      "      --ep N           dies that share the experts out (default: two for each NPU)\n"
	      "      --batch-per-npu B  requests of an NPU at a time (default: decode 96, prefill as\n"
	      "                       many as have 16,384 tokens)\n"
	      "      --input-len N    tokens of a prompt (default 4096)\n"
	      "      --output-len N   tokens of an output (default: decode 256, prefill 1)\n"
	      "      --steps N        decode: measure N steps of a batch that has been served for\n"
	      "                       long, after one more (default 8); 0: all outputs to their end\n"
	      "      --chunk C        most tokens of a die's step (default: prefill all prompts on one\n"
	      "                       die, 1024 on several)\n"
	      "      --mtp M          1: guess a token ahead; 0: do not (default 1 in decode, if the\n"
	      "                       model has the block)\n"
	      "      --mtp-acceptance A  probability that a guess is right (default 0.7)\n"
	      "      --balance B      default: experts by a law of popularity; perfect: in turn\n"
	      "      --redundant N    places of a die for more copies of busy experts (default 0)\n"
	      "      --reuse R        prefill: share of every prompt that is in the cache (default 0)\n"
	      "      --microbatches N must be 1\n"
	      "      --seed S         seed of all that is drawn (default 0)\n"
	      "      --die I          the first die (default 0)\n"
	      "      --threads T      host threads (default 1); the result does not depend on them\n"
	      "      --trace FILE     Chrome trace of all dies, in virtual time\n"
	      "      --json           result as JSON\n"
	      "\n"
	      "All times are those of the modelled machine, not of this computer.\n", f);
}

struct word {
	const char *word;
	int val;
};

static int choose(const char *option, const struct word *w, const char *arg, int *val,
		  struct cmx_infer_err *err)
{
	char words[64] = "";

	for (; w->word; w++) {
		size_t at = strlen(words);

		*val = w->val;
		if (!strcmp(arg, w->word))
			return 0;
		snprintf(words + at, sizeof(words) - at, "%s%s", at ? ", " : "", w->word);
	}
	return cmx_infer_fail(err, -EINVAL, "%s is '%.40s', must be one of: %s", option, arg,
			      words);
}

static int parse_type(void *to, const char *arg, struct cmx_infer_err *err)
{
	static const struct word words[] = {
		{ "int8", CMX_TENSOR_I8 }, { "bf16", CMX_TENSOR_BF16 }, { "f32", CMX_TENSOR_F32 },
		{ 0 },
	};
	struct cmx_bench_options *o = to;
	int val, ret = choose("--quantize", words, arg, &val, err);

	o->type = (uint32_t)val;
	return ret;
}

static int parse_phase(void *to, const char *arg, struct cmx_infer_err *err)
{
	static const struct word words[] = {
		{ "decode", CMX_BENCH_DECODE }, { "prefill", CMX_BENCH_PREFILL }, { 0 },
	};
	struct cmx_bench_options *o = to;
	int val, ret;

	if (!strcmp(arg, "pdc"))
		return cmx_infer_fail(err, -ENOTSUP,
				      "--phase pdc: pools are not there yet, give decode or prefill");
	ret = choose("--phase", words, arg, &val, err);
	o->phase = (enum cmx_bench_phase)val;
	return ret;
}

static int parse_balance(void *to, const char *arg, struct cmx_infer_err *err)
{
	static const struct word words[] = {
		{ "default", CMX_BALANCE_DEFAULT }, { "perfect", CMX_BALANCE_PERFECT }, { 0 },
	};
	struct cmx_bench_options *o = to;
	int val, ret = choose("--balance", words, arg, &val, err);

	o->balance = (enum cmx_balance)val;
	return ret;
}

static int parse_microbatches(void *to, const char *arg, struct cmx_infer_err *err)
{
	static const struct word words[] = { { "1", 1 }, { 0 } };
	int val;

	(void)to;
	if (!strcmp(arg, "2"))
		return cmx_infer_fail(err, -ENOTSUP,
				      "--microbatches 2: the pipeline of two is not there yet, give 1");
	return choose("--microbatches", words, arg, &val, err);
}

/* What depends on other options. */
struct given {
	bool time_only, npus, ep, batch, output, mtp, steps, reuse;
	uint32_t use_mtp;
};

static int check_dies(struct cmx_bench_options *o, const struct given *g, struct cmx_infer_err *err)
{
	if (!g->ep)
		o->ep = g->npus ? 2 * o->npus : 1;
	if (!g->npus)
		o->npus = (o->ep + 1) / 2;
	if ((o->ep + 1) / 2 != o->npus)
		return cmx_infer_fail(err, -EINVAL,
				      "--ep is %u dies, which is %u NPUs and not --npus %u", o->ep,
				      (o->ep + 1) / 2, o->npus);
	return 0;
}

static int set_lengths(struct cmx_bench_options *o, const struct given *g,
		       struct cmx_infer_err *err)
{
	bool prefill = o->phase == CMX_BENCH_PREFILL;

	if (!g->batch)
		o->batch = !prefill ? 96 : o->input > 8192 ? 2 : 16384 / o->input;
	if (o->batch > MAX_BATCH)
		o->batch = MAX_BATCH;
	if (!g->output)
		o->output = prefill ? 1 : 256;
	if (!prefill && o->output < 2)
		return cmx_infer_fail(err, -EINVAL,
				      "--output-len is %u, must be 2 at least to decode",
				      o->output);
	if (o->redundant && o->ep == 1)
		return cmx_infer_fail(err, -EINVAL, "--redundant is for several dies");
	if (prefill && g->steps)
		return cmx_infer_fail(err, -EINVAL, "--steps is for --phase decode");
	if (!prefill && g->reuse)
		return cmx_infer_fail(err, -EINVAL, "--reuse is for --phase prefill");
	return 0;
}

static int check(struct cmx_bench_options *o, const struct given *g, struct cmx_infer_err *err)
{
	int ret;

	if (!o->model)
		return cmx_infer_fail(err, -EINVAL, "no model: give -m NAME");
	if (!g->time_only)
		return cmx_infer_fail(err, -EINVAL, "give --time-only: a bench computes nothing");
	ret = check_dies(o, g, err);
	if (!ret)
		ret = set_lengths(o, g, err);
	o->mtp_given = g->mtp;
	o->mtp = g->mtp ? g->use_mtp : o->phase == CMX_BENCH_DECODE;
	return ret;
}

int cmx_bench_options_parse(struct cmx_bench_options *o, int argc, char **argv,
			    struct cmx_infer_err *err)
{
	struct given g = { 0 };
	const struct cmx_option table[] = {
		{ "model", 'm', .text = &o->model },
		{ "time-only", .flag = &g.time_only },
		{ "quantize", .parse = parse_type, .to = o },
		{ "phase", .parse = parse_phase, .to = o },
		{ "npus", .u32 = &o->npus, .given = &g.npus, .min = 1, .max = MAX_DIES / 2 },
		{ "ep", .u32 = &o->ep, .given = &g.ep, .min = 1, .max = MAX_DIES },
		{ "batch-per-npu", .u32 = &o->batch, .given = &g.batch, .min = 1,
		  .max = MAX_BATCH },
		{ "input-len", .u32 = &o->input, .min = 1, .max = MAX_LENGTH },
		{ "output-len", .u32 = &o->output, .given = &g.output, .min = 1,
		  .max = MAX_LENGTH },
		{ "steps", .u32 = &o->steps, .given = &g.steps, .min = 0, .max = MAX_STEPS },
		{ "chunk", .u32 = &o->chunk, .min = 1, .max = CMX_MAX_TOKENS },
		{ "mtp", .u32 = &g.use_mtp, .given = &g.mtp, .min = 0, .max = 1 },
		{ "mtp-acceptance", .real = &o->acceptance, .real_min = 0, .real_max = 1 },
		{ "balance", .parse = parse_balance, .to = o },
		{ "redundant", .u32 = &o->redundant, .min = 0, .max = MAX_REDUNDANT },
		{ "reuse", .real = &o->reuse, .given = &g.reuse, .real_min = 0, .real_max = 1 },
		{ "microbatches", .parse = parse_microbatches, .to = o },
		{ "seed", .u64 = &o->seed, .min = 0, .max = UINT64_MAX },
		{ "die", .u32 = &o->die, .min = 0, .max = UINT32_MAX },
		{ "threads", .u32 = &o->threads, .min = 1, .max = CMX_MAX_THREADS },
		{ "trace", .text = &o->trace },
		{ "json", .flag = &o->json },
		{ "help", 'h', .flag = &o->help },
	};
	int ret;

	*o = (struct cmx_bench_options){
		.type = CMX_TENSOR_I8, .input = 4096, .steps = 8, .acceptance = 0.7f, .threads = 1,
	};
	ret = cmx_options_parse(table, sizeof(table) / sizeof(table[0]), argc, argv, err);
	if (ret || o->help)
		return ret;
	return check(o, &g, err);
}

uint32_t cmx_bench_die_batch(const struct cmx_bench_options *o, uint32_t rank)
{
	return (o->batch + 1 - rank % 2) / 2;
}

uint32_t cmx_bench_most_batch(const struct cmx_bench_options *o)
{
	return cmx_bench_die_batch(o, 0);
}
