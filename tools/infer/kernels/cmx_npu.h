/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The NPU kernels of the model engine. A kernel is a grid of blocks that may
 * run in any order and on any threads; its results do not depend on how many
 * blocks there are. What needs whole rows of their results may follow in the same
 * launch, when all blocks are done: its end, which one thread does. Pointers are
 * device addresses, which in this process are also host addresses.
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
/* Tokens, or heads of one token, that share a pass over the keys. */
#define CMX_QUERY_TILE	48u
#define CMX_HEAD_TILE	16u
/* Heads of one token that make a unit of work; a block that has more takes them together. */
#define CMX_HEAD_GROUP	4u

/* One token of a step. */
struct cmx_row {
	uint32_t pos;	/* in its sequence */
	uint32_t id;	/* where in ids it stands; the token after it goes behind it */
	uint32_t cell;	/* row of the layer's cache that it is stored in */
	/* With the prompt: the gathered row of its first key; else: its first page table entry. */
	uint32_t keys;
};

/* Positions [pos, pos + n) of a sequence, gathered from its pages. */
struct cmx_span {
	uint32_t table;	/* the sequence's first page table entry */
	uint32_t pos;
	uint32_t out;	/* row of the first one */
	uint32_t n;
};

/*
 * Which tokens go to which expert, made at the gate's end out of all its
 * choices. A slot is one (token, expert) pair; slots of an expert are
 * neighbours and keep the order of the tokens.
 */
struct cmx_plan {
	uint32_t n_active;			/* experts with at least one token */
	uint32_t n_rows;			/* slots of all of them */
	uint32_t first[CMX_MAX_EXPERTS + 1];	/* an expert's first slot */
};

struct cmx_k_embed {
	const uint32_t *ids;
	const struct cmx_row *rows;	/* NULL: row t is ids[t] */
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
	const uint32_t *pick;	/* row t of out is made from row pick[t] of x; NULL: from row t */
	float *out;
	char *rounded;		/* may be NULL: rows of out as INT8 products take them, too */
	uint32_t dim;
	uint32_t tokens;
	uint32_t x_stride;
	uint32_t out_stride;
	float eps;
	uint32_t pad;
};

/* Token rows to eight bits, as INT8 products take them (cmx_i8.h). */
struct cmx_k_quantise {
	const float *x;		/* [row][k] */
	char *out;
	const struct cmx_plan *plan;	/* its slots are the rows; NULL: there are @rows */
	uint32_t rows;
	uint32_t k;
};

/*
 * What a launch makes of the rows it has written. All zero: nothing. With @norm it
 * leaves them normed; with @rounded also as INT8 products take them, in the end.
 */
struct cmx_row_end {
	const float *norm;	/* weights of an RMS norm, may be NULL */
	float *normed;		/* [row][width] */
	char *rounded;		/* may be NULL */
	float eps;
	uint32_t pad;
};

/*
 * With INT8 weights x of a product are not floats but rows of the quantise kernel;
 * there is one head then, and gate and up are both INT8.
 */

/*
 * out[t][h][r] = res[t][h][r] + sum over k of w[h][r][k] * x[t][h][k], or with
 * @transposed set w[h][k][r]. Heads share one launch; a plain product has one.
 * At the end, rows of out (out_stride values) are rotated as the rope kernel does it
 * if there is a table, or become what @end says.
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
	struct cmx_row_end end;
	const float *table;
	const struct cmx_row *pos;
	uint32_t nope;
	uint32_t rope;
};

/*
 * Two products of the same input: the low-rank query (the query itself where there is none),
 * and the latent with its rotated key. With a cache the end norms the low-rank query in
 * place, and stores the latent as the kv_store kernel does.
 */
struct cmx_k_latent {
	const void *w_q;
	const void *w_kv;
	const float *x;
	float *q;
	float *kv;
	const float *q_norm;	/* may be NULL */
	char *q_rounded;	/* may be NULL: the normed query as INT8 products take it, too */
	const float *kv_norm;
	const float *table;
	const struct cmx_row *pos;
	float *cache;		/* of one layer; NULL: no end */
	uint32_t q_type;
	uint32_t kv_type;
	uint32_t q_rows;
	uint32_t kv_lora;
	uint32_t rope;
	uint32_t k;
	uint32_t tokens;
	float eps;
};

