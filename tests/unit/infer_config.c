// SPDX-License-Identifier: GPL-2.0-only
/* Hyper-parameters from metadata: what is read, what is refused and why. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <kselftest_harness.h>

#include "cmx_model_source.h"
#include "gguf_make.h"

static struct gguf_make file;
static struct cmx_infer_err err;
static struct cmx_model_config config;

enum kind { U32, F32, BOOL, STRING };

static struct field {
	const char *key;
	enum kind kind;
	double number;
	const char *text;
} fields[] = {
	{ "general.architecture", STRING, 0, "deepseek2" },
	{ "deepseek2.block_count", U32, 5, NULL },
	{ "deepseek2.nextn_predict_layers", U32, 1, NULL },
	{ "deepseek2.leading_dense_block_count", U32, 1, NULL },
	{ "deepseek2.embedding_length", U32, 32, NULL },
	{ "deepseek2.feed_forward_length", U32, 64, NULL },
	{ "deepseek2.context_length", U32, 1000, NULL },
	{ "deepseek2.attention.head_count", U32, 4, NULL },
	{ "deepseek2.attention.head_count_kv", U32, 1, NULL },
	{ "deepseek2.attention.q_lora_rank", U32, 24, NULL },
	{ "deepseek2.attention.kv_lora_rank", U32, 16, NULL },
	{ "deepseek2.attention.key_length", U32, 24, NULL },
	{ "deepseek2.attention.value_length", U32, 16, NULL },
	{ "deepseek2.attention.key_length_mla", U32, 20, NULL },
	{ "deepseek2.attention.value_length_mla", U32, 10, NULL },
	{ "deepseek2.attention.layer_norm_rms_epsilon", F32, 1e-6, NULL },
	{ "deepseek2.rope.dimension_count", U32, 8, NULL },
	{ "deepseek2.rope.freq_base", F32, 10000, NULL },
	{ "deepseek2.rope.scaling.type", STRING, 0, "yarn" },
	{ "deepseek2.rope.scaling.factor", F32, 40, NULL },
	{ "deepseek2.rope.scaling.original_context_length", U32, 4096, NULL },
	{ "deepseek2.rope.scaling.yarn_log_multiplier", F32, 0.1, NULL },
	{ "deepseek2.expert_count", U32, 16, NULL },
	{ "deepseek2.expert_used_count", U32, 4, NULL },
	{ "deepseek2.expert_shared_count", U32, 1, NULL },
	{ "deepseek2.expert_feed_forward_length", U32, 48, NULL },
	{ "deepseek2.expert_weights_scale", F32, 2.5, NULL },
	{ "deepseek2.expert_weights_norm", BOOL, 1, NULL },
	{ "deepseek2.expert_gating_func", U32, 2, NULL },
	{ "deepseek2.expert_group_count", U32, 4, NULL },
	{ "deepseek2.expert_group_used_count", U32, 2, NULL },
};

#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

static void put_field(const struct field *f)
{
	if (f->kind == U32)
		make_kv_u32(&file, f->key, (uint32_t)f->number);
	else if (f->kind == F32)
		make_kv_f32(&file, f->key, (float)f->number);
	else if (f->kind == BOOL)
		make_kv_bool(&file, f->key, (uint8_t)f->number);
	else
		make_kv_string(&file, f->key, f->text);
}

static void put_fields(const char *without)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		if (!without || strcmp(fields[i].key, without))
			put_field(&fields[i]);
	}
}

/* A file with all fields but @without, which @instead (may be NULL) replaces. */
static int read_with(const char *without, const struct field *instead, int bias_layers)
{
	const uint64_t embed[] = { 32, 100, 0 }, bias[] = { 16, 0 };
	uint64_t offset = 32 * 100 * 4;
	struct cmx_gguf *g;
	uint32_t n = 0;
	int ret;

	for (size_t i = 0; i < N_FIELDS; i++)
		n += !without || strcmp(fields[i].key, without);
	make_header(&file, 1 + (uint64_t)bias_layers, n + !!instead);
	put_fields(without);
	if (instead)
		put_field(instead);
	make_tensor(&file, "token_embd.weight", CMX_TENSOR_F32, embed, 0);
	for (int i = 0; i < bias_layers; i++, offset += 64) {
		char name[32];

		snprintf(name, sizeof(name), "blk.%d.exp_probs_b.bias", i + 1);
		make_tensor(&file, name, CMX_TENSOR_F32, bias, offset);
	}
	make_pad(&file, 32);
	file.len += offset;
	ret = make_open(&file, file.len, &g, &err);
	if (!ret)
		ret = cmx_model_config_read(g, &config, &err);
	cmx_gguf_close(g);
	return ret;
}

