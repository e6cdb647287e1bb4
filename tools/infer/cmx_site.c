// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_site.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define IN(site)	CMX_SITE_##site
#define OUT(site)	CMX_SITE_##site

static const struct cmx_site_use uses[] = {
	{ "attn_norm.weight", IN(NONE), OUT(ATTN), false },
	{ "attn_q.weight", IN(ATTN), OUT(NONE), true },
	{ "attn_q_a.weight", IN(ATTN), OUT(NONE), true },
	{ "attn_kv_a_mqa.weight", IN(ATTN), OUT(NONE), true },
	{ "attn_q_a_norm.weight", IN(NONE), OUT(QUERY), false },
	{ "attn_q_b.weight", IN(QUERY), OUT(NONE), true },
	{ "attn_output.weight", IN(HEADS), OUT(NONE), true },
	{ "ffn_norm.weight", IN(NONE), OUT(FFN), false },
	{ "ffn_gate_inp.weight", IN(FFN), OUT(NONE), false },
	{ "ffn_gate.weight", IN(FFN), OUT(NONE), true },
	{ "ffn_up.weight", IN(FFN), OUT(DENSE), true },
	{ "ffn_down.weight", IN(DENSE), OUT(NONE), true },
	{ "ffn_gate_shexp.weight", IN(FFN), OUT(NONE), true },
	{ "ffn_up_shexp.weight", IN(FFN), OUT(SHARED), true },
	{ "ffn_down_shexp.weight", IN(SHARED), OUT(NONE), true },
	{ "ffn_gate_exps.weight", IN(FFN), OUT(NONE), true },
	{ "ffn_up_exps.weight", IN(FFN), OUT(EXPERT), true },
	{ "ffn_down_exps.weight", IN(EXPERT), OUT(NONE), true },
};

const struct cmx_site_use *cmx_site_use(const char *name)
{
	for (size_t i = 0; i < sizeof(uses) / sizeof(uses[0]); i++) {
		if (!strcmp(name, uses[i].name))
			return &uses[i];
	}
	return NULL;
}

const struct cmx_site_use *cmx_site_use_of(const char *tensor, uint32_t *block)
{
	int len = 0;

	if (sscanf(tensor, "blk.%u.%n", block, &len) != 1 || !len)
		return NULL;
	return cmx_site_use(tensor + len);
}
