// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_vocabulary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_byte_alphabet.h"

int cmx_vocabulary_init(struct cmx_vocabulary *v, uint32_t n, struct cmx_infer_err *err)
{
	memset(v, 0, sizeof(*v));
	memset(v->byte_id, 0xff, sizeof(v->byte_id));
	if (!n || n > CMX_VOCABULARY_MAX)
		return cmx_infer_fail(err, -EINVAL, "vocabulary of %u tokens, must be 1..%u", n,
				      CMX_VOCABULARY_MAX);
	v->token = calloc(n, sizeof(*v->token));
	if (!v->token)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %u tokens", n);
	for (uint32_t id = 0; id < n; id++)
		v->token[id].kind = CMX_TOKEN_UNUSED;
	v->n = n;
	return 0;
}

void cmx_vocabulary_free(struct cmx_vocabulary *v)
{
	free(v->token);
	free(v->pool);
	free(v->normal);
	free(v->literal);
	memset(v, 0, sizeof(*v));
}

static bool starts_with(const char *s, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && !memcmp(s, word, n);
}

static bool ends_with(const char *s, size_t len, const char *word)
{
	size_t n = strlen(word);

	return len >= n && !memcmp(s + len - n, word, n);
}

/* DeepSeek writes its markers with a full-width bar, but for some with the ASCII one. */
static bool is_marker(const char *s, size_t len)
{
	return (starts_with(s, len, "<|") && ends_with(s, len, "|>") && len > 4) ||
	       (starts_with(s, len, "<\uff5c") && ends_with(s, len, "\uff5c>") && len > 8);
}

/* Bytes of the token to @out (NULL to count), -1 if its kind doesn't allow the text. */
static int64_t token_text(uint32_t kind, const char *s, size_t len, char *out)
{
	int b;

	switch (kind) {
	case CMX_TOKEN_NORMAL:
		return cmx_alphabet_bytes(s, len, out);
	case CMX_TOKEN_CONTROL:
	case CMX_TOKEN_USER:
		if (out)
			memcpy(out, s, len);
		return (int64_t)len;
	case CMX_TOKEN_BYTE:
		b = cmx_alphabet_byte_token(s, len);
		if (b >= 0 && out)
			*out = (char)b;
		return b < 0 ? -1 : 1;
	default:
		return 0;
	}
}

static int grow_pool(struct cmx_vocabulary *v, size_t more, struct cmx_infer_err *err)
{
	size_t want = v->pool_len + more, cap = v->pool_cap ? v->pool_cap : 4096;
	char *pool;

	if (want >= UINT32_MAX)
		return cmx_infer_fail(err, -EINVAL, "vocabulary text of %zu bytes, the limit is %u",
				      want, UINT32_MAX - 1);
	if (want <= v->pool_cap)
		return 0;
	while (cap < want)
		cap *= 2;
	pool = realloc(v->pool, cap);
	if (!pool)
		return cmx_infer_fail(err, -ENOMEM, "no memory for the vocabulary");
	v->pool = pool;
	v->pool_cap = cap;
	return 0;
}

int cmx_vocabulary_set(struct cmx_vocabulary *v, uint32_t id, uint32_t kind, const char *s,
		       size_t len, struct cmx_infer_err *err)
{
	int64_t n = token_text(kind, s, len, NULL);
	int shown = (int)(len < 32 ? len : 32), ret;

	if (kind < CMX_TOKEN_NORMAL || kind > CMX_TOKEN_BYTE)
		return cmx_infer_fail(err, -EINVAL, "token %u has type %u, must be %d..%d", id,
				      kind, CMX_TOKEN_NORMAL, CMX_TOKEN_BYTE);
	if (n < 0)
		return cmx_infer_fail(err, -EINVAL, kind == CMX_TOKEN_BYTE ?
				      "token %u '%.*s' is of type byte but not like <0x41>" :
				      "token %u '%.*s' is not in the byte-level alphabet",
				      id, shown, s);
	if ((kind == CMX_TOKEN_USER || kind == CMX_TOKEN_CONTROL) && n > CMX_MARKER_MAX)
		return cmx_infer_fail(err, -EINVAL,
				      "token %u '%.*s...' has %lld bytes, the limit is %d", id,
				      shown, s, (long long)n, CMX_MARKER_MAX);
	ret = grow_pool(v, (size_t)n, err);
	if (ret)
		return ret;
	token_text(kind, s, len, v->pool ? v->pool + v->pool_len : NULL);
	if (kind == CMX_TOKEN_USER && is_marker(s, len))
		kind = CMX_TOKEN_CONTROL;
	v->token[id] = (struct cmx_token){ (uint32_t)v->pool_len, (uint32_t)n, kind };
	v->pool_len += (size_t)n;
	return 0;
}

static int compare_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t n = a_len < b_len ? a_len : b_len;
	int diff = n ? memcmp(a, b, n) : 0;

	return diff ? diff : a_len < b_len ? -1 : a_len > b_len;
}

static const char *text_of(const struct cmx_vocabulary *v, uint32_t id)
{
	return v->pool + v->token[id].at;
}

