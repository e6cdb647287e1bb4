// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_gguf_cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CURSOR_FIRST_READ	(64u << 10)
#define CURSOR_MAX_HEADER	(256ull << 20)

int cmx_gguf_cursor_init(struct cmx_gguf_cursor *c, int fd, struct cmx_infer_err *err)
{
	struct stat st;

	*c = (struct cmx_gguf_cursor){ .fd = -1 };
	if (fstat(fd, &st))
		return cmx_infer_fail(err, -errno, "fstat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cmx_infer_fail(err, -EINVAL, "not a regular file");
	c->size = (uint64_t)st.st_size;
	c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (c->fd < 0)
		return cmx_infer_fail(err, -errno, "dup: %s", strerror(errno));
	return 0;
}

void cmx_gguf_cursor_fini(struct cmx_gguf_cursor *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->buf);
}

int cmx_gguf_pread(const struct cmx_gguf_cursor *c, void *dst, uint64_t n, uint64_t at,
		   const char *what, struct cmx_infer_err *err)
{
	uint64_t done = 0;

	while (done < n) {
		uint64_t step = n - done < (1u << 30) ? n - done : 1u << 30;
		ssize_t r = pread(c->fd, (char *)dst + done, step, (off_t)(at + done));

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return cmx_infer_fail(err, -errno, "%s: read at %" PRIu64 ": %s", what,
					      at + done, strerror(errno));
		if (!r)
			return cmx_infer_fail(err, -EIO, "%s: the file got shorter: ends at %"
					      PRIu64 ", %" PRIu64 " expected", what, at + done,
					      at + n);
		done += (uint64_t)r;
	}
	return 0;
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
	if (size > c->size)
		size = c->size;
	buf = realloc(c->buf, size);
	if (!buf)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %" PRIu64 " header bytes", size);
	c->buf = buf;
	ret = cmx_gguf_pread(c, buf + c->have, size - c->have, c->have, what, err);
	if (!ret)
		c->have = size;
	return ret;
}

int cmx_gguf_skip(struct cmx_gguf_cursor *c, uint64_t n, const char *what,
		  struct cmx_infer_err *err)
{
	int ret;

	if (n > c->size - c->pos)
		return cmx_infer_fail(err, -EINVAL, "%s: %" PRIu64 " bytes at offset %" PRIu64
				      " pass the end of the file (%" PRIu64 " bytes)", what, n,
				      c->pos, c->size);
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
