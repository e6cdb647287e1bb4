// SPDX-License-Identifier: GPL-2.0-only
/* The Hugging Face side: config.json, safetensors files and their index. */
#include "cmx_tinymoe.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* One tensor of a file: one matrix, of one expert if there are many, or a matrix's scales. */
struct entry {
	const struct tinymoe_tensor *t;
	char name[128];
	enum tinymoe_type type;
	bool scales;
	uint64_t rows, cols;	/* rows 0: a vector */
	uint64_t first;		/* value of the tensor it starts with */
	uint64_t bytes;
};

struct plan {
	const struct tinymoe_preset *p;
	uint64_t seed;
	struct entry *e;
	uint64_t n;
	const char *folder;
	uint32_t shards;
};

static uint64_t blocks(uint64_t n)
{
	return (n + TINYMOE_FP8_BLOCK - 1) / TINYMOE_FP8_BLOCK;
}

static void add_scales(struct plan *p, const struct entry *matrix)
{
	struct entry *s = &p->e[p->n++];

	*s = *matrix;
	s->scales = true;
	s->type = TINYMOE_F32;
	strncat(s->name, "_scale_inv", sizeof(s->name) - strlen(s->name) - 1);
	s->rows = blocks(matrix->rows);
	s->cols = blocks(matrix->cols);
	s->bytes = s->rows * s->cols * 4;
}

static void add_entry(struct plan *p, const struct tinymoe_tensor *t, uint64_t expert,
		      enum tinymoe_type type)
{
	const char *at = strstr(t->source, "%u");
	struct entry *e = &p->e[p->n++];
	uint32_t d = t->n_dims;

	*e = (struct entry){ .t = t, .type = tinymoe_hf_type_of(t, type) };
	e->cols = t->dims[d - 1];
	e->rows = d > 1 ? t->dims[d - 2] : 0;
	e->first = expert * e->rows * e->cols;
	if (at)
		snprintf(e->name, sizeof(e->name), "%.*s%u%s", (int)(at - t->source), t->source,
			 (unsigned int)expert, at + 2);
	else
		snprintf(e->name, sizeof(e->name), "%s", t->source);
	e->bytes = (e->rows ? e->rows : 1) * e->cols * tinymoe_bytes(e->type, 1);
	if (e->type == TINYMOE_FP8)
		add_scales(p, e);
}

/* Unsplit attention: the folder has kv_b_proj as it is. */
static int make_plan(struct plan *p, const struct tinymoe_tensor *t, uint32_t n,
		     enum tinymoe_type type)
{
	p->e = calloc(2ull * n * (p->p->experts + 1), sizeof(*p->e));
	if (!p->e)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t count = t[i].layout == TINYMOE_EXPERTS ? t[i].dims[0] : 1;

		for (uint64_t e = 0; e < count; e++)
			add_entry(p, &t[i], e, type);
	}
	return 0;
}

static const char *dtype_name(enum tinymoe_type type)
{
	switch (type) {
	case TINYMOE_F32:
		return "F32";
	case TINYMOE_F16:
		return "F16";
	case TINYMOE_BF16:
		return "BF16";
	default:
		return "F8_E4M3";
	}
}

/* Shards take turns, so that neighbours are in different files. */
static uint32_t shard_of(const struct plan *p, uint64_t i)
{
	return (uint32_t)(i % p->shards);
}

static void file_name(const struct plan *p, uint32_t shard, char *out, size_t size)
{
	if (p->shards == 1)
		snprintf(out, size, "model.safetensors");
	else
		snprintf(out, size, "model-%05u-of-%05u.safetensors", shard + 1, p->shards);
}

static FILE *open_in(const struct plan *p, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", p->folder, name);
	return fopen(path, "we");
}

