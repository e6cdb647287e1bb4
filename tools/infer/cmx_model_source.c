// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_model_source.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmx_hf_config.h"
#include "cmx_hf_folder.h"
#include "cmx_model_preset.h"
#include "cmx_site.h"
#include "kernels/cmx_i8.h"

struct cmx_source {
	struct cmx_gguf *gguf;		/* one of the two, or none: shapes only */
	struct cmx_hf_folder *hf;
	uint32_t type;			/* of a matrix, if there are only shapes */
	struct cmx_hf_quant quant;
	struct cmx_model_config cfg;
	char *path;			/* "" if it came as a descriptor */
};

static int open_gguf(struct cmx_source *s, const char *path, int fd, struct cmx_infer_err *err)
{
	int ret = path ? cmx_gguf_open(path, &s->gguf, err) :
			 cmx_gguf_open_fd(fd, &s->gguf, err);

	return ret ? ret : cmx_model_config_read(s->gguf, &s->cfg, err);
}

/* The folder's own name, made fit for terminals. */
static void name_folder(struct cmx_source *s)
{
	size_t len = strlen(s->path);
	const char *at;

	while (len && s->path[len - 1] == '/')
		len--;
	at = memrchr(s->path, '/', len);
	at = at ? at + 1 : s->path;
	snprintf(s->cfg.name, sizeof(s->cfg.name), "%.*s", (int)(len - (size_t)(at - s->path)), at);
	for (char *p = s->cfg.name; *p; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	}
}

static int open_folder(struct cmx_source *s, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	int ret = cmx_hf_folder_open(s->path, &s->hf, err);

	if (ret)
		return ret;
	ret = cmx_hf_config_read(cmx_hf_folder_config(s->hf), &s->cfg, &s->quant, &why);
	if (ret)
		return cmx_infer_fail(err, ret, "%.100s/config.json: %s", s->path, why.text);
	name_folder(s);
	return 0;
}

static int source_open(const char *path, int fd, struct cmx_source **out,
		       struct cmx_infer_err *err)
{
	struct cmx_source *s = calloc(1, sizeof(*s));
	struct stat st;
	int ret;

	if (s)
		s->path = strdup(path ? path : "");
	if (!s || !s->path)
		ret = cmx_infer_fail(err, -ENOMEM, "no memory for a model");
	else if (path && !stat(path, &st) && S_ISDIR(st.st_mode))
		ret = open_folder(s, err);
	else
		ret = open_gguf(s, path, fd, err);
	if (ret)
		cmx_source_close(s);
	else
		*out = s;
	return ret;
}

int cmx_source_open(const char *path, struct cmx_source **out, struct cmx_infer_err *err)
{
	return source_open(path, -1, out, err);
}

int cmx_source_open_fd(int fd, struct cmx_source **out, struct cmx_infer_err *err)
{
	return source_open(NULL, fd, out, err);
}

static int open_shape(struct cmx_source *s, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	json_t *config = NULL;
	int ret = cmx_model_preset_load(s->path, &config, err);

	if (ret)
		return ret;
	ret = cmx_hf_config_read(config, &s->cfg, &s->quant, &why);
	json_decref(config);
	if (ret)
		return cmx_infer_fail(err, ret, "%.120s: %s", s->path, why.text);
	name_folder(s);
	return 0;
}

int cmx_source_open_shape(const char *what, uint32_t type, struct cmx_source **out,
			  struct cmx_infer_err *err)
{
	struct cmx_source *s = calloc(1, sizeof(*s));
	int ret;

	if (s)
		s->path = strdup(what);
	if (!s || !s->path) {
		ret = cmx_infer_fail(err, -ENOMEM, "no memory for a model");
	} else {
		s->type = type == CMX_TENSOR_I8 ? CMX_TENSOR_BF16 : type;
		ret = open_shape(s, err);
		s->cfg.int8 = type == CMX_TENSOR_I8;
	}
	if (ret)
		cmx_source_close(s);
	else
		*out = s;
	return ret;
}

void cmx_source_close(struct cmx_source *s)
{
	if (!s)
		return;
	cmx_gguf_close(s->gguf);
	cmx_hf_folder_close(s->hf);
	free(s->path);
	free(s);
}

void cmx_source_quantise(struct cmx_source *s)
{
	s->cfg.int8 = true;
}

