// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_byte_alphabet.h"
#include "cmx_json_file.h"
#include "cmx_tokenizer.h"

#define JSON_FILE_MAX	((size_t)256 << 20)

/* Neither there nor null. */
static bool is_absent(const json_t *x)
{
	return !x || json_is_null(x);
}

static bool is_type(const json_t *x, const char *type)
{
	const char *t = json_string_value(json_object_get(x, "type"));

	return t && !strcmp(t, type);
}

static const char *type_of(const json_t *x)
{
	const char *t = json_string_value(json_object_get(x, "type"));

	return t ? t : "none";
}

/* Settings that would change the tokens and that no DeepSeek file has. */
static int check_model(const json_t *model, struct cmx_infer_err *err)
{
	static const char *const must_be_off[] = {
		"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
	};

	if (!is_type(model, "BPE"))
		return cmx_infer_fail(err, -ENOTSUP, "model.type is '%.32s', must be 'BPE'",
				      type_of(model));
	for (size_t i = 0; i < sizeof(must_be_off) / sizeof(must_be_off[0]); i++) {
		const json_t *x = json_object_get(model, must_be_off[i]);
		const char *s = json_string_value(x);

		if (!is_absent(x) && !(s && !*s))
			return cmx_infer_fail(err, -ENOTSUP, "model.%s is set, must be null",
					      must_be_off[i]);
	}
	return 0;
}

static int check_normalizer(const json_t *root, struct cmx_infer_err *err)
{
	const json_t *x = json_object_get(root, "normalizer");

	if (is_absent(x) ||
	    (is_type(x, "Sequence") && !json_array_size(json_object_get(x, "normalizers"))))
		return 0;
	return cmx_infer_fail(err, -ENOTSUP, "normalizer is a %.32s, must be none", type_of(x));
}

static int check_decoder(const json_t *root, struct cmx_infer_err *err)
{
	const json_t *x = json_object_get(root, "decoder");

	if (is_absent(x) || is_type(x, "ByteLevel"))
		return 0;
	return cmx_infer_fail(err, -ENOTSUP, "decoder is a %.32s, must be ByteLevel", type_of(x));
}

static int get_id(const json_t *x, const char *name, uint32_t vocab, uint32_t *id,
		  struct cmx_infer_err *err)
{
	json_int_t v = json_integer_value(x);

	*id = 0;
	if (!json_is_integer(x) || v < 0 || v >= vocab)
		return cmx_infer_fail(err, -EINVAL,
				      "token '%.32s' has no id or id %" JSON_INTEGER_FORMAT
				      ", must be below %u", name, v, vocab);
	*id = (uint32_t)v;
	return 0;
}

static int set_added(struct cmx_tokenizer *t, const json_t *x, struct cmx_infer_err *err)
{
	static const char *const must_be_off[] = { "single_word", "lstrip", "rstrip" };
	const char *s = json_string_value(json_object_get(x, "content"));
	bool special = json_is_true(json_object_get(x, "special"));
	uint32_t id;
	int ret;

	if (!s || !*s)
		return cmx_infer_fail(err, -EINVAL, "an entry of added_tokens has no content");
	ret = get_id(json_object_get(x, "id"), s, t->vocab.n, &id, err);
	if (ret)
		return ret;
	for (size_t i = 0; i < sizeof(must_be_off) / sizeof(must_be_off[0]); i++) {
		if (json_is_true(json_object_get(x, must_be_off[i])))
			return cmx_infer_fail(err, -ENOTSUP,
					      "added token '%.64s': %s is set, must be false", s,
					      must_be_off[i]);
	}
	if (t->vocab.token[id].kind != CMX_TOKEN_UNUSED)
		return cmx_infer_fail(err, -EINVAL, "added token '%.64s' has id %u, as has another",
				      s, id);
	return cmx_vocabulary_set(&t->vocab, id, special ? CMX_TOKEN_CONTROL : CMX_TOKEN_USER, s,
				  strlen(s), err);
}

static int read_added(struct cmx_tokenizer *t, const json_t *root, struct cmx_infer_err *err)
{
	const json_t *list = json_object_get(root, "added_tokens");
	int ret = 0;

	if (!is_absent(list) && !json_is_array(list))
		return cmx_infer_fail(err, -EINVAL, "added_tokens is no array");
	for (size_t i = 0; i < json_array_size(list) && !ret; i++)
		ret = set_added(t, json_array_get(list, i), err);
	return ret;
}

/* An id that is an added token as well must be the same text. */
static int check_again(const struct cmx_tokenizer *t, uint32_t id, const char *s, size_t len,
		       struct cmx_infer_err *err)
{
	const struct cmx_token *x = &t->vocab.token[id];

