// SPDX-License-Identifier: GPL-2.0-only
/* config.json: what is read, what is refused and why. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include <kselftest_harness.h>

#include "cmx_hf_config.h"

static struct cmx_infer_err err;
static struct cmx_model_config c;
static struct cmx_hf_quant quant;

/* In the manner of DeepSeek-V3, scaled down. */
static const char base[] =
	"{\"architectures\": [\"DeepseekV3ForCausalLM\"], \"model_type\": \"deepseek_v3\","
	"\"num_hidden_layers\": 4, \"num_nextn_predict_layers\": 1, \"first_k_dense_replace\": 1,"
	"\"moe_layer_freq\": 1, \"hidden_size\": 256, \"intermediate_size\": 512,"
	"\"vocab_size\": 512, \"max_position_embeddings\": 163840, \"num_attention_heads\": 8,"
	"\"num_key_value_heads\": 8, \"q_lora_rank\": 96, \"kv_lora_rank\": 64,"
	"\"qk_nope_head_dim\": 32, \"qk_rope_head_dim\": 16, \"v_head_dim\": 32,"
	"\"n_routed_experts\": 16, \"num_experts_per_tok\": 4, \"n_shared_experts\": 1,"
	"\"moe_intermediate_size\": 128, \"n_group\": 4, \"topk_group\": 2,"
	"\"topk_method\": \"noaux_tc\", \"scoring_func\": \"sigmoid\", \"norm_topk_prob\": true,"
	"\"routed_scaling_factor\": 2.5, \"rms_norm_eps\": 1e-06, \"rope_theta\": 10000,"
	"\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40, \"beta_fast\": 32,"
	" \"beta_slow\": 1, \"mscale\": 1.0, \"mscale_all_dim\": 1.0,"
	" \"original_max_position_embeddings\": 4096}, \"hidden_act\": \"silu\","
	"\"attention_bias\": false, \"tie_word_embeddings\": false, \"ep_size\": 1,"
	"\"quantization_config\": {\"quant_method\": \"fp8\", \"fmt\": \"e4m3\","
	" \"weight_block_size\": [128, 128], \"activation_scheme\": \"dynamic\"}}";

static json_t *parse(const char *text)
{
	return json_loads(text, JSON_DECODE_ANY, NULL);
}

/* Reads the file with @key (a name, or two with a dot) set to @value; NULL: taken out. */
static int read_with(const char *key, const char *value)
{
	json_t *root = parse(base), *in = root;
	const char *dot = key ? strchr(key, '.') : NULL;
	char outer[64];
	int ret;

	if (dot) {
		snprintf(outer, sizeof(outer), "%.*s", (int)(dot - key), key);
		in = json_object_get(root, outer);
		key = dot + 1;
	}
	if (key && value)
		json_object_set_new(in, key, parse(value));
	else if (key)
		json_object_del(in, key);
	err.text[0] = 0;
	ret = cmx_hf_config_read(root, &c, &quant, &err);
	json_decref(root);
	return ret;
}

static int refused(const char *key, const char *value, const char *word)
{
	int ret = read_with(key, value);

	if (ret < 0 && strstr(err.text, word))
		return 1;
	fprintf(stderr, "%s %s: %d: '%s' has no '%s'\n", key, value ? value : "missing", ret,
		err.text, word);
	return 0;
}

TEST(all_there)
{
	ASSERT_EQ(0, read_with(NULL, NULL)) TH_LOG("%s", err.text);
	EXPECT_EQ(4, c.n_layer);
	EXPECT_EQ(1, c.n_mtp);
	EXPECT_EQ(1, c.n_dense);
	EXPECT_EQ(96, c.q_lora);
	EXPECT_EQ(CMX_GATE_SIGMOID, c.gate);
	EXPECT_EQ(CMX_GROUP_TOP2, c.group_rule);
	EXPECT_TRUE(c.gate_bias && c.norm_weights && c.yarn.on && quant.fp8);
	EXPECT_FALSE(c.split_mla);
	EXPECT_EQ(2.5f, c.weight_scale);
	EXPECT_EQ(0.1f, c.yarn.log_mul);
	EXPECT_EQ(1.0f, c.yarn.magnitude);
}

