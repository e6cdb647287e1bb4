// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_infer_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_kv_pages.h"
#include "cmx_option.h"

#define MAX_THREADS	256u
#define MAX_BATCH	4096u

enum {
	OPT_IDS = 256,
	OPT_THREADS,
	OPT_CHUNK,
	OPT_CTX,
	OPT_DIE,
	OPT_TEMP,
	OPT_TOP_K,
	OPT_TOP_P,
	OPT_MIN_P,
	OPT_PENALTY,
	OPT_SEED,
	OPT_LOGITS,
	OPT_TRACE,
	OPT_RECORD,
	OPT_REPLAY,
	OPT_EXPERTS,
	OPT_SYSTEM,
	OPT_TOKENIZER,
	OPT_STOP,
	OPT_CHAT_FORM,
	OPT_BATCH,
	OPT_MAX_BATCH,
	OPT_KV_PAGES,
	OPT_KV_PAGE,
	OPT_MTP,
	OPT_QUANTIZE,
	/* Those from here on are flags. */
	OPT_TIME_ONLY,
	OPT_JSON,
	OPT_IGNORE_EOS,
	OPT_CHAT,
	OPT_SPECIAL,
	OPT_VERIFY,
	OPT_ABSORB,
	OPT_NO_REUSE,
};

static const struct option long_options[] = {
	{ "model", required_argument, NULL, 'm' },
	{ "prompt", required_argument, NULL, 'p' },
	{ "ids", required_argument, NULL, OPT_IDS },
	{ "threads", required_argument, NULL, OPT_THREADS },
	{ "chunk", required_argument, NULL, OPT_CHUNK },
	{ "ctx", required_argument, NULL, OPT_CTX },
	{ "die", required_argument, NULL, OPT_DIE },
	{ "temp", required_argument, NULL, OPT_TEMP },
	{ "top-k", required_argument, NULL, OPT_TOP_K },
	{ "top-p", required_argument, NULL, OPT_TOP_P },
	{ "min-p", required_argument, NULL, OPT_MIN_P },
	{ "repeat-penalty", required_argument, NULL, OPT_PENALTY },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "logits", required_argument, NULL, OPT_LOGITS },
	{ "trace", required_argument, NULL, OPT_TRACE },
	{ "record", required_argument, NULL, OPT_RECORD },
	{ "replay", required_argument, NULL, OPT_REPLAY },
	{ "experts-out", required_argument, NULL, OPT_EXPERTS },
	{ "system", required_argument, NULL, OPT_SYSTEM },
	{ "tokenizer", required_argument, NULL, OPT_TOKENIZER },
	{ "stop", required_argument, NULL, OPT_STOP },
	{ "chat-form", required_argument, NULL, OPT_CHAT_FORM },
	{ "batch", required_argument, NULL, OPT_BATCH },
	{ "max-batch", required_argument, NULL, OPT_MAX_BATCH },
	{ "kv-pages", required_argument, NULL, OPT_KV_PAGES },
	{ "kv-page", required_argument, NULL, OPT_KV_PAGE },
	{ "mtp", required_argument, NULL, OPT_MTP },
	{ "quantize", required_argument, NULL, OPT_QUANTIZE },
	{ "chat", no_argument, NULL, OPT_CHAT },
	{ "special", no_argument, NULL, OPT_SPECIAL },
	{ "time-only", no_argument, NULL, OPT_TIME_ONLY },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "ignore-eos", no_argument, NULL, OPT_IGNORE_EOS },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "absorb", no_argument, NULL, OPT_ABSORB },
	{ "no-reuse", no_argument, NULL, OPT_NO_REUSE },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

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
	      "      --chunk C        most tokens of a step (default 256)\n"
	      "      --max-batch B    most sequences of a step (default 16)\n"
	      "      --ctx N          most positions of a sequence (default: prompt + N)\n"
	      "      --kv-pages N     pages of the cache (default: as many as B sequences need)\n"
	      "      --kv-page P      positions of a page, a power of two (default 64)\n"
	      "      --no-reuse       compute every prompt in full, even if its beginning is there\n"
	      "      --absorb         prompts, too, work on the latent cache itself\n"
	      "      --mtp M          guess a token ahead with the model's MTP block: 1, 0 (the\n"
	      "                       default), or auto, if it has one; changes no output\n"
	      "      --die I          die to run on (default 0)\n"
	      "      --threads T      host threads that carry out launches (default 1)\n"
	      "      --logits FILE    f32 logits of every prompt position, [token][vocab]\n"
	      "      --experts-out FILE  experts chosen, as JSON by layer and token\n"
	      "      --trace FILE     Chrome trace in virtual time (opens in Perfetto)\n"
	      "      --record FILE    record what the gates and the sampling decided\n"
	      "      --time-only --replay FILE  only the time of a recorded run: no weights, no\n"
	      "                       arithmetic, the same virtual times\n"
	      "      --json           summary as JSON on stdout, the text in it\n"
	      "\n"
	      "Virtual times are those of the modelled machine, not of this computer.\n", f);
}

