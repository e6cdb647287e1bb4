// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_model_tokenizer.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>

int cmx_model_tokenizer(struct cmx_tokenizer *tok, const struct cmx_source *src, const char *path,
			struct cmx_infer_err *err)
{
	uint32_t vocab = cmx_source_config(src)->vocab;
	const struct cmx_gguf *g = cmx_source_gguf(src);
	char own[PATH_MAX];

	if (path)
		return cmx_tokenizer_init_json(tok, path, vocab, err);
	if (g)
		return cmx_tokenizer_init(tok, g, vocab, err);
	if (snprintf(own, sizeof(own), "%s/tokenizer.json", cmx_source_path(src)) >=
	    (int)sizeof(own))
		return cmx_infer_fail(err, -ENAMETOOLONG, "--model: the path is longer than %u",
				      PATH_MAX);
	return cmx_tokenizer_init_json(tok, own, vocab, err);
}
