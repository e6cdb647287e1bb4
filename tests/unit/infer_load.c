// SPDX-License-Identifier: GPL-2.0-only
/*
 * Loading: numbers that change their format on the way, models that do not fit,
 * checksums, and folders whose tensors are not what config.json says.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_checksum.h"
#include "cmx_load_room.h"
#include "cmx_memory_group.h"
#include "cmx_model.h"
#include "cmx_sha256.h"
#include "cmx_tinymoe.h"
#include "hf_make.h"
#include "host_die.h"

static struct cmx_infer_err err;

TEST(every_fp8)
{
	const float one[] = { 1, 1 };
	const struct cmx_fp8_scales s = { one, 256 };
	uint8_t in[512];
	uint16_t out[256];

	for (int i = 0; i < 256; i++)
		in[i] = (i & 0x7f) == 0x7f ? 0 : (uint8_t)i;
	ASSERT_EQ(0, cmx_recode(CMX_RECODE_FP8_BF16, &s, 0, 256, in, out, &err));
	for (int i = 0; i < 256; i++) {
		uint32_t bits = (uint32_t)out[i] << 16;
		float f;

		memcpy(&f, &bits, sizeof(f));
		EXPECT_EQ(tinymoe_from_fp8(in[i]), (double)f);
		EXPECT_EQ(in[i], tinymoe_to_fp8(f));
	}
	in[77] = 0xff;
	EXPECT_EQ(-EDOM, cmx_recode(CMX_RECODE_FP8_BF16, &s, 0, 256, in, out, &err));
	EXPECT_NE(NULL, strstr(err.text, "column 77 is not a number"));
}

/* Blocks of 128 x 128, cut at the edges, wherever a part begins. */
TEST(fp8_blocks)
{
	enum { ROWS = 130, COLS = 300 };
	static uint8_t in[ROWS * COLS];
	static uint16_t out[ROWS * COLS];
	float scale[6];
	const struct cmx_fp8_scales s = { scale, COLS };

	for (int i = 0; i < 6; i++)
		scale[i] = ldexpf(1, i);
	memset(in, 0x38, sizeof(in));		/* 1.0 */
	for (uint64_t at = 0; at < ROWS * COLS; at += 77) {
		uint64_t n = ROWS * COLS - at < 77 ? ROWS * COLS - at : 77;

		ASSERT_EQ(0, cmx_recode(CMX_RECODE_FP8_BF16, &s, at, n, in + at, out + at, &err));
	}
	for (int r = 0; r < ROWS; r++) {
		for (int col = 0; col < COLS; col++) {
			int block = r / 128 * 3 + col / 128;

			EXPECT_EQ(0x3f80 + 0x80 * block, out[r * COLS + col]);
		}
	}
}

/* In place, from the last bytes of the room that the result needs. */
TEST(widening)
{
	enum { N = 1000 };
	static uint8_t room[4 * N];
	uint16_t in[N];
	float out[N];

	for (int i = 0; i < N; i++)
		in[i] = (uint16_t)(i * 61);
	for (int k = 0; k < 2; k++) {
		enum cmx_recode recode = k ? CMX_RECODE_BF16_F32 : CMX_RECODE_F16_F32;

		memcpy(room + 2 * N, in, sizeof(in));
		ASSERT_EQ(0, cmx_recode(recode, NULL, 0, N, room + 2 * N, room, &err));
		memcpy(out, room, sizeof(out));
		for (int i = 0; i < N; i++) {
			double want;

			tinymoe_restore(k ? TINYMOE_BF16 : TINYMOE_F16, (uint8_t *)&in[i], 1,
					&want);
			if ((in[i] & 0x7c00) != 0x7c00)
				EXPECT_EQ(want, (double)out[i]);
		}
	}
}