bool cmx_source_has_bytes(const struct cmx_source *s)
{
	return s->gguf || s->hf;
}

const struct cmx_gguf *cmx_source_gguf(const struct cmx_source *s)
{
	return s->gguf;
}

const char *cmx_source_path(const struct cmx_source *s)
{
	return s->path;
}

const struct cmx_model_config *cmx_source_config(const struct cmx_source *s)
{
	return &s->cfg;
}

const char *cmx_source_file(const struct cmx_source *s, size_t i)
{
	const char *slash = strrchr(s->path, '/');

	if (!cmx_source_has_bytes(s))
		return NULL;
	if (s->hf)
		return cmx_hf_folder_file(s->hf, i);
	return i ? NULL : slash ? slash + 1 : s->path;
}

void cmx_source_drop(const struct cmx_source *s)
{
	if (s->hf)
		cmx_hf_folder_drop(s->hf);
	else if (s->gguf)
		cmx_weight_file_drop(cmx_gguf_file(s->gguf), 0, cmx_gguf_file(s->gguf)->size);
}

static int wrong_dim(const char *name, uint32_t d, uint64_t is, uint64_t want,
		     struct cmx_infer_err *err)
{
	return cmx_infer_fail(err, -EINVAL, "tensor '%s': dimension %u is %" PRIu64
			      ", the model's metadata asks for %" PRIu64, name, d, is, want);
}

static void gguf_name(uint32_t block, const struct cmx_tensor_need *need,
		      char out[CMX_GGUF_MAX_NAME + 1])
{
	if (block == CMX_NO_BLOCK)
		snprintf(out, CMX_GGUF_MAX_NAME + 1, "%s", need->gguf);
	else
		snprintf(out, CMX_GGUF_MAX_NAME + 1, "blk.%u.%s", block, need->gguf);
}

static bool may_be_i8(const struct cmx_source *s, const struct cmx_tensor_need *need)
{
	const struct cmx_site_use *use = cmx_site_use(need->gguf);

	return s->cfg.int8 && use && use->int8;
}

/* Does the tensor become INT8? Its @name is for errors. */
static int becomes_i8(const struct cmx_source *s, const struct cmx_tensor_need *need,
		      const char *name, bool *i8, struct cmx_infer_err *err)
{
	*i8 = may_be_i8(s, need);
	if (!*i8 || need->dims[0] <= CMX_I8_MAX_K)
		return 0;
	return cmx_infer_fail(err, -ENOTSUP, "tensor '%.100s': rows of %" PRIu64
			      " values, INT8 takes at most %u", name, need->dims[0], CMX_I8_MAX_K);
}

/* The scales of the rows of @t, which is stored as INT8. */
static int add_row_scales(const struct cmx_source *s, const struct cmx_gguf_tensor *t,
			  struct cmx_piece *p, struct cmx_infer_err *err)
{
	char name[CMX_GGUF_MAX_NAME + 8];
	const struct cmx_gguf_tensor *scale;

	snprintf(name, sizeof(name), "%s.scale", t->name);
	scale = cmx_gguf_tensor(s->gguf, name);
	if (!scale)
		return cmx_infer_fail(err, -ENOENT, "tensor '%s' is missing", name);
	for (uint32_t d = 0; d < CMX_GGUF_MAX_DIMS; d++) {
		uint64_t want = d < CMX_GGUF_MAX_DIMS - 1 ? t->dims[d + 1] : 1;

		if (scale->dims[d] != want)
			return wrong_dim(name, d, scale->dims[d], want, err);
	}
	if (scale->type != CMX_TENSOR_F32)
		return cmx_infer_fail(err, -ENOTSUP, "tensor '%s': type %s, must be F32", name,
				      cmx_tensor_type_name(scale->type));
	p->scale_file = p->file;
	p->scale_at = scale->offset;
	p->scales = t->dims[1] * t->dims[2];
	return 0;
}

/* One matrix, or several of the same shape, that the die has as INT8. */
static void make_i8(struct cmx_piece *p, uint32_t type, uint64_t cols, uint64_t rows,
		    uint64_t matrices)
{
	p->i8 = true;
	p->type = type;
	p->cols = cols;
	p->rows = rows;
	p->die_size = matrices * cmx_i8_packed_bytes(rows, (uint32_t)cols);
}

