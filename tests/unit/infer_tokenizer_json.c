// SPDX-License-Identifier: GPL-2.0-only
/* tokenizer.json files: what is refused, and with which words. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>
#include <kselftest_harness.h>

#include "cmx_tokenizer.h"

#define VOCAB	300u

static struct cmx_infer_err err;

/* A small whole one: four letters, two merges, a marker, a literal. */
static const char small[] =
	"{'normalizer': null, 'decoder': {'type': 'ByteLevel'},"
	" 'pre_tokenizer': {'type': 'Sequence', 'pretokenizers': ["
	"  {'type': 'Split', 'pattern': {'Regex': '\\\\s?\\\\p{L}+'}, 'behavior': 'Isolated'},"
	"  {'type': 'Digits', 'individual_digits': true},"
	"  {'type': 'ByteLevel', 'use_regex': false}]},"
	" 'added_tokens': ["
	"  {'id': 20, 'content': '<s>', 'special': true},"
	"  {'id': 21, 'content': '[x]', 'special': false},"
	"  {'id': 22, 'content': '<|role|>', 'special': false}],"
	" 'model': {'type': 'BPE', 'byte_fallback': true, 'ignore_merges': false,"
	"  'vocab': {'a': 0, 'b': 1, 'ab': 2, 'abb': 3, 'bb': 4, '<0x63>': 5, '1': 6, '11': 7,"
	"   '\\u0120': 8},"
	"  'merges': ['a b', ['ab', 'b'], 'b b', '1 1']}}";

