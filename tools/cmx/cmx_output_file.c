// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name of a file that is not there yet, by its folder's. */
static int resolve_new(const char *path, char target[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	char folder[PATH_MAX], real[PATH_MAX];
	struct stat st;
	int n;

	/* A link to nothing: a rename would replace the link. */
	if (!*name || !lstat(path, &st))
		return -ENOENT;
	n = snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(name - path) : 1,
		     slash ? path : ".");
	if (n < 0 || (size_t)n >= sizeof(folder))
		return -ENAMETOOLONG;
	if (!realpath(folder, real))
		return -errno;
	n = snprintf(target, PATH_MAX, "%s/%s", strcmp(real, "/") ? real : "", name);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* One name for all the ways to write it. */
static int resolve(const char *path, char target[PATH_MAX])
{
	if (realpath(path, target))
		return 0;
	return errno == ENOENT ? resolve_new(path, target) : -errno;
}

static int open_temp(struct cmx_output_file *o, mode_t mode)
{
	int fd, ret;

	snprintf(o->temp, sizeof(o->temp), "%s.XXXXXX", o->target);
	fd = mkostemp(o->temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (!fchmod(fd, mode))
		o->f = fdopen(fd, "w");
	if (o->f)
		return 0;
	ret = -errno;
	close(fd);
	unlink(o->temp);
	return ret;
}

int cmx_output_open(struct cmx_output_file *o, const char *path)
{
	mode_t mask = umask(0), mode = 0666 & ~mask;
	struct stat st;
	int ret;

	umask(mask);
	o->f = NULL;
	o->target[0] = '\0';
	if (!stat(path, &st)) {
		if (!S_ISREG(st.st_mode)) {
			o->f = fopen(path, "we");
			return o->f ? 0 : -errno;
		}
		mode = st.st_mode & 0777;
	}
	ret = resolve(path, o->target);
	return ret ? ret : open_temp(o, mode);
}

int cmx_output_commit(struct cmx_output_file *o)
{
	FILE *f = o->f;
	int ret = 0;

	if (!f)
		return 0;
	o->f = NULL;
	errno = EIO;
	if (ferror(f) | fclose(f))
		ret = -errno;
	if (!o->target[0])
		return ret;
	if (!ret && rename(o->temp, o->target))
		ret = -errno;
	if (ret)
		unlink(o->temp);
	return ret;
}

void cmx_output_abort(struct cmx_output_file *o)
{
	if (!o->f)
		return;
	fclose(o->f);
	o->f = NULL;
	if (o->target[0])
		unlink(o->temp);
}

bool cmx_output_replaces(const struct cmx_output_file *o, const char *path)
{
	char other[PATH_MAX];

	return o->target[0] && !resolve(path, other) && !strcmp(o->target, other);
}
