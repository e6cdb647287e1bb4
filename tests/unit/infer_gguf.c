// SPDX-License-Identifier: GPL-2.0-only
/* The GGUF reader on good files, on each broken rule, and on every mutation. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "gguf_make.h"

static struct gguf_make file;
static struct cmx_infer_err err;

/* Where the parts of the sample file are. */
static struct {
	size_t alignment;	/* value of general.alignment */
	size_t flag;		/* value of a bool */
	size_t list;		/* element type of a string array */
	size_t first;		/* second tensor: start of its record */
	size_t dims;
	size_t type;
	size_t offset;
	size_t header;		/* end of the header */
} at;

/* Two tensors, metadata of every kind. */
static void make_sample(void)
{
	const uint64_t a[] = { 8, 3, 0 }, b[] = { 32, 2, 0 };

	make_header(&file, 2, 7);
	make_kv_u32(&file, "general.alignment", 32);
	at.alignment = file.len - 4;
	make_kv_string(&file, "general.name", "sample");
	make_kv_f32(&file, "some.float", 1.5f);
	make_kv_bool(&file, "some.flag", 1);
	at.flag = file.len - 1;
	make_kv_array(&file, "some.strings", CMX_GGUF_STRING, 2);
	at.list = file.len - 12;
	make_string(&file, "one");
	make_string(&file, "");
	make_kv_array(&file, "some.numbers", CMX_GGUF_I32, 3);
	for (uint32_t i = 0; i < 3; i++)
		make_u32(&file, i);
	make_string(&file, "some.wide");
	make_u32(&file, CMX_GGUF_I64);
	make_u64(&file, 1);
	make_tensor(&file, "first", CMX_TENSOR_F32, a, 0);
	at.first = file.len;
	make_tensor(&file, "second", CMX_TENSOR_Q8_0, b, 96);
	at.dims = at.first + 8 + 6 + 4;
	at.type = at.dims + 16;
	at.offset = at.type + 4;
	at.header = file.len;
	make_pad(&file, 32);
	for (uint32_t i = 0; i < 24; i++)
		make_f32(&file, (float)i);
	for (uint32_t i = 0; i < 68; i++)
		make_u8(&file, (uint8_t)i);
}

/* The file is refused, with a text that has @word in it. */
static int refused(const char *word)
{
	struct cmx_gguf *g;
	int ret = make_open(&file, file.len, &g, &err);

	if (!ret) {
		cmx_gguf_close(g);
		return 0;
	}
	if (ret < 0 && strstr(err.text, word))
		return 1;
	fprintf(stderr, "%d: '%s' has no '%s'\n", ret, err.text, word);
	return 0;
}

static int refused_u32(size_t where, uint32_t v, const char *word)
{
	make_sample();
	make_patch(&file, where, &v, sizeof(v));
	return refused(word);
}

static int refused_u64(size_t where, uint64_t v, const char *word)
{
	make_sample();
	make_patch(&file, where, &v, sizeof(v));
	return refused(word);
}

TEST(good_file)
{
	struct cmx_gguf_strings it;
	const struct cmx_gguf_tensor *t;
	struct cmx_gguf *g;
	const char *s;
	uint64_t len;
	float f, data[24];
	bool b;

	make_sample();
	ASSERT_EQ(0, make_open(&file, file.len, &g, &err)) TH_LOG("%s", err.text);
	ASSERT_EQ(0, cmx_gguf_string(g, "general.name", &s, &len, &err));
	EXPECT_EQ(6, len);
	EXPECT_EQ(0, cmx_gguf_f32(g, "some.float", &f, &err));
	EXPECT_EQ(1.5f, f);
	EXPECT_EQ(0, cmx_gguf_bool(g, "some.flag", &b, &err));
	EXPECT_TRUE(b);
	ASSERT_EQ(0, cmx_gguf_strings(g, "some.strings", &it, &err));
	EXPECT_TRUE(cmx_gguf_strings_next(g, &it, &s, &len) && len == 3 && !memcmp(s, "one", 3));
	EXPECT_TRUE(cmx_gguf_strings_next(g, &it, &s, &len) && len == 0);
	EXPECT_FALSE(cmx_gguf_strings_next(g, &it, &s, &len));
	t = cmx_gguf_tensor(g, "first");
	ASSERT_NE(NULL, t);
	EXPECT_EQ(96, t->size);
	ASSERT_EQ(0, cmx_weight_file_read(cmx_gguf_file(g), data, t->size, t->offset, "first",
					  &err));
	EXPECT_EQ(23.0f, data[23]);
	EXPECT_EQ(68, cmx_gguf_tensor(g, "second")->size);
	EXPECT_EQ(NULL, cmx_gguf_tensor(g, "third"));
	cmx_gguf_close(g);
}