TEST(products_must_be_finite)
{
	const float scale[] = { 1e30f, -3e36f };
	const struct cmx_fp8_scales s = { scale, 200 };
	uint8_t in[200];
	uint16_t out[200];

	memset(in, 0x38, sizeof(in));		/* 1.0 */
	in[3] = 0x7e;				/* 448 */
	ASSERT_EQ(0, cmx_recode(CMX_RECODE_FP8_BF16, &s, 0, 200, in, out, &err));
	in[130] = 0xfe;
	EXPECT_EQ(-ERANGE, cmx_recode(CMX_RECODE_FP8_BF16, &s, 400, 200, in, out, &err));
	EXPECT_STREQ("row 2, column 130: -448 x scale -3e+36 is more than BF16 holds", err.text);
}

TEST(scales_must_be_finite)
{
	const float good[] = { 1, 0, -1e30f }, bad[] = { 1, 2, INFINITY }, nan[] = { NAN };

	EXPECT_EQ(0, cmx_fp8_check_scales(good, 3, &err));
	EXPECT_EQ(-EDOM, cmx_fp8_check_scales(bad, 3, &err));
	EXPECT_NE(NULL, strstr(err.text, "scale 2 is not finite"));
	EXPECT_EQ(-EDOM, cmx_fp8_check_scales(nan, 1, &err));
}

static int digest_is(const void *data, size_t n, size_t step, const char *want)
{
	struct cmx_sha256 s;
	uint8_t digest[32];
	char hex[65];

	cmx_sha256_init(&s);
	for (size_t at = 0; at < n; at += step)
		cmx_sha256_add(&s, (const char *)data + at, n - at < step ? n - at : step);
	cmx_sha256_end(&s, digest);
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	return !strcmp(hex, want);
}

/* The published vectors. */
TEST(sha256)
{
	static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	static char million[1000000];

	EXPECT_TRUE(digest_is("", 0, 1,
			      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"));
	EXPECT_TRUE(digest_is("abc", 3, 1,
			      "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"));
	EXPECT_TRUE(digest_is(two, 56, 9,
			      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"));
	memset(million, 'a', sizeof(million));
	EXPECT_TRUE(digest_is(million, sizeof(million), 119,
			      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"));
}

/* v3tiny with a folder of its own, in which a test can break things. */
FIXTURE(folder)
{
	struct hf_make dir;
	struct cmx_source *src;
};

FIXTURE_SETUP(folder)
{
	hf_make_dir(&self->dir);
	ASSERT_EQ(0, tinymoe_write_hf(tinymoe_find("v3tiny"), TINYMOE_FP8, 1, 1234,
				      self->dir.path));
	self->src = NULL;
	err.text[0] = 0;
}

FIXTURE_TEARDOWN(folder)
{
	cmx_source_close(self->src);
	hf_make_remove(&self->dir);
}

/* Replaces the first @from behind the first @behind in a file of the folder; same length. */
static void patch(const struct hf_make *dir, const char *name, const char *behind,
		  const char *from, const char *to)
{
	char path[256], *text, *at;
	uint64_t len;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	if (cmx_weight_file_text(path, 1u << 24, &text, &len, &err) || strlen(from) != strlen(to))
		abort();
	at = memmem(text, len, behind, strlen(behind));
	at = at ? memmem(at, len - (size_t)(at - text), from, strlen(from)) : NULL;
	if (!at)
		abort();
	memcpy(at, to, strlen(to));
	f = fopen(path, "we");
	if (!f || fwrite(text, 1, len, f) != len || fclose(f))
		abort();
	free(text);
}

static int load(struct cmx_source **src, const struct hf_make *dir, uint64_t run_bytes)
{
	const struct cmx_machine_options opt = { .isa = CMX_ISA_SCALAR, .threads = 1 };
	const struct cmx_load_options load = { .buffer_bytes = run_bytes };
	struct cmx_model m = { 0 };
	struct cmx_die *die = NULL;
	int ret = cmx_source_open(dir->path, src, &err);

	if (!ret)
		ret = host_die_open(&opt, &die, &err);
	if (!ret)
		ret = cmx_model_load(*src, die, &load, &m, &err);
	cmx_model_free(&m);
	host_die_close(die);
	return ret;
}

static int explained(int ret, const char *word, const char *other)
{
	if (ret < 0 && strstr(err.text, word) && strstr(err.text, other))
		return 1;
	fprintf(stderr, "%d: '%s' has no '%s' or '%s'\n", ret, err.text, word, other);
	return 0;
}

#define ST "model.safetensors"

TEST_F(folder, good)
{
	ASSERT_EQ(0, load(&self->src, &self->dir, 0)) TH_LOG("%s", err.text);
	EXPECT_EQ(NULL, cmx_source_gguf(self->src));
	EXPECT_EQ(0, strncmp("hf_make.", cmx_source_config(self->src)->name, 8));
}

TEST_F(folder, missing_tensor)
{
	patch(&self->dir, ST, "layers.2.mlp.experts.7.up", "up_proj", "ux_proj");
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0),
			      "'model.layers.2.mlp.experts.7.up_proj.weight' is missing", ""));
}

TEST_F(folder, missing_scales)
{
	patch(&self->dir, ST, "layers.1.self_attn.o_proj.weight_", "scale", "scalx");
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0),
			      "o_proj.weight_scale_inv' is missing", ST));
}

