// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_forward.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_attention.h"
#include "cmx_kv_pages.h"
#include "cmx_pass.h"
#include "cmx_recording.h"
#include "kernels/cmx_f64math.h"
#include "kernels/cmx_i8.h"

struct buffer {
	const char *what;
	void *va;		/* address of the pointer to fill */
	uint64_t count;		/* of 4-byte elements */
	int place;		/* enum cmx_place, or ACTIVATIONS */
};

/* On the die, too; and rows of the cache. With opt.narrow INT8 models have them as BF16. */
#define ACTIVATIONS	(CMX_PLACE_HOST + 1)

/* Without a die it only counts. */
static int alloc_buffers(struct cmx_forward *f, const struct buffer *b, size_t n,
			 struct cmx_infer_err *err)
{
	const uint32_t width = f->opt.narrow && f->m->cfg.int8 ? 2 : 4;
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		bool host = b[i].place == CMX_PLACE_HOST;
		uint64_t bytes = b[i].count * (b[i].place == ACTIVATIONS ? width : 4);
		void *va = NULL;

		if (!host)
			*(b[i].va == &f->cache ? &f->cache_bytes : &f->die_bytes) += bytes;
		if (f->die && bytes)
			ret = cmx_die_alloc(f->die, host ? CMX_PLACE_HOST : CMX_PLACE_DIE, bytes,
					    b[i].what, &va, err);
		memcpy(b[i].va, &va, sizeof(va));
	}
	return ret;
}

static int alloc_attention(struct cmx_forward *f, struct cmx_infer_err *err)
{
	const struct cmx_model_config *c = &f->m->cfg;
	uint64_t t = f->opt.rows, heads = c->n_head, row = cmx_model_kv_row(c);
	uint64_t cells = (uint64_t)f->opt.pages << f->opt.page_shift;
	uint64_t absorbed = cmx_forward_absorbed(&f->opt), layers = c->n_layer + f->opt.mtp;
	uint64_t window = f->opt.absorb ? 0 : f->max.window;
	uint64_t state = f->max.window < f->opt.ctx ? 2 * t * heads : 0;
	const struct buffer b[] = {
		{ "rope table", &f->rope, (uint64_t)f->opt.ctx * c->rope, CMX_PLACE_DIE },
		{ "latent cache", &f->cache, layers * cells * row, ACTIVATIONS },
		{ "low-rank query", &f->q_a, t * c->q_lora, ACTIVATIONS },
		{ "query", &f->q, t * heads * cmx_model_qk(c), ACTIVATIONS },
		{ "latent", &f->kv, t * row, ACTIVATIONS },
		{ "gathered latent", &f->latent, window * row, ACTIVATIONS },
		{ "expanded keys", &f->keys, heads * window * c->nope, ACTIVATIONS },
		{ "expanded values", &f->values, heads * window * c->v_dim, ACTIVATIONS },
		{ "softmax state", &f->state, state, CMX_PLACE_DIE },
		{ "latent query", &f->q_latent, absorbed * heads * c->kv_lora, ACTIVATIONS },
		{ "latent output", &f->o_latent, absorbed * heads * c->kv_lora, ACTIVATIONS },
		{ "head output", &f->heads, t * heads * c->v_dim, ACTIVATIONS },
	};

	return alloc_buffers(f, b, sizeof(b) / sizeof(b[0]), err);
}

