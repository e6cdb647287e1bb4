// SPDX-License-Identifier: GPL-2.0-only
/* Models that have shapes and no weights: presets, config.json, what they take on a die. */
#include <errno.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_forward.h"
#include "cmx_model_preset.h"
#include "cmx_tinymoe.h"
#include "hf_make.h"
#include "host_die.h"

static struct cmx_infer_err err;

static int explained(int ret, const char *word)
{
	if (ret < 0 && strstr(err.text, word))
		return 1;
	fprintf(stderr, "%d: '%s' has no '%s'\n", ret, err.text, word);
	return 0;
}

/* On a die of its own; the model's addresses can be compared with others made so. */
static int load(struct cmx_source *src, bool time_only, uint64_t cache, struct cmx_model *m)
{
	const struct cmx_machine_options opt = { .threads = 1, .time_only = time_only };
	const struct cmx_load_options how = {
		.mtp = cmx_source_config(src)->n_mtp, .cache_bytes = cache, .buffer_bytes = 7,
	};
	struct cmx_die *die = NULL;
	int ret = host_die_open(&opt, &die, &err);

	if (!ret)
		ret = cmx_model_load(src, die, &how, m, &err);
	host_die_close(die);
	return ret;
}

static uint64_t bytes_of(const char *what, uint32_t type)
{
	struct cmx_source *src = NULL;
	struct cmx_model m = { 0 };
	int ret = cmx_source_open_shape(what, type, &src, &err);

	if (!ret)
		ret = load(src, true, 0, &m);
	if (ret)
		fprintf(stderr, "%s: %s\n", what, err.text);
	cmx_model_free(&m);
	cmx_source_close(src);
	return ret ? 0 : m.weight_bytes;
}

/* Their authors say 671, 236 and 15.7 billion parameters; R1's MTP block adds 11.6. */
TEST(sizes_are_the_published_ones)
{
	host_die_room = 1ull << 50;
	EXPECT_GT(682.7e9, (double)bytes_of("deepseek-r1", CMX_TENSOR_F32) / 4);
	EXPECT_LT(682.5e9, (double)bytes_of("deepseek-r1", CMX_TENSOR_F32) / 4);
	EXPECT_GT(235.8e9, (double)bytes_of("deepseek-v2", CMX_TENSOR_BF16) / 2);
	EXPECT_LT(235.7e9, (double)bytes_of("deepseek-v2", CMX_TENSOR_BF16) / 2);
	EXPECT_GT(15.71e9, (double)bytes_of("deepseek-v2-lite", CMX_TENSOR_F32) / 4);
	EXPECT_LT(15.70e9, (double)bytes_of("deepseek-v2-lite", CMX_TENSOR_F32) / 4);
	EXPECT_EQ(bytes_of("deepseek-v3", CMX_TENSOR_I8), bytes_of("deepseek-r1", CMX_TENSOR_I8));
}

TEST(every_preset_loads_in_every_type)
{
	static const uint32_t types[] = { CMX_TENSOR_I8, CMX_TENSOR_BF16, CMX_TENSOR_F32 };

	host_die_room = 1ull << 50;
	for (size_t i = 0; cmx_model_preset_name(i); i++) {
		uint64_t last = 0;

		for (int t = 0; t < 3; t++) {
			uint64_t bytes = bytes_of(cmx_model_preset_name(i), types[t]);

			EXPECT_GT(bytes, last);
			last = bytes;
		}
	}
}

static bool same_weight(const struct cmx_weight *a, const struct cmx_weight *b)
{
	return a->va == b->va && a->type == b->type;
}

