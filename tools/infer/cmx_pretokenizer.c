// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_pretokenizer.h"

#include <errno.h>
#include <string.h>

#include "cmx_utf8.h"

/* The cased letters that DeepSeek-LLM's tokenizer, and so V2's, lists one by one. */
#define LLM_LETTERS \
	"A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293" \
	"\u0295-\u02af\u0370-\u0373\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c" \
	"\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f\u0531-\u0556\u10a0-\u10c5" \
	"\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77" \
	"\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59" \
	"\u1f5b\u1f5d\u1f5f-\u1f7d\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc" \
	"\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4\u1ff6-\u1ffc\u2102\u2107" \
	"\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139" \
	"\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee" \
	"\u2cf2\u2cf3\ua640-\ua66d\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e" \
	"\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a\uff41-\uff5a" \
	"\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb" \
	"\U00010c80-\U00010cb2\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943"

#define LLM_MARKS	"!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002"
#define LLM_IDEOGRAPHS	"[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"

struct preset {
	const char *name;
	const char *pattern[CMX_PRETOKENIZER_MAX];
};

static const struct preset presets[] = {
	{ "deepseek-v3", {
		"\\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", cmx_split_v3_pattern,
	} },
	{ "deepseek-llm", {
		"[\r\n]", "\\s?[" LLM_LETTERS "]+", "\\s?[" LLM_MARKS "]+", "\\s+$",
		LLM_IDEOGRAPHS, "\\p{N}+",
	} },
	{ "deepseek-coder", {
		"[\r\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", LLM_IDEOGRAPHS, "\\p{N}",
	} },
};

int cmx_pretokenizer_add(struct cmx_pretokenizer *p, const char *pattern, size_t len,
			 struct cmx_infer_err *err)
{
	int ret;

	if (p->n == CMX_PRETOKENIZER_MAX)
		return cmx_infer_fail(err, -ENOTSUP,
				      "the pre-tokeniser has more than %d steps",
				      CMX_PRETOKENIZER_MAX);
	ret = cmx_split_init(&p->split[p->n], pattern, len, err);
	p->n += !ret;
	return ret;
}

int cmx_pretokenizer_preset(struct cmx_pretokenizer *p, const char *name, size_t len,
			    struct cmx_infer_err *err)
{
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
		const struct preset *x = &presets[i];
		int ret = 0;

		if (len != strlen(x->name) || memcmp(name, x->name, len))
			continue;
		for (int j = 0; j < CMX_PRETOKENIZER_MAX && x->pattern[j] && !ret; j++)
			ret = cmx_pretokenizer_add(p, x->pattern[j], strlen(x->pattern[j]), err);
		return ret;
	}
	return cmx_infer_fail(err, -ENOTSUP,
			      "tokenizer.ggml.pre is '%.*s', must be deepseek-v3, deepseek-llm or deepseek-coder",
			      (int)(len < 32 ? len : 32), name);
}

void cmx_pretokenizer_free(struct cmx_pretokenizer *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		cmx_split_free(&p->split[i]);
	p->n = 0;
}

static size_t read_chars(const char *text, size_t len, struct cmx_char *c)
{
	size_t n = 0;

	for (size_t at = 0; at < len; n++) {
		uint32_t code;
		uint32_t step = cmx_utf8_next((const uint8_t *)text + at, len - at, &code);

		c[n] = (struct cmx_char){
			.code = code, .class = cmx_unicode_class(code), .len = step,
		};
		at += step;
	}
	return n;
}

size_t cmx_pretokenizer_cut(const struct cmx_pretokenizer *p, const char *text, size_t len,
			    struct cmx_char *c)
{
	size_t n = read_chars(text, len, c);

	for (uint32_t i = 0; i < p->n; i++) {
		for (size_t from = 0, to; from < n; from = to) {
			for (to = from + 1; to < n && !c[to].cut;)
				to++;
			cmx_split_apply(&p->split[i], c, from, to);
		}
	}
	return n;
}
