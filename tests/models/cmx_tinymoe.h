/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random-weight test models of the deepseek2 architecture. Every weight is a
 * function of seed, tensor name and index, so the same preset is the same file
 * everywhere.
 */
#ifndef CMX_TINYMOE_H
#define CMX_TINYMOE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum tinymoe_type {
	TINYMOE_F32 = 0,
	TINYMOE_F16 = 1,
	TINYMOE_Q8_0 = 8,
	TINYMOE_BF16 = 30,
};

struct tinymoe_preset {
	const char *name;
	uint32_t hidden, layers, dense, heads, q_lora, kv_lora, rope, nope, v;
	uint32_t experts, top_k, groups, groups_used, shared, moe_inter, inter, vocab;
	bool sigmoid;		/* with a bias; else softmax without */
	bool norm;
	float scale;
	uint32_t ctx;
	bool yarn;
	double mscale;
	uint32_t mtp;
};

/* How the values of a tensor come from the hash. */
enum tinymoe_layout {
	TINYMOE_PLAIN,
	TINYMOE_KEYS,		/* attn_k_b: key rows of kv_b, transposed by head */
	TINYMOE_VALUES,		/* attn_v_b: value rows of kv_b */
	TINYMOE_EXPERTS,	/* one source tensor for each expert */
};

struct tinymoe_tensor {
	char name[64];		/* in the file */
	char source[96];	/* name that is hashed; with %u for the expert */
	uint32_t n_dims;
	uint64_t dims[3];	/* slowest first */
	bool matrix;		/* takes the file's type; others stay f32 */
	enum tinymoe_layout layout;
	float base;
	float a;
};

const struct tinymoe_preset *tinymoe_find(const char *name);
/* All tensors in the order of the file; free() them. */
struct tinymoe_tensor *tinymoe_tensors(const struct tinymoe_preset *p, bool legacy, uint32_t *n);

/* A walk over a tensor's values in the file's order. */
struct tinymoe_values {
	const struct tinymoe_preset *p;
	const struct tinymoe_tensor *t;
	uint64_t seed;
	uint64_t hash;
	uint64_t expert;
};

void tinymoe_values_init(struct tinymoe_values *v, const struct tinymoe_preset *p,
			 const struct tinymoe_tensor *t, uint64_t seed);
float tinymoe_value(struct tinymoe_values *v, uint64_t i);

/* Returns 0 or -errno. */
int tinymoe_write(const struct tinymoe_preset *p, enum tinymoe_type type, bool legacy,
		  uint64_t seed, FILE *f);

#endif
