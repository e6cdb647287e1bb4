// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_hf_config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_CTX (1u << 24)

struct reader {
	const json_t *root;	/* the object that fields are taken from */
	const char *where;	/* before their names in errors, "" or "rope_scaling." */
	struct cmx_infer_err *err;
};

/* One number: where it goes and what it may be. Optional if there is a fallback. */
struct number {
	const char *key;
	uint32_t *val;
	uint32_t min;
	uint32_t max;
	int64_t fallback;	/* -1: must be there */
};

/* Null is as good as absent. */
static const json_t *field(const struct reader *r, const char *key)
{
	const json_t *v = json_object_get(r->root, key);

	return json_is_null(v) ? NULL : v;
}

static int missing(const struct reader *r, const char *key)
{
	return cmx_infer_fail(r->err, -ENOENT, "%s%s is missing", r->where, key);
}

static int read_number(const struct reader *r, const struct number *n)
{
	const json_t *v = field(r, n->key);
	json_int_t i = json_integer_value(v);

	if (!v && n->fallback < 0)
		return missing(r, n->key);
	if (!v) {
		*n->val = (uint32_t)n->fallback;
		return 0;
	}
	if (!json_is_integer(v))
		return cmx_infer_fail(r->err, -EINVAL, "%s%s must be a whole number", r->where,
				      n->key);
	if (i < n->min || i > n->max)
		return cmx_infer_fail(r->err, -EINVAL, "%s%s is %lld, must be %u..%u", r->where,
				      n->key, (long long)i, n->min, n->max);
	*n->val = (uint32_t)i;
	return 0;
}

static int read_numbers(const struct reader *r, const struct number *n, size_t count)
{
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++)
		ret = read_number(r, &n[i]);
	return ret;
}

/* @fallback NAN: must be there. */
static int read_real(const struct reader *r, const char *key, double min, double max,
		     double fallback, double *val)
{
	const json_t *v = field(r, key);

	if (!v && isnan(fallback))
		return missing(r, key);
	*val = v ? json_number_value(v) : fallback;
	if (v && !json_is_number(v))
		return cmx_infer_fail(r->err, -EINVAL, "%s%s must be a number", r->where, key);
	/* Written so that a NaN fails too. */
	if (!(*val >= min && *val <= max))
		return cmx_infer_fail(r->err, -EINVAL, "%s%s is %g, must be %g..%g", r->where, key,
				      *val, min, max);
	return 0;
}

static int read_float(const struct reader *r, const char *key, double min, double max,
		      double fallback, float *val)
{
	double wide = 0;
	int ret = read_real(r, key, min, max, fallback, &wide);

	*val = (float)wide;
	return ret;
}

static int read_bool(const struct reader *r, const char *key, bool fallback, bool *val)
{
	const json_t *v = field(r, key);

	if (v && !json_is_boolean(v))
		return cmx_infer_fail(r->err, -EINVAL, "%s%s must be true or false", r->where, key);
	*val = v ? json_is_true(v) : fallback;
	return 0;
}

/* NULL in *@val if it is absent. */
static int read_text(const struct reader *r, const char *key, const char **val)
{
	const json_t *v = field(r, key);

	if (v && !json_is_string(v))
		return cmx_infer_fail(r->err, -EINVAL, "%s%s must be a string", r->where, key);
	*val = json_string_value(v);
	return 0;
}

/* A field that may be absent, but says @want if it is there. */
static int expect_text(const struct reader *r, const char *key, const char *want)
{
	const char *s;
	int ret = read_text(r, key, &s);

	if (ret || !s || !strcmp(s, want))
		return ret;
	return cmx_infer_fail(r->err, -ENOTSUP, "%s%s is '%.60s', must be '%s'", r->where, key, s,
			      want);
}

static int expect_false(const struct reader *r, const char *key)
{
	bool b = false;
	int ret = read_bool(r, key, false, &b);

	if (!ret && b)
		ret = cmx_infer_fail(r->err, -ENOTSUP, "%s%s is true, must be false", r->where,
				     key);
	return ret;
}

