// SPDX-License-Identifier: GPL-2.0-only
/* Per-token vector work: embedding rows and RMS norms. */
#include "cmx_level.h"
#include "cmx_dot.h"
#include "cmx_rms.h"

void CMX_K(cmx_k_embed)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_embed *a = args;
	size_t row_bytes = weight_row_bytes(a->type, a->hidden);
	uint64_t lo, hi;

	cmx_block_share(a->tokens, block, nblocks, &lo, &hi);
	for (uint64_t t = lo; t < hi; t++) {
		uint32_t id = a->ids[a->rows ? a->rows[t].id : t];
		/* An id out of range cannot come from the host; stay inside the table anyway. */
		const char *row = (const char *)a->table + (id < a->vocab ? id : 0) * row_bytes;

		for (uint32_t i = 0; i < a->hidden; i += CMX_LANES)
			lanes_store_to(a->out + t * a->hidden + i, a->hidden - i,
				       weight_to(a->type, row, i, a->hidden));
	}
}

void CMX_K(cmx_end_rows)(const struct cmx_row_end *end, const float *x, uint32_t width,
			 uint64_t lo, uint64_t hi)
{
	for (uint64_t t = lo; t < hi; t++) {
		const float *row = x + t * width;

		if (end->norm) {
			norm_row(row, end->norm, end->normed + t * width, width, end->eps);
			row = end->normed + t * width;
		}
		if (end->rounded)
			CMX_K(cmx_round_row)(row, width,
					     end->rounded + t * cmx_i8_row_bytes(width));
	}
}

void CMX_K(cmx_k_norm)(const void *args, uint32_t block, uint32_t nblocks)
{
	const struct cmx_k_norm *a = args;
	uint64_t lo, hi;

	cmx_block_share(a->tokens, block, nblocks, &lo, &hi);
	for (uint64_t t = lo; t < hi; t++) {
		uint64_t from = a->pick ? a->pick[t] : t;
		float *out = a->out + t * a->out_stride;

		norm_row(a->x + from * a->x_stride, a->w, out, a->dim, a->eps);
		if (a->rounded)
			CMX_K(cmx_round_row)(out, a->dim,
					     a->rounded + t * cmx_i8_row_bytes(a->dim));
	}
}
