/* SPDX-License-Identifier: GPL-2.0-only */
/* Hyper-parameters of a deepseek2 model (DeepSeek-V2-Lite, V2, V3), checked. */
#ifndef CMX_MODEL_CONFIG_H
#define CMX_MODEL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "cmx_gguf.h"

#define CMX_MAX_EXPERTS		1024u
#define CMX_MAX_EXPERTS_USED	64u
#define CMX_MAX_LAYERS		1024u
#define CMX_MAX_WIDTH		(1u << 20)	/* any row or column count */

enum cmx_gate_func {
	CMX_GATE_SOFTMAX = 1,
	CMX_GATE_SIGMOID = 2,
};

/* How a group of experts is scored: V2 takes its best, V3 the sum of its two best. */
enum cmx_group_rule {
	CMX_GROUP_MAX = 0,
	CMX_GROUP_TOP2 = 1,
};

struct cmx_yarn {
	bool on;
	float factor;
	uint32_t original_ctx;
	float beta_fast;
	float beta_slow;
	float log_mul;		/* 0.1 x mscale_all_dim */
	float magnitude;	/* of cosine and sine; 1 where mscale is mscale_all_dim */
};

struct cmx_model_config {
	char name[64];
	uint32_t n_layer;	/* without the MTP blocks */
	uint32_t n_mtp;
	uint32_t n_dense;
	uint32_t hidden;
	uint32_t inter;
	uint32_t vocab;
	uint32_t ctx;
	uint32_t n_head;
	uint32_t q_lora;	/* 0: q is projected straight from the hidden state */
	uint32_t kv_lora;
	uint32_t nope;
	uint32_t rope;
	uint32_t v_dim;
	uint32_t n_expert;
	uint32_t n_used;
	uint32_t n_shared;
	uint32_t moe_inter;
	uint32_t n_group;	/* 1: ungrouped */
	uint32_t n_group_used;
	enum cmx_gate_func gate;
	enum cmx_group_rule group_rule;
	bool gate_bias;
	bool norm_weights;
	float weight_scale;
	float eps;
	float rope_base;
	struct cmx_yarn yarn;
	bool int8;		/* projections and experts are INT8 on the die */
	bool split_mla;		/* attn_k_b and attn_v_b instead of attn_kv_b */
};

int cmx_model_config_read(const struct cmx_gguf *g, struct cmx_model_config *c,
			  struct cmx_infer_err *err);
/* How the files of one kind call the fields of a routing topology. */
struct cmx_gate_keys {
	const char *experts;
	const char *used;
	const char *groups;
	const char *groups_used;
};

/* The rules a routing topology must keep; c->n_expert... c->n_group_used are read. */
int cmx_model_config_check_gate(const struct cmx_model_config *c, const struct cmx_gate_keys *keys,
				struct cmx_infer_err *err);

/* Width of one head's query and key. */
static inline uint32_t cmx_model_qk(const struct cmx_model_config *c)
{
	return c->nope + c->rope;
}

/* Width of a cache row: the latent and the shared rotated key. */
static inline uint32_t cmx_model_kv_row(const struct cmx_model_config *c)
{
	return c->kv_lora + c->rope;
}

static inline uint32_t cmx_model_n_moe(const struct cmx_model_config *c)
{
	return c->n_layer - c->n_dense;
}

#endif
