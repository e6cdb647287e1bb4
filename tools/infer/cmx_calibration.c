// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_calibration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cmx_f64math.h"
#include "kernels/cmx_lanes.h"

/* Factors stay within 2 to the power of this. */
#define MAX_EXPONENT	20

static int site_init(struct cmx_site_stats *s, uint32_t k, uint32_t n)
{
	size_t cells = (size_t)k * n;

	if (!cells)
		return 0;
	*s = (struct cmx_site_stats){ .k = k, .n = n };
	s->count = calloc(n, sizeof(*s->count));
	s->square = calloc(cells, sizeof(*s->square));
	s->max = calloc(cells, sizeof(*s->max));
	s->weight_max = calloc(cells, sizeof(*s->weight_max));
	return s->count && s->square && s->max && s->weight_max ? 0 : -ENOMEM;
}

static int layer_init(struct cmx_site_stats *s, const struct cmx_model_config *c, bool dense)
{
	int ret = site_init(&s[CMX_SITE_ATTN], c->hidden, 1);

	if (!ret)
		ret = site_init(&s[CMX_SITE_QUERY], c->q_lora, 1);
	if (!ret)
		ret = site_init(&s[CMX_SITE_HEADS], c->n_head * c->v_dim, 1);
	if (!ret)
		ret = site_init(&s[CMX_SITE_FFN], c->hidden, 1);
	if (ret)
		return ret;
	if (dense)
		return site_init(&s[CMX_SITE_DENSE], c->inter, 1);
	ret = site_init(&s[CMX_SITE_SHARED], c->n_shared * c->moe_inter, 1);
	return ret ? ret : site_init(&s[CMX_SITE_EXPERT], c->moe_inter, c->n_expert);
}

int cmx_calibration_init(struct cmx_calibration *c, const struct cmx_model *m,
			 struct cmx_die *die, struct cmx_infer_err *err)
{
	int ret = 0;

	*c = (struct cmx_calibration){ .n_layer = m->cfg.n_layer, .m = m, .die = die, .err = err };
	c->layer = calloc(c->n_layer, sizeof(*c->layer));
	for (uint32_t l = 0; l < c->n_layer && c->layer && !ret; l++)
		ret = layer_init(c->layer[l], &m->cfg, l < m->cfg.n_dense);
	if (!ret && c->layer)
		return 0;
	return cmx_infer_fail(err, -ENOMEM, "no memory for the calibration");
}

void cmx_calibration_fini(struct cmx_calibration *c)
{
	for (uint32_t l = 0; l < c->n_layer && c->layer; l++) {
		for (uint32_t i = 0; i < CMX_SITE_COUNT; i++) {
			struct cmx_site_stats *s = &c->layer[l][i];

			free(s->count);
			free(s->square);
			free(s->max);
			free(s->weight_max);
			free(s->factor);
		}
	}
	free(c->layer);
	c->layer = NULL;
}

/* @rows token rows of one expert; tokens in order, so sums do not depend on chunks. */
static void add_rows(struct cmx_site_stats *s, uint32_t expert, const float *x, uint32_t rows)
{
	double *square = s->square + (size_t)expert * s->k;
	float *max = s->max + (size_t)expert * s->k;

	for (uint32_t t = 0; t < rows; t++, x += s->k) {
		for (uint32_t i = 0; i < s->k; i++) {
			float mag = __builtin_fabsf(x[i]);

			square[i] += (double)x[i] * (double)x[i];
			max[i] = mag > max[i] ? mag : max[i];
		}
	}
	s->count[expert] += rows;
}

struct product {
	const void *w;		/* of one of the tensors that take the site's values */
	enum cmx_site site;
};

/* The site whose values are the input of the product with @w; *layer says where. */
static enum cmx_site find_site(const struct cmx_calibration *c, const void *w, uint32_t *layer)
{
	for (uint32_t l = 0; l < c->n_layer; l++) {
		const struct cmx_layer *y = &c->m->layer[l];
		const struct product p[] = {
			{ y->kv_a.va, CMX_SITE_ATTN }, { y->q_b.va, CMX_SITE_QUERY },
			{ y->attn_out.va, CMX_SITE_HEADS }, { y->gate.va, CMX_SITE_FFN },
			{ y->down.va, CMX_SITE_DENSE }, { y->exp_gate.va, CMX_SITE_FFN },
			{ y->sh_down.va, CMX_SITE_SHARED }, { y->exp_down.va, CMX_SITE_EXPERT },
		};

		*layer = l;
		for (size_t i = 0; i < sizeof(p) / sizeof(p[0]); i++) {
			if (p[i].w == w)
				return p[i].site;
		}
	}
	return CMX_SITE_NONE;
}

