/* SPDX-License-Identifier: GPL-2.0-only */
/* The GPT-2 alphabet, in which vocabularies write each byte as one character. */
#ifndef CMX_BYTE_ALPHABET_H
#define CMX_BYTE_ALPHABET_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that @s stands for, to @out (NULL to count). -1: not of the alphabet. */
int64_t cmx_alphabet_bytes(const char *s, size_t len, char *out);
/* The byte of a token like <0x41>, -1 if it is none. */
int cmx_alphabet_byte_token(const char *s, size_t len);

#endif