	if ((x->kind == CMX_TOKEN_CONTROL || x->kind == CMX_TOKEN_USER) && x->len == len &&
	    !memcmp(t->vocab.pool + x->at, s, len))
		return 0;
	return cmx_infer_fail(err, -EINVAL,
			      "token '%.64s' of model.vocab has id %u, as has another", s, id);
}

static int read_vocab(struct cmx_tokenizer *t, const json_t *model, struct cmx_infer_err *err)
{
	json_t *vocab = json_object_get(model, "vocab"), *x;
	bool bytes = json_is_true(json_object_get(model, "byte_fallback"));
	const char *s;

	if (!json_is_object(vocab))
		return cmx_infer_fail(err, -EINVAL, "model.vocab is missing or no object");
	json_object_foreach(vocab, s, x) {
		uint32_t id, kind = CMX_TOKEN_NORMAL;
		int ret = get_id(x, s, t->vocab.n, &id, err);

		if (ret)
			return ret;
		if (bytes && cmx_alphabet_byte_token(s, strlen(s)) >= 0)
			kind = CMX_TOKEN_BYTE;
		if (t->vocab.token[id].kind != CMX_TOKEN_UNUSED)
			ret = check_again(t, id, s, strlen(s), err);
		else
			ret = cmx_vocabulary_set(&t->vocab, id, kind, s, strlen(s), err);
		if (ret)
			return ret;
	}
	return cmx_vocabulary_index(&t->vocab, err);
}

/* "left right", or [left, right] as newer files have it. */
static int add_merge(struct cmx_tokenizer *t, size_t rank, const json_t *x,
		     struct cmx_infer_err *err)
{
	const char *l = json_string_value(json_array_get(x, 0));
	const char *r = json_string_value(json_array_get(x, 1));

	if (json_is_string(x))
		return cmx_tokenizer_add_merge_line(t, rank, json_string_value(x),
						    json_string_length(x), err);
	if (json_array_size(x) == 2 && l && r)
		return cmx_tokenizer_add_merge(t, rank, l, strlen(l), r, strlen(r), err);
	return cmx_infer_fail(err, -EINVAL, "merge %zu is neither a string nor a pair", rank);
}

static int read_merges(struct cmx_tokenizer *t, const json_t *model, struct cmx_infer_err *err)
{
	const json_t *merges = json_object_get(model, "merges");
	size_t n = json_array_size(merges);
	int ret;

	if (!json_is_array(merges))
		return cmx_infer_fail(err, -EINVAL, "model.merges is missing or no array");
	t->ignore_merges = json_is_true(json_object_get(model, "ignore_merges"));
	ret = n ? cmx_merges_init(&t->merges, n, err) : 0;
	for (size_t i = 0; i < n && !ret; i++)
		ret = add_merge(t, i, json_array_get(merges, i), err);
	return ret;
}

static int add_regex(struct cmx_tokenizer *t, const json_t *x, struct cmx_infer_err *err)
{
	const json_t *pattern = json_object_get(json_object_get(x, "pattern"), "Regex");
	const char *behavior = json_string_value(json_object_get(x, "behavior"));

	if (!json_is_string(pattern))
		return cmx_infer_fail(err, -ENOTSUP,
				      "a Split of pre_tokenizer has no pattern.Regex");
	if (!behavior || strcmp(behavior, "Isolated") || json_is_true(json_object_get(x, "invert")))
		return cmx_infer_fail(err, -ENOTSUP,
				      "a Split of pre_tokenizer is not 'Isolated' or is inverted");
	return cmx_pretokenizer_add(&t->pre, json_string_value(pattern),
				    json_string_length(pattern), err);
}

static int add_step(struct cmx_tokenizer *t, const json_t *x, struct cmx_infer_err *err)
{
	if (is_type(x, "Split"))
		return add_regex(t, x, err);
	if (is_type(x, "Digits")) {
		bool single = json_is_true(json_object_get(x, "individual_digits"));

		return cmx_pretokenizer_add(&t->pre, "\\p{N}+", single ? 5 : 6, err);
	}
	if (!is_type(x, "ByteLevel"))
		return cmx_infer_fail(err, -ENOTSUP,
				      "pre_tokenizer has a %.32s, must be Split, Digits or ByteLevel",
				      type_of(x));
	if (json_is_true(json_object_get(x, "add_prefix_space")) ||
	    !json_is_false(json_object_get(x, "use_regex")))
		return cmx_infer_fail(err, -ENOTSUP,
				      "ByteLevel of pre_tokenizer: add_prefix_space and use_regex must be false");
	return 0;
}

