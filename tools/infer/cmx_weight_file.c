// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_weight_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_READ	(1u << 30)
#define DROP_ALIGN	65536ull	/* no page is larger */

static int file_check(struct cmx_weight_file *f, int fd, struct cmx_infer_err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return cmx_infer_fail(err, -errno, "fstat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cmx_infer_fail(err, -EINVAL, "not a regular file");
	f->size = (uint64_t)st.st_size;
	return 0;
}

int cmx_weight_file_open(struct cmx_weight_file *f, const char *path, struct cmx_infer_err *err)
{
	int ret;

	/* A FIFO must not hold the program up. */
	*f = (struct cmx_weight_file){ .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	if (f->fd < 0)
		return cmx_infer_fail(err, -errno, "%s", strerror(errno));
	ret = file_check(f, f->fd, err);
	if (ret)
		cmx_weight_file_close(f);
	return ret;
}

int cmx_weight_file_from_fd(struct cmx_weight_file *f, int fd, struct cmx_infer_err *err)
{
	int ret;

	*f = (struct cmx_weight_file){ .fd = -1 };
	ret = file_check(f, fd, err);
	if (ret)
		return ret;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return f->fd < 0 ? cmx_infer_fail(err, -errno, "dup: %s", strerror(errno)) : 0;
}

void cmx_weight_file_close(struct cmx_weight_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

int cmx_weight_file_read(const struct cmx_weight_file *f, void *dst, uint64_t n, uint64_t at,
			 const char *what, struct cmx_infer_err *err)
{
	uint64_t done = 0;

	while (done < n) {
		uint64_t step = n - done < MAX_READ ? n - done : MAX_READ;
		ssize_t r = pread(f->fd, (char *)dst + done, step, (off_t)(at + done));

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

int cmx_weight_file_text(const char *path, uint64_t max, char **text, uint64_t *len,
			 struct cmx_infer_err *err)
{
	struct cmx_weight_file f;
	int ret = cmx_weight_file_open(&f, path, err);

	if (ret)
		return ret;
	*len = f.size;
	if (f.size > max)
		ret = cmx_infer_fail(err, -EFBIG, "%" PRIu64 " bytes, the limit is %" PRIu64,
				     f.size, max);
	*text = ret ? NULL : malloc(f.size + 1);
	if (!ret && !*text)
		ret = cmx_infer_fail(err, -ENOMEM, "no memory for %" PRIu64 " bytes", f.size);
	if (!ret)
		ret = cmx_weight_file_read(&f, *text, f.size, 0, "text", err);
	if (!ret)
		(*text)[f.size] = 0;
	if (ret)
		free(*text);
	cmx_weight_file_close(&f);
	return ret;
}

void cmx_weight_file_drop(const struct cmx_weight_file *f, uint64_t at, uint64_t n)
{
	uint64_t start = at & ~(DROP_ALIGN - 1);

	/* Advice: a failure costs memory, nothing else. Of the last page only a whole one goes. */
	posix_fadvise(f->fd, (off_t)start, (off_t)(at + n - start), POSIX_FADV_DONTNEED);
}
