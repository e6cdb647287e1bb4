// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_json_file.h"

#include <errno.h>
#include <stdlib.h>

#include "cmx_weight_file.h"

static int parse(const char *text, size_t len, json_t **root, struct cmx_infer_err *err)
{
	json_error_t why;

	*root = json_loadb(text, len, JSON_REJECT_DUPLICATES, &why);
	if (!*root)
		return cmx_infer_fail(err, -EINVAL, "line %d: %.150s", why.line, why.text);
	if (json_is_object(*root))
		return 0;
	json_decref(*root);
	*root = NULL;
	return cmx_infer_fail(err, -EINVAL, "is no JSON object");
}

int cmx_json_file_load(const char *path, uint64_t max, json_t **root, struct cmx_infer_err *err)
{
	uint64_t len;
	char *text;
	int ret;

	*root = NULL;
	/* All at once: jansson reads a file by the byte. */
	ret = cmx_weight_file_text(path, max, &text, &len, err);
	if (ret)
		return ret;
	ret = parse(text, len, root, err);
	free(text);
	return ret;
}

int cmx_json_file_read(const char *path, uint64_t max, json_t **root, struct cmx_infer_err *err)
{
	struct cmx_infer_err why = { .text = "" };
	int ret = cmx_json_file_load(path, max, root, &why);

	return ret ? cmx_infer_fail(err, ret, "%.160s: %s", path, why.text) : 0;
}
