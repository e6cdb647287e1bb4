// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_model_config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ARCH "deepseek2"

/* One u32 key: where it goes and what it may be. */
struct config_u32 {
	const char *key;
	uint32_t *val;
	uint32_t min;
	uint32_t max;
	bool optional;
	uint32_t fallback;
};

static int config_u32(const struct cmx_gguf *g, const struct config_u32 *f,
		      struct cmx_infer_err *err)
{
	char key[96];
	int ret;

	snprintf(key, sizeof(key), ARCH ".%s", f->key);
	*f->val = f->fallback;
	ret = cmx_gguf_u32(g, key, f->val, err);
	if (ret == -ENOENT && f->optional)
		return 0;
	if (ret)
		return ret;
	if (*f->val < f->min || *f->val > f->max)
		return cmx_infer_fail(err, -EINVAL, "%s is %u, must be %u..%u", key, *f->val,
				      f->min, f->max);
	return 0;
}

static int config_u32s(const struct cmx_gguf *g, const struct config_u32 *f, size_t n,
		       struct cmx_infer_err *err)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++)
		ret = config_u32(g, &f[i], err);
	return ret;
}

static int config_f32(const struct cmx_gguf *g, const char *name, float min, float max,
		      float *val, struct cmx_infer_err *err)
{
	char key[96];
	int ret;

	snprintf(key, sizeof(key), ARCH ".%s", name);
	ret = cmx_gguf_f32(g, key, val, err);
	if (ret)
		return ret;
	/* Written so that a NaN fails too. */
	if (!(*val >= min && *val <= max))
		return cmx_infer_fail(err, -EINVAL, "%s is %g, must be %g..%g", key, (double)*val,
				      (double)min, (double)max);
	return 0;
}

static int config_f32_or(const struct cmx_gguf *g, const char *name, float min, float max,
			 float fallback, float *val, struct cmx_infer_err *err)
{
	int ret = config_f32(g, name, min, max, val, err);

	if (ret == -ENOENT) {
		*val = fallback;
		ret = 0;
	}
	return ret;
}

static int config_arch(const struct cmx_gguf *g, struct cmx_model_config *c,
		       struct cmx_infer_err *err)
{
	const char *s;
	uint64_t len;
	int ret = cmx_gguf_string(g, "general.architecture", &s, &len, err);

	if (ret)
		return ret;
	if (len != strlen(ARCH) || memcmp(s, ARCH, len))
		return cmx_infer_fail(err, -ENOTSUP,
				      "general.architecture is '%.*s', must be '" ARCH "'",
				      (int)(len < 64 ? len : 64), s);
	if (!cmx_gguf_string(g, "general.name", &s, &len, NULL))
		snprintf(c->name, sizeof(c->name), "%.*s", (int)(len < 63 ? len : 63), s);
	/* It goes to terminals. */
	for (char *p = c->name; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	}
	return 0;
}

static int config_dims(const struct cmx_gguf *g, struct cmx_model_config *c,
		       struct cmx_infer_err *err)
{
	uint32_t blocks;
	const struct config_u32 fields[] = {
		{ "block_count", &blocks, 1, CMX_MAX_LAYERS, false, 0 },
		{ "nextn_predict_layers", &c->n_mtp, 0, CMX_MAX_LAYERS, true, 0 },
		{ "leading_dense_block_count", &c->n_dense, 0, CMX_MAX_LAYERS, true, 0 },
		{ "embedding_length", &c->hidden, 1, CMX_MAX_WIDTH, false, 0 },
		{ "feed_forward_length", &c->inter, 1, CMX_MAX_WIDTH, false, 0 },
		{ "vocab_size", &c->vocab, 0, 1u << 24, true, 0 },
		{ "context_length", &c->ctx, 1, 1u << 24, false, 0 },
		{ "attention.head_count", &c->n_head, 1, 4096, false, 0 },
		{ "attention.q_lora_rank", &c->q_lora, 0, CMX_MAX_WIDTH, true, 0 },
		{ "attention.kv_lora_rank", &c->kv_lora, 1, 4096, false, 0 },
		{ "rope.dimension_count", &c->rope, 2, 4096, false, 0 },
	};
	int ret = config_u32s(g, fields, sizeof(fields) / sizeof(fields[0]), err);

	if (ret)
		return ret;
	if (c->n_mtp >= blocks)
		return cmx_infer_fail(err, -EINVAL, ARCH
				      ".nextn_predict_layers is %u, must be below block_count (%u)",
				      c->n_mtp, blocks);
	c->n_layer = blocks - c->n_mtp;
	if (c->n_dense > c->n_layer)
		return cmx_infer_fail(err, -EINVAL, ARCH
				      ".leading_dense_block_count is %u, the limit is %u layers",
				      c->n_dense, c->n_layer);
	if (c->rope % 2)
		return cmx_infer_fail(err, -EINVAL, ARCH
				      ".rope.dimension_count is %u, must be even", c->rope);
	return 0;
}

/*
 * The split form describes one latent head and gives the true head widths in
 * the _mla keys; the legacy form gives them in the plain keys.
 */
