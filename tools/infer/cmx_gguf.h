/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reader for GGUF version 3 model files. It trusts nothing in the file: each
 * count, length, dimension and offset is checked before it is used.
 */
#ifndef CMX_GGUF_H
#define CMX_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmx_infer_err.h"
#include "cmx_tensor_type.h"
#include "cmx_weight_file.h"

/* Value types of the metadata, numbered as in the file. */
enum cmx_gguf_type {
	CMX_GGUF_U8 = 0,
	CMX_GGUF_I8 = 1,
	CMX_GGUF_U16 = 2,
	CMX_GGUF_I16 = 3,
	CMX_GGUF_U32 = 4,
	CMX_GGUF_I32 = 5,
	CMX_GGUF_F32 = 6,
	CMX_GGUF_BOOL = 7,
	CMX_GGUF_STRING = 8,
	CMX_GGUF_ARRAY = 9,
	CMX_GGUF_U64 = 10,
	CMX_GGUF_I64 = 11,
	CMX_GGUF_F64 = 12,
};

#define CMX_GGUF_MAX_DIMS	4
#define CMX_GGUF_MAX_NAME	64

struct cmx_gguf_tensor {
	char name[CMX_GGUF_MAX_NAME + 1];
	enum cmx_tensor_type type;
	uint32_t n_dims;
	uint64_t dims[CMX_GGUF_MAX_DIMS];	/* fastest first; unused ones are 1 */
	uint64_t offset;			/* from the start of the file */
	uint64_t size;				/* bytes */
};

/* Walks the elements of a string array. */
struct cmx_gguf_strings {
	uint64_t count;
	uint64_t next;		/* position in the header */
	uint64_t done;
};

struct cmx_gguf;

/* Regular files only; errors name the file. */
int cmx_gguf_open(const char *path, struct cmx_gguf **out, struct cmx_infer_err *err);
/* Takes no ownership of @fd: the reader keeps a duplicate. */
int cmx_gguf_open_fd(int fd, struct cmx_gguf **out, struct cmx_infer_err *err);
void cmx_gguf_close(struct cmx_gguf *g);

/*
 * Metadata by key. -ENOENT if absent (err says which key), -EINVAL if the
 * value has another type.
 */
bool cmx_gguf_has(const struct cmx_gguf *g, const char *key);
int cmx_gguf_u32(const struct cmx_gguf *g, const char *key, uint32_t *val,
		 struct cmx_infer_err *err);
int cmx_gguf_f32(const struct cmx_gguf *g, const char *key, float *val, struct cmx_infer_err *err);
int cmx_gguf_bool(const struct cmx_gguf *g, const char *key, bool *val, struct cmx_infer_err *err);
/* The text is not terminated and lives as long as the reader. */
int cmx_gguf_string(const struct cmx_gguf *g, const char *key, const char **val, uint64_t *len,
		    struct cmx_infer_err *err);
int cmx_gguf_strings(const struct cmx_gguf *g, const char *key, struct cmx_gguf_strings *it,
		     struct cmx_infer_err *err);
bool cmx_gguf_strings_next(const struct cmx_gguf *g, struct cmx_gguf_strings *it,
			   const char **val, uint64_t *len);
/* Little-endian 32-bit elements, not aligned. */
int cmx_gguf_i32_array(const struct cmx_gguf *g, const char *key, const uint8_t **val,
		       uint64_t *count, struct cmx_infer_err *err);

/* Metadata number @i < n, by key: its name, and with type and value as the file has it. */
struct cmx_gguf_entry {
	const char *key;	/* not terminated */
	uint64_t key_len;
	const uint8_t *bytes;	/* from the key's length on */
	uint64_t len;
};

uint64_t cmx_gguf_n_entries(const struct cmx_gguf *g);
struct cmx_gguf_entry cmx_gguf_entry_at(const struct cmx_gguf *g, uint64_t i);
uint32_t cmx_gguf_alignment(const struct cmx_gguf *g);

uint64_t cmx_gguf_n_tensors(const struct cmx_gguf *g);
const struct cmx_gguf_tensor *cmx_gguf_tensor_at(const struct cmx_gguf *g, uint64_t i);
const struct cmx_gguf_tensor *cmx_gguf_tensor(const struct cmx_gguf *g, const char *name);
/* Where the tensors' bytes are, at t->offset. */
const struct cmx_weight_file *cmx_gguf_file(const struct cmx_gguf *g);

#endif
