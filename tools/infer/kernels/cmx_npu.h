/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The NPU kernels of the model engine. A kernel is a grid of blocks that may
 * run in any order and on any threads; its results do not depend on how many
 * blocks there are. Pointers are device addresses, which in this process are
 * also host addresses.
 *
 * Activations are f32, row-major, one row per token.
 */
#ifndef CMX_NPU_H
#define CMX_NPU_H

#include <stdint.h>

#include "../cmx_model_config.h"
#include "../cmx_tensor_type.h"

/* Rows of a weight matrix, or of a group's, that one unit of work covers. */
#define CMX_ROW_TILE	16u
/* Positions that the online softmax of attention takes at a time. */
#define CMX_KEY_TILE	64u

/*
 * Which tokens go to which expert, made by the plan kernel out of the gate's
 * choice. A slot is one (token, expert) pair; slots of an expert are
 * neighbours and keep the order of the tokens.
 */
struct cmx_plan {
	uint32_t n_active;			/* experts with at least one token */
	uint32_t pad;
	uint32_t first[CMX_MAX_EXPERTS + 1];	/* an expert's first slot */
};

struct cmx_k_embed {
	const uint32_t *ids;
	const void *table;
	float *out;
	uint32_t type;
	uint32_t hidden;
	uint32_t vocab;
	uint32_t tokens;
};

struct cmx_k_norm {
	const float *x;
	const float *w;
	float *out;
	uint32_t dim;
	uint32_t tokens;
	uint32_t x_stride;
	uint32_t out_stride;
	float eps;
};

/*
 * out[t][h][r] = res[t][h][r] + sum over k of w[h][r][k] * x[t][h][k], or with
 * @transposed set w[h][k][r]. Heads share one launch; a plain product has one.
 */
struct cmx_k_matmul {
	const void *w;
	const float *x;
	const float *res;	/* may be NULL; same shape as out */
	float *out;
	uint64_t w_head;	/* bytes from one head's weights to the next one's */
	uint32_t type;
	uint32_t transposed;
	uint32_t rows;
	uint32_t k;
	uint32_t heads;
	uint32_t tokens;
	uint32_t x_stride;
	uint32_t x_head;
	uint32_t out_stride;
	uint32_t out_head;
};

/* out[t][r] = silu(gate[r] . x[t]) * (up[r] . x[t]) */
struct cmx_k_glu {
	const void *gate;
	const void *up;
	const float *x;
	float *out;
	uint32_t gate_type;
	uint32_t up_type;
	uint32_t rows;
	uint32_t k;
	uint32_t tokens;
	uint32_t pad;
};

/* The same for every expert's tokens; out has a row per slot. */
struct cmx_k_expert_glu {
	const struct cmx_plan *plan;
	const uint32_t *slot_token;
	const void *gate;	/* [expert][rows][k] */
	const void *up;
	const float *x;
	float *out;
	uint32_t gate_type;
	uint32_t up_type;
	uint32_t rows;
	uint32_t k;
	uint32_t n_expert;
	uint32_t tokens;
	uint32_t n_used;
	uint32_t pad;
};

/* out[slot][r] = w[expert of slot][r] . x[slot] */
struct cmx_k_expert_down {
	const struct cmx_plan *plan;
	const void *w;
	const float *x;
	float *out;
	uint32_t type;
	uint32_t rows;
	uint32_t k;
	uint32_t n_expert;
	uint32_t tokens;
	uint32_t n_used;
};

/* Angles of the rotary embedding: table[pos][i] = { cos, sin }. */
struct cmx_k_rope_table {
	float *table;
	uint32_t positions;
	uint32_t dim;
	float base;
	struct cmx_yarn yarn;
};

struct cmx_k_rope {
	float *q;		/* [token][head][qk], rotated in place behind nope */
	const float *table;
	uint32_t heads;
	uint32_t nope;
	uint32_t rope;
	uint32_t tokens;
	uint32_t pos;		/* of the first token */
	uint32_t pad;
};

/* Normed latent and rotated key into the cache rows of the chunk. */
struct cmx_k_kv_store {
	const float *kv;	/* [token][kv_lora + rope] */
	const float *norm;
	const float *table;
	float *cache;		/* row 0 is position 0 */
	uint32_t kv_lora;
	uint32_t rope;
	uint32_t tokens;
	uint32_t pos;
	float eps;
	uint32_t pad;
};

/*
 * Causal attention: the key of position s is k1[s] and k2[s] side by side, its
 * value v[s]. Serves the absorbed form (k1 = v = latent, shared by all heads)
 * and the unabsorbed one (per head).
 */