static int alloc_ffn(struct cmx_forward *f, struct cmx_infer_err *err)
{
	const struct cmx_model_config *c = &f->m->cfg;
	uint64_t t = f->opt.rows, slots = t * c->n_used;
	uint64_t got = f->opt.received ? f->opt.received : slots;
	uint64_t own = f->opt.received ? 0 : slots;
	uint64_t moe = cmx_model_n_moe(c) + f->opt.mtp;
	uint64_t shared = (uint64_t)c->n_shared * c->moe_inter;
	uint64_t glu = shared > c->inter ? shared : c->inter;
	const struct buffer b[] = {
		{ "ffn", &f->glu, t * glu, ACTIVATIONS },
		{ "shared expert", &f->shared, c->n_shared ? t * c->hidden : 0, ACTIVATIONS },
		{ "router scores", &f->router, t * c->n_expert, CMX_PLACE_DIE },
		{ "chosen experts", &f->experts, moe * slots, CMX_PLACE_DIE },
		{ "expert weights", &f->weights, slots, CMX_PLACE_DIE },
		{ "expert plan", &f->plan, moe && own ? sizeof(*f->plan) / 4 : 0, CMX_PLACE_DIE },
		{ "slot tokens", &f->slot_token, own, CMX_PLACE_DIE },
		{ "token slots", &f->token_slot, own, CMX_PLACE_DIE },
		{ "expert ffn", &f->slot_glu, got * c->moe_inter, ACTIVATIONS },
		{ "expert output", &f->slot_out, got * c->hidden, ACTIVATIONS },
	};

	return alloc_buffers(f, b, sizeof(b) / sizeof(b[0]), err);
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Rows of what INT8 products take, if the model has any. */
static int alloc_int8(struct cmx_forward *f, struct cmx_infer_err *err)
{
	const struct cmx_model_config *c = &f->m->cfg;
	uint64_t t = f->opt.rows, wide = max_u64(c->q_lora, (uint64_t)c->n_head * c->v_dim), mid;
	uint64_t got = f->opt.received ? f->opt.received : t * c->n_used;
	struct buffer b[] = {
		{ "INT8 input", &f->in_i8, t * cmx_i8_row_bytes(c->hidden) / 4, CMX_PLACE_DIE },
		{ "INT8 rows", &f->mid_i8, 0, CMX_PLACE_DIE },
	};

	if (!c->int8)
		return 0;
	wide = max_u64(max_u64(wide, c->inter), (uint64_t)c->n_shared * c->moe_inter);
	mid = max_u64(t * cmx_i8_row_bytes((uint32_t)wide), got * cmx_i8_row_bytes(c->moe_inter));
	b[1].count = mid / 4;
	return alloc_buffers(f, b, sizeof(b) / sizeof(b[0]), err);
}

static int alloc_ends(struct cmx_forward *f, struct cmx_infer_err *err)
{
	const struct cmx_model_config *c = &f->m->cfg;
	uint64_t t = f->opt.rows, vocab = c->vocab, samples = f->max.samples;
	uint64_t ids = (uint64_t)f->opt.seqs * f->max.ids_stride;
	uint64_t sampled = samples * sizeof(*f->sampled) / 4;
	uint64_t block = (cmx_step_bytes(&f->max) + 3) / 4;
	const struct buffer b[] = {
		{ "prompt", &f->prompt, ids, CMX_PLACE_HOST },
		{ "sampled token", &f->sampled, sampled, CMX_PLACE_HOST },
		{ "step on the host", &f->step_host, block, CMX_PLACE_HOST },
		{ "step", &f->step_die, block, CMX_PLACE_DIE },
		{ "token ids", &f->ids, ids, CMX_PLACE_DIE },
		{ "sample", &f->sample_out, sampled, CMX_PLACE_DIE },
		{ "residual stream", &f->x, t * c->hidden, ACTIVATIONS },
		{ "normed input", &f->h, t * c->hidden, ACTIVATIONS },
		{ "hidden states", &f->hidden, f->opt.hidden ? t * c->hidden : 0, ACTIVATIONS },
		{ "logits", &f->logits, f->max.want * vocab, CMX_PLACE_DIE },
		{ "sampling order", &f->order, samples * vocab, CMX_PLACE_DIE },
		{ "probabilities", &f->prob, samples * vocab, CMX_PLACE_DIE },
	};

	return alloc_buffers(f, b, sizeof(b) / sizeof(b[0]), err);
}

static int alloc_mtp(struct cmx_forward *f, struct cmx_infer_err *err)
{
	uint64_t pair = 2ull * f->opt.rows * f->m->cfg.hidden;
	uint64_t block = (cmx_step_bytes(&f->mtp_max) + 3) / 4;
	uint64_t drafted = f->opt.seqs * sizeof(*f->drafted) / 4;
	const struct buffer b[] = {
		{ "MTP step on the host", &f->mtp_step_host, block, CMX_PLACE_HOST },
		{ "MTP step", &f->mtp_step_die, block, CMX_PLACE_DIE },
		{ "MTP input", &f->pair, pair, ACTIVATIONS },
		{ "drafts", &f->drafted, drafted, CMX_PLACE_HOST },
	};

	return f->opt.mtp ? alloc_buffers(f, b, sizeof(b) / sizeof(b[0]), err) : 0;
}

/* 1 / sqrt(query width), with YaRN's temperature folded in. */
static float score_scale(const struct cmx_model_config *c)
{
	double m = 1;

	if (c->yarn.on)
		m = (double)c->yarn.log_mul * cmx_f64_log(c->yarn.factor) + 1;
	return (float)(m * m / __builtin_sqrt(cmx_model_qk(c)));
}

static int check_options(const struct cmx_forward *f, struct cmx_infer_err *err)
{
	const struct cmx_forward_options *o = &f->opt;
	const struct {
		const char *what;
		uint32_t n, min, max;
	} fields[] = {
		{ "context", o->ctx, 1, f->m->cfg.ctx },
		{ "sequences of a step", o->seqs, 1, CMX_MAX_SEQUENCES },
		{ "tokens of a step", o->rows, o->seqs * (1 + o->drafts),
		  CMX_MAX_STEP_ROWS },
		{ "log2 of a page's positions", o->page_shift, CMX_KV_MIN_SHIFT, CMX_KV_MAX_SHIFT },
		{ "pages of the cache", o->pages, 1, (1u << 31) >> o->page_shift },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].n < fields[i].min || fields[i].n > fields[i].max)
			return cmx_infer_fail(err, -EINVAL, "%s: %u, must be %u..%u",
					      fields[i].what, fields[i].n, fields[i].min,
					      fields[i].max);
	}
	if (o->window % CMX_KEY_TILE)
		return cmx_infer_fail(err, -EINVAL, "window: %u keys, must be a multiple of %u",
				      o->window, CMX_KEY_TILE);
	return 0;
}

