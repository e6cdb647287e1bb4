// SPDX-License-Identifier: GPL-2.0-only
/* Vocabularies in GGUF files: kinds of tokens, and what is refused. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_tokenizer.h"
#include "gguf_make.h"

#define VOCAB 262u

static struct gguf_make file;
static struct cmx_infer_err err;

/* The character that stands for a byte, written here by the published rule. */
static void alphabet(uint8_t byte, char *out)
{
	uint32_t code = byte, next = 256;

	for (uint32_t b = 0; b < 256; b++) {
		int plain = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) ||
			    (b >= 0xae && b <= 0xff);

		if (!plain && b == byte)
			code = next;
		next += !plain;
	}
	if (code < 128) {
		*out++ = (char)code;
	} else {
		*out++ = (char)(0xc0 | code >> 6);
		*out++ = (char)(0x80 | (code & 63));
	}
	*out = 0;
}

/* BOS, EOS, then the bytes backwards, a literal, a byte token, one unused. */
static void make_vocab(const char *pre, const char *merge)
{
	char text[8];

	make_header(&file, 0, pre ? 8 : 7);
	make_kv_string(&file, "tokenizer.ggml.model", "gpt2");
	if (pre)
		make_kv_string(&file, "tokenizer.ggml.pre", pre);
	make_kv_array(&file, "tokenizer.ggml.tokens", CMX_GGUF_STRING, VOCAB);
	make_string(&file, "<bos>");
	make_string(&file, "<eos>");
	for (uint32_t i = 0; i < 256; i++) {
		alphabet((uint8_t)(255 - i), text);
		make_string(&file, text);
	}
	make_string(&file, "a literal");
	make_string(&file, "<0xC3>");
	make_string(&file, "[PAD]");
	make_string(&file, "th");
	make_kv_array(&file, "tokenizer.ggml.token_type", CMX_GGUF_I32, VOCAB);
	for (uint32_t i = 0; i < VOCAB; i++)
		make_u32(&file, i < 2 ? 3 : i < 258 ? 1 : i == 258 ? 4 : i == 259 ? 6 :
			 i == 260 ? 5 : 1);
	make_kv_array(&file, "tokenizer.ggml.merges", CMX_GGUF_STRING, merge ? 1 : 0);
	if (merge)
		make_string(&file, merge);
	make_kv_u32(&file, "tokenizer.ggml.bos_token_id", 0);
	make_kv_u32(&file, "tokenizer.ggml.eos_token_id", 1);
	make_kv_bool(&file, "tokenizer.ggml.add_bos_token", 1);
}

static int open_tokenizer(struct cmx_tokenizer *t, uint32_t vocab)
{
	struct cmx_gguf *g;
	int ret = make_open(&file, file.len, &g, &err);

	if (!ret)
		ret = cmx_tokenizer_init(t, g, vocab, &err);
	cmx_gguf_close(g);
	return ret;
}

TEST(every_byte_goes_there_and_back)
{
	struct cmx_tokenizer t;
	uint32_t *ids, n, len;
	char text[256];

	make_vocab(NULL, NULL);
	ASSERT_EQ(0, open_tokenizer(&t, VOCAB)) TH_LOG("%s", err.text);
	for (int i = 0; i < 256; i++)
		text[i] = (char)i;
	ASSERT_EQ(0, cmx_tokenizer_encode(&t, text, 256, false, &ids, &n, &err));
	ASSERT_EQ(257, n);
	EXPECT_EQ(0, ids[0]);
	for (uint32_t i = 0; i < 256; i++) {
		EXPECT_EQ(257 - i, ids[i + 1]);
		EXPECT_EQ(i, (uint8_t)*cmx_tokenizer_bytes(&t, ids[i + 1], &len));
		EXPECT_EQ(1, len);
	}
	free(ids);
	cmx_tokenizer_free(&t);
}

TEST(kinds_of_tokens)
{
	struct cmx_tokenizer t;
	const char *b;
	uint32_t len;

	make_vocab(NULL, NULL);
	ASSERT_EQ(0, open_tokenizer(&t, VOCAB));
	EXPECT_EQ(NULL, cmx_tokenizer_bytes(&t, 0, &len));
	EXPECT_EQ(NULL, cmx_tokenizer_bytes(&t, 260, &len));
	EXPECT_EQ(NULL, cmx_tokenizer_bytes(&t, VOCAB, &len));
	b = cmx_tokenizer_bytes(&t, 258, &len);
	EXPECT_TRUE(len == 9 && !memcmp(b, "a literal", 9));
	b = cmx_tokenizer_bytes(&t, 259, &len);
	EXPECT_TRUE(len == 1 && (uint8_t)*b == 0xc3);
	b = cmx_tokenizer_bytes(&t, 261, &len);
	EXPECT_TRUE(len == 2 && !memcmp(b, "th", 2));
	cmx_tokenizer_free(&t);
}