TEST_F(folder, shape_of_a_matrix)
{
	patch(&self->dir, ST, "layers.0.mlp.gate_proj.weight\"", "[512,256]", "[256,512]");
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0), ST ": tensor",
			      "dimension 0 is 256, the model's metadata asks for 512"));
}

TEST_F(folder, rank_of_a_matrix)
{
	patch(&self->dir, ST, "layers.0.mlp.gate_proj.weight\"", "[512,256]", "[ 131072]");
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0), ST ": tensor",
			      "1 dimensions, must be 2"));
}

TEST_F(folder, shape_of_scales)
{
	patch(&self->dir, ST, "layers.0.mlp.gate_proj.weight_scale_inv", "[4,2]", "[2,4]");
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0),
			      "weight_scale_inv': dimension 0 is 2", "asks for 4"));
}

TEST_F(folder, dtype_of_a_norm)
{
	patch(&self->dir, ST, "layers.3.input_layernorm.weight", "BF16", " I16");
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0), ST ": ", "dtype"));
}

TEST_F(folder, dtype_that_is_not_known)
{
	patch(&self->dir, ST, "layers.3.input_layernorm.weight", "\"BF16\"", "\"I16\" ");
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0),
			      "layers.3.input_layernorm.weight': dtype I16", "must be F32"));
}

TEST_F(folder, bug09_router_and_norms_become_f32)
{
	const struct cmx_tensor_need router = { "", "mlp.gate.weight", true, { 256, 16, 1 } };
	const struct cmx_tensor_need norm = { "", "input_layernorm.weight", true, { 256, 1, 1 } };
	const struct cmx_tensor_need expert = { "", "mlp.experts.%u.up_proj.weight", false,
						{ 256, 128, 16 } };
	struct cmx_tensor_found found;

	ASSERT_EQ(0, cmx_source_open(self->dir.path, &self->src, &err));
	ASSERT_EQ(0, cmx_source_find(self->src, 1, &router, &found, &err));
	EXPECT_EQ(CMX_TENSOR_F32, found.type);
	ASSERT_EQ(0, cmx_source_find(self->src, 1, &norm, &found, &err));
	EXPECT_EQ(CMX_TENSOR_F32, found.type);
	ASSERT_EQ(0, cmx_source_find(self->src, 1, &expert, &found, &err));
	EXPECT_EQ(CMX_TENSOR_BF16, found.type);
	EXPECT_EQ(16, found.n_pieces);
	EXPECT_EQ(16 * 256 * 128 * 2, found.size);
}