static int write_header(const struct plan *p, uint32_t shard, FILE *f)
{
	uint64_t size = 0, at = 0;
	char *text = NULL;
	FILE *m = open_memstream(&text, &(size_t){ 0 });

	if (!m)
		return -ENOMEM;
	fputs("{\"__metadata__\":{\"format\":\"pt\"}", m);
	for (uint64_t i = 0; i < p->n; i++) {
		const struct entry *e = &p->e[i];

		if (shard_of(p, i) != shard)
			continue;
		fprintf(m, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", e->name, dtype_name(e->type));
		if (e->rows)
			fprintf(m, "%llu,", (unsigned long long)e->rows);
		fprintf(m, "%llu],\"data_offsets\":[%llu,%llu]}", (unsigned long long)e->cols,
			(unsigned long long)at, (unsigned long long)(at + e->bytes));
		at += e->bytes;
	}
	fputs("}", m);
	while (ftell(m) % 8)
		fputc(' ', m);
	size = (uint64_t)ftell(m);
	fclose(m);
	fwrite(&size, sizeof(size), 1, f);
	fwrite(text, 1, size, f);
	free(text);
	return ferror(f) ? -EIO : 0;
}

/* The largest value of a block of the matrix becomes the largest FP8 number. */
static float *matrix_scales(const float *x, uint64_t rows, uint64_t cols)
{
	uint64_t wide = blocks(cols);
	float *s = calloc(blocks(rows) * wide, sizeof(*s));

	for (uint64_t i = 0; s && i < rows * cols; i++) {
		float *at = &s[i / cols / TINYMOE_FP8_BLOCK * wide + i % cols / TINYMOE_FP8_BLOCK];

		*at = fmaxf(*at, fabsf(x[i]) / 448);
	}
	return s;
}

static float *entry_values(const struct plan *p, const struct entry *e, uint64_t n)
{
	struct tinymoe_values v;
	float *x = malloc(n * sizeof(*x));

	tinymoe_values_init(&v, p->p, e->t, p->seed);
	for (uint64_t i = 0; x && i < n; i++)
		x[i] = tinymoe_value(&v, e->first + i);
	return x;
}

static int write_values(const struct entry *e, const float *x, const float *scale, uint64_t n,
			FILE *f)
{
	uint64_t wide = blocks(e->cols);

	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = i / e->cols / TINYMOE_FP8_BLOCK * wide +
			      i % e->cols / TINYMOE_FP8_BLOCK;
		float v = e->type == TINYMOE_FP8 ? x[i] / scale[at] : x[i];
		uint8_t out[4];

		tinymoe_store(e->type, &v, 1, out);
		fwrite(out, 1, tinymoe_bytes(e->type, 1), f);
	}
	return ferror(f) ? -EIO : 0;
}

static int write_entry(const struct plan *p, const struct entry *e, FILE *f)
{
	const struct tinymoe_tensor *t = e->t;
	uint64_t cols = t->dims[t->n_dims - 1], rows = t->n_dims > 1 ? t->dims[t->n_dims - 2] : 1;
	float *x = entry_values(p, e, rows * cols);
	float *scale = x ? matrix_scales(x, rows, cols) : NULL;
	int ret = -ENOMEM;

	if (scale && e->scales)
		ret = fwrite(scale, 1, e->bytes, f) == e->bytes ? 0 : -EIO;
	else if (scale)
		ret = write_values(e, x, scale, rows * cols, f);
	free(scale);
	free(x);
	return ret;
}

static int write_shard(const struct plan *p, uint32_t shard)
{
	char name[64];
	FILE *f;
	int ret;

	file_name(p, shard, name, sizeof(name));
	f = open_in(p, name);
	if (!f)
		return -errno;
	ret = write_header(p, shard, f);
	for (uint64_t i = 0; i < p->n && !ret; i++) {
		if (shard_of(p, i) == shard)
			ret = write_entry(p, &p->e[i], f);
	}
	return fclose(f) && !ret ? -errno : ret;
}

static int write_index(const struct plan *p)
{
	FILE *f = open_in(p, "model.safetensors.index.json");
	uint64_t total = 0;
	char name[64];

	if (!f)
		return -errno;
	for (uint64_t i = 0; i < p->n; i++)
		total += p->e[i].bytes;
	fprintf(f, "{\"metadata\": {\"total_size\": %llu},\n\"weight_map\": {",
		(unsigned long long)total);
	for (uint64_t i = 0; i < p->n; i++) {
		file_name(p, shard_of(p, i), name, sizeof(name));
		fprintf(f, "%s\n\"%s\": \"%s\"", i ? "," : "", p->e[i].name, name);
	}
	fputs("}}\n", f);
	return fclose(f) ? -errno : 0;
}

static void put_rope(const struct tinymoe_preset *p, FILE *f)
{
	if (!p->yarn) {
		fputs("\"rope_scaling\": null,\n", f);
		return;
	}
	fprintf(f, "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 40, \"beta_fast\": 32, "
		"\"beta_slow\": 1, \"original_max_position_embeddings\": 4096, "
		"\"mscale\": %g, \"mscale_all_dim\": %g},\n", p->mscale, p->mscale);
}