struct cmx_k_attention {
	const float *q1;
	const float *q2;
	const float *k1;
	const float *k2;
	const float *v;
	float *out;
	uint32_t q1_stride, q1_head;
	uint32_t q2_stride, q2_head;
	uint32_t k1_stride, k1_head;
	uint32_t k2_stride;
	uint32_t v_stride, v_head;
	uint32_t out_stride, out_head;
	uint32_t d1, d2, dv;
	uint32_t heads;
	uint32_t tokens;
	uint32_t pos;
	float scale;
};

struct cmx_k_gate {
	const float *logits;	/* [token][expert] */
	const float *bias;	/* may be NULL */
	uint32_t *ids;		/* [token][used], best first */
	float *weights;
	uint32_t n_expert;
	uint32_t n_used;
	uint32_t n_group;
	uint32_t n_group_used;
	uint32_t func;		/* enum cmx_gate_func */
	uint32_t group_rule;	/* enum cmx_group_rule */
	uint32_t norm;
	float scale;
	uint32_t tokens;
	uint32_t pad;
};

struct cmx_k_plan {
	const uint32_t *ids;
	struct cmx_plan *plan;
	uint32_t *slot_token;
	uint32_t *token_slot;	/* [token][used] */
	uint32_t n_expert;
	uint32_t n_used;
	uint32_t tokens;
	uint32_t pad;
};

/* out[t] = (x[t] + sum of weight * y[slot]) + shared[t] */
struct cmx_k_combine {
	const float *x;
	const float *y;
	const float *weights;
	const uint32_t *token_slot;
	const float *shared;	/* may be NULL */
	float *out;
	uint32_t hidden;
	uint32_t n_used;
	uint32_t tokens;
	uint32_t pad;
};

/* What the sample kernel leaves for the host and for the next step's embed. */
struct cmx_sampled {
	uint32_t id;
	uint32_t bad;		/* logits that are not finite */
};

/*
 * In this order: the penalty divides positive logits of the ids in history by
 * it and multiplies the others; the best token is taken if temp is 0; else the
 * softmax of logits / temp is cut to the top_k likeliest tokens, of these to the
 * likeliest that hold the share top_p of their sum, of these to those at least
 * min_p times as likely as the first; then one is drawn.
 */
struct cmx_k_sample {
	const float *logits;
	const uint32_t *history;	/* ids so far, below vocab */
	uint32_t *order;	/* scratch, vocab ids */
	float *prob;		/* scratch, vocab */
	struct cmx_sampled *out;
	uint32_t *next;		/* the id again, where the next step embeds from */
	uint64_t seed;
	uint64_t index;		/* of the token in the output */
	uint32_t n_history;
	uint32_t vocab;
	uint32_t top_k;		/* 0: all */
	float temp;
	float top_p;		/* 1: all */
	float min_p;		/* 0: all */
	float penalty;		/* 1: none */
	uint32_t pad;
};

enum cmx_npu_id {
	CMX_NPU_EMBED,
	CMX_NPU_NORM,
	CMX_NPU_MATMUL,
	CMX_NPU_GLU,
	CMX_NPU_EXPERT_GLU,
	CMX_NPU_EXPERT_DOWN,
	CMX_NPU_ROPE_TABLE,
	CMX_NPU_ROPE,
	CMX_NPU_KV_STORE,
	CMX_NPU_ATTENTION,
	CMX_NPU_GATE,
	CMX_NPU_PLAN,
	CMX_NPU_COMBINE,
	CMX_NPU_SAMPLE,
	CMX_NPU_COUNT,
};

typedef void (*cmx_npu_fn)(const void *args, uint32_t block, uint32_t nblocks);

struct cmx_npu_kernel {
	const char *name;
	cmx_npu_fn fn;
	uint32_t args_size;
};

enum cmx_isa {
	CMX_ISA_SCALAR,
	CMX_ISA_SSE2,
	CMX_ISA_AVX2,
	CMX_ISA_COUNT,
};

/*
 * The level to use: environment variable CMX_ISA if set, else by cpuid. @why
 * (may be NULL) tells how it was chosen. -EINVAL names a bad value, -ENOTSUP a
 * level that the machine lacks.
 */
int cmx_isa_choose(enum cmx_isa *isa, const char **why, struct cmx_infer_err *err);
const char *cmx_isa_name(enum cmx_isa isa);
/* NULL if this build or this machine has no such level. */
const struct cmx_npu_kernel *cmx_npu_kernels(enum cmx_isa isa);

/* The share [*lo, *hi) of @units that block @block of @nblocks does. */
static inline void cmx_block_share(uint64_t units, uint32_t block, uint32_t nblocks,
				   uint64_t *lo, uint64_t *hi)
{
	*lo = units * block / nblocks;
	*hi = units * (block + 1) / nblocks;
}

#endif
