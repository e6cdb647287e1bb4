// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_gguf_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GGUF_MAGIC	0x46554747u
#define GGUF_VERSION	3u

static void put(struct cmx_gguf_writer *w, struct cmx_gguf_part *p, const void *data, size_t len)
{
	if (w->no_memory)
		return;
	if (len > p->room - p->len) {
		size_t room = (p->len + len) * 2;
		uint8_t *buf = realloc(p->buf, room);

		w->no_memory = !buf;
		if (!buf)
			return;
		p->buf = buf;
		p->room = room;
	}
	memcpy(p->buf + p->len, data, len);
	p->len += len;
}

static void put_u32(struct cmx_gguf_writer *w, struct cmx_gguf_part *p, uint32_t v)
{
	put(w, p, &v, sizeof(v));
}

static void put_u64(struct cmx_gguf_writer *w, struct cmx_gguf_part *p, uint64_t v)
{
	put(w, p, &v, sizeof(v));
}

static void put_text(struct cmx_gguf_writer *w, struct cmx_gguf_part *p, const char *s)
{
	put_u64(w, p, strlen(s));
	put(w, p, s, strlen(s));
}

static void put_key(struct cmx_gguf_writer *w, const char *key, enum cmx_gguf_type type)
{
	put_text(w, &w->kv, key);
	put_u32(w, &w->kv, type);
	w->n_kv++;
}

static uint64_t padding(const struct cmx_gguf_writer *w, uint64_t size)
{
	return -size & (w->alignment - 1);
}

void cmx_gguf_writer_init(struct cmx_gguf_writer *w, FILE *f, uint32_t alignment)
{
	*w = (struct cmx_gguf_writer){ .f = f, .alignment = alignment };
}

void cmx_gguf_writer_fini(struct cmx_gguf_writer *w)
{
	free(w->kv.buf);
	free(w->tensor.buf);
}

void cmx_gguf_put_bytes(struct cmx_gguf_writer *w, const void *kv, uint64_t len)
{
	put(w, &w->kv, kv, len);
	w->n_kv++;
}

void cmx_gguf_put_string(struct cmx_gguf_writer *w, const char *key, const char *val)
{
	put_key(w, key, CMX_GGUF_STRING);
	put_text(w, &w->kv, val);
}

void cmx_gguf_put_u32(struct cmx_gguf_writer *w, const char *key, uint32_t val)
{
	put_key(w, key, CMX_GGUF_U32);
	put_u32(w, &w->kv, val);
}

void cmx_gguf_put_f32(struct cmx_gguf_writer *w, const char *key, float val)
{
	put_key(w, key, CMX_GGUF_F32);
	put(w, &w->kv, &val, sizeof(val));
}

void cmx_gguf_put_tensor(struct cmx_gguf_writer *w, const char *name, enum cmx_tensor_type type,
			 uint32_t n_dims, const uint64_t *dims)
{
	uint64_t n = 1, size;

	put_text(w, &w->tensor, name);
	put_u32(w, &w->tensor, n_dims);
	for (uint32_t i = 0; i < n_dims; i++) {
		put_u64(w, &w->tensor, dims[i]);
		n *= dims[i];
	}
	put_u32(w, &w->tensor, type);
	put_u64(w, &w->tensor, w->offset);
	size = cmx_tensor_bytes(type, n);
	w->offset += size + padding(w, size);
	w->n_tensors++;
}

int cmx_gguf_write_data(struct cmx_gguf_writer *w, const void *data, uint64_t len,
			struct cmx_infer_err *err)
{
	if (!len || fwrite(data, 1, len, w->f) == len)
		return 0;
	return cmx_infer_fail(err, -EIO, "write failed: %s", strerror(errno));
}

int cmx_gguf_write_pad(struct cmx_gguf_writer *w, uint64_t size, struct cmx_infer_err *err)
{
	static const uint8_t zero[64];
	uint64_t left = padding(w, size);
	int ret = 0;

	while (left && !ret) {
		uint64_t n = left < sizeof(zero) ? left : sizeof(zero);

		ret = cmx_gguf_write_data(w, zero, n, err);
		left -= n;
	}
	return ret;
}

int cmx_gguf_write_header(struct cmx_gguf_writer *w, struct cmx_infer_err *err)
{
	struct cmx_gguf_part head = { 0 };
	uint64_t len;
	int ret;

	put_u32(w, &head, GGUF_MAGIC);
	put_u32(w, &head, GGUF_VERSION);
	put_u64(w, &head, w->n_tensors);
	put_u64(w, &head, w->n_kv);
	len = head.len + w->kv.len + w->tensor.len;
	if (w->no_memory)
		ret = cmx_infer_fail(err, -ENOMEM, "no memory for the header");
	else
		ret = cmx_gguf_write_data(w, head.buf, head.len, err);
	free(head.buf);
	if (!ret)
		ret = cmx_gguf_write_data(w, w->kv.buf, w->kv.len, err);
	if (!ret)
		ret = cmx_gguf_write_data(w, w->tensor.buf, w->tensor.len, err);
	return ret ? ret : cmx_gguf_write_pad(w, len, err);
}