static int read_number(const char *key, enum kind kind, double number)
{
	const struct field f = { key, kind, number, NULL };

	return read_with(key, &f, 4);
}

/* Refused with an error text that holds @word. */
static int refused(int ret, const char *word)
{
	if (ret < 0 && strstr(err.text, word))
		return 1;
	fprintf(stderr, "%d: '%s' has no '%s'\n", ret, err.text, word);
	return 0;
}

TEST(all_there)
{
	ASSERT_EQ(0, read_with(NULL, NULL, 4)) TH_LOG("%s", err.text);
	EXPECT_EQ(4, config.n_layer);
	EXPECT_EQ(1, config.n_mtp);
	EXPECT_EQ(100, config.vocab);
	EXPECT_EQ(12, config.nope);
	EXPECT_EQ(10, config.v_dim);
	EXPECT_EQ(CMX_GATE_SIGMOID, config.gate);
	EXPECT_EQ(CMX_GROUP_TOP2, config.group_rule);
	EXPECT_TRUE(config.yarn.on);
	EXPECT_EQ(32, config.yarn.beta_fast);
	EXPECT_EQ(2.5f, config.weight_scale);
}

TEST(no_bias_is_the_v2_rule)
{
	ASSERT_EQ(0, read_with(NULL, NULL, 0));
	EXPECT_EQ(CMX_GROUP_MAX, config.group_rule);
	EXPECT_TRUE(refused(read_with(NULL, NULL, 2), "blk.3.exp_probs_b.bias"));
	/* The block that predicts a second token goes by it too. */
	EXPECT_TRUE(refused(read_with(NULL, NULL, 3), "blk.4.exp_probs_b.bias"));
}

TEST(what_may_be_missing)
{
	ASSERT_EQ(0, read_with("deepseek2.attention.q_lora_rank", NULL, 4));
	EXPECT_EQ(0, config.q_lora);
	ASSERT_EQ(0, read_with("deepseek2.expert_gating_func", NULL, 4));
	EXPECT_EQ(CMX_GATE_SOFTMAX, config.gate);
	ASSERT_EQ(0, read_with("deepseek2.rope.scaling.type", NULL, 4));
	EXPECT_FALSE(config.yarn.on);
	ASSERT_EQ(0, read_with("deepseek2.nextn_predict_layers", NULL, 0));
	EXPECT_EQ(5, config.n_layer);
	ASSERT_EQ(0, read_number("deepseek2.expert_weights_scale", F32, 0));
	EXPECT_EQ(1, config.weight_scale);
}