static int parse_page(struct cmx_infer_options *o, const char *arg, struct cmx_infer_err *err)
{
	int ret = cmx_option_u32("--kv-page", arg, 1u << CMX_KV_MIN_SHIFT,
				 1u << CMX_KV_MAX_SHIFT, &o->kv_page, err);

	o->has_kv_page = true;
	if (ret || !(o->kv_page & (o->kv_page - 1)))
		return ret;
	return cmx_infer_fail(err, -EINVAL, "--kv-page is %u, must be a power of two", o->kv_page);
}

static int parse_number(struct cmx_infer_options *o, int opt, const char *arg,
			struct cmx_infer_err *err)
{
	switch (opt) {
	case 'n':
		o->has_n = true;
		return cmx_option_u32("-n", arg, 0, CMX_MAX_TOKENS, &o->n, err);
	case OPT_THREADS:
		return cmx_option_u32("--threads", arg, 1, MAX_THREADS, &o->threads, err);
	case OPT_CHUNK:
		o->has_chunk = true;
		return cmx_option_u32("--chunk", arg, 1, CMX_MAX_TOKENS, &o->chunk, err);
	case OPT_CTX:
		return cmx_option_u32("--ctx", arg, 1, CMX_MAX_TOKENS, &o->ctx, err);
	case OPT_DIE:
		return cmx_option_u32("--die", arg, 0, UINT32_MAX, &o->die, err);
	case OPT_MAX_BATCH:
		o->has_max_batch = true;
		return cmx_option_u32("--max-batch", arg, 1, MAX_BATCH, &o->max_batch, err);
	case OPT_KV_PAGES:
		return cmx_option_u32("--kv-pages", arg, 1, CMX_MAX_TOKENS, &o->kv_pages, err);
	case OPT_KV_PAGE:
		return parse_page(o, arg, err);
	case OPT_TEMP:
		o->has_temp = true;
		return cmx_option_float("--temp", arg, 0, 100, &o->temp, err);
	case OPT_TOP_K:
		o->has_top_k = true;
		return cmx_option_u32("--top-k", arg, 0, UINT32_MAX, &o->top_k, err);
	case OPT_TOP_P:
		o->has_top_p = true;
		return cmx_option_float("--top-p", arg, 1e-6f, 1, &o->top_p, err);
	case OPT_MIN_P:
		o->has_min_p = true;
		return cmx_option_float("--min-p", arg, 0, 1, &o->min_p, err);
	case OPT_PENALTY:
		o->has_penalty = true;
		return cmx_option_float("--repeat-penalty", arg, 0.1f, 10, &o->penalty, err);
	default:
		return cmx_option_u64("--seed", arg, 0, UINT64_MAX, &o->seed, err);
	}
}