static void set_limits(struct cmx_forward *f)
{
	const struct cmx_forward_options *o = &f->opt;
	uint32_t chosen = o->seqs * (1 + o->drafts);
	uint32_t window = o->window ? o->window : CMX_KEY_WINDOW;

	f->max = (struct cmx_step_limits){
		.rows = o->rows, .parts = o->seqs, .samples = chosen,
		.want = o->all_logits && o->rows > chosen ? o->rows : chosen,
		.ctx = o->ctx, .window = o->ctx < window ? o->ctx : window,
		.page_shift = o->page_shift, .ids_stride = o->ctx + 1 + o->drafts,
	};
	f->mtp_max = f->max;
	f->mtp_max.sources = true;
	f->opt.hidden |= o->mtp;
}

static int alloc_all(struct cmx_forward *f, struct cmx_infer_err *err)
{
	int ret = alloc_ends(f, err);

	if (!ret)
		ret = alloc_attention(f, err);
	if (!ret)
		ret = alloc_mtp(f, err);
	if (!ret)
		ret = alloc_int8(f, err);
	return ret ? ret : alloc_ffn(f, err);
}

void cmx_forward_bytes(const struct cmx_model_config *c, const struct cmx_forward_options *opt,
		       uint64_t *cache, uint64_t *buffers)
{
	const struct cmx_model m = { .cfg = *c };
	struct cmx_forward f = { .m = &m, .opt = *opt };

	set_limits(&f);
	alloc_all(&f, NULL);
	*cache = f.cache_bytes;
	*buffers = f.die_bytes;
}

static int launch_rope_table(struct cmx_forward *f, struct cmx_infer_err *err)
{
	struct cmx_k_rope_table table = { 0 };

	table.table = f->rope;
	table.positions = f->opt.ctx;
	table.dim = f->m->cfg.rope;
	table.base = f->m->cfg.rope_base;
	table.yarn = f->m->cfg.yarn;
	return cmx_die_launch(f->die, CMX_NPU_ROPE_TABLE, &table, "rope table", NULL, err);
}

