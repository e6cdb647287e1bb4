// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_split.h"

static uint32_t class_bit(const struct cmx_char *c)
{
	return 1u << c->class;
}

static bool is_space(const struct cmx_char *c)
{
	return c->class == CMX_UNICODE_SPACE;
}

static bool is_newline(const struct cmx_char *c)
{
	return c->code == '\r' || c->code == '\n';
}

static bool is_ascii_letter(const struct cmx_char *c)
{
	return (c->code >= 'A' && c->code <= 'Z') || (c->code >= 'a' && c->code <= 'z');
}

#define LETTER	(1u << CMX_UNICODE_LETTER)
#define MARK	(1u << CMX_UNICODE_MARK)
#define PUNCT	(1u << CMX_UNICODE_PUNCT)
#define SYMBOL	(1u << CMX_UNICODE_SYMBOL)

static bool in_set(const struct cmx_split *s, const struct cmx_char *c)
{
	uint32_t lo = 0, hi = s->n_ranges;

	if (s->classes & class_bit(c))
		return true;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (c->code < s->range[mid].first)
			hi = mid;
		else if (c->code > s->range[mid].last)
			lo = mid + 1;
		else
			return true;
	}
	return false;
}

static size_t run_of_classes(const struct cmx_char *c, size_t at, size_t to, uint32_t classes)
{
	while (at < to && (class_bit(&c[at]) & classes))
		at++;
	return at;
}

/* Each matcher: end of the match that starts at @at, or @at if none does. */

static size_t match_run(const struct cmx_split *s, const struct cmx_char *c, size_t at, size_t to)
{
	size_t start = at, end;

	/* White space of the set itself gives way to more of the set, or stays part of it. */
	if (s->space_first && is_space(&c[at]) && at + 1 < to && in_set(s, &c[at + 1]))
		start = at + 1;
	for (end = start; end < to && end - start < s->max && in_set(s, &c[end]);)
		end++;
	return end - start >= s->min ? end : at;
}

/* An ASCII punctuation mark and the ASCII letters after it. */
static size_t v3_mark_word(const struct cmx_char *c, size_t at, size_t to)
{
	size_t end = at + 1;

	if (c[at].code >= 128 || !(class_bit(&c[at]) & (PUNCT | SYMBOL)))
		return at;
	while (end < to && is_ascii_letter(&c[end]))
		end++;
	return end > at + 1 ? end : at;
}

/* Letters and marks, after one character that is no letter, punctuation, symbol or line end. */
static size_t v3_word(const struct cmx_char *c, size_t at, size_t to)
{
	size_t start = at, end;

	if (!(class_bit(&c[at]) & (LETTER | PUNCT | SYMBOL)) && !is_newline(&c[at]))
		start++;
	end = run_of_classes(c, start, to, LETTER | MARK);
	if (end > start)
		return end;
	/* A lone mark was taken for the character before: it is the word itself. */
	return class_bit(&c[at]) & MARK ? at + 1 : at;
}

/* Punctuation and symbols, after one space, with the line ends that follow. */
static size_t v3_marks(const struct cmx_char *c, size_t at, size_t to)
{
	size_t start = at + (c[at].code == ' '), end;

	end = run_of_classes(c, start, to, PUNCT | SYMBOL);
	if (end == start)
		return at;
	while (end < to && is_newline(&c[end]))
		end++;
	return end;
}

/* White space up to its last line end; else all but the last one before a word; else all. */
static size_t v3_space(const struct cmx_char *c, size_t at, size_t to)
{
	size_t end = run_of_classes(c, at, to, 1u << CMX_UNICODE_SPACE);

	for (size_t i = end; i > at; i--) {
		if (is_newline(&c[i - 1]))
			return i;
	}
	return end < to && end > at + 1 ? end - 1 : end;
}

static size_t match_v3(const struct cmx_char *c, size_t at, size_t to)
{
	size_t end = v3_mark_word(c, at, to);

	if (end == at)
		end = v3_word(c, at, to);
	if (end == at)
		end = v3_marks(c, at, to);
	return end == at ? v3_space(c, at, to) : end;
}

static void cut_tail(struct cmx_char *c, size_t from, size_t to)
{
	size_t at = to;

	while (at > from && is_space(&c[at - 1]))
		at--;
	if (at < to)
		c[at].cut = 1;
}

void cmx_split_apply(const struct cmx_split *s, struct cmx_char *c, size_t from, size_t to)
{
	if (s->kind == CMX_SPLIT_TAIL) {
		cut_tail(c, from, to);
		return;
	}
	for (size_t at = from; at < to;) {
		size_t end = s->kind == CMX_SPLIT_V3 ? match_v3(c, at, to) :
						       match_run(s, c, at, to);

		if (end == at) {
			at++;
			continue;
		}
		c[at].cut = 1;
		if (end < to)
			c[end].cut = 1;
		at = end;
	}
}
