/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows of a matrix in, panels out, in slices of any size: weights are packed while
 * they pass by, without a second copy of the matrix.
 */
#ifndef CMX_PACKING_H
#define CMX_PACKING_H

#include <stdint.h>

#include "cmx_infer_err.h"

/*
 * A matrix is packed in groups of rows, each of which starts a panel: as many rows
 * as rows[0] says, then rows[1], in turn. With rows[1] = 0 all groups are alike.
 */
struct cmx_layout {
	uint32_t type;
	uint32_t k;
	uint32_t rows[2];
};

/* On the die, of @n rows, which are whole groups. */
uint64_t cmx_layout_bytes(const struct cmx_layout *l, uint64_t n);

/* Puts rows [first, first + n) to @to, as many bytes as the type says. */
typedef int (*cmx_read_rows)(void *ctx, uint64_t first, uint64_t n, char *to,
			     struct cmx_infer_err *err);

struct cmx_packing {
	struct cmx_layout layout;
	cmx_read_rows read;
	void *ctx;
	uint64_t n_rows;
	uint64_t next;		/* row */
	uint32_t group;		/* 0 or 1 */
	uint32_t in_group;	/* rows of it that are done */
	char *rows;		/* read ahead: [first_read, end_read), room for max_read */
	uint64_t first_read;
	uint64_t end_read;
	uint64_t max_read;
	char *panel;		/* what the last slice had no room for is behind its end */
	uint64_t panel_left;
};

/* -ENOMEM, else cmx_packing_fini() is due. */
int cmx_packing_init(struct cmx_packing *p, const struct cmx_layout *l, uint64_t n_rows,
		     cmx_read_rows read, void *ctx, struct cmx_infer_err *err);
void cmx_packing_fini(struct cmx_packing *p);
/* The next @len bytes. */
int cmx_packing_slice(struct cmx_packing *p, uint64_t len, char *to, struct cmx_infer_err *err);

#endif
