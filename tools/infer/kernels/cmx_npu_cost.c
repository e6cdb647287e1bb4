// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_npu_cost.h"

/* Vector operations an element takes; the exponential counts as sixteen. */
#define OPS_NORM	4u
#define OPS_QUANTISE	4u
#define OPS_DEQUANTISE	3u	/* convert, two scales */
#define OPS_ROPE	3u
#define OPS_SILU	20u
#define OPS_SOFTMAX	18u
#define OPS_GATE	24u
#define OPS_ANGLE	64u
#define OPS_SORT	32u

#define BF16_BYTES	2u

/* Narrow weights but INT8 are widened on chip to the nearest format the cubes have. */
static uint16_t op_class(uint32_t type)
{
	switch (type) {
	case CMX_TENSOR_F32:
		return CMX_OPS_F32;
	case CMX_TENSOR_F16:
		return CMX_OPS_F16;
	case CMX_TENSOR_I8:
		return CMX_OPS_INT8;
	default:
		return CMX_OPS_BF16;
	}
}

/* Two matrices in one go: the slower format's rate. */
static uint16_t op_class_of_two(uint32_t a, uint32_t b)
{
	return op_class(b == CMX_TENSOR_F32 ? b : a);
}

/* A matrix as it stands in memory; INT8 has a scale for each row. */
static uint64_t weight_bytes(uint32_t type, uint64_t rows, uint64_t k)
{
	return cmx_tensor_bytes(type, rows * k) + (type == CMX_TENSOR_I8 ? rows * 4 : 0);
}

/* @rows rows of a product's input. */
static uint64_t input_bytes(uint32_t type, uint64_t rows, uint64_t k, uint32_t width)
{
	return rows * (type == CMX_TENSOR_I8 ? k + 4 : k * width);
}

/* What the vector units do with @n sums before they are floats. */
static uint64_t sum_ops(uint32_t type, uint64_t n)
{
	return type == CMX_TENSOR_I8 ? OPS_DEQUANTISE * n : 0;
}

static void cost_vector(struct cmx_cost *c, uint64_t ops, uint64_t values, uint32_t width)
{
	c->vector_ops = ops;
	c->mem_bytes = values * width;
	c->op_class = CMX_OPS_F32;
	c->efficiency = CMX_EFF_VECTOR;
}

/* Rows that are at hand are rounded and written. */
static void add_rounding(uint64_t rows, uint64_t k, struct cmx_cost *c)
{
	c->vector_ops += OPS_QUANTISE * rows * k;
	c->mem_bytes += input_bytes(CMX_TENSOR_I8, rows, k, 0);
}

static void add_rounded(const char *rounded, uint64_t rows, uint64_t k, struct cmx_cost *c)
{
	if (rounded)
		add_rounding(rows, k, c);
}

/* What an end makes of rows that are at hand: reads of other things, and writes. */
static void add_end(const struct cmx_row_end *e, uint64_t rows, uint64_t k, uint32_t width,
		    struct cmx_cost *c)
{
	if (e->norm) {
		c->vector_ops += OPS_NORM * rows * k;
		c->mem_bytes += (rows + 1) * k * width;
	}
	add_rounded(e->rounded, rows, k, c);
}

/* @c comes behind in the same launch, but for the @bytes that it finds at hand. */
static void add_behind(const struct cmx_cost *c, uint64_t bytes, struct cmx_cost *to)
{
	to->vector_ops += c->vector_ops;
	to->mem_bytes += c->mem_bytes - bytes;
}

static void cost_rope(const struct cmx_k_rope *a, uint32_t width, struct cmx_cost *c)
{
	uint64_t n = (uint64_t)a->tokens * a->heads * a->rope;

	cost_vector(c, OPS_ROPE * n, 2 * n + (uint64_t)a->tokens * a->rope, width);
}

static void add_rope(const struct cmx_k_matmul *a, uint32_t width, struct cmx_cost *to)
{
	const struct cmx_k_rope rope = {
		.heads = a->out_stride / (a->nope + a->rope), .rope = a->rope, .tokens = a->tokens,
	};
	struct cmx_cost c;

	cost_rope(&rope, width, &c);
	add_behind(&c, (uint64_t)a->tokens * rope.heads * a->rope * width, to);
}

static void cost_embed(const struct cmx_k_embed *a, uint32_t width, struct cmx_cost *c)
{
	uint64_t n = (uint64_t)a->tokens * a->hidden;

	cost_vector(c, n, n, width);
	c->mem_bytes += a->tokens * cmx_tensor_bytes(a->type, a->hidden);
}

