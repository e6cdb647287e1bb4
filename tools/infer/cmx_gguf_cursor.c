// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_gguf_cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CURSOR_FIRST_READ	(64u << 10)
#define CURSOR_MAX_HEADER	(256ull << 20)

void cmx_gguf_cursor_fini(struct cmx_gguf_cursor *c)
{
	cmx_weight_file_close(&c->file);
	free(c->buf);
}

static int cursor_grow(struct cmx_gguf_cursor *c, uint64_t want, const char *what,
		       struct cmx_infer_err *err)
{
	uint64_t size = c->have ? c->have * 2 : CURSOR_FIRST_READ;
	uint8_t *buf;
	int ret;

	if (want > CURSOR_MAX_HEADER)
		return cmx_infer_fail(err, -EFBIG, "%s: header of %" PRIu64
				      " bytes or more, the limit is %llu", what, want,
				      CURSOR_MAX_HEADER);
	if (size < want)
		size = want;
	if (size > c->file.size)
		size = c->file.size;
	buf = realloc(c->buf, size);
	if (!buf)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %" PRIu64 " header bytes", size);
	c->buf = buf;
	ret = cmx_weight_file_read(&c->file, buf + c->have, size - c->have, c->have, what, err);
	if (!ret)
		c->have = size;
	return ret;
}

int cmx_gguf_skip(struct cmx_gguf_cursor *c, uint64_t n, const char *what,
		  struct cmx_infer_err *err)
{
	int ret;

	if (n > c->file.size - c->pos)
		return cmx_infer_fail(err, -EINVAL, "%s: %" PRIu64 " bytes at offset %" PRIu64
				      " pass the end of the file (%" PRIu64 " bytes)", what, n,
				      c->pos, c->file.size);
	if (c->pos + n > c->have) {
		ret = cursor_grow(c, c->pos + n, what, err);
		if (ret)
			return ret;
	}
	c->pos += n;
	return 0;
}

int cmx_gguf_get_u32(struct cmx_gguf_cursor *c, uint32_t *val, const char *what,
		     struct cmx_infer_err *err)
{
	int ret = cmx_gguf_skip(c, sizeof(*val), what, err);

	if (!ret)
		memcpy(val, c->buf + c->pos - sizeof(*val), sizeof(*val));
	return ret;
}

int cmx_gguf_get_u64(struct cmx_gguf_cursor *c, uint64_t *val, const char *what,
		     struct cmx_infer_err *err)
{
	int ret = cmx_gguf_skip(c, sizeof(*val), what, err);

	if (!ret)
		memcpy(val, c->buf + c->pos - sizeof(*val), sizeof(*val));
	return ret;
}
