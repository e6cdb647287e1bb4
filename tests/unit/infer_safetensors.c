// SPDX-License-Identifier: GPL-2.0-only
/* The safetensors reader and the index: good files, each broken rule, seeded mutations. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_hf_folder.h"
#include "hf_make.h"

#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define B "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]}"
#define META "\"__metadata__\":{\"format\":\"pt\"}"
#define SAMPLE "{" META "," B "," A "}   "

static struct cmx_infer_err err;

static int open_bytes(const void *data, size_t len, struct cmx_safetensors **s)
{
	int fd = memfd_create("st", MFD_CLOEXEC), ret;

	*s = NULL;
	err.text[0] = 0;
	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	ret = cmx_safetensors_open_fd(fd, s, &err);
	close(fd);
	return ret;
}

static int open_header(const char *header, size_t data, struct cmx_safetensors **s)
{
	static unsigned char buf[1 << 16];

	return open_bytes(buf, hf_make_tensors(header, data, buf, sizeof(buf)), s);
}

static int refused(const char *header, size_t data, const char *word)
{
	struct cmx_safetensors *s;
	int ret = open_header(header, data, &s);

	if (ret < 0 && strstr(err.text, word))
		return 1;
	fprintf(stderr, "%d: '%s' has no '%s'\n", ret, err.text, word);
	cmx_safetensors_close(s);
	return 0;
}

TEST(good_file)
{
	struct cmx_safetensors *s;
	const struct cmx_safetensor *t;
	unsigned char byte;

	ASSERT_EQ(0, open_header(SAMPLE, 32, &s)) TH_LOG("%s", err.text);
	ASSERT_EQ(2, cmx_safetensors_count(s));
	t = cmx_safetensors_at(s, 0);
	EXPECT_EQ(0, strcmp("a", t->name));
	EXPECT_EQ(CMX_DTYPE_F32, t->dtype);
	EXPECT_EQ(2, t->n_dims);
	EXPECT_EQ(3, t->dims[1]);
	t = cmx_safetensors_at(s, 1);
	EXPECT_EQ(8, t->size);
	ASSERT_EQ(0, cmx_weight_file_read(cmx_safetensors_file(s), &byte, 1, t->offset, "b", &err));
	EXPECT_EQ(24, byte);
	EXPECT_EQ(NULL, cmx_safetensors_at(s, 2));
	cmx_safetensors_close(s);
}

/* Legal, if unusual. */
TEST(odd_but_good)
{
	struct cmx_safetensors *s;

	EXPECT_EQ(0, open_header("{}", 0, &s));
	cmx_safetensors_close(s);
	EXPECT_EQ(0, open_header("{\"x\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]}}",
				 8, &s)) TH_LOG("%s", err.text);
	cmx_safetensors_close(s);
	EXPECT_EQ(0, open_header("{\"x\":{\"dtype\":\"F4\",\"shape\":[6],\"data_offsets\":[0,3]},"
				 "\"y\":{\"dtype\":\"F16\",\"shape\":[5,0],\"data_offsets\":[3,3]}}",
				 3, &s)) TH_LOG("%s", err.text);
	cmx_safetensors_close(s);
}

TEST(header_length)
{
	unsigned char buf[64];
	struct cmx_safetensors *s;
	static const uint64_t bad[] = { 0, 1, 57, 100000001, 1ull << 32, 1ull << 63, UINT64_MAX };

	memset(buf, ' ', sizeof(buf));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		for (int b = 0; b < 8; b++)
			buf[b] = (unsigned char)(bad[i] >> 8 * b);
		EXPECT_EQ(-EINVAL, open_bytes(buf, sizeof(buf), &s));
		EXPECT_NE(NULL, strstr(err.text, "header length is"));
	}
	EXPECT_EQ(-EINVAL, open_bytes(buf, 7, &s));
	EXPECT_NE(NULL, strstr(err.text, "header length needs 8"));
}

TEST(header_text)
{
	EXPECT_TRUE(refused(" {}", 0, "must be '{'"));
	EXPECT_TRUE(refused("[]", 0, "must be '{'"));
	EXPECT_TRUE(refused("{\"a\":", 0, "header: "));
	EXPECT_TRUE(refused("{} x", 0, "header: "));
	EXPECT_TRUE(refused("{" A "," A "}", 24, "duplicate"));
	EXPECT_TRUE(refused("{\"__metadata__\":{\"n\":1}," A "}", 24, "'n' must be a string"));
	EXPECT_TRUE(refused("{\"__metadata__\":3," A "}", 24, "__metadata__ must be an object"));
	EXPECT_TRUE(refused("{\"a\xff\":1}", 0, "header: "));
}

