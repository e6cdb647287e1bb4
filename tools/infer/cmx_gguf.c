// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_gguf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_gguf_cursor.h"

#define GGUF_VERSION		3
#define GGUF_MAX_KV		65536u
#define GGUF_MAX_TENSORS	(1u << 20)
#define GGUF_MAX_KEY		65535u
#define GGUF_MAX_STRING		(1ull << 30)
#define GGUF_MAX_ALIGNMENT	(1u << 20)
#define GGUF_DEF_ALIGNMENT	32u

struct gguf_kv {
	uint64_t key;		/* positions in the header */
	uint64_t value;
	uint64_t end;
	uint64_t count;		/* elements of an array, bytes of a string */
	uint32_t key_len;
	uint32_t type;
	uint32_t elem;		/* element type of an array */
};

struct cmx_gguf {
	struct cmx_gguf_cursor cur;
	struct gguf_kv *kv;	/* sorted by key once parsed */
	struct cmx_gguf_tensor *tensor;
	uint32_t *by_name;	/* tensor indices sorted by name */
	uint64_t n_kv;
	uint64_t n_tensors;
	uint32_t alignment;
};

static const uint8_t gguf_scalar_size[] = {
	[CMX_GGUF_U8] = 1, [CMX_GGUF_I8] = 1, [CMX_GGUF_U16] = 2, [CMX_GGUF_I16] = 2,
	[CMX_GGUF_U32] = 4, [CMX_GGUF_I32] = 4, [CMX_GGUF_F32] = 4, [CMX_GGUF_BOOL] = 1,
	[CMX_GGUF_U64] = 8, [CMX_GGUF_I64] = 8, [CMX_GGUF_F64] = 8,
};

static const char * const gguf_type_names[] = {
	[CMX_GGUF_U8] = "u8", [CMX_GGUF_I8] = "i8", [CMX_GGUF_U16] = "u16",
	[CMX_GGUF_I16] = "i16", [CMX_GGUF_U32] = "u32", [CMX_GGUF_I32] = "i32",
	[CMX_GGUF_F32] = "f32", [CMX_GGUF_BOOL] = "bool", [CMX_GGUF_STRING] = "string",
	[CMX_GGUF_ARRAY] = "array", [CMX_GGUF_U64] = "u64", [CMX_GGUF_I64] = "i64",
	[CMX_GGUF_F64] = "f64",
};

static int gguf_scalars(struct cmx_gguf *g, uint32_t type, uint64_t count, const char *what,
			struct cmx_infer_err *err)
{
	uint64_t at = g->cur.pos;
	int ret;

	if (count > UINT64_MAX / 8)
		return cmx_infer_fail(err, -EINVAL, "%s: %" PRIu64 " elements overflow", what,
				      count);
	ret = cmx_gguf_skip(&g->cur, count * gguf_scalar_size[type], what, err);
	if (ret || type != CMX_GGUF_BOOL)
		return ret;
	for (uint64_t i = 0; i < count; i++) {
		uint8_t b = cmx_gguf_at(&g->cur, at)[i];

		if (b > 1)
			return cmx_infer_fail(err, -EINVAL, "%s: bool is %u, must be 0 or 1", what,
					      b);
	}
	return 0;
}

static int gguf_string_body(struct cmx_gguf *g, uint64_t max, uint64_t *at, uint64_t *len,
			    const char *what, struct cmx_infer_err *err)
{
	int ret = cmx_gguf_get_u64(&g->cur, len, what, err);

	if (ret)
		return ret;
	if (*len > max)
		return cmx_infer_fail(err, -EINVAL, "%s: length %" PRIu64 " is over the limit %"
				      PRIu64, what, *len, max);
	*at = g->cur.pos;
	return cmx_gguf_skip(&g->cur, *len, what, err);
}

static int gguf_array(struct cmx_gguf *g, struct gguf_kv *kv, const char *what,
		      struct cmx_infer_err *err)
{
	int ret = cmx_gguf_get_u32(&g->cur, &kv->elem, what, err);

