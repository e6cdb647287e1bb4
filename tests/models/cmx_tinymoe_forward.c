// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_tinymoe_forward.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EPS		1e-6
#define YARN_FACTOR	40.0
#define YARN_CONTEXT	4096.0

/* One sequence on its way; rows of tokens. */
struct pass {
	const struct tinymoe_model *m;
	const uint32_t *experts;	/* pinned, or NULL */
	uint32_t *chosen;
	uint32_t n;
	uint32_t layer;
	uint32_t token;
	double *x, *h, *q, *q_a, *kv, *heads, *mid, *up, *y;
};

static void round_plain(enum tinymoe_type type, struct tinymoe_values *v, uint64_t n, double *w)
{
	for (uint64_t i = 0; i < n; i += TINYMOE_BLOCK) {
		uint32_t part = n - i < TINYMOE_BLOCK ? (uint32_t)(n - i) : TINYMOE_BLOCK;
		uint8_t bytes[TINYMOE_BLOCK * 4];
		float x[TINYMOE_BLOCK];

		for (uint32_t j = 0; j < part; j++)
			x[j] = tinymoe_value(v, i + j);
		tinymoe_store(type, x, part, bytes);
		tinymoe_restore(type, bytes, part, w + i);
	}
}

/* FP8 with a scale for each block of a matrix; what is loaded is the product as BF16. */
static void round_fp8(const struct tinymoe_tensor *t, double *w)
{
	uint64_t cols = t->dims[t->n_dims - 1], rows = t->dims[t->n_dims - 2];
	uint64_t wide = (cols + TINYMOE_FP8_BLOCK - 1) / TINYMOE_FP8_BLOCK, n = rows * cols;
	float *scale = calloc((rows + TINYMOE_FP8_BLOCK) * wide, sizeof(*scale));

	for (uint64_t i = 0; i < n; i++) {
		float *s = &scale[i / cols / TINYMOE_FP8_BLOCK * wide +
				  i % cols / TINYMOE_FP8_BLOCK];

		*s = fmaxf(*s, fabsf((float)w[i]) / 448);
	}
	for (uint64_t i = 0; i < n; i++) {
		float s = scale[i / cols / TINYMOE_FP8_BLOCK * wide +
				i % cols / TINYMOE_FP8_BLOCK];
		double q = tinymoe_from_fp8(tinymoe_to_fp8((float)w[i] / s));

		w[i] = tinymoe_to_bf16_float((float)q * s);
	}
	free(scale);
}

static double *make_weights(const struct tinymoe_preset *p, const struct tinymoe_tensor *t,
			    enum tinymoe_type type, uint64_t seed)
{
	uint64_t n = tinymoe_count(t), experts = t->layout == TINYMOE_EXPERTS ? t->dims[0] : 1;
	double *w = malloc(n * sizeof(*w));
	struct tinymoe_values v;

	tinymoe_values_init(&v, p, t, seed);
	if (w)
		round_plain(type == TINYMOE_FP8 ? TINYMOE_F32 : type, &v, n, w);
	for (uint64_t e = 0; w && type == TINYMOE_FP8 && e < experts; e++)
		round_fp8(t, w + e * (n / experts));
	return w;
}

int tinymoe_model_init(struct tinymoe_model *m, const struct tinymoe_preset *p,
		       enum tinymoe_type type, bool legacy, bool hf, uint64_t seed)
{
	*m = (struct tinymoe_model){ .p = p, .legacy = legacy || hf };
	m->t = tinymoe_tensors(p, m->legacy, &m->n);
	m->w = m->t ? calloc(m->n, sizeof(*m->w)) : NULL;
	for (uint32_t i = 0; m->w && i < m->n; i++) {
		enum tinymoe_type own = hf ? tinymoe_hf_type_of(&m->t[i], type) :
					     tinymoe_type_of(&m->t[i], type);

		m->w[i] = make_weights(p, &m->t[i], own, seed);
		if (!m->w[i])
			break;
	}
	if (m->w && m->w[m->n - 1])
		return 0;
	tinymoe_model_free(m);
	return -ENOMEM;
}

void tinymoe_model_free(struct tinymoe_model *m)
{
	for (uint32_t i = 0; m->w && i < m->n; i++)
		free(m->w[i]);
	free(m->w);
	free(m->t);
}

