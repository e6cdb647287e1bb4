// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_load_room.h"
#include "cmx_upload.h"

/* Tensors start at multiples of this in the die's memory. */
#define WEIGHT_ALIGN	256u

#define VECTOR	true		/* F32: norms, router, bias */
#define MATRIX	false		/* any type */

struct tensor_spec {
	struct cmx_tensor_need need;
	struct cmx_weight *w;
};

/* Where a piece of a tensor goes. */
struct placement {
	struct cmx_piece piece;
	struct cmx_layout layout;
	bool packed;
	struct cmx_weight *w;	/* NULL: not the first piece */
	uint64_t offset;
};

struct loader {
	const struct cmx_source *src;
	const struct cmx_model_config *c;
	struct placement *place;
	uint64_t n_place;
	uint64_t max_place;
	uint64_t bytes;		/* on the die */
	uint64_t stored;	/* in the files */
	struct cmx_infer_err *err;
	bool keep;		/* false: check only, for MTP blocks that are not used */
	const int32_t *experts;	/* of the die; NULL: all */
	uint32_t n_experts;
	/* Of the tensors that are being taken. */
	bool table;		/* rows are looked up: not packed */
	bool slice;		/* a matrix for each expert: those of the die */
	uint32_t groups[2];	/* packed apart in turn; zeros: the rows of dims[1] */
};

static int grow(struct loader *l, uint32_t pieces)
{
	uint64_t max = l->max_place ? l->max_place : 64;
	struct placement *p;

	while (max < l->n_place + pieces)
		max *= 2;
	if (max == l->max_place)
		return 0;
	p = realloc(l->place, max * sizeof(*p));
	if (!p)
		return cmx_infer_fail(l->err, -ENOMEM, "no memory for the model's tensor table");
	l->place = p;
	l->max_place = max;
	return 0;
}

/* What is multiplied with is packed. */
static void choose_layout(const struct loader *l, const struct tensor_spec *s, uint32_t type,
			  struct placement *p)
{
	uint64_t row = cmx_tensor_bytes(type, s->need.dims[0]);

	/* INT8 comes in panels. */
	p->packed = s->need.dims[1] > 1 && !l->table && !p->piece.i8;
	if (!p->packed)
		return;
	p->layout = (struct cmx_layout){
		.type = type, .k = (uint32_t)s->need.dims[0],
		.rows = { l->groups[0] ? l->groups[0] : (uint32_t)s->need.dims[1], l->groups[1] },
	};
	p->piece.die_size = cmx_layout_bytes(&p->layout, p->piece.die_size / row);
}

/* Piece @i of the tensor as the die takes it: of experts, the @i-th one that it has. */
static int find_piece(const struct loader *l, uint32_t block, const struct tensor_spec *s,
		      const struct cmx_tensor_found *f, uint32_t i, struct cmx_piece *piece)
{
	uint32_t n = (uint32_t)s->need.dims[2], e;
	int ret;

	if (!l->slice)
		return cmx_source_piece(l->src, block, &s->need, i, piece, l->err);
	e = (uint32_t)l->experts[i];
	ret = cmx_source_piece(l->src, block, &s->need, f->n_pieces == n ? e : 0, piece, l->err);
	if (!ret && f->n_pieces != n)
		cmx_piece_slice(piece, e, n);
	return ret;
}

static int place_tensor(struct loader *l, uint32_t block, const struct tensor_spec *s,
			const struct cmx_tensor_found *f)
{
	uint32_t n_pieces = l->slice ? l->n_experts : f->n_pieces;
	uint64_t offset = l->bytes;
	int ret = grow(l, n_pieces);

	for (uint32_t i = 0; i < n_pieces && !ret; i++) {
		struct placement *p = &l->place[l->n_place];

		ret = find_piece(l, block, s, f, i, &p->piece);
		if (ret)
			break;
		choose_layout(l, s, f->type, p);
		p->w = i ? NULL : s->w;
		p->offset = offset;
		offset += p->piece.die_size;
		l->stored += p->piece.size;
		l->n_place++;
	}
	l->bytes = (offset + WEIGHT_ALIGN - 1) / WEIGHT_ALIGN * WEIGHT_ALIGN;
	s->w->type = f->type;
	return ret;
}

static int take_tensor(struct loader *l, uint32_t block, const struct tensor_spec *s)
{
	struct cmx_tensor_found f;
	int ret = cmx_source_find(l->src, block, &s->need, &f, l->err);

	return ret || !l->keep ? ret : place_tensor(l, block, s, &f);
}

