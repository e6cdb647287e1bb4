/* SPDX-License-Identifier: GPL-2.0-only */
/* JSON files of models, read with limits. */
#ifndef CMX_JSON_FILE_H
#define CMX_JSON_FILE_H

#include <stddef.h>

#include <jansson.h>

#include "cmx_infer_err.h"

/*
 * The object that the file holds, json_decref() it. -ENOENT if there is no such
 * file; -EINVAL names what is wrong with it. At most @max bytes are read.
 */
int cmx_json_file_read(const char *path, size_t max, json_t **root, struct cmx_infer_err *err);

#endif
