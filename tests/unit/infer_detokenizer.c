// SPDX-License-Identifier: GPL-2.0-only
/* Text on its way out: whole characters only, and nothing of a stop string. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_detokenizer.h"

static struct cmx_infer_err err;

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

/* A vocabulary of given texts, each a user token. */
static void make_tokens(struct cmx_tokenizer *t, const char *const *text, uint32_t n)
{
	memset(t, 0, sizeof(*t));
	if (cmx_vocabulary_init(&t->vocab, n + 1, &err))
		abort();
	for (uint32_t i = 0; i < n; i++) {
		if (cmx_vocabulary_set(&t->vocab, i, CMX_TOKEN_USER, text[i], strlen(text[i]),
				       &err))
			abort();
	}
	if (cmx_vocabulary_set(&t->vocab, n, CMX_TOKEN_CONTROL, "<|end|>", 7, &err) ||
	    cmx_vocabulary_index(&t->vocab, &err))
		abort();
}

struct seen {
	char text[4096];
	uint32_t n;
};

static void see(void *arg, const char *s, uint32_t n)
{
	struct seen *x = arg;

	if (n > sizeof(x->text) - x->n || ((uint8_t)*s & 0xc0) == 0x80)
		abort();
	memcpy(x->text + x->n, s, n);
	x->n += n;
}

static int seen_is(const struct seen *x, const char *want)
{
	return x->n == strlen(want) && !memcmp(x->text, want, x->n);
}

TEST(half_a_character_waits_for_the_next_token)
{
	static const char *const text[] = { "a\xe6\x97", "\xa5", "\xf0\x9f", "b" };
	struct cmx_tokenizer t;
	struct cmx_detokenizer d;
	struct seen x = { .n = 0 };

	make_tokens(&t, text, 4);
	ASSERT_EQ(0, cmx_detokenizer_init(&d, &t, NULL, 0, see, &x, &err));
	EXPECT_FALSE(cmx_detokenizer_put(&d, 0));
	EXPECT_TRUE(seen_is(&x, "a"));
	EXPECT_FALSE(cmx_detokenizer_put(&d, 1));
	EXPECT_TRUE(seen_is(&x, "a\xe6\x97\xa5"));
	EXPECT_FALSE(cmx_detokenizer_put(&d, 4));
	EXPECT_FALSE(cmx_detokenizer_put(&d, 2));
	EXPECT_TRUE(seen_is(&x, "a\xe6\x97\xa5"));
	EXPECT_FALSE(cmx_detokenizer_put(&d, 3));
	EXPECT_TRUE(seen_is(&x, "a\xe6\x97\xa5" BAD "b"));
	EXPECT_FALSE(cmx_detokenizer_put(&d, 2));
	cmx_detokenizer_end(&d);
	EXPECT_TRUE(seen_is(&x, "a\xe6\x97\xa5" BAD "b" BAD));
	cmx_detokenizer_free(&d);
	cmx_tokenizer_free(&t);
}

TEST(a_stop_string_across_tokens)
{
	static const char *const text[] = { "Hello\n", "\nUs", "er: more", "\nUx" };
	static const char *const stop[] = { "\n\nUser:", "never" };
	struct cmx_tokenizer t;
	struct cmx_detokenizer d;
	struct seen x = { .n = 0 };

	make_tokens(&t, text, 4);
	ASSERT_EQ(0, cmx_detokenizer_init(&d, &t, stop, 2, see, &x, &err));
	EXPECT_FALSE(cmx_detokenizer_put(&d, 0));
	EXPECT_TRUE(seen_is(&x, "Hello"));
	EXPECT_FALSE(cmx_detokenizer_put(&d, 3));
	EXPECT_TRUE(seen_is(&x, "Hello\n\nUx"));
	EXPECT_FALSE(cmx_detokenizer_put(&d, 0));
	EXPECT_FALSE(cmx_detokenizer_put(&d, 1));
	EXPECT_TRUE(seen_is(&x, "Hello\n\nUxHello"));
	EXPECT_TRUE(cmx_detokenizer_put(&d, 2));
	EXPECT_TRUE(cmx_detokenizer_put(&d, 0));
	cmx_detokenizer_end(&d);
	EXPECT_TRUE(seen_is(&x, "Hello\n\nUxHello"));
	cmx_detokenizer_free(&d);
	cmx_tokenizer_free(&t);
}

