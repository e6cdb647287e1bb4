// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_safetensors.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define MAX_HEADER	100000000u
#define MAX_TENSORS	(1u << 20)

struct dtype {
	const char *name;
	uint32_t bits;
	enum cmx_dtype dtype;
};

struct cmx_safetensors {
	struct cmx_weight_file file;
	struct cmx_safetensor *tensor;
	size_t n;
};

static const struct dtype dtypes[] = {
	{ "F32", 32, CMX_DTYPE_F32 }, { "F16", 16, CMX_DTYPE_F16 },
	{ "BF16", 16, CMX_DTYPE_BF16 }, { "F8_E4M3", 8, CMX_DTYPE_F8_E4M3 },
	{ "BOOL", 8, 0 }, { "U8", 8, 0 }, { "I8", 8, 0 }, { "F8_E5M2", 8, 0 },
	{ "F8_E8M0", 8, 0 }, { "F8_E4M3FNUZ", 8, 0 }, { "F8_E5M2FNUZ", 8, 0 },
	{ "I16", 16, 0 }, { "U16", 16, 0 }, { "I32", 32, 0 }, { "U32", 32, 0 },
	{ "I64", 64, 0 }, { "U64", 64, 0 }, { "F64", 64, 0 }, { "C64", 64, 0 },
	{ "F4", 4, 0 }, { "F6_E2M3", 6, 0 }, { "F6_E3M2", 6, 0 },
};

static const struct dtype *find_dtype(const char *name)
{
	for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
		if (!strcmp(dtypes[i].name, name))
			return &dtypes[i];
	}
	return NULL;
}

static int tensor_fail(const struct cmx_safetensor *t, struct cmx_infer_err *err,
		       const char *field, const char *rule)
{
	return cmx_infer_fail(err, -EINVAL, "tensor '%.100s': %s %s", t->name, field, rule);
}

static int parse_dtype(struct cmx_safetensor *t, const json_t *info, const struct dtype **d,
		       struct cmx_infer_err *err)
{
	const char *name = json_string_value(json_object_get(info, "dtype"));

	if (!name)
		return tensor_fail(t, err, "dtype", "must be a string");
	*d = find_dtype(name);
	if (!*d)
		return cmx_infer_fail(err, -ENOTSUP, "tensor '%.100s': dtype '%.20s' is not known",
				      t->name, name);
	t->dtype = (*d)->dtype;
	t->dtype_name = (*d)->name;
	return 0;
}

/* A dimension of 0 is legal and makes an empty tensor. */
static int parse_shape(struct cmx_safetensor *t, const json_t *info, uint32_t bits,
		       struct cmx_infer_err *err)
{
	const json_t *shape = json_object_get(info, "shape");
	size_t n = json_array_size(shape);
	uint64_t size = bits;

	if (!json_is_array(shape))
		return tensor_fail(t, err, "shape", "must be an array");
	if (n > CMX_SAFETENSORS_MAX_DIMS)
		return cmx_infer_fail(err, -EINVAL,
				      "tensor '%.100s': shape has %zu dimensions, the limit is %u",
				      t->name, n, CMX_SAFETENSORS_MAX_DIMS);
	t->n_dims = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		const json_t *d = json_array_get(shape, i);
		json_int_t v = json_integer_value(d);

		if (!json_is_integer(d))
			return tensor_fail(t, err, "shape", "must be whole numbers");
		if (v < 0)
			return cmx_infer_fail(err, -EINVAL,
					      "tensor '%.100s': dimension %zu of shape is %lld, below 0",
					      t->name, i, (long long)v);
		t->dims[i] = (uint64_t)v;
		if (__builtin_mul_overflow(size, t->dims[i], &size))
			return cmx_infer_fail(err, -EINVAL,
					      "tensor '%.100s': shape overflows at dimension %zu (%"
					      PRIu64 ")", t->name, i, t->dims[i]);
	}
	if (size % 8)
		return tensor_fail(t, err, "shape", "does not fill whole bytes");
	t->size = size / 8;
	return 0;
}

