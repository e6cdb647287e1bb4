// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_attention.h"

#include "kernels/cmx_panel.h"

/* The part of the latent expansion that makes keys, or values, of one head. */
struct expansion {
	const char *w;
	uint64_t w_head;	/* bytes between heads */
	uint32_t type;
	bool by_latent;		/* rows run over the latent: [kv_lora][width] */
};

/* Keys and values of a head are packed apart. */
static uint64_t kv_b_head(const struct cmx_layer *y, const struct cmx_model_config *c)
{
	return cmx_packed_bytes(y->kv_b.type, c->nope, c->kv_lora) +
	       cmx_packed_bytes(y->kv_b.type, c->v_dim, c->kv_lora);
}

static struct expansion expand_keys(const struct cmx_layer *y, const struct cmx_model_config *c)
{
	if (c->split_mla)
		return (struct expansion){
			.w = y->k_b.va, .type = y->k_b.type, .by_latent = true,
			.w_head = cmx_packed_bytes(y->k_b.type, c->kv_lora, c->nope),
		};
	return (struct expansion){
		.w = y->kv_b.va, .type = y->kv_b.type,
		.w_head = kv_b_head(y, c),
	};
}

static struct expansion expand_values(const struct cmx_layer *y, const struct cmx_model_config *c)
{
	if (c->split_mla)
		return (struct expansion){
			.w = y->v_b.va, .type = y->v_b.type,
			.w_head = cmx_packed_bytes(y->v_b.type, c->v_dim, c->kv_lora),
		};
	return (struct expansion){
		.w = y->kv_b.va + cmx_packed_bytes(y->kv_b.type, c->nope, c->kv_lora),
		.type = y->kv_b.type, .w_head = kv_b_head(y, c),
	};
}

static float *layer_cache(const struct cmx_pass *p)
{
	uint64_t cells = (uint64_t)p->f->opt.pages << p->f->opt.page_shift;

	return p->f->cache + p->layer * cells * cmx_model_kv_row(&p->f->m->cfg);
}

/* The end of the products that make low-rank query and latent. */
static void end_latent(const struct cmx_pass *p, struct cmx_k_latent *a)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_layer *y = p->y;

	if (f->m->cfg.q_lora) {
		a->q_norm = (const float *)y->q_a_norm.va;
		a->q_rounded = y->q_b.type == CMX_TENSOR_I8 ? f->mid_i8 : NULL;
	}
	a->kv_norm = (const float *)y->kv_a_norm.va;
	a->table = f->rope;
	a->pos = p->step->at.rows;
	a->cache = layer_cache(p);
	a->eps = f->m->cfg.eps;
}

static void pass_kv_store(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	const struct cmx_k_kv_store store = {
		.kv = f->kv, .norm = (const float *)p->y->kv_a_norm.va, .table = f->rope,
		.rows = p->step->at.rows, .cache = layer_cache(p), .kv_lora = c->kv_lora,
		.rope = c->rope, .tokens = p->n, .eps = c->eps,
	};

	cmx_pass_launch(p, CMX_NPU_KV_STORE, &store, "kv store", NULL);
}

/* Returns the low-rank query as its product takes it. */
static const float *pass_latent(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	const struct cmx_weight *q = c->q_lora ? &p->y->q_a : &p->y->q;
	struct cmx_k_latent a = {
		.w_q = q->va, .q_type = q->type, .w_kv = p->y->kv_a.va, .kv_type = p->y->kv_a.type,
		.x = p->in, .q = c->q_lora ? f->q_a : f->q, .kv = f->kv,
		.q_rows = c->q_lora ? c->q_lora : c->n_head * cmx_model_qk(c),
		.kv_lora = c->kv_lora, .rope = c->rope, .k = c->hidden, .tokens = p->n,
	};
	bool few = cmx_pass_few(p);

	if (few)
		end_latent(p, &a);
	cmx_pass_launch(p, CMX_NPU_LATENT, &a, c->q_lora ? "q_a, kv_a" : "q, kv_a", NULL);
	if (few)
		return a.q_rounded ? (const float *)a.q_rounded : f->q_a;
	pass_kv_store(p);
	if (!c->q_lora)
		return NULL;
	return cmx_pass_norm_for(p, f->q_a, &p->y->q_a_norm, f->q_a, c->q_lora, &p->y->q_b,
				 f->mid_i8, "q_a norm");
}

static void pass_rope(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	const struct cmx_k_rope rope = {
		.q = f->q, .table = f->rope, .rows = p->step->at.rows, .heads = c->n_head,
		.nope = c->nope, .rope = c->rope, .tokens = p->n,
	};

	cmx_pass_launch(p, CMX_NPU_ROPE, &rope, "rope", NULL);
}

/* The query of all heads, rotated, from the low-rank one if there is one. */
static void pass_query(struct cmx_pass *p, const float *q_a)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	uint32_t width = c->n_head * cmx_model_qk(c);
	struct cmx_k_matmul a = {
		.w = p->y->q_b.va, .type = p->y->q_b.type, .x = q_a, .out = f->q, .rows = width,
		.k = c->q_lora, .heads = 1, .tokens = p->n, .x_stride = c->q_lora,
		.out_stride = width,
	};

	if (c->q_lora && cmx_pass_few(p)) {
		a.table = f->rope;
		a.pos = p->step->at.rows;
		a.nope = c->nope;
		a.rope = c->rope;
	}
	if (c->q_lora)
		cmx_pass_launch(p, CMX_NPU_MATMUL, &a, "q_b", NULL);
	if (!a.table)
		pass_rope(p);
}

