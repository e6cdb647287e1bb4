// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_model_preset.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cmx_json_file.h"

#define MAX_CONFIG	(1u << 20)

struct preset {
	const char *name;
	const char *config;
};

#define YARN(scale) \
	"\"rope_theta\": 10000, \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40," \
	" \"original_max_position_embeddings\": 4096, \"beta_fast\": 32, \"beta_slow\": 1," \
	" \"mscale\": " scale ", \"mscale_all_dim\": " scale "},"

#define FIXED \
	"\"rms_norm_eps\": 1e-06, \"hidden_act\": \"silu\", \"attention_bias\": false," \
	"\"tie_word_embeddings\": false, \"moe_layer_freq\": 1," \
	"\"max_position_embeddings\": 163840, \"kv_lora_rank\": 512, \"qk_nope_head_dim\": 128," \
	"\"qk_rope_head_dim\": 64, \"v_head_dim\": 128,"

#define V3 \
	"{\"model_type\": \"deepseek_v3\"," FIXED YARN("1.0") \
	"\"hidden_size\": 7168, \"num_hidden_layers\": 61, \"first_k_dense_replace\": 3," \
	"\"intermediate_size\": 18432, \"moe_intermediate_size\": 2048," \
	"\"num_attention_heads\": 128, \"q_lora_rank\": 1536, \"n_routed_experts\": 256," \
	"\"n_shared_experts\": 1, \"num_experts_per_tok\": 8, \"n_group\": 8, \"topk_group\": 4," \
	"\"topk_method\": \"noaux_tc\", \"scoring_func\": \"sigmoid\"," \
	"\"norm_topk_prob\": true, \"routed_scaling_factor\": 2.5," \
	"\"num_nextn_predict_layers\": 1, \"vocab_size\": 129280}"

#define V2 \
	"{\"model_type\": \"deepseek_v2\"," FIXED YARN("0.707") \
	"\"hidden_size\": 5120, \"num_hidden_layers\": 60, \"first_k_dense_replace\": 1," \
	"\"intermediate_size\": 12288, \"moe_intermediate_size\": 1536," \
	"\"num_attention_heads\": 128, \"q_lora_rank\": 1536, \"n_routed_experts\": 160," \
	"\"n_shared_experts\": 2, \"num_experts_per_tok\": 6, \"n_group\": 8, \"topk_group\": 3," \
	"\"topk_method\": \"group_limited_greedy\", \"scoring_func\": \"softmax\"," \
	"\"norm_topk_prob\": false, \"routed_scaling_factor\": 16.0, \"vocab_size\": 102400}"

#define V2_LITE \
	"{\"model_type\": \"deepseek_v2\"," FIXED YARN("0.707") \
	"\"hidden_size\": 2048, \"num_hidden_layers\": 27, \"first_k_dense_replace\": 1," \
	"\"intermediate_size\": 10944, \"moe_intermediate_size\": 1408," \
	"\"num_attention_heads\": 16, \"q_lora_rank\": null, \"n_routed_experts\": 64," \
	"\"n_shared_experts\": 2, \"num_experts_per_tok\": 6, \"n_group\": 1, \"topk_group\": 1," \
	"\"topk_method\": \"greedy\", \"scoring_func\": \"softmax\"," \
	"\"norm_topk_prob\": false, \"routed_scaling_factor\": 1.0, \"vocab_size\": 102400}"

static const struct preset presets[] = {
	{ "deepseek-r1", V3 },
	{ "deepseek-v3", V3 },
	{ "deepseek-v2", V2 },
	{ "deepseek-v2-lite", V2_LITE },
};

const char *cmx_model_preset_name(size_t i)
{
	return i < sizeof(presets) / sizeof(presets[0]) ? presets[i].name : NULL;
}

static int load_file(const char *what, json_t **config, struct cmx_infer_err *err)
{
	char path[PATH_MAX];
	struct stat st;
	bool folder = !stat(what, &st) && S_ISDIR(st.st_mode);
	int len = snprintf(path, sizeof(path), "%s%s", what, folder ? "/config.json" : "");

	if (len >= (int)sizeof(path))
		return cmx_infer_fail(err, -ENAMETOOLONG, "%.120s: the path is longer than %u",
				      what, PATH_MAX);
	return cmx_json_file_read(path, MAX_CONFIG, config, err);
}

static int unknown(const char *what, struct cmx_infer_err *err)
{
	char names[128] = "";

	for (size_t i = 0; cmx_model_preset_name(i); i++) {
		size_t at = strlen(names);

		snprintf(names + at, sizeof(names) - at, "%s%s", i ? ", " : "", presets[i].name);
	}
	return cmx_infer_fail(err, -ENOENT, "'%.80s' is no file and none of the models %s", what,
			      names);
}

int cmx_model_preset_load(const char *what, json_t **config, struct cmx_infer_err *err)
{
	struct stat st;

	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
		if (strcmp(what, presets[i].name))
			continue;
		*config = json_loads(presets[i].config, 0, NULL);
		return *config ? 0 : cmx_infer_fail(err, -ENOMEM, "no memory for a model");
	}
	return stat(what, &st) ? unknown(what, err) : load_file(what, config, err);
}