#define ONE(dtype, shape, offsets) \
	"{\"x\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

TEST(fields)
{
	EXPECT_TRUE(refused("{\"x\":1}", 0, "'x': entry must be an object"));
	EXPECT_TRUE(refused("{\"x\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "entry must have"));
	EXPECT_TRUE(refused(ONE("1", "[1]", "[0,4]"), 4, "'x': dtype must be a string"));
	EXPECT_TRUE(refused(ONE("\"F33\"", "[1]", "[0,4]"), 4, "dtype 'F33' is not known"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "4", "[0,4]"), 4, "shape must be an array"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[2,-1]", "[0,4]"), 4, "dimension 1 of shape is -1"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1.5]", "[0,4]"), 4, "shape must be whole"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "9 dimensions"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[4294967296,4294967296]", "[0,4]"), 4, "overflows"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[9223372036854775807]", "[0,4]"), 4, "overflows"));
	EXPECT_TRUE(refused(ONE("\"F4\"", "[3]", "[0,2]"), 2, "whole bytes"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1]", "[0]"), 4, "data_offsets must be two"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1]", "[0,4.0]"), 4, "data_offsets must be two"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1]", "[-4,0]"), 4, "do not grow"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1]", "[4,0]"), 4, "do not grow"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1]", "[0,8]"), 8, "span 8 bytes"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1]", "[0,99999999999999999999]"), 8, "header: "));
}

TEST(places)
{
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1]", "[4,8]"), 8, "begin at 4, must be 0"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1]", "[0,4]"), 5, "end at 4, the file has 5"));
	EXPECT_TRUE(refused(ONE("\"F32\"", "[1]", "[0,4]"), 3, "end at 4, the file has 3"));
	EXPECT_TRUE(refused("{" A ",\"c\":{\"dtype\":\"U8\",\"shape\":[8],"
			    "\"data_offsets\":[20,28]}}", 28, "begin at 20, must be 24"));
	EXPECT_TRUE(refused("{" A ",\"c\":{\"dtype\":\"U8\",\"shape\":[8],"
			    "\"data_offsets\":[25,33]}}", 33, "begin at 25, must be 24"));
}

TEST(bug27_mutations_are_taken_or_explained)
{
	unsigned char good[512], buf[512];
	size_t len = hf_make_tensors(SAMPLE, 32, good, sizeof(good));
	uint64_t rng = 1516;

	for (int round = 0; round < 20000; round++) {
		struct cmx_safetensors *s;
		size_t n = round % 3 ? len : (size_t)round / 3 % len;

		memcpy(buf, good, len);
		for (int i = 0; i < 1 + round % 4; i++) {
			rng = rng * 6364136223846793005ull + 1442695040888963407ull;
			buf[(rng >> 33) % len] = (unsigned char)(rng >> 24);
		}
		if (open_bytes(buf, n, &s)) {
			EXPECT_NE(0, err.text[0]);
			continue;
		}
		for (size_t i = 0; i < cmx_safetensors_count(s); i++) {
			const struct cmx_safetensor *t = cmx_safetensors_at(s, i);
			char *data = malloc(t->size + 1);

			EXPECT_EQ(0, cmx_weight_file_read(cmx_safetensors_file(s), data, t->size,
							  t->offset, t->name, &err));
			free(data);
		}
		cmx_safetensors_close(s);
	}
}

/* A folder with two shards; @index in place of the right one if it is not NULL. */
static int open_shards(const char *index, const char *second, struct cmx_hf_folder **f)
{
	unsigned char buf[512];
	struct hf_make dir;
	int ret;

	hf_make_dir(&dir);
	hf_make_text(&dir, "config.json", "{}");
	hf_make_file(&dir, "x-1.safetensors", buf,
		     hf_make_tensors("{" A "}", 24, buf, sizeof(buf)));
	if (second)
		hf_make_file(&dir, "x-2.safetensors", buf,
			     hf_make_tensors(second, 8, buf, sizeof(buf)));
	hf_make_text(&dir, "model.safetensors.index.json", index ? index :
		     "{\"metadata\":{\"total_size\":32},\"weight_map\":{\"a\":\"x-1.safetensors\","
		     "\"b\":\"x-2.safetensors\"}}");
	*f = NULL;
	err.text[0] = 0;
	ret = cmx_hf_folder_open(dir.path, f, &err);
	hf_make_remove(&dir);
	return ret;
}