	if (!ret)
		ret = cmx_gguf_get_u64(&g->cur, &kv->count, what, err);
	if (ret)
		return ret;
	if (kv->elem > CMX_GGUF_F64 || kv->elem == CMX_GGUF_ARRAY)
		return cmx_infer_fail(err, -EINVAL, "%s: element type %u, must be 0..8 or 10..12",
				      what, kv->elem);
	kv->value = g->cur.pos;
	if (kv->elem != CMX_GGUF_STRING)
		return gguf_scalars(g, kv->elem, kv->count, what, err);
	for (uint64_t i = 0; i < kv->count; i++) {
		uint64_t at, len;

		ret = gguf_string_body(g, GGUF_MAX_STRING, &at, &len, what, err);
		if (ret)
			return ret;
	}
	return 0;
}

static int gguf_kv_value(struct cmx_gguf *g, struct gguf_kv *kv, const char *what,
			 struct cmx_infer_err *err)
{
	int ret = cmx_gguf_get_u32(&g->cur, &kv->type, what, err);

	if (ret)
		return ret;
	kv->value = g->cur.pos;
	kv->count = 1;
	if (kv->type == CMX_GGUF_STRING)
		return gguf_string_body(g, GGUF_MAX_STRING, &kv->value, &kv->count, what, err);
	if (kv->type == CMX_GGUF_ARRAY)
		return gguf_array(g, kv, what, err);
	if (kv->type > CMX_GGUF_F64)
		return cmx_infer_fail(err, -EINVAL, "%s: value type %u, the largest known is %u",
				      what, kv->type, CMX_GGUF_F64);
	return gguf_scalars(g, kv->type, 1, what, err);
}

static int gguf_parse_kv(struct cmx_gguf *g, struct gguf_kv *kv, uint64_t i,
			 struct cmx_infer_err *err)
{
	char what[96];
	uint64_t len;
	int ret, shown;

	snprintf(what, sizeof(what), "metadata key %" PRIu64, i);
	ret = gguf_string_body(g, GGUF_MAX_KEY, &kv->key, &len, what, err);
	if (ret)
		return ret;
	if (!len)
		return cmx_infer_fail(err, -EINVAL, "%s: the key is empty", what);
	kv->key_len = (uint32_t)len;
	if (memchr(cmx_gguf_at(&g->cur, kv->key), 0, len))
		return cmx_infer_fail(err, -EINVAL, "%s: the key holds a zero byte", what);
	shown = len < 64 ? (int)len : 64;
	snprintf(what, sizeof(what), "metadata '%.*s'", shown,
		 (const char *)cmx_gguf_at(&g->cur, kv->key));
	return gguf_kv_value(g, kv, what, err);
}

