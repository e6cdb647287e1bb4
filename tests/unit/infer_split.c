// SPDX-License-Identifier: GPL-2.0-only
/* Classes of characters, and how patterns cut text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_pretokenizer.h"
#include "cmx_utf8.h"

static struct cmx_infer_err err;

TEST(classes)
{
	EXPECT_EQ(CMX_UNICODE_LETTER, cmx_unicode_class('a'));
	EXPECT_EQ(CMX_UNICODE_LETTER, cmx_unicode_class(0xaa));
	EXPECT_EQ(CMX_UNICODE_LETTER, cmx_unicode_class(0x4e00));
	EXPECT_EQ(CMX_UNICODE_LETTER, cmx_unicode_class(0x20000));
	EXPECT_EQ(CMX_UNICODE_MARK, cmx_unicode_class(0x301));
	EXPECT_EQ(CMX_UNICODE_MARK, cmx_unicode_class(0xe0100));
	EXPECT_EQ(CMX_UNICODE_NUMBER, cmx_unicode_class('7'));
	EXPECT_EQ(CMX_UNICODE_NUMBER, cmx_unicode_class(0xbd));
	EXPECT_EQ(CMX_UNICODE_NUMBER, cmx_unicode_class(0x3007));
	EXPECT_EQ(CMX_UNICODE_PUNCT, cmx_unicode_class('_'));
	EXPECT_EQ(CMX_UNICODE_SYMBOL, cmx_unicode_class('$'));
	EXPECT_EQ(CMX_UNICODE_SYMBOL, cmx_unicode_class(0xfffd));
	EXPECT_EQ(CMX_UNICODE_SPACE, cmx_unicode_class('\v'));
	EXPECT_EQ(CMX_UNICODE_SPACE, cmx_unicode_class(0x85));
	EXPECT_EQ(CMX_UNICODE_SPACE, cmx_unicode_class(0x3000));
	EXPECT_EQ(CMX_UNICODE_OTHER, cmx_unicode_class(0));
	EXPECT_EQ(CMX_UNICODE_OTHER, cmx_unicode_class(0x200b));
	EXPECT_EQ(CMX_UNICODE_OTHER, cmx_unicode_class(0xfeff));
	EXPECT_EQ(CMX_UNICODE_OTHER, cmx_unicode_class(0x10ffff));
}

TEST(table_is_in_order)
{
	EXPECT_EQ(0, cmx_unicode_table[0] >> 3);
	for (uint32_t i = 1; i < cmx_unicode_table_len; i++) {
		EXPECT_LT(cmx_unicode_table[i - 1] >> 3, cmx_unicode_table[i] >> 3);
		EXPECT_NE(cmx_unicode_table[i - 1] & 7, cmx_unicode_table[i] & 7);
	}
}

TEST(characters_of_utf8)
{
	static const struct {
		const char *s;
		uint32_t len, step, code;
	} cases[] = {
		{ "a", 1, 1, 'a' }, { "\xc3\xa9", 2, 2, 0xe9 }, { "\xe2\x82\xac", 3, 3, 0x20ac },
		{ "\xf0\x9f\x98\x80", 4, 4, 0x1f600 }, { "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
		{ "\xc3", 1, 1, 0xfffd }, { "\xe2\x82", 2, 1, 0xfffd }, { "\x80", 1, 1, 0xfffd },
		{ "\xc0\x80", 2, 1, 0xfffd }, { "\xed\xa0\x80", 3, 1, 0xfffd },
		{ "\xf4\x90\x80\x80", 4, 1, 0xfffd }, { "\xff", 1, 1, 0xfffd },
		{ "\xe0\x9f\xbf", 3, 1, 0xfffd }, { "\xf0\x8f\xbf\xbf", 4, 1, 0xfffd },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t code;

		EXPECT_EQ(cases[i].step,
			  cmx_utf8_next((const uint8_t *)cases[i].s, cases[i].len, &code));
		EXPECT_EQ(cases[i].code, code);
	}
}

/* The pieces of @text, each with a bar behind it. */
static const char *pieces(const struct cmx_pretokenizer *p, const char *text)
{
	static char out[512];
	struct cmx_char c[256];
	size_t n = cmx_pretokenizer_cut(p, text, strlen(text), c), at = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && c[i].cut)
			out[at++] = '|';
		memcpy(out + at, text, c[i].len);
		at += c[i].len;
		text += c[i].len;
	}
	out[at] = 0;
	return out;
}

static const char *cut_by(const char *pattern, const char *text)
{
	struct cmx_pretokenizer p = { .n = 0 };
	const char *out;

	if (cmx_pretokenizer_add(&p, pattern, strlen(pattern), &err))
		return err.text;
	out = pieces(&p, text);
	cmx_pretokenizer_free(&p);
	return out;
}

TEST(single_patterns)
{
	EXPECT_STREQ("ab|123|456|7|c", cut_by("\\p{N}{1,3}", "ab1234567c"));
	EXPECT_STREQ("a|1234|b", cut_by("\\p{N}+", "a1234b"));
	EXPECT_STREQ("a|1|2|b", cut_by("\\p{N}", "a12b"));
	EXPECT_STREQ("a|\n|\r|b", cut_by("[\r\n]", "a\n\rb"));
	EXPECT_STREQ("a|\n|b", cut_by("[\\r\\n]", "a\nb"));
	EXPECT_STREQ("  a b|   ", cut_by("\\s+$", "  a b   "));
	EXPECT_STREQ("   ", cut_by("\\s+$", "   "));
	EXPECT_STREQ("1| ab|2|cd| | ef", cut_by("\\s?[a-z]+", "1 ab2cd  ef"));
	EXPECT_STREQ("a|-|]|b", cut_by("[\\]\\-]", "a-]b"));
	EXPECT_STREQ("a|-b|c", cut_by("[b-]+", "a-bc"));
	EXPECT_STREQ("x|ab\u00e9|x", cut_by("[a\u00e0-\u00ffb]+", "xab\u00e9x"));
	/* White space that is in the set may also be the one before it. */
	EXPECT_STREQ("a|\u3000\u3000|b", cut_by("\\s?[\u3000]+", "a\u3000\u3000b"));
	EXPECT_STREQ("a|\u3000|b", cut_by("\\s?[\u3000]+", "a\u3000b"));
}

