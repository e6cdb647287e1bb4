/* SPDX-License-Identifier: GPL-2.0-only */
/* A file that holds weights: read in bounded pieces, its page cache dropped behind. */
#ifndef CMX_WEIGHT_FILE_H
#define CMX_WEIGHT_FILE_H

#include <stdint.h>

#include "cmx_infer_err.h"

struct cmx_weight_file {
	uint64_t size;		/* when it was opened */
	int fd;
};

/* Regular files only. After a failure there is nothing to close. */
int cmx_weight_file_open(struct cmx_weight_file *f, const char *path, struct cmx_infer_err *err);
/* Keeps a duplicate of @fd. */
int cmx_weight_file_from_fd(struct cmx_weight_file *f, int fd, struct cmx_infer_err *err);
/* Harmless on one that failed to open. */
void cmx_weight_file_close(struct cmx_weight_file *f);

/* All @n bytes at @at; @what names them in errors. */
int cmx_weight_file_read(const struct cmx_weight_file *f, void *dst, uint64_t n, uint64_t at,
			 const char *what, struct cmx_infer_err *err);
/* The whole of a small file, terminated; free(*text). */
int cmx_weight_file_text(const char *path, uint64_t max, char **text, uint64_t *len,
			 struct cmx_infer_err *err);
/* What was read will not be read again: the kernel need not keep its pages. */
void cmx_weight_file_drop(const struct cmx_weight_file *f, uint64_t at, uint64_t n);

#endif