static int kv_order(const void *a, const void *b, void *ctx)
{
	const struct gguf_kv *x = a, *y = b;
	const struct cmx_gguf *g = ctx;
	uint32_t n = x->key_len < y->key_len ? x->key_len : y->key_len;
	int d = memcmp(cmx_gguf_at(&g->cur, x->key), cmx_gguf_at(&g->cur, y->key), n);

	if (d)
		return d;
	return (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

static int gguf_parse_metadata(struct cmx_gguf *g, uint64_t count, struct cmx_infer_err *err)
{
	g->kv = calloc(count ? count : 1, sizeof(*g->kv));
	if (!g->kv)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %" PRIu64 " metadata keys",
				      count);
	for (uint64_t i = 0; i < count; i++) {
		int ret = gguf_parse_kv(g, &g->kv[i], i, err);

		if (ret)
			return ret;
		g->kv[i].end = g->cur.pos;
		g->n_kv = i + 1;
	}
	qsort_r(g->kv, count, sizeof(*g->kv), kv_order, g);
	for (uint64_t i = 1; i < count; i++) {
		if (!kv_order(&g->kv[i - 1], &g->kv[i], g))
			return cmx_infer_fail(err, -EINVAL, "metadata '%.*s': the key occurs twice",
					      (int)(g->kv[i].key_len < 64 ? g->kv[i].key_len : 64),
					      (const char *)cmx_gguf_at(&g->cur, g->kv[i].key));
	}
	return 0;
}

static int gguf_alignment(struct cmx_gguf *g, struct cmx_infer_err *err)
{
	uint32_t a = GGUF_DEF_ALIGNMENT;
	int ret = cmx_gguf_u32(g, "general.alignment", &a, err);

	if (ret && ret != -ENOENT)
		return ret;
	if (a < 8 || a > GGUF_MAX_ALIGNMENT || (a & (a - 1)))
		return cmx_infer_fail(err, -EINVAL,
				      "general.alignment is %u, must be a power of two in 8..%u", a,
				      GGUF_MAX_ALIGNMENT);
	g->alignment = a;
	return 0;
}

static int gguf_tensor_dims(struct cmx_gguf *g, struct cmx_gguf_tensor *t,
			    struct cmx_infer_err *err)
{
	uint64_t n = 1;
	int ret = cmx_gguf_get_u32(&g->cur, &t->n_dims, t->name, err);

	if (ret)
		return ret;
	if (!t->n_dims || t->n_dims > CMX_GGUF_MAX_DIMS)
		return cmx_infer_fail(err, -EINVAL, "tensor '%s': %u dimensions, must be 1..%u",
				      t->name, t->n_dims, CMX_GGUF_MAX_DIMS);
	for (uint32_t d = 0; d < CMX_GGUF_MAX_DIMS; d++) {
		t->dims[d] = 1;
		if (d >= t->n_dims)
			continue;
		ret = cmx_gguf_get_u64(&g->cur, &t->dims[d], t->name, err);
		if (ret)
			return ret;
		if (!t->dims[d] || t->dims[d] > INT64_MAX / n)
			return cmx_infer_fail(err, -EINVAL, "tensor '%s': dimension %u is %" PRIu64
					      ", must be 1..%" PRIu64, t->name, d, t->dims[d],
					      INT64_MAX / n);
		n *= t->dims[d];
	}
	return 0;
}

static int gguf_tensor_size(struct cmx_gguf_tensor *t, uint32_t type, struct cmx_infer_err *err)
{
	uint64_t n = t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3];
	struct cmx_tensor_block block = cmx_tensor_block(type);

	if (!block.values)
		return cmx_infer_fail(err, -ENOTSUP,
				      "tensor '%s': type %u, must be 0 (F32), 1 (F16), 2 (Q4_0), 8 (Q8_0), 12 (Q4_K), 14 (Q6_K), 24 (I8) or 30 (BF16)",
				      t->name, type);
	t->type = type;
	if (t->dims[0] % block.values)
		return cmx_infer_fail(err, -EINVAL, "tensor '%s': row of %" PRIu64
				      " values, %s needs a multiple of %u", t->name, t->dims[0],
				      cmx_tensor_type_name(type), block.values);
	t->size = cmx_tensor_bytes(type, n);
	if (!t->size)
		return cmx_infer_fail(err, -EINVAL, "tensor '%s': %" PRIu64 " values overflow",
				      t->name, n);
	return 0;
}

static int gguf_parse_tensor(struct cmx_gguf *g, struct cmx_gguf_tensor *t, uint64_t i,
			     struct cmx_infer_err *err)
{
	uint64_t at, len;
	uint32_t type;
	char what[48];
	int ret;

	snprintf(what, sizeof(what), "name of tensor %" PRIu64, i);
	ret = gguf_string_body(g, CMX_GGUF_MAX_NAME, &at, &len, what, err);
	if (ret)
		return ret;
	memcpy(t->name, cmx_gguf_at(&g->cur, at), len);
	if (!len || memchr(t->name, 0, len))
		return cmx_infer_fail(err, -EINVAL, "%s is empty or holds a zero byte", what);
	ret = gguf_tensor_dims(g, t, err);
	if (!ret)
		ret = cmx_gguf_get_u32(&g->cur, &type, t->name, err);
	if (!ret)
		ret = cmx_gguf_get_u64(&g->cur, &t->offset, t->name, err);
	return ret ? ret : gguf_tensor_size(t, type, err);
}

