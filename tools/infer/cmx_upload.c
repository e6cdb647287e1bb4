// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_upload.h"

#include <errno.h>
#include <stdlib.h>

#include "cmx_upload_i8.h"

#define UPLOAD_ALIGN	64u

int cmx_upload_init(struct cmx_upload *u, struct cmx_die *die, struct cmx_infer_err *err)
{
	void *va;
	int ret = cmx_die_alloc(die, CMX_PLACE_HOST, CMX_UPLOAD_WINDOW, "upload window", &va, err);

	*u = (struct cmx_upload){ .die = die, .window = ret ? NULL : va };
	return ret;
}

void cmx_upload_fini(struct cmx_upload *u)
{
	free(u->scale);
	u->scale = NULL;
}

static int read_scales(struct cmx_upload *u, const struct cmx_piece *p, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	uint64_t size = p->scales * sizeof(float);
	int ret;

	if (!p->scales || cmx_die_time_only(u->die))
		return 0;
	cmx_upload_fini(u);
	u->scale = malloc(size);
	if (!u->scale)
		return cmx_infer_fail(err, -ENOMEM, "tensor '%s': no memory for its scales",
				      p->name);
	ret = cmx_weight_file_read(p->scale_file, u->scale, size, p->scale_at, p->name, err);
	if (ret)
		return ret;
	cmx_weight_file_drop(p->scale_file, p->scale_at, size);
	ret = cmx_fp8_check_scales(u->scale, p->scales, &why);
	return ret ? cmx_infer_fail(err, ret, "tensor '%s': %s", p->name, why.text) : 0;
}

/* Stored bytes [at, at + len) of the piece to @to, as the die has them. */
static int fill(struct cmx_upload *u, const struct cmx_piece *p, uint64_t at, uint64_t len,
		char *to, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	const struct cmx_fp8_scales s = { u->scale, p->cols };
	uint64_t per = p->recode ? cmx_recode_stored(p->recode, 1) : 1;
	/* Numbers grow to twice their size: from the second half of the room into both. */
	char *from = p->recode ? to + len : to;
	int ret;

	ret = cmx_weight_file_read(p->file, from, len, p->at + at, p->name, err);
	if (ret)
		return ret;
	cmx_weight_file_drop(p->file, p->at + at, len);
	if (!p->recode)
		return 0;
	ret = cmx_recode(p->recode, &s, at / per, len / per, from, to, &why);
	return ret ? cmx_infer_fail(err, ret, "tensor '%s': %s", p->name, why.text) : 0;
}

/* A piece on its way, for cmx_packing. */
struct piece_rows {
	struct cmx_upload *u;
	const struct cmx_piece *p;
	uint64_t row_size;	/* stored */
};

static int read_rows(void *ctx, uint64_t first, uint64_t n, char *to, struct cmx_infer_err *err)
{
	const struct piece_rows *r = ctx;

	return fill(r->u, r->p, first * r->row_size, n * r->row_size, to, err);
}

void cmx_upload_advance(struct cmx_upload *u, uint64_t done, uint64_t in_window)
{
	u->used += (in_window + UPLOAD_ALIGN - 1) / UPLOAD_ALIGN * UPLOAD_ALIGN;
	u->done = done;
	if (u->progress)
		u->progress(u->progress_ctx, u->done);
}

/* Die bytes [at, at + len) of the piece to @to. */
static int make(struct cmx_upload *u, const struct cmx_piece *p, struct cmx_packing *packing,
		uint64_t at, uint64_t len, char *to, struct cmx_infer_err *err)
{
	uint64_t grow = p->recode ? 2 : 1;

	if (cmx_die_time_only(u->die))
		return 0;
	if (packing)
		return cmx_packing_slice(packing, len, to, err);
	return fill(u, p, at / grow, len / grow, to, err);
}

static int send(struct cmx_upload *u, const struct cmx_piece *p, struct cmx_packing *packing,
		char *dst, struct cmx_infer_err *err)
{
	uint64_t grow = p->recode ? 2 : 1, at = 0, before = u->done;
	/* With the padding of panels there are more bytes on the die than stored. */
	double stored = (double)p->size / (double)p->die_size;
	int ret = 0;

	while (at < p->die_size && !ret) {
		uint64_t len = p->die_size - at, room = (CMX_UPLOAD_WINDOW - u->used) / grow * grow;
		char *src = u->window + u->used;

		if (len > room)
			len = room;
		ret = make(u, p, packing, at, len, src, err);
		if (!ret)
			ret = cmx_die_copy(u->die, dst + at, src, len, "upload", err);
		at += len;
		cmx_upload_advance(u, before + (uint64_t)((double)at * stored + 0.5), len);
		if (ret || u->used < CMX_UPLOAD_WINDOW)
			continue;
		/* The window is full of bytes on their way: they must leave it first. */
		ret = cmx_die_finish(u->die, err);
		u->used = 0;
	}
	return ret;
}

int cmx_upload_piece(struct cmx_upload *u, const struct cmx_piece *p,
		     const struct cmx_layout *layout, char *dst, struct cmx_infer_err *err)
{
	struct piece_rows rows = { u, p, 0 };
	struct cmx_packing packing;
	int ret = read_scales(u, p, err);

	if (!ret && p->i8)
		return cmx_upload_i8(u, p, dst, err);
	if (ret || !layout)
		return ret ? ret : send(u, p, NULL, dst, err);
	rows.row_size = cmx_tensor_bytes(layout->type, layout->k) / (p->recode ? 2 : 1);
	ret = cmx_packing_init(&packing, layout, p->size / rows.row_size, read_rows, &rows, err);
	if (ret)
		return ret;
	ret = send(u, p, &packing, dst, err);
	cmx_packing_fini(&packing);
	return ret;
}
