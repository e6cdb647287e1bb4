// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_checksum.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_sha256.h"
#include "cmx_stop.h"

#define LIST_NAME	"SHA256SUMS"
#define MAX_LIST	(1u << 20)
#define READ_SIZE	(1u << 20)
#define HEX_LEN		64

struct verify {
	const struct cmx_source *src;
	char *folder;
	char *list;
	uint8_t *buf;
	void (*progress)(void *ctx, uint64_t done, uint64_t total);
	void *ctx;
};

/* Of a model folder itself, of a model file the folder that it is in. */
static char *folder_of(const struct cmx_source *src)
{
	const char *path = cmx_source_path(src), *slash = strrchr(path, '/');

	if (!cmx_source_gguf(src))
		return strdup(path);
	return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
}

static int join(const struct verify *v, const char *name, char *out, struct cmx_infer_err *err)
{
	if (snprintf(out, PATH_MAX, "%s/%s", v->folder, name) < PATH_MAX)
		return 0;
	return cmx_infer_fail(err, -ENAMETOOLONG, "%.120s: the path is longer than %u", name,
			      PATH_MAX);
}

static int digest_file(const struct verify *v, const char *name, char *hex,
		       struct cmx_infer_err *err)
{
	struct cmx_weight_file f;
	struct cmx_sha256 sha;
	uint8_t digest[32];
	char path[PATH_MAX];
	int ret = join(v, name, path, err);

	if (!ret)
		ret = cmx_weight_file_open(&f, path, err);
	if (ret)
		return ret;
	cmx_sha256_init(&sha);
	for (uint64_t at = 0; at < f.size && !ret;) {
		uint64_t n = f.size - at < READ_SIZE ? f.size - at : READ_SIZE;

		ret = cmx_stopped() ? cmx_infer_fail(err, -EINTR, "interrupted") :
				      cmx_weight_file_read(&f, v->buf, n, at, "checksum", err);
		cmx_sha256_add(&sha, v->buf, ret ? 0 : n);
		cmx_weight_file_drop(&f, at, n);
		at += n;
		if (v->progress)
			v->progress(v->ctx, at, f.size);
	}
	cmx_sha256_end(&sha, digest);
	for (int i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	cmx_weight_file_close(&f);
	return ret;
}

/* The digest on @name's line: hexadecimal digits, a blank, a blank or '*', the name. */
static const char *find_line(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at; at = strchr(at, '\n')) {
		size_t digits;

		at += *at == '\n';
		digits = strspn(at, "0123456789abcdef");
		if (digits == HEX_LEN && at[HEX_LEN] == ' ' &&
		    (at[HEX_LEN + 1] == ' ' || at[HEX_LEN + 1] == '*') &&
		    !strncmp(at + HEX_LEN + 2, name, len) &&
		    (at[HEX_LEN + 2 + len] == '\n' || !at[HEX_LEN + 2 + len]))
			return at;
	}
	return NULL;
}

static int verify_file(const struct verify *v, const char *name, struct cmx_infer_err *err)
{
	const char *want = find_line(v->list, name);
	struct cmx_infer_err why = { .text = "" };
	char hex[HEX_LEN + 1];
	int ret;

	if (!want)
		return cmx_infer_fail(err, -ENOENT, LIST_NAME ": no line for '%.120s'", name);
	ret = digest_file(v, name, hex, &why);
	if (ret)
		return cmx_infer_fail(err, ret, "%.120s: %s", name, why.text);
	if (memcmp(hex, want, HEX_LEN))
		return cmx_infer_fail(err, -EBADMSG, "%.120s: SHA-256 is %s, " LIST_NAME
				      " has %.64s", name, hex, want);
	return 0;
}

static int verify_all(struct verify *v, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	char path[PATH_MAX];
	const char *name;
	uint64_t len;
	int ret = join(v, LIST_NAME, path, err);

	if (ret)
		return ret;
	ret = cmx_weight_file_text(path, MAX_LIST, &v->list, &len, &why);
	if (ret)
		return cmx_infer_fail(err, ret, LIST_NAME ": %s", why.text);
	for (size_t i = 0; !ret && (name = cmx_source_file(v->src, i)); i++)
		ret = verify_file(v, name, err);
	return ret;
}

int cmx_checksum_verify(const struct cmx_source *src,
			void (*progress)(void *ctx, uint64_t done, uint64_t total), void *ctx,
			struct cmx_infer_err *err)
{
	struct verify v = { .src = src, .folder = folder_of(src), .buf = malloc(READ_SIZE),
			    .progress = progress, .ctx = ctx };
	int ret = -ENOMEM;

	if (v.folder && v.buf)
		ret = verify_all(&v, err);
	else
		cmx_infer_fail(err, ret, "no memory for checksums");
	free(v.list);
	free(v.buf);
	free(v.folder);
	return ret;
}
