// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_tinymoe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GOLDEN		0x9e3779b97f4a7c15ull
#define ROUTER_GAIN	1.5
#define HEAD_GAIN	3.0
#define QUERY_GAIN	1.3
#define MAX_PER_LAYER	24u

struct list {
	const struct tinymoe_preset *p;
	struct tinymoe_tensor *t;
	uint32_t n;
	uint32_t layer;
};

static uint64_t fnv1a64(const char *s)
{
	uint64_t h = 0xcbf29ce484222325ull;

	while (*s)
		h = (h ^ (uint8_t)*s++) * 0x100000001b3ull;
	return h;
}

/* 24 bits of splitmix64, as a multiple of 2^-23 in [-1, 1). */
static float hash_uniform(uint64_t base, uint64_t i)
{
	uint64_t z = base + (i + 1) * GOLDEN;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	z ^= z >> 31;
	return (float)((int64_t)(z >> 40) - (1 << 23)) * 0x1p-23f;
}

static struct tinymoe_tensor *add(struct list *l, const char *name, const char *source)
{
	struct tinymoe_tensor *t = &l->t[l->n++];

	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "%s", name);
	snprintf(t->source, sizeof(t->source), "%s", source);
	return t;
}

static struct tinymoe_tensor *add_in_layer(struct list *l, const char *name, const char *source)
{
	char n[64], s[96];

	snprintf(n, sizeof(n), "blk.%u.%s", l->layer, name);
	snprintf(s, sizeof(s), "model.layers.%u.%s", l->layer, source);
	return add(l, n, s);
}

/* The spread that keeps the output's variance at gain^2 times the input's. */
static float spread(double gain, uint64_t in)
{
	return (float)(sqrt(3.0) * gain / sqrt((double)in));
}

static struct tinymoe_tensor *linear(struct tinymoe_tensor *t, uint64_t out, uint64_t in,
				     double gain)
{
	t->n_dims = 2;
	t->dims[0] = out;
	t->dims[1] = in;
	t->a = spread(gain, in);
	t->matrix = true;
	return t;
}

static void norm(struct tinymoe_tensor *t, uint64_t n)
{
	t->n_dims = 1;
	t->dims[0] = n;
	t->base = 1;
	t->a = 0.1f;
}

static void add_latent(struct list *l, bool legacy)
{
	const struct tinymoe_preset *p = l->p;
	const char *source = "self_attn.kv_b_proj.weight";
	struct tinymoe_tensor *t;

	if (legacy) {
		t = add_in_layer(l, "attn_kv_b.weight", source);
		linear(t, (uint64_t)p->heads * (p->nope + p->v), p->kv_lora, 1);
		return;
	}
	t = linear(add_in_layer(l, "attn_k_b.weight", source), p->heads, p->kv_lora, 1);
	t->n_dims = 3;
	t->dims[2] = p->nope;
	t->layout = TINYMOE_KEYS;
	t = linear(add_in_layer(l, "attn_v_b.weight", source), p->heads, p->kv_lora, 1);
	t->n_dims = 3;
	t->dims[1] = p->v;
	t->dims[2] = p->kv_lora;
	t->layout = TINYMOE_VALUES;
}

static void add_attention(struct list *l, bool legacy)
{
	const struct tinymoe_preset *p = l->p;
	uint64_t q = (uint64_t)p->heads * (p->nope + p->rope);
	struct tinymoe_tensor *t;

	norm(add_in_layer(l, "attn_norm.weight", "input_layernorm.weight"), p->hidden);
	if (p->q_lora) {
		linear(add_in_layer(l, "attn_q_a.weight", "self_attn.q_a_proj.weight"),
		       p->q_lora, p->hidden, 1);
		norm(add_in_layer(l, "attn_q_a_norm.weight", "self_attn.q_a_layernorm.weight"),
		     p->q_lora);
		linear(add_in_layer(l, "attn_q_b.weight", "self_attn.q_b_proj.weight"), q,
		       p->q_lora, QUERY_GAIN);
	} else {
		linear(add_in_layer(l, "attn_q.weight", "self_attn.q_proj.weight"), q, p->hidden,
		       QUERY_GAIN);
	}
	linear(add_in_layer(l, "attn_kv_a_mqa.weight", "self_attn.kv_a_proj_with_mqa.weight"),
	       p->kv_lora + p->rope, p->hidden, 1);
	norm(add_in_layer(l, "attn_kv_a_norm.weight", "self_attn.kv_a_layernorm.weight"),
	     p->kv_lora);
	add_latent(l, legacy);
	linear(add_in_layer(l, "attn_output.weight", "self_attn.o_proj.weight"), p->hidden,
	       (uint64_t)p->heads * p->v, 1);
	t = add_in_layer(l, "ffn_norm.weight", "post_attention_layernorm.weight");
	norm(t, p->hidden);
	t->base *= p->ffn_gain != 0 ? p->ffn_gain : 1;
}

/* gate, up or down of a dense layer or of the shared experts. */
static void add_ffn(struct list *l, const char *which, const char *suffix, const char *prefix,
		    uint64_t width)
{
	char name[40], source[48];
	bool down = !strcmp(which, "down");

	snprintf(name, sizeof(name), "ffn_%s%s.weight", which, suffix);
	snprintf(source, sizeof(source), "mlp.%s%s_proj.weight", prefix, which);
	linear(add_in_layer(l, name, source), down ? l->p->hidden : width,
	       down ? width : l->p->hidden, 1);
}