/* out[t][r] = silu(gate[r] . x[t]) * (up[r] . x[t]) */
struct cmx_k_glu {
	const void *gate;
	const void *up;
	const float *x;
	float *out;
	char *rounded;		/* may be NULL: at the end rows of out for INT8 products, too */
	uint32_t gate_type;
	uint32_t up_type;
	uint32_t rows;
	uint32_t k;
	uint32_t tokens;
	uint32_t pad;
};

/*
 * The same for every expert's tokens; out has a row per slot. The plan is of @tokens tokens,
 * each with @n_used experts, or, if rows are @received from other dies too, of as many as
 * there happen to be; such rows are in the order of the slots.
 */
struct cmx_k_expert_glu {
	const struct cmx_plan *plan;
	const uint32_t *slot_token;	/* NULL: x has a row per slot */
	const void *gate;	/* [expert][rows][k] */
	const void *up;
	const float *x;
	float *out;
	char *rounded;
	uint32_t gate_type;
	uint32_t up_type;
	uint32_t rows;
	uint32_t k;
	uint32_t n_expert;
	uint32_t tokens;
	uint32_t n_used;
	uint32_t received;
	uint32_t x_stride;		/* bytes from row to row of x; 0: none between them */
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
	uint32_t received;
	uint32_t pad;
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
	const struct cmx_row *rows;
	uint32_t heads;
	uint32_t nope;
	uint32_t rope;
	uint32_t tokens;
};

/* Normed latent and rotated key into the cache, each row to its cell. */
struct cmx_k_kv_store {
	const float *kv;	/* [token][kv_lora + rope] */
	const float *norm;
	const float *table;
	const struct cmx_row *rows;
	float *cache;		/* of one layer */
	uint32_t kv_lora;
	uint32_t rope;
	uint32_t tokens;
	float eps;
};

/* Cache rows of several sequences, side by side. */
struct cmx_k_kv_gather {
	const float *cache;	/* of one layer */
	const uint32_t *tables;	/* page tables */
	const struct cmx_span *spans;
	float *out;		/* [row][width] */
	uint32_t n_spans;
	uint32_t rows;		/* of all spans */
	uint32_t width;
	uint32_t page_shift;
};

/*
 * Causal attention in its plain form. The key of a head is what keys has for it
 * and the rotated key, shared by all heads, at the end of the latent row.
 * Of each token's keys those at positions [first, end) are here; others come
 * in other launches, in order, which leave top and sum of the softmax in state.
 */
struct cmx_k_attention {
	const struct cmx_row *rows;
	const float *q;		/* [token][head][nope + rope] */
	const float *keys;	/* [head][window][nope] */
	const float *values;	/* [head][window][dv] */
	const float *latent;	/* [window][kv_lora + rope] */
	float *out;		/* [token][head][dv] */
	float *state;		/* [token][head][2] */
	uint64_t pairs;		/* of a token and a key, for the cost */
	uint64_t key_rows;	/* that are read, for the cost */
	uint32_t first;		/* a multiple of CMX_KEY_TILE */
	uint32_t end;		/* the same, or past all positions */
	uint32_t nope, rope, dv, kv_lora;
	uint32_t heads;
	uint32_t tokens;
	uint32_t window;
	float scale;
};

/* Causal attention on the latent cache: its rows are keys and values of all heads. */
struct cmx_k_mla {
	const struct cmx_row *rows;
	const uint32_t *tables;
	const float *q_latent;	/* [token][head][kv_lora] */
	const float *q;		/* [token][head][nope + rope], of which rope is used */
	const float *cache;	/* of one layer */
	float *out;		/* [token][head][kv_lora] */
	uint64_t pairs;		/* as above */
	uint64_t key_rows;
	uint32_t nope, rope, kv_lora;
	uint32_t heads;
	uint32_t tokens;
	uint32_t page_shift;
	float scale;
	uint32_t pad;
};