static json_t *make_small(void)
{
	char text[sizeof(small)];
	json_t *x;

	memcpy(text, small, sizeof(small));
	for (char *p = text; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	x = json_loads(text, 0, NULL);
	if (!x)
		abort();
	return x;
}

static int read_text(struct cmx_tokenizer *t, const char *text, size_t len)
{
	char path[] = "/tmp/cmx-tokenizer-XXXXXX";
	int fd = mkstemp(path), ret;

	err.text[0] = 0;
	if (fd < 0 || write(fd, text, len) != (ssize_t)len)
		abort();
	close(fd);
	ret = cmx_tokenizer_init_json(t, path, VOCAB, &err);
	unlink(path);
	return ret;
}

static int read_json(struct cmx_tokenizer *t, const json_t *root)
{
	char *text = json_dumps(root, 0);
	int ret = read_text(t, text, strlen(text));

	free(text);
	return ret;
}

static int encodes(const struct cmx_tokenizer *t, const char *text, const char *want)
{
	char got[256] = "";
	uint32_t *ids, n;

	if (cmx_tokenizer_encode(t, text, strlen(text), false, &ids, &n, &err))
		return 0;
	for (uint32_t i = 0; i < n; i++)
		sprintf(got + strlen(got), "%u ", ids[i]);
	free(ids);
	if (strcmp(got, want))
		fprintf(stderr, "# '%s' gave %s\n", text, got);
	return !strcmp(got, want);
}

TEST(a_small_one)
{
	json_t *root = make_small();
	struct cmx_tokenizer t;

	ASSERT_EQ(0, read_json(&t, root)) TH_LOG("%s", err.text);
	EXPECT_TRUE(encodes(&t, "abb", "3 "));
	EXPECT_TRUE(encodes(&t, "abbb", "3 1 "));
	EXPECT_TRUE(encodes(&t, "bba", "4 0 "));
	EXPECT_TRUE(encodes(&t, "bab[x]b", "1 2 21 1 "));
	EXPECT_TRUE(encodes(&t, "a ab11", "0 8 2 6 6 "));
	EXPECT_TRUE(encodes(&t, "cab", "5 2 "));
	EXPECT_FALSE(encodes(&t, "<|role|>", "22 "));
	EXPECT_NE(NULL, strstr(err.text, "which no token stands for"));
	EXPECT_FALSE(encodes(&t, "abz", ""));
	EXPECT_STREQ("text byte 2 is 0x7a, which no token stands for", err.text);
	EXPECT_EQ(CMX_NO_TOKEN, t.bos);
	cmx_tokenizer_free(&t);
	json_decref(root);
}

TEST(words_that_are_tokens)
{
	json_t *root = make_small(), *model = json_object_get(root, "model");
	struct cmx_tokenizer t;

	json_object_set_new(json_object_get(model, "vocab"), "abbb", json_integer(9));
	ASSERT_EQ(0, read_json(&t, root));
	EXPECT_TRUE(encodes(&t, "abbb", "3 1 "));
	cmx_tokenizer_free(&t);
	json_object_set_new(model, "ignore_merges", json_true());
	ASSERT_EQ(0, read_json(&t, root));
	EXPECT_TRUE(encodes(&t, "abbb", "9 "));
	cmx_tokenizer_free(&t);
	json_decref(root);
}

/* Sets @key of the object at @path ("model.vocab") to a value and expects @word. */
static int refused(const char *path, const char *key, const char *value, const char *word)
{
	json_t *root = make_small(), *at = root;
	json_t *x = value ? json_loads(value, JSON_DECODE_ANY, NULL) : NULL;
	char part[64];
	struct cmx_tokenizer t;
	int ret;

	if (value && !x)
		abort();
	for (int n; sscanf(path, "%63[^.]%n", part, &n) == 1; path += n + (path[n] == '.'))
		at = json_is_array(at) ? json_array_get(at, (size_t)atoi(part)) :
					 json_object_get(at, part);
	if (x)
		json_object_set_new(at, key, x);
	else
		json_object_del(at, key);
	ret = read_json(&t, root);
	json_decref(root);
	if (!ret)
		cmx_tokenizer_free(&t);
	if (ret < 0 && strstr(err.text, word))
		return 1;
	fprintf(stderr, "# %s: %d %s\n", word, ret, err.text);
	return 0;
}

TEST(settings_that_are_refused)
{
	EXPECT_TRUE(refused("", "model", NULL, "model.type is 'none'"));
	EXPECT_TRUE(refused("model", "type", "\"Unigram\"", "is 'Unigram', must be 'BPE'"));
	EXPECT_TRUE(refused("model", "dropout", "0.1", "model.dropout is set"));
	EXPECT_TRUE(refused("model", "unk_token", "\"<unk>\"", "model.unk_token is set"));
	EXPECT_TRUE(refused("model", "end_of_word_suffix", "\"</w>\"", "suffix is set"));
	EXPECT_TRUE(refused("", "normalizer", "{\"type\": \"NFC\"}", "normalizer is a NFC"));
	EXPECT_TRUE(refused("", "decoder", "{\"type\": \"Metaspace\"}", "decoder is a Metaspace"));
	EXPECT_TRUE(refused("", "pre_tokenizer", "null", "pre_tokenizer is a none"));
	EXPECT_TRUE(refused("pre_tokenizer", "pretokenizers", "[]", "must be a Sequence"));
	EXPECT_TRUE(refused("pre_tokenizer.pretokenizers.0", "behavior", "\"Removed\"",
			    "not 'Isolated'"));
	EXPECT_TRUE(refused("pre_tokenizer.pretokenizers.0", "invert", "true", "is inverted"));
	EXPECT_TRUE(refused("pre_tokenizer.pretokenizers.0", "pattern", "{\"String\": \"x\"}",
			    "no pattern.Regex"));
	EXPECT_TRUE(refused("pre_tokenizer.pretokenizers.0.pattern", "Regex", "\"(x+)+\"",
			    "pattern '(x+)+' is none of those"));
	EXPECT_TRUE(refused("pre_tokenizer.pretokenizers.1", "type", "\"Whitespace\"",
			    "pre_tokenizer has a Whitespace"));
	EXPECT_TRUE(refused("pre_tokenizer.pretokenizers.2", "use_regex", NULL, "use_regex"));
	EXPECT_TRUE(refused("pre_tokenizer.pretokenizers.2", "add_prefix_space", "true",
			    "add_prefix_space"));
}

TEST(tokens_that_are_refused)
{
	EXPECT_TRUE(refused("model", "vocab", "[]", "model.vocab is missing"));
	EXPECT_TRUE(refused("model.vocab", "x", "300", "token 'x' has no id or id 300"));
	EXPECT_TRUE(refused("model.vocab", "x", "-1", "id -1, must be below 300"));
	EXPECT_TRUE(refused("model.vocab", "x", "\"7\"", "token 'x' has no id"));
	EXPECT_TRUE(refused("model.vocab", "x", "2", "has id 2, as has another"));
	EXPECT_TRUE(refused("model.vocab", "x", "20", "has id 20, as has another"));
	EXPECT_TRUE(refused("model.vocab", "a b", "30", "is not in the byte-level alphabet"));
	EXPECT_TRUE(refused("", "added_tokens", "{}", "added_tokens is no array"));
	EXPECT_TRUE(refused("added_tokens.0", "content", "\"\"", "has no content"));
	EXPECT_TRUE(refused("added_tokens.0", "content", NULL, "has no content"));
	EXPECT_TRUE(refused("added_tokens.0", "id", "21", "has id 21, as has another"));
	EXPECT_TRUE(refused("added_tokens.1", "lstrip", "true", "lstrip is set"));
	EXPECT_TRUE(refused("model", "merges", NULL, "model.merges is missing"));
	EXPECT_TRUE(refused("model", "merges", "[1]", "merge 0 is neither"));
	EXPECT_TRUE(refused("model", "merges", "[[\"a\"]]", "merge 0 is neither"));
	EXPECT_TRUE(refused("model", "merges", "[\"a b\", \"a b\"]", "1 'ab' is there twice"));
	EXPECT_TRUE(refused("model", "merges", "[\"b a\"]", "a side or a result that is no token"));
}

TEST(files_that_are_no_json)
{
	struct cmx_tokenizer t;
	json_t *root = make_small();
	char *text = json_dumps(root, 0);

	EXPECT_EQ(-EINVAL, read_text(&t, "", 0));
	EXPECT_EQ(-EINVAL, read_text(&t, "[]", 2));
	EXPECT_NE(NULL, strstr(err.text, "is no JSON object"));
	EXPECT_EQ(-EINVAL, read_text(&t, "{\"a\": 1, \"a\": 2}", 16));
	EXPECT_NE(NULL, strstr(err.text, "duplicate"));
	for (size_t len = 0; len < strlen(text); len += 7)
		EXPECT_EQ(-EINVAL, read_text(&t, text, len));
	EXPECT_EQ(-ENOENT, cmx_tokenizer_init_json(&t, "/tmp/no/such", VOCAB, &err));
	EXPECT_EQ(-EINVAL, cmx_tokenizer_init_json(&t, "/dev/null", VOCAB, &err));
	EXPECT_NE(NULL, strstr(err.text, "not a regular file"));
	EXPECT_EQ(-EINVAL, cmx_tokenizer_init_json(&t, "/tmp", VOCAB, &err));
	free(text);
	json_decref(root);
}

/* Any byte another one: refused, or taken for what it says. */
TEST(every_byte_changed)
{
	json_t *root = make_small();
	char *text = json_dumps(root, JSON_COMPACT);
	size_t len = strlen(text);
	struct cmx_tokenizer t;
	int ret;

	for (size_t i = 0; i < len; i++) {
		char was = text[i];

		text[i] ^= i % 3 ? 1 : 0x15;
		ret = read_text(&t, text, len);
		EXPECT_TRUE(!ret || strlen(err.text));
		if (!ret)
			cmx_tokenizer_free(&t);
		text[i] = was;
	}
	free(text);
	json_decref(root);
}

TEST_HARNESS_MAIN
