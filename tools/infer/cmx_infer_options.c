// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_infer_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_kv_pages.h"
#include "cmx_layout.h"

#define MAX_BATCH	4096u

void cmx_infer_usage(FILE *f)
{
	fputs("usage: cmx infer run -m MODEL (-p TEXT | --ids FILE | --batch FILE) -n N [options]\n"
	      "Runs a model on a virtual NPU and prints the text it generates.\n"
	      "\n"
	      "  -m, --model PATH     GGUF file, architecture deepseek2, or Hugging Face folder\n"
	      "      --verify         first check the model's files against SHA256SUMS beside them\n"
	      "      --quantize int8  round the projections' weights and inputs to 8 bits\n"
	      "  -p, --prompt TEXT    prompt\n"
	      "      --ids FILE       prompt as token ids\n"
	      "      --batch FILE     many requests, one JSON object a line: prompt or ids, and what\n"
	      "                       differs from the options: n, temp, top_k, top_p, min_p,\n"
	      "                       repeat_penalty, seed, stop, ignore_eos, system\n"
	      "      --tokenizer FILE tokenizer.json to use instead of the model's vocabulary\n"
	      "      --special        find control tokens in the prompt, by their names\n"
	      "      --chat           the prompt is what a user says: ask for an answer\n"
	      "      --system TEXT    what precedes a chat\n"
	      "      --chat-form F    v2, v3, r1, v3.1 or v3.1-think; auto, the default, goes by\n"
	      "                       the model\n"
	      "  -n N                 tokens to generate (default 64)\n"
	      "      --stop TEXT      end before this text; up to 16 times\n"
	      "      --ignore-eos     go on after an end token\n"
	      "\n"
	      "Sampling, in the order in which it is done:\n"
	      "      --repeat-penalty R  divide positive logits of tokens that were there before by\n"
	      "                       R, multiply others (default 1)\n"
	      "      --temp T         temperature; 0, the default, takes the best token\n"
	      "      --top-k K        only the K likeliest tokens; 0, the default: all\n"
	      "      --top-p P        of these the likeliest that hold the share P (default 1)\n"
	      "      --min-p P        of these those P times as likely as the first (default 0)\n"
	      "      --seed S         seed of the draw (default 0)\n"
	      "\n"
	      "Of each die, if there are several:\n"
	      "      --chunk C        most tokens of a step (default 256)\n"
	      "      --max-batch B    most sequences of a step (default 16)\n"
	      "      --ctx N          most positions of a sequence (default: prompt + N)\n"
	      "      --kv-pages N     pages of the cache (default: as many as B sequences need)\n"
	      "      --kv-page P      positions of a page, a power of two (default 64)\n"
	      "\n"
	      "      --no-reuse       compute every prompt in full, even if its beginning is there\n"
	      "      --absorb         prompts, too, work on the latent cache itself\n"
	      "      --mtp M          guess a token ahead with the model's MTP block: 1, 0 (the\n"
	      "                       default), or auto, if it has one; changes no output\n"
	      "      --die I          die to run on (default 0), or the first of several\n"
	      "      --ep N           share out the experts over N dies (default 1); with more dies\n"
	      "                       than experts they have replicas\n"
	      "      --dp N           share out the sequences over N dies (default: as --ep)\n"
	      "      --threads T      host threads that carry out launches (default 1)\n"
	      "      --logits FILE    f32 logits of every prompt position, [token][vocab]\n"
	      "      --experts-out FILE  experts chosen, as JSON by layer and token\n"
	      "      --trace FILE     Chrome trace in virtual time (opens in Perfetto)\n"
	      "      --blocks FILE    what each block of each launch took on the host, as text\n"
	      "      --record FILE    record what the gates and the sampling decided\n"
	      "      --time-only --replay FILE  only the time of a recorded run: no weights, no\n"
	      "                       arithmetic, the same virtual times\n"
	      "      --json           summary as JSON on stdout, the text in it\n"
	      "\n"
	      "Virtual times are those of the modelled machine, not of this computer.\n", f);
}

static int parse_page(void *to, const char *arg, struct cmx_infer_err *err)
{
	uint32_t *page = to;
	int ret = cmx_option_u32("--kv-page", arg, 1u << CMX_KV_MIN_SHIFT,
				 1u << CMX_KV_MAX_SHIFT, page, err);

	if (ret || !(*page & (*page - 1)))
		return ret;
	return cmx_infer_fail(err, -EINVAL, "--kv-page is %u, must be a power of two", *page);
}