TEST(what_was_held_back_comes_at_the_end)
{
	static const char *const text[] = { "one ST", "OPnot" };
	static const char *const stop[] = { "STOPPED" };
	struct cmx_tokenizer t;
	struct cmx_detokenizer d;
	struct seen x = { .n = 0 };

	make_tokens(&t, text, 2);
	ASSERT_EQ(0, cmx_detokenizer_init(&d, &t, stop, 1, see, &x, &err));
	cmx_detokenizer_put(&d, 0);
	EXPECT_TRUE(seen_is(&x, "one "));
	cmx_detokenizer_end(&d);
	EXPECT_TRUE(seen_is(&x, "one ST"));
	cmx_detokenizer_free(&d);
	cmx_tokenizer_free(&t);
}

/* Where the text ends by the definition: the first byte that completes a stop string. */
static uint32_t naive_end(const char *s, uint32_t n, const char *const *stop, uint32_t n_stops,
			  bool *found)
{
	for (uint32_t end = 1; end <= n; end++) {
		uint32_t longest = 0;

		for (uint32_t i = 0; i < n_stops; i++) {
			uint32_t len = (uint32_t)strlen(stop[i]);

			if (len <= end && len > longest && !memcmp(s + end - len, stop[i], len))
				longest = len;
		}
		*found = longest;
		if (longest)
			return end - longest;
	}
	return n;
}

/* Texts of few letters, so that starts of stop strings abound. */
TEST(stop_strings_by_definition)
{
	static const char *const stop[] = { "bab", "abab", "bb", "aaab", "cabcabd" };
	uint64_t seed = 1;

	for (uint32_t round = 0; round < 20000; round++) {
		uint32_t n_stops = round % 5 + 1, n = round % 40, got = 0, part;
		char text[40], out[40 + CMX_STOP_STRING_BYTES];
		struct cmx_stop_strings m;
		bool found = false, complete = false;

		ASSERT_EQ(0, cmx_stop_strings_init(&m, stop, n_stops, &err));
		for (uint32_t i = 0; i < n; i++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			text[i] = (char)('a' + (seed >> 33) % (round % 3 ? 2 : 4));
		}
		for (uint32_t i = 0; i < n && !complete; i++) {
			complete = cmx_stop_strings_put(&m, text[i], out + got, &part);
			got += part;
		}
		got += cmx_stop_strings_end(&m, out + got);
		ASSERT_EQ(naive_end(text, n, stop, n_stops, &found), got);
		ASSERT_EQ(found, complete);
		ASSERT_EQ(0, memcmp(text, out, got));
		cmx_stop_strings_free(&m);
	}
}

TEST(stop_strings_that_are_refused)
{
	static char long_one[CMX_STOP_STRING_BYTES + 2];
	const char *stop[CMX_STOP_STRINGS_MAX + 1] = { "x", "" };
	struct cmx_stop_strings m;

	EXPECT_EQ(-EINVAL, cmx_stop_strings_init(&m, stop, 2, &err));
	memset(long_one, 'x', sizeof(long_one) - 1);
	stop[1] = long_one;
	EXPECT_EQ(-EINVAL, cmx_stop_strings_init(&m, stop, 2, &err));
	EXPECT_NE(NULL, strstr(err.text, "1025 bytes, must be 1..1024"));
	EXPECT_EQ(-E2BIG, cmx_stop_strings_init(&m, stop, CMX_STOP_STRINGS_MAX + 1, &err));
	long_one[CMX_STOP_STRING_BYTES] = 0;
	ASSERT_EQ(0, cmx_stop_strings_init(&m, stop, 2, &err));
	cmx_stop_strings_free(&m);
}

TEST_HARNESS_MAIN