static void cost_matmul(const struct cmx_k_matmul *a, uint32_t width, struct cmx_cost *c)
{
	uint64_t out = (uint64_t)a->tokens * a->heads * a->rows;
	uint64_t in = (uint64_t)a->tokens * (a->x_head ? a->heads : 1);

	c->cube_ops = 2 * out * a->k;
	c->vector_ops = (a->res ? out : 0) + sum_ops(a->type, out);
	c->mem_bytes = a->heads * weight_bytes(a->type, a->rows, a->k) +
		       input_bytes(a->type, in, a->k, width) + (out + (a->res ? out : 0)) * width;
	c->op_class = op_class(a->type);
	c->efficiency = CMX_EFF_GEMM;
	add_end(&a->end, a->tokens, a->out_stride, width, c);
	if (a->table)
		add_rope(a, width, c);
}

static void cost_glu(const struct cmx_k_glu *a, uint32_t width, struct cmx_cost *c)
{
	uint64_t out = (uint64_t)a->tokens * a->rows;

	c->cube_ops = 4 * out * a->k;
	c->vector_ops = OPS_SILU * out + sum_ops(a->gate_type, 2 * out);
	c->mem_bytes = weight_bytes(a->gate_type, a->rows, a->k) +
		       weight_bytes(a->up_type, a->rows, a->k) +
		       input_bytes(a->gate_type, a->tokens, a->k, width) + out * width;
	c->op_class = op_class_of_two(a->gate_type, a->up_type);
	c->efficiency = CMX_EFF_GEMM;
	add_rounded(a->rounded, a->tokens, a->rows, c);
}

static void cost_expert_glu(const struct cmx_k_expert_glu *a, const struct cmx_npu_load *load,
			    uint32_t width, struct cmx_cost *c)
{
	uint64_t out = (uint64_t)load->rows * a->rows;

	c->cube_ops = 4 * out * a->k;
	c->vector_ops = OPS_SILU * out + sum_ops(a->gate_type, 2 * out);
	c->mem_bytes = load->active * (weight_bytes(a->gate_type, a->rows, a->k) +
				       weight_bytes(a->up_type, a->rows, a->k)) +
		       input_bytes(a->gate_type, load->rows, a->k, width) + out * width;
	c->op_class = op_class_of_two(a->gate_type, a->up_type);
	c->efficiency = CMX_EFF_GEMM;
	add_rounded(a->rounded, load->rows, a->rows, c);
}

static void cost_expert_down(const struct cmx_k_expert_down *a, const struct cmx_npu_load *load,
			     uint32_t width, struct cmx_cost *c)
{
	uint64_t out = (uint64_t)load->rows * a->rows;

	c->cube_ops = 2 * out * a->k;
	c->vector_ops = sum_ops(a->type, out);
	c->mem_bytes = load->active * weight_bytes(a->type, a->rows, a->k) +
		       input_bytes(a->type, load->rows, a->k, width) + out * width;
	c->op_class = op_class(a->type);
	c->efficiency = CMX_EFF_GEMM;
}

static void cost_kv_gather(const struct cmx_k_kv_gather *a, uint32_t width, struct cmx_cost *c)
{
	uint64_t n = (uint64_t)a->rows * a->width;

	cost_vector(c, n, 2 * n, width);
}

/* What both forms have in common, for keys of @key values and sums over @dv. */
static void cost_attend(uint64_t pairs, uint32_t heads, uint32_t key, uint32_t dv,
			uint32_t width, struct cmx_cost *c)
{
	c->cube_ops = 2 * pairs * heads * (key + dv);
	c->vector_ops = OPS_SOFTMAX * pairs * heads;
	c->op_class = width == sizeof(float) ? CMX_OPS_F32 : CMX_OPS_BF16;
	c->efficiency = CMX_EFF_ATTENTION;
}

static void cost_attention(const struct cmx_k_attention *a, uint32_t width, struct cmx_cost *c)
{
	uint64_t row = (uint64_t)a->heads * (a->nope + a->dv) + a->rope;
	uint64_t q = (uint64_t)a->tokens * a->heads * (a->nope + a->rope + a->dv);

	cost_attend(a->pairs, a->heads, a->nope + a->rope, a->dv, width, c);
	c->mem_bytes = (a->key_rows * row + q) * width;
}

static void cost_mla(const struct cmx_k_mla *a, uint32_t width, struct cmx_cost *c)
{
	uint64_t row = a->kv_lora + a->rope;
	uint64_t q = (uint64_t)a->tokens * a->heads * (row + a->kv_lora);

	cost_attend(a->pairs, a->heads, a->kv_lora + a->rope, a->kv_lora, width, c);
	c->mem_bytes = (a->key_rows * row + q) * width;
}

