// SPDX-License-Identifier: GPL-2.0-only
/* The GGUF side: metadata and vocabulary. */
#include "cmx_tinymoe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ARCH		"deepseek2."
#define ALIGNMENT	32u

enum { KV_U32 = 4, KV_I32 = 5, KV_F32 = 6, KV_BOOL = 7, KV_STRING = 8, KV_ARRAY = 9 };

struct header {
	uint8_t *buf;
	size_t len;
	size_t room;
	uint64_t n_kv;
	int err;
};

static void put(struct header *h, const void *data, size_t len)
{
	if (h->len + len > h->room) {
		size_t room = (h->len + len) * 2;
		uint8_t *buf = realloc(h->buf, room);

		if (!buf) {
			h->err = -ENOMEM;
			return;
		}
		h->buf = buf;
		h->room = room;
	}
	memcpy(h->buf + h->len, data, len);
	h->len += len;
}

static void put_u32(struct header *h, uint32_t v)
{
	put(h, &v, sizeof(v));
}

static void put_u64(struct header *h, uint64_t v)
{
	put(h, &v, sizeof(v));
}

static void put_string(struct header *h, const char *s)
{
	put_u64(h, strlen(s));
	put(h, s, strlen(s));
}

static void kv_key(struct header *h, const char *key, uint32_t type)
{
	put_string(h, key);
	put_u32(h, type);
	h->n_kv++;
}

static void kv_u32(struct header *h, const char *key, uint32_t v)
{
	kv_key(h, key, KV_U32);
	put_u32(h, v);
}

static void kv_f32(struct header *h, const char *key, float v)
{
	kv_key(h, key, KV_F32);
	put(h, &v, sizeof(v));
}

static void kv_bool(struct header *h, const char *key, bool v)
{
	uint8_t b = v;

	kv_key(h, key, KV_BOOL);
	put(h, &b, sizeof(b));
}

static void kv_string(struct header *h, const char *key, const char *v)
{
	kv_key(h, key, KV_STRING);
	put_string(h, v);
}

static void kv_array(struct header *h, const char *key, uint32_t type, uint64_t n)
{
	kv_key(h, key, KV_ARRAY);
	put_u32(h, type);
	put_u64(h, n);
}

static void put_token(struct header *h, uint32_t id, uint32_t vocab)
{
	char text[64];

	tinymoe_token(id, vocab, text);
	put_string(h, text);
}

static void put_vocabulary(struct header *h, uint32_t vocab)
{
	uint32_t n_merges = tinymoe_merge_count(vocab);

	kv_string(h, "tokenizer.ggml.model", "gpt2");
	kv_string(h, "tokenizer.ggml.pre", "deepseek-v3");
	kv_array(h, "tokenizer.ggml.tokens", KV_STRING, vocab);
	for (uint32_t id = 0; id < vocab; id++)
		put_token(h, id, vocab);
	kv_array(h, "tokenizer.ggml.token_type", KV_I32, vocab);
	for (uint32_t id = 0; id < vocab; id++)
		put_u32(h, tinymoe_token_kind(id, vocab));
	kv_array(h, "tokenizer.ggml.merges", KV_STRING, n_merges);
	for (uint32_t i = 0; i < n_merges; i++) {
		char text[64];

		tinymoe_merge(i, text);
		put_string(h, text);
	}
	kv_u32(h, "tokenizer.ggml.bos_token_id", 0);
	kv_u32(h, "tokenizer.ggml.eos_token_id", 1);
	kv_u32(h, "tokenizer.ggml.padding_token_id", 2);
	kv_bool(h, "tokenizer.ggml.add_bos_token", true);
	kv_bool(h, "tokenizer.ggml.add_eos_token", false);
}

static uint32_t file_type(enum tinymoe_type type)
{
	switch (type) {
	case TINYMOE_F32:
		return 0;
	case TINYMOE_F16:
		return 1;
	case TINYMOE_Q4_0:
		return 2;
	case TINYMOE_Q8_0:
		return 7;
	case TINYMOE_Q4_K:
		return 14;
	case TINYMOE_Q6_K:
		return 18;
	default:
		return 32;
	}
}