static int compare_tokens(const void *a, const void *b, void *arg)
{
	const struct cmx_vocabulary *v = arg;
	const uint32_t *x = a, *y = b;
	int diff = compare_text(text_of(v, *x), v->token[*x].len, text_of(v, *y),
				v->token[*y].len);

	return diff ? diff : *x < *y ? -1 : *x > *y;
}

static bool is_literal(const struct cmx_token *t)
{
	return (t->kind == CMX_TOKEN_CONTROL || t->kind == CMX_TOKEN_USER) && t->len;
}

static void index_token(struct cmx_vocabulary *v, uint32_t id)
{
	const struct cmx_token *t = &v->token[id];
	uint8_t first = t->len ? (uint8_t)*text_of(v, id) : 0;

	if (t->kind == CMX_TOKEN_NORMAL && t->len)
		v->normal[v->n_normal++] = id;
	if (is_literal(t)) {
		v->literal[v->n_literals++] = id;
		v->starts[first] = true;
	}
}

/* The token of each byte: a normal one, else <0x41>, else literal text; the lowest id. */
static void index_bytes(struct cmx_vocabulary *v)
{
	static const uint32_t order[] = { CMX_TOKEN_NORMAL, CMX_TOKEN_BYTE, CMX_TOKEN_USER };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		for (uint32_t id = 0; id < v->n; id++) {
			uint32_t *slot;

			if (v->token[id].kind != order[i] || v->token[id].len != 1)
				continue;
			slot = &v->byte_id[(uint8_t)*text_of(v, id)];
			if (*slot == CMX_NO_TOKEN)
				*slot = id;
		}
	}
}

static bool same_text(const struct cmx_vocabulary *v, uint32_t a, uint32_t b)
{
	return !compare_text(text_of(v, a), v->token[a].len, text_of(v, b), v->token[b].len);
}

/* Of literals with one text the lowest id stays. */
static void drop_double_literals(struct cmx_vocabulary *v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_literals; i++) {
		if (!n || !same_text(v, v->literal[n - 1], v->literal[i]))
			v->literal[n++] = v->literal[i];
	}
	v->n_literals = n;
}

int cmx_vocabulary_index(struct cmx_vocabulary *v, struct cmx_infer_err *err)
{
	v->normal = malloc(v->n * sizeof(*v->normal));
	v->literal = malloc(v->n * sizeof(*v->literal));
	if (!v->normal || !v->literal)
		return cmx_infer_fail(err, -ENOMEM, "no memory to index %u tokens", v->n);
	for (uint32_t id = 0; id < v->n; id++)
		index_token(v, id);
	qsort_r(v->normal, v->n_normal, sizeof(*v->normal), compare_tokens, v);
	qsort_r(v->literal, v->n_literals, sizeof(*v->literal), compare_tokens, v);
	drop_double_literals(v);
	index_bytes(v);
	return 0;
}

static uint32_t find_in(const struct cmx_vocabulary *v, const uint32_t *ids, uint32_t n,
			const char *s, size_t len)
{
	uint32_t lo = 0, hi = n;

	/* The first one that is not less. */
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (compare_text(text_of(v, ids[mid]), v->token[ids[mid]].len, s, len) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < n && v->token[ids[lo]].len == len && !memcmp(text_of(v, ids[lo]), s, len))
		return ids[lo];
	return CMX_NO_TOKEN;
}

uint32_t cmx_vocabulary_find(const struct cmx_vocabulary *v, const char *bytes, size_t len)
{
	return len ? find_in(v, v->normal, v->n_normal, bytes, len) : CMX_NO_TOKEN;
}

uint32_t cmx_vocabulary_find_literal(const struct cmx_vocabulary *v, const char *s, size_t len)
{
	return len ? find_in(v, v->literal, v->n_literals, s, len) : CMX_NO_TOKEN;
}

/* Byte @at of a literal, -1 behind its end. */
static int literal_byte(const struct cmx_vocabulary *v, uint32_t i, size_t at)
{
	uint32_t id = v->literal[i];

	return at < v->token[id].len ? (uint8_t)text_of(v, id)[at] : -1;
}

/* First of [lo, hi) whose byte @at is not below @b; they agree in all bytes before. */
static uint32_t lower_bound(const struct cmx_vocabulary *v, uint32_t lo, uint32_t hi, size_t at,
			    int b)
{
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (literal_byte(v, mid, at) < b)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint32_t cmx_vocabulary_match(const struct cmx_vocabulary *v, const char *s, size_t len,
			      bool control)
{
	uint32_t lo = 0, hi = v->n_literals, best = CMX_NO_TOKEN;

	if (!len || !v->starts[(uint8_t)*s])
		return CMX_NO_TOKEN;
	for (size_t at = 0; at < len && lo < hi; at++) {
		int b = (uint8_t)s[at];

		lo = lower_bound(v, lo, hi, at, b);
		hi = lower_bound(v, lo, hi, at, b + 1);
		/* The one that ends here sorts before those that go on. */
		if (lo < hi && literal_byte(v, lo, at + 1) < 0 &&
		    (control || v->token[v->literal[lo]].kind == CMX_TOKEN_USER))
			best = v->literal[lo];
	}
	return best;
}
