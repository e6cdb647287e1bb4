// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_ppl_options.h"

#include <errno.h>

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

int cmx_ppl_options_parse(struct cmx_ppl_options *o, int argc, char **argv,
			  struct cmx_infer_err *err)
{
	const struct cmx_option table[] = {
		CMX_TEXT_OPTIONS(&o->text),
		{ "text", .text = &o->text.text },
		{ "quantize", .parse = cmx_option_int8, .to = &o->text.int8 },
		{ "stride", .u32 = &o->stride, .min = 1, .max = CMX_MAX_TOKENS },
		{ "json", .flag = &o->json },
		{ "help", 'h', .flag = &o->help },
	};
	int ret;

	*o = (struct cmx_ppl_options){ .text = { .threads = 1, .chunk = CMX_TEXT_CHUNK } };
	ret = cmx_options_parse(table, sizeof(table) / sizeof(table[0]), argc, argv, err);
	if (ret || o->help)
		return ret;
	if (!o->text.model)
		return cmx_infer_fail(err, -EINVAL, "no model: give -m FILE");
	if (!o->text.text == !o->text.ids)
		return cmx_infer_fail(err, -EINVAL, "give one of --text and --ids");
	return 0;
}
