// SPDX-License-Identifier: GPL-2.0-only
#include "gguf_make.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void make_bytes(struct gguf_make *m, const void *data, size_t len)
{
	if (m->len + len > sizeof(m->buf))
		abort();
	memcpy(m->buf + m->len, data, len);
	m->len += len;
}

void make_u8(struct gguf_make *m, uint8_t v)
{
	make_bytes(m, &v, sizeof(v));
}

void make_u32(struct gguf_make *m, uint32_t v)
{
	make_bytes(m, &v, sizeof(v));
}

void make_u64(struct gguf_make *m, uint64_t v)
{
	make_bytes(m, &v, sizeof(v));
}

void make_f32(struct gguf_make *m, float v)
{
	make_bytes(m, &v, sizeof(v));
}

void make_string(struct gguf_make *m, const char *s)
{
	make_u64(m, strlen(s));
	make_bytes(m, s, strlen(s));
}

void make_patch(struct gguf_make *m, size_t at, const void *data, size_t len)
{
	if (at + len > m->len)
		abort();
	memcpy(m->buf + at, data, len);
}

void make_header(struct gguf_make *m, uint64_t n_tensors, uint64_t n_kv)
{
	m->len = 0;
	make_bytes(m, "GGUF", 4);
	make_u32(m, 3);
	make_u64(m, n_tensors);
	make_u64(m, n_kv);
}

void make_kv_u32(struct gguf_make *m, const char *key, uint32_t v)
{
	make_string(m, key);
	make_u32(m, CMX_GGUF_U32);
	make_u32(m, v);
}

void make_kv_f32(struct gguf_make *m, const char *key, float v)
{
	make_string(m, key);
	make_u32(m, CMX_GGUF_F32);
	make_f32(m, v);
}

void make_kv_bool(struct gguf_make *m, const char *key, uint8_t v)
{
	make_string(m, key);
	make_u32(m, CMX_GGUF_BOOL);
	make_u8(m, v);
}

void make_kv_string(struct gguf_make *m, const char *key, const char *v)
{
	make_string(m, key);
	make_u32(m, CMX_GGUF_STRING);
	make_string(m, v);
}

void make_kv_array(struct gguf_make *m, const char *key, uint32_t type, uint64_t n)
{
	make_string(m, key);
	make_u32(m, CMX_GGUF_ARRAY);
	make_u32(m, type);
	make_u64(m, n);
}

void make_tensor(struct gguf_make *m, const char *name, uint32_t type, const uint64_t *dims,
		 uint64_t offset)
{
	uint32_t n = 0;

	while (dims[n])
		n++;
	make_string(m, name);
	make_u32(m, n);
	for (uint32_t i = 0; i < n; i++)
		make_u64(m, dims[i]);
	make_u32(m, type);
	make_u64(m, offset);
}

void make_pad(struct gguf_make *m, size_t align)
{
	while (m->len % align)
		make_u8(m, 0);
}

int make_file(const struct gguf_make *m, size_t len)
{
	int fd = memfd_create("gguf", MFD_CLOEXEC);

	if (fd < 0 || write(fd, m->buf, len) != (ssize_t)len)
		abort();
	return fd;
}

int make_open(const struct gguf_make *m, size_t len, struct cmx_gguf **g,
	      struct cmx_infer_err *err)
{
	int fd = make_file(m, len), ret;

	*g = NULL;
	err->text[0] = 0;
	ret = cmx_gguf_open_fd(fd, g, err);
	close(fd);
	return ret;
}