static int take_block(struct loader *l, uint32_t block, const struct tensor_spec *s, size_t n)
{
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++)
		ret = take_tensor(l, block, &s[i]);
	return ret;
}

#define TAKE(l, block, specs) take_block(l, block, specs, sizeof(specs) / sizeof((specs)[0]))

static int take_query(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	uint64_t width = (uint64_t)c->n_head * cmx_model_qk(c);
	const struct tensor_spec lite[] = {
		{ { "attn_q.weight", "self_attn.q_proj.weight", MATRIX,
		    { c->hidden, width, 1 } }, &y->q },
	};
	const struct tensor_spec lora[] = {
		{ { "attn_q_a.weight", "self_attn.q_a_proj.weight", MATRIX,
		    { c->hidden, c->q_lora, 1 } }, &y->q_a },
		{ { "attn_q_a_norm.weight", "self_attn.q_a_layernorm.weight", VECTOR,
		    { c->q_lora, 1, 1 } }, &y->q_a_norm },
		{ { "attn_q_b.weight", "self_attn.q_b_proj.weight", MATRIX,
		    { c->q_lora, width, 1 } }, &y->q_b },
	};

	return c->q_lora ? TAKE(l, block, lora) : TAKE(l, block, lite);
}

static int take_latent(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	uint64_t width = (uint64_t)c->n_head * (c->nope + c->v_dim);
	const struct tensor_spec shared[] = {
		{ { "attn_kv_a_mqa.weight", "self_attn.kv_a_proj_with_mqa.weight", MATRIX,
		    { c->hidden, cmx_model_kv_row(c), 1 } }, &y->kv_a },
		{ { "attn_kv_a_norm.weight", "self_attn.kv_a_layernorm.weight", VECTOR,
		    { c->kv_lora, 1, 1 } }, &y->kv_a_norm },
	};
	const struct tensor_spec legacy[] = {
		{ { "attn_kv_b.weight", "self_attn.kv_b_proj.weight", MATRIX,
		    { c->kv_lora, width, 1 } }, &y->kv_b },
	};
	const struct tensor_spec split[] = {
		{ { "attn_k_b.weight", NULL, MATRIX,
		    { c->nope, c->kv_lora, c->n_head } }, &y->k_b },
		{ { "attn_v_b.weight", NULL, MATRIX,
		    { c->kv_lora, c->v_dim, c->n_head } }, &y->v_b },
	};
	int ret = TAKE(l, block, shared);

	if (ret)
		return ret;
	if (c->split_mla)
		return TAKE(l, block, split);
	l->groups[0] = c->nope;
	l->groups[1] = c->v_dim;
	ret = TAKE(l, block, legacy);
	l->groups[0] = 0;
	l->groups[1] = 0;
	return ret;
}

static int take_dense(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	const struct tensor_spec specs[] = {
		{ { "ffn_gate.weight", "mlp.gate_proj.weight", MATRIX,
		    { c->hidden, c->inter, 1 } }, &y->gate },
		{ { "ffn_up.weight", "mlp.up_proj.weight", MATRIX,
		    { c->hidden, c->inter, 1 } }, &y->up },
		{ { "ffn_down.weight", "mlp.down_proj.weight", MATRIX,
		    { c->inter, c->hidden, 1 } }, &y->down },
	};

	return TAKE(l, block, specs);
}

static int take_shared_expert(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	uint64_t width = (uint64_t)c->n_shared * c->moe_inter;
	const struct tensor_spec specs[] = {
		{ { "ffn_gate_shexp.weight", "mlp.shared_experts.gate_proj.weight", MATRIX,
		    { c->hidden, width, 1 } }, &y->sh_gate },
		{ { "ffn_up_shexp.weight", "mlp.shared_experts.up_proj.weight", MATRIX,
		    { c->hidden, width, 1 } }, &y->sh_up },
		{ { "ffn_down_shexp.weight", "mlp.shared_experts.down_proj.weight", MATRIX,
		    { width, c->hidden, 1 } }, &y->sh_down },
	};

	return c->n_shared ? TAKE(l, block, specs) : 0;
}

