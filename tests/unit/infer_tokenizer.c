// SPDX-License-Identifier: GPL-2.0-only
/* Byte-level tokens in and out; text that never shows half a character. */
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
static void make_vocab(const char *merge)
{
	char text[8];

	make_header(&file, 0, 7);
	make_kv_string(&file, "tokenizer.ggml.model", "gpt2");
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

	make_vocab(NULL);
	ASSERT_EQ(0, open_tokenizer(&t, VOCAB)) TH_LOG("%s", err.text);
	for (int i = 0; i < 256; i++)
		text[i] = (char)i;
	ASSERT_EQ(0, cmx_tokenizer_encode(&t, text, 256, &ids, &n, &err));
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

	make_vocab(NULL);
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
	uint32_t *ids, n;

	make_vocab("t h");
	ASSERT_EQ(0, open_tokenizer(&t, VOCAB));
	EXPECT_EQ(-ENOTSUP, cmx_tokenizer_encode(&t, "x", 1, &ids, &n, &err));
	cmx_tokenizer_free(&t);
	EXPECT_EQ(-EINVAL, open_tokenizer(&t, VOCAB + 1));
	EXPECT_NE(NULL, strstr(err.text, "262 entries"));
	make_header(&file, 0, 1);
	make_kv_string(&file, "tokenizer.ggml.model", "llama");
	EXPECT_EQ(-ENOTSUP, open_tokenizer(&t, VOCAB));
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
	EXPECT_EQ(-EINVAL, cmx_tokenizer_encode(&t, "ab", 2, &ids, &n, &err));
	EXPECT_NE(NULL, strstr(err.text, "byte 1 is 0x62"));
	ASSERT_EQ(0, cmx_tokenizer_encode(&t, "aa", 2, &ids, &n, &err));
	EXPECT_EQ(2, n);
	free(ids);
	cmx_tokenizer_free(&t);
}

/* Streams @in and checks that each piece that comes out is whole. */
static int streams_to(const char *in, size_t len, const char *want)
{
	struct cmx_text_stream s = { .n = 0 };
	char out[64], piece[CMX_TEXT_MAX];
	size_t n = 0;

	for (size_t i = 0; i <= len; i++) {
		uint32_t got = i < len ? cmx_text_put(&s, (uint8_t)in[i], piece) :
					 cmx_text_end(&s, piece);

		if (got && ((uint8_t)piece[0] & 0xc0) == 0x80)
			return 0;
		memcpy(out + n, piece, got);
		n += got;
	}
	return n == strlen(want) && !memcmp(out, want, n);
}

#define BAD "\xef\xbf\xbd"

TEST(characters_come_whole)
{
	EXPECT_TRUE(streams_to("plain", 5, "plain"));
	EXPECT_TRUE(streams_to("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9,
			       "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
	EXPECT_TRUE(streams_to("\xe2\x82z", 3, BAD "z"));
	EXPECT_TRUE(streams_to("\xe2\x82", 2, BAD));
	EXPECT_TRUE(streams_to("\x80z", 2, BAD "z"));
	EXPECT_TRUE(streams_to("\xff\xfe", 2, BAD BAD));
	EXPECT_TRUE(streams_to("\xc0\x80", 2, BAD BAD));
	EXPECT_TRUE(streams_to("\xed\xa0\x80", 3, BAD BAD BAD));
	EXPECT_TRUE(streams_to("\xe2\xe2\x82\xac", 4, BAD "\xe2\x82\xac"));
}

TEST_HARNESS_MAIN