static int find_gguf(const struct cmx_source *s, uint32_t block, const struct cmx_tensor_need *need,
		     const struct cmx_gguf_tensor **out, struct cmx_infer_err *err)
{
	char name[CMX_GGUF_MAX_NAME + 1];
	const struct cmx_gguf_tensor *t;

	gguf_name(block, need, name);
	t = cmx_gguf_tensor(s->gguf, name);
	if (!t)
		return cmx_infer_fail(err, -ENOENT, "tensor '%s' is missing", name);
	for (uint32_t d = 0; d < CMX_GGUF_MAX_DIMS; d++) {
		uint64_t want = d < 3 ? need->dims[d] : 1;

		if (t->dims[d] != want)
			return wrong_dim(name, d, t->dims[d], want, err);
	}
	if (need->vector && t->type != CMX_TENSOR_F32)
		return cmx_infer_fail(err, -ENOTSUP, "tensor '%s': type %s, must be F32", name,
				      cmx_tensor_type_name(t->type));
	if (t->type == CMX_TENSOR_I8 && !may_be_i8(s, need))
		return cmx_infer_fail(err, -ENOTSUP,
				      "tensor '%s': type I8, which only projections of a model with cmx.quant.type may have",
				      name);
	*out = t;
	return 0;
}

static int gguf_piece(const struct cmx_source *s, uint32_t block,
		      const struct cmx_tensor_need *need, const struct cmx_gguf_tensor **out,
		      struct cmx_piece *p, struct cmx_infer_err *err)
{
	const struct cmx_gguf_tensor *t = NULL;
	bool i8 = false;
	int ret = find_gguf(s, block, need, &t, err);

	if (!ret)
		ret = becomes_i8(s, need, t->name, &i8, err);
	if (ret)
		return ret;
	*out = t;
	*p = (struct cmx_piece){
		.file = cmx_gguf_file(s->gguf), .at = t->offset, .size = t->size,
		.die_size = t->size,
	};
	snprintf(p->name, sizeof(p->name), "%s", t->name);
	if (!i8)
		return 0;
	make_i8(p, t->type, t->dims[0], t->dims[1], t->dims[2]);
	return t->type == CMX_TENSOR_I8 ? add_row_scales(s, t, p, err) : 0;
}

/* A tensor that is nowhere stored, as it would be on the die. */
static int shape_piece(const struct cmx_source *s, uint32_t block,
		       const struct cmx_tensor_need *need, struct cmx_piece *p, uint32_t *type,
		       struct cmx_infer_err *err)
{
	uint64_t matrices = need->dims[2];
	char name[CMX_GGUF_MAX_NAME + 1];
	bool i8 = false;
	int ret;

	gguf_name(block, need, name);
	ret = becomes_i8(s, need, name, &i8, err);
	if (ret)
		return ret;
	*type = need->vector ? CMX_TENSOR_F32 : s->type;
	*p = (struct cmx_piece){
		.size = cmx_tensor_bytes(*type, need->dims[0] * need->dims[1] * matrices),
	};
	p->die_size = p->size;
	snprintf(p->name, sizeof(p->name), "%s", name);
	if (!i8)
		return 0;
	make_i8(p, *type, need->dims[0], need->dims[1], matrices);
	*type = CMX_TENSOR_I8;
	return 0;
}

static void hf_name(uint32_t block, const struct cmx_tensor_need *need, uint32_t expert, char *out,
		    size_t size)
{
	const char *at = strstr(need->hf, "%u");
	char tail[96];

	if (at)
		snprintf(tail, sizeof(tail), "%.*s%u%s", (int)(at - need->hf), need->hf, expert,
			 at + 2);
	else
		snprintf(tail, sizeof(tail), "%s", need->hf);
	if (block == CMX_NO_BLOCK)
		snprintf(out, size, "%s", tail);
	else
		snprintf(out, size, "model.layers.%u.%s", block, tail);
}

static int find_named(const struct cmx_source *s, const char *name, struct cmx_hf_tensor *t,
		      struct cmx_infer_err *err)
{
	if (cmx_hf_folder_find(s->hf, name, t))
		return 0;
	return cmx_infer_fail(err, -ENOENT, "tensor '%s' is missing", name);
}