static const double *find(const struct tinymoe_model *m, const char *name)
{
	for (uint32_t i = 0; i < m->n; i++) {
		if (!strcmp(m->t[i].name, name))
			return m->w[i];
	}
	return NULL;
}

static const double *in_layer(const struct pass *s, const char *suffix)
{
	char name[64];

	snprintf(name, sizeof(name), "blk.%u.%s", s->layer, suffix);
	return find(s->m, name);
}

/* out[r] = w[r] . x */
static void multiply(const double *w, const double *x, uint64_t rows, uint64_t k, double *out)
{
	for (uint64_t r = 0; r < rows; r++) {
		double sum = 0;

		for (uint64_t i = 0; i < k; i++)
			sum += w[r * k + i] * x[i];
		out[r] = sum;
	}
}

/* With a matrix of the layer, or of one of its experts; its input may be rounded first. */
static void product(const struct pass *s, const char *suffix, uint64_t expert, const double *x,
		    uint64_t rows, uint64_t k, double *out)
{
	const struct tinymoe_model *m = s->m;
	double rounded[k];

	if (m->round) {
		m->round(m->round_arg, s->layer, suffix, expert, s->token, x, k, rounded);
		x = rounded;
	}
	multiply(in_layer(s, suffix) + expert * rows * k, x, rows, k, out);
}

static void norm(const double *x, const double *w, uint64_t n, double *out)
{
	double sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += x[i] * x[i];
	sum = 1 / sqrt(sum / (double)n + EPS);
	for (uint64_t i = 0; i < n; i++)
		out[i] = x[i] * sum * w[i];
}

static double corner(const struct tinymoe_preset *p, double turns)
{
	return p->rope * log(YARN_CONTEXT / (turns * 2 * M_PI)) / (2 * log(10000.0));
}

static double frequency(const struct tinymoe_preset *p, uint32_t i)
{
	double f = pow(10000.0, -2.0 * i / p->rope), lo, hi, ramp;

	if (!p->yarn)
		return f;
	lo = fmax(floor(corner(p, 32)), 0);
	hi = fmin(ceil(corner(p, 1)), p->rope - 1);
	ramp = fmin(fmax((i - lo) / fmax(hi - lo, 0.001), 0), 1);
	return f / YARN_FACTOR * ramp + f * (1 - ramp);
}

static void rotate(const struct tinymoe_preset *p, double *x, uint32_t pos)
{
	for (uint32_t i = 0; i < p->rope / 2; i++) {
		double a = x[2 * i], b = x[2 * i + 1], w = pos * frequency(p, i);

		x[2 * i] = a * cos(w) - b * sin(w);
		x[2 * i + 1] = a * sin(w) + b * cos(w);
	}
}

static double score_scale(const struct tinymoe_preset *p)
{
	double m = p->yarn ? 0.1 * p->mscale * log(YARN_FACTOR) + 1 : 1;

	return m * m / sqrt(p->nope + p->rope);
}

static void project(struct pass *s, uint32_t t)
{
	const struct tinymoe_preset *p = s->m->p;
	uint32_t qk = p->nope + p->rope, row = p->kv_lora + p->rope;
	double *q = s->q + (uint64_t)t * p->heads * qk, *kv = s->kv + (uint64_t)t * row;
	const double *h = s->h;

	s->token = t;
	if (p->q_lora) {
		product(s, "attn_q_a.weight", 0, h, p->q_lora, p->hidden, s->q_a);
		norm(s->q_a, in_layer(s, "attn_q_a_norm.weight"), p->q_lora, s->q_a);
		product(s, "attn_q_b.weight", 0, s->q_a, p->heads * qk, p->q_lora, q);
	} else {
		product(s, "attn_q.weight", 0, h, p->heads * qk, p->hidden, q);
	}
	for (uint32_t i = 0; i < p->heads; i++)
		rotate(p, q + i * qk + p->nope, t);
	product(s, "attn_kv_a_mqa.weight", 0, h, row, p->hidden, kv);
	norm(kv, in_layer(s, "attn_kv_a_norm.weight"), p->kv_lora, kv);
	rotate(p, kv + p->kv_lora, t);
}