TEST(typed_getters)
{
	struct cmx_gguf *g;
	uint32_t v;
	float f;

	make_sample();
	ASSERT_EQ(0, make_open(&file, file.len, &g, &err));
	EXPECT_EQ(-EINVAL, cmx_gguf_u32(g, "some.float", &v, &err));
	EXPECT_NE(NULL, strstr(err.text, "type f32, must be u32"));
	EXPECT_EQ(-ENOENT, cmx_gguf_u32(g, "some.floa", &v, &err));
	EXPECT_EQ(-ENOENT, cmx_gguf_u32(g, "some.floats", &v, &err));
	EXPECT_EQ(-EINVAL, cmx_gguf_f32(g, "some.numbers", &f, &err));
	cmx_gguf_close(g);
}

TEST(start_of_file)
{
	make_sample();
	EXPECT_TRUE(refused_u32(0, 0x46554748, "magic"));
	EXPECT_TRUE(refused_u32(4, 2, "version is 2"));
	EXPECT_TRUE(refused_u32(4, 0x03000000, "big-endian"));
	EXPECT_TRUE(refused_u64(8, 1ull << 63, "tensor count"));
	EXPECT_TRUE(refused_u64(16, UINT64_MAX, "metadata count"));
	EXPECT_TRUE(refused_u64(16, 60000, "metadata key 8"));
}

TEST(bug27_alignment)
{
	make_sample();
	EXPECT_TRUE(refused_u32(at.alignment, 1u << 30, "general.alignment"));
	EXPECT_TRUE(refused_u32(at.alignment, 0, "general.alignment"));
	EXPECT_TRUE(refused_u32(at.alignment, 48, "power of two"));
	EXPECT_TRUE(refused_u32(at.alignment - 4, CMX_GGUF_I32, "must be u32"));
}

TEST(metadata_values)
{
	uint8_t two = 2;

	make_sample();
	make_patch(&file, at.flag, &two, 1);
	EXPECT_TRUE(refused("bool is 2"));
	EXPECT_TRUE(refused_u32(at.list, CMX_GGUF_ARRAY, "element type 9"));
	EXPECT_TRUE(refused_u32(at.list, 13, "element type 13"));
	EXPECT_TRUE(refused_u64(at.list + 4, 1ull << 62, "over the limit"));
	EXPECT_TRUE(refused_u64(at.list + 12, 1ull << 31, "over the limit"));
	EXPECT_TRUE(refused_u64(at.list + 12, 1ull << 20, "pass the end"));
	EXPECT_TRUE(refused_u64(24, 0, "key is empty"));
	EXPECT_TRUE(refused_u64(24, 1u << 20, "over the limit"));
}

TEST(duplicates)
{
	make_header(&file, 0, 2);
	make_kv_u32(&file, "same", 1);
	make_kv_u32(&file, "same", 1);
	EXPECT_TRUE(refused("'same': the key occurs twice"));
	make_sample();
	make_patch(&file, at.first + 8, "first", 5);
	make_patch(&file, at.first, &(uint64_t){ 5 }, 8);
	memmove(file.buf + at.first + 13, file.buf + at.first + 14, file.len - at.first - 14);
	EXPECT_TRUE(refused("occurs twice"));
}