/* Offsets must be the running sum of the padded sizes: no gap, no overlap. */
static int gguf_place_tensors(struct cmx_gguf *g, struct cmx_infer_err *err)
{
	uint64_t mask = g->alignment - 1, base = (g->cur.pos + mask) & ~mask, sum = 0;

	for (uint64_t i = 0; i < g->n_tensors; i++) {
		struct cmx_gguf_tensor *t = &g->tensor[i];

		if (t->offset != sum)
			return cmx_infer_fail(err, -EINVAL, "tensor '%s': offset %" PRIu64
					      ", must be %" PRIu64, t->name, t->offset, sum);
		if (base > g->cur.file.size || t->size > g->cur.file.size - base ||
		    sum > g->cur.file.size - base - t->size)
			return cmx_infer_fail(err, -EINVAL, "tensor '%s': %" PRIu64
					      " bytes at data offset %" PRIu64
					      " pass the end of the file (%" PRIu64 " bytes)",
					      t->name, t->size, sum, g->cur.file.size);
		t->offset = base + sum;
		sum += (t->size + mask) & ~mask;
	}
	return 0;
}

static int tensor_order(const void *a, const void *b, void *ctx)
{
	const struct cmx_gguf *g = ctx;

	return strcmp(g->tensor[*(const uint32_t *)a].name, g->tensor[*(const uint32_t *)b].name);
}

static int gguf_index_tensors(struct cmx_gguf *g, struct cmx_infer_err *err)
{
	g->by_name = calloc(g->n_tensors + 1, sizeof(*g->by_name));
	if (!g->by_name)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %" PRIu64 " tensors",
				      g->n_tensors);
	for (uint32_t i = 0; i < g->n_tensors; i++)
		g->by_name[i] = i;
	qsort_r(g->by_name, g->n_tensors, sizeof(*g->by_name), tensor_order, g);
	for (uint64_t i = 1; i < g->n_tensors; i++) {
		if (!tensor_order(&g->by_name[i - 1], &g->by_name[i], g))
			return cmx_infer_fail(err, -EINVAL, "tensor '%s': the name occurs twice",
					      g->tensor[g->by_name[i]].name);
	}
	return 0;
}

static int gguf_parse_tensors(struct cmx_gguf *g, uint64_t count, struct cmx_infer_err *err)
{
	int ret;

	g->tensor = calloc(count ? count : 1, sizeof(*g->tensor));
	if (!g->tensor)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %" PRIu64 " tensors", count);
	for (uint64_t i = 0; i < count; i++) {
		ret = gguf_parse_tensor(g, &g->tensor[i], i, err);
		if (ret)
			return ret;
		g->n_tensors = i + 1;
	}
	ret = gguf_place_tensors(g, err);
	return ret ? ret : gguf_index_tensors(g, err);
}

static int gguf_check_version(uint32_t version, struct cmx_infer_err *err)
{
	if (version == __builtin_bswap32(GGUF_VERSION))
		return cmx_infer_fail(err, -ENOTSUP, "version is 0x%08x: a big-endian file",
				      version);
	if (version != GGUF_VERSION)
		return cmx_infer_fail(err, -ENOTSUP, "version is %u, must be %u", version,
				      GGUF_VERSION);
	return 0;
}

static int gguf_count(struct cmx_gguf *g, const char *what, uint64_t max, uint64_t *count,
		      struct cmx_infer_err *err)
{
	int ret = cmx_gguf_get_u64(&g->cur, count, what, err);

	if (!ret && *count > max)
		return cmx_infer_fail(err, -EINVAL, "%s is %" PRIu64 ", the limit is %" PRIu64,
				      what, *count, max);
	return ret;
}

