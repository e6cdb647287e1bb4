/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lists of numbers as text, neighbours drawn together: "0-3,5,7-9".
 */
#ifndef CMX_RANGES_H
#define CMX_RANGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* @numbers in ascending order. */
void cmx_ranges_put(FILE *to, const uint32_t *numbers, size_t count);

#endif /* CMX_RANGES_H */
