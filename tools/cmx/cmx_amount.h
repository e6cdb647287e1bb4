/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Amounts as text: a number with its unit, four digits of it.
 */
#ifndef CMX_AMOUNT_H
#define CMX_AMOUNT_H

#include <stdint.h>

/* By value: good as an argument of printf(), `.text' lives to the end of the statement. */
struct cmx_amount {
	char text[32];
};

/* 1024 B is 1 KiB. */
struct cmx_amount cmx_amount_bytes(uint64_t bytes);
/* 1000 B/s is 1 kB/s. */
struct cmx_amount cmx_amount_rate(uint64_t bytes_per_s);
/* From "1 ps" to "1 s". */
struct cmx_amount cmx_amount_time(uint64_t ps);
/* "12.5 %". */
struct cmx_amount cmx_amount_permille(uint64_t permille);

/* @part in thousandths of @whole; 0 of nothing. */
uint64_t cmx_permille(uint64_t part, uint64_t whole);
/* bytes/s of @bytes in @ps; 0 in no time. */
uint64_t cmx_rate(uint64_t bytes, uint64_t ps);

#endif /* CMX_AMOUNT_H */
