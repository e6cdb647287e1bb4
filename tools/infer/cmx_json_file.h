/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON files of models, read with limits. */
#ifndef CMX_JSON_FILE_H
#define CMX_JSON_FILE_H

#include <stdint.h>

#include <jansson.h>

#include "cmx_infer_err.h"

/*
 * The object that the file holds, json_decref() it. -ENOENT if there is no such
 * file, -EFBIG if it has more than @max bytes; -EINVAL names what is wrong with it.
 */
int cmx_json_file_read(const char *path, uint64_t max, json_t **root, struct cmx_infer_err *err);
/* The same, for callers that name the file in errors themselves. */
int cmx_json_file_load(const char *path, uint64_t max, json_t **root, struct cmx_infer_err *err);

#endif