static void put_experts(const struct tinymoe_preset *p, FILE *f)
{
	const char *method = p->sigmoid ? "noaux_tc" : p->groups > 1 ? "group_limited_greedy" :
								       "greedy";

	fprintf(f,
		"\"n_routed_experts\": %u, \"n_shared_experts\": %u, \"num_experts_per_tok\": %u,\n",
		p->experts, p->shared, p->top_k);
	fprintf(f, "\"n_group\": %u, \"topk_group\": %u, \"topk_method\": \"%s\",\n", p->groups,
		p->groups_used, method);
	fprintf(f,
		"\"scoring_func\": \"%s\", \"norm_topk_prob\": %s, \"routed_scaling_factor\": %g,\n",
		p->sigmoid ? "sigmoid" : "softmax", p->norm ? "true" : "false", (double)p->scale);
	fprintf(f, "\"moe_intermediate_size\": %u, \"moe_layer_freq\": 1,\n", p->moe_inter);
}

static int write_config(const struct tinymoe_preset *p, enum tinymoe_type type,
			const struct plan *plan)
{
	FILE *f = open_in(plan, "config.json");

	if (!f)
		return -errno;
	fprintf(f, "{\"architectures\": [\"%s\"], \"model_type\": \"%s\",\n",
		p->sigmoid ? "DeepseekV3ForCausalLM" : "DeepseekV2ForCausalLM",
		p->sigmoid ? "deepseek_v3" : "deepseek_v2");
	fprintf(f,
		"\"hidden_size\": %u, \"num_hidden_layers\": %u, \"first_k_dense_replace\": %u,\n",
		p->hidden, p->layers, p->dense);
	fprintf(f,
		"\"intermediate_size\": %u, \"num_attention_heads\": %u, \"num_key_value_heads\": %u,\n",
		p->inter, p->heads, p->heads);
	if (p->q_lora)
		fprintf(f, "\"q_lora_rank\": %u,\n", p->q_lora);
	else
		fputs("\"q_lora_rank\": null,\n", f);
	fprintf(f,
		"\"kv_lora_rank\": %u, \"qk_nope_head_dim\": %u, \"qk_rope_head_dim\": %u, \"v_head_dim\": %u,\n",
		p->kv_lora, p->nope, p->rope, p->v);
	put_experts(p, f);
	put_rope(p, f);
	if (p->mtp)
		fprintf(f, "\"num_nextn_predict_layers\": %u,\n", p->mtp);
	if (type == TINYMOE_FP8)
		fputs("\"quantization_config\": {\"quant_method\": \"fp8\", \"fmt\": \"e4m3\", "
		      "\"weight_block_size\": [128, 128], \"activation_scheme\": \"dynamic\"},\n",
		      f);
	fprintf(f,
		"\"rms_norm_eps\": 1e-06, \"rope_theta\": 10000, \"max_position_embeddings\": %u,\n",
		p->ctx);
	fputs("\"hidden_act\": \"silu\", \"attention_bias\": false, "
	      "\"tie_word_embeddings\": false,\n", f);
	fprintf(f, "\"vocab_size\": %u, \"bos_token_id\": 0, \"eos_token_id\": 1}\n", p->vocab);
	return fclose(f) ? -errno : 0;
}

static int write_tokenizer(const struct plan *p)
{
	FILE *f = open_in(p, "tokenizer.json");

	if (!f)
		return -errno;
	tinymoe_write_tokenizer(p->p->vocab, f);
	return fclose(f) ? -errno : 0;
}

int tinymoe_write_hf(const struct tinymoe_preset *p, enum tinymoe_type type, uint32_t shards,
		     uint64_t seed, const char *folder)
{
	struct plan plan = { .p = p, .seed = seed, .folder = folder, .shards = shards };
	struct tinymoe_tensor *t;
	uint32_t n;
	int ret;

	if (mkdir(folder, 0777) && errno != EEXIST)
		return -errno;
	t = tinymoe_tensors(p, true, &n);
	if (!t)
		return -ENOMEM;
	ret = make_plan(&plan, t, n, type);
	if (!ret)
		ret = write_config(p, type, &plan);
	if (!ret)
		ret = write_tokenizer(&plan);
	for (uint32_t i = 0; i < shards && !ret; i++)
		ret = write_shard(&plan, i);
	if (!ret && shards > 1)
		ret = write_index(&plan);
	free(plan.e);
	free(t);
	return ret;
}
