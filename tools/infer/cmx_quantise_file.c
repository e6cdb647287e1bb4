// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_quantise_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_gguf_writer.h"
#include "cmx_quantise.h"
#include "cmx_restore.h"
#include "cmx_stop.h"
#include "kernels/cmx_i8.h"

#define COPY_BYTES	(1u << 20)

struct job {
	const struct cmx_gguf *in;
	const struct cmx_quantise_options *opt;
	struct cmx_quantise_result *result;
	struct cmx_gguf_writer w;
	uint64_t done, total;
	double error, square;
	struct cmx_infer_err *err;
};

/* A tensor on its way; one row at a time. */
struct tensor {
	const struct cmx_gguf_tensor *t;
	const struct cmx_site_use *use;		/* NULL: only copied */
	const struct cmx_site_stats *in, *out;	/* NULL: unknown */
	uint64_t row_bytes;
	uint32_t k;
	char *stored;
	float *value;
	float *importance;
	int8_t *q;
	float *scale;		/* of all rows */
};

static bool is_int8(const struct cmx_site_use *use)
{
	return use && use->int8;
}

static int advance(struct job *j, uint64_t bytes)
{
	j->done += bytes;
	if (j->opt->progress)
		j->opt->progress(j->opt->progress_ctx, j->done, j->total);
	return cmx_stopped() ? cmx_infer_fail(j->err, -EINTR, "interrupted") : 0;
}

static void tensor_free(struct tensor *x)
{
	free(x->stored);
	free(x->value);
	free(x->importance);
	free(x->q);
	free(x->scale);
}

static int misfit(struct job *j, const struct cmx_gguf_tensor *t)
{
	return cmx_infer_fail(j->err, -EINVAL,
			      "tensor '%s': its shape or type is not what the model's metadata asks for",
			      t->name);
}

/* Statistics come from the tensors that the model needs; a file may have others of any shape. */
static int check_fit(struct job *j, const struct tensor *x)
{
	uint64_t made = x->use->in == CMX_SITE_NONE ? x->t->dims[0] : x->t->dims[1];

	if (x->t->type == CMX_TENSOR_I8 || x->t->dims[3] > 1 ||
	    (!is_int8(x->use) && x->t->type != CMX_TENSOR_F32))
		return misfit(j, x->t);
	if (x->in && (x->in->k != x->t->dims[0] || (x->in->n > 1 && x->in->n != x->t->dims[2])))
		return misfit(j, x->t);
	if (x->out && (x->out->k != made || (x->out->n > 1 && x->out->n != x->t->dims[2])))
		return misfit(j, x->t);
	return 0;
}

static int tensor_init(struct job *j, const struct cmx_gguf_tensor *t, struct tensor *x)
{
	const struct cmx_calibration *c = j->opt->calibration;
	uint32_t block = 0;

	*x = (struct tensor){ .t = t, .use = cmx_site_use_of(t->name, &block) };
	if (!x->use)
		return 0;
	if (t->dims[0] > CMX_I8_MAX_K)
		return cmx_infer_fail(j->err, -ENOTSUP, "tensor '%s': rows of %" PRIu64
				      " values, INT8 takes at most %u", t->name, t->dims[0],
				      CMX_I8_MAX_K);
	x->in = cmx_calibration_site(c, block, x->use->in);
	x->out = cmx_calibration_site(c, block, x->use->out);
	if (check_fit(j, x))
		return -EINVAL;
	x->k = (uint32_t)t->dims[0];
	x->row_bytes = cmx_tensor_bytes(t->type, x->k);
	x->stored = malloc(x->row_bytes);
	x->value = malloc(x->k * sizeof(*x->value));
	x->importance = malloc(x->k * sizeof(*x->importance));
	x->q = malloc(x->k);
	x->scale = malloc(t->dims[1] * t->dims[2] * sizeof(*x->scale));
	if (x->stored && x->value && x->importance && x->q && x->scale)
		return 0;
	return cmx_infer_fail(j->err, -ENOMEM, "tensor '%s': no memory for its rows", t->name);
}

static int read_row(struct job *j, struct tensor *x, uint64_t row)
{
	const struct cmx_weight_file *f = cmx_gguf_file(j->in);
	uint64_t at = x->t->offset + row * x->row_bytes;
	struct cmx_infer_err why = { .text = "" };
	int ret = cmx_weight_file_read(f, x->stored, x->row_bytes, at, x->t->name, j->err);

	if (ret)
		return ret;
	cmx_restore_row(x->t->type, x->stored, x->k, x->value);
	if (!cmx_quantise_check(x->value, x->k, &why))
		return 0;
	return cmx_infer_fail(j->err, -EDOM, "tensor '%s': row %" PRIu64 ", %s", x->t->name, row,
			      why.text);
}

