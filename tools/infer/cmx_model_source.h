/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a model comes from: a GGUF file, a folder as Hugging Face has them, or for
 * time-only runs nothing but its config.json.
 */
#ifndef CMX_MODEL_SOURCE_H
#define CMX_MODEL_SOURCE_H

#include <stdbool.h>

#include "cmx_gguf.h"
#include "cmx_model_config.h"
#include "cmx_recode.h"

struct cmx_source;

/* One tensor that the architecture asks for. Unused dimensions are 1. */
struct cmx_tensor_need {
	const char *gguf;	/* its name in GGUF files; behind "blk.N." if it is in a block */
	const char *hf;		/* in folders; behind "model.layers.N.", %u stands for the expert */
	bool vector;		/* F32 on the die: norms, router, bias */
	uint64_t dims[3];	/* fastest first; the last one counts experts, or heads */
};

/* A run of bytes of one file that becomes a run of bytes on the die. */
struct cmx_piece {
	char name[96];		/* of its tensor, in the file */
	const struct cmx_weight_file *file;
	uint64_t at;
	uint64_t size;		/* stored */
	uint64_t die_size;
	enum cmx_recode recode;
	/* FP8, and INT8 that is stored so. */
	const struct cmx_weight_file *scale_file;
	uint64_t scale_at;
	uint64_t scales;
	uint64_t cols;
	/* Becomes INT8 panels (cmx_i8.h), from values of this type after recoding. */
	bool i8;
	uint32_t type;
	uint64_t rows;		/* of each matrix */
};

/* A tensor as it will be on the die; its pieces follow each other there. */
struct cmx_tensor_found {
	char name[128];		/* in the file, of the first piece */
	uint32_t type;
	uint64_t size;
	uint32_t n_pieces;	/* experts of a folder have one each */
};

/* A folder if @path is one, else GGUF. */
int cmx_source_open(const char *path, struct cmx_source **out, struct cmx_infer_err *err);
/* Keeps a duplicate of @fd, a GGUF file. */
int cmx_source_open_fd(int fd, struct cmx_source **out, struct cmx_infer_err *err);
/*
 * Shapes and types without bytes: @what is a preset's name, a config.json or a folder with
 * one. Matrices are of @type: F32, BF16, or I8, which leaves some of them BF16.
 */
int cmx_source_open_shape(const char *what, uint32_t type, struct cmx_source **out,
			  struct cmx_infer_err *err);
void cmx_source_close(struct cmx_source *s);
/* The projections become INT8 as they are loaded, unless they are already. */
void cmx_source_quantise(struct cmx_source *s);

/* False: only for time-only dies. */
bool cmx_source_has_bytes(const struct cmx_source *s);
/* NULL if it is no GGUF file. */
const struct cmx_gguf *cmx_source_gguf(const struct cmx_source *s);
const char *cmx_source_path(const struct cmx_source *s);
const struct cmx_model_config *cmx_source_config(const struct cmx_source *s);
/* The model's files, in the folder where it is: 0, 1, ... until NULL. */
const char *cmx_source_file(const struct cmx_source *s, size_t i);

#define CMX_NO_BLOCK UINT32_MAX

/* Finds and checks a tensor of block @block, or of none. Errors name it, field and value. */
int cmx_source_find(const struct cmx_source *s, uint32_t block, const struct cmx_tensor_need *need,
		    struct cmx_tensor_found *found, struct cmx_infer_err *err);
/* Whether the files have such a tensor at all, of whatever shape. */
bool cmx_source_has(const struct cmx_source *s, uint32_t block,
		    const struct cmx_tensor_need *need);
/* Piece number @i of a tensor that was found. */
int cmx_source_piece(const struct cmx_source *s, uint32_t block, const struct cmx_tensor_need *need,
		     uint32_t i, struct cmx_piece *piece, struct cmx_infer_err *err);
/* What is left of a piece of @n matrices is number @i of them. */
void cmx_piece_slice(struct cmx_piece *piece, uint32_t i, uint32_t n);
/* All is read: the kernel need not keep the files' pages. */
void cmx_source_drop(const struct cmx_source *s);

#endif