/* Keys or values of a window, one head after the other. */
static void pass_expand(struct cmx_pass *p, const struct expansion *e, uint32_t width,
			uint32_t keys, float *out, const char *label)
{
	const struct cmx_model_config *c = &p->f->m->cfg;
	const struct cmx_k_matmul a = {
		.w = e->w, .w_head = e->w_head, .type = e->type, .transposed = e->by_latent,
		.x = p->f->latent, .x_stride = cmx_model_kv_row(c), .out = out,
		.out_stride = width, .out_head = p->f->max.window * width, .rows = width,
		.k = c->kv_lora,
		.heads = c->n_head, .tokens = keys,
	};

	cmx_pass_launch(p, CMX_NPU_MATMUL, &a, label, NULL);
}

static void pass_gather(struct cmx_pass *p, const struct cmx_window *w)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_k_kv_gather a = {
		.cache = layer_cache(p), .tables = p->step->at.tables,
		.spans = p->step->at.spans + w->span, .out = f->latent, .n_spans = w->spans,
		.rows = w->keys, .width = cmx_model_kv_row(&f->m->cfg),
		.page_shift = f->opt.page_shift,
	};

	cmx_pass_launch(p, CMX_NPU_KV_GATHER, &a, "kv gather", NULL);
}

static void pass_window(struct cmx_pass *p, const struct cmx_window *w)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	const struct expansion k = expand_keys(p->y, c), v = expand_values(p->y, c);
	uint64_t head = (uint64_t)w->row * c->n_head;
	const struct cmx_k_attention a = {
		.rows = p->step->at.rows + w->row, .q = f->q + head * cmx_model_qk(c),
		.keys = f->keys, .values = f->values, .latent = f->latent,
		.out = f->heads + head * c->v_dim,
		.state = f->state ? f->state + 2 * head : NULL,
		.pairs = w->work.pairs, .key_rows = w->work.rows,
		.first = w->first, .end = w->end, .nope = c->nope, .rope = c->rope,
		.dv = c->v_dim, .kv_lora = c->kv_lora, .heads = c->n_head, .tokens = w->rows,
		.window = f->max.window, .scale = f->scale,
	};

	pass_gather(p, w);
	pass_expand(p, &k, c->nope, w->keys, f->keys, "expand keys");
	pass_expand(p, &v, c->v_dim, w->keys, f->values, "expand values");
	cmx_pass_launch(p, CMX_NPU_ATTENTION, &a, "attention", NULL);
}

/* The query of each head, carried into the latent space. */
static void pass_absorb_query(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	const struct expansion e = expand_keys(p->y, c);
	uint32_t qk = cmx_model_qk(c);
	const struct cmx_k_matmul a = {
		.w = e.w, .w_head = e.w_head, .type = e.type, .transposed = !e.by_latent,
		.x = f->q, .x_stride = c->n_head * qk, .x_head = qk,
		.out = f->q_latent, .out_stride = c->n_head * c->kv_lora, .out_head = c->kv_lora,
		.rows = c->kv_lora, .k = c->nope, .heads = c->n_head, .tokens = p->n,
	};

	cmx_pass_launch(p, CMX_NPU_MATMUL, &a, "absorb query", NULL);
}

/* With @rounded the end leaves the heads' outputs there, too, as INT8 products take them. */
static void pass_absorb_output(struct cmx_pass *p, char *rounded)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	const struct expansion e = expand_values(p->y, c);
	const struct cmx_k_matmul a = {
		.w = e.w, .w_head = e.w_head, .type = e.type,
		.x = f->o_latent, .x_stride = c->n_head * c->kv_lora, .x_head = c->kv_lora,
		.out = f->heads, .out_stride = c->n_head * c->v_dim, .out_head = c->v_dim,
		.rows = c->v_dim, .k = c->kv_lora, .heads = c->n_head, .tokens = p->n,
		.end.rounded = rounded,
	};

	cmx_pass_launch(p, CMX_NPU_MATMUL, &a, "expand output", NULL);
}

static void pass_absorbed(struct cmx_pass *p, char *rounded)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	const struct cmx_k_mla a = {
		.rows = p->step->at.rows, .tables = p->step->at.tables, .q_latent = f->q_latent,
		.q = f->q, .cache = layer_cache(p), .out = f->o_latent,
		.pairs = p->step->absorbed.pairs, .key_rows = p->step->absorbed.rows,
		.nope = c->nope, .rope = c->rope, .kv_lora = c->kv_lora, .heads = c->n_head,
		.tokens = p->n, .page_shift = f->opt.page_shift, .scale = f->scale,
	};

	pass_absorb_query(p);
	cmx_pass_launch(p, CMX_NPU_MLA, &a, "latent attention", NULL);
	pass_absorb_output(p, rounded);
}

void cmx_pass_attention(struct cmx_pass *p, const struct cmx_next *next)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	uint32_t width = c->n_head * c->v_dim;
	bool i8 = p->y->attn_out.type == CMX_TENSOR_I8;
	char *rounded = i8 && cmx_pass_few(p) && !p->step->n_windows ? f->mid_i8 : NULL;
	const float *heads = (const float *)rounded;
	struct cmx_pass absorbed;

	pass_query(p, pass_latent(p));
	if (p->step->n_absorbed) {
		absorbed = *p;
		absorbed.n = p->step->n_absorbed;
		pass_absorbed(&absorbed, rounded);
		p->ret = absorbed.ret;
	}
	for (uint32_t i = 0; i < p->step->n_windows; i++)
		pass_window(p, &p->step->window[i]);
	if (!rounded)
		heads = cmx_pass_input(p, &p->y->attn_out, f->heads, width, p->n, f->mid_i8,
				       "quantise heads");
	cmx_pass_add(p, &p->y->attn_out, width, heads, next, "attn output");
}
