/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays in user memory whose elements can grow: {stride, count, pointer}. */
#ifndef CMX_ARRAY_H
#define CMX_ARRAY_H

#include <linux/types.h>

#include "cmx_drm.h"

struct cmx_file;

#define CMX_ARRAY_MAX_STRIDE	4096

/*
 * cmx_array_check() - whether an array's stride is usable.
 * @file: client
 * @field: UAPI name of the stride
 * @array: array; any stride will do when it is empty
 * @min: bytes of the element's first version
 */
int cmx_array_check(struct cmx_file *file, const char *field, const struct drm_cmx_array *array,
		    size_t min);
/* cmx_array_get() - copy element @index in; -E2BIG for a non-zero unknown tail. */
int cmx_array_get(const struct drm_cmx_array *array, u32 index, void *element, size_t size);
/* cmx_array_put() - copy element @index out; bytes past @size are cleared. */
int cmx_array_put(const struct drm_cmx_array *array, u32 index, const void *element, size_t size);

#endif