static void add_experts(struct list *l, const char *which)
{
	const struct tinymoe_preset *p = l->p;
	bool down = !strcmp(which, "down");
	char name[40], source[48];
	struct tinymoe_tensor *t;

	snprintf(name, sizeof(name), "ffn_%s_exps.weight", which);
	snprintf(source, sizeof(source), "mlp.experts.%%u.%s_proj.weight", which);
	t = linear(add_in_layer(l, name, source), p->experts, down ? p->moe_inter : p->hidden, 1);
	t->n_dims = 3;
	t->dims[1] = down ? p->hidden : p->moe_inter;
	t->dims[2] = down ? p->moe_inter : p->hidden;
	t->layout = TINYMOE_EXPERTS;
}

static void add_moe(struct list *l)
{
	static const char * const which[] = { "gate", "up", "down" };
	const struct tinymoe_preset *p = l->p;
	struct tinymoe_tensor *t;

	t = linear(add_in_layer(l, "ffn_gate_inp.weight", "mlp.gate.weight"), p->experts,
		   p->hidden, ROUTER_GAIN);
	t->matrix = false;
	if (p->sigmoid) {
		t = add_in_layer(l, "exp_probs_b.bias", "mlp.gate.e_score_correction_bias");
		norm(t, p->experts);
		t->base = p->bias;
		t->a = p->bias_spread != 0 ? p->bias_spread : 0.15f;
	}
	for (int i = 0; i < 3; i++) {
		add_experts(l, which[i]);
		add_ffn(l, which[i], "_shexp", "shared_experts.",
			(uint64_t)p->moe_inter * p->shared);
	}
}

static void add_mtp(struct list *l)
{
	const struct tinymoe_preset *p = l->p;

	linear(add_in_layer(l, "nextn.eh_proj.weight", "eh_proj.weight"), p->hidden,
	       2ull * p->hidden, 1);
	norm(add_in_layer(l, "nextn.enorm.weight", "enorm.weight"), p->hidden);
	norm(add_in_layer(l, "nextn.hnorm.weight", "hnorm.weight"), p->hidden);
	norm(add_in_layer(l, "nextn.shared_head_norm.weight", "shared_head.norm.weight"),
	     p->hidden);
	if (!p->mtp_ends)
		return;
	linear(add_in_layer(l, "nextn.embed_tokens.weight", "embed_tokens.weight"), p->vocab,
	       p->hidden, 1)->a = (float)sqrt(3.0);
	linear(add_in_layer(l, "nextn.shared_head_head.weight", "shared_head.head.weight"),
	       p->vocab, p->hidden, HEAD_GAIN);
}

static void add_layer(struct list *l, bool legacy)
{
	add_attention(l, legacy);
	if (l->layer < l->p->dense) {
		add_ffn(l, "gate", "", "", l->p->inter);
		add_ffn(l, "up", "", "", l->p->inter);
		add_ffn(l, "down", "", "", l->p->inter);
	} else {
		add_moe(l);
	}
	if (l->layer >= l->p->layers)
		add_mtp(l);
}

struct tinymoe_tensor *tinymoe_tensors(const struct tinymoe_preset *p, bool legacy, uint32_t *n)
{
	struct list l = { .p = p };

	l.t = calloc((p->layers + p->mtp) * MAX_PER_LAYER + 3, sizeof(*l.t));
	if (!l.t)
		return NULL;
	linear(add(&l, "token_embd.weight", "model.embed_tokens.weight"), p->vocab, p->hidden,
	       1)->a = (float)sqrt(3.0);
	for (; l.layer < p->layers + p->mtp; l.layer++)
		add_layer(&l, legacy);
	norm(add(&l, "output_norm.weight", "model.norm.weight"), p->hidden);
	linear(add(&l, "output.weight", "lm_head.weight"), p->vocab, p->hidden, HEAD_GAIN);
	*n = l.n;
	return l.t;
}

void tinymoe_values_init(struct tinymoe_values *v, const struct tinymoe_preset *p,
			 const struct tinymoe_tensor *t, uint64_t seed)
{
	*v = (struct tinymoe_values){ .p = p, .t = t, .seed = seed * GOLDEN };
	v->expert = UINT64_MAX;
	if (t->layout != TINYMOE_EXPERTS)
		v->hash = fnv1a64(t->source) ^ v->seed;
}

/* Index into kv_b of element (head, row, latent). */
static uint64_t kv_b_index(const struct tinymoe_preset *p, uint64_t head, uint64_t row,
			   uint64_t latent)
{
	return (head * (p->nope + p->v) + row) * p->kv_lora + latent;
}

static uint64_t expert_index(struct tinymoe_values *v, uint64_t i)
{
	uint64_t size = v->t->dims[1] * v->t->dims[2], e = i / size;
	const char *at = strstr(v->t->source, "%u");
	char name[128];

	if (e != v->expert) {
		snprintf(name, sizeof(name), "%.*s%u%s", (int)(at - v->t->source), v->t->source,
			 (unsigned int)e, at + 2);
		v->hash = fnv1a64(name) ^ v->seed;
		v->expert = e;
	}
	return i % size;
}

float tinymoe_value(struct tinymoe_values *v, uint64_t i)
{
	const struct tinymoe_tensor *t = v->t;
	uint64_t inner = t->dims[2], mid = t->dims[1];
	float w;

	if (t->layout == TINYMOE_KEYS)
		i = kv_b_index(v->p, i / inner / mid, i % inner, i / inner % mid);
	else if (t->layout == TINYMOE_VALUES)
		i = kv_b_index(v->p, i / inner / mid, v->p->nope + i / inner % mid, i % inner);
	else if (t->layout == TINYMOE_EXPERTS)
		i = expert_index(v, i);
	w = hash_uniform(v->hash, i) * t->a;
	return t->base != 0 ? t->base + w : w;
}