static int config_mla(const struct cmx_gguf *g, struct cmx_model_config *c,
		      struct cmx_infer_err *err)
{
	bool mla_keys = cmx_gguf_has(g, ARCH ".attention.key_length_mla");
	uint32_t heads_kv, key, value, qk;
	const struct config_u32 fields[] = {
		{ "attention.head_count_kv", &heads_kv, 1, 4096, false, 0 },
		{ "attention.key_length", &key, 1, 8192, false, 0 },
		{ "attention.value_length", &value, 1, 8192, false, 0 },
		{ mla_keys ? "attention.key_length_mla" : "attention.key_length", &qk, 3, 8192,
		  false, 0 },
		{ mla_keys ? "attention.value_length_mla" : "attention.value_length", &c->v_dim, 1,
		  4096, false, 0 },
	};
	int ret = config_u32s(g, fields, sizeof(fields) / sizeof(fields[0]), err);

	if (ret)
		return ret;
	if (qk <= c->rope)
		return cmx_infer_fail(err, -EINVAL, "%s: key length is %u, must be over rope (%u)",
				      fields[3].key, qk, c->rope);
	c->nope = qk - c->rope;
	c->split_mla = cmx_gguf_tensor(g, "blk.0.attn_k_b.weight");
	if (mla_keys && (key != cmx_model_kv_row(c) || value != c->kv_lora || heads_kv != 1))
		return cmx_infer_fail(err, -EINVAL,
				      "attention.key_length %u, value_length %u, head_count_kv %u: the split MLA form needs %u, %u, 1",
				      key, value, heads_kv, cmx_model_kv_row(c), c->kv_lora);
	if (!mla_keys && heads_kv != c->n_head)
		return cmx_infer_fail(err, -EINVAL,
				      "attention.head_count_kv is %u, the legacy MLA form needs head_count (%u)",
				      heads_kv, c->n_head);
	return 0;
}

int cmx_model_config_check_gate(const struct cmx_model_config *c, const struct cmx_gate_keys *keys,
				struct cmx_infer_err *err)
{
	uint32_t size;

	if (c->n_used > c->n_expert)
		return cmx_infer_fail(err, -EINVAL, "%s is %u, the limit is %s (%u)", keys->used,
				      c->n_used, keys->experts, c->n_expert);
	if (c->n_group <= 1)
		return 0;
	if (c->n_group >= c->n_expert || c->n_expert % c->n_group)
		return cmx_infer_fail(err, -EINVAL,
				      "%s is %u, must divide %s (%u) and be below it", keys->groups,
				      c->n_group, keys->experts, c->n_expert);
	if (!c->n_group_used || c->n_group_used > c->n_group)
		return cmx_infer_fail(err, -EINVAL, "%s is %u, must be 1..%u", keys->groups_used,
				      c->n_group_used, c->n_group);
	size = c->n_expert / c->n_group;
	if (c->n_group_used * size < c->n_used)
		return cmx_infer_fail(err, -EINVAL, "%s %u of %u experts cannot hold %s (%u)",
				      keys->groups_used, c->n_group_used, size, keys->used,
				      c->n_used);
	return 0;
}

static int config_gate_func(uint32_t func, struct cmx_model_config *c, struct cmx_infer_err *err)
{
	if (func != CMX_GATE_SOFTMAX && func != CMX_GATE_SIGMOID)
		return cmx_infer_fail(err, -ENOTSUP, ARCH
				      ".expert_gating_func is %u, must be 1 (softmax) or 2 (sigmoid)",
				      func);
	c->gate = func;
	return 0;
}

/* The bias marks the V3 rule; every MoE layer has it or none has, those of MTP blocks too. */
static int config_gate_bias(const struct cmx_gguf *g, struct cmx_model_config *c,
			    struct cmx_infer_err *err)
{
	for (uint32_t l = c->n_dense; l < c->n_layer + c->n_mtp; l++) {
		char name[64];
		bool has;

		snprintf(name, sizeof(name), "blk.%u.exp_probs_b.bias", l);
		has = cmx_gguf_tensor(g, name);
		if (l == c->n_dense)
			c->gate_bias = has;
		if (has != c->gate_bias)
			return cmx_infer_fail(err, -EINVAL, "tensor '%s' is %s, unlike in layer %u",
					      name, has ? "present" : "missing", c->n_dense);
	}
	c->group_rule = c->gate_bias ? CMX_GROUP_TOP2 : CMX_GROUP_MAX;
	return 0;
}

static int config_moe(const struct cmx_gguf *g, struct cmx_model_config *c,
		      struct cmx_infer_err *err)
{
	static const struct cmx_gate_keys keys = { "expert_count", "expert_used_count",
						   "expert_group_count",
						   "expert_group_used_count" };
	uint32_t func;
	const struct config_u32 fields[] = {
		{ "expert_count", &c->n_expert, 1, CMX_MAX_EXPERTS, false, 0 },
		{ "expert_used_count", &c->n_used, 1, CMX_MAX_EXPERTS_USED, false, 0 },
		{ "expert_shared_count", &c->n_shared, 0, 64, true, 0 },
		{ "expert_feed_forward_length", &c->moe_inter, 1, CMX_MAX_WIDTH, false, 0 },
		{ "expert_gating_func", &func, 0, UINT32_MAX, true, CMX_GATE_SOFTMAX },
		{ "expert_group_count", &c->n_group, 0, CMX_MAX_EXPERTS, true, 1 },
		{ "expert_group_used_count", &c->n_group_used, 0, CMX_MAX_EXPERTS, true, 1 },
	};
	int ret = config_u32s(g, fields, sizeof(fields) / sizeof(fields[0]), err);