static int read_dims(const struct reader *r, struct cmx_model_config *c)
{
	uint32_t freq, heads_kv;
	const struct number n[] = {
		{ "num_hidden_layers", &c->n_layer, 1, CMX_MAX_LAYERS, -1 },
		{ "num_nextn_predict_layers", &c->n_mtp, 0, 16, 0 },
		{ "first_k_dense_replace", &c->n_dense, 0, CMX_MAX_LAYERS, 0 },
		{ "moe_layer_freq", &freq, 1, 1, 1 },
		{ "hidden_size", &c->hidden, 1, CMX_MAX_WIDTH, -1 },
		{ "intermediate_size", &c->inter, 1, CMX_MAX_WIDTH, -1 },
		{ "vocab_size", &c->vocab, 1, 1u << 24, -1 },
		{ "max_position_embeddings", &c->ctx, 1, MAX_CTX, -1 },
		{ "num_attention_heads", &c->n_head, 1, 4096, -1 },
		{ "q_lora_rank", &c->q_lora, 0, CMX_MAX_WIDTH, 0 },
		{ "kv_lora_rank", &c->kv_lora, 1, 4096, -1 },
		{ "qk_nope_head_dim", &c->nope, 1, 4096, -1 },
		{ "qk_rope_head_dim", &c->rope, 2, 4096, -1 },
		{ "v_head_dim", &c->v_dim, 1, 4096, -1 },
	};
	int ret = read_numbers(r, n, sizeof(n) / sizeof(n[0]));
	const struct number kv = { "num_key_value_heads", &heads_kv, c->n_head, c->n_head,
				   c->n_head };

	if (!ret)
		ret = read_number(r, &kv);
	if (ret)
		return ret;
	if (c->n_dense > c->n_layer)
		return cmx_infer_fail(r->err, -EINVAL,
				      "first_k_dense_replace is %u, the limit is %u layers",
				      c->n_dense, c->n_layer);
	if (c->rope % 2)
		return cmx_infer_fail(r->err, -EINVAL, "qk_rope_head_dim is %u, must be even",
				      c->rope);
	return 0;
}

static int read_scoring(const struct reader *r, struct cmx_model_config *c)
{
	const char *s;
	int ret = read_text(r, "scoring_func", &s);

	if (ret)
		return ret;
	if (!s || !strcmp(s, "softmax"))
		c->gate = CMX_GATE_SOFTMAX;
	else if (!strcmp(s, "sigmoid"))
		c->gate = CMX_GATE_SIGMOID;
	else
		return cmx_infer_fail(r->err, -ENOTSUP,
				      "scoring_func is '%.60s', must be 'softmax' or 'sigmoid'", s);
	return 0;
}

/* How groups are scored goes with the method: V2's best of a group, V3's two best and a bias. */
static int read_method(const struct reader *r, struct cmx_model_config *c)
{
	const char *s;
	int ret = read_text(r, "topk_method", &s);

	if (ret)
		return ret;
	/* Newer files leave it out where the kind of model says it. */
	if (!s)
		s = c->gate == CMX_GATE_SIGMOID ? "noaux_tc" : "group_limited_greedy";
	c->gate_bias = !strcmp(s, "noaux_tc");
	c->group_rule = c->gate_bias ? CMX_GROUP_TOP2 : CMX_GROUP_MAX;
	if (!strcmp(s, "greedy"))
		c->n_group = 1;
	else if (!c->gate_bias && strcmp(s, "group_limited_greedy"))
		return cmx_infer_fail(r->err, -ENOTSUP,
				      "topk_method is '%.60s', must be 'greedy', 'group_limited_greedy' or 'noaux_tc'",
				      s);
	return 0;
}

static int read_moe(const struct reader *r, struct cmx_model_config *c)
{
	static const struct cmx_gate_keys keys = { "n_routed_experts", "num_experts_per_tok",
						   "n_group", "topk_group" };
	const struct number n[] = {
		{ "n_routed_experts", &c->n_expert, 1, CMX_MAX_EXPERTS, -1 },
		{ "num_experts_per_tok", &c->n_used, 1, CMX_MAX_EXPERTS_USED, -1 },
		{ "n_shared_experts", &c->n_shared, 0, 64, 0 },
		{ "moe_intermediate_size", &c->moe_inter, 1, CMX_MAX_WIDTH, -1 },
		{ "n_group", &c->n_group, 0, CMX_MAX_EXPERTS, 1 },
		{ "topk_group", &c->n_group_used, 0, CMX_MAX_EXPERTS, 0 },
	};
	int ret = read_numbers(r, n, sizeof(n) / sizeof(n[0]));

	if (!ret)
		ret = read_scoring(r, c);
	if (!ret)
		ret = read_method(r, c);
	if (!ret)
		ret = read_bool(r, "norm_topk_prob", false, &c->norm_weights);
	if (!ret)
		ret = read_float(r, "routed_scaling_factor", 1e-6, 1e6, 1, &c->weight_scale);
	if (ret)
		return ret;
	/* V2's own code scales the weights only where it does not normalise them. */
	if (!c->gate_bias && c->norm_weights)
		c->weight_scale = 1;
	if (!c->n_group)
		c->n_group = 1;
	return cmx_model_config_check_gate(c, &keys, r->err);
}

/* What the length does to the spread of attention, for one of the two mscale fields. */
static double temperature(double mscale, double factor)
{
	return 0.1 * mscale * log(factor) + 1;
}

