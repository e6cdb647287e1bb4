/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds strings that end a text, across any borders it comes in. */
#ifndef CMX_STOP_STRINGS_H
#define CMX_STOP_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmx_infer_err.h"

#define CMX_STOP_STRINGS_MAX	16
#define CMX_STOP_STRING_BYTES	1024

struct cmx_stop_string {
	const char *text;
	uint32_t len;
	uint32_t matched;	/* bytes of it that the text so far ends with */
	uint32_t *fall;		/* as many bytes of it, after a mismatch behind n of them */
};

struct cmx_stop_strings {
	struct cmx_stop_string s[CMX_STOP_STRINGS_MAX];
	uint32_t n;
	char held[CMX_STOP_STRING_BYTES];	/* text that may yet become a stop string */
	uint32_t n_held;
};

/* The texts must live as long. */
int cmx_stop_strings_init(struct cmx_stop_strings *m, const char *const *text, uint32_t n,
			  struct cmx_infer_err *err);
void cmx_stop_strings_free(struct cmx_stop_strings *m);

/*
 * The next byte. Puts what is certainly text to @out, room for
 * CMX_STOP_STRING_BYTES, and its length to *n. True if a stop string is
 * complete: neither it nor anything after it is text.
 */
bool cmx_stop_strings_put(struct cmx_stop_strings *m, char byte, char *out, uint32_t *n);
/* The text is over: what was held back. Returns its length. */
uint32_t cmx_stop_strings_end(struct cmx_stop_strings *m, char *out);

#endif