TEST(what_may_be_missing)
{
	ASSERT_EQ(0, read_with("q_lora_rank", "null"));
	EXPECT_EQ(0, c.q_lora);
	ASSERT_EQ(0, read_with("q_lora_rank", NULL));
	ASSERT_EQ(0, read_with("num_nextn_predict_layers", NULL));
	EXPECT_EQ(0, c.n_mtp);
	ASSERT_EQ(0, read_with("rope_scaling", "null"));
	EXPECT_FALSE(c.yarn.on);
	ASSERT_EQ(0, read_with("rope_scaling", NULL));
	ASSERT_EQ(0, read_with("topk_method", NULL));
	EXPECT_TRUE(c.gate_bias);
	ASSERT_EQ(0, read_with("quantization_config", NULL));
	EXPECT_FALSE(quant.fp8);
	ASSERT_EQ(0, read_with("first_k_dense_replace", NULL));
	EXPECT_EQ(0, c.n_dense);
}

TEST(what_may_not)
{
	static const char * const keys[] = {
		"model_type", "num_hidden_layers", "hidden_size", "intermediate_size",
		"vocab_size", "max_position_embeddings", "num_attention_heads", "kv_lora_rank",
		"qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "n_routed_experts",
		"num_experts_per_tok", "moe_intermediate_size", "rms_norm_eps",
		"rope_scaling.factor", "rope_scaling.original_max_position_embeddings",
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		EXPECT_TRUE(refused(keys[i], NULL, keys[i]));
		EXPECT_TRUE(refused(keys[i], "[]", keys[i]));
	}
}

TEST(numbers)
{
	EXPECT_TRUE(refused("hidden_size", "256.0", "hidden_size must be a whole number"));
	EXPECT_TRUE(refused("hidden_size", "\"256\"", "hidden_size must be a whole number"));
	EXPECT_TRUE(refused("hidden_size", "0", "hidden_size is 0, must be 1.."));
	EXPECT_TRUE(refused("hidden_size", "-1", "hidden_size is -1"));
	EXPECT_TRUE(refused("hidden_size", "4294967552", "hidden_size is 4294967552"));
	EXPECT_TRUE(refused("num_hidden_layers", "100000", "1..1024"));
	EXPECT_TRUE(refused("first_k_dense_replace", "5", "the limit is 4 layers"));
	EXPECT_TRUE(refused("qk_rope_head_dim", "15", "must be even"));
	EXPECT_TRUE(refused("rms_norm_eps", "2", "rms_norm_eps is 2, must be 0..1"));
	EXPECT_TRUE(refused("rms_norm_eps", "\"x\"", "must be a number"));
	EXPECT_TRUE(refused("rope_theta", "0", "rope_theta is 0"));
	EXPECT_TRUE(refused("num_key_value_heads", "1", "num_key_value_heads is 1, must be 8..8"));
}

/* What the engine does not implement must not be run as if it were something else. */
TEST(other_arithmetic)
{
	EXPECT_TRUE(refused("model_type", "\"llama\"", "model_type is 'llama'"));
	EXPECT_TRUE(refused("hidden_act", "\"gelu\"", "hidden_act is 'gelu', must be 'silu'"));
	EXPECT_TRUE(refused("attention_bias", "true", "attention_bias is true"));
	EXPECT_TRUE(refused("tie_word_embeddings", "true", "tie_word_embeddings is true"));
	EXPECT_TRUE(refused("tie_word_embeddings", "1", "must be true or false"));
	EXPECT_TRUE(refused("moe_layer_freq", "2", "moe_layer_freq is 2, must be 1..1"));
	EXPECT_TRUE(refused("scoring_func", "\"sqrtsoftplus\"", "scoring_func is 'sqrtsoftplus'"));
	EXPECT_TRUE(refused("topk_method", "\"hash\"", "topk_method is 'hash'"));
	EXPECT_TRUE(refused("rope_scaling.type", "\"linear\"", "rope_scaling.type is 'linear'"));
	EXPECT_TRUE(refused("rope_scaling", "3", "rope_scaling must be an object"));
	EXPECT_TRUE(refused("quantization_config.quant_method", "\"awq\"",
			    "quantization_config.quant_method is 'awq'"));
	EXPECT_TRUE(refused("quantization_config.fmt", "\"e5m2\"", "fmt is 'e5m2'"));
	EXPECT_TRUE(refused("quantization_config.weight_block_size", "[64, 128]", "[128, 128]"));
	EXPECT_TRUE(refused("quantization_config.weight_block_size", NULL, "[128, 128]"));
}

