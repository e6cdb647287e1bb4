/* SPDX-License-Identifier: GPL-2.0-only */
/* Models by name, without weights: their published config.json. */
#ifndef CMX_MODEL_PRESET_H
#define CMX_MODEL_PRESET_H

#include <jansson.h>

#include "cmx_infer_err.h"

/*
 * The config.json of a model: @what is the name of a preset, a file, or a folder
 * with such a file; json_decref() it. -ENOENT names the presets.
 */
int cmx_model_preset_load(const char *what, json_t **config, struct cmx_infer_err *err);
/* Their names: 0, 1, ... until NULL. */
const char *cmx_model_preset_name(size_t i);

#endif