static int read_steps(struct cmx_tokenizer *t, const json_t *root, struct cmx_infer_err *err)
{
	const json_t *pre = json_object_get(root, "pre_tokenizer");
	const json_t *list = json_object_get(pre, "pretokenizers");
	size_t n = json_array_size(list);
	int ret = 0;

	if (is_type(pre, "ByteLevel"))
		return add_step(t, pre, err);
	if (!is_type(pre, "Sequence") || !n || !is_type(json_array_get(list, n - 1), "ByteLevel"))
		return cmx_infer_fail(err, -ENOTSUP,
				      "pre_tokenizer is a %.32s, must be a Sequence that ends with ByteLevel",
				      type_of(pre));
	for (size_t i = 0; i < n && !ret; i++)
		ret = add_step(t, json_array_get(list, i), err);
	return ret;
}

static int read_root(struct cmx_tokenizer *t, const json_t *root, struct cmx_infer_err *err)
{
	const json_t *model = json_object_get(root, "model");
	int ret = check_model(model, err);

	if (!ret)
		ret = check_normalizer(root, err);
	if (!ret)
		ret = check_decoder(root, err);
	if (!ret)
		ret = read_steps(t, root, err);
	if (!ret)
		ret = read_added(t, root, err);
	if (!ret)
		ret = read_vocab(t, model, err);
	return ret ? ret : read_merges(t, model, err);
}

/* A token by its text, or by an object with its text as content. */
static int find_named(const struct cmx_tokenizer *t, const json_t *config, const char *key,
		      uint32_t *id, struct cmx_infer_err *err)
{
	const json_t *x = json_object_get(config, key);
	const char *s = json_string_value(json_is_object(x) ? json_object_get(x, "content") : x);

	*id = CMX_NO_TOKEN;
	if (is_absent(x))
		return 0;
	if (s)
		*id = cmx_vocabulary_find_literal(&t->vocab, s, strlen(s));
	if (*id != CMX_NO_TOKEN)
		return 0;
	return cmx_infer_fail(err, -EINVAL, "%s is '%.64s', which is no added token", key,
			      s ? s : "");
}

/* Of its tokenizer_class nothing is taken: the tokenizer.json says all there is to do. */
static int read_config(struct cmx_tokenizer *t, const json_t *config, struct cmx_infer_err *err)
{
	const char *template = json_string_value(json_object_get(config, "chat_template"));
	uint32_t eos;
	int ret = find_named(t, config, "bos_token", &t->bos, err);

	if (!ret)
		ret = find_named(t, config, "eos_token", &eos, err);
	if (ret)
		return ret;
	cmx_tokenizer_add_end(t, eos);
	t->add_bos = json_is_true(json_object_get(config, "add_bos_token"));
	if (t->add_bos && t->bos == CMX_NO_TOKEN)
		return cmx_infer_fail(err, -EINVAL, "add_bos_token is set without bos_token");
	if (template) {
		t->chat_template = strdup(template);
		if (!t->chat_template)
			return cmx_infer_fail(err, -ENOMEM, "no memory for the chat template");
	}
	return 0;
}

/* The configuration beside a tokenizer.json; there need be none. */
static int read_beside(struct cmx_tokenizer *t, const char *path, struct cmx_infer_err *err)
{
	static const char name[] = "tokenizer_config.json";
	const char *slash = strrchr(path, '/');
	size_t dir = slash ? (size_t)(slash - path) + 1 : 0;
	char *beside = malloc(dir + sizeof(name));
	struct cmx_infer_err why = { .text = "" };
	json_t *config = NULL;
	int ret;

	if (!beside)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a path");
	memcpy(beside, path, dir);
	memcpy(beside + dir, name, sizeof(name));
	ret = cmx_json_file_read(beside, JSON_FILE_MAX, &config, err);
	if (!ret) {
		ret = read_config(t, config, &why);
		if (ret)
			cmx_infer_fail(err, ret, "%.120s: %s", beside, why.text);
	} else if (ret == -ENOENT) {
		ret = 0;
	}
	json_decref(config);
	free(beside);
	return ret;
}

static int read_file(struct cmx_tokenizer *t, const char *path, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	json_t *root;
	int ret = cmx_json_file_read(path, JSON_FILE_MAX, &root, err);

	if (ret)
		return ret;
	ret = read_root(t, root, &why);
	json_decref(root);
	return ret ? cmx_infer_fail(err, ret, "%.120s: %s", path, why.text) : 0;
}

int cmx_tokenizer_init_json(struct cmx_tokenizer *t, const char *path, uint32_t vocab,
			    struct cmx_infer_err *err)
{
	int ret;

	memset(t, 0, sizeof(*t));
	t->bos = CMX_NO_TOKEN;
	ret = cmx_vocabulary_init(&t->vocab, vocab, err);
	if (!ret)
		ret = read_file(t, path, err);
	if (!ret)
		ret = read_beside(t, path, err);
	if (!ret)
		cmx_tokenizer_add_end(t, cmx_vocabulary_find_literal(&t->vocab, "<|EOT|>", 7));
	if (ret)
		cmx_tokenizer_free(t);
	return ret;
}