static const float *factors(const struct cmx_site_stats *s, uint64_t expert)
{
	return s && s->factor ? s->factor + (s->n > 1 ? expert * s->k : 0) : NULL;
}

/* What smoothing does to a row: all factors are powers of two. */
static void move_factors(struct tensor *x, uint64_t row)
{
	uint64_t expert = row / x->t->dims[1], r = row % x->t->dims[1];
	const float *col = factors(x->in, expert), *made = factors(x->out, expert);
	/* A norm's elements are channels, a matrix's rows are. */
	bool norm = x->use->in == CMX_SITE_NONE;

	for (uint32_t i = 0; i < x->k; i++) {
		if (col)
			x->value[i] *= col[i];
		if (made)
			x->value[i] /= norm ? made[i] : made[r];
	}
}

static int write_row(struct job *j, struct tensor *x, uint64_t row)
{
	uint64_t expert = row / x->t->dims[1];
	const float *by = NULL;

	if (!is_int8(x->use))
		return cmx_gguf_write_data(&j->w, x->value, x->k * sizeof(*x->value), j->err);
	if (x->in && cmx_calibration_importance(x->in, (uint32_t)expert, x->importance))
		by = x->importance;
	x->scale[row] = cmx_quantise_row(x->value, by, x->k, x->q);
	j->error += cmx_quantise_error(x->value, NULL, x->k, x->q, x->scale[row]);
	for (uint32_t i = 0; i < x->k; i++)
		j->square += (double)x->value[i] * (double)x->value[i];
	return cmx_gguf_write_data(&j->w, x->q, x->k, j->err);
}

static int write_rows(struct job *j, struct tensor *x)
{
	uint64_t rows = x->t->dims[1] * x->t->dims[2], scales = rows * sizeof(*x->scale);
	bool int8 = is_int8(x->use);
	int ret = 0;

	for (uint64_t row = 0; row < rows && !ret; row++) {
		ret = read_row(j, x, row);
		if (ret)
			break;
		move_factors(x, row);
		ret = write_row(j, x, row);
		if (!ret)
			ret = advance(j, x->row_bytes);
	}
	if (!ret)
		ret = cmx_gguf_write_pad(&j->w, int8 ? rows * x->k : x->t->size, j->err);
	if (ret || !int8)
		return ret;
	j->result->tensors++;
	ret = cmx_gguf_write_data(&j->w, x->scale, scales, j->err);
	return ret ? ret : cmx_gguf_write_pad(&j->w, scales, j->err);
}

static int copy_tensor(struct job *j, const struct cmx_gguf_tensor *t)
{
	char *buf = malloc(COPY_BYTES);
	int ret = buf ? 0 : cmx_infer_fail(j->err, -ENOMEM, "no memory to copy with");

	for (uint64_t at = 0; at < t->size && !ret;) {
		uint64_t n = t->size - at < COPY_BYTES ? t->size - at : COPY_BYTES;

		ret = cmx_weight_file_read(cmx_gguf_file(j->in), buf, n, t->offset + at, t->name,
					   j->err);
		if (!ret)
			ret = cmx_gguf_write_data(&j->w, buf, n, j->err);
		if (!ret)
			ret = advance(j, n);
		at += n;
	}
	free(buf);
	return ret ? ret : cmx_gguf_write_pad(&j->w, t->size, j->err);
}

static int write_tensor(struct job *j, const struct cmx_gguf_tensor *t)
{
	struct tensor x;
	int ret = tensor_init(j, t, &x);

	if (!ret && (is_int8(x.use) || factors(x.in, 0) || factors(x.out, 0)))
		ret = write_rows(j, &x);
	else if (!ret)
		ret = copy_tensor(j, t);
	tensor_free(&x);
	if (!ret)
		cmx_weight_file_drop(cmx_gguf_file(j->in), t->offset, t->size);
	return ret;
}