TEST(patterns_that_are_not_known)
{
	static const char *const bad[] = {
		"", "a", "[", "[a", "[]", "[^a]", "[b-a]", "[a]*", "[a]{2,1}", "[a]{0,1}", "[a]{1}",
		"[a]+$", "\\d+", "\\p{Lu}", "\\s?", "(a)", "[a]|[b]", "[\\d]", "[a]{1,9999999999}",
		"[\xff]", "[[a]", "\\s?\\s?\\p{L}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct cmx_split s;

		EXPECT_EQ(-ENOTSUP, cmx_split_init(&s, bad[i], strlen(bad[i]), &err))
			TH_LOG("'%s'", bad[i]);
		EXPECT_NE(NULL, strstr(err.text, "none of those"));
	}
}

/* Any bytes as a pattern: refused or taken, and then nothing goes wrong with it. */
TEST(random_patterns)
{
	static const char *const parts[] = {
		"[", "]", "\\s", "?", "\\p{L}", "+", "{1,3}", "a", "-", "\\", "\u00e9", "^", "\xff",
		"$",
	};
	uint64_t seed = 3;
	uint32_t taken = 0;

	for (int round = 0; round < 50000; round++) {
		struct cmx_pretokenizer p = { .n = 0 };
		char pattern[64] = "";

		for (int i = round % 8; i >= 0; i--) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			strcat(pattern, parts[(seed >> 33) % (sizeof(parts) / sizeof(parts[0]))]);
		}
		if (cmx_pretokenizer_add(&p, pattern, strlen(pattern), &err))
			continue;
		taken++;
		pieces(&p, "a b\u00e9  -1\n \xff]");
		cmx_pretokenizer_free(&p);
	}
	EXPECT_LT(100, taken);
}

static const char *cut_as(const char *preset, const char *text)
{
	struct cmx_pretokenizer p = { .n = 0 };
	const char *out;

	if (cmx_pretokenizer_preset(&p, preset, strlen(preset), &err))
		return err.text;
	out = pieces(&p, text);
	cmx_pretokenizer_free(&p);
	return out;
}

TEST(deepseek_v3)
{
	EXPECT_STREQ("Hello|,| world|!", cut_as("deepseek-v3", "Hello, world!"));
	EXPECT_STREQ("don|'t", cut_as("deepseek-v3", "don't"));
	EXPECT_STREQ("123|456|78| |3|.|141|59", cut_as("deepseek-v3", "12345678 3.14159"));
	EXPECT_STREQ("  | leading|  | spaces|\n\n\n|new",
		     cut_as("deepseek-v3", "   leading   spaces\n\n\nnew"));
	EXPECT_STREQ("x|\t\n\n|  | y", cut_as("deepseek-v3", "x\t\n\n   y"));
	EXPECT_STREQ("f|():\n|   | return", cut_as("deepseek-v3", "f():\n    return"));
	EXPECT_STREQ("\u6f22\u5b57|abc|\u304b\u306a",
		     cut_as("deepseek-v3", "\u6f22\u5b57abc\u304b\u306a"));
	/* A mark takes part in a word, at its start as well. */
	EXPECT_STREQ("e\u0301a", cut_as("deepseek-v3", "e\u0301a"));
	EXPECT_STREQ("\u0301", cut_as("deepseek-v3", "\u0301"));
	EXPECT_STREQ("\001|\001a", cut_as("deepseek-v3", "\001\001a"));
	/* A byte that is no character is cut as the symbol U+FFFD. */
	EXPECT_STREQ("a|\xff\xfe|b", cut_as("deepseek-v3", "a\377\376b"));
}

TEST(deepseek_llm)
{
	EXPECT_STREQ("Hello|,| world|!", cut_as("deepseek-llm", "Hello, world!"));
	EXPECT_STREQ("a|\n|\n| b|  ", cut_as("deepseek-llm", "a\n\n b  "));
	/* The marks take in the ASCII letters, so that a word is cut where others begin. */
	EXPECT_STREQ("na|\u00ef|ve", cut_as("deepseek-llm", "na\u00efve"));
	EXPECT_STREQ("12345", cut_as("deepseek-llm", "12345"));
	EXPECT_STREQ("\u6f22\u5b57|abc", cut_as("deepseek-llm", "\u6f22\u5b57abc"));
}

TEST(deepseek_coder)
{
	EXPECT_STREQ("1|2|3", cut_as("deepseek-coder", "123"));
	EXPECT_STREQ("x| =| y|;", cut_as("deepseek-coder", "x = y;"));
}

TEST(no_other_preset)
{
	EXPECT_NE(NULL, strstr(cut_as("gpt-2", "x"), "'gpt-2', must be deepseek-v3, deepseek-llm"));
	EXPECT_NE(NULL, strstr(cut_as("", "x"), "must be"));
}

TEST_HARNESS_MAIN