static int add_stop(void *to, const char *text, struct cmx_infer_err *err)
{
	struct cmx_infer_options *o = to;
	size_t len = strlen(text);

	if (o->n_stops == CMX_STOP_STRINGS_MAX)
		return cmx_infer_fail(err, -EINVAL, "more than %d times --stop",
				      CMX_STOP_STRINGS_MAX);
	if (!len || len > CMX_STOP_STRING_BYTES)
		return cmx_infer_fail(err, -EINVAL, "--stop has %zu bytes, must be 1..%d", len,
				      CMX_STOP_STRING_BYTES);
	o->stop[o->n_stops++] = text;
	return 0;
}

static int parse_mtp(void *to, const char *arg, struct cmx_infer_err *err)
{
	static const char *const uses[] = {
		[CMX_MTP_OFF] = "0", [CMX_MTP_ON] = "1", [CMX_MTP_AUTO] = "auto",
	};
	enum cmx_mtp_use *use = to;

	for (int i = 0; i < 3; i++) {
		*use = (enum cmx_mtp_use)i;
		if (!strcmp(arg, uses[i]))
			return 0;
	}
	return cmx_infer_fail(err, -EINVAL, "--mtp is '%s', must be 0, 1 or auto", arg);
}

static int parse_form(void *to, const char *arg, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	int ret = cmx_chat_form(arg, to, &why);

	return ret ? cmx_infer_fail(err, ret, "--chat-form: %s", why.text) : 0;
}

static int check_time_only(const struct cmx_infer_options *o, struct cmx_infer_err *err)
{
	if (o->time_only != !!o->replay)
		return cmx_infer_fail(err, -EINVAL, "--time-only and --replay go together");
	if (!o->time_only)
		return 0;
	if (o->logits || o->record || o->experts || o->blocks)
		return cmx_infer_fail(err, -EINVAL,
				      "a time-only run has no data for --logits, --record, --experts-out or --blocks");
	return 0;
}

/* One source of prompts, and what goes with each. */
static int check_prompts(const struct cmx_infer_options *o, struct cmx_infer_err *err)
{
	if (o->text && o->ids)
		return cmx_infer_fail(err, -EINVAL, "give one of -p and --ids, not both");
	if (o->batch && (o->text || o->ids || o->replay))
		return cmx_infer_fail(err, -EINVAL,
				      "--batch has the prompts: not with -p, --ids or --replay");
	if (!o->text && !o->ids && !o->batch && !o->replay)
		return cmx_infer_fail(err, -EINVAL,
				      "no prompt: give -p TEXT, --ids FILE or --batch FILE");
	if (o->batch && o->experts)
		return cmx_infer_fail(err, -EINVAL, "--experts-out is for one prompt, not --batch");
	if (o->chat && !o->text && !o->batch)
		return cmx_infer_fail(err, -EINVAL, "--chat needs -p TEXT or --batch FILE");
	if (!o->chat && (o->system || o->chat_form != CMX_CHAT_AUTO))
		return cmx_infer_fail(err, -EINVAL, "--system and --chat-form need --chat");
	if (o->special && (o->chat || !(o->text || o->batch)))
		return cmx_infer_fail(err, -EINVAL,
				      "--special goes with -p TEXT and without --chat");
	return 0;
}

static int check_options(const struct cmx_infer_options *o, struct cmx_infer_err *err)
{
	int ret;

	if (!o->model)
		return cmx_infer_fail(err, -EINVAL, "no model: give -m FILE");
	ret = check_prompts(o, err);
	return ret ? ret : check_time_only(o, err);
}

