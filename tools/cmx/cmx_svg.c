// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_svg.h"

void cmx_svg_text(FILE *to, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", to);
			break;
		case '>':
			fputs("&gt;", to);
			break;
		case '&':
			fputs("&amp;", to);
			break;
		default:
			/* Control characters are no XML. */
			fputc((unsigned char)*text < ' ' ? ' ' : *text, to);
		}
	}
}
