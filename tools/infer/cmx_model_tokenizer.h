/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CMX_MODEL_TOKENIZER_H
#define CMX_MODEL_TOKENIZER_H

#include "cmx_model_source.h"
#include "cmx_tokenizer.h"

/* The tokenizer.json at @path; if it is NULL that of the folder, or of the GGUF file itself. */
int cmx_model_tokenizer(struct cmx_tokenizer *tok, const struct cmx_source *src, const char *path,
			struct cmx_infer_err *err);

#endif
