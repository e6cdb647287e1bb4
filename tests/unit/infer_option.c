// SPDX-License-Identifier: GPL-2.0-only
/* Command lines and tables of options: where values go, and what is said of bad ones. */
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_option.h"

struct values {
	const char *word;
	uint32_t small;
	uint64_t large;
	float real;
	bool small_given, fast, quiet, int8;
};

static struct cmx_infer_err err;

#define PARSE(v, ...)								\
	parse(v, (char *[]){ "cmx", __VA_ARGS__, NULL },			\
	      sizeof((char *[]){ "cmx", __VA_ARGS__ }) / sizeof(char *))

static int parse(struct values *v, char **argv, int argc)
{
	const struct cmx_option table[] = {
		{ "word", 'w', .text = &v->word },
		{ NULL, 's', .u32 = &v->small, .min = 2, .max = 9, .given = &v->small_given },
		{ "large", .u64 = &v->large, .max = UINT64_MAX },
		{ "real", .real = &v->real, .real_min = 0.5f, .real_max = 2 },
		{ "fast", 'f', .flag = &v->fast },
		{ "quiet", 'q', .flag = &v->quiet },
		{ "quantize", .parse = cmx_option_int8, .to = &v->int8 },
	};

	*v = (struct values){ .word = "none" };
	err.text[0] = '\0';
	return cmx_options_parse(table, sizeof(table) / sizeof(table[0]), argc, argv, &err);
}

TEST(values_go_where_they_belong)
{
	struct values v;

	ASSERT_EQ(PARSE(&v, "--large", "18446744073709551615", "-qw", "x", "--real=0.5", "-s9"), 0);
	EXPECT_STREQ(v.word, "x");
	EXPECT_EQ(v.small, 9);
	EXPECT_TRUE(v.small_given && v.quiet && !v.fast && !v.int8);
	EXPECT_EQ(v.large, UINT64_MAX);
	EXPECT_EQ(v.real, 0.5f);
	ASSERT_EQ(PARSE(&v, "--word", "-q", "--fast", "--quantize", "int8"), 0);
	EXPECT_STREQ(v.word, "-q");
	EXPECT_TRUE(v.fast && v.int8 && !v.quiet && !v.small_given);
	ASSERT_EQ(PARSE(&v, "-w", "last", "--word", "wins"), 0);
	EXPECT_STREQ(v.word, "wins");
}

TEST(bad_values_are_named_with_their_limits)
{
	static const struct {
		char *option, *value, *text;
	} bad[] = {
		{ "-s", "1", "-s is '1', must be a number in 2..9" },
		{ "-s", "10", "-s is '10', must be a number in 2..9" },
		{ "-s", "4294967298", "-s is '4294967298', must be a number in 2..9" },
		{ "-s", " 3", "-s is ' 3', must be a number in 2..9" },
		{ "-s", "", "-s is '', must be a number in 2..9" },
		{ "--large", "18446744073709551616",
		  "--large is '18446744073709551616', "
		  "must be a number in 0..18446744073709551615" },
		{ "--large", "-1",
		  "--large is '-1', must be a number in 0..18446744073709551615" },
		{ "--real", "0.4", "--real is '0.4', must be a number in 0.5..2" },
		{ "--real", "nan", "--real is 'nan', must be a number in 0.5..2" },
		{ "--real", "1x", "--real is '1x', must be a number in 0.5..2" },
		{ "--quantize", "int4", "--quantize is 'int4', must be int8" },
	};
	struct values v;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_EQ(PARSE(&v, bad[i].option, bad[i].value), -EINVAL);
		EXPECT_STREQ(err.text, bad[i].text);
	}
}

TEST(words_that_are_no_options)
{
	struct values v;

	EXPECT_EQ(PARSE(&v, "-f", "stray"), -EINVAL);
	EXPECT_STREQ(err.text, "unexpected argument 'stray'");
	EXPECT_EQ(PARSE(&v, "--slow"), -EINVAL);
	EXPECT_STREQ(err.text, "unknown option '--slow'");
	EXPECT_EQ(PARSE(&v, "-fx"), -EINVAL);
	EXPECT_STREQ(err.text, "unknown option '-x'");
	EXPECT_EQ(PARSE(&v, "--word"), -EINVAL);
	EXPECT_STREQ(err.text, "option '--word' needs a value");
	EXPECT_EQ(PARSE(&v, "-qw"), -EINVAL);
	EXPECT_STREQ(err.text, "option '-w' needs a value");
}

TEST_HARNESS_MAIN