int cmx_forward_init(struct cmx_forward *f, const struct cmx_model *m, struct cmx_die *die,
		     const struct cmx_forward_options *opt, struct cmx_infer_err *err)
{
	int ret;

	memset(f, 0, sizeof(*f));
	if (opt->mtp && !m->has_mtp)
		return cmx_infer_fail(err, -EINVAL, "guesses need the MTP block, not loaded");
	if (opt->narrow && !cmx_die_time_only(die))
		return cmx_infer_fail(err, -EINVAL, "the host computes with four bytes a value");
	f->m = m;
	f->die = die;
	f->opt = *opt;
	f->scale = score_scale(&m->cfg);
	cmx_die_set_narrow(die, m->cfg.int8);
	ret = check_options(f, err);
	if (ret)
		return ret;
	set_limits(f);
	ret = alloc_all(f, err);
	if (!ret)
		ret = cmx_step_init(&f->step, &f->max, f->step_host, f->step_die, err);
	if (!ret && opt->mtp)
		ret = cmx_step_init(&f->mtp_step, &f->mtp_max, f->mtp_step_host,
				    f->mtp_step_die, err);
	return ret ? ret : launch_rope_table(f, err);
}

int cmx_forward_join(struct cmx_forward *f, struct cmx_exchange *x, uint32_t rank,
		     struct cmx_infer_err *err)
{
	uint64_t slots = (uint64_t)f->opt.rows * f->m->cfg.n_used;

	f->exchange = x;
	f->rank = rank;
	if (!cmx_die_time_only(f->die))
		return 0;
	f->routing = calloc(slots, sizeof(*f->routing));
	return f->routing ? 0 : cmx_infer_fail(err, -ENOMEM, "no memory for %u choices",
					       (uint32_t)slots);
}

void cmx_forward_free(struct cmx_forward *f)
{
	free(f->routing);
	f->routing = NULL;
	cmx_step_free(&f->step);
	cmx_step_free(&f->mtp_step);
}

static void pass_embed(struct cmx_pass *p)
{
	const struct cmx_model_config *c = &p->f->m->cfg;
	const struct cmx_k_embed a = {
		.ids = p->f->ids, .rows = p->step->at.rows, .table = p->f->m->embed.va,
		.type = p->f->m->embed.type, .out = p->f->x,
		.hidden = c->hidden, .vocab = c->vocab, .tokens = p->n,
	};

	cmx_pass_launch(p, CMX_NPU_EMBED, &a, "embed", NULL);
}

/* The two products and what @down takes of them. */
static const float *pass_glu(struct cmx_pass *p, const struct cmx_weight *gate,
			     const struct cmx_weight *up, const struct cmx_weight *down,
			     uint32_t rows, const char *label)
{
	const struct cmx_forward *f = p->f;
	bool at_end = down->type == CMX_TENSOR_I8 && cmx_pass_few(p);
	const struct cmx_k_glu a = {
		.gate = gate->va, .gate_type = gate->type, .up = up->va, .up_type = up->type,
		.x = p->in, .out = f->glu, .rounded = at_end ? f->mid_i8 : NULL,
		.rows = rows, .k = f->m->cfg.hidden, .tokens = p->n,
	};

	cmx_pass_launch(p, CMX_NPU_GLU, &a, label, NULL);
	if (at_end)
		return (const float *)f->mid_i8;
	return cmx_pass_input(p, down, f->glu, rows, p->n, f->mid_i8, "quantise ffn");
}

/* The input norm of the layer that follows, if one does. */
static struct cmx_next after_layer(const struct cmx_pass *p)
{
	const struct cmx_layer *y = p->y + 1;

	if (p->layer + 1 == p->end)
		return (struct cmx_next){ 0 };
	return (struct cmx_next){ &y->attn_norm, &y->kv_a, "attn norm" };
}

static void pass_dense(struct cmx_pass *p)
{
	const struct cmx_layer *y = p->y;
	const struct cmx_next next = after_layer(p);
	uint32_t inter = p->f->m->cfg.inter;
	const float *glu = pass_glu(p, &y->gate, &y->up, &y->down, inter, "ffn glu");

	cmx_pass_add(p, &y->down, inter, glu, &next, "ffn down");
}