/* As the files' own weights lie on the die, so do those that are only shapes. */
static void compare(struct __test_metadata *_metadata, enum tinymoe_type stored, uint32_t type)
{
	struct cmx_source *files = NULL, *shape = NULL;
	struct cmx_model a = { 0 }, b = { 0 };
	struct hf_make dir = { 0 };

	hf_make_dir(&dir);
	ASSERT_EQ(0, tinymoe_write_hf(tinymoe_find("v3tiny-mtp"), stored, 1, 3, dir.path));
	ASSERT_EQ(0, cmx_source_open(dir.path, &files, &err)) TH_LOG("%s", err.text);
	if (type == CMX_TENSOR_I8)
		cmx_source_quantise(files);
	ASSERT_EQ(0, cmx_source_open_shape(dir.path, type, &shape, &err)) TH_LOG("%s", err.text);
	EXPECT_TRUE(cmx_source_has_bytes(files) && !cmx_source_has_bytes(shape));
	ASSERT_EQ(0, load(files, true, 0, &a)) TH_LOG("%s", err.text);
	ASSERT_EQ(0, load(shape, true, 0, &b)) TH_LOG("%s", err.text);
	for (uint32_t l = 0; l <= a.cfg.n_layer; l++) {
		const struct cmx_weight *x = (const struct cmx_weight *)&a.layer[l];
		const struct cmx_weight *y = (const struct cmx_weight *)&b.layer[l];

		for (size_t i = 0; i < sizeof(a.layer[l]) / sizeof(*x); i++)
			EXPECT_TRUE(same_weight(&x[i], &y[i]));
	}
	EXPECT_TRUE(same_weight(&a.out, &b.out) && same_weight(&a.embed, &b.embed));
	cmx_model_free(&a);
	cmx_model_free(&b);
	cmx_source_close(files);
	cmx_source_close(shape);
	hf_make_remove(&dir);
}

TEST(shapes_lie_as_weights_do)
{
	compare(_metadata, TINYMOE_F32, CMX_TENSOR_F32);
	compare(_metadata, TINYMOE_BF16, CMX_TENSOR_BF16);
	compare(_metadata, TINYMOE_BF16, CMX_TENSOR_I8);
}

/* 576 values of two bytes in 61 layers: 70,272 bytes for each position of DeepSeek-R1. */
TEST(cache_of_a_position)
{
	struct cmx_forward_options f = {
		.ctx = 4096, .rows = 1, .seqs = 1, .pages = 32, .page_shift = 7, .narrow = true,
	};
	struct cmx_source *src = NULL;
	uint64_t cache, buffers;

	ASSERT_EQ(0, cmx_source_open_shape("deepseek-r1", CMX_TENSOR_I8, &src, &err));
	cmx_forward_bytes(cmx_source_config(src), &f, &cache, &buffers);
	EXPECT_EQ(70272u * 4096, cache);
	f.narrow = false;
	cmx_forward_bytes(cmx_source_config(src), &f, &cache, &buffers);
	EXPECT_EQ(2 * 70272u * 4096, cache);
	cmx_source_close(src);
}

TEST(what_is_no_model)
{
	struct cmx_source *src = NULL;

	EXPECT_TRUE(explained(cmx_source_open_shape("deepseek-r9", CMX_TENSOR_I8, &src, &err),
			      "'deepseek-r9' is no file and none of the models deepseek-r1, "));
	EXPECT_TRUE(explained(cmx_source_open_shape("/dev/null", CMX_TENSOR_I8, &src, &err),
			      "/dev/null"));
	EXPECT_TRUE(explained(cmx_source_open_shape("/proc/self", CMX_TENSOR_I8, &src, &err),
			      "config.json"));
	EXPECT_EQ(NULL, src);
}

TEST(shapes_are_for_time_only)
{
	struct cmx_source *src = NULL;
	struct cmx_model m = { 0 };

	ASSERT_EQ(0, cmx_source_open_shape("deepseek-v2-lite", CMX_TENSOR_I8, &src, &err));
	EXPECT_TRUE(explained(load(src, false, 0, &m), "which is for time only"));
	EXPECT_EQ(NULL, cmx_source_file(src, 0));
	cmx_source_close(src);
}

TEST(more_than_the_die_has_is_refused_by_item)
{
	struct cmx_source *src = NULL;
	struct cmx_model m = { 0 };
	uint64_t weights;
	char want[160];

	host_die_room = 1ull << 50;
	weights = bytes_of("deepseek-v2-lite", CMX_TENSOR_I8);
	host_die_room = weights + 5 + 6;
	ASSERT_EQ(0, cmx_source_open_shape("deepseek-v2-lite", CMX_TENSOR_I8, &src, &err));
	snprintf(want, sizeof(want), "needs %llu bytes for weights, 5 for the KV cache and 7 for "
		 "buffers, the die has %llu free", (unsigned long long)weights,
		 (unsigned long long)host_die_room);
	EXPECT_EQ(-ENOSPC, load(src, true, 5, &m));
	EXPECT_TRUE(explained(-ENOSPC, want));
	host_die_room++;
	EXPECT_EQ(0, load(src, true, 5, &m)) TH_LOG("%s", err.text);
	cmx_model_free(&m);
	cmx_source_close(src);
}

TEST_HARNESS_MAIN
