/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reader for safetensors files. It trusts nothing in the header: the tensors
 * must fill the file behind it without a gap, and each must be as large as its
 * type and shape say.
 */
#ifndef CMX_SAFETENSORS_H
#define CMX_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "cmx_infer_err.h"
#include "cmx_weight_file.h"

#define CMX_SAFETENSORS_MAX_DIMS 8

/* The number formats that the engine takes; others may be in a file. */
enum cmx_dtype {
	CMX_DTYPE_OTHER,
	CMX_DTYPE_F32,
	CMX_DTYPE_F16,
	CMX_DTYPE_BF16,
	CMX_DTYPE_F8_E4M3,
};

struct cmx_safetensor {
	char *name;
	const char *dtype_name;
	enum cmx_dtype dtype;
	uint32_t n_dims;
	uint64_t dims[CMX_SAFETENSORS_MAX_DIMS];	/* slowest first */
	uint64_t offset;				/* from the start of the file */
	uint64_t size;					/* bytes */
};

struct cmx_safetensors;

/* Errors name the tensor and the field, not the file. */
int cmx_safetensors_open(const char *path, struct cmx_safetensors **out,
			 struct cmx_infer_err *err);
int cmx_safetensors_open_fd(int fd, struct cmx_safetensors **out, struct cmx_infer_err *err);
void cmx_safetensors_close(struct cmx_safetensors *s);

const struct cmx_weight_file *cmx_safetensors_file(const struct cmx_safetensors *s);
size_t cmx_safetensors_count(const struct cmx_safetensors *s);
/* In the order of their offsets. */
const struct cmx_safetensor *cmx_safetensors_at(const struct cmx_safetensors *s, size_t i);

#endif
