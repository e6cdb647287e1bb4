// SPDX-License-Identifier: GPL-2.0-only
/*
 * Words and merges as DeepSeek has them. data/dsv3_tokenizer.json has of
 * DeepSeek-V3's vocabulary the bytes, the markers and all tokens and merges
 * that can occur in the texts of data/dsv3_texts.json, so that the ids are
 * those of the whole vocabulary. The ids come from other encoders: eleven texts
 * from two, the rest from one of them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <kselftest_harness.h>

#include "cmx_tokenizer.h"
#include "gguf_make.h"

#define TOKENIZER	"tests/unit/data/dsv3_tokenizer.json"
#define TEXTS		"tests/unit/data/dsv3_texts.json"
#define VOCAB		129280u

static struct cmx_infer_err err;
static struct gguf_make file;

static json_t *load(const char *path)
{
	json_t *x = json_load_file(path, 0, NULL);

	if (!x)
		abort();
	return x;
}

/* Writes @root as the tokenizer.json of a new folder and reads it back. */
static int read_tokenizer(struct cmx_tokenizer *t, const json_t *root, const json_t *config)
{
	char dir[] = "/tmp/cmx-bpe-XXXXXX", path[64], beside[64];
	int ret;

	err.text[0] = 0;
	if (!mkdtemp(dir))
		abort();
	snprintf(path, sizeof(path), "%s/tokenizer.json", dir);
	snprintf(beside, sizeof(beside), "%s/tokenizer_config.json", dir);
	if (json_dump_file(root, path, JSON_COMPACT) ||
	    (config && json_dump_file(config, beside, JSON_COMPACT)))
		abort();
	ret = cmx_tokenizer_init_json(t, path, VOCAB, &err);
	unlink(path);
	unlink(beside);
	rmdir(dir);
	return ret;
}

/* Does the text give the ids, through @map if there is one, and they the text again? */
static int gives(const struct cmx_tokenizer *t, const json_t *row, const uint32_t *map)
{
	const json_t *text = json_object_get(row, "text"), *want = json_object_get(row, "ids");
	const char *s = json_string_value(text);
	uint32_t *ids, n, len, at = 0;
	int same;

	if (cmx_tokenizer_encode(t, s, json_string_length(text), false, &ids, &n, &err))
		return 0;
	same = n == json_array_size(want);
	for (uint32_t i = 0; i < n && same; i++) {
		uint32_t id = (uint32_t)json_integer_value(json_array_get(want, i));
		const char *b = cmx_tokenizer_bytes(t, ids[i], &len);

		same = ids[i] == (map ? map[id] : id) && !memcmp(b, s + at, len);
		at += len;
	}
	free(ids);
	return same && at == json_string_length(text);
}

static uint32_t count_wrong(const struct cmx_tokenizer *t, const char *pre, const uint32_t *map)
{
	json_t *root = load(TEXTS), *row;
	uint32_t wrong = 0, tried = 0;
	size_t i;

	json_array_foreach(json_object_get(root, "texts"), i, row) {
		if (strcmp(json_string_value(json_object_get(row, "pre")), pre))
			continue;
		tried++;
		if (gives(t, row, map))
			continue;
		wrong++;
		fprintf(stderr, "# %s, text %zu: %s\n", pre, i,
			json_string_value(json_object_get(row, "text")));
	}
	json_decref(root);
	return tried > 50 ? wrong : UINT32_MAX;
}

TEST(bug28_tokenizer_json)
{
	struct cmx_tokenizer t;

	ASSERT_EQ(0, cmx_tokenizer_init_json(&t, TOKENIZER, VOCAB, &err)) TH_LOG("%s", err.text);
	EXPECT_EQ(0, count_wrong(&t, "deepseek-v3", NULL));
	cmx_tokenizer_free(&t);
}

/* What the configuration says of a class changes nothing. */
TEST(bug28_tokenizer_class_is_not_asked)
{
	json_t *root = load(TOKENIZER);
	json_t *config = json_pack("{s:s, s:b, s:{s:s}, s:s, s:b, s:b}", "tokenizer_class",
				   "LlamaTokenizerFast", "legacy", 1, "bos_token", "content",
				   "<\uff5cbegin\u2581of\u2581sentence\uff5c>", "eos_token",
				   "<\uff5cend\u2581of\u2581sentence\uff5c>", "add_prefix_space", 1,
				   "add_bos_token", 0);
	struct cmx_tokenizer t;

	ASSERT_EQ(0, read_tokenizer(&t, root, config)) TH_LOG("%s", err.text);
	EXPECT_EQ(0, count_wrong(&t, "deepseek-v3", NULL));
	EXPECT_EQ(0, t.bos);
	EXPECT_TRUE(cmx_tokenizer_is_end(&t, 1));
	EXPECT_TRUE(cmx_tokenizer_is_end(&t, 128805));
	cmx_tokenizer_free(&t);
	json_object_set_new(config, "bos_token", json_string("no such"));
	EXPECT_EQ(-EINVAL, read_tokenizer(&t, root, config));
	EXPECT_NE(NULL, strstr(err.text, "bos_token is 'no such'")) TH_LOG("%s", err.text);
	json_decref(config);
	json_decref(root);
}