static int take_moe(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	uint64_t h = c->hidden, m = c->moe_inter, e = c->n_expert;
	const struct tensor_spec bias[] = {
		{ { "exp_probs_b.bias", "mlp.gate.e_score_correction_bias", VECTOR,
		    { e, 1, 1 } }, &y->bias },
	};
	const struct tensor_spec specs[] = {
		{ { "ffn_gate_inp.weight", "mlp.gate.weight", VECTOR, { h, e, 1 } }, &y->router },
	};
	const struct tensor_spec experts[] = {
		{ { "ffn_gate_exps.weight", "mlp.experts.%u.gate_proj.weight", MATRIX,
		    { h, m, e } }, &y->exp_gate },
		{ { "ffn_up_exps.weight", "mlp.experts.%u.up_proj.weight", MATRIX,
		    { h, m, e } }, &y->exp_up },
		{ { "ffn_down_exps.weight", "mlp.experts.%u.down_proj.weight", MATRIX,
		    { m, h, e } }, &y->exp_down },
	};
	int ret = TAKE(l, block, specs);

	l->slice = l->experts;
	if (!ret)
		ret = TAKE(l, block, experts);
	l->slice = false;
	if (!ret && c->gate_bias)
		ret = TAKE(l, block, bias);
	return ret ? ret : take_shared_expert(l, block, y);
}

static int take_layer(struct loader *l, uint32_t block, struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	const struct tensor_spec specs[] = {
		{ { "attn_norm.weight", "input_layernorm.weight", VECTOR,
		    { c->hidden, 1, 1 } }, &y->attn_norm },
		{ { "attn_output.weight", "self_attn.o_proj.weight", MATRIX,
		    { (uint64_t)c->n_head * c->v_dim, c->hidden, 1 } }, &y->attn_out },
		{ { "ffn_norm.weight", "post_attention_layernorm.weight", VECTOR,
		    { c->hidden, 1, 1 } }, &y->ffn_norm },
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

/* Embedding and head, if the block has its own. */
static int take_mtp_ends(struct loader *l, uint32_t block, struct cmx_mtp_weights *w)
{
	const struct cmx_model_config *c = l->c;
	const struct tensor_spec specs[] = {
		{ { "nextn.embed_tokens.weight", "embed_tokens.weight", MATRIX,
		    { c->hidden, c->vocab, 1 } }, &w->embed },
		{ { "nextn.shared_head_head.weight", "shared_head.head.weight", MATRIX,
		    { c->hidden, c->vocab, 1 } }, &w->head },
	};
	int ret = 0;

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]) && !ret; i++) {
		l->table = specs[i].w == &w->embed;
		if (cmx_source_has(l->src, block, &specs[i].need))
			ret = take_tensor(l, block, &specs[i]);
	}
	l->table = false;
	return ret;
}

static int take_mtp(struct loader *l, uint32_t block, struct cmx_mtp_weights *w,
		    struct cmx_layer *y)
{
	const struct cmx_model_config *c = l->c;
	uint64_t h = c->hidden;
	const struct tensor_spec specs[] = {
		{ { "nextn.eh_proj.weight", "eh_proj.weight", MATRIX, { 2 * h, h, 1 } },
		  &w->eh_proj },
		{ { "nextn.enorm.weight", "enorm.weight", VECTOR, { h, 1, 1 } }, &w->enorm },
		{ { "nextn.hnorm.weight", "hnorm.weight", VECTOR, { h, 1, 1 } }, &w->hnorm },
		{ { "nextn.shared_head_norm.weight", "shared_head.norm.weight", VECTOR,
		    { h, 1, 1 } }, &w->head_norm },
	};
	int ret = TAKE(l, block, specs);

	if (!ret)
		ret = take_mtp_ends(l, block, w);
	return ret ? ret : take_layer(l, block, y);
}

/* The first block makes drafts, if it is wanted; the others are only checked. */
static int take_mtp_blocks(struct loader *l, struct cmx_model *m)
{
	struct cmx_mtp_weights unused;
	struct cmx_layer layer;
	int ret = 0;

	for (uint32_t i = 0; i < l->c->n_mtp && !ret; i++) {
		l->keep = m->has_mtp && !i;
		if (l->keep)
			ret = take_mtp(l, l->c->n_layer, &m->mtp, &m->layer[l->c->n_layer]);
		else
			ret = take_mtp(l, l->c->n_layer + i, &unused, &layer);
	}
	return ret;
}