static int parse_offsets(struct cmx_safetensor *t, const json_t *info, struct cmx_infer_err *err)
{
	const json_t *offsets = json_object_get(info, "data_offsets");
	const json_t *a = json_array_get(offsets, 0), *b = json_array_get(offsets, 1);
	json_int_t begin = json_integer_value(a), end = json_integer_value(b);

	if (json_array_size(offsets) != 2 || !json_is_integer(a) || !json_is_integer(b))
		return tensor_fail(t, err, "data_offsets", "must be two numbers");
	if (begin < 0 || end < begin)
		return cmx_infer_fail(err, -EINVAL,
				      "tensor '%.100s': data_offsets %lld..%lld do not grow from 0",
				      t->name, (long long)begin, (long long)end);
	if ((uint64_t)(end - begin) != t->size)
		return cmx_infer_fail(err, -EINVAL,
				      "tensor '%.100s': data_offsets span %lld bytes, dtype and shape need %"
				      PRIu64, t->name, (long long)(end - begin), t->size);
	t->offset = (uint64_t)begin;
	return 0;
}

static int parse_tensor(struct cmx_safetensors *s, const char *name, const json_t *info,
			struct cmx_infer_err *err)
{
	struct cmx_safetensor *t = &s->tensor[s->n];
	const struct dtype *d = NULL;
	int ret;

	t->name = strdup(name);
	if (!t->name)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a tensor's name");
	s->n++;
	if (!json_is_object(info))
		return tensor_fail(t, err, "entry", "must be an object");
	if (json_object_size(info) != 3)
		return tensor_fail(t, err, "entry",
				   "must have dtype, shape and data_offsets only");
	ret = parse_dtype(t, info, &d, err);
	if (!ret)
		ret = parse_shape(t, info, d->bits, err);
	return ret ? ret : parse_offsets(t, info, err);
}

static int check_metadata(const json_t *m, struct cmx_infer_err *err)
{
	const char *key;
	const json_t *v;

	if (!json_is_object(m))
		return cmx_infer_fail(err, -EINVAL, "__metadata__ must be an object");
	json_object_foreach((json_t *)m, key, v) {
		if (!json_is_string(v))
			return cmx_infer_fail(err, -EINVAL,
					      "__metadata__: '%.100s' must be a string", key);
	}
	return 0;
}