static int read_yarn(const struct reader *r, struct cmx_yarn *y)
{
	const struct number orig = { "original_max_position_embeddings", &y->original_ctx, 1,
				     MAX_CTX, -1 };
	double mscale, all_dim;
	int ret = read_float(r, "factor", 1, 1e4, NAN, &y->factor);

	y->on = true;
	if (!ret)
		ret = read_number(r, &orig);
	if (!ret)
		ret = read_float(r, "beta_fast", 1e-3, 1e6, 32, &y->beta_fast);
	if (!ret)
		ret = read_float(r, "beta_slow", 1e-3, 1e6, 1, &y->beta_slow);
	if (!ret)
		ret = read_real(r, "mscale", 0, 100, 1, &mscale);
	if (!ret)
		ret = read_real(r, "mscale_all_dim", 0, 100, 0, &all_dim);
	if (ret)
		return ret;
	y->log_mul = (float)(0.1 * all_dim);
	/* The part in the softmax scale, m(all_dim)^2, is apart from the one on cosine and sine. */
	y->magnitude = (float)(temperature(mscale, (double)y->factor) /
			       temperature(all_dim, (double)y->factor));
	return 0;
}

/* rope_scaling, or rope_parameters in newer files, which then has rope_theta too. */
static int read_rope(const struct reader *r, struct cmx_model_config *c)
{
	const json_t *scaling = field(r, "rope_scaling"), *params = field(r, "rope_parameters");
	struct reader in = { scaling ? scaling : params, NULL, r->err };
	const char *type = NULL;
	int ret = read_float(r, "rope_theta", 1.0001, 1e12, 10000, &c->rope_base);

	if (ret || !in.root)
		return ret;
	in.where = scaling ? "rope_scaling." : "rope_parameters.";
	if (!json_is_object(in.root))
		return cmx_infer_fail(r->err, -EINVAL, "%.*s must be an object",
				      (int)strlen(in.where) - 1, in.where);
	ret = read_float(&in, "rope_theta", 1.0001, 1e12, (double)c->rope_base, &c->rope_base);
	if (!ret)
		ret = read_text(&in, field(&in, "rope_type") ? "rope_type" : "type", &type);
	if (ret || !type || !strcmp(type, "default"))
		return ret;
	if (strcmp(type, "yarn"))
		return cmx_infer_fail(r->err, -ENOTSUP,
				      "%stype is '%.60s', must be 'yarn' or 'default'", in.where,
				      type);
	return read_yarn(&in, &c->yarn);
}

static int read_quant(const struct reader *r, struct cmx_hf_quant *q)
{
	const json_t *quant = field(r, "quantization_config"), *size;
	const struct reader in = { quant, "quantization_config.", r->err };
	int ret = quant ? expect_text(&in, "quant_method", "fp8") : 0;

	q->fp8 = quant;
	if (ret || !quant)
		return ret;
	ret = expect_text(&in, "fmt", "e4m3");
	if (ret)
		return ret;
	size = field(&in, "weight_block_size");
	if (json_array_size(size) != 2 ||
	    json_integer_value(json_array_get(size, 0)) != CMX_FP8_BLOCK ||
	    json_integer_value(json_array_get(size, 1)) != CMX_FP8_BLOCK)
		return cmx_infer_fail(r->err, -ENOTSUP,
				      "quantization_config.weight_block_size must be [%u, %u]",
				      CMX_FP8_BLOCK, CMX_FP8_BLOCK);
	return 0;
}

static int read_kind(const struct reader *r)
{
	const char *s;
	int ret = read_text(r, "model_type", &s);

	if (ret)
		return ret;
	if (!s)
		return missing(r, "model_type");
	if (strcmp(s, "deepseek_v2") && strcmp(s, "deepseek_v3"))
		return cmx_infer_fail(r->err, -ENOTSUP,
				      "model_type is '%.60s', must be 'deepseek_v2' or 'deepseek_v3'",
				      s);
	return 0;
}

static int check_fixed(const struct reader *r)
{
	int ret = expect_text(r, "hidden_act", "silu");

	if (!ret)
		ret = expect_false(r, "attention_bias");
	if (!ret)
		ret = expect_false(r, "mlp_bias");
	return ret ? ret : expect_false(r, "tie_word_embeddings");
}

int cmx_hf_config_read(const json_t *root, struct cmx_model_config *c, struct cmx_hf_quant *q,
		       struct cmx_infer_err *err)
{
	const struct reader r = { root, "", err };
	int ret;

	memset(c, 0, sizeof(*c));
	ret = read_kind(&r);
	if (!ret)
		ret = check_fixed(&r);
	if (!ret)
		ret = read_dims(&r, c);
	if (!ret)
		ret = read_float(&r, "rms_norm_eps", 0, 1, NAN, &c->eps);
	if (!ret)
		ret = read_rope(&r, c);
	/* The blocks that predict a second token have experts too. */
	if (!ret && c->n_dense < c->n_layer + c->n_mtp)
		ret = read_moe(&r, c);
	return ret ? ret : read_quant(&r, q);
}
