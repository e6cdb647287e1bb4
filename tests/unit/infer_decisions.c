// SPDX-License-Identifier: GPL-2.0-only
/* The decisions file: round trip, and every mutation and truncation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_decisions.h"

static const struct cmx_model_config config = {
	.n_layer = 3, .n_dense = 1, .n_expert = 16, .n_used = 3, .vocab = 50,
};

static struct cmx_infer_err err;
static uint8_t bytes[4096];
static size_t size;

static void write_file(const struct cmx_decisions *d)
{
	FILE *f = fmemopen(bytes, sizeof(bytes), "w");

	if (!f || cmx_decisions_write(d, f, &err))
		abort();
	size = (size_t)ftell(f);
	fclose(f);
}

/* Five prompt tokens, two output tokens, experts by a simple rule. */
static void make_decisions(struct cmx_decisions *out)
{
	struct cmx_decisions d;

	if (cmx_decisions_init(&d, &config, 7, &err))
		abort();
	d.n_prompt = 5;
	d.n_output = 2;
	d.end = CMX_END_EOS;
	d.chunk = 4;
	d.ctx = 7;
	d.temp = 0.5f;
	d.top_k = 40;
	d.top_p = 0.9f;
	d.min_p = 0.05f;
	d.penalty = 1.25f;
	for (uint32_t i = 0; i < 7; i++)
		d.ids[i] = i * 7;
	for (uint32_t i = 0; i < 6 * 2 * 3; i++)
		d.experts[i] = (uint16_t)(i * 5 % 16);
	*out = d;
}

static void make_file(void)
{
	struct cmx_decisions d;

	make_decisions(&d);
	write_file(&d);
	cmx_decisions_free(&d);
}

static int read_file(struct cmx_decisions *d, size_t len)
{
	int fd = memfd_create("decisions", MFD_CLOEXEC), ret;

	err.text[0] = 0;
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len || lseek(fd, 0, SEEK_SET))
		abort();
	ret = cmx_decisions_read(d, fd, &err);
	close(fd);
	return ret;
}

TEST(round_trip)
{
	struct cmx_decisions d;
	struct cmx_model_config other = config;

	make_file();
	ASSERT_EQ(0, read_file(&d, size)) TH_LOG("%s", err.text);
	EXPECT_EQ(5, d.n_prompt);
	EXPECT_EQ(2, d.n_output);
	EXPECT_EQ(CMX_END_EOS, d.end);
	EXPECT_EQ(4, d.chunk);
	EXPECT_EQ(40, d.top_k);
	EXPECT_EQ(0.9f, d.top_p);
	EXPECT_EQ(0.05f, d.min_p);
	EXPECT_EQ(1.25f, d.penalty);
	EXPECT_EQ(42, d.ids[6]);
	EXPECT_EQ(6, cmx_decisions_positions(&d));
	EXPECT_EQ(2 * 3 * 5 % 16, *cmx_decisions_at(&d, 1, 0));
	EXPECT_EQ(0, cmx_decisions_match(&d, &config, &err));
	other.n_expert = 17;
	EXPECT_EQ(-EINVAL, cmx_decisions_match(&d, &other, &err));
	cmx_decisions_free(&d);
}

TEST(active_experts)
{
	struct cmx_decisions d;

	make_file();
	ASSERT_EQ(0, read_file(&d, size));
	EXPECT_EQ(3, cmx_decisions_active(&d, 0, 0, 1));
	for (uint32_t pos = 0; pos < 6; pos++) {
		uint16_t *e = cmx_decisions_at(&d, pos, 1);

		e[0] = 1;
		e[1] = 2;
		e[2] = (uint16_t)(3 + pos % 2);
	}
	EXPECT_EQ(4, cmx_decisions_active(&d, 1, 0, 6));
	EXPECT_EQ(3, cmx_decisions_active(&d, 1, 5, 1));
	cmx_decisions_free(&d);
}

