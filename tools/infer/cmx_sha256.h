/* SPDX-License-Identifier: GPL-2.0-only */
/* SHA-256 of bytes that come in pieces. */
#ifndef CMX_SHA256_H
#define CMX_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct cmx_sha256 {
	uint32_t state[8];
	uint64_t len;
	uint8_t block[64];
};

void cmx_sha256_init(struct cmx_sha256 *s);
void cmx_sha256_add(struct cmx_sha256 *s, const void *data, size_t n);
void cmx_sha256_end(struct cmx_sha256 *s, uint8_t digest[32]);

#endif