/* Element @r of a head's key, or with @value of its value, at the position of @kv. */
static double expand(const struct pass *s, uint32_t head, uint32_t r, bool value, const double *kv)
{
	const struct tinymoe_preset *p = s->m->p;
	uint64_t lora = p->kv_lora, step = 1;
	const double *w;
	double sum = 0;

	if (s->m->legacy) {
		w = in_layer(s, "attn_kv_b.weight") +
		    ((uint64_t)head * (p->nope + p->v) + (value ? p->nope : 0) + r) * lora;
	} else if (value) {
		w = in_layer(s, "attn_v_b.weight") + ((uint64_t)head * p->v + r) * lora;
	} else {
		w = in_layer(s, "attn_k_b.weight") + (uint64_t)head * lora * p->nope + r;
		step = p->nope;
	}
	for (uint64_t i = 0; i < lora; i++)
		sum += w[i * step] * kv[i];
	return sum;
}

/* Keys and values of one head: [position][nope + v] */
static void expand_head(const struct pass *s, uint32_t head, double *kv)
{
	const struct tinymoe_preset *p = s->m->p;
	uint32_t wide = p->nope + p->v;

	for (uint32_t t = 0; t < s->n; t++) {
		const double *row = s->kv + (uint64_t)t * (p->kv_lora + p->rope);

		for (uint32_t r = 0; r < p->nope; r++)
			kv[t * wide + r] = expand(s, head, r, false, row);
		for (uint32_t r = 0; r < p->v; r++)
			kv[t * wide + p->nope + r] = expand(s, head, r, true, row);
	}
}

static void attend(const struct pass *s, uint32_t head, uint32_t t, const double *kv)
{
	const struct tinymoe_preset *p = s->m->p;
	uint32_t qk = p->nope + p->rope, wide = p->nope + p->v;
	const double *q = s->q + ((uint64_t)t * p->heads + head) * qk;
	double *out = s->heads + ((uint64_t)t * p->heads + head) * p->v;
	double score[t + 1], top = -INFINITY, sum = 0;

	for (uint32_t u = 0; u <= t; u++) {
		const double *pe = s->kv + (uint64_t)u * (p->kv_lora + p->rope) + p->kv_lora;

		score[u] = 0;
		for (uint32_t i = 0; i < p->nope; i++)
			score[u] += q[i] * kv[u * wide + i];
		for (uint32_t i = 0; i < p->rope; i++)
			score[u] += q[p->nope + i] * pe[i];
		score[u] *= score_scale(p);
		top = fmax(top, score[u]);
	}
	memset(out, 0, p->v * sizeof(*out));
	for (uint32_t u = 0; u <= t; u++) {
		double e = exp(score[u] - top);

		sum += e;
		for (uint32_t i = 0; i < p->v; i++)
			out[i] += e * kv[u * wide + p->nope + i];
	}
	for (uint32_t i = 0; i < p->v; i++)
		out[i] /= sum;
}

static void attention(struct pass *s)
{
	const struct tinymoe_preset *p = s->m->p;
	double kv[s->n * (p->nope + p->v)], out[p->hidden];

	for (uint32_t t = 0; t < s->n; t++) {
		norm(s->x + t * p->hidden, in_layer(s, "attn_norm.weight"), p->hidden, s->h);
		project(s, t);
	}
	for (uint32_t head = 0; head < p->heads; head++) {
		expand_head(s, head, kv);
		for (uint32_t t = 0; t < s->n; t++)
			attend(s, head, t, kv);
	}
	for (uint32_t t = 0; t < s->n; t++) {
		s->token = t;
		product(s, "attn_output.weight", 0, s->heads + t * p->heads * p->v, p->hidden,
			p->heads * p->v, out);
		for (uint32_t i = 0; i < p->hidden; i++)
			s->x[t * p->hidden + i] += out[i];
	}
}