static int gguf_parse(struct cmx_gguf *g, struct cmx_infer_err *err)
{
	uint64_t n_tensors, n_kv;
	uint32_t magic, version;
	int ret = cmx_gguf_get_u32(&g->cur, &magic, "magic", err);

	if (ret)
		return ret;
	if (magic != 0x46554747u)
		return cmx_infer_fail(err, -EINVAL, "magic is 0x%08x, must be 0x46554747 (GGUF)",
				      magic);
	ret = cmx_gguf_get_u32(&g->cur, &version, "version", err);
	if (!ret)
		ret = gguf_check_version(version, err);
	if (!ret)
		ret = gguf_count(g, "tensor count", GGUF_MAX_TENSORS, &n_tensors, err);
	if (!ret)
		ret = gguf_count(g, "metadata count", GGUF_MAX_KV, &n_kv, err);
	if (!ret)
		ret = gguf_parse_metadata(g, n_kv, err);
	if (!ret)
		ret = gguf_alignment(g, err);
	return ret ? ret : gguf_parse_tensors(g, n_tensors, err);
}

static int finish_open(struct cmx_gguf *g, int ret, struct cmx_gguf **out,
		       struct cmx_infer_err *err)
{
	if (!ret)
		ret = gguf_parse(g, err);
	if (ret)
		cmx_gguf_close(g);
	else
		*out = g;
	return ret;
}

int cmx_gguf_open_fd(int fd, struct cmx_gguf **out, struct cmx_infer_err *err)
{
	struct cmx_gguf *g = calloc(1, sizeof(*g));

	if (!g)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a model reader");
	return finish_open(g, cmx_weight_file_from_fd(&g->cur.file, fd, err), out, err);
}

int cmx_gguf_open(const char *path, struct cmx_gguf **out, struct cmx_infer_err *err)
{
	struct cmx_gguf *g = calloc(1, sizeof(*g));
	struct cmx_infer_err why = { .text = "" };
	int ret;

	if (!g)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a model reader");
	ret = finish_open(g, cmx_weight_file_open(&g->cur.file, path, &why), out, &why);
	return ret ? cmx_infer_fail(err, ret, "%.120s: %s", path, why.text) : 0;
}

void cmx_gguf_close(struct cmx_gguf *g)
{
	if (!g)
		return;
	cmx_gguf_cursor_fini(&g->cur);
	free(g->by_name);
	free(g->tensor);
	free(g->kv);
	free(g);
}