/* The same vocabulary in a GGUF file, its ids without gaps. */
static void make_gguf(const char *pre, uint32_t *map, uint32_t *n)
{
	json_t *root = load(TOKENIZER), *model = json_object_get(root, "model"), *x;
	json_t *vocab = json_object_get(model, "vocab"), *merges = json_object_get(model, "merges");
	const char *s;
	size_t i;

	make_header(&file, 0, 5);
	make_kv_string(&file, "tokenizer.ggml.model", "gpt2");
	make_kv_string(&file, "tokenizer.ggml.pre", pre);
	make_kv_array(&file, "tokenizer.ggml.tokens", CMX_GGUF_STRING, json_object_size(vocab));
	*n = 0;
	json_object_foreach(vocab, s, x) {
		make_string(&file, s);
		map[json_integer_value(x)] = (*n)++;
	}
	make_kv_array(&file, "tokenizer.ggml.token_type", CMX_GGUF_I32, *n);
	json_object_foreach(vocab, s, x)
		make_u32(&file, json_integer_value(x) < 3 ? CMX_TOKEN_CONTROL : CMX_TOKEN_NORMAL);
	make_kv_array(&file, "tokenizer.ggml.merges", CMX_GGUF_STRING, json_array_size(merges));
	json_array_foreach(merges, i, x)
		make_string(&file, json_string_value(x));
	json_decref(root);
}

TEST(bug28_gguf)
{
	static const char *const pre[] = { "deepseek-v3", "deepseek-llm", "deepseek-coder" };
	static uint32_t map[VOCAB];
	uint32_t n;

	for (size_t i = 0; i < 3; i++) {
		struct cmx_tokenizer t;
		struct cmx_gguf *g;

		make_gguf(pre[i], map, &n);
		ASSERT_EQ(0, make_open(&file, file.len, &g, &err));
		ASSERT_EQ(0, cmx_tokenizer_init(&t, g, n, &err)) TH_LOG("%s", err.text);
		EXPECT_EQ(0, count_wrong(&t, pre[i], map));
		cmx_tokenizer_free(&t);
		cmx_gguf_close(g);
	}
}

TEST(bug28_digits_and_spaces)
{
	struct cmx_tokenizer t;
	uint32_t *ids, n;

	ASSERT_EQ(0, cmx_tokenizer_init_json(&t, TOKENIZER, VOCAB, &err));
	ASSERT_EQ(0, cmx_tokenizer_encode(&t, "12345678", 8, false, &ids, &n, &err));
	EXPECT_EQ(3, n);
	free(ids);
	ASSERT_EQ(0, cmx_tokenizer_encode(&t, "  x", 3, false, &ids, &n, &err));
	EXPECT_EQ(2, n);
	EXPECT_EQ(t.vocab.byte_id[' '], ids[0]);
	free(ids);
	cmx_tokenizer_free(&t);
}

/* A text with "<|EOT|>" and one with a marker of the full-width kind. */
TEST(control_tokens_only_where_allowed)
{
	static const char text[] = "a<\uff5cUser\uff5c>b<|EOT|><\uff5c";
	struct cmx_tokenizer t;
	uint32_t *ids, n, markers = 0;

	ASSERT_EQ(0, cmx_tokenizer_init_json(&t, TOKENIZER, VOCAB, &err));
	ASSERT_EQ(0, cmx_tokenizer_encode(&t, text, strlen(text), true, &ids, &n, &err));
	EXPECT_EQ(128803, ids[1]);
	EXPECT_EQ(128805, ids[3]);
	free(ids);
	ASSERT_EQ(0, cmx_tokenizer_encode(&t, text, strlen(text), false, &ids, &n, &err));
	for (uint32_t i = 0; i < n; i++)
		markers += ids[i] < 3 || ids[i] >= 128000;
	EXPECT_EQ(0, markers);
	free(ids);
	cmx_tokenizer_free(&t);
}

static uint64_t seed;

static uint32_t roll(uint32_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % n;
}

static size_t put_code(uint32_t c, char *out)
{
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	out[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xff) | c >> 6 * (n - 1));
	for (size_t i = 1; i < n; i++)
		out[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
	return n;
}

