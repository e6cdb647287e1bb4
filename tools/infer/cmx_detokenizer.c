// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_detokenizer.h"

#include <string.h>

#include "cmx_utf8.h"

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

	if (s->n && !cmx_utf8_continues(s->held, s->n, byte))
		n = cmx_text_end(s, out);
	if (!s->n && !cmx_utf8_length(byte))
		return n + put_replacement(out + n);
	s->held[s->n++] = byte;
	if (s->n < cmx_utf8_length(s->held[0]))
		return n;
	memcpy(out + n, s->held, s->n);
	n += s->n;
	s->n = 0;
	return n;
}

int cmx_detokenizer_init(struct cmx_detokenizer *d, const struct cmx_tokenizer *tok,
			 const char *const *stop, uint32_t n, cmx_text_sink sink, void *arg,
			 struct cmx_infer_err *err)
{
	*d = (struct cmx_detokenizer){ .tok = tok, .sink = sink, .arg = arg };
	return cmx_stop_strings_init(&d->stop, stop, n, err);
}

void cmx_detokenizer_free(struct cmx_detokenizer *d)
{
	cmx_stop_strings_free(&d->stop);
}

static void give(struct cmx_detokenizer *d, const char *s, uint32_t n)
{
	char out[CMX_TEXT_MAX];

	for (uint32_t i = 0; i < n; i++) {
		uint32_t got = cmx_text_put(&d->text, (uint8_t)s[i], out);

		if (got)
			d->sink(d->arg, out, got);
	}
}

bool cmx_detokenizer_put(struct cmx_detokenizer *d, uint32_t id)
{
	char sure[CMX_STOP_STRING_BYTES];
	uint32_t len, n;
	const char *b = cmx_tokenizer_bytes(d->tok, id, &len);

	for (uint32_t i = 0; i < len && !d->stopped; i++) {
		d->stopped = cmx_stop_strings_put(&d->stop, b[i], sure, &n);
		give(d, sure, n);
	}
	return d->stopped;
}

void cmx_detokenizer_end(struct cmx_detokenizer *d)
{
	char rest[CMX_STOP_STRING_BYTES];
	uint32_t n = cmx_stop_strings_end(&d->stop, rest);

	give(d, rest, n);
	n = cmx_text_end(&d->text, rest);
	if (n)
		d->sink(d->arg, rest, n);
}
