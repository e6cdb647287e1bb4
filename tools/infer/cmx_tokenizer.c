// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_tokenizer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NO_TOKEN UINT32_MAX

/* Token types of the file. */
enum {
	TYPE_NORMAL = 1,
	TYPE_UNKNOWN = 2,
	TYPE_CONTROL = 3,
	TYPE_USER = 4,
	TYPE_UNUSED = 5,
	TYPE_BYTE = 6,
};

/*
 * The GPT-2 alphabet writes each byte as one character: printable Latin-1 as
 * itself, the 68 others as U+0100 and up in byte order.
 */
static bool alphabet_is_plain(uint32_t b)
{
	return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
}

static int alphabet_byte(uint32_t code)
{
	uint32_t next = 256;

	if (code < 256)
		return alphabet_is_plain(code) ? (int)code : -1;
	for (uint32_t b = 0; b < 256; b++) {
		if (alphabet_is_plain(b))
			continue;
		if (next++ == code)
			return (int)b;
	}
	return -1;
}

/* Decodes the one- and two-byte characters the alphabet is made of. */
static int alphabet_next(const uint8_t *s, uint64_t len, uint32_t *code)
{
	if (s[0] < 0x80) {
		*code = s[0];
		return 1;
	}
	if (len < 2 || (s[0] & 0xe0) != 0xc0 || (s[1] & 0xc0) != 0x80)
		return 0;
	*code = (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3f);
	return 2;
}

