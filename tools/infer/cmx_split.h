/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One step of a pre-tokeniser: a pattern whose matches, and what lies between
 * them, become pieces of their own. Patterns are those that DeepSeek's
 * tokenizers are written with, not regular expressions at large:
 *
 *	[\s?] ATOM [+ | {MIN,MAX} | $ after \s+]
 *
 * where ATOM is \s, \p{L}, \p{M}, \p{N}, \p{P}, \p{S} or a bracket of
 * characters and ranges; and DeepSeek-V3's alternation of words, punctuation
 * and white space, as a whole.
 */
#ifndef CMX_SPLIT_H
#define CMX_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmx_infer_err.h"
#include "cmx_unicode.h"

/* A character of the text: code, class, length in bytes, and the cut before it. */
struct cmx_char {
	uint32_t code : 21;
	uint32_t class : 3;
	uint32_t len : 3;
	uint32_t cut : 1;
};

struct cmx_code_range {
	uint32_t first;
	uint32_t last;
};

enum cmx_split_kind {
	CMX_SPLIT_RUN,		/* a run of characters of a set */
	CMX_SPLIT_TAIL,		/* white space at the end of a piece */
	CMX_SPLIT_V3,		/* DeepSeek-V3's alternation */
};

struct cmx_split {
	enum cmx_split_kind kind;
	bool space_first;	/* the run may start with one white space */
	uint32_t min;		/* characters of the set in a match */
	uint32_t max;
	uint32_t classes;	/* bit per enum cmx_unicode_class */
	struct cmx_code_range *range;	/* ascending, apart */
	uint32_t n_ranges;
};

/* -ENOTSUP: not such a pattern; err shows it. */
int cmx_split_init(struct cmx_split *s, const char *pattern, size_t len,
		   struct cmx_infer_err *err);
void cmx_split_free(struct cmx_split *s);
/* Cuts the piece c[from..to) further. */
void cmx_split_apply(const struct cmx_split *s, struct cmx_char *c, size_t from, size_t to);

/* The pattern that is CMX_SPLIT_V3. */
extern const char cmx_split_v3_pattern[];

#endif