static int parse_tensors(struct cmx_safetensors *s, json_t *root, struct cmx_infer_err *err)
{
	size_t n = json_object_size(root);
	const char *name;
	const json_t *info;
	int ret;

	if (n > MAX_TENSORS)
		return cmx_infer_fail(err, -EINVAL, "header: %zu tensors, the limit is %u", n,
				      MAX_TENSORS);
	s->tensor = calloc(n + 1, sizeof(*s->tensor));
	if (!s->tensor)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %zu tensors", n);
	json_object_foreach(root, name, info) {
		if (strcmp(name, "__metadata__"))
			ret = parse_tensor(s, name, info, err);
		else
			ret = check_metadata(info, err);
		if (ret)
			return ret;
	}
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct cmx_safetensor *x = a, *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

/* No hole, no overlap, and nothing behind the last tensor. */
static int place_tensors(struct cmx_safetensors *s, uint64_t base, struct cmx_infer_err *err)
{
	uint64_t room = s->file.size - base, end = 0;

	qsort(s->tensor, s->n, sizeof(*s->tensor), by_offset);
	for (size_t i = 0; i < s->n; i++) {
		struct cmx_safetensor *t = &s->tensor[i];

		if (t->offset != end)
			return cmx_infer_fail(err, -EINVAL,
					      "tensor '%.100s': data_offsets begin at %" PRIu64
					      ", must be %" PRIu64, t->name, t->offset, end);
		if (t->size > room - end)
			return cmx_infer_fail(err, -EINVAL,
					      "tensor '%.100s': data_offsets end at %" PRIu64
					      ", the file has %" PRIu64 " bytes of data", t->name,
					      t->offset + t->size, room);
		end += t->size;
		t->offset += base;
	}
	if (end != room)
		return cmx_infer_fail(err, -EINVAL,
				      "the tensors end at %" PRIu64 ", the file has %" PRIu64
				      " bytes of data", end, room);
	return 0;
}

static int read_header(struct cmx_safetensors *s, char **text, uint64_t *len,
		       struct cmx_infer_err *err)
{
	uint8_t start[8];
	int ret;

	if (s->file.size < sizeof(start))
		return cmx_infer_fail(err, -EINVAL,
				      "%" PRIu64 " bytes, a header length needs 8", s->file.size);
	ret = cmx_weight_file_read(&s->file, start, sizeof(start), 0, "header length", err);
	if (ret)
		return ret;
	*len = 0;
	for (int i = 8; i-- > 0;)
		*len = *len << 8 | start[i];
	if (*len < 2 || *len > MAX_HEADER || *len > s->file.size - sizeof(start))
		return cmx_infer_fail(err, -EINVAL, "header length is %" PRIu64
				      ", must be 2..%u and within the file (%" PRIu64 " bytes)",
				      *len, MAX_HEADER, s->file.size);
	*text = malloc(*len);
	if (!*text)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %" PRIu64 " header bytes", *len);
	return cmx_weight_file_read(&s->file, *text, *len, sizeof(start), "header", err);
}

static int parse(struct cmx_safetensors *s, struct cmx_infer_err *err)
{
	char *text = NULL;
	json_t *root = NULL;
	json_error_t e;
	uint64_t len = 0;
	int ret = read_header(s, &text, &len, err);

	if (!ret && text[0] != '{')
		ret = cmx_infer_fail(err, -EINVAL, "header starts with 0x%02x, must be '{'",
				     (unsigned int)(uint8_t)text[0]);
	if (!ret) {
		root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
		if (!root)
			ret = cmx_infer_fail(err, -EINVAL, "header: %.150s at byte %d", e.text,
					     e.position);
	}
	free(text);
	if (!ret)
		ret = parse_tensors(s, root, err);
	json_decref(root);
	return ret ? ret : place_tensors(s, len + 8, err);
}

static int finish_open(struct cmx_safetensors *s, int ret, struct cmx_safetensors **out,
		       struct cmx_infer_err *err)
{
	if (!ret)
		ret = parse(s, err);
	if (ret)
		cmx_safetensors_close(s);
	else
		*out = s;
	return ret;
}

int cmx_safetensors_open_fd(int fd, struct cmx_safetensors **out, struct cmx_infer_err *err)
{
	struct cmx_safetensors *s = calloc(1, sizeof(*s));

	if (!s)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a reader");
	return finish_open(s, cmx_weight_file_from_fd(&s->file, fd, err), out, err);
}

int cmx_safetensors_open(const char *path, struct cmx_safetensors **out,
			 struct cmx_infer_err *err)
{
	struct cmx_safetensors *s = calloc(1, sizeof(*s));

	if (!s)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a reader");
	return finish_open(s, cmx_weight_file_open(&s->file, path, err), out, err);
}

void cmx_safetensors_close(struct cmx_safetensors *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		free(s->tensor[i].name);
	free(s->tensor);
	cmx_weight_file_close(&s->file);
	free(s);
}

const struct cmx_weight_file *cmx_safetensors_file(const struct cmx_safetensors *s)
{
	return &s->file;
}

size_t cmx_safetensors_count(const struct cmx_safetensors *s)
{
	return s->n;
}

const struct cmx_safetensor *cmx_safetensors_at(const struct cmx_safetensors *s, size_t i)
{
	return i < s->n ? &s->tensor[i] : NULL;
}