/* x += factor * down(silu(gate h) * up h) */
static void feed(struct pass *s, const char *suffix, uint64_t expert, uint64_t width, double factor,
		 double *x)
{
	uint64_t h = s->m->p->hidden;
	char name[40];

	snprintf(name, sizeof(name), "ffn_gate%s.weight", suffix);
	product(s, name, expert, s->h, width, h, s->mid);
	snprintf(name, sizeof(name), "ffn_up%s.weight", suffix);
	product(s, name, expert, s->h, width, h, s->up);
	for (uint64_t i = 0; i < width; i++)
		s->mid[i] = s->mid[i] / (1 + exp(-s->mid[i])) * s->up[i];
	snprintf(name, sizeof(name), "ffn_down%s.weight", suffix);
	product(s, name, expert, s->mid, h, width, s->y);
	if (s->m->settle && !strcmp(suffix, "_exps"))
		s->m->settle(s->m->round_arg, s->layer, expert, s->token, s->y, h);
	for (uint64_t i = 0; i < h; i++)
		x[i] += factor * s->y[i];
}

static uint32_t best(const double *s, uint32_t n)
{
	uint32_t b = 0;

	for (uint32_t i = 1; i < n; i++)
		b = s[i] > s[b] ? i : b;
	return b;
}

/* Of a group: its best score, or with a bias the sum of its two best. */
static double group_score(const struct tinymoe_preset *p, const double *s, uint32_t size)
{
	uint32_t first = best(s, size);
	double second = -INFINITY;

	for (uint32_t i = 0; i < size; i++) {
		if (i != first)
			second = fmax(second, s[i]);
	}
	return p->sigmoid ? s[first] + second : s[first];
}

static void drop_groups(const struct tinymoe_preset *p, double *pick)
{
	uint32_t size = p->experts / p->groups;
	double score[p->groups];

	for (uint32_t g = 0; g < p->groups; g++)
		score[g] = group_score(p, pick + g * size, size);
	for (uint32_t i = 0; i < p->groups_used; i++)
		score[best(score, p->groups)] = -INFINITY;
	for (uint32_t e = 0; e < p->experts; e++) {
		/* Those that were chosen are the ones marked. */
		if (score[e / size] != -INFINITY)
			pick[e] = -INFINITY;
	}
}

static void probabilities(const struct tinymoe_preset *p, double *s)
{
	double top = s[best(s, p->experts)], sum = 0;

	for (uint32_t e = 0; e < p->experts; e++) {
		s[e] = p->sigmoid ? 1 / (1 + exp(-s[e])) : exp(s[e] - top);
		sum += s[e];
	}
	for (uint32_t e = 0; e < p->experts && !p->sigmoid; e++)
		s[e] /= sum;
}

static void choose(const struct pass *s, const double *prob, uint32_t *ids)
{
	const struct tinymoe_preset *p = s->m->p;
	const double *bias = in_layer(s, "exp_probs_b.bias");
	double pick[p->experts];

	for (uint32_t e = 0; e < p->experts; e++)
		pick[e] = prob[e] + (bias ? bias[e] : 0);
	if (p->groups > 1)
		drop_groups(p, pick);
	for (uint32_t j = 0; j < p->top_k; j++) {
		ids[j] = best(pick, p->experts);
		pick[ids[j]] = -INFINITY;
	}
}

static void experts(struct pass *s, uint32_t t, double *x)
{
	const struct tinymoe_preset *p = s->m->p;
	uint64_t at = ((uint64_t)(s->layer - p->dense) * s->n + t) * p->top_k;
	double prob[p->experts], sum = 0;
	uint32_t ids[p->top_k];

	multiply(in_layer(s, "ffn_gate_inp.weight"), s->h, p->experts, p->hidden, prob);
	probabilities(p, prob);
	if (s->experts)
		memcpy(ids, s->experts + at, sizeof(ids));
	else
		choose(s, prob, ids);
	if (s->chosen)
		memcpy(s->chosen + at, ids, sizeof(ids));
	for (uint32_t j = 0; j < p->top_k; j++)
		sum += prob[ids[j]];
	for (uint32_t j = 0; j < p->top_k; j++)
		feed(s, "_exps", ids[j], p->moe_inter,
		     prob[ids[j]] * (double)p->scale / (p->norm ? sum : 1), x);
	feed(s, "_shexp", 0, (uint64_t)p->moe_inter * p->shared, 1, x);
}

static void layer(struct pass *s)
{
	const struct tinymoe_preset *p = s->m->p;

	attention(s);
	for (uint32_t t = 0; t < s->n; t++) {
		double *x = s->x + t * p->hidden;

		s->token = t;
		norm(x, in_layer(s, "ffn_norm.weight"), p->hidden, s->h);
		if (s->layer < p->dense)
			feed(s, "", 0, p->inter, 1, x);
		else
			experts(s, t, x);
	}
}

