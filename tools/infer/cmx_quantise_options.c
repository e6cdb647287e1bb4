// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_quantise_options.h"

#include <errno.h>

#define DEF_TOKENS	4096u

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
	const struct cmx_option table[] = {
		CMX_TEXT_OPTIONS(&o->text),
		{ "output", 'o', .text = &o->out },
		{ "calibrate", .text = &o->text.text },
		{ "smooth", .real = &o->alpha, .real_max = 1, .given = &o->smooth },
		{ "help", 'h', .flag = &o->help },
	};
	int ret;

	*o = (struct cmx_quantise_command){
		.text = { .threads = 1, .chunk = CMX_TEXT_CHUNK, .max_tokens = DEF_TOKENS },
	};
	ret = cmx_options_parse(table, sizeof(table) / sizeof(table[0]), argc, argv, err);
	return ret || o->help ? ret : check_options(o, err);
}
