// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_tokenizer.h"

static int open_types(const struct cmx_gguf *g, uint32_t vocab, const uint8_t **types,
		      struct cmx_infer_err *err)
{
	uint64_t n;
	int ret = cmx_gguf_i32_array(g, "tokenizer.ggml.token_type", types, &n, err);

	if (ret == -ENOENT) {
		*types = NULL;
		return 0;
	}
	if (!ret && n != vocab)
		return cmx_infer_fail(err, -EINVAL, "tokenizer.ggml.token_type has %" PRIu64
				      " entries, the model's vocabulary %u", n, vocab);
	return ret;
}

static int read_vocab(struct cmx_tokenizer *t, const struct cmx_gguf *g, struct cmx_infer_err *err)
{
	struct cmx_gguf_strings it;
	const uint8_t *types;
	uint64_t len;
	const char *s;
	int ret = cmx_gguf_strings(g, "tokenizer.ggml.tokens", &it, err);

	if (ret)
		return ret;
	if (it.count != t->vocab.n)
		return cmx_infer_fail(err, -EINVAL, "tokenizer.ggml.tokens has %" PRIu64
				      " entries, the model's vocabulary %u", it.count, t->vocab.n);
	ret = open_types(g, t->vocab.n, &types, err);
	for (uint32_t id = 0; !ret && cmx_gguf_strings_next(g, &it, &s, &len); id++) {
		uint32_t kind = CMX_TOKEN_NORMAL;

		if (types)
			memcpy(&kind, types + (size_t)id * 4, sizeof(kind));
		ret = cmx_vocabulary_set(&t->vocab, id, kind, s, len, err);
	}
	return ret ? ret : cmx_vocabulary_index(&t->vocab, err);
}

static int read_special(const struct cmx_gguf *g, const char *key, uint32_t vocab, uint32_t *id,
			struct cmx_infer_err *err)
{
	int ret = cmx_gguf_u32(g, key, id, err);

	if (ret == -ENOENT) {
		*id = CMX_NO_TOKEN;
		return 0;
	}
	if (!ret && *id >= vocab)
		return cmx_infer_fail(err, -EINVAL, "%s is %u, must be below %u", key, *id, vocab);
	return ret;
}

/* End of text, of a turn, of a message: each ends the output. */
static int read_ends(struct cmx_tokenizer *t, const struct cmx_gguf *g, struct cmx_infer_err *err)
{
	static const char *const keys[] = {
		"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
		"tokenizer.ggml.eom_token_id",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		uint32_t id;
		int ret = read_special(g, keys[i], t->vocab.n, &id, err);

		if (ret)
			return ret;
		cmx_tokenizer_add_end(t, id);
	}
	cmx_tokenizer_add_end(t, cmx_vocabulary_find_literal(&t->vocab, "<|EOT|>", 7));
	return 0;
}

static int read_start(struct cmx_tokenizer *t, const struct cmx_gguf *g, struct cmx_infer_err *err)
{
	int ret = read_special(g, "tokenizer.ggml.bos_token_id", t->vocab.n, &t->bos, err);

	if (ret)
		return ret;
	ret = cmx_gguf_bool(g, "tokenizer.ggml.add_bos_token", &t->add_bos, err);
	if (ret && ret != -ENOENT)
		return ret;
	if (t->add_bos && t->bos == CMX_NO_TOKEN)
		return cmx_infer_fail(err, -EINVAL,
				      "tokenizer.ggml.add_bos_token is set without bos_token_id");
	return 0;
}

/* Without merges every byte is a token of its own, however words are cut. */
static int read_pretokenizer(struct cmx_tokenizer *t, const struct cmx_gguf *g,
			     struct cmx_infer_err *err)
{
	const char *name;
	uint64_t len;
	int ret = cmx_gguf_string(g, "tokenizer.ggml.pre", &name, &len, err);

	if (ret == -ENOENT)
		return cmx_infer_fail(err, -EINVAL,
				      "tokenizer.ggml.pre is missing; with merges it must be there");
	return ret ? ret : cmx_pretokenizer_preset(&t->pre, name, len, err);
}

static int read_merges(struct cmx_tokenizer *t, const struct cmx_gguf *g,
		       struct cmx_infer_err *err)
{
	struct cmx_gguf_strings it = { 0 };
	const char *s;
	uint64_t len;
	int ret = cmx_gguf_strings(g, "tokenizer.ggml.merges", &it, err);

	if (ret == -ENOENT || (!ret && !it.count))
		return 0;
	if (!ret)
		ret = read_pretokenizer(t, g, err);
	if (!ret)
		ret = cmx_merges_init(&t->merges, it.count, err);
	for (uint64_t rank = 0; !ret && cmx_gguf_strings_next(g, &it, &s, &len); rank++)
		ret = cmx_tokenizer_add_merge_line(t, rank, s, len, err);
	return ret;
}

static int read_template(struct cmx_tokenizer *t, const struct cmx_gguf *g,
			 struct cmx_infer_err *err)
{
	const char *s;
	uint64_t len;
	int ret = cmx_gguf_string(g, "tokenizer.chat_template", &s, &len, err);

	if (ret)
		return ret == -ENOENT ? 0 : ret;
	t->chat_template = strndup(s, len);
	return t->chat_template ? 0 : cmx_infer_fail(err, -ENOMEM,
						     "no memory for the chat template");
}

static int check_model(const struct cmx_gguf *g, struct cmx_infer_err *err)
{
	const char *model;
	uint64_t len;
	int ret = cmx_gguf_string(g, "tokenizer.ggml.model", &model, &len, err);

	if (ret)
		return ret;
	if (len != 4 || memcmp(model, "gpt2", 4))
		return cmx_infer_fail(err, -ENOTSUP,
				      "tokenizer.ggml.model is '%.*s', must be 'gpt2' (byte level)",
				      (int)(len < 32 ? len : 32), model);
	return 0;
}

int cmx_tokenizer_init(struct cmx_tokenizer *t, const struct cmx_gguf *g, uint32_t vocab,
		       struct cmx_infer_err *err)
{
	int ret;

	memset(t, 0, sizeof(*t));
	ret = check_model(g, err);
	if (!ret)
		ret = cmx_vocabulary_init(&t->vocab, vocab, err);
	if (!ret)
		ret = read_vocab(t, g, err);
	if (!ret)
		ret = read_start(t, g, err);
	if (!ret)
		ret = read_ends(t, g, err);
	if (!ret)
		ret = read_merges(t, g, err);
	if (!ret)
		ret = read_template(t, g, err);
	if (ret)
		cmx_tokenizer_free(t);
	return ret;
}