/* The bytes are read last of all, and it is still the right expert that is named. */
TEST_F(folder, a_number_that_is_none)
{
	const struct cmx_tensor_need need = { "", "mlp.experts.%u.up_proj.weight", false,
					      { 256, 128, 16 } };
	struct cmx_piece piece;
	char path[128];
	FILE *f;

	ASSERT_EQ(0, cmx_source_open(self->dir.path, &self->src, &err));
	ASSERT_EQ(0, cmx_source_piece(self->src, 2, &need, 9, &piece, &err));
	cmx_source_close(self->src);
	self->src = NULL;
	snprintf(path, sizeof(path), "%s/" ST, self->dir.path);
	f = fopen(path, "r+e");
	ASSERT_NE(NULL, f);
	EXPECT_EQ(0, fseek(f, (long)piece.at + 3 * 256 + 17, SEEK_SET));
	EXPECT_EQ(0x7f, fputc(0x7f, f));
	EXPECT_EQ(0, fclose(f));
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0),
			      "'model.layers.2.mlp.experts.9.up_proj.weight'",
			      "row 3, column 17 is not a number"));
}

TEST_F(folder, fp8_without_a_word_in_the_config)
{
	patch(&self->dir, "config.json", "", "quantization_config", "quantization_c0nfig");
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0), "F8_E4M3 without",
			      "quantization_config"));
}

TEST_F(folder, config_that_is_not_the_weights)
{
	patch(&self->dir, "config.json", "", "\"vocab_size\": 512", "\"vocab_size\": 511");
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0), "model.embed_tokens.weight'",
			      "dimension 0 is 512, the model's metadata asks for 511"));
	cmx_source_close(self->src);
	self->src = NULL;
	patch(&self->dir, "config.json", "", "deepseek_v3", "deepseek_v9");
	EXPECT_TRUE(explained(load(&self->src, &self->dir, 0), "/config.json: model_type", "v9"));
}

TEST_F(folder, more_than_the_die_has)
{
	uint64_t need;

	host_die_room = 1u << 20;
	EXPECT_EQ(-ENOSPC, load(&self->src, &self->dir, 5));
	EXPECT_TRUE(explained(-ENOSPC, "for weights, 0 for the KV cache and 5 for buffers",
			      "the die has 1048576 free"));
	need = strtoull(err.text + strcspn(err.text, "0123456789"), NULL, 10);
	cmx_source_close(self->src);
	self->src = NULL;
	host_die_room = need + 4;
	EXPECT_EQ(-ENOSPC, load(&self->src, &self->dir, 5));
	cmx_source_close(self->src);
	self->src = NULL;
	host_die_room = need + 5;
	EXPECT_EQ(0, load(&self->src, &self->dir, 5));
}

TEST_F(folder, more_than_the_computer_has)
{
	host_die_room = UINT64_MAX;
	EXPECT_EQ(-ENOSPC, load(&self->src, &self->dir, 1ull << 50));
	EXPECT_TRUE(explained(-ENOSPC, "1125899906842624 for buffers", "this computer has"));
}

TEST(meminfo)
{
	struct hf_make dir;
	uint64_t bytes;
	char path[128];

	hf_make_dir(&dir);
	snprintf(path, sizeof(path), "%s/m", dir.path);
	hf_make_text(&dir, "m", "MemTotal: 9 kB\nMemFree: 8 kB\nMemAvailable:    3 kB\n");
	EXPECT_EQ(0, cmx_load_available(path, &bytes, &err));
	EXPECT_EQ(3072, bytes);
	hf_make_text(&dir, "m", "MemTotal: 9 kB\n");
	EXPECT_EQ(-EINVAL, cmx_load_available(path, &bytes, &err));
	hf_make_remove(&dir);
	EXPECT_EQ(-ENOENT, cmx_load_available(path, &bytes, &err));
	EXPECT_EQ(0, cmx_load_available("/proc/meminfo", &bytes, &err));
}