TEST(refusals)
{
	struct cmx_tokenizer t;

	make_vocab(NULL, NULL);
	EXPECT_EQ(-EINVAL, open_tokenizer(&t, VOCAB + 1));
	EXPECT_NE(NULL, strstr(err.text, "262 entries"));
	make_header(&file, 0, 1);
	make_kv_string(&file, "tokenizer.ggml.model", "llama");
	EXPECT_EQ(-ENOTSUP, open_tokenizer(&t, VOCAB));
}

TEST(one_merge)
{
	static const uint32_t want[] = { 0, 257 - 'x', 261, 257 - 't', 258, 261 };
	struct cmx_tokenizer t;
	uint32_t *ids, n;

	make_vocab("deepseek-v3", "t h");
	ASSERT_EQ(0, open_tokenizer(&t, VOCAB)) TH_LOG("%s", err.text);
	ASSERT_EQ(0, cmx_tokenizer_encode(&t, "xthta literalth", 15, false, &ids, &n, &err));
	ASSERT_EQ(6, n);
	EXPECT_EQ(0, memcmp(ids, want, sizeof(want)));
	EXPECT_TRUE(cmx_tokenizer_is_end(&t, 1));
	EXPECT_FALSE(cmx_tokenizer_is_end(&t, 0));
	free(ids);
	cmx_tokenizer_free(&t);
}

static int refused(const char *pre, const char *merge, const char *word)
{
	struct cmx_tokenizer t;

	make_vocab(pre, merge);
	return open_tokenizer(&t, VOCAB) < 0 && strstr(err.text, word);
}

TEST(merges_that_make_no_sense)
{
	EXPECT_TRUE(refused(NULL, "t h", "tokenizer.ggml.pre is missing")) TH_LOG("%s", err.text);
	EXPECT_TRUE(refused("llama-bpe", "t h", "is 'llama-bpe', must be deepseek-v3"));
	EXPECT_TRUE(refused("deepseek-v3", "th", "merge 0 'th' is not two words"));
	EXPECT_TRUE(refused("deepseek-v3", "t h e", "is not two words"));
	EXPECT_TRUE(refused("deepseek-v3", "", "is not two words"));
	EXPECT_TRUE(refused("deepseek-v3", " th", "a side or a result that is no token"));
	EXPECT_TRUE(refused("deepseek-v3", "t e", "a side or a result that is no token"));
	EXPECT_TRUE(refused("deepseek-v3", "t \xef\xbc\x81", "is not in the byte-level alphabet"));
	EXPECT_TRUE(refused("deepseek-v3", "t \xff", "is not in the byte-level alphabet"));
}

/* Each header byte in turn: whatever it says, no more than an error. */
TEST(every_byte_changed)
{
	static const uint8_t flips[] = { 0x01, 0x80, 0xff };
	struct cmx_tokenizer t;
	int ret;

	make_vocab("deepseek-v3", "t h");
	for (size_t i = 0; i < file.len; i++) {
		for (size_t j = 0; j < sizeof(flips); j++) {
			file.buf[i] ^= flips[j];
			ret = open_tokenizer(&t, VOCAB);
			EXPECT_TRUE(!ret || err.text[0]);
			if (!ret)
				cmx_tokenizer_free(&t);
			file.buf[i] ^= flips[j];
		}
	}
}

TEST(text_without_a_token)
{
	struct cmx_tokenizer t;
	uint32_t *ids, n;

	make_header(&file, 0, 2);
	make_kv_string(&file, "tokenizer.ggml.model", "gpt2");
	make_kv_array(&file, "tokenizer.ggml.tokens", CMX_GGUF_STRING, 1);
	make_string(&file, "a");
	ASSERT_EQ(0, open_tokenizer(&t, 1)) TH_LOG("%s", err.text);
	EXPECT_EQ(-EINVAL, cmx_tokenizer_encode(&t, "ab", 2, false, &ids, &n, &err));
	EXPECT_NE(NULL, strstr(err.text, "byte 1 is 0x62"));
	ASSERT_EQ(0, cmx_tokenizer_encode(&t, "aa", 2, false, &ids, &n, &err));
	EXPECT_EQ(2, n);
	free(ids);
	cmx_tokenizer_free(&t);
}

TEST_HARNESS_MAIN