TEST(every_truncation_and_addition)
{
	struct cmx_decisions d;

	make_file();
	for (size_t len = 0; len < size; len++) {
		EXPECT_GT(0, read_file(&d, len)) cmx_decisions_free(&d);
		EXPECT_NE(0, strlen(err.text));
	}
	bytes[size] = 0;
	EXPECT_EQ(-EINVAL, read_file(&d, size + 1));
}

TEST(every_bit_flipped)
{
	struct cmx_decisions d;

	make_file();
	for (size_t i = 0; i < size * 8; i++) {
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		EXPECT_GT(0, read_file(&d, size)) cmx_decisions_free(&d);
		EXPECT_NE(0, strlen(err.text));
		bytes[i / 8] ^= (uint8_t)(1u << i % 8);
	}
}

/* With a checksum that is right. */
TEST(decisions_that_no_run_makes)
{
	struct cmx_decisions d, got;

	make_decisions(&d);
	d.experts[7] = d.experts[6];
	write_file(&d);
	EXPECT_EQ(-EINVAL, read_file(&got, size));
	EXPECT_NE(NULL, strstr(err.text, "stands twice")) TH_LOG("%s", err.text);
	d.experts[7] = d.experts[3];
	write_file(&d);
	EXPECT_EQ(0, read_file(&got, size)) TH_LOG("%s", err.text);
	cmx_decisions_free(&got);
	d.n_output = 0;
	write_file(&d);
	EXPECT_EQ(-EINVAL, read_file(&got, size));
	EXPECT_NE(NULL, strstr(err.text, "output length 0")) TH_LOG("%s", err.text);
	cmx_decisions_free(&d);
}

TEST(a_pipe_is_no_file)
{
	struct cmx_decisions d;
	int fds[2];

	make_file();
	ASSERT_EQ(0, pipe(fds));
	ASSERT_EQ((ssize_t)size, write(fds[1], bytes, size));
	EXPECT_EQ(-EINVAL, cmx_decisions_read(&d, fds[0], &err));
	EXPECT_NE(NULL, strstr(err.text, "regular file"));
	close(fds[0]);
	close(fds[1]);
}

static int refused_u32(size_t at, uint32_t v, const char *word)
{
	struct cmx_decisions d;

	make_file();
	memcpy(bytes + at, &v, sizeof(v));
	return read_file(&d, size) < 0 && strstr(err.text, word);
}

TEST(header_fields)
{
	EXPECT_TRUE(refused_u32(0, 0, "not a decisions file"));
	EXPECT_TRUE(refused_u32(8, 1, "version is 1, must be 2..2"));
	EXPECT_TRUE(refused_u32(8, 3, "version is 3"));
	EXPECT_TRUE(refused_u32(12, 100000, "MoE layer count"));
	EXPECT_TRUE(refused_u32(16, 0, "expert count is 0"));
	EXPECT_TRUE(refused_u32(20, 17, "experts used is 17, must be 1..16"));
	EXPECT_TRUE(refused_u32(24, 0, "vocabulary"));
	EXPECT_TRUE(refused_u32(28, 0, "prompt length"));
	EXPECT_TRUE(refused_u32(28, 1u << 20, "counts ask for"));
	EXPECT_TRUE(refused_u32(32, UINT32_MAX, "output length"));
	EXPECT_TRUE(refused_u32(36, 3, "end reason"));
	EXPECT_TRUE(refused_u32(40, 0, "chunk"));
	EXPECT_TRUE(refused_u32(48, 2, "all-logits"));
	EXPECT_TRUE(refused_u32(56, 0x7fc00000, "temperature"));
	EXPECT_TRUE(refused_u32(60, 0, "top-p"));
	EXPECT_TRUE(refused_u32(64, 0x40000000, "min-p is 2, must be 0..1"));
	EXPECT_TRUE(refused_u32(68, 0x7f800000, "repetition penalty is inf"));
}

TEST_HARNESS_MAIN
