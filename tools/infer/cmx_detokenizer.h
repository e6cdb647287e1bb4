/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ids to text, as they come. Only whole characters come out: the first bytes of
 * one wait for the rest, bytes that are part of none become U+FFFD. Text that
 * may be the start of a stop string waits too.
 */
#ifndef CMX_DETOKENIZER_H
#define CMX_DETOKENIZER_H

#include "cmx_stop_strings.h"
#include "cmx_tokenizer.h"

#define CMX_TEXT_MAX 16		/* most bytes one byte can release */

/* Holds back the bytes of an unfinished character. */
struct cmx_text_stream {
	uint8_t held[4];
	uint32_t n;
};

/*
 * Next byte of the text. Writes whole characters only, and U+FFFD for each byte
 * that is part of none, to @out of CMX_TEXT_MAX bytes. Returns how many.
 */
uint32_t cmx_text_put(struct cmx_text_stream *s, uint8_t byte, char *out);
/* The text is over: what is still held back was no character. */
uint32_t cmx_text_end(struct cmx_text_stream *s, char *out);

/* Takes whole characters. */
typedef void (*cmx_text_sink)(void *arg, const char *s, uint32_t n);

struct cmx_detokenizer {
	const struct cmx_tokenizer *tok;
	struct cmx_stop_strings stop;
	struct cmx_text_stream text;
	cmx_text_sink sink;
	void *arg;
	bool stopped;
};

/* The tokenizer and the @n stop strings must live as long. */
int cmx_detokenizer_init(struct cmx_detokenizer *d, const struct cmx_tokenizer *tok,
			 const char *const *stop, uint32_t n, cmx_text_sink sink, void *arg,
			 struct cmx_infer_err *err);
void cmx_detokenizer_free(struct cmx_detokenizer *d);
/* True once a stop string was complete; nothing comes out from then on. */
bool cmx_detokenizer_put(struct cmx_detokenizer *d, uint32_t id);
/* The text is over: gives out what was held back. */
void cmx_detokenizer_end(struct cmx_detokenizer *d);

#endif