TEST(bug05_illegal_group_topologies_of_a_folder)
{
	EXPECT_TRUE(refused("n_group", "16", "n_group is 16, must divide n_routed_experts (16)"));
	EXPECT_TRUE(refused("n_group", "3", "n_group is 3, must divide"));
	EXPECT_TRUE(refused("topk_group", "5", "topk_group is 5, must be 1..4"));
	EXPECT_TRUE(refused("topk_group", "0", "topk_group is 0"));
	EXPECT_TRUE(refused("topk_group", NULL, "topk_group is 0"));
	EXPECT_TRUE(refused("num_experts_per_tok", "9", "cannot hold num_experts_per_tok (9)"));
	EXPECT_TRUE(refused("num_experts_per_tok", "17", "the limit is n_routed_experts (16)"));
}

TEST(bug06_no_groups_in_a_folder)
{
	static const char * const values[] = { "0", "1", "null", NULL };

	for (size_t i = 0; i < 4; i++) {
		ASSERT_EQ(0, read_with("n_group", values[i])) TH_LOG("%s", err.text);
		EXPECT_EQ(1, c.n_group);
	}
	ASSERT_EQ(0, read_with("topk_method", "\"greedy\""));
	EXPECT_EQ(1, c.n_group);
}

TEST(bug15_rule_of_groups_of_a_folder)
{
	ASSERT_EQ(0, read_with("topk_method", "\"group_limited_greedy\""));
	EXPECT_EQ(CMX_GROUP_MAX, c.group_rule);
	EXPECT_FALSE(c.gate_bias);
	ASSERT_EQ(0, read_with("topk_method", "\"noaux_tc\""));
	EXPECT_EQ(CMX_GROUP_TOP2, c.group_rule);
}

TEST(bug14_too_many_experts_in_a_folder)
{
	EXPECT_TRUE(refused("n_routed_experts", "1025", "experts is 1025, must be 1..1024"));
	EXPECT_TRUE(refused("num_experts_per_tok", "65", "per_tok is 65, must be 1..64"));
}

/* Where mscale goes: into the softmax with mscale_all_dim, onto the angles what is left. */
TEST(bug12_mscale_of_a_folder)
{
	ASSERT_EQ(0, read_with("rope_scaling.mscale_all_dim", "0.707"));
	EXPECT_EQ(0.0707f, c.yarn.log_mul);
	EXPECT_GT(1e-6, fabs((0.1 * log(40) + 1) / (0.0707 * log(40) + 1) -
			     (double)c.yarn.magnitude));
	ASSERT_EQ(0, read_with("rope_scaling.mscale_all_dim", NULL));
	EXPECT_EQ(0, c.yarn.log_mul);
	EXPECT_GT(1e-6, fabs(0.1 * log(40) + 1 - (double)c.yarn.magnitude));
	EXPECT_TRUE(refused("rope_scaling.mscale", "-1", "rope_scaling.mscale is -1"));
}

TEST(newer_names_of_the_rope_fields)
{
	json_t *root = parse(base);

	json_object_set(root, "rope_parameters", json_object_get(root, "rope_scaling"));
	json_object_del(root, "rope_scaling");
	json_object_del(root, "rope_theta");
	json_object_set_new(json_object_get(root, "rope_parameters"), "rope_theta",
			    json_integer(50000));
	json_object_set_new(json_object_get(root, "rope_parameters"), "rope_type",
			    json_string("yarn"));
	json_object_del(json_object_get(root, "rope_parameters"), "type");
	ASSERT_EQ(0, cmx_hf_config_read(root, &c, &quant, &err)) TH_LOG("%s", err.text);
	EXPECT_TRUE(c.yarn.on);
	EXPECT_EQ(50000.0f, c.rope_base);
	json_decref(root);
}

/* The V2 code multiplies by the factor only where it does not normalise. */
TEST(bug07_scale_and_normalisation_of_a_folder)
{
	json_t *root = parse(base);

	json_object_set_new(root, "topk_method", json_string("group_limited_greedy"));
	json_object_set_new(root, "scoring_func", json_string("softmax"));
	ASSERT_EQ(0, cmx_hf_config_read(root, &c, &quant, &err));
	EXPECT_EQ(1.0f, c.weight_scale);
	json_object_set_new(root, "norm_topk_prob", json_false());
	ASSERT_EQ(0, cmx_hf_config_read(root, &c, &quant, &err));
	EXPECT_EQ(2.5f, c.weight_scale);
	json_decref(root);
}

TEST_HARNESS_MAIN