static const struct gguf_kv *gguf_find(const struct cmx_gguf *g, const char *key)
{
	uint64_t lo = 0, hi = g->n_kv;
	size_t len = strlen(key);

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		const struct gguf_kv *kv = &g->kv[mid];
		size_t n = kv->key_len < len ? kv->key_len : len;
		int d = memcmp(cmx_gguf_at(&g->cur, kv->key), key, n);

		if (!d && kv->key_len == len)
			return kv;
		if (d < 0 || (!d && kv->key_len < len))
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

static int gguf_typed(const struct cmx_gguf *g, const char *key, uint32_t type,
		      const struct gguf_kv **kv, struct cmx_infer_err *err)
{
	*kv = gguf_find(g, key);
	if (!*kv)
		return cmx_infer_fail(err, -ENOENT, "metadata '%s' is missing", key);
	if ((*kv)->type != type)
		return cmx_infer_fail(err, -EINVAL, "metadata '%s' has type %s, must be %s", key,
				      gguf_type_names[(*kv)->type], gguf_type_names[type]);
	return 0;
}

bool cmx_gguf_has(const struct cmx_gguf *g, const char *key)
{
	return gguf_find(g, key);
}

int cmx_gguf_u32(const struct cmx_gguf *g, const char *key, uint32_t *val,
		 struct cmx_infer_err *err)
{
	const struct gguf_kv *kv;
	int ret = gguf_typed(g, key, CMX_GGUF_U32, &kv, err);

	if (!ret)
		memcpy(val, cmx_gguf_at(&g->cur, kv->value), sizeof(*val));
	return ret;
}

int cmx_gguf_f32(const struct cmx_gguf *g, const char *key, float *val, struct cmx_infer_err *err)
{
	const struct gguf_kv *kv;
	int ret = gguf_typed(g, key, CMX_GGUF_F32, &kv, err);

	if (!ret)
		memcpy(val, cmx_gguf_at(&g->cur, kv->value), sizeof(*val));
	return ret;
}

int cmx_gguf_bool(const struct cmx_gguf *g, const char *key, bool *val, struct cmx_infer_err *err)
{
	const struct gguf_kv *kv;
	int ret = gguf_typed(g, key, CMX_GGUF_BOOL, &kv, err);

	if (!ret)
		*val = *cmx_gguf_at(&g->cur, kv->value);
	return ret;
}

int cmx_gguf_string(const struct cmx_gguf *g, const char *key, const char **val, uint64_t *len,
		    struct cmx_infer_err *err)
{
	const struct gguf_kv *kv;
	int ret = gguf_typed(g, key, CMX_GGUF_STRING, &kv, err);

	if (ret)
		return ret;
	*val = (const char *)cmx_gguf_at(&g->cur, kv->value);
	*len = kv->count;
	return 0;
}

static int gguf_typed_array(const struct cmx_gguf *g, const char *key, uint32_t elem,
			    const struct gguf_kv **kv, struct cmx_infer_err *err)
{
	int ret = gguf_typed(g, key, CMX_GGUF_ARRAY, kv, err);

	if (!ret && (*kv)->elem != elem)
		return cmx_infer_fail(err, -EINVAL, "metadata '%s' has %s elements, must be %s",
				      key, gguf_type_names[(*kv)->elem], gguf_type_names[elem]);
	return ret;
}

int cmx_gguf_strings(const struct cmx_gguf *g, const char *key, struct cmx_gguf_strings *it,
		     struct cmx_infer_err *err)
{
	const struct gguf_kv *kv;
	int ret = gguf_typed_array(g, key, CMX_GGUF_STRING, &kv, err);

	if (!ret)
		*it = (struct cmx_gguf_strings){ .count = kv->count, .next = kv->value };
	return ret;
}

bool cmx_gguf_strings_next(const struct cmx_gguf *g, struct cmx_gguf_strings *it,
			   const char **val, uint64_t *len)
{
	if (it->done == it->count)
		return false;
	memcpy(len, cmx_gguf_at(&g->cur, it->next), sizeof(*len));
	*val = (const char *)cmx_gguf_at(&g->cur, it->next + sizeof(*len));
	it->next += sizeof(*len) + *len;
	it->done++;
	return true;
}

int cmx_gguf_i32_array(const struct cmx_gguf *g, const char *key, const uint8_t **val,
		       uint64_t *count, struct cmx_infer_err *err)
{
	const struct gguf_kv *kv;
	int ret = gguf_typed_array(g, key, CMX_GGUF_I32, &kv, err);

	if (ret)
		return ret;
	*val = cmx_gguf_at(&g->cur, kv->value);
	*count = kv->count;
	return 0;
}

uint64_t cmx_gguf_n_entries(const struct cmx_gguf *g)
{
	return g->n_kv;
}

struct cmx_gguf_entry cmx_gguf_entry_at(const struct cmx_gguf *g, uint64_t i)
{
	const struct gguf_kv *kv = &g->kv[i];
	uint64_t start = kv->key - sizeof(uint64_t);

	return (struct cmx_gguf_entry){
		.key = (const char *)cmx_gguf_at(&g->cur, kv->key), .key_len = kv->key_len,
		.bytes = cmx_gguf_at(&g->cur, start), .len = kv->end - start,
	};
}

uint32_t cmx_gguf_alignment(const struct cmx_gguf *g)
{
	return g->alignment;
}

uint64_t cmx_gguf_n_tensors(const struct cmx_gguf *g)
{
	return g->n_tensors;
}

const struct cmx_gguf_tensor *cmx_gguf_tensor_at(const struct cmx_gguf *g, uint64_t i)
{
	return i < g->n_tensors ? &g->tensor[i] : NULL;
}

const struct cmx_gguf_tensor *cmx_gguf_tensor(const struct cmx_gguf *g, const char *name)
{
	uint64_t lo = 0, hi = g->n_tensors;

	while (lo < hi) {
		uint64_t mid = lo + (hi - lo) / 2;
		const struct cmx_gguf_tensor *t = &g->tensor[g->by_name[mid]];
		int d = strcmp(t->name, name);

		if (!d)
			return t;
		if (d < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

const struct cmx_weight_file *cmx_gguf_file(const struct cmx_gguf *g)
{
	return &g->cur.file;
}
