// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_quantise_options.h"

#include <errno.h>
#include <getopt.h>

#include "cmx_option.h"

#define MAX_TOKENS	(1u << 24)
#define MAX_THREADS	256u
#define DEF_TOKENS	4096u

enum {
	OPT_CALIBRATE = 256,
	OPT_IDS,
	OPT_TOKENIZER,
	OPT_MAX_TOKENS,
	OPT_CTX,
	OPT_CHUNK,
	OPT_SMOOTH,
	OPT_DIE,
	OPT_THREADS,
	OPT_VERIFY,
};

static const struct option long_options[] = {
	{ "model", required_argument, NULL, 'm' },
	{ "output", required_argument, NULL, 'o' },
	{ "calibrate", required_argument, NULL, OPT_CALIBRATE },
	{ "ids", required_argument, NULL, OPT_IDS },
	{ "tokenizer", required_argument, NULL, OPT_TOKENIZER },
	{ "max-tokens", required_argument, NULL, OPT_MAX_TOKENS },
	{ "ctx", required_argument, NULL, OPT_CTX },
	{ "chunk", required_argument, NULL, OPT_CHUNK },
	{ "smooth", required_argument, NULL, OPT_SMOOTH },
	{ "die", required_argument, NULL, OPT_DIE },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

void cmx_quantise_usage(FILE *f)
{
	fputs("usage: cmx infer quantize -m MODEL -o FILE [options]\n"
	      "Makes an INT8 model out of a GGUF file: weights with a scale for each output\n"
	      "channel; activations get theirs token by token when it runs.\n"
	      "\n"
	      "  -m, --model FILE     GGUF file, as for 'cmx infer run'\n"
	      "      --verify         first check the model's files against SHA256SUMS beside them\n"
	      "  -o, --output FILE    where the new model goes\n"
	      "      --calibrate FILE run the model on this text, and keep the weights best that\n"
	      "                       multiply the largest activations\n"
	      "      --ids FILE       the same, with a text as token ids\n"
	      "      --smooth A       with a text: move the share A (0..1) of the spread between\n"
	      "                       channels of the activations over to the weights\n"
	      "      --tokenizer FILE tokenizer.json to use instead of the model's vocabulary\n"
	      "      --max-tokens N   only the first N tokens of the text (default 4096)\n"
	      "      --ctx N          tokens of a window of it (default: the model's context, at\n"
	      "                       most 2048)\n"
	      "      --chunk C        most tokens at a time (default 256)\n"
	      "      --die I          die to run on (default 0)\n"
	      "      --threads T      host threads that carry out launches (default 1)\n", f);
}

static int parse_number(struct cmx_quantise_command *o, int opt, const char *arg,
			struct cmx_infer_err *err)
{
	switch (opt) {
	case OPT_MAX_TOKENS:
		return cmx_option_u64("--max-tokens", arg, 2, MAX_TOKENS, &o->text.max_tokens,
				      err);
	case OPT_CTX:
		return cmx_option_u32("--ctx", arg, 2, MAX_TOKENS, &o->text.ctx, err);
	case OPT_CHUNK:
		return cmx_option_u32("--chunk", arg, 1, MAX_TOKENS, &o->text.chunk, err);
	case OPT_SMOOTH:
		o->smooth = true;
		return cmx_option_float("--smooth", arg, 0, 1, &o->alpha, err);
	case OPT_DIE:
		return cmx_option_u32("--die", arg, 0, UINT32_MAX, &o->text.die, err);
	default:
		return cmx_option_u32("--threads", arg, 1, MAX_THREADS, &o->text.threads, err);
	}
}

static int parse_option(struct cmx_quantise_command *o, int opt, struct cmx_infer_err *err)
{
	switch (opt) {
	case 'm':
		o->text.model = optarg;
		return 0;
	case 'o':
		o->out = optarg;
		return 0;
	case OPT_CALIBRATE:
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
	case 'h':
		o->help = true;
		return 0;
	default:
		return parse_number(o, opt, optarg, err);
	}
}

static int check_options(const struct cmx_quantise_command *o, struct cmx_infer_err *err)
{
	if (!o->text.model)
		return cmx_infer_fail(err, -EINVAL, "no model: give -m FILE");
	if (!o->out)
		return cmx_infer_fail(err, -EINVAL, "no output: give -o FILE");
	if (o->text.text && o->text.ids)
		return cmx_infer_fail(err, -EINVAL, "give one of --calibrate and --ids, not both");
	if (o->smooth && !o->text.text && !o->text.ids)
		return cmx_infer_fail(err, -EINVAL, "--smooth needs --calibrate or --ids");
	return 0;
}

int cmx_quantise_options_parse(struct cmx_quantise_command *o, int argc, char **argv,
			       struct cmx_infer_err *err)
{
	int opt, ret = 0;

	*o = (struct cmx_quantise_command){
		.text = { .threads = 1, .chunk = CMX_TEXT_CHUNK, .max_tokens = DEF_TOKENS },
	};
	optind = 0;
	opterr = 0;
	while (!ret && (opt = getopt_long(argc, argv, ":m:o:h", long_options, NULL)) != -1) {
		if (opt == '?' || opt == ':')
			return cmx_option_bad(opt, argv[optind - 1], err);
		ret = parse_option(o, opt, err);
	}
	if (ret || o->help)
		return ret;
	if (optind < argc)
		return cmx_infer_fail(err, -EINVAL, "unexpected argument '%s'", argv[optind]);
	return check_options(o, err);
}