/* @valid: characters of all planes, else any bytes. Room for 4 * n. */
static size_t random_text(char *out, uint32_t n, bool valid)
{
	static const uint32_t limits[] = { 0x80, 0x80, 0x250, 0x3100, 0xa000, 0x110000 };
	size_t len = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t c = roll(limits[roll(6)]);

		if (!valid)
			out[len++] = (char)roll(256);
		else if (c < 0xd800 || c > 0xdfff)
			len += put_code(c, out + len);
	}
	return len;
}

static int comes_back(const struct cmx_tokenizer *t, const char *s, size_t n, uint32_t *n_ids)
{
	uint32_t *ids, len;
	size_t at = 0;
	int same = 1;

	if (cmx_tokenizer_encode(t, s, n, false, &ids, n_ids, &err))
		return 0;
	for (uint32_t i = 0; i < *n_ids && same; i++) {
		const char *b = cmx_tokenizer_bytes(t, ids[i], &len);

		same = len && len <= n - at && !memcmp(s + at, b, len);
		at += len;
	}
	free(ids);
	return same && at == n;
}

TEST(any_text_comes_back)
{
	static const char *const pre[] = { "deepseek-v3", "deepseek-llm", "deepseek-coder" };
	static uint32_t map[VOCAB];
	char text[400];
	uint32_t n;

	for (uint32_t i = 0; i < 3; i++) {
		struct cmx_tokenizer t;
		struct cmx_gguf *g;

		seed = i;
		make_gguf(pre[i], map, &n);
		ASSERT_EQ(0, make_open(&file, file.len, &g, &err));
		ASSERT_EQ(0, cmx_tokenizer_init(&t, g, n, &err));
		for (uint32_t round = 0; round < 3000; round++) {
			size_t len = random_text(text, round % 100, round % 2);

			ASSERT_TRUE(comes_back(&t, text, len, &n)) TH_LOG("round %u", round);
		}
		cmx_tokenizer_free(&t);
		cmx_gguf_close(g);
	}
}

/* One word of a megabyte and text of a megabyte: no more than seconds. */
TEST(a_megabyte)
{
	const size_t size = 1 << 20;
	char *text = malloc(size);
	struct cmx_tokenizer t;
	uint32_t n;

	ASSERT_EQ(0, cmx_tokenizer_init_json(&t, TOKENIZER, VOCAB, &err));
	memset(text, 'e', size);
	EXPECT_TRUE(comes_back(&t, text, size, &n));
	memset(text, ' ', size);
	text[size - 1] = 'x';
	EXPECT_TRUE(comes_back(&t, text, size, &n));
	for (size_t i = 0; i < size; i++)
		text[i] = "the quick "[i % 10];
	EXPECT_TRUE(comes_back(&t, text, size, &n));
	EXPECT_GT(size / 3, n);
	random_text(text, (uint32_t)size, false);
	EXPECT_TRUE(comes_back(&t, text, size, &n));
	cmx_tokenizer_free(&t);
	free(text);
}

/* Merges by definition: always the lowest rank there is, the leftmost of equal ones. */
static size_t naive_merges(const struct cmx_merges *m, uint32_t *id, size_t n)
{
	for (;;) {
		uint32_t best = m->n;
		size_t at = 0;

		for (size_t i = 0; i + 1 < n; i++) {
			for (uint32_t r = 0; r < best; r++) {
				if (m->merge[r].left == id[i] && m->merge[r].right == id[i + 1]) {
					best = r;
					at = i;
				}
			}
		}
		if (best == m->n)
			return n;
		id[at] = m->merge[best].result;
		memmove(id + at + 1, id + at + 2, (n - at - 2) * sizeof(*id));
		n--;
	}
}

TEST(merges_by_definition)
{
	struct cmx_merge_work w = { 0 };

	seed = 9;
	for (uint32_t round = 0; round < 3000; round++) {
		uint32_t want[60], letters = 2 + roll(4), n = roll(60), got;
		struct cmx_merges m;

		ASSERT_EQ(0, cmx_merges_init(&m, 40, &err));
		for (uint32_t i = 0; i < 40; i++)
			cmx_merges_add(&m, roll(letters + i), roll(letters + i), roll(letters + i));
		ASSERT_EQ(0, cmx_merge_work_reserve(&w, 60, &err));
		for (uint32_t i = 0; i < n; i++)
			want[i] = roll(letters);
		memcpy(w.id, want, n * sizeof(*want));
		got = (uint32_t)cmx_merges_apply(&m, &w, n);
		n = (uint32_t)naive_merges(&m, want, n);
		ASSERT_EQ(n, got);
		ASSERT_EQ(0, memcmp(want, w.id, n * sizeof(*want)));
		cmx_merges_free(&m);
	}
	cmx_merge_work_free(&w);
}

TEST_HARNESS_MAIN