static int take_model(struct loader *l, struct cmx_model *m)
{
	const struct cmx_model_config *c = l->c;
	const struct tensor_spec table[] = {
		{ { "token_embd.weight", "model.embed_tokens.weight", MATRIX,
		    { c->hidden, c->vocab, 1 } }, &m->embed },
	};
	const struct tensor_spec ends[] = {
		{ { "output_norm.weight", "model.norm.weight", VECTOR, { c->hidden, 1, 1 } },
		  &m->out_norm },
		{ { "output.weight", "lm_head.weight", MATRIX, { c->hidden, c->vocab, 1 } },
		  &m->out },
	};
	int ret;

	l->table = true;
	ret = TAKE(l, CMX_NO_BLOCK, table);
	l->table = false;
	if (!ret)
		ret = TAKE(l, CMX_NO_BLOCK, ends);
	for (uint32_t i = 0; i < c->n_layer && !ret; i++)
		ret = take_layer(l, i, &m->layer[i]);
	return ret ? ret : take_mtp_blocks(l, m);
}

struct progress {
	const struct cmx_load_options *opt;
	uint64_t total;
};

static void pass_on(void *ctx, uint64_t done)
{
	const struct progress *p = ctx;

	p->opt->progress(p->opt->progress_ctx, done, p->total);
}

/* Room on the die, and where in it each tensor is. */
static int make_room(struct loader *l, struct cmx_die *die, char **base)
{
	void *va = NULL;
	int ret = cmx_die_alloc(die, CMX_PLACE_DIE, l->bytes, "weights", &va, l->err);

	*base = va;
	for (uint64_t i = 0; i < l->n_place && !ret; i++) {
		if (l->place[i].w)
			l->place[i].w->va = *base + l->place[i].offset;
	}
	return ret;
}

static int load_bytes(struct loader *l, struct cmx_die *die, const struct cmx_load_options *opt)
{
	struct progress progress = { opt, l->stored };
	struct cmx_upload up = { 0 };
	char *base;
	int ret = make_room(l, die, &base);

	if (ret || !cmx_source_has_bytes(l->src))
		return ret;
	ret = cmx_upload_init(&up, die, l->err);
	if (opt->progress) {
		up.progress = pass_on;
		up.progress_ctx = &progress;
	}
	for (uint64_t i = 0; i < l->n_place && !ret; i++) {
		struct placement *p = &l->place[i];

		ret = cmx_upload_piece(&up, &p->piece, p->packed ? &p->layout : NULL,
				       base + p->offset, l->err);
	}
	if (!ret)
		ret = cmx_die_finish(die, l->err);
	cmx_upload_fini(&up);
	cmx_source_drop(l->src);
	return ret;
}

/* What the MTP block has not of its own is the main model's. */
static void share_ends(struct cmx_model *m)
{
	if (!m->mtp.embed.va)
		m->mtp.embed = m->embed;
	if (!m->mtp.head.va)
		m->mtp.head = m->out;
}

static int start_model(struct cmx_model *m, const struct cmx_source *src, bool mtp,
		       struct cmx_infer_err *err)
{
	memset(m, 0, sizeof(*m));
	m->cfg = *cmx_source_config(src);
	m->has_mtp = mtp;
	if (mtp && !m->cfg.n_mtp)
		return cmx_infer_fail(err, -EINVAL, "the model has no MTP block");
	m->layer = calloc(m->cfg.n_layer + mtp, sizeof(*m->layer));
	if (!m->layer)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %u layers", m->cfg.n_layer);
	return 0;
}

int cmx_model_load(const struct cmx_source *src, struct cmx_die *die,
		   const struct cmx_load_options *opt, struct cmx_model *m,
		   struct cmx_infer_err *err)
{
	struct loader l = {
		.src = src, .c = &m->cfg, .err = err, .keep = true, .experts = opt->experts,
		.n_experts = opt->n_experts,
	};
	struct cmx_load_need need = { .cache = opt->cache_bytes, .buffers = opt->buffer_bytes };
	int ret = start_model(m, src, opt->mtp, err);

	if (!ret && !cmx_source_has_bytes(src) && !cmx_die_time_only(die))
		ret = cmx_infer_fail(err, -EINVAL,
				     "the model has shapes and no weights, which is for time only");
	if (!ret)
		ret = take_model(&l, m);
	m->weight_bytes = l.bytes;
	need.weights = l.bytes;
	m->n_local = opt->experts ? opt->n_experts : m->cfg.n_expert;
	if (!ret)
		ret = cmx_load_check_room(die, &need, err);
	if (!ret)
		ret = load_bytes(&l, die, opt);
	share_ends(m);
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
