// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_stop_strings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* How much of @s is matched after @matched bytes of it and @byte. */
static uint32_t step(const struct cmx_stop_string *s, uint32_t matched, char byte)
{
	while (matched && s->text[matched] != byte)
		matched = s->fall[matched];
	return matched + (s->text[matched] == byte);
}

/* fall[n]: the longest proper prefix of s that its first n bytes end with. */
static int prepare(struct cmx_stop_string *s, struct cmx_infer_err *err)
{
	s->fall = calloc(s->len + 1ull, sizeof(*s->fall));
	if (!s->fall)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a stop string");
	for (uint32_t i = 1; i < s->len; i++)
		s->fall[i + 1] = step(s, s->fall[i], s->text[i]);
	return 0;
}

int cmx_stop_strings_init(struct cmx_stop_strings *m, const char *const *text, uint32_t n,
			  struct cmx_infer_err *err)
{
	int ret = 0;

	memset(m, 0, sizeof(*m));
	if (n > CMX_STOP_STRINGS_MAX)
		return cmx_infer_fail(err, -E2BIG, "%u stop strings, the limit is %d", n,
				      CMX_STOP_STRINGS_MAX);
	for (uint32_t i = 0; i < n && !ret; i++) {
		size_t len = strlen(text[i]);

		if (!len || len > CMX_STOP_STRING_BYTES) {
			ret = cmx_infer_fail(err, -EINVAL,
					     "a stop string has %zu bytes, must be 1..%d", len,
					     CMX_STOP_STRING_BYTES);
			break;
		}
		m->s[i].text = text[i];
		m->s[i].len = (uint32_t)len;
		m->n++;
		ret = prepare(&m->s[i], err);
	}
	if (ret)
		cmx_stop_strings_free(m);
	return ret;
}

void cmx_stop_strings_free(struct cmx_stop_strings *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		free(m->s[i].fall);
	m->n = 0;
}

static void reset(struct cmx_stop_strings *m)
{
	for (uint32_t i = 0; i < m->n; i++)
		m->s[i].matched = 0;
}

static uint32_t release(struct cmx_stop_strings *m, uint32_t n, char *out)
{
	memcpy(out, m->held, n);
	m->n_held -= n;
	memmove(m->held, m->held + n, m->n_held);
	return n;
}

bool cmx_stop_strings_put(struct cmx_stop_strings *m, char byte, char *out, uint32_t *n)
{
	uint32_t longest = 0;
	bool complete = false;

	/* Room: less than a whole stop string is held. */
	m->held[m->n_held++] = byte;
	for (uint32_t i = 0; i < m->n; i++) {
		struct cmx_stop_string *s = &m->s[i];

		s->matched = step(s, s->matched, byte);
		/* Of those complete here the longest starts first. */
		if (s->matched == s->len && (!complete || s->len > longest)) {
			complete = true;
			longest = s->len;
		} else if (!complete && s->matched > longest) {
			longest = s->matched;
		}
	}
	*n = release(m, m->n_held - longest, out);
	if (complete) {
		m->n_held = 0;
		reset(m);
	}
	return complete;
}

uint32_t cmx_stop_strings_end(struct cmx_stop_strings *m, char *out)
{
	reset(m);
	return release(m, m->n_held, out);
}
