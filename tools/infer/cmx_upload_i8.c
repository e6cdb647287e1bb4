// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_upload_i8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "cmx_quantise.h"
#include "cmx_restore.h"
#include "kernels/cmx_i8.h"

_Static_assert(CMX_I8_PANEL * (CMX_I8_MAX_K + 8ull) <= CMX_UPLOAD_WINDOW, "room for a panel");

/* The rows of a panel on their way from the file. */
struct rows {
	struct cmx_upload *u;
	const struct cmx_piece *p;
	uint64_t first;		/* in the piece */
	uint32_t n;
	uint32_t k;
	uint64_t row_bytes;	/* stored */
	char *stored;
	char *wide;		/* FP8: as BF16 */
	float *value;		/* of one row */
	int8_t *q;
	float scale[CMX_I8_PANEL];
};

static int rows_init(struct rows *r, struct cmx_infer_err *err)
{
	uint64_t cells = CMX_I8_PANEL * (uint64_t)r->k;

	r->stored = malloc(CMX_I8_PANEL * r->row_bytes);
	r->wide = malloc(2 * cells);
	r->value = malloc(r->k * sizeof(*r->value));
	r->q = malloc(cells);
	if (r->stored && r->wide && r->value && r->q)
		return 0;
	return cmx_infer_fail(err, -ENOMEM, "tensor '%s': no memory for %u rows", r->p->name,
			      CMX_I8_PANEL);
}

static void rows_free(struct rows *r)
{
	free(r->stored);
	free(r->wide);
	free(r->value);
	free(r->q);
}

static int rows_read(struct rows *r, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	const struct cmx_fp8_scales s = { r->u->scale, r->k };
	uint64_t at = r->p->at + r->first * r->row_bytes, len = r->n * r->row_bytes;
	int ret = cmx_weight_file_read(r->p->file, r->stored, len, at, r->p->name, err);

	if (ret)
		return ret;
	cmx_weight_file_drop(r->p->file, at, len);
	if (!r->p->recode)
		return 0;
	ret = cmx_recode(r->p->recode, &s, r->first * r->k, (uint64_t)r->n * r->k, r->stored,
			 r->wide, &why);
	return ret ? cmx_infer_fail(err, ret, "tensor '%s': %s", r->p->name, why.text) : 0;
}

static int rows_quantise(struct rows *r, struct cmx_infer_err *err)
{
	const char *from = r->p->recode ? r->wide : r->stored;
	uint64_t bytes = cmx_tensor_bytes(r->p->type, r->k);
	struct cmx_infer_err why = { .text = "" };

	for (uint32_t i = 0; i < r->n; i++) {
		cmx_restore_row(r->p->type, from + i * bytes, r->k, r->value);
		if (cmx_quantise_check(r->value, r->k, &why))
			return cmx_infer_fail(err, -EDOM, "tensor '%s': row %" PRIu64 ", %s",
					      r->p->name, r->first + i, why.text);
		r->scale[i] = cmx_quantise_row(r->value, NULL, r->k, r->q + (uint64_t)i * r->k);
	}
	return 0;
}

static int rows_to_panel(struct rows *r, char *panel, struct cmx_infer_err *err)
{
	bool ready = r->p->type == CMX_TENSOR_I8;
	int ret = rows_read(r, err);

	if (!ret && !ready)
		ret = rows_quantise(r, err);
	if (ret)
		return ret;
	if (ready)
		cmx_i8_pack((const int8_t *)r->stored, r->u->scale + r->first, r->n, r->k, panel);
	else
		cmx_i8_pack(r->q, r->scale, r->n, r->k, panel);
	return 0;
}

/* As many panels as fit into the window; those of the next matrix begin anew. */
static int fill(struct rows *r, char *to, uint32_t panels, struct cmx_infer_err *err)
{
	uint64_t panel = cmx_i8_panel_bytes(r->k);
	int ret = 0;

	for (uint32_t i = 0; i < panels && !ret; i++) {
		uint64_t left = r->p->rows - r->first % r->p->rows;

		r->n = left < CMX_I8_PANEL ? (uint32_t)left : CMX_I8_PANEL;
		if (!cmx_die_time_only(r->u->die))
			ret = rows_to_panel(r, to + i * panel, err);
		r->first += r->n;
		cmx_upload_advance(r->u, r->u->done + r->n * r->row_bytes, panel);
	}
	return ret;
}

int cmx_upload_i8(struct cmx_upload *u, const struct cmx_piece *p, char *dst,
		  struct cmx_infer_err *err)
{
	struct rows r = { .u = u, .p = p, .k = (uint32_t)p->cols };
	uint64_t panel = cmx_i8_panel_bytes(r.k), left = p->die_size / panel;
	int ret;

	r.row_bytes = p->recode ? cmx_recode_stored(p->recode, r.k) :
				  cmx_tensor_bytes(p->type, r.k);
	ret = rows_init(&r, err);
	while (left && !ret) {
		char *src = u->window + u->used;
		uint64_t n = (CMX_UPLOAD_WINDOW - u->used) / panel;

		n = n < left ? n : left;
		if (!n) {
			/* The window is full of bytes on their way: they must leave it first. */
			ret = cmx_die_finish(u->die, err);
			u->used = 0;
			continue;
		}
		ret = fill(&r, src, (uint32_t)n, err);
		if (!ret)
			ret = cmx_die_copy(u->die, dst, src, n * panel, "upload", err);
		dst += n * panel;
		left -= n;
	}
	rows_free(&r);
	return ret;
}
