// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int file_size(int fd, size_t max, size_t *size, struct cmx_infer_err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return cmx_infer_fail(err, -errno, "fstat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cmx_infer_fail(err, -EINVAL, "not a regular file");
	if ((unsigned long long)st.st_size > max)
		return cmx_infer_fail(err, -E2BIG, "%lld bytes, the limit is %zu",
				      (long long)st.st_size, max);
	*size = (size_t)st.st_size;
	return 0;
}

static int read_all(int fd, char *buf, size_t len, struct cmx_infer_err *err)
{
	size_t done = 0;

	while (done < len) {
		ssize_t r = read(fd, buf + done, len - done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return cmx_infer_fail(err, -errno, "read: %s", strerror(errno));
		if (!r)
			return cmx_infer_fail(err, -EINVAL, "the file ends %zu bytes early",
					      len - done);
		done += (size_t)r;
	}
	return 0;
}

static int parse(const char *buf, size_t len, json_t **root, struct cmx_infer_err *err)
{
	json_error_t why;

	*root = json_loadb(buf, len, JSON_REJECT_DUPLICATES, &why);
	if (!*root)
		return cmx_infer_fail(err, -EINVAL, "line %d: %s", why.line, why.text);
	if (json_is_object(*root))
		return 0;
	json_decref(*root);
	*root = NULL;
	return cmx_infer_fail(err, -EINVAL, "is no JSON object");
}

/* All at once: jansson reads a file by the byte. */
static int load(int fd, size_t max, json_t **root, struct cmx_infer_err *err)
{
	size_t len = 0;
	char *buf;
	int ret = file_size(fd, max, &len, err);

	if (ret)
		return ret;
	buf = malloc(len + 1);
	if (!buf)
		return cmx_infer_fail(err, -ENOMEM, "no memory for %zu bytes", len);
	ret = read_all(fd, buf, len, err);
	if (!ret)
		ret = parse(buf, len, root, err);
	free(buf);
	return ret;
}

int cmx_json_file_read(const char *path, size_t max, json_t **root, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), ret;

	*root = NULL;
	if (fd < 0)
		return cmx_infer_fail(err, -errno, "%.160s: %s", path, strerror(errno));
	ret = load(fd, max, root, &why);
	close(fd);
	return ret ? cmx_infer_fail(err, ret, "%.160s: %s", path, why.text) : 0;
}