	if (!ret)
		ret = config_gate_func(func, c, err);
	if (!ret)
		ret = config_f32_or(g, "expert_weights_scale", 0, 1e6f, 1, &c->weight_scale, err);
	if (ret)
		return ret;
	/* 0 stands for "not set" in files that always write the key. */
	if (c->weight_scale == 0)
		c->weight_scale = 1;
	if (!c->n_group)
		c->n_group = 1;
	ret = cmx_gguf_bool(g, ARCH ".expert_weights_norm", &c->norm_weights, err);
	if (ret && ret != -ENOENT)
		return ret;
	ret = cmx_model_config_check_gate(c, &keys, err);
	return ret ? ret : config_gate_bias(g, c, err);
}

static int config_yarn(const struct cmx_gguf *g, struct cmx_model_config *c,
		       struct cmx_infer_err *err)
{
	const struct config_u32 orig = { "rope.scaling.original_context_length",
		&c->yarn.original_ctx, 1, 1u << 24, false, 0 };
	struct cmx_yarn *y = &c->yarn;
	const char *s;
	uint64_t len;
	int ret = cmx_gguf_string(g, ARCH ".rope.scaling.type", &s, &len, err);

	if (ret == -ENOENT)
		return 0;
	if (ret)
		return ret;
	if (len == 4 && !memcmp(s, "none", 4))
		return 0;
	if (len != 4 || memcmp(s, "yarn", 4))
		return cmx_infer_fail(err, -ENOTSUP, ARCH
				      ".rope.scaling.type is '%.*s', must be 'none' or 'yarn'",
				      (int)(len < 64 ? len : 64), s);
	y->on = true;
	y->magnitude = 1;
	ret = config_f32(g, "rope.scaling.factor", 1, 1e4f, &y->factor, err);
	if (!ret)
		ret = config_u32(g, &orig, err);
	if (!ret)
		ret = config_f32(g, "rope.scaling.yarn_log_multiplier", 0, 10,
				 &y->log_mul, err);
	if (!ret)
		ret = config_f32_or(g, "rope.scaling.yarn_beta_fast", 1e-3f, 1e6f, 32,
				    &y->beta_fast, err);
	if (!ret)
		ret = config_f32_or(g, "rope.scaling.yarn_beta_slow", 1e-3f, 1e6f, 1,
				    &y->beta_slow, err);
	return ret;
}

static int config_vocab(const struct cmx_gguf *g, struct cmx_model_config *c,
			struct cmx_infer_err *err)
{
	const struct cmx_gguf_tensor *t = cmx_gguf_tensor(g, "token_embd.weight");

	if (!t)
		return cmx_infer_fail(err, -ENOENT, "tensor 'token_embd.weight' is missing");
	if (!c->vocab)
		c->vocab = t->dims[1] < 1u << 24 ? (uint32_t)t->dims[1] : 1u << 24;
	return 0;
}

static int config_quant(const struct cmx_gguf *g, struct cmx_model_config *c,
			struct cmx_infer_err *err)
{
	const char *type;
	uint64_t len;
	int ret;

	if (!cmx_gguf_has(g, "cmx.quant.type"))
		return 0;
	ret = cmx_gguf_string(g, "cmx.quant.type", &type, &len, err);
	if (ret)
		return ret;
	if (len != 4 || memcmp(type, "int8", 4))
		return cmx_infer_fail(err, -ENOTSUP, "cmx.quant.type is '%.*s', must be 'int8'",
				      (int)(len < 64 ? len : 64), type);
	c->int8 = true;
	return 0;
}

int cmx_model_config_read(const struct cmx_gguf *g, struct cmx_model_config *c,
			  struct cmx_infer_err *err)
{
	int ret;

	memset(c, 0, sizeof(*c));
	ret = config_arch(g, c, err);
	if (!ret)
		ret = config_dims(g, c, err);
	if (!ret)
		ret = config_vocab(g, c, err);
	if (!ret)
		ret = config_mla(g, c, err);
	if (!ret)
		ret = config_f32(g, "attention.layer_norm_rms_epsilon", 0, 1, &c->eps, err);
	if (!ret)
		ret = config_f32_or(g, "rope.freq_base", 1.0001f, 1e12f, 10000, &c->rope_base, err);
	if (!ret)
		ret = config_yarn(g, c, err);
	/* The blocks that predict a second token have experts too. */
	if (!ret && c->n_dense < c->n_layer + c->n_mtp)
		ret = config_moe(g, c, err);
	return ret ? ret : config_quant(g, c, err);
}