static int parse_options(struct cmx_infer_options *o, int argc, char **argv,
			 struct cmx_infer_err *err)
{
	const struct cmx_option table[] = {
		{ "model", 'm', .text = &o->model },
		{ "prompt", 'p', .text = &o->text },
		{ "ids", .text = &o->ids },
		{ "batch", .text = &o->batch },
		{ "system", .text = &o->system },
		{ "tokenizer", .text = &o->tokenizer },
		{ "logits", .text = &o->logits },
		{ "trace", .text = &o->trace },
		{ "record", .text = &o->record },
		{ "replay", .text = &o->replay },
		{ "experts-out", .text = &o->experts },
		{ "blocks", .text = &o->blocks },
		{ NULL, 'n', .u32 = &o->n, .max = CMX_MAX_TOKENS, .given = &o->has_n },
		{ "threads", .u32 = &o->threads, .min = 1, .max = CMX_MAX_THREADS },
		{ "chunk", .u32 = &o->chunk, .min = 1, .max = CMX_MAX_TOKENS,
		  .given = &o->has_chunk },
		{ "ctx", .u32 = &o->ctx, .min = 1, .max = CMX_MAX_TOKENS },
		{ "die", .u32 = &o->die, .max = UINT32_MAX },
		{ "ep", .u32 = &o->ep, .min = 1, .max = CMX_MAX_RANKS },
		{ "dp", .u32 = &o->dp, .min = 1, .max = CMX_MAX_RANKS },
		{ "max-batch", .u32 = &o->max_batch, .min = 1, .max = MAX_BATCH,
		  .given = &o->has_max_batch },
		{ "kv-pages", .u32 = &o->kv_pages, .min = 1, .max = CMX_MAX_TOKENS },
		{ "kv-page", .parse = parse_page, .to = &o->kv_page, .given = &o->has_kv_page },
		{ "temp", .real = &o->temp, .real_max = 100, .given = &o->has_temp },
		{ "top-k", .u32 = &o->top_k, .max = UINT32_MAX, .given = &o->has_top_k },
		{ "top-p", .real = &o->top_p, .real_min = 1e-6f, .real_max = 1,
		  .given = &o->has_top_p },
		{ "min-p", .real = &o->min_p, .real_max = 1, .given = &o->has_min_p },
		{ "repeat-penalty", .real = &o->penalty, .real_min = 0.1f, .real_max = 10,
		  .given = &o->has_penalty },
		{ "seed", .u64 = &o->seed, .max = UINT64_MAX },
		{ "stop", .parse = add_stop, .to = o },
		{ "chat-form", .parse = parse_form, .to = &o->chat_form },
		{ "mtp", .parse = parse_mtp, .to = &o->mtp, .given = &o->has_mtp },
		{ "quantize", .parse = cmx_option_int8, .to = &o->int8 },
		{ "chat", .flag = &o->chat },
		{ "special", .flag = &o->special },
		{ "time-only", .flag = &o->time_only },
		{ "json", .flag = &o->json },
		{ "ignore-eos", .flag = &o->ignore_eos },
		{ "verify", .flag = &o->verify },
		{ "absorb", .flag = &o->absorb },
		{ "no-reuse", .flag = &o->no_reuse },
		{ "help", 'h', .flag = &o->help },
	};

	return cmx_options_parse(table, sizeof(table) / sizeof(table[0]), argc, argv, err);
}

int cmx_infer_options_parse(struct cmx_infer_options *o, int argc, char **argv,
			    struct cmx_infer_err *err)
{
	int ret;

	*o = (struct cmx_infer_options){ .n = 64, .threads = 1, .chunk = 256, .top_p = 1,
					 .penalty = 1, .max_batch = 16, .kv_page = 64 };
	ret = parse_options(o, argc, argv, err);
	return ret || o->help ? ret : check_options(o, err);
}

static int parse_ids(FILE *f, uint32_t *ids, uint32_t *n, struct cmx_infer_err *err)
{
	char word[32];
	int got;

	*n = 0;
	while ((got = fscanf(f, "%31s", word)) == 1) {
		char what[32];
		int ret;

		if (*n == CMX_MAX_TOKENS)
			return cmx_infer_fail(err, -E2BIG, "more than %u ids", CMX_MAX_TOKENS);
		snprintf(what, sizeof(what), "id %u", *n);
		if (strlen(word) == sizeof(word) - 1)
			return cmx_infer_fail(err, -EINVAL, "%s is '%s...', longer than %zu digits",
					      what, word, sizeof(word) - 2);
		ret = cmx_option_u32(what, word, 0, UINT32_MAX, &ids[*n], err);
		if (ret)
			return ret;
		++*n;
	}
	if (ferror(f))
		return cmx_infer_fail(err, -EIO, "read failed");
	return *n ? 0 : cmx_infer_fail(err, -EINVAL, "no ids in the file");
}

int cmx_infer_read_ids(const char *path, uint32_t **ids, uint32_t *n, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	FILE *f = fopen(path, "re");
	int ret;

	if (!f)
		return cmx_infer_fail(err, -errno, "%s: %s", path, strerror(errno));
	/* Pages that are never touched cost nothing. */
	*ids = malloc(CMX_MAX_TOKENS * sizeof(**ids));
	if (*ids)
		ret = parse_ids(f, *ids, n, &why);
	else
		ret = cmx_infer_fail(&why, -ENOMEM, "no memory for the ids");
	fclose(f);
	if (!ret)
		return 0;
	free(*ids);
	*ids = NULL;
	return cmx_infer_fail(err, ret, "%.120s: %s", path, why.text);
}
