// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_ppl_options.h"

#include <errno.h>
#include <getopt.h>

#include "cmx_option.h"

#define MAX_TOKENS	(1u << 24)
#define MAX_THREADS	256u

enum {
	OPT_TEXT = 256,
	OPT_QUANTIZE,
	OPT_IDS,
	OPT_TOKENIZER,
	OPT_CTX,
	OPT_STRIDE,
	OPT_MAX_TOKENS,
	OPT_CHUNK,
	OPT_DIE,
	OPT_THREADS,
	OPT_VERIFY,
	OPT_JSON,
};

static const struct option long_options[] = {
	{ "model", required_argument, NULL, 'm' },
	{ "quantize", required_argument, NULL, OPT_QUANTIZE },
	{ "text", required_argument, NULL, OPT_TEXT },
	{ "ids", required_argument, NULL, OPT_IDS },
	{ "tokenizer", required_argument, NULL, OPT_TOKENIZER },
	{ "ctx", required_argument, NULL, OPT_CTX },
	{ "stride", required_argument, NULL, OPT_STRIDE },
	{ "max-tokens", required_argument, NULL, OPT_MAX_TOKENS },
	{ "chunk", required_argument, NULL, OPT_CHUNK },
	{ "die", required_argument, NULL, OPT_DIE },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

void cmx_ppl_usage(FILE *f)
{
	fputs("usage: cmx infer ppl -m MODEL (--text FILE | --ids FILE) [options]\n"
	      "Measures how well a model predicts a text: its perplexity.\n"
	      "\n"
	      "  -m, --model PATH     GGUF file or Hugging Face folder, as for 'cmx infer run'\n"
	      "      --verify         first check the model's files against SHA256SUMS beside them\n"
	      "      --quantize int8  round the projections' weights and inputs to 8 bits\n"
	      "      --text FILE      the text\n"
	      "      --ids FILE       the text as token ids\n"
	      "      --tokenizer FILE tokenizer.json to use instead of the model's vocabulary\n"
	      "      --max-tokens N   only the first N tokens of the text\n"
	      "      --ctx N          tokens of a window (default: the model's context, at most\n"
	      "                       2048)\n"
	      "      --stride N       tokens from one window to the next (default: ctx - 1, so\n"
	      "                       that windows share one token)\n"
	      "      --chunk C        most tokens at a time (default 256)\n"
	      "      --die I          die to run on (default 0)\n"
	      "      --threads T      host threads that carry out launches (default 1)\n"
	      "      --json           result as JSON on stdout\n"
	      "\n"
	      "Each token but the first is scored once, by the first window that has it behind\n"
	      "another. An interrupted run prints what it has.\n", f);
}

static int parse_number(struct cmx_ppl_options *o, int opt, const char *arg,
			struct cmx_infer_err *err)
{
	switch (opt) {
	case OPT_CTX:
		return cmx_option_u32("--ctx", arg, 2, MAX_TOKENS, &o->text.ctx, err);
	case OPT_STRIDE:
		return cmx_option_u32("--stride", arg, 1, MAX_TOKENS, &o->stride, err);
	case OPT_MAX_TOKENS:
		return cmx_option_u64("--max-tokens", arg, 2, MAX_TOKENS, &o->text.max_tokens,
				      err);
	case OPT_CHUNK:
		return cmx_option_u32("--chunk", arg, 1, MAX_TOKENS, &o->text.chunk, err);
	case OPT_DIE:
		return cmx_option_u32("--die", arg, 0, UINT32_MAX, &o->text.die, err);
	default:
		return cmx_option_u32("--threads", arg, 1, MAX_THREADS, &o->text.threads, err);
	}
}

static int parse_option(struct cmx_ppl_options *o, int opt, struct cmx_infer_err *err)
{
	switch (opt) {
	case 'm':
		o->text.model = optarg;
		return 0;
	case OPT_QUANTIZE:
		return cmx_option_int8("--quantize", optarg, &o->text.int8, err);
	case OPT_TEXT:
		o->text.text = optarg;
		return 0;
	case OPT_IDS:
		o->text.ids = optarg;
		return 0;
	case OPT_TOKENIZER:
		o->text.tokenizer = optarg;
		return 0;
	case OPT_VERIFY:
		o->text.verify = true;
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case 'h':
		o->help = true;
		return 0;
	default:
		return parse_number(o, opt, optarg, err);
	}
}

int cmx_ppl_options_parse(struct cmx_ppl_options *o, int argc, char **argv,
			  struct cmx_infer_err *err)
{
	int opt, ret = 0;

	*o = (struct cmx_ppl_options){ .text = { .threads = 1, .chunk = CMX_TEXT_CHUNK } };
	optind = 0;
	opterr = 0;
	while (!ret && (opt = getopt_long(argc, argv, ":m:h", long_options, NULL)) != -1) {
		if (opt == '?' || opt == ':')
			return cmx_option_bad(opt, argv[optind - 1], err);
		ret = parse_option(o, opt, err);
	}
	if (ret || o->help)
		return ret;
	if (optind < argc)
		return cmx_infer_fail(err, -EINVAL, "unexpected argument '%s'", argv[optind]);
	if (!o->text.model)
		return cmx_infer_fail(err, -EINVAL, "no model: give -m FILE");
	if (!o->text.text == !o->text.ids)
		return cmx_infer_fail(err, -EINVAL, "give one of --text and --ids");
	return 0;
}