/* Bytes of a normal token to @out (NULL to count). -1: not of the alphabet. */
static int64_t token_bytes(const uint8_t *s, uint64_t len, char *out)
{
	int64_t n = 0;

	for (uint64_t i = 0; i < len;) {
		uint32_t code;
		int step = alphabet_next(s + i, len - i, &code);
		int b = step ? alphabet_byte(code) : -1;

		if (b < 0)
			return -1;
		if (out)
			out[n] = (char)b;
		n++;
		i += (uint64_t)step;
	}
	return n;
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* <0x41> */
static int byte_token(const uint8_t *s, uint64_t len)
{
	int hi, lo;

	if (len != 6 || memcmp(s, "<0x", 3) || s[5] != '>')
		return -1;
	hi = hex_digit(s[3]);
	lo = hex_digit(s[4]);
	return hi < 0 || lo < 0 ? -1 : hi << 4 | lo;
}

static int64_t token_text(const uint8_t *s, uint64_t len, int32_t type, char *out)
{
	int b;

	switch (type) {
	case TYPE_NORMAL:
		return token_bytes(s, len, out);
	case TYPE_USER:
		if (out)
			memcpy(out, s, len);
		return (int64_t)len;
	case TYPE_BYTE:
		b = byte_token(s, len);
		if (b >= 0 && out)
			*out = (char)b;
		return b < 0 ? -1 : 1;
	default:
		return 0;
	}
}

struct vocab_source {
	struct cmx_gguf_strings it;
	const uint8_t *types;	/* NULL: all normal */
};

static int open_vocab(const struct cmx_gguf *g, uint32_t vocab, struct vocab_source *v,
		      struct cmx_infer_err *err)
{
	uint64_t n_types;
	int ret = cmx_gguf_strings(g, "tokenizer.ggml.tokens", &v->it, err);

	if (ret)
		return ret;
	if (v->it.count != vocab)
		return cmx_infer_fail(err, -EINVAL, "tokenizer.ggml.tokens has %" PRIu64
				      " entries, the model's vocabulary %u", v->it.count, vocab);
	ret = cmx_gguf_i32_array(g, "tokenizer.ggml.token_type", &v->types, &n_types, err);
	if (ret == -ENOENT) {
		v->types = NULL;
		return 0;
	}
	if (!ret && n_types != vocab)
		return cmx_infer_fail(err, -EINVAL, "tokenizer.ggml.token_type has %" PRIu64
				      " entries, the model's vocabulary %u", n_types, vocab);
	return ret;
}

/* One pass over the vocabulary; counts bytes while there is no pool, then fills it. */
static int scan_vocab(struct cmx_tokenizer *t, const struct cmx_gguf *g, struct vocab_source v,
		      uint64_t *total, struct cmx_infer_err *err)
{
	uint64_t at = 0, len;
	const char *s;

	for (uint32_t id = 0; cmx_gguf_strings_next(g, &v.it, &s, &len); id++) {
		int32_t type = TYPE_NORMAL;
		int64_t n;

		if (v.types)
			memcpy(&type, v.types + (size_t)id * 4, sizeof(type));
		n = token_text((const uint8_t *)s, len, type, t->pool ? t->pool + at : NULL);
		if (n < 0)
			return cmx_infer_fail(err, -EINVAL,
					      "token %u '%.*s' is not in the byte-level alphabet",
					      id, (int)(len < 32 ? len : 32), s);
		t->token[id] = (struct cmx_token){ (uint32_t)at, (uint32_t)n };
		if (t->pool && n == 1 && t->byte_id[(uint8_t)t->pool[at]] == NO_TOKEN)
			t->byte_id[(uint8_t)t->pool[at]] = id;
		at += (uint64_t)n;
	}
	*total = at;
	return 0;
}

static int read_vocab(struct cmx_tokenizer *t, const struct cmx_gguf *g, struct cmx_infer_err *err)
{
	struct vocab_source v;
	uint64_t total;
	int ret = open_vocab(g, t->n_tokens, &v, err);

	if (!ret)
		ret = scan_vocab(t, g, v, &total, err);
	if (ret)
		return ret;
	if (total >= UINT32_MAX)
		return cmx_infer_fail(err, -EINVAL, "vocabulary text of %" PRIu64
				      " bytes, the limit is %u", total, UINT32_MAX - 1);
	t->pool = malloc(total + 1);
	if (!t->pool)
		return cmx_infer_fail(err, -ENOMEM, "no memory for the vocabulary");
	return scan_vocab(t, g, v, &total, err);
}

static int read_special(const struct cmx_gguf *g, const char *key, uint32_t vocab, uint32_t *id,
			struct cmx_infer_err *err)
{
	int ret = cmx_gguf_u32(g, key, id, err);

	if (ret == -ENOENT) {
		*id = NO_TOKEN;
		return 0;
	}
	if (!ret && *id >= vocab)
		return cmx_infer_fail(err, -EINVAL, "%s is %u, must be below %u", key, *id, vocab);
	return ret;
}

static int read_flags(struct cmx_tokenizer *t, const struct cmx_gguf *g, struct cmx_infer_err *err)
{
	struct cmx_gguf_strings merges = { 0 };
	int ret = read_special(g, "tokenizer.ggml.bos_token_id", t->n_tokens, &t->bos, err);

	if (!ret)
		ret = read_special(g, "tokenizer.ggml.eos_token_id", t->n_tokens, &t->eos, err);
	if (ret)
		return ret;
	ret = cmx_gguf_bool(g, "tokenizer.ggml.add_bos_token", &t->add_bos, err);
	if (ret && ret != -ENOENT)
		return ret;
	if (t->add_bos && t->bos == NO_TOKEN)
		return cmx_infer_fail(err, -EINVAL,
				      "tokenizer.ggml.add_bos_token is set without bos_token_id");
	ret = cmx_gguf_strings(g, "tokenizer.ggml.merges", &merges, err);
	if (ret && ret != -ENOENT)
		return ret;
	t->has_merges = merges.count > 0;
	return 0;
}

int cmx_tokenizer_init(struct cmx_tokenizer *t, const struct cmx_gguf *g, uint32_t vocab,
		       struct cmx_infer_err *err)
{
	const char *model;
	uint64_t len;
	int ret;

	memset(t, 0, sizeof(*t));
	memset(t->byte_id, 0xff, sizeof(t->byte_id));
	t->n_tokens = vocab;
	ret = cmx_gguf_string(g, "tokenizer.ggml.model", &model, &len, err);
	if (ret)
		return ret;
	if (len != 4 || memcmp(model, "gpt2", 4))
		return cmx_infer_fail(err, -ENOTSUP,
				      "tokenizer.ggml.model is '%.*s', must be 'gpt2' (byte level)",
				      (int)(len < 32 ? len : 32), model);
	t->token = calloc(vocab + 1ull, sizeof(*t->token));
	if (!t->token)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %u tokens", vocab);
	ret = read_vocab(t, g, err);
	if (!ret)
		ret = read_flags(t, g, err);
	if (ret)
		cmx_tokenizer_free(t);
	return ret;
}

void cmx_tokenizer_free(struct cmx_tokenizer *t)
{
	free(t->token);
	free(t->pool);
	t->token = NULL;
	t->pool = NULL;
}

int cmx_tokenizer_encode(const struct cmx_tokenizer *t, const char *text, size_t len,
			 uint32_t **ids, uint32_t *n, struct cmx_infer_err *err)
{
	uint32_t *out;

	if (t->has_merges)
		return cmx_infer_fail(err, -ENOTSUP,
				      "the vocabulary has merges; text needs a byte-level one: give token ids");
	if (len > UINT32_MAX / 8)
		return cmx_infer_fail(err, -E2BIG, "text of %zu bytes, the limit is %u", len,
				      UINT32_MAX / 8);
	out = malloc((len + 1) * sizeof(*out));
	if (!out)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %zu tokens", len);
	*n = 0;
	if (t->add_bos)
		out[(*n)++] = t->bos;
	for (size_t i = 0; i < len; i++) {
		uint32_t id = t->byte_id[(uint8_t)text[i]];

		if (id == NO_TOKEN) {
			free(out);
			return cmx_infer_fail(err, -EINVAL,
					      "text byte %zu is 0x%02x, which no token stands for",
					      i, (uint8_t)text[i]);
		}
		out[(*n)++] = id;
	}
	*ids = out;
	return 0;
}

const char *cmx_tokenizer_bytes(const struct cmx_tokenizer *t, uint32_t id, uint32_t *len)
{
	*len = id < t->n_tokens ? t->token[id].len : 0;
	return *len ? t->pool + t->token[id].at : NULL;
}

/* Length of the character that starts with @b, 0 if none does. */
static uint32_t utf8_length(uint8_t b)
{
	if (b < 0x80)
		return 1;
	if (b >= 0xc2 && b <= 0xdf)
		return 2;
	if (b >= 0xe0 && b <= 0xef)
		return 3;
	return b >= 0xf0 && b <= 0xf4 ? 4 : 0;
}

/* The second byte also rules out overlong forms, surrogates and codes past U+10FFFF. */
static bool utf8_continues(const uint8_t *s, uint32_t n, uint8_t b)
{
	if ((b & 0xc0) != 0x80)
		return false;
	if (n > 1)
		return true;
	switch (s[0]) {
	case 0xe0:
		return b >= 0xa0;
	case 0xed:
		return b < 0xa0;
	case 0xf0:
		return b >= 0x90;
	case 0xf4:
		return b < 0x90;
	default:
		return true;
	}
}

static uint32_t put_replacement(char *out)
{
	memcpy(out, "\xef\xbf\xbd", 3);
	return 3;
}

uint32_t cmx_text_end(struct cmx_text_stream *s, char *out)
{
	uint32_t n = s->n ? put_replacement(out) : 0;

	s->n = 0;
	return n;
}

uint32_t cmx_text_put(struct cmx_text_stream *s, uint8_t byte, char *out)
{
	uint32_t n = 0;

	if (s->n && !utf8_continues(s->held, s->n, byte))
		n = cmx_text_end(s, out);
	if (!s->n && !utf8_length(byte))
		return n + put_replacement(out + n);
	s->held[s->n++] = byte;
	if (s->n < utf8_length(s->held[0]))
		return n;
	memcpy(out + n, s->held, s->n);
	n += s->n;
	s->n = 0;
	return n;
}