#define SECOND "{\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[0,8]}}"

static int index_refused(const char *index, const char *second, const char *word)
{
	struct cmx_hf_folder *f;
	int ret = open_shards(index, second, &f);

	if (ret < 0 && strstr(err.text, word))
		return 1;
	fprintf(stderr, "%d: '%s' has no '%s'\n", ret, err.text, word);
	cmx_hf_folder_close(f);
	return 0;
}

TEST(shards)
{
	struct cmx_hf_folder *f;
	struct cmx_hf_tensor t;

	ASSERT_EQ(0, open_shards(NULL, SECOND, &f)) TH_LOG("%s", err.text);
	ASSERT_TRUE(cmx_hf_folder_find(f, "b", &t));
	EXPECT_EQ(0, strcmp("x-2.safetensors", t.file_name));
	EXPECT_FALSE(cmx_hf_folder_find(f, "c", &t));
	EXPECT_EQ(0, strcmp("model.safetensors.index.json", cmx_hf_folder_file(f, 1)));
	EXPECT_EQ(0, strcmp("x-1.safetensors", cmx_hf_folder_file(f, 2)));
	EXPECT_EQ(NULL, cmx_hf_folder_file(f, 4));
	cmx_hf_folder_close(f);
}

#define MAP(entries) "{\"weight_map\":{" entries "}}"

TEST(broken_index)
{
	EXPECT_TRUE(index_refused(NULL, NULL, "x-2.safetensors: No such file"));
	EXPECT_TRUE(index_refused(NULL, "{}", "x-2.safetensors: the tensors end at 0"));
	EXPECT_TRUE(index_refused(NULL, "{\"a\":{\"dtype\":\"U8\",\"shape\":[8],"
				  "\"data_offsets\":[0,8]}}", "'a' is in x-"));
	EXPECT_TRUE(index_refused("[]", SECOND, "index.json: is no JSON object"));
	EXPECT_TRUE(index_refused("{", SECOND, "index.json: "));
	EXPECT_TRUE(index_refused("{}", SECOND, "weight_map must be"));
	EXPECT_TRUE(index_refused(MAP("\"a\":1"), SECOND, "'a' must be a string"));
	EXPECT_TRUE(index_refused(MAP("\"a\":\"../x-1.safetensors\""), SECOND, "is not the name"));
	EXPECT_TRUE(index_refused(MAP("\"a\":\"x-1.bin\""), SECOND, "is not the name"));
	EXPECT_TRUE(index_refused(MAP("\"a\":\".safetensors\""), SECOND, "is not the name"));
	EXPECT_TRUE(index_refused(MAP("\"b\":\"x-1.safetensors\""), SECOND, "'b' is not in x-1"));
	EXPECT_TRUE(index_refused(MAP("\"a\":\"x-1.safetensors\",\"a\":\"x-1.safetensors\""),
				  SECOND, "duplicate"));
}

TEST(no_index)
{
	struct cmx_hf_folder *f = NULL;
	struct hf_make dir;

	hf_make_dir(&dir);
	EXPECT_EQ(-ENOENT, cmx_hf_folder_open(dir.path, &f, &err));
	EXPECT_NE(NULL, strstr(err.text, "config.json: No such file"));
	hf_make_text(&dir, "config.json", "{\"a\":1,\"a\":2}");
	EXPECT_EQ(-EINVAL, cmx_hf_folder_open(dir.path, &f, &err));
	EXPECT_NE(NULL, strstr(err.text, "duplicate"));
	hf_make_text(&dir, "config.json", "{}");
	EXPECT_EQ(-ENOENT, cmx_hf_folder_open(dir.path, &f, &err));
	EXPECT_NE(NULL, strstr(err.text, "model.safetensors: No such file"));
	hf_make_remove(&dir);
}

TEST_HARNESS_MAIN
