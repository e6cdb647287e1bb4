/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes GGUF version 3. Metadata and tensors are named first, then comes the
 * header, then each tensor's bytes in the same order, each padded.
 */
#ifndef CMX_GGUF_WRITER_H
#define CMX_GGUF_WRITER_H

#include <stdio.h>

#include "cmx_gguf.h"

struct cmx_gguf_part {
	uint8_t *buf;
	size_t len;
	size_t room;
};

struct cmx_gguf_writer {
	FILE *f;
	struct cmx_gguf_part kv, tensor;
	uint64_t n_kv, n_tensors;
	uint64_t offset;	/* of the next tensor */
	uint32_t alignment;
	bool no_memory;
};

/* @alignment is what general.alignment of the file will say, or its default. */
void cmx_gguf_writer_init(struct cmx_gguf_writer *w, FILE *f, uint32_t alignment);
void cmx_gguf_writer_fini(struct cmx_gguf_writer *w);

/* A key, its type and its value as another file has them. */
void cmx_gguf_put_bytes(struct cmx_gguf_writer *w, const void *kv, uint64_t len);
void cmx_gguf_put_string(struct cmx_gguf_writer *w, const char *key, const char *val);
void cmx_gguf_put_u32(struct cmx_gguf_writer *w, const char *key, uint32_t val);
void cmx_gguf_put_f32(struct cmx_gguf_writer *w, const char *key, float val);
void cmx_gguf_put_tensor(struct cmx_gguf_writer *w, const char *name, enum cmx_tensor_type type,
			 uint32_t n_dims, const uint64_t *dims);

/* Also reports what failed in those above. */
int cmx_gguf_write_header(struct cmx_gguf_writer *w, struct cmx_infer_err *err);
int cmx_gguf_write_data(struct cmx_gguf_writer *w, const void *data, uint64_t len,
			struct cmx_infer_err *err);
/* Ends a tensor of @size bytes. */
int cmx_gguf_write_pad(struct cmx_gguf_writer *w, uint64_t size, struct cmx_infer_err *err);

#endif