/* What goes over an exchange gets its plan where it is received. */
static void pass_gate(struct cmx_pass *p, uint32_t *experts)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	const struct cmx_weight *w = &p->y->router;
	const struct cmx_k_route a = {
		.w = w->va, .x = f->h, .logits = f->router, .type = w->type, .k = c->hidden,
		.gate = {
			.logits = f->router, .bias = (const float *)p->y->bias.va, .ids = experts,
			.weights = f->weights, .plan = f->exchange ? NULL : f->plan,
			.slot_token = f->slot_token, .token_slot = f->token_slot,
			.n_expert = c->n_expert, .n_used = c->n_used, .n_group = c->n_group,
			.n_group_used = c->n_group_used, .func = c->gate,
			.group_rule = c->group_rule, .norm = c->norm_weights,
			.scale = c->weight_scale, .tokens = p->n,
		},
	};

	if (cmx_pass_few(p)) {
		cmx_pass_launch(p, CMX_NPU_ROUTE, &a, "router", NULL);
		return;
	}
	cmx_pass_matmul(p, w, c->n_expert, c->hidden, f->h, NULL, f->router, "router");
	cmx_pass_launch(p, CMX_NPU_GATE, &a.gate, "gate", NULL);
}

/* Rows of the die's own tokens, or what came over the exchange. */
static void pass_experts(struct cmx_pass *p, const struct cmx_received *got)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	const struct cmx_layer *y = p->y;
	bool i8 = y->exp_down.type == CMX_TENSOR_I8;
	/* How many rows come over an exchange nobody knows yet. */
	bool at_end = i8 && cmx_pass_few(p) && !f->exchange;
	const struct cmx_k_expert_glu glu = {
		.plan = got->plan, .slot_token = f->slot_token, .gate = y->exp_gate.va,
		.gate_type = y->exp_gate.type, .up = y->exp_up.va, .up_type = y->exp_up.type,
		.x = got->rows, .out = f->slot_glu, .rounded = at_end ? f->mid_i8 : NULL,
		.rows = c->moe_inter, .k = c->hidden,
		.n_expert = f->m->n_local, .n_used = c->n_used, .tokens = p->n,
		.received = !!f->exchange, .x_stride = got->stride,
	};
	const struct cmx_k_expert_down down = {
		.plan = got->plan, .w = y->exp_down.va, .type = y->exp_down.type,
		.x = i8 ? (const float *)f->mid_i8 : f->slot_glu, .out = f->slot_out,
		.rows = c->hidden, .k = c->moe_inter, .n_expert = f->m->n_local,
		.n_used = c->n_used, .tokens = p->n,
		.received = !!f->exchange,
	};
	const struct cmx_k_quantise round = {
		.x = f->slot_glu, .out = f->mid_i8, .plan = f->exchange ? got->plan : NULL,
		.rows = p->n * c->n_used, .k = c->moe_inter,
	};

	cmx_pass_launch(p, CMX_NPU_EXPERT_GLU, &glu, "expert glu", &got->load);
	if (i8 && !at_end)
		cmx_pass_launch(p, CMX_NPU_QUANTISE, &round, "quantise experts", &got->load);
	cmx_pass_launch(p, CMX_NPU_EXPERT_DOWN, &down, "expert down", &got->load);
}

/* INT8 models have BF16 on the way back, so one die rounds as well. */
static uint32_t combine_form(const struct cmx_pass *p)
{
	if (p->y->exp_down.type != CMX_TENSOR_I8)
		return CMX_COMBINE_F32;
	return p->f->exchange ? CMX_COMBINE_BF16 : CMX_COMBINE_ROUNDED;
}

static void pass_combine(struct cmx_pass *p, const void *out)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_next next = after_layer(p);
	const struct cmx_k_combine a = {
		.x = f->x, .y = out, .weights = f->weights, .token_slot = f->token_slot,
		.shared = f->shared, .out = f->x, .hidden = f->m->cfg.hidden,
		.n_used = f->m->cfg.n_used, .tokens = p->n, .form = combine_form(p),
		.end = cmx_pass_next_end(p, &next),
	};

	cmx_pass_launch(p, CMX_NPU_COMBINE, &a, "combine", NULL);
}