/* One block of memory for all rows. */
static double *split(struct pass *s)
{
	const struct tinymoe_preset *p = s->m->p;
	uint64_t n = s->n, wide = p->inter + (uint64_t)p->moe_inter * (p->shared + 1);
	uint64_t q = n * p->heads * (p->nope + p->rope), kv = n * (p->kv_lora + p->rope);
	double *all = calloc((n + 2) * p->hidden + q + p->q_lora + kv + n * p->heads * p->v +
			     2 * wide, sizeof(*all));

	s->x = all;
	s->h = s->x + n * p->hidden;
	s->y = s->h + p->hidden;
	s->q = s->y + p->hidden;
	s->q_a = s->q + q;
	s->kv = s->q_a + p->q_lora;
	s->heads = s->kv + kv;
	s->mid = s->heads + n * p->heads * p->v;
	s->up = s->mid + wide;
	return all;
}

/* All layers; the rows of s->x become the hidden states, or with @normed those behind a norm. */
static void run_layers(struct pass *s, const uint32_t *ids, bool normed)
{
	const struct tinymoe_preset *p = s->m->p;
	const double *embed = find(s->m, "token_embd.weight");

	for (uint32_t t = 0; t < s->n; t++)
		memcpy(s->x + t * p->hidden, embed + (uint64_t)ids[t] * p->hidden,
		       p->hidden * sizeof(double));
	for (; s->layer < p->layers; s->layer++)
		layer(s);
	for (uint32_t t = 0; t < s->n && normed; t++)
		norm(s->x + t * p->hidden, find(s->m, "output_norm.weight"), p->hidden,
		     s->x + t * p->hidden);
}

int tinymoe_forward(const struct tinymoe_model *m, const uint32_t *ids, uint32_t n,
		    const uint32_t *experts, uint32_t *chosen, double *logits)
{
	const struct tinymoe_preset *p = m->p;
	struct pass s = { .m = m, .experts = experts, .chosen = chosen, .n = n };
	double *all = split(&s);

	if (!all)
		return -ENOMEM;
	run_layers(&s, ids, true);
	for (uint32_t t = 0; t < n; t++)
		multiply(find(m, "output.weight"), s.x + t * p->hidden, p->vocab, p->hidden,
			 logits + (uint64_t)t * p->vocab);
	free(all);
	return 0;
}

/* A tensor of the MTP block, or if that has none, of the whole model. */
static const double *own_or(const struct pass *s, const char *own, const char *other)
{
	const double *w = in_layer(s, own);

	return w ? w : find(s->m, other);
}

/* Joins each hidden state with the token behind it; the layer is the MTP block's already. */
static void join(struct pass *s, const uint32_t *next)
{
	const struct tinymoe_preset *p = s->m->p;
	const double *embed = own_or(s, "nextn.embed_tokens.weight", "token_embd.weight");
	double both[2 * p->hidden];

	for (uint32_t t = 0; t < s->n; t++) {
		double *x = s->x + t * p->hidden;

		norm(embed + (uint64_t)next[t] * p->hidden, in_layer(s, "nextn.enorm.weight"),
		     p->hidden, both);
		norm(x, in_layer(s, "nextn.hnorm.weight"), p->hidden, both + p->hidden);
		multiply(in_layer(s, "nextn.eh_proj.weight"), both, p->hidden, 2 * p->hidden, x);
	}
}

int tinymoe_mtp(const struct tinymoe_model *m, const uint32_t *ids, uint32_t n, bool normed,
		double *logits)
{
	const struct tinymoe_preset *p = m->p;
	struct pass s = { .m = m, .n = n - 1 };
	double *all = split(&s);

	if (!all)
		return -ENOMEM;
	run_layers(&s, ids, normed);
	join(&s, ids + 1);
	layer(&s);
	for (uint32_t t = 0; t < s.n; t++) {
		norm(s.x + t * p->hidden, in_layer(&s, "nextn.shared_head_norm.weight"),
		     p->hidden, s.h);
		multiply(own_or(&s, "nextn.shared_head_head.weight", "output.weight"), s.h,
			 p->vocab, p->hidden, logits + (uint64_t)t * p->vocab);
	}
	free(all);
	return 0;
}
