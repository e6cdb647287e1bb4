// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_model.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_upload.h"

/* Tensors start at multiples of this in the die's memory. */
#define WEIGHT_ALIGN	256u

enum need {
	NEED_MATRIX,		/* any type */
	NEED_VECTOR,		/* F32: norms, router, bias */
};

/* One tensor the architecture asks for. Unused dimensions are 1. */
struct tensor_spec {
	const char *name;
	enum need need;
	uint64_t dims[3];
	struct cmx_weight *w;
};

/* Where each tensor of the main model goes. */
struct placement {
	const struct cmx_gguf_tensor *t;
	struct cmx_weight *w;
	uint64_t offset;
};

struct loader {
	const struct cmx_gguf *g;
	const struct cmx_model_config *c;
	struct placement *place;
	uint64_t n_place;
	uint64_t bytes;
	struct cmx_infer_err *err;
	bool keep;		/* false: check only, for the MTP blocks */
};

static int check_tensor(struct loader *l, const char *name, const struct tensor_spec *s,
			const struct cmx_gguf_tensor **out)
{
	const struct cmx_gguf_tensor *t = cmx_gguf_tensor(l->g, name);

	if (!t)
		return cmx_infer_fail(l->err, -ENOENT, "tensor '%s' is missing", name);
	for (uint32_t d = 0; d < CMX_GGUF_MAX_DIMS; d++) {
		uint64_t want = d < 3 ? s->dims[d] : 1;

		if (t->dims[d] != want)
			return cmx_infer_fail(l->err, -EINVAL, "tensor '%s': dimension %u is %"
					      PRIu64 ", the model's metadata asks for %" PRIu64,
					      name, d, t->dims[d], want);
	}
	if (s->need == NEED_VECTOR && t->type != CMX_TENSOR_F32)
		return cmx_infer_fail(l->err, -ENOTSUP, "tensor '%s': type %s, must be F32", name,
				      cmx_tensor_type_name(t->type));
	*out = t;
	return 0;
}

static int take_tensor(struct loader *l, const char *name, const struct tensor_spec *s)
{
	const struct cmx_gguf_tensor *t = NULL;
	int ret = check_tensor(l, name, s, &t);

	if (ret || !l->keep)
		return ret;
	/* A file cannot hold more tensors than it lists, so the array suffices. */
	l->place[l->n_place++] = (struct placement){ t, s->w, l->bytes };
	l->bytes += (t->size + WEIGHT_ALIGN - 1) / WEIGHT_ALIGN * WEIGHT_ALIGN;
	s->w->type = t->type;
	return 0;
}

static int take_block(struct loader *l, uint32_t block, const struct tensor_spec *s, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		char name[CMX_GGUF_MAX_NAME + 1];

		snprintf(name, sizeof(name), "blk.%u.%s", block, s[i].name);
		ret = take_tensor(l, name, &s[i]);
	}
	return ret;
}

#define TAKE(l, block, specs) take_block(l, block, specs, sizeof(specs) / sizeof((specs)[0]))

static int take_query(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	uint64_t width = (uint64_t)c->n_head * cmx_model_qk(c);
	const struct tensor_spec lite[] = {
		{ "attn_q.weight", NEED_MATRIX, { c->hidden, width, 1 }, &y->q },
	};
	const struct tensor_spec lora[] = {
		{ "attn_q_a.weight", NEED_MATRIX, { c->hidden, c->q_lora, 1 }, &y->q_a },
		{ "attn_q_a_norm.weight", NEED_VECTOR, { c->q_lora, 1, 1 }, &y->q_a_norm },
		{ "attn_q_b.weight", NEED_MATRIX, { c->q_lora, width, 1 }, &y->q_b },
	};

	return c->q_lora ? TAKE(l, block, lora) : TAKE(l, block, lite);
}

static int take_latent(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	uint64_t width = (uint64_t)c->n_head * (c->nope + c->v_dim);
	const struct tensor_spec shared[] = {
		{ "attn_kv_a_mqa.weight", NEED_MATRIX, { c->hidden, cmx_model_kv_row(c), 1 },
		  &y->kv_a },
		{ "attn_kv_a_norm.weight", NEED_VECTOR, { c->kv_lora, 1, 1 }, &y->kv_a_norm },
	};
	const struct tensor_spec legacy[] = {
		{ "attn_kv_b.weight", NEED_MATRIX, { c->kv_lora, width, 1 }, &y->kv_b },
	};
	const struct tensor_spec split[] = {
		{ "attn_k_b.weight", NEED_MATRIX, { c->nope, c->kv_lora, c->n_head }, &y->k_b },
		{ "attn_v_b.weight", NEED_MATRIX, { c->kv_lora, c->v_dim, c->n_head }, &y->v_b },
	};
	int ret = TAKE(l, block, shared);

	if (ret)
		return ret;
	return c->split_mla ? TAKE(l, block, split) : TAKE(l, block, legacy);
}

static int take_dense(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	const struct tensor_spec specs[] = {
		{ "ffn_gate.weight", NEED_MATRIX, { c->hidden, c->inter, 1 }, &y->gate },
		{ "ffn_up.weight", NEED_MATRIX, { c->hidden, c->inter, 1 }, &y->up },
		{ "ffn_down.weight", NEED_MATRIX, { c->inter, c->hidden, 1 }, &y->down },
	};

	return TAKE(l, block, specs);
}