static void cost_norm(const struct cmx_k_norm *a, uint32_t width, struct cmx_cost *c)
{
	uint64_t n = (uint64_t)a->tokens * a->dim;

	cost_vector(c, OPS_NORM * n, 2 * n + a->dim, width);
	add_rounded(a->rounded, a->tokens, a->dim, c);
}

static void cost_quantise(const struct cmx_k_quantise *a, const struct cmx_npu_load *load,
			  uint32_t width, struct cmx_cost *c)
{
	uint64_t rows = a->plan ? load->rows : a->rows;

	cost_vector(c, 0, rows * a->k, width);
	add_rounding(rows, a->k, c);
}

static void cost_rope_table(const struct cmx_k_rope_table *a, struct cmx_cost *c)
{
	uint64_t n = (uint64_t)a->positions * a->dim;

	cost_vector(c, OPS_ANGLE * n, n, sizeof(float));
}

static void cost_kv_store(const struct cmx_k_kv_store *a, uint32_t width, struct cmx_cost *c)
{
	uint64_t n = a->tokens, row = a->kv_lora + a->rope;

	cost_vector(c, n * (OPS_NORM * a->kv_lora + OPS_ROPE * a->rope),
		    n * (2 * row + a->rope) + a->kv_lora, width);
}

/* Choices and weights are written; of a plan slots of both kinds, and where experts begin. */
static void cost_gate(const struct cmx_k_gate *a, struct cmx_cost *c)
{
	uint64_t n = (uint64_t)a->tokens * a->n_expert, slots = (uint64_t)a->tokens * a->n_used;

	cost_vector(c, n * (OPS_GATE + a->n_used), n + (a->bias ? a->n_expert : 0) + 2 * slots,
		    sizeof(float));
	if (!a->plan)
		return;
	c->vector_ops += 4 * slots + 3 * a->n_expert;
	c->mem_bytes += (2 * slots + a->n_expert) * sizeof(float);
}

static void cost_route(const struct cmx_k_route *a, uint32_t width, struct cmx_cost *c)
{
	const struct cmx_k_matmul product = {
		.type = a->type, .rows = a->gate.n_expert, .k = a->k, .heads = 1,
		.tokens = a->gate.tokens,
	};
	struct cmx_cost gate;

	cost_matmul(&product, width, c);
	cost_gate(&a->gate, &gate);
	add_behind(&gate, (uint64_t)a->gate.tokens * a->gate.n_expert * sizeof(float), c);
}

static void cost_latent(const struct cmx_k_latent *a, uint32_t width, struct cmx_cost *c)
{
	const struct cmx_row_end end = { .norm = a->q_norm, .rounded = a->q_rounded };
	const struct cmx_k_kv_store store = {
		.kv_lora = a->kv_lora, .rope = a->rope, .tokens = a->tokens,
	};
	uint64_t kv_rows = a->kv_lora + a->rope, out = a->tokens * (a->q_rows + kv_rows);
	struct cmx_cost stored;

	c->cube_ops = 2 * out * a->k;
	c->vector_ops = sum_ops(a->kv_type, out);
	c->mem_bytes = weight_bytes(a->q_type, a->q_rows, a->k) +
		       weight_bytes(a->kv_type, kv_rows, a->k) +
		       input_bytes(a->kv_type, a->tokens, a->k, width) + out * width;
	c->op_class = op_class_of_two(a->q_type, a->kv_type);
	c->efficiency = CMX_EFF_GEMM;
	if (!a->cache)
		return;
	add_end(&end, a->tokens, a->q_rows, width, c);
	cost_kv_store(&store, width, &stored);
	add_behind(&stored, a->tokens * kv_rows * width, c);
}

static void cost_combine(const struct cmx_k_combine *a, uint32_t width, struct cmx_cost *c)
{
	uint64_t n = (uint64_t)a->tokens * a->hidden, terms = a->n_used + (a->shared ? 1 : 0);

	cost_vector(c, n * (2 * a->n_used + 2),
		    n * (terms + 2) + 2 * (uint64_t)a->tokens * a->n_used, width);
	if (a->form == CMX_COMBINE_BF16)
		c->mem_bytes -= n * a->n_used * (width - BF16_BYTES);
	add_end(&a->end, a->tokens, a->hidden, width, c);
}

