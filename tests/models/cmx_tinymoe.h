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
	TINYMOE_Q4_0 = 2,
	TINYMOE_Q8_0 = 8,
	TINYMOE_Q4_K = 12,
	TINYMOE_Q6_K = 14,
	TINYMOE_BF16 = 30,
	TINYMOE_FP8 = 256,	/* E4M3; in folders, with a scale for each 128 x 128 */
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
	bool mtp_ends;		/* its block has an embedding and a head of its own */
	/* What no preset has and tests set: 0 leaves it as it is. */
	float bias, bias_spread;	/* of the gate's bias: middle and half the width */
	float ffn_gain;			/* of the norm in front of experts and dense layers */
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

/* The most values a block of any type has; rows of other lengths take a plainer type. */
#define TINYMOE_BLOCK		256u
#define TINYMOE_FP8_BLOCK	128u

const char *tinymoe_type_name(enum tinymoe_type type);
/* What tensor @t of a GGUF file of @type is stored as. */
enum tinymoe_type tinymoe_type_of(const struct tinymoe_tensor *t, enum tinymoe_type type);
/* The same in a Hugging Face folder. */
enum tinymoe_type tinymoe_hf_type_of(const struct tinymoe_tensor *t, enum tinymoe_type type);
uint64_t tinymoe_bytes(enum tinymoe_type type, uint64_t n);
/* @n values in whole blocks, at most TINYMOE_BLOCK of them, to their bytes and back. */
void tinymoe_store(enum tinymoe_type type, const float *x, uint32_t n, uint8_t *out);
void tinymoe_restore(enum tinymoe_type type, const uint8_t *in, uint32_t n, double *x);
uint8_t tinymoe_to_fp8(float f);
double tinymoe_from_fp8(uint8_t b);
float tinymoe_to_bf16_float(float f);

static inline uint64_t tinymoe_count(const struct tinymoe_tensor *t)
{
	return t->dims[0] * (t->n_dims > 1 ? t->dims[1] : 1) * (t->n_dims > 2 ? t->dims[2] : 1);
}

/* Text of a token in the byte alphabet, at most 63 bytes, and its type as GGUF numbers them. */
void tinymoe_token(uint32_t id, uint32_t vocab, char *text);
uint32_t tinymoe_token_kind(uint32_t id, uint32_t vocab);
uint32_t tinymoe_merge_count(uint32_t vocab);
void tinymoe_merge(uint32_t i, char *text);
void tinymoe_write_tokenizer(uint32_t vocab, FILE *f);

/* Returns 0 or -errno. */
int tinymoe_write(const struct tinymoe_preset *p, enum tinymoe_type type, bool legacy,
		  uint64_t seed, FILE *f);
/* A file of the right size with a hole for the values, split form. */
int tinymoe_write_sparse(const struct tinymoe_preset *p, enum tinymoe_type type, FILE *f);
/* A folder with config.json and the weights in @shards files, with an index if more than one. */
int tinymoe_write_hf(const struct tinymoe_preset *p, enum tinymoe_type type, uint32_t shards,
		     uint64_t seed, const char *folder);

#endif