static void pass_shared(struct cmx_pass *p, uint32_t width)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_layer *y = p->y;
	const float *glu = pass_glu(p, &y->sh_gate, &y->sh_up, &y->sh_down, width, "shared glu");

	cmx_pass_matmul(p, &y->sh_down, f->m->cfg.hidden, width, glu, NULL, f->shared,
			"shared down");
}

static uint32_t moe_layer(const struct cmx_pass *p)
{
	return p->layer - p->f->m->cfg.n_dense;
}

static uint32_t *moe_choices(const struct cmx_pass *p)
{
	return p->f->experts + (uint64_t)moe_layer(p) * p->f->opt.rows * p->f->m->cfg.n_used;
}

static void moe_route(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;

	p->ret = cmx_step_choices(p->step, moe_layer(p), f->m->cfg.n_used, f->routing, p->err);
	if (!p->ret)
		p->ret = cmx_exchange_route(f->exchange, f->rank, f->routing, p->n, p->err);
}

static void moe_send(struct cmx_pass *p)
{
	p->ret = cmx_exchange_send(p->f->exchange, p->f->rank, p->in, moe_choices(p), p->n,
				   p->err);
}

/* All experts are here. */
static void moe_own(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	struct cmx_received own = {
		.rows = p->in, .plan = f->plan, .load.rows = p->n * f->m->cfg.n_used,
	};

	if (cmx_die_time_only(f->die) && !p->ret)
		p->ret = cmx_step_active(p->step, moe_layer(p), &own.load.active, p->err);
	pass_experts(p, &own);
}

static void moe_received(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	struct cmx_received got = { 0 };

	if (!p->ret)
		p->ret = cmx_exchange_receive(f->exchange, f->rank, &got, p->err);
	pass_experts(p, &got);
	if (!p->ret)
		p->ret = cmx_exchange_return(f->exchange, f->rank, f->slot_out, p->err);
}

static void moe_work(struct cmx_pass *p)
{
	const struct cmx_model_config *c = &p->f->m->cfg;

	if (c->n_shared && p->n)
		pass_shared(p, c->n_shared * c->moe_inter);
	if (p->f->exchange)
		moe_received(p);
	else
		moe_own(p);
}

static void moe_collect(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	const void *out = f->slot_out;

	if (f->exchange)
		p->ret = cmx_exchange_collect(f->exchange, f->rank, &out, p->err);
	if (p->n)
		pass_combine(p, out);
}

/* What a rank does alone: all of a dense layer. */
static void layer_start(struct cmx_pass *p)
{
	const struct cmx_layer *y = p->y;
	bool dense = p->layer < p->f->m->cfg.n_dense;
	const struct cmx_next ffn = { &y->ffn_norm, dense ? &y->gate : &y->exp_gate, "ffn norm" };

	if (!p->n)
		return;
	cmx_pass_attention(p, &ffn);
	if (dense)
		pass_dense(p);
	else
		pass_gate(p, moe_choices(p));
}

static void pass_layer(struct cmx_pass *p, uint32_t ranks, uint32_t layer)
{
	const struct cmx_forward *f = p->f;

	for (uint32_t i = 0; i < ranks; i++) {
		p[i].layer = layer;
		p[i].y = &p[i].f->m->layer[layer];
	}
	cmx_pass_ranks(p, ranks, layer_start);
	if (layer < f->m->cfg.n_dense)
		return;
	if (f->exchange && cmx_die_time_only(f->die))
		cmx_pass_ranks(p, ranks, moe_route);
	if (f->exchange)
		cmx_pass_ranks(p, ranks, moe_send);
	cmx_pass_ranks(p, ranks, moe_work);
	cmx_pass_ranks(p, ranks, moe_collect);
}

static void first_norm(struct cmx_pass *p)
{
	const struct cmx_layer *y = &p->f->m->layer[p->layer];
	const struct cmx_next next = { &y->attn_norm, &y->kv_a, "attn norm" };

	if (p->n)
		cmx_pass_next(p, &next);
}