/* Chooses experts; at the end, with all tokens, lays out their work. */
struct cmx_k_gate {
	const float *logits;	/* [token][expert] */
	const float *bias;	/* may be NULL */
	uint32_t *ids;		/* [token][used], best first */
	float *weights;
	struct cmx_plan *plan;	/* may be NULL */
	uint32_t *slot_token;
	uint32_t *token_slot;	/* [token][used] */
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

/* The router's product, whose logits the gate takes at the end. */
struct cmx_k_route {
	const void *w;
	const float *x;
	float *logits;
	uint32_t type;
	uint32_t k;
	struct cmx_k_gate gate;
};

enum cmx_combine_form {
	CMX_COMBINE_F32,
	CMX_COMBINE_BF16,	/* rows of y are BF16 */
	CMX_COMBINE_ROUNDED,	/* F32, to be rounded to BF16 first: gives the same bits */
};

/* out[t] = (x[t] + sum of weight * y[slot]) + shared[t], and what @end says of each row */
struct cmx_k_combine {
	const float *x;
	const void *y;
	const float *weights;
	const uint32_t *token_slot;	/* NULL: expert j of token t has row t * n_used + j */
	const float *shared;	/* may be NULL */
	float *out;
	uint32_t hidden;
	uint32_t n_used;
	uint32_t tokens;
	uint32_t form;		/* enum cmx_combine_form */
	struct cmx_row_end end;
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
struct cmx_sample_row {
	uint64_t seed;
	uint64_t index;		/* of the token in the output */
	uint32_t logits;	/* row */
	uint32_t history;	/* where in ids its sequence starts */
	uint32_t n_history;	/* ids so far, below vocab; the new one goes behind them */
	uint32_t follows;	/* 1: the row before is of the same sequence and comes first */
	uint32_t top_k;		/* 0: all */
	float temp;
	float top_p;		/* 1: all */
	float min_p;		/* 0: all */
	float penalty;		/* 1: none */
	uint32_t pad;
};

struct cmx_k_sample {
	const float *logits;
	const struct cmx_sample_row *rows;
	uint32_t *ids;		/* read and, where the next step embeds from, written */
	uint32_t *order;	/* scratch, [row][vocab] */
	float *prob;		/* scratch, [row][vocab] */
	struct cmx_sampled *out;	/* one each row */
	uint32_t vocab;
	uint32_t n;		/* rows */
	/* How many of them do what, for the cost. */
	uint32_t n_draw;
	uint32_t n_sort;
	uint32_t n_penalty;
	uint32_t pad;
	uint64_t n_history;	/* ids that the penalties look at */
};

enum cmx_npu_id {
	CMX_NPU_EMBED,
	CMX_NPU_NORM,
	CMX_NPU_QUANTISE,
	CMX_NPU_MATMUL,
	CMX_NPU_LATENT,
	CMX_NPU_GLU,
	CMX_NPU_EXPERT_GLU,
	CMX_NPU_EXPERT_DOWN,
	CMX_NPU_ROPE_TABLE,
	CMX_NPU_ROPE,
	CMX_NPU_KV_STORE,
	CMX_NPU_KV_GATHER,
	CMX_NPU_ATTENTION,
	CMX_NPU_MLA,
	CMX_NPU_GATE,
	CMX_NPU_ROUTE,
	CMX_NPU_COMBINE,
	CMX_NPU_SAMPLE,
	CMX_NPU_COUNT,
};

typedef void (*cmx_npu_fn)(const void *args, uint32_t block, uint32_t nblocks);
typedef void (*cmx_npu_end_fn)(const void *args);

struct cmx_npu_kernel {
	const char *name;
	cmx_npu_fn fn;
	cmx_npu_end_fn end;	/* after all blocks, by one thread; may be NULL */
	uint32_t args_size;
};

enum cmx_isa {
	CMX_ISA_SCALAR,
	CMX_ISA_SSE2,
	CMX_ISA_AVX2,
	CMX_ISA_AVX512,
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