/* Shapes have the slowest dimension first, and a vector has one. */
static int check_shape(const struct cmx_hf_tensor *t, uint64_t rows, uint64_t cols, bool vector,
		       struct cmx_infer_err *err)
{
	uint32_t n = vector ? 1 : 2;
	const uint64_t want[] = { vector ? cols : rows, cols };

	if (t->t->n_dims != n)
		return cmx_infer_fail(err, -EINVAL, "tensor '%.100s': %u dimensions, must be %u",
				      t->t->name, t->t->n_dims, n);
	for (uint32_t d = 0; d < n; d++) {
		if (t->t->dims[d] != want[d])
			return wrong_dim(t->t->name, d, t->t->dims[d], want[d], err);
	}
	return 0;
}

static int add_scales(const struct cmx_source *s, const struct cmx_hf_tensor *t,
		      const struct cmx_tensor_need *need, struct cmx_piece *p,
		      struct cmx_infer_err *err)
{
	uint64_t rows = (need->dims[1] + CMX_FP8_BLOCK - 1) / CMX_FP8_BLOCK;
	uint64_t cols = (need->dims[0] + CMX_FP8_BLOCK - 1) / CMX_FP8_BLOCK;
	struct cmx_hf_tensor scale;
	char name[128];
	int ret;

	if (!s->quant.fp8)
		return cmx_infer_fail(err, -ENOTSUP,
				      "tensor '%.100s': dtype F8_E4M3 without quantization_config in config.json",
				      t->t->name);
	snprintf(name, sizeof(name), "%.110s_scale_inv", t->t->name);
	ret = find_named(s, name, &scale, err);
	if (!ret)
		ret = check_shape(&scale, rows, cols, false, err);
	if (ret)
		return ret;
	if (scale.t->dtype != CMX_DTYPE_F32)
		return cmx_infer_fail(err, -ENOTSUP, "tensor '%s': dtype %s, must be F32", name,
				      scale.t->dtype_name);
	p->recode = CMX_RECODE_FP8_BF16;
	p->scale_file = scale.file;
	p->scale_at = scale.t->offset;
	p->scales = rows * cols;
	p->cols = need->dims[0];
	return 0;
}

/* What the stored numbers become. */
static int choose_type(const struct cmx_source *s, const struct cmx_hf_tensor *t,
		       const struct cmx_tensor_need *need, struct cmx_piece *p, uint32_t *type,
		       struct cmx_infer_err *err)
{
	switch (t->t->dtype) {
	case CMX_DTYPE_F32:
		*type = CMX_TENSOR_F32;
		return 0;
	case CMX_DTYPE_F16:
		*type = need->vector ? CMX_TENSOR_F32 : CMX_TENSOR_F16;
		p->recode = need->vector ? CMX_RECODE_F16_F32 : CMX_RECODE_NONE;
		return 0;
	case CMX_DTYPE_BF16:
		*type = need->vector ? CMX_TENSOR_F32 : CMX_TENSOR_BF16;
		p->recode = need->vector ? CMX_RECODE_BF16_F32 : CMX_RECODE_NONE;
		return 0;
	default:
		break;
	}
	*type = CMX_TENSOR_BF16;
	if (t->t->dtype == CMX_DTYPE_F8_E4M3 && !need->vector)
		return add_scales(s, t, need, p, err);
	return cmx_infer_fail(err, -ENOTSUP, "tensor '%.100s': dtype %s, must be F32, F16%s",
			      t->t->name, t->t->dtype_name,
			      need->vector ? " or BF16" : ", BF16 or F8_E4M3");
}

static bool per_expert(const struct cmx_tensor_need *need)
{
	return strstr(need->hf, "%u");
}

static int describe_piece(const struct cmx_source *s, const struct cmx_hf_tensor *t,
			  const struct cmx_tensor_need *need, struct cmx_piece *p, uint32_t *type,
			  struct cmx_infer_err *err)
{
	bool flat = need->vector && need->dims[1] == 1 && t->t->n_dims == 1, i8 = false;
	int ret = check_shape(t, need->dims[1], need->dims[0], flat, err);