static int add_stop(struct cmx_infer_options *o, const char *text, struct cmx_infer_err *err)
{
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

static int parse_mtp(struct cmx_infer_options *o, const char *arg, struct cmx_infer_err *err)
{
	static const char *const uses[] = {
		[CMX_MTP_OFF] = "0", [CMX_MTP_ON] = "1", [CMX_MTP_AUTO] = "auto",
	};

	o->has_mtp = true;
	for (int i = 0; i < 3; i++) {
		o->mtp = (enum cmx_mtp_use)i;
		if (!strcmp(arg, uses[i]))
			return 0;
	}
	return cmx_infer_fail(err, -EINVAL, "--mtp is '%s', must be 0, 1 or auto", arg);
}

static int parse_value(struct cmx_infer_options *o, int opt, const char *arg,
		       struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	int ret;

	if (opt == OPT_STOP)
		return add_stop(o, arg, err);
	if (opt == OPT_MTP)
		return parse_mtp(o, arg, err);
	if (opt == OPT_QUANTIZE)
		return cmx_option_int8("--quantize", arg, &o->int8, err);
	if (opt != OPT_CHAT_FORM)
		return parse_number(o, opt, arg, err);
	ret = cmx_chat_form(arg, &o->chat_form, &why);
	return ret ? cmx_infer_fail(err, ret, "--chat-form: %s", why.text) : 0;
}

static void parse_flag(struct cmx_infer_options *o, int opt)
{
	switch (opt) {
	case OPT_TIME_ONLY:
		o->time_only = true;
		break;
	case OPT_JSON:
		o->json = true;
		break;
	case OPT_IGNORE_EOS:
		o->ignore_eos = true;
		break;
	case OPT_CHAT:
		o->chat = true;
		break;
	case OPT_SPECIAL:
		o->special = true;
		break;
	case OPT_VERIFY:
		o->verify = true;
		break;
	case OPT_ABSORB:
		o->absorb = true;
		break;
	case OPT_NO_REUSE:
		o->no_reuse = true;
		break;
	default:
		o->help = true;
	}
}

static const char **text_option(struct cmx_infer_options *o, int opt)
{
	switch (opt) {
	case 'm':
		return &o->model;
	case 'p':
		return &o->text;
	case OPT_IDS:
		return &o->ids;
	case OPT_BATCH:
		return &o->batch;
	case OPT_LOGITS:
		return &o->logits;
	case OPT_TRACE:
		return &o->trace;
	case OPT_RECORD:
		return &o->record;
	case OPT_REPLAY:
		return &o->replay;
	case OPT_EXPERTS:
		return &o->experts;
	case OPT_SYSTEM:
		return &o->system;
	case OPT_TOKENIZER:
		return &o->tokenizer;
	default:
		return NULL;
	}
}

static int check_time_only(const struct cmx_infer_options *o, struct cmx_infer_err *err)
{
	if (o->time_only != !!o->replay)
		return cmx_infer_fail(err, -EINVAL, "--time-only and --replay go together");
	if (!o->time_only)
		return 0;
	if (o->logits || o->record || o->experts)
		return cmx_infer_fail(err, -EINVAL,
				      "a time-only run has no data for --logits, --record or --experts-out");
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

int cmx_infer_options_parse(struct cmx_infer_options *o, int argc, char **argv,
			    struct cmx_infer_err *err)
{
	int opt, ret = 0;

	*o = (struct cmx_infer_options){ .n = 64, .threads = 1, .chunk = 256, .top_p = 1,
					 .penalty = 1, .max_batch = 16, .kv_page = 64 };
	optind = 0;
	opterr = 0;
	while (!ret && (opt = getopt_long(argc, argv, ":m:p:n:h", long_options, NULL)) != -1) {
		const char **text = text_option(o, opt);

		if (opt == '?' || opt == ':')
			return cmx_option_bad(opt, argv[optind - 1], err);
		if (text)
			*text = optarg;
		else if (opt == 'h' || opt >= OPT_TIME_ONLY)
			parse_flag(o, opt);
		else
			ret = parse_value(o, opt, optarg, err);
	}
	if (ret || o->help)
		return ret;
	if (optind < argc)
		return cmx_infer_fail(err, -EINVAL, "unexpected argument '%s'", argv[optind]);
	return check_options(o, err);
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