static int take_shared_expert(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	uint64_t width = (uint64_t)c->n_shared * c->moe_inter;
	const struct tensor_spec specs[] = {
		{ "ffn_gate_shexp.weight", NEED_MATRIX, { c->hidden, width, 1 }, &y->sh_gate },
		{ "ffn_up_shexp.weight", NEED_MATRIX, { c->hidden, width, 1 }, &y->sh_up },
		{ "ffn_down_shexp.weight", NEED_MATRIX, { width, c->hidden, 1 }, &y->sh_down },
	};

	return c->n_shared ? TAKE(l, block, specs) : 0;
}

static int take_moe(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	uint64_t h = c->hidden, m = c->moe_inter, e = c->n_expert;
	const struct tensor_spec bias[] = {
		{ "exp_probs_b.bias", NEED_VECTOR, { e, 1, 1 }, &y->bias },
	};
	const struct tensor_spec specs[] = {
		{ "ffn_gate_inp.weight", NEED_VECTOR, { h, e, 1 }, &y->router },
		{ "ffn_gate_exps.weight", NEED_MATRIX, { h, m, e }, &y->exp_gate },
		{ "ffn_up_exps.weight", NEED_MATRIX, { h, m, e }, &y->exp_up },
		{ "ffn_down_exps.weight", NEED_MATRIX, { m, h, e }, &y->exp_down },
	};
	int ret = TAKE(l, block, specs);

	if (!ret && c->gate_bias)
		ret = TAKE(l, block, bias);
	return ret ? ret : take_shared_expert(l, block, y);
}

static int take_layer(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	const struct tensor_spec specs[] = {
		{ "attn_norm.weight", NEED_VECTOR, { c->hidden, 1, 1 }, &y->attn_norm },
		{ "attn_output.weight", NEED_MATRIX,
		  { (uint64_t)c->n_head * c->v_dim, c->hidden, 1 }, &y->attn_out },
		{ "ffn_norm.weight", NEED_VECTOR, { c->hidden, 1, 1 }, &y->ffn_norm },
	};
	int ret = TAKE(l, block, specs);

	if (!ret)
		ret = take_query(l, block, y);
	if (!ret)
		ret = take_latent(l, block, y);
	if (ret)
		return ret;
	return block < c->n_dense ? take_dense(l, block, y) : take_moe(l, block, y);
}

static int check_mtp(struct loader *l, uint32_t block)
{
	const struct cmx_model_config *c = l->c;
	uint64_t h = c->hidden;
	struct cmx_weight none;
	struct cmx_layer layer;
	const struct tensor_spec specs[] = {
		{ "nextn.eh_proj.weight", NEED_MATRIX, { 2 * h, h, 1 }, &none },
		{ "nextn.enorm.weight", NEED_VECTOR, { h, 1, 1 }, &none },
		{ "nextn.hnorm.weight", NEED_VECTOR, { h, 1, 1 }, &none },
		{ "nextn.shared_head_norm.weight", NEED_VECTOR, { h, 1, 1 }, &none },
	};
	int ret = TAKE(l, block, specs);

	return ret ? ret : take_layer(l, block, &layer);
}

static int take_model(struct loader *l, struct cmx_model *m)
{
	const struct cmx_model_config *c = l->c;
	const struct tensor_spec embed = { "token_embd.weight", NEED_MATRIX,
		{ c->hidden, c->vocab, 1 }, &m->embed };
	const struct tensor_spec norm = { "output_norm.weight", NEED_VECTOR,
		{ c->hidden, 1, 1 }, &m->out_norm };
	const struct tensor_spec out = { "output.weight", NEED_MATRIX,
		{ c->hidden, c->vocab, 1 }, &m->out };
	int ret = take_tensor(l, embed.name, &embed);

	if (!ret)
		ret = take_tensor(l, norm.name, &norm);
	if (!ret)
		ret = take_tensor(l, out.name, &out);
	for (uint32_t i = 0; i < c->n_layer && !ret; i++)
		ret = take_layer(l, i, &m->layer[i]);
	l->keep = false;
	for (uint32_t i = 0; i < c->n_mtp && !ret; i++)
		ret = check_mtp(l, c->n_layer + i);
	return ret;
}

static int load_bytes(struct loader *l, struct cmx_die *die, struct cmx_model *m)
{
	struct cmx_upload up;
	void *base;
	int ret = cmx_die_alloc(die, CMX_PLACE_DIE, l->bytes, "weights", &base, l->err);

	if (!ret)
		ret = cmx_upload_init(&up, die, l->err);
	for (uint64_t i = 0; i < l->n_place && !ret; i++) {
		struct placement *p = &l->place[i];

		p->w->va = (char *)base + p->offset;
		ret = cmx_upload_tensor(&up, l->g, p->t, (char *)base + p->offset, l->err);
	}
	m->weight_bytes = l->bytes;
	return ret ? ret : cmx_die_finish(die, l->err);
}

int cmx_model_load(const struct cmx_gguf *g, struct cmx_die *die, struct cmx_model *m,
		   struct cmx_infer_err *err)
{
	struct loader l = { .g = g, .c = &m->cfg, .err = err, .keep = true };
	int ret;

	memset(m, 0, sizeof(*m));
	ret = cmx_model_config_read(g, &m->cfg, err);
	if (ret)
		return ret;
	m->layer = calloc(m->cfg.n_layer, sizeof(*m->layer));
	l.place = calloc(cmx_gguf_n_tensors(g) + 1, sizeof(*l.place));
	if (!m->layer || !l.place)
		ret = cmx_infer_fail(err, -ENOMEM, "no memory for the model's tensor table");
	if (!ret)
		ret = take_model(&l, m);
	if (!ret)
		ret = load_bytes(&l, die, m);
	free(l.place);
	if (ret)
		cmx_model_free(m);
	return ret;
}

void cmx_model_free(struct cmx_model *m)
{
	free(m->layer);
	m->layer = NULL;
}