static void cost_sample(const struct cmx_k_sample *a, struct cmx_cost *c)
{
	uint64_t n = a->vocab, greedy = a->n - a->n_draw;

	cost_vector(c, n * (greedy + (uint64_t)OPS_SOFTMAX * a->n_draw +
			    (uint64_t)OPS_SORT * a->n_sort), n * (greedy + 4ull * a->n_draw),
		    sizeof(float));
	/* Logits and marks are written once, and both are touched for each id before. */
	c->vector_ops += 2 * n * a->n_penalty + 2 * a->n_history;
	c->mem_bytes += (3 * n * a->n_penalty + 3 * a->n_history) * sizeof(float);
}

void cmx_npu_cost(enum cmx_npu_id id, const void *args, const struct cmx_npu_load *load,
		  bool narrow, struct cmx_cost *cost)
{
	/* Of an activation, or a value in the cache. */
	const uint32_t width = narrow ? BF16_BYTES : sizeof(float);

	*cost = (struct cmx_cost){ 0 };
	switch (id) {
	case CMX_NPU_EMBED:
		cost_embed(args, width, cost);
		break;
	case CMX_NPU_NORM:
		cost_norm(args, width, cost);
		break;
	case CMX_NPU_QUANTISE:
		cost_quantise(args, load, width, cost);
		break;
	case CMX_NPU_MATMUL:
		cost_matmul(args, width, cost);
		break;
	case CMX_NPU_LATENT:
		cost_latent(args, width, cost);
		break;
	case CMX_NPU_GLU:
		cost_glu(args, width, cost);
		break;
	case CMX_NPU_EXPERT_GLU:
		cost_expert_glu(args, load, width, cost);
		break;
	case CMX_NPU_EXPERT_DOWN:
		cost_expert_down(args, load, width, cost);
		break;
	case CMX_NPU_ROPE_TABLE:
		cost_rope_table(args, cost);
		break;
	case CMX_NPU_ROPE:
		cost_rope(args, width, cost);
		break;
	case CMX_NPU_KV_STORE:
		cost_kv_store(args, width, cost);
		break;
	case CMX_NPU_KV_GATHER:
		cost_kv_gather(args, width, cost);
		break;
	case CMX_NPU_ATTENTION:
		cost_attention(args, width, cost);
		break;
	case CMX_NPU_MLA:
		cost_mla(args, width, cost);
		break;
	case CMX_NPU_GATE:
		cost_gate(args, cost);
		break;
	case CMX_NPU_ROUTE:
		cost_route(args, width, cost);
		break;
	case CMX_NPU_COMBINE:
		cost_combine(args, width, cost);
		break;
	case CMX_NPU_SAMPLE:
		cost_sample(args, cost);
		break;
	case CMX_NPU_COUNT:
		break;
	}
}

/* Of the keys that the token at @pos sees, those in [first, end). */
static uint32_t keys_between(uint32_t first, uint32_t end, uint32_t pos)
{
	uint32_t last = pos < end ? pos + 1 : end;

	return last > first ? last - first : 0;
}

void cmx_npu_add_key_work(uint32_t first, uint32_t end, uint32_t pos, uint32_t tokens,
			  struct cmx_key_work *work)
{
	for (uint32_t t = 0; t < tokens; t++) {
		work->pairs += keys_between(first, end, pos + t);
		if (t % CMX_QUERY_SHARE == CMX_QUERY_SHARE - 1 || t == tokens - 1)
			work->rows += keys_between(first, end, pos + t);
	}
}

/* What the expert kernels and what they leave have in common. */
struct expert_args {
	const struct cmx_plan *plan;	/* NULL: it is none of them, or knows its rows */
	uint32_t n_expert;
	uint32_t tokens;
	uint32_t n_used;
	bool received;
};

static struct expert_args expert_args(enum cmx_npu_id id, const void *args)
{
	const struct cmx_k_expert_glu *glu = args;
	const struct cmx_k_expert_down *down = args;
	const struct cmx_k_quantise *q = args;

	switch (id) {
	case CMX_NPU_EXPERT_GLU:
		return (struct expert_args){ glu->plan, glu->n_expert, glu->tokens, glu->n_used,
					     glu->received };
	case CMX_NPU_EXPERT_DOWN:
		return (struct expert_args){ down->plan, down->n_expert, down->tokens,
					     down->n_used, down->received };
	case CMX_NPU_QUANTISE:
		return (struct expert_args){ q->plan, 1, q->rows, 1, true };
	default:
		return (struct expert_args){ 0 };
	}
}