TEST(bug27_tensor_records)
{
	make_sample();
	EXPECT_TRUE(refused_u32(at.dims - 4, 5, "5 dimensions"));
	EXPECT_TRUE(refused_u32(at.dims - 4, 0, "0 dimensions"));
	EXPECT_TRUE(refused_u64(at.dims, 0, "dimension 0 is 0"));
	EXPECT_TRUE(refused_u64(at.dims + 8, 1ull << 60, "dimension 1"));
	EXPECT_TRUE(refused_u64(at.dims + 8, 1ull << 50, "pass the end"));
	EXPECT_TRUE(refused_u64(at.dims, 33, "Q8_0 needs a multiple of 32"));
	EXPECT_TRUE(refused_u32(at.type, 3, "type 3, must be 0 (F32)"));
	EXPECT_TRUE(refused_u32(at.type, 39, "type 39"));
	EXPECT_TRUE(refused_u32(at.type, 0xffffffff, "type 4294967295"));
	EXPECT_TRUE(refused_u64(at.offset, 128, "offset 128, must be 96"));
	EXPECT_TRUE(refused_u64(at.offset, 64, "must be 96"));
	EXPECT_TRUE(refused_u64(at.first, 65, "over the limit 64"));
}

/* Every quantised type: what a block takes, and rows that do not fill blocks. */
TEST(blocks)
{
	static const struct {
		uint32_t type, values, bytes;
		const char *name;
	} b[] = {
		{ CMX_TENSOR_Q4_0, 32, 18, "Q4_0" }, { CMX_TENSOR_Q8_0, 32, 34, "Q8_0" },
		{ CMX_TENSOR_Q4_K, 256, 144, "Q4_K" }, { CMX_TENSOR_Q6_K, 256, 210, "Q6_K" },
	};

	for (size_t i = 0; i < sizeof(b) / sizeof(b[0]); i++) {
		uint64_t dims[] = { b[i].values * 2, 3, 0 };
		struct cmx_gguf *g;
		char word[64];

		make_header(&file, 1, 0);
		make_tensor(&file, "w", b[i].type, dims, 0);
		make_pad(&file, 32);
		file.len += 6 * b[i].bytes;
		ASSERT_EQ(0, make_open(&file, file.len, &g, &err)) TH_LOG("%s", err.text);
		EXPECT_EQ(6 * b[i].bytes, cmx_gguf_tensor(g, "w")->size);
		cmx_gguf_close(g);
		file.len--;
		EXPECT_TRUE(refused("pass the end"));
		for (uint64_t row = b[i].values * 2 - 16; row < b[i].values * 2; row += 15) {
			dims[0] = row;
			make_header(&file, 1, 0);
			make_tensor(&file, "w", b[i].type, dims, 0);
			make_pad(&file, 32);
			file.len += 6 * b[i].bytes;
			snprintf(word, sizeof(word), "%s needs a multiple of %u", b[i].name,
				 b[i].values);
			EXPECT_TRUE(refused(word));
		}
	}
}

TEST(text_is_printable)
{
	make_header(&file, 0, 2);
	make_kv_u32(&file, "a\x1b[2Jb", 1);
	make_kv_u32(&file, "a\x1b[2Jb", 1);
	EXPECT_TRUE(refused("a?[2Jb"));
}

TEST(every_truncation)
{
	struct cmx_gguf *g;

	make_sample();
	for (size_t len = 0; len < file.len; len++) {
		int ret = make_open(&file, len, &g, &err);

		EXPECT_GT(0, ret) TH_LOG("length %zu was taken", len);
		EXPECT_NE(0, strlen(err.text));
		cmx_gguf_close(g);
	}
}

