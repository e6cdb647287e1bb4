// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_byte_alphabet.h"

#include <stdbool.h>
#include <string.h>

#include "cmx_utf8.h"

/* Printable Latin-1 is itself; the 68 other bytes are U+0100 and up, in byte order. */
static bool is_plain(uint32_t b)
{
	return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
}

static int byte_of(uint32_t code)
{
	uint32_t next = 256;

	if (code < 256)
		return is_plain(code) ? (int)code : -1;
	for (uint32_t b = 0; b < 256; b++) {
		if (is_plain(b))
			continue;
		if (next++ == code)
			return (int)b;
	}
	return -1;
}

int64_t cmx_alphabet_bytes(const char *s, size_t len, char *out)
{
	int64_t n = 0;

	for (size_t i = 0; i < len;) {
		uint32_t code;
		uint32_t step = cmx_utf8_next((const uint8_t *)s + i, len - i, &code);
		int b = byte_of(code);

		if (b < 0)
			return -1;
		if (out)
			out[n] = (char)b;
		n++;
		i += step;
	}
	return n;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int cmx_alphabet_byte_token(const char *s, size_t len)
{
	int hi, lo;

	if (len != 6 || memcmp(s, "<0x", 3) || s[5] != '>')
		return -1;
	hi = hex_digit(s[3]);
	lo = hex_digit(s[4]);
	return hi < 0 || lo < 0 ? -1 : hi << 4 | lo;
}
