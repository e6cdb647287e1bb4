/* SPDX-License-Identifier: GPL-2.0-only */
/* Characters of UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF. */
#ifndef CMX_UTF8_H
#define CMX_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CMX_UTF8_REPLACEMENT	0xfffdu

/* Length of the character that starts with @b, 0 if none does. */
uint32_t cmx_utf8_length(uint8_t b);
/* Can @b follow the first @n bytes of a character, @s? */
bool cmx_utf8_continues(const uint8_t *s, uint32_t n, uint8_t b);
/*
 * The character at @s, at least one byte. Returns its length; a byte that is
 * part of no character counts as one of its own, U+FFFD.
 */
uint32_t cmx_utf8_next(const uint8_t *s, size_t len, uint32_t *code);

#endif
