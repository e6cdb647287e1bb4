// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_split.h"
#include "cmx_utf8.h"

const char cmx_split_v3_pattern[] =
	"[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+"
	"|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
	"| ?[\\p{P}\\p{S}]+[\r\n]*"
	"|\\s*[\r\n]+"
	"|\\s+(?!\\S)"
	"|\\s+";

struct pattern {
	const uint8_t *s;
	size_t len;
	size_t at;
};

static bool ended(const struct pattern *p)
{
	return p->at == p->len;
}

/* Steps over @word if it is next. */
static bool take(struct pattern *p, const char *word)
{
	size_t n = strlen(word);

	if (p->len - p->at < n || memcmp(p->s + p->at, word, n))
		return false;
	p->at += n;
	return true;
}

/* \p{X}, \s: a bit of classes, 0 if none is next. */
static uint32_t take_class(struct pattern *p)
{
	static const struct {
		const char *word;
		enum cmx_unicode_class class;
	} names[] = {
		{ "\\p{L}", CMX_UNICODE_LETTER }, { "\\p{M}", CMX_UNICODE_MARK },
		{ "\\p{N}", CMX_UNICODE_NUMBER }, { "\\p{P}", CMX_UNICODE_PUNCT },
		{ "\\p{S}", CMX_UNICODE_SYMBOL }, { "\\s", CMX_UNICODE_SPACE },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (take(p, names[i].word))
			return 1u << names[i].class;
	}
	return 0;
}

/* One character of a bracket; a backslash makes the next mark literal, or CR, LF, tab. */
static bool take_code(struct pattern *p, uint32_t *code)
{
	static const char letters[] = "rnt", codes[] = "\r\n\t";
	bool escaped = take(p, "\\");
	const char *letter;

	if (ended(p))
		return false;
	p->at += cmx_utf8_next(p->s + p->at, p->len - p->at, code);
	if (!escaped)
		return *code != '[' && *code != CMX_UTF8_REPLACEMENT;
	letter = *code < 128 && *code ? strchr(letters, (int)*code) : NULL;
	if (letter)
		*code = (uint8_t)codes[letter - letters];
	/* Of the letters and digits, no other escape is known. */
	return letter || (*code < 128 && cmx_unicode_class(*code) != CMX_UNICODE_LETTER &&
			  cmx_unicode_class(*code) != CMX_UNICODE_NUMBER);
}

static bool take_range(struct pattern *p, struct cmx_code_range *r)
{
	if (!take_code(p, &r->first))
		return false;
	r->last = r->first;
	/* A dash before the end is itself. */
	if (p->len - p->at < 2 || p->s[p->at] != '-' || p->s[p->at + 1] == ']')
		return true;
	p->at++;
	return take_code(p, &r->last) && r->last >= r->first;
}

static int compare_ranges(const void *a, const void *b)
{
	const struct cmx_code_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static void merge_ranges(struct cmx_split *s)
{
	uint32_t n = 0;

	qsort(s->range, s->n_ranges, sizeof(*s->range), compare_ranges);
	for (uint32_t i = 1; i < s->n_ranges; i++) {
		if (s->range[i].first > s->range[n].last)
			s->range[++n] = s->range[i];
		else if (s->range[i].last > s->range[n].last)
			s->range[n].last = s->range[i].last;
	}
	s->n_ranges = n + 1;
}

static int take_bracket(struct pattern *p, struct cmx_split *s)
{
	/* Each character can be a range, but no more than that. */
	s->range = calloc(p->len, sizeof(*s->range));
	if (!s->range)
		return -ENOMEM;
	if (take(p, "^"))
		return -ENOTSUP;
	while (!ended(p) && !take(p, "]")) {
		uint32_t bit = take_class(p);

		s->classes |= bit;
		if (!bit && !take_range(p, &s->range[s->n_ranges++]))
			return -ENOTSUP;
	}
	if (p->s[p->at - 1] != ']' || (!s->n_ranges && !s->classes))
		return -ENOTSUP;
	if (s->n_ranges)
		merge_ranges(s);
	return 0;
}

static bool take_number(struct pattern *p, uint32_t *val)
{
	size_t start = p->at;

	*val = 0;
	while (!ended(p) && p->s[p->at] >= '0' && p->s[p->at] <= '9' && *val < 1000)
		*val = *val * 10 + (uint32_t)(p->s[p->at++] - '0');
	return p->at > start && *val;
}

static int take_count(struct pattern *p, struct cmx_split *s)
{
	s->min = 1;
	s->max = 1;
	if (take(p, "+")) {
		s->max = UINT32_MAX;
		return 0;
	}
	if (!take(p, "{"))
		return 0;
	if (!take_number(p, &s->min) || !take(p, ",") || !take_number(p, &s->max) ||
	    !take(p, "}") || s->max < s->min)
		return -ENOTSUP;
	return 0;
}

static int parse_run(struct pattern *p, struct cmx_split *s)
{
	int ret = 0;

	s->space_first = take(p, "\\s?");
	if (take(p, "["))
		ret = take_bracket(p, s);
	else
		s->classes = take_class(p);
	if (!ret && !s->classes && !s->n_ranges)
		ret = -ENOTSUP;
	if (!ret)
		ret = take_count(p, s);
	return ret || ended(p) ? ret : -ENOTSUP;
}

/* Line ends may stand in a pattern as they are or as escapes: one form to compare. */
static bool same_pattern(const char *pattern, size_t len, const char *want)
{
	size_t i = 0;

	for (; *want; want++) {
		const char *escape = *want == '\r' ? "\\r" : *want == '\n' ? "\\n" : NULL;

		if (i < len && pattern[i] == *want)
			i++;
		else if (escape && len - i >= 2 && !memcmp(pattern + i, escape, 2))
			i += 2;
		else
			return false;
	}
	return i == len;
}

int cmx_split_init(struct cmx_split *s, const char *pattern, size_t len,
		   struct cmx_infer_err *err)
{
	struct pattern p = { (const uint8_t *)pattern, len, 0 };
	int ret = 0;

	*s = (struct cmx_split){ .kind = CMX_SPLIT_RUN };
	if (same_pattern(pattern, len, cmx_split_v3_pattern))
		s->kind = CMX_SPLIT_V3;
	else if (same_pattern(pattern, len, "\\s+$"))
		s->kind = CMX_SPLIT_TAIL;
	else
		ret = parse_run(&p, s);
	if (!ret)
		return 0;
	cmx_split_free(s);
	if (ret == -ENOMEM)
		return cmx_infer_fail(err, ret, "no memory for a pattern of %zu bytes", len);
	return cmx_infer_fail(err, ret, "pattern '%.*s' is none of those this program knows",
			      (int)(len < 120 ? len : 120), pattern);
}

void cmx_split_free(struct cmx_split *s)
{
	free(s->range);
	s->range = NULL;
}