	if (ret)
		return ret;
	*p = (struct cmx_piece){ .file = t->file, .at = t->t->offset, .size = t->t->size };
	snprintf(p->name, sizeof(p->name), "%s", t->t->name);
	ret = choose_type(s, t, need, p, type, err);
	if (!ret)
		ret = becomes_i8(s, need, t->t->name, &i8, err);
	p->die_size = cmx_tensor_bytes(*type, need->dims[0] * need->dims[1]);
	if (ret || !i8)
		return ret;
	make_i8(p, *type, need->dims[0], need->dims[1], 1);
	*type = CMX_TENSOR_I8;
	return 0;
}

/* One matrix or vector of a folder. */
static int hf_piece(const struct cmx_source *s, uint32_t block, const struct cmx_tensor_need *need,
		    uint32_t i, struct cmx_piece *p, uint32_t *type, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	struct cmx_hf_tensor t;
	char name[128];
	int ret;

	hf_name(block, need, i, name, sizeof(name));
	ret = find_named(s, name, &t, err);
	if (ret)
		return ret;
	ret = describe_piece(s, &t, need, p, type, &why);
	return ret ? cmx_infer_fail(err, ret, "%.80s: %s", t.file_name, why.text) : 0;
}

static int find_hf(const struct cmx_source *s, uint32_t block, const struct cmx_tensor_need *need,
		   struct cmx_tensor_found *f, struct cmx_infer_err *err)
{
	f->n_pieces = per_expert(need) ? (uint32_t)need->dims[2] : 1;
	hf_name(block, need, 0, f->name, sizeof(f->name));
	for (uint32_t i = 0; i < f->n_pieces; i++) {
		struct cmx_piece p;
		uint32_t type;
		int ret = hf_piece(s, block, need, i, &p, &type, err);

		if (ret)
			return ret;
		if (i && type != f->type)
			return cmx_infer_fail(err, -ENOTSUP,
					      "tensor '%s': its numbers become %s, those of expert %u %s",
					      f->name, cmx_tensor_type_name(f->type), i,
					      cmx_tensor_type_name(type));
		f->type = type;
		f->size += p.die_size;
	}
	return 0;
}

bool cmx_source_has(const struct cmx_source *s, uint32_t block, const struct cmx_tensor_need *need)
{
	struct cmx_hf_tensor t;
	char name[128];

	/* What an MTP block may share is shared. */
	if (!cmx_source_has_bytes(s))
		return false;
	if (s->hf) {
		hf_name(block, need, 0, name, sizeof(name));
		return cmx_hf_folder_find(s->hf, name, &t);
	}
	gguf_name(block, need, name);
	return cmx_gguf_tensor(s->gguf, name);
}

int cmx_source_find(const struct cmx_source *s, uint32_t block, const struct cmx_tensor_need *need,
		    struct cmx_tensor_found *found, struct cmx_infer_err *err)
{
	const struct cmx_gguf_tensor *t = NULL;
	struct cmx_piece p;
	int ret;

	*found = (struct cmx_tensor_found){ .n_pieces = 1 };
	if (s->hf)
		return find_hf(s, block, need, found, err);
	if (!s->gguf) {
		ret = shape_piece(s, block, need, &p, &found->type, err);
		if (!ret)
			snprintf(found->name, sizeof(found->name), "%s", p.name);
		found->size = ret ? 0 : p.die_size;
		return ret;
	}
	ret = gguf_piece(s, block, need, &t, &p, err);
	if (ret)
		return ret;
	snprintf(found->name, sizeof(found->name), "%s", t->name);
	found->type = p.i8 ? CMX_TENSOR_I8 : t->type;
	found->size = p.die_size;
	return 0;
}

int cmx_source_piece(const struct cmx_source *s, uint32_t block, const struct cmx_tensor_need *need,
		     uint32_t i, struct cmx_piece *piece, struct cmx_infer_err *err)
{
	const struct cmx_gguf_tensor *t;
	uint32_t type;

	if (s->hf)
		return hf_piece(s, block, need, i, piece, &type, err);
	if (!s->gguf)
		return shape_piece(s, block, need, piece, &type, err);
	return gguf_piece(s, block, need, &t, piece, err);
}

void cmx_piece_slice(struct cmx_piece *p, uint32_t i, uint32_t n)
{
	p->size /= n;
	p->at += i * p->size;
	p->die_size /= n;
	p->scales /= n;
	p->scale_at += i * p->scales * sizeof(float);
}
