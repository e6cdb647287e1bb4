/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A test model through the engine on a stand-in die, and how far its logits are
 * from a pass in double over the same weights with the same experts.
 */
#ifndef MODEL_RUN_H
#define MODEL_RUN_H

#include "cmx_forward.h"
#include "cmx_tinymoe_forward.h"
#include "hf_make.h"

#define MODEL_RUN_SEED 1234u

struct model_form {
	const struct tinymoe_preset *p;
	enum tinymoe_type type;
	bool legacy;		/* GGUF with attn_kv_b */
	bool hf;		/* a folder */
};

struct model_run {
	struct cmx_infer_err err;
	struct cmx_die *die;
	struct cmx_model model;
	struct cmx_forward fwd;
	uint32_t *pages;	/* of the one sequence */
	float *logits;		/* [n][vocab] of the last prompt */
	uint32_t *experts;	/* [MoE layer][n][used] */
	uint32_t n;
};

/* A GGUF file in memory. */
int model_run_file(const struct model_form *form);
/* NULL with a text in @err. @dir is filled in for a folder, hf_make_remove() it. */
struct cmx_source *model_run_source(const struct model_form *form, struct hf_make *dir,
				    struct cmx_infer_err *err);
/* The fastest SIMD level there is. */
enum cmx_isa model_run_isa(void);
/* On that level. After any result close it. */
int model_run_open(struct model_run *r, const struct model_form *form, uint32_t ctx,
		   uint32_t chunk);
void model_run_close(struct model_run *r);
/*
 * From position 0, in chunks of @chunk at most; logits and experts of all tokens. Chunks of one
 * token take the absorbed form of attention, others the plain one.
 */
int model_run_prompt(struct model_run *r, const uint32_t *ids, uint32_t n, uint32_t chunk);
/* Largest difference of the last prompt's logits; infinity if any is no number. */
double model_run_distance(const struct model_run *r, const struct tinymoe_model *m,
			  const uint32_t *ids);
double model_run_max_diff(const float *got, const double *want, size_t n);
/* The same of single numbers. */
double model_run_apart(const float *a, const float *b, size_t n);
/* The first @n of a file; free() them. */
float *model_run_floats(const char *path, size_t n);

#endif
