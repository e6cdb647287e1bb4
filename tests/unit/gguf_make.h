/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes GGUF files, good and bad ones, in memory. */
#ifndef GGUF_MAKE_H
#define GGUF_MAKE_H

#include <stddef.h>
#include <stdint.h>

#include "cmx_gguf.h"

struct gguf_make {
	uint8_t buf[1 << 16];
	size_t len;
};

void make_bytes(struct gguf_make *m, const void *data, size_t len);
void make_u8(struct gguf_make *m, uint8_t v);
void make_u32(struct gguf_make *m, uint32_t v);
void make_u64(struct gguf_make *m, uint64_t v);
void make_f32(struct gguf_make *m, float v);
void make_string(struct gguf_make *m, const char *s);
/* Overwrites bytes at @at. */
void make_patch(struct gguf_make *m, size_t at, const void *data, size_t len);

void make_header(struct gguf_make *m, uint64_t n_tensors, uint64_t n_kv);
void make_kv_u32(struct gguf_make *m, const char *key, uint32_t v);
void make_kv_f32(struct gguf_make *m, const char *key, float v);
void make_kv_bool(struct gguf_make *m, const char *key, uint8_t v);
void make_kv_string(struct gguf_make *m, const char *key, const char *v);
/* Key, type and element count; the elements follow. */
void make_kv_array(struct gguf_make *m, const char *key, uint32_t type, uint64_t n);
/* @dims ends with 0. */
void make_tensor(struct gguf_make *m, const char *name, uint32_t type, const uint64_t *dims,
		 uint64_t offset);
void make_pad(struct gguf_make *m, size_t align);

/* The bytes as a file, close() it; or opened by the reader. */
int make_file(const struct gguf_make *m, size_t len);
int make_open(const struct gguf_make *m, size_t len, struct cmx_gguf **g,
	      struct cmx_infer_err *err);

#endif
