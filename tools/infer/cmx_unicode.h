/* SPDX-License-Identifier: GPL-2.0-only */
/* Classes of characters, as far as tokenizers ask for them. */
#ifndef CMX_UNICODE_H
#define CMX_UNICODE_H

#include <stdint.h>

/* The major general categories; white space stands for all of White_Space. */
enum cmx_unicode_class {
	CMX_UNICODE_OTHER = 0,
	CMX_UNICODE_LETTER = 1,
	CMX_UNICODE_MARK = 2,
	CMX_UNICODE_NUMBER = 3,
	CMX_UNICODE_PUNCT = 4,
	CMX_UNICODE_SYMBOL = 5,
	CMX_UNICODE_SPACE = 6,
};

/* First code of a run << 3 | its class, ascending from code 0. */
extern const uint32_t cmx_unicode_table[];
extern const uint32_t cmx_unicode_table_len;

enum cmx_unicode_class cmx_unicode_class(uint32_t code);

#endif
