// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_tokenizer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_byte_alphabet.h"

#define TEXT_MAX	(UINT32_MAX / 8)

void cmx_tokenizer_free(struct cmx_tokenizer *t)
{
	cmx_vocabulary_free(&t->vocab);
	cmx_merges_free(&t->merges);
	cmx_pretokenizer_free(&t->pre);
	free(t->chat_template);
	t->chat_template = NULL;
}

void cmx_tokenizer_add_end(struct cmx_tokenizer *t, uint32_t id)
{
	if (id != CMX_NO_TOKEN && !cmx_tokenizer_is_end(t, id) && t->n_ends < CMX_TOKENIZER_ENDS)
		t->end[t->n_ends++] = id;
}

bool cmx_tokenizer_is_end(const struct cmx_tokenizer *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->n_ends; i++) {
		if (t->end[i] == id)
			return true;
	}
	return false;
}

static int merge_failed(uint64_t rank, const char *line, size_t len, const char *why,
			struct cmx_infer_err *err)
{
	return cmx_infer_fail(err, -EINVAL, "merge %" PRIu64 " '%.*s' %s", rank,
			      (int)(len < 64 ? len : 64), line, why);
}

/* The pair side by side in the byte alphabet: each side and both together must be tokens. */
static int add_pair(struct cmx_tokenizer *t, uint64_t rank, const char *pair, size_t left_len,
		    size_t len, struct cmx_infer_err *err)
{
	/* Bytes are at most as many as their characters. */
	char *bytes = malloc(len + 1);
	int64_t n, left;
	int ret = 0;

	if (!bytes)
		return cmx_infer_fail(err, -ENOMEM, "no memory for merge %" PRIu64, rank);
	left = cmx_alphabet_bytes(pair, left_len, bytes);
	n = cmx_alphabet_bytes(pair, len, bytes);
	if (left < 0 || n < 0) {
		ret = merge_failed(rank, pair, len, "is not in the byte-level alphabet", err);
	} else {
		uint32_t l = cmx_vocabulary_find(&t->vocab, bytes, (size_t)left);
		uint32_t r = cmx_vocabulary_find(&t->vocab, bytes + left, (size_t)(n - left));
		uint32_t both = cmx_vocabulary_find(&t->vocab, bytes, (size_t)n);

		if (l == CMX_NO_TOKEN || r == CMX_NO_TOKEN || both == CMX_NO_TOKEN)
			ret = merge_failed(rank, pair, len,
					   "has a side or a result that is no token", err);
		else if (cmx_merges_add(&t->merges, l, r, both))
			ret = merge_failed(rank, pair, len, "is there twice", err);
	}
	free(bytes);
	return ret;
}

int cmx_tokenizer_add_merge(struct cmx_tokenizer *t, uint64_t rank, const char *left,
			    size_t left_len, const char *right, size_t right_len,
			    struct cmx_infer_err *err)
{
	char *pair = malloc(left_len + right_len + 1);
	int ret;

	if (!pair)
		return cmx_infer_fail(err, -ENOMEM, "no memory for merge %" PRIu64, rank);
	memcpy(pair, left, left_len);
	memcpy(pair + left_len, right, right_len);
	ret = add_pair(t, rank, pair, left_len, left_len + right_len, err);
	free(pair);
	return ret;
}

int cmx_tokenizer_add_merge_line(struct cmx_tokenizer *t, uint64_t rank, const char *line,
				 size_t len, struct cmx_infer_err *err)
{
	const char *space = memchr(line, ' ', len);
	size_t left_len = space ? (size_t)(space - line) : 0;

	if (!space || memchr(space + 1, ' ', len - left_len - 1))
		return merge_failed(rank, line, len, "is not two words with a space between", err);
	return cmx_tokenizer_add_merge(t, rank, line, left_len, space + 1, len - left_len - 1,
				       err);
}

int cmx_ids_push(struct cmx_ids *ids, uint32_t id, struct cmx_infer_err *err)
{
	if (ids->n == ids->cap) {
		uint32_t cap = ids->cap ? 2 * ids->cap : 256;
		uint32_t *grown = realloc(ids->id, cap * sizeof(*grown));

		if (!grown)
			return cmx_infer_fail(err, -ENOMEM, "no memory for %u tokens", cap);
		ids->id = grown;
		ids->cap = cap;
	}
	ids->id[ids->n++] = id;
	return 0;
}