/* Columns of the weights that take a site's values, for the smoothing factors. */
static int note_weights(struct job *j, const struct cmx_gguf_tensor *t)
{
	struct tensor x;
	int ret = tensor_init(j, t, &x);
	struct cmx_site_stats *s = (struct cmx_site_stats *)x.in;

	for (uint64_t row = 0; !ret && s && is_int8(x.use) && row < t->dims[1] * t->dims[2];
	     row++) {
		ret = read_row(j, &x, row);
		if (!ret)
			cmx_calibration_weights(s, (uint32_t)(row / t->dims[1]), x.value);
	}
	tensor_free(&x);
	return ret ? ret : advance(j, t->size);
}

static int smooth(struct job *j)
{
	int ret = 0;

	for (uint64_t i = 0; i < cmx_gguf_n_tensors(j->in) && !ret; i++)
		ret = note_weights(j, cmx_gguf_tensor_at(j->in, i));
	return ret ? ret : cmx_calibration_smooth(j->opt->calibration, j->opt->alpha);
}

/* File type numbers have none for this; "general.file_type" is left out. */
static void put_metadata(struct job *j)
{
	static const char stale[] = "general.file_type";

	for (uint64_t i = 0; i < cmx_gguf_n_entries(j->in); i++) {
		struct cmx_gguf_entry e = cmx_gguf_entry_at(j->in, i);

		if (e.key_len != strlen(stale) || memcmp(e.key, stale, e.key_len))
			cmx_gguf_put_bytes(&j->w, e.bytes, e.len);
	}
	cmx_gguf_put_string(&j->w, "cmx.quant.type", "int8");
	if (j->opt->calibration)
		cmx_gguf_put_u32(&j->w, "cmx.quant.calibration_tokens", j->opt->tokens);
	if (j->opt->smooth)
		cmx_gguf_put_f32(&j->w, "cmx.quant.smooth", j->opt->alpha);
}

static int put_tensor(struct job *j, const struct cmx_gguf_tensor *t)
{
	char name[CMX_GGUF_MAX_NAME + 8];
	uint32_t block;

	if (!is_int8(cmx_site_use_of(t->name, &block))) {
		cmx_gguf_put_tensor(&j->w, t->name, t->type, t->n_dims, t->dims);
		return 0;
	}
	if (t->n_dims < 2 || t->n_dims > 3)
		return cmx_infer_fail(j->err, -EINVAL, "tensor '%s': %u dimensions, must be 2 or 3",
				      t->name, t->n_dims);
	snprintf(name, sizeof(name), "%s.scale", t->name);
	if (strlen(name) >= CMX_GGUF_MAX_NAME)
		return cmx_infer_fail(j->err, -ENAMETOOLONG, "tensor '%s': the name is too long",
				      name);
	if (cmx_gguf_tensor(j->in, name))
		return cmx_infer_fail(j->err, -EEXIST, "tensor '%s' is there already", name);
	cmx_gguf_put_tensor(&j->w, t->name, CMX_TENSOR_I8, t->n_dims, t->dims);
	cmx_gguf_put_tensor(&j->w, name, CMX_TENSOR_F32, t->n_dims - 1, t->dims + 1);
	return 0;
}

static int put_header(struct job *j)
{
	int ret = 0;

	put_metadata(j);
	for (uint64_t i = 0; i < cmx_gguf_n_tensors(j->in) && !ret; i++) {
		const struct cmx_gguf_tensor *t = cmx_gguf_tensor_at(j->in, i);

		ret = put_tensor(j, t);
		j->total += t->size;
	}
	if (j->opt->smooth)
		j->total *= 2;
	return ret ? ret : cmx_gguf_write_header(&j->w, j->err);
}

int cmx_quantise_file(const struct cmx_gguf *in, FILE *out, const struct cmx_quantise_options *opt,
		      struct cmx_quantise_result *result, struct cmx_infer_err *err)
{
	struct job j = { .in = in, .opt = opt, .result = result, .err = err };
	int ret;

	*result = (struct cmx_quantise_result){ 0 };
	if (cmx_gguf_has(in, "cmx.quant.type"))
		return cmx_infer_fail(err, -EEXIST, "the model is quantised already");
	cmx_gguf_writer_init(&j.w, out, cmx_gguf_alignment(in));
	ret = put_header(&j);
	if (!ret && opt->smooth)
		ret = smooth(&j);
	for (uint64_t i = 0; i < cmx_gguf_n_tensors(in) && !ret; i++)
		ret = write_tensor(&j, cmx_gguf_tensor_at(in, i));
	result->error = j.square > 0 ? j.error / j.square : 0;
	result->bytes = ret ? 0 : (uint64_t)ftello(out);
	cmx_gguf_writer_fini(&j.w);
	return ret;
}