bool cmx_npu_is_int8(enum cmx_npu_id id, const void *args)
{
	switch (id) {
	case CMX_NPU_EXPERT_GLU:
		return ((const struct cmx_k_expert_glu *)args)->gate_type == CMX_TENSOR_I8;
	case CMX_NPU_EXPERT_DOWN:
		return ((const struct cmx_k_expert_down *)args)->type == CMX_TENSOR_I8;
	default:
		return id == CMX_NPU_QUANTISE;
	}
}

bool cmx_npu_cost_is_data(enum cmx_npu_id id, const void *args)
{
	return expert_args(id, args).plan;
}

/* One token alone already needs as many experts as it uses; what others send may be nothing. */
struct cmx_npu_load cmx_npu_least_load(enum cmx_npu_id id, const void *args)
{
	const struct expert_args a = expert_args(id, args);

	if (a.received)
		return (struct cmx_npu_load){ 0 };
	return (struct cmx_npu_load){ .active = a.n_used, .rows = a.tokens * a.n_used };
}

/* As much comes from others as goes to them. */
struct cmx_npu_load cmx_npu_likely_load(enum cmx_npu_id id, const void *args)
{
	const struct expert_args a = expert_args(id, args);
	uint32_t rows = a.tokens * a.n_used;

	if (!a.received)
		return cmx_npu_least_load(id, args);
	return (struct cmx_npu_load){ .active = rows < a.n_expert ? rows : a.n_expert,
				      .rows = rows };
}

struct cmx_npu_load cmx_npu_true_load(enum cmx_npu_id id, const void *args)
{
	const struct expert_args a = expert_args(id, args);

	if (!a.plan)
		return (struct cmx_npu_load){ 0 };
	return (struct cmx_npu_load){ .active = a.plan->n_active, .rows = a.plan->n_rows };
}

static uint64_t tiles(uint32_t rows)
{
	return (rows + CMX_ROW_TILE - 1) / CMX_ROW_TILE;
}

static uint64_t attention_units(const struct cmx_k_attention *a)
{
	return (uint64_t)a->heads * ((a->tokens + CMX_QUERY_TILE - 1) / CMX_QUERY_TILE);
}

static uint64_t mla_units(const struct cmx_k_mla *a)
{
	return (uint64_t)a->tokens * ((a->heads + CMX_HEAD_GROUP - 1) / CMX_HEAD_GROUP);
}

static uint64_t latent_units(const struct cmx_k_latent *a)
{
	return tiles(a->q_rows) + tiles(a->kv_lora + a->rope);
}

uint64_t cmx_npu_units(enum cmx_npu_id id, const void *args)
{
	switch (id) {
	case CMX_NPU_EMBED:
		return ((const struct cmx_k_embed *)args)->tokens;
	case CMX_NPU_NORM:
		return ((const struct cmx_k_norm *)args)->tokens;
	case CMX_NPU_QUANTISE:
		return ((const struct cmx_k_quantise *)args)->rows;
	case CMX_NPU_MATMUL:
		return tiles(((const struct cmx_k_matmul *)args)->rows) *
		       ((const struct cmx_k_matmul *)args)->heads;
	case CMX_NPU_LATENT:
		return latent_units(args);
	case CMX_NPU_ROUTE:
		return tiles(((const struct cmx_k_route *)args)->gate.n_expert);
	case CMX_NPU_GLU:
		return tiles(((const struct cmx_k_glu *)args)->rows);
	case CMX_NPU_EXPERT_GLU:
		return tiles(((const struct cmx_k_expert_glu *)args)->rows) *
		       cmx_npu_likely_load(id, args).active;
	case CMX_NPU_EXPERT_DOWN:
		return tiles(((const struct cmx_k_expert_down *)args)->rows) *
		       cmx_npu_likely_load(id, args).active;
	case CMX_NPU_ROPE_TABLE:
		return ((const struct cmx_k_rope_table *)args)->dim / 2;
	case CMX_NPU_ROPE:
		return (uint64_t)((const struct cmx_k_rope *)args)->tokens *
		       ((const struct cmx_k_rope *)args)->heads;
	case CMX_NPU_KV_STORE:
		return ((const struct cmx_k_kv_store *)args)->tokens;
	case CMX_NPU_KV_GATHER:
		return ((const struct cmx_k_kv_gather *)args)->rows;
	case CMX_NPU_ATTENTION:
		return attention_units(args);
	case CMX_NPU_MLA:
		return mla_units(args);
	case CMX_NPU_SAMPLE:
		return ((const struct cmx_k_sample *)args)->n;
	case CMX_NPU_GATE:
		return ((const struct cmx_k_gate *)args)->tokens;
	case CMX_NPU_COMBINE:
		return ((const struct cmx_k_combine *)args)->tokens;
	default:
		return 1;
	}
}