static int observe_rows(struct cmx_calibration *c, const void *w, const float *x, uint32_t rows)
{
	uint32_t layer;
	enum cmx_site site = find_site(c, w, &layer);
	int ret;

	if (site == CMX_SITE_NONE)
		return 0;
	/* What makes the input is on its way. */
	ret = cmx_die_finish(c->die, c->err);
	if (!ret)
		add_rows(&c->layer[layer][site], 0, x, rows);
	return ret;
}

static int observe_experts(struct cmx_calibration *c, const struct cmx_k_expert_down *a)
{
	uint32_t layer;
	int ret;

	if (find_site(c, a->w, &layer) != CMX_SITE_EXPERT)
		return 0;
	ret = cmx_die_finish(c->die, c->err);
	for (uint32_t e = 0; e < a->n_expert && !ret; e++) {
		uint32_t first = a->plan->first[e];

		add_rows(&c->layer[layer][CMX_SITE_EXPERT], e, a->x + (size_t)first * a->k,
			 a->plan->first[e + 1] - first);
	}
	return ret;
}

int cmx_calibration_observe(void *arg, enum cmx_npu_id id, const void *args)
{
	const struct cmx_k_expert_glu *experts = args;
	const struct cmx_k_matmul *matmul = args;
	const struct cmx_k_latent *latent = args;
	const struct cmx_k_glu *glu = args;

	switch (id) {
	case CMX_NPU_MATMUL:
		return observe_rows(arg, matmul->w, matmul->x, matmul->tokens);
	case CMX_NPU_LATENT:
		return observe_rows(arg, latent->w_kv, latent->x, latent->tokens);
	case CMX_NPU_GLU:
		return observe_rows(arg, glu->gate, glu->x, glu->tokens);
	case CMX_NPU_EXPERT_GLU:
		return observe_rows(arg, experts->gate, experts->x, experts->tokens);
	case CMX_NPU_EXPERT_DOWN:
		return observe_experts(arg, args);
	default:
		return 0;
	}
}

const struct cmx_site_stats *cmx_calibration_site(const struct cmx_calibration *c,
						  uint32_t block, enum cmx_site site)
{
	const struct cmx_site_stats *s;

	if (!c || block >= c->n_layer || site == CMX_SITE_NONE)
		return NULL;
	s = &c->layer[block][site];
	return s->k ? s : NULL;
}

bool cmx_calibration_importance(const struct cmx_site_stats *s, uint32_t expert, float *out)
{
	uint32_t e = s->n > 1 ? expert : 0;

	for (uint32_t i = 0; i < s->k; i++) {
		size_t at = (size_t)e * s->k + i;
		double f = s->factor ? (double)s->factor[at] : 1;

		out[i] = s->count[e] ? (float)(s->square[at] / (double)s->count[e] / (f * f)) : 0;
	}
	return s->count[e];
}

void cmx_calibration_weights(struct cmx_site_stats *s, uint32_t expert, const float *row)
{
	float *max = s->weight_max + (s->n > 1 ? (size_t)expert * s->k : 0);

	for (uint32_t i = 0; i < s->k; i++) {
		float mag = __builtin_fabsf(row[i]);

		max[i] = mag > max[i] ? mag : max[i];
	}
}

static float power_of_two(double log)
{
	double e = log / 0x1.62e42fefa39efp-1;

	if (!(e > -MAX_EXPONENT))
		return 0x1p-20f;
	if (e > MAX_EXPONENT)
		return 0x1p20f;
	return cmx_float((uint32_t)((int)(e + MAX_EXPONENT + 0.5) - MAX_EXPONENT + 127) << 23);
}

static int smooth_site(struct cmx_site_stats *s, float alpha)
{
	size_t cells = (size_t)s->k * s->n;

	s->factor = malloc(cells * sizeof(*s->factor));
	if (!s->factor)
		return -ENOMEM;
	for (size_t i = 0; i < cells; i++) {
		double x = (double)s->max[i], w = (double)s->weight_max[i];

		/* A channel that nothing passes stays as it is. */
		s->factor[i] = 1;
		if (x > 1e-30 && w > 1e-30)
			s->factor[i] = power_of_two((double)alpha * cmx_f64_log(x) -
						    (1 - (double)alpha) * cmx_f64_log(w));
	}
	return 0;
}

int cmx_calibration_smooth(struct cmx_calibration *c, float alpha)
{
	for (uint32_t l = 0; l < c->n_layer; l++) {
		for (uint32_t i = 0; i < CMX_SITE_COUNT; i++) {
			struct cmx_site_stats *s = &c->layer[l][i];

			/* The heads come out of the latent's expansion, which is left alone. */
			if (s->k && i != CMX_SITE_HEADS && smooth_site(s, alpha))
				return cmx_infer_fail(c->err, -ENOMEM,
						      "no memory for smoothing factors");
		}
	}
	return 0;
}