/* Reading all that the reader let through must stay within bounds. */
static int use(struct cmx_gguf *g)
{
	struct cmx_gguf_strings it;
	const uint8_t *numbers;
	const char *s;
	uint64_t len, sum = 0;
	int ret = 0;

	if (!cmx_gguf_strings(g, "some.strings", &it, NULL)) {
		while (cmx_gguf_strings_next(g, &it, &s, &len))
			sum += len ? (uint8_t)s[len - 1] : 0;
	}
	if (!cmx_gguf_i32_array(g, "some.numbers", &numbers, &len, NULL) && len)
		sum += numbers[4 * len - 1];
	for (uint64_t i = 0; i < cmx_gguf_n_tensors(g); i++) {
		const struct cmx_gguf_tensor *t = cmx_gguf_tensor_at(g, i);
		void *data = malloc(t->size);

		ret |= cmx_weight_file_read(cmx_gguf_file(g), data, t->size, t->offset, t->name,
					    NULL);
		free(data);
	}
	return sum > file.len * 256 ? -EINVAL : ret;
}

/* Either the file is good to the last byte, or the error has a text. */
static int taken_or_explained(struct cmx_gguf **g)
{
	if (make_open(&file, file.len, g, &err))
		return err.text[0] != 0;
	return !use(*g);
}

TEST(bug27_every_byte_mutated)
{
	static const uint8_t values[] = { 0x00, 0x01, 0x7f, 0x80, 0xfe, 0xff };
	struct cmx_gguf *g;

	make_sample();
	for (size_t i = 0; i < at.header; i++) {
		uint8_t was = file.buf[i];

		for (size_t v = 0; v <= sizeof(values); v++) {
			file.buf[i] = v < sizeof(values) ? values[v] : (uint8_t)(was ^ 0x10);
			EXPECT_TRUE(taken_or_explained(&g));
			cmx_gguf_close(g);
		}
		file.buf[i] = was;
	}
}

TEST(bug27_every_field_huge)
{
	static const uint64_t values[] = { 1ull << 31, 1ull << 32, 1ull << 62, 1ull << 63,
					   UINT64_MAX, UINT64_MAX - 7, INT64_MAX };
	struct cmx_gguf *g;

	for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
		make_sample();
		for (size_t i = 0; i + 8 <= at.header; i++) {
			uint64_t was;

			memcpy(&was, file.buf + i, 8);
			make_patch(&file, i, &values[v], 8);
			EXPECT_TRUE(taken_or_explained(&g));
			cmx_gguf_close(g);
			make_patch(&file, i, &was, 8);
		}
	}
}

/* Several bytes at a time, from a fixed seed: what single mutations do not reach. */
TEST(bug27_any_mutation_is_taken_or_explained)
{
	uint64_t rng = 27203;
	struct cmx_gguf *g;

	for (int round = 0; round < 20000; round++) {
		make_sample();
		for (int n = 0; n < 1 + round % 5; n++) {
			rng = rng * 6364136223846793005ull + 1442695040888963407ull;
			file.buf[(rng >> 33) % at.header] = (uint8_t)(rng >> 24);
		}
		EXPECT_TRUE(taken_or_explained(&g)) TH_LOG("round %d", round);
		cmx_gguf_close(g);
	}
}

TEST(not_a_regular_file)
{
	struct cmx_gguf *g = NULL;

	EXPECT_EQ(-EINVAL, cmx_gguf_open("/dev/null", &g, &err));
	EXPECT_NE(NULL, strstr(err.text, "regular file"));
	EXPECT_EQ(-ENOENT, cmx_gguf_open("/nonexistent/x", &g, &err));
	EXPECT_EQ(NULL, g);
}

/* A FIFO that nobody writes to must not hold the program up. */
TEST(a_pipe_is_no_file)
{
	char dir[] = "/tmp/gguf.XXXXXX", path[64];
	struct cmx_gguf *g = NULL;

	ASSERT_NE(NULL, mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/fifo", dir);
	ASSERT_EQ(0, mkfifo(path, 0600));
	EXPECT_EQ(-EINVAL, cmx_gguf_open(path, &g, &err));
	EXPECT_NE(NULL, strstr(err.text, "fifo: not a regular file"));
	unlink(path);
	rmdir(dir);
}

TEST_HARNESS_MAIN