/* Its own limit, and that of the group above it; a tree of files stands in for the groups. */
TEST(memory_groups)
{
	struct hf_make top, in;
	char list[128];

	hf_make_dir(&top);
	snprintf(list, sizeof(list), "%s/list", top.path);
	in = top;
	strcat(in.path, "/a");
	ASSERT_EQ(0, mkdir(in.path, 0700));
	EXPECT_EQ(UINT64_MAX, cmx_memory_group_room(list, top.path));
	hf_make_text(&top, "list", "12:memory:/old\n0::/a\n");
	EXPECT_EQ(UINT64_MAX, cmx_memory_group_room(list, top.path));
	hf_make_text(&in, "memory.max", "max\n");
	EXPECT_EQ(UINT64_MAX, cmx_memory_group_room(list, top.path));
	hf_make_text(&in, "memory.max", "1000\n");
	hf_make_text(&in, "memory.current", "700\n");
	EXPECT_EQ(300, cmx_memory_group_room(list, top.path));
	hf_make_text(&in, "memory.stat", "anon 9\ninactive_file 40\nactive_file 60\nfile 500\n");
	EXPECT_EQ(400, cmx_memory_group_room(list, top.path));
	hf_make_text(&top, "memory.max", "600\n");
	hf_make_text(&top, "memory.current", "350\n");
	EXPECT_EQ(250, cmx_memory_group_room(list, top.path));
	hf_make_text(&top, "memory.current", "601\n");
	EXPECT_EQ(0, cmx_memory_group_room(list, top.path));
	hf_make_text(&top, "list", "0::/\n");
	EXPECT_EQ(0, cmx_memory_group_room(list, top.path));
	hf_make_text(&top, "list", "3:memory:/a\n");
	EXPECT_EQ(UINT64_MAX, cmx_memory_group_room(list, top.path));
	hf_make_remove(&in);
	hf_make_remove(&top);
}

static int verify(const struct hf_make *dir, struct cmx_source **src)
{
	int ret;

	cmx_source_close(*src);
	*src = NULL;
	ret = cmx_source_open(dir->path, src, &err);
	return ret ? ret : cmx_checksum_verify(*src, NULL, NULL, &err);
}

TEST_F(folder, checksums)
{
	char command[512];

	EXPECT_TRUE(explained(verify(&self->dir, &self->src), "SHA256SUMS: No such file", ""));
	snprintf(command, sizeof(command), "cd %s && sha256sum config.json >SHA256SUMS",
		 self->dir.path);
	ASSERT_EQ(0, system(command));
	EXPECT_TRUE(explained(verify(&self->dir, &self->src), "no line for", "'" ST "'"));
	snprintf(command, sizeof(command), "cd %s && sha256sum -b *s* >SHA256SUMS",
		 self->dir.path);
	ASSERT_EQ(0, system(command));
	EXPECT_EQ(0, verify(&self->dir, &self->src)) TH_LOG("%s", err.text);
	patch(&self->dir, "config.json", "num_hidden_layers", ": 4", ": 3");
	EXPECT_TRUE(explained(verify(&self->dir, &self->src), "config.json: SHA-256 is ",
			      "SHA256SUMS has"));
}

#define HEAD 16384u

/* Bits flipped anywhere in header or config: no crash, and always a reason. */
static int survives(const struct hf_make *dir, const char *name, uint64_t *rng)
{
	struct cmx_source *src = NULL;
	char path[256], *text, *bad;
	uint64_t len;
	int ok;

	snprintf(path, sizeof(path), "%s/%s", dir->path, name);
	if (cmx_weight_file_text(path, 1u << 24, &text, &len, &err))
		abort();
	bad = malloc(len);
	memcpy(bad, text, len);
	for (int i = 0; i < 3; i++) {
		*rng = *rng * 6364136223846793005ull + 1442695040888963407ull;
		bad[(*rng >> 33) % (len < HEAD ? len : HEAD)] ^= (char)(1 << (*rng & 7));
	}
	hf_make_file(dir, name, bad, len);
	err.text[0] = 0;
	ok = !load(&src, dir, 0) || err.text[0];
	cmx_source_close(src);
	hf_make_file(dir, name, text, len);
	free(bad);
	free(text);
	return ok;
}

TEST_F(folder, bug27_seeded_mutations)
{
	uint64_t rng = 25378;

	for (int round = 0; round < 200; round++)
		EXPECT_TRUE(survives(&self->dir, round & 1 ? ST : "config.json", &rng));
}

TEST_HARNESS_MAIN
