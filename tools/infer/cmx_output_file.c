// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int cmx_output_open(struct cmx_output_file *o, const char *path, struct cmx_infer_err *err)
{
	mode_t mask = umask(0);
	int fd, n;

	umask(mask);
	o->f = NULL;
	o->path = path;
	n = snprintf(o->temp, sizeof(o->temp), "%s.XXXXXX", path);
	if (n < 0 || (size_t)n >= sizeof(o->temp))
		return cmx_infer_fail(err, -ENAMETOOLONG,
				      "%.64s...: path of %d bytes, the limit is %zu", path, n,
				      sizeof(o->temp) - 1);
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0)
		return cmx_infer_fail(err, -errno, "%s: %s", path, strerror(errno));
	o->f = fdopen(fd, "w");
	if (o->f && !fchmod(fd, 0666 & ~mask))
		return 0;
	n = -errno;
	if (!o->f)
		close(fd);
	cmx_output_abort(o);
	unlink(o->temp);
	return cmx_infer_fail(err, n, "%s: %s", path, strerror(-n));
}

int cmx_output_commit(struct cmx_output_file *o, struct cmx_infer_err *err)
{
	FILE *f = o->f;
	int ret = 0;

	if (!f)
		return 0;
	o->f = NULL;
	if (ferror(f) | fclose(f))
		ret = errno ? -errno : -EIO;
	if (!ret && rename(o->temp, o->path))
		ret = -errno;
	if (!ret)
		return 0;
	unlink(o->temp);
	return cmx_infer_fail(err, ret, "%s: %s", o->path, strerror(-ret));
}

void cmx_output_abort(struct cmx_output_file *o)
{
	if (!o->f)
		return;
	fclose(o->f);
	unlink(o->temp);
	o->f = NULL;
}
