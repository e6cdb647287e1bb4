/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_RESTORE_H
#define CMX_RESTORE_H

#include <stdint.h>

/* A row of @k stored values of any type but I8 to floats. */
void cmx_restore_row(uint32_t type, const void *row, uint32_t k, float *out);

#endif
