// SPDX-License-Identifier: GPL-2.0-only
/*
 * f64_logits PRESET TYPE gguf|legacy|folder IDS EXPERTS.json OUT.f32: logits of a test model by a
 * pass in double over its rounded weights, with the experts that a run chose.
 */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_tinymoe_forward.h"

#define SEED	1234u
#define MAX_IDS	4096u

static int fail(const char *what, const char *name)
{
	fprintf(stderr, "f64_logits: %s: %s\n", name, what);
	return 1;
}

static uint32_t read_ids(const char *path, uint32_t *ids)
{
	FILE *f = fopen(path, "re");
	uint32_t n = 0;

	while (f && n < MAX_IDS && fscanf(f, "%u", &ids[n]) == 1)
		n++;
	if (f)
		fclose(f);
	return n;
}

/* [MoE layer][token][used] of the first @n tokens; NULL if the file lacks any. */
static uint32_t *read_experts(const char *path, const struct tinymoe_preset *p, uint32_t n)
{
	json_t *root = json_load_file(path, 0, NULL), *layers = json_object_get(root, "experts");
	uint32_t *out = calloc((p->layers - p->dense) * n * p->top_k, sizeof(*out)), *at = out;

	for (uint32_t l = p->dense; out && l < p->layers; l++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", l);
		for (uint32_t i = 0; i < n * p->top_k; i++) {
			const json_t *token = json_array_get(json_object_get(layers, name),
							     i / p->top_k);
			const json_t *e = json_array_get(token, i % p->top_k);

			if (!json_is_integer(e) || json_integer_value(e) >= p->experts) {
				free(out);
				out = NULL;
				break;
			}
			*at++ = (uint32_t)json_integer_value(e);
		}
	}
	json_decref(root);
	return out;
}

static int write_logits(const char *path, const double *logits, size_t n)
{
	FILE *f = fopen(path, "we");
	int ret = !f;

	for (size_t i = 0; i < n && !ret; i++) {
		float x = (float)logits[i];

		ret = fwrite(&x, sizeof(x), 1, f) != 1;
	}
	if (f && fclose(f))
		ret = 1;
	return ret;
}

static int find_type(const char *name, enum tinymoe_type *type)
{
	static const enum tinymoe_type types[] = {
		TINYMOE_F32, TINYMOE_F16, TINYMOE_BF16, TINYMOE_Q8_0, TINYMOE_Q4_0, TINYMOE_Q4_K,
		TINYMOE_Q6_K, TINYMOE_FP8,
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		*type = types[i];
		if (!strcmp(tinymoe_type_name(*type), name))
			return 0;
	}
	return -1;
}

int main(int argc, char **argv)
{
	const struct tinymoe_preset *p = argc == 7 ? tinymoe_find(argv[1]) : NULL;
	uint32_t ids[MAX_IDS], n, *experts;
	struct tinymoe_model m;
	enum tinymoe_type type;
	double *logits;
	int ret;

	if (!p || find_type(argv[2], &type))
		return fail("PRESET TYPE gguf|legacy|folder IDS EXPERTS.json OUT.f32", "usage");
	n = read_ids(argv[4], ids);
	experts = read_experts(argv[5], p, n);
	if (!n || !experts)
		return fail("no ids, or experts are missing", argv[n ? 5 : 4]);
	if (tinymoe_model_init(&m, p, type, !strcmp(argv[3], "legacy"), !strcmp(argv[3], "folder"),
			       SEED))
		return fail("no memory", argv[1]);
	logits = calloc((size_t)n * p->vocab, sizeof(*logits));
	ret = !logits || tinymoe_forward(&m, ids, n, experts, NULL, logits) ||
	      write_logits(argv[6], logits, (size_t)n * p->vocab);
	tinymoe_model_free(&m);
	free(experts);
	free(logits);
	return ret ? fail("failed", argv[6]) : 0;
}