static void put_dimensions(struct header *h, const struct tinymoe_preset *p)
{
	kv_u32(h, ARCH "block_count", p->layers + p->mtp);
	kv_u32(h, ARCH "context_length", p->ctx);
	kv_u32(h, ARCH "embedding_length", p->hidden);
	kv_u32(h, ARCH "feed_forward_length", p->inter);
	kv_u32(h, ARCH "vocab_size", p->vocab);
	kv_u32(h, ARCH "leading_dense_block_count", p->dense);
	kv_u32(h, ARCH "attention.head_count", p->heads);
	kv_f32(h, ARCH "attention.layer_norm_rms_epsilon", 1e-6f);
	kv_u32(h, ARCH "attention.kv_lora_rank", p->kv_lora);
	kv_u32(h, ARCH "rope.dimension_count", p->rope);
	kv_f32(h, ARCH "rope.freq_base", 10000);
	kv_u32(h, ARCH "expert_count", p->experts);
	kv_u32(h, ARCH "expert_used_count", p->top_k);
	kv_u32(h, ARCH "expert_shared_count", p->shared);
	kv_u32(h, ARCH "expert_feed_forward_length", p->moe_inter);
	kv_f32(h, ARCH "expert_weights_scale", p->scale);
	kv_bool(h, ARCH "expert_weights_norm", p->norm);
	kv_u32(h, ARCH "expert_gating_func", p->sigmoid ? 2 : 1);
	if (p->groups > 1) {
		kv_u32(h, ARCH "expert_group_count", p->groups);
		kv_u32(h, ARCH "expert_group_used_count", p->groups_used);
	}
	if (p->q_lora)
		kv_u32(h, ARCH "attention.q_lora_rank", p->q_lora);
}

static void put_heads(struct header *h, const struct tinymoe_preset *p, bool legacy)
{
	uint32_t qk = p->nope + p->rope;

	if (legacy) {
		kv_u32(h, ARCH "attention.head_count_kv", p->heads);
		kv_u32(h, ARCH "attention.key_length", qk);
		kv_u32(h, ARCH "attention.value_length", p->v);
	} else {
		kv_u32(h, ARCH "attention.head_count_kv", 1);
		kv_u32(h, ARCH "attention.key_length", p->kv_lora + p->rope);
		kv_u32(h, ARCH "attention.value_length", p->kv_lora);
		kv_u32(h, ARCH "attention.key_length_mla", qk);
		kv_u32(h, ARCH "attention.value_length_mla", p->v);
	}
	if (p->yarn) {
		kv_string(h, ARCH "rope.scaling.type", "yarn");
		kv_f32(h, ARCH "rope.scaling.factor", 40);
		kv_u32(h, ARCH "rope.scaling.original_context_length", 4096);
		kv_f32(h, ARCH "rope.scaling.yarn_log_multiplier", (float)(0.1 * p->mscale));
	}
	if (p->mtp)
		kv_u32(h, ARCH "nextn_predict_layers", p->mtp);
}

static void put_metadata(struct header *h, const struct tinymoe_preset *p,
			 enum tinymoe_type type, bool legacy)
{
	kv_string(h, "general.architecture", "deepseek2");
	kv_string(h, "general.name", p->name);
	kv_string(h, "general.type", "model");
	kv_u32(h, "general.file_type", file_type(type));
	kv_u32(h, "general.quantization_version", 2);
	put_dimensions(h, p);
	put_heads(h, p, legacy);
	put_vocabulary(h, p->vocab);
}

