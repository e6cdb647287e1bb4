/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks a model's files against the SHA256SUMS beside them. */
#ifndef CMX_CHECKSUM_H
#define CMX_CHECKSUM_H

#include "cmx_model_source.h"

/*
 * Every file the model consists of must be listed, as sha256sum(1) writes it,
 * and be what the list says. Reads them whole. @progress as cmx_load_options has
 * it, or NULL.
 */
int cmx_checksum_verify(const struct cmx_source *src,
			void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
			struct cmx_infer_err *err);

#endif