TEST(what_may_not)
{
	static const char * const keys[] = {
		"general.architecture", "deepseek2.block_count", "deepseek2.embedding_length",
		"deepseek2.attention.head_count", "deepseek2.attention.kv_lora_rank",
		"deepseek2.attention.key_length", "deepseek2.attention.layer_norm_rms_epsilon",
		"deepseek2.rope.dimension_count", "deepseek2.rope.scaling.factor",
		"deepseek2.rope.scaling.yarn_log_multiplier", "deepseek2.expert_count",
		"deepseek2.expert_used_count", "deepseek2.expert_feed_forward_length",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		EXPECT_TRUE(refused(read_with(keys[i], NULL, 4), keys[i]));
}

TEST(gates)
{
	EXPECT_TRUE(refused(read_number("deepseek2.expert_gating_func", U32, 3),
			    "expert_gating_func is 3"));
	EXPECT_TRUE(refused(read_number("deepseek2.expert_gating_func", U32, 4),
			    "expert_gating_func is 4"));
}

TEST(bug06_no_groups_in_a_file)
{
	ASSERT_EQ(0, read_with("deepseek2.expert_group_count", NULL, 4));
	EXPECT_EQ(1, config.n_group);
	for (int n = 0; n < 2; n++) {
		ASSERT_EQ(0, read_number("deepseek2.expert_group_count", U32, n));
		EXPECT_EQ(1, config.n_group);
	}
}

TEST(bug05_illegal_group_topologies_of_a_file)
{
	EXPECT_TRUE(refused(read_number("deepseek2.expert_group_count", U32, 3), "must divide"));
	EXPECT_TRUE(refused(read_number("deepseek2.expert_group_count", U32, 16), "below it"));
	EXPECT_TRUE(refused(read_number("deepseek2.expert_group_used_count", U32, 5), "1..4"));
	EXPECT_TRUE(refused(read_number("deepseek2.expert_used_count", U32, 17), "16"));
	EXPECT_TRUE(refused(read_number("deepseek2.expert_used_count", U32, 9), "cannot hold"));
}

/* While the metadata is read: nothing of the model is allocated then. */
TEST(bug14_too_many_experts_in_a_file)
{
	EXPECT_TRUE(refused(read_number("deepseek2.expert_count", U32, 1025),
			    "expert_count is 1025, must be 1..1024"));
	EXPECT_TRUE(refused(read_number("deepseek2.expert_count", U32, UINT32_MAX), "1..1024"));
	EXPECT_TRUE(refused(read_number("deepseek2.expert_used_count", U32, 65),
			    "expert_used_count is 65, must be 1..64"));
}

/* A file whose router was rounded would choose other experts. */
TEST(bug09_router_of_a_file_must_be_f32)
{
	const struct cmx_tensor_need need = { "ffn_gate_inp.weight", "", true, { 32, 16, 1 } };
	const uint64_t embed[] = { 32, 100, 0 }, router[] = { 32, 16, 0 };
	static const uint32_t types[] = { CMX_TENSOR_F32, CMX_TENSOR_F16, CMX_TENSOR_BF16,
					  CMX_TENSOR_Q8_0 };
	struct cmx_tensor_found found;

	for (int i = 0; i < 4; i++) {
		struct cmx_source *src = NULL;
		int fd, ret;

		make_header(&file, 2, N_FIELDS);
		put_fields(NULL);
		make_tensor(&file, "token_embd.weight", CMX_TENSOR_F32, embed, 0);
		make_tensor(&file, "blk.1.ffn_gate_inp.weight", types[i], router, 32 * 100 * 4);
		make_pad(&file, 32);
		file.len += 32 * 100 * 4 + 32 * 16 * 4;
		fd = make_file(&file, file.len);
		ASSERT_EQ(0, cmx_source_open_fd(fd, &src, &err)) TH_LOG("%s", err.text);
		ret = cmx_source_find(src, 1, &need, &found, &err);
		EXPECT_TRUE(types[i] == CMX_TENSOR_F32 ? !ret :
			    refused(ret, "ffn_gate_inp.weight': type "));
		cmx_source_close(src);
		close(fd);
	}
}

TEST(shapes)
{
	EXPECT_TRUE(refused(read_number("deepseek2.nextn_predict_layers", U32, 5), "below"));
	EXPECT_TRUE(refused(read_number("deepseek2.leading_dense_block_count", U32, 5),
			    "4 layers"));
	EXPECT_TRUE(refused(read_number("deepseek2.rope.dimension_count", U32, 7), "even"));
	EXPECT_TRUE(refused(read_number("deepseek2.attention.key_length_mla", U32, 8), "rope"));
	EXPECT_TRUE(refused(read_number("deepseek2.attention.key_length", U32, 25), "24"));
	EXPECT_TRUE(refused(read_number("deepseek2.attention.head_count_kv", U32, 4), "split"));
	EXPECT_TRUE(refused(read_number("deepseek2.attention.layer_norm_rms_epsilon", F32,
					__builtin_nan("")), "epsilon"));
	EXPECT_TRUE(refused(read_number("deepseek2.embedding_length", F32, 1), "must be u32"));
}

TEST(names)
{
	const struct field arch = { "general.architecture", STRING, 0, "llama" };
	const struct field scaling = { "deepseek2.rope.scaling.type", STRING, 0, "linear" };

	EXPECT_TRUE(refused(read_with(arch.key, &arch, 4), "'llama'"));
	EXPECT_TRUE(refused(read_with(scaling.key, &scaling, 4), "'linear'"));
}

TEST_HARNESS_MAIN