static uint64_t padded(uint64_t n)
{
	return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static void put_tensor_table(struct header *h, const struct tinymoe_tensor *t, uint32_t n,
			     enum tinymoe_type type)
{
	uint64_t offset = 0;

	for (uint32_t i = 0; i < n; i++) {
		enum tinymoe_type own = tinymoe_type_of(&t[i], type);

		put_string(h, t[i].name);
		put_u32(h, t[i].n_dims);
		for (uint32_t d = t[i].n_dims; d-- > 0;)
			put_u64(h, t[i].dims[d]);
		put_u32(h, own);
		put_u64(h, offset);
		offset += padded(tinymoe_bytes(own, tinymoe_count(&t[i])));
	}
}

static int write_pad(FILE *f, uint64_t at)
{
	static const uint8_t zero[ALIGNMENT];
	size_t n = padded(at) - at;

	return fwrite(zero, 1, n, f) == n ? 0 : -EIO;
}

static int write_tensor(const struct tinymoe_preset *p, const struct tinymoe_tensor *t,
			enum tinymoe_type type, uint64_t seed, FILE *f)
{
	uint64_t n = tinymoe_count(t);
	struct tinymoe_values v;

	tinymoe_values_init(&v, p, t, seed);
	for (uint64_t i = 0; i < n; i += TINYMOE_BLOCK) {
		uint32_t part = n - i < TINYMOE_BLOCK ? (uint32_t)(n - i) : TINYMOE_BLOCK;
		size_t size = tinymoe_bytes(type, part);
		uint8_t out[TINYMOE_BLOCK * 4];
		float x[TINYMOE_BLOCK];

		for (uint32_t j = 0; j < part; j++)
			x[j] = tinymoe_value(&v, i + j);
		tinymoe_store(type, x, part, out);
		if (fwrite(out, 1, size, f) != size)
			return -EIO;
	}
	return write_pad(f, tinymoe_bytes(type, n));
}

static int write_header(const struct header *h, uint32_t n_tensors, FILE *f)
{
	uint8_t start[24] = "GGUF";
	uint64_t n = n_tensors;

	start[4] = 3;
	memcpy(start + 8, &n, sizeof(n));
	memcpy(start + 16, &h->n_kv, sizeof(h->n_kv));
	if (fwrite(start, sizeof(start), 1, f) != 1 || fwrite(h->buf, h->len, 1, f) != 1)
		return -EIO;
	return write_pad(f, sizeof(start) + h->len);
}

static uint64_t file_size(const struct header *h, const struct tinymoe_tensor *t, uint32_t n,
			  enum tinymoe_type type)
{
	uint64_t size = padded(24 + h->len);

	for (uint32_t i = 0; i < n; i++)
		size += padded(tinymoe_bytes(tinymoe_type_of(&t[i], type), tinymoe_count(&t[i])));
	return size;
}

int tinymoe_write_sparse(const struct tinymoe_preset *p, enum tinymoe_type type, FILE *f)
{
	struct header h = { 0 };
	uint32_t n;
	struct tinymoe_tensor *t = tinymoe_tensors(p, false, &n);
	int ret;

	if (!t)
		return -ENOMEM;
	put_metadata(&h, p, type, false);
	put_tensor_table(&h, t, n, type);
	ret = h.err ? h.err : write_header(&h, n, f);
	if (!ret && (fflush(f) || ftruncate(fileno(f), (off_t)file_size(&h, t, n, type))))
		ret = -errno;
	free(h.buf);
	free(t);
	return ret;
}

int tinymoe_write(const struct tinymoe_preset *p, enum tinymoe_type type, bool legacy,
		  uint64_t seed, FILE *f)
{
	struct header h = { 0 };
	uint32_t n;
	struct tinymoe_tensor *t = tinymoe_tensors(p, legacy, &n);
	int ret;

	if (!t)
		return -ENOMEM;
	put_metadata(&h, p, type, legacy);
	put_tensor_table(&h, t, n, type);
	ret = h.err ? h.err : write_header(&h, n, f);
	for (uint32_t i = 0; i < n && !ret; i++)
		ret = write_tensor(p, &t[i], tinymoe_type_of(&t[i], type), seed, f);
	free(h.buf);
	free(t);
	return ret;
}