void cmx_ids_free(struct cmx_ids *ids)
{
	free(ids->id);
	*ids = (struct cmx_ids){ 0 };
}

/* All of one text; the buffers serve every stretch and word of it. */
struct encoder {
	const struct cmx_tokenizer *t;
	const char *text;
	struct cmx_merge_work work;
	struct cmx_char *chars;
	struct cmx_ids *ids;
	struct cmx_infer_err *err;
};

static int push_word(struct encoder *e, size_t at, size_t len)
{
	const struct cmx_tokenizer *t = e->t;
	uint32_t whole = CMX_NO_TOKEN;
	int ret = cmx_merge_work_reserve(&e->work, len, e->err);

	if (ret)
		return ret;
	if (t->ignore_merges)
		whole = cmx_vocabulary_find(&t->vocab, e->text + at, len);
	if (whole != CMX_NO_TOKEN)
		return cmx_ids_push(e->ids, whole, e->err);
	for (size_t i = 0; i < len; i++) {
		uint8_t byte = (uint8_t)e->text[at + i];

		e->work.id[i] = t->vocab.byte_id[byte];
		if (e->work.id[i] == CMX_NO_TOKEN)
			return cmx_infer_fail(e->err, -EINVAL,
					      "text byte %zu is 0x%02x, which no token stands for",
					      at + i, byte);
	}
	len = cmx_merges_apply(&t->merges, &e->work, len);
	for (size_t i = 0; i < len && !ret; i++)
		ret = cmx_ids_push(e->ids, e->work.id[i], e->err);
	return ret;
}

/* Text without literals. */
static int push_stretch(struct encoder *e, size_t at, size_t len)
{
	size_t n = cmx_pretokenizer_cut(&e->t->pre, e->text + at, len, e->chars);
	size_t word = at, end = at;
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		if (e->chars[i].cut && end > word) {
			ret = push_word(e, word, end - word);
			word = end;
		}
		end += e->chars[i].len;
	}
	return ret || end == word ? ret : push_word(e, word, end - word);
}

static int push_text(struct encoder *e, size_t len, bool control)
{
	const struct cmx_vocabulary *v = &e->t->vocab;
	size_t from = 0, at = 0;
	int ret = 0;

	while (at < len && !ret) {
		uint32_t id = cmx_vocabulary_match(v, e->text + at, len - at, control);

		if (id == CMX_NO_TOKEN) {
			at++;
			continue;
		}
		ret = push_stretch(e, from, at - from);
		if (!ret)
			ret = cmx_ids_push(e->ids, id, e->err);
		at += v->token[id].len;
		from = at;
	}
	return ret ? ret : push_stretch(e, from, len - from);
}

int cmx_tokenizer_append(const struct cmx_tokenizer *t, const char *text, size_t len,
			 bool control, struct cmx_ids *ids, struct cmx_infer_err *err)
{
	struct encoder e = { .t = t, .text = text, .ids = ids, .err = err };
	int ret;

	if (len > TEXT_MAX)
		return cmx_infer_fail(err, -E2BIG, "text of %zu bytes, the limit is %u", len,
				      TEXT_MAX);
	e.chars = malloc((len + 1) * sizeof(*e.chars));
	if (!e.chars)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %zu characters", len);
	ret = push_text(&e, len, control);
	cmx_merge_work_free(&e.work);
	free(e.chars);
	return ret;
}

int cmx_tokenizer_encode(const struct cmx_tokenizer *t, const char *text, size_t len,
			 bool control, uint32_t **ids, uint32_t *n, struct cmx_infer_err *err)
{
	struct cmx_ids out = { 0 };
	int ret = t->add_bos ? cmx_ids_push(&out, t->bos, err) : 0;

	if (!ret)
		ret = cmx_tokenizer_append(t, text, len, control, &out, err);
	if (ret) {
		cmx_ids_free(&out);
		return ret;
	}
	*ids = out.id;
	*n = out.n;
	return 0;
}

const char *cmx_tokenizer_bytes(const struct cmx_tokenizer *t, uint32_t id, uint32_t *len)
{
	const struct cmx_token *x = id < t->vocab.n ? &t->vocab.token[id] : NULL;

	*len = x && x->kind != CMX_TOKEN_CONTROL ? x->len : 0;
	return *len ? t->vocab.pool + x->at : NULL;
}