void cmx_pass_layers(struct cmx_pass *p, uint32_t ranks, uint32_t first, uint32_t end)
{
	for (uint32_t i = 0; i < ranks; i++) {
		p[i].layer = first;
		p[i].end = end;
	}
	cmx_pass_ranks(p, ranks, first_norm);
	for (uint32_t l = first; l < end; l++)
		pass_layer(p, ranks, l);
}

/* Logits of the rows that are wanted. */
static void pass_head(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_model_config *c = &f->m->cfg;
	struct cmx_pass tail = *p;

	if (f->opt.hidden && p->n)
		cmx_pass_norm(&tail, f->x, NULL, &f->m->out_norm, f->hidden, c->hidden, p->n,
			      "hidden norm");
	tail.n = f->step.n_want;
	if (tail.n) {
		cmx_pass_norm(&tail, f->x, f->step.at.want, &f->m->out_norm, f->h, c->hidden,
			      tail.n, "output norm");
		cmx_pass_matmul(&tail, &f->m->out, c->vocab, c->hidden, f->h, NULL, f->logits,
				"lm head");
	}
	p->ret = tail.ret;
}

static void pass_sample(struct cmx_pass *p)
{
	const struct cmx_forward *f = p->f;
	const struct cmx_step *st = &f->step;
	const struct cmx_k_sample a = {
		.logits = f->logits, .rows = st->at.samples, .ids = f->ids, .order = f->order,
		.prob = f->prob, .out = f->sample_out, .vocab = f->m->cfg.vocab,
		.n = st->n_samples, .n_draw = st->n_draw, .n_sort = st->n_sort,
		.n_penalty = st->n_penalty, .n_history = st->n_history,
	};

	if (!st->n_samples)
		return;
	cmx_pass_launch(p, CMX_NPU_SAMPLE, &a, "sample", NULL);
	if (!p->ret)
		p->ret = cmx_die_copy(f->die, f->sampled, f->sample_out,
				      st->n_samples * sizeof(*f->sampled), "token to host", p->err);
}

int cmx_forward_prompt(struct cmx_forward *f, uint32_t slot, const uint32_t *ids, uint32_t n,
		       struct cmx_infer_err *err)
{
	uint64_t at = (uint64_t)slot * f->max.ids_stride;

	if (!n || n > f->opt.ctx)
		return cmx_infer_fail(err, -ENOSPC, "prompt of %u tokens, must be 1..%u", n,
				      f->opt.ctx);
	memcpy(f->prompt + at, ids, n * sizeof(*ids));
	return cmx_die_copy(f->die, f->ids + at, f->prompt + at, n * sizeof(*ids),
			    "prompt to die", err);
}

static void step_start(struct cmx_pass *p)
{
	if (p->n)
		pass_embed(p);
}

static void step_end(struct cmx_pass *p)
{
	pass_head(p);
	pass_sample(p);
}

static int take_step(struct cmx_pass *p, const struct cmx_turn *turn, uint32_t ranks,
		     struct cmx_infer_err *err)
{
	for (uint32_t i = 0; i < ranks; i++) {
		cmx_pass_start(&p[i], &turn[i], &turn[i].f->step, "step to die", err);
		if (p[i].ret)
			return p[i].ret;
	}
	cmx_pass_ranks(p, ranks, step_start);
	cmx_pass_layers(p, ranks, 0, turn->f->m->cfg.n_layer);
	cmx_pass_ranks(p, ranks, step_end);
	return p->ret;
}

int cmx_forward_steps(const struct cmx_turn *turn, uint32_t ranks, struct cmx_infer_err *err)
{
	struct cmx_pass *p = calloc(ranks, sizeof(*p));
	int ret;

	if (!p)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a step of %u ranks", ranks);
	ret = take_step(p, turn, ranks, err);
	free(p);
	return ret;
}

int cmx_forward_step(struct cmx_forward *f, struct cmx_part *part, uint32_t n,
		     struct cmx_infer_err *err)
{
	const struct cmx_turn turn = { f, part, n };
	struct cmx_pass p;

	/* Whoever asks for one die's step has tokens for it. */
	if (!n)
		return cmx_infer_fail(err, -EINVAL, "a step without tokens");
	return take_step(&p, &turn, 1, err);
}
