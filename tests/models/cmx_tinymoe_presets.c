// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_tinymoe.h"

#include <string.h>

#define V3_TINY \
	.hidden = 256, .layers = 4, .dense = 1, .heads = 8, .q_lora = 96, .kv_lora = 64, \
	.rope = 16, .nope = 32, .v = 32, .experts = 16, .top_k = 4, .groups = 4, \
	.groups_used = 2, .shared = 1, .moe_inter = 128, .inter = 512, .vocab = 512, \
	.sigmoid = true, .norm = true, .scale = 2.5f

/* As published; to be written without values, for what looks at sizes only. */
#define V3_FULL \
	.hidden = 7168, .heads = 128, .q_lora = 1536, .kv_lora = 512, .rope = 64, .nope = 128, \
	.v = 128, .experts = 256, .top_k = 8, .groups = 8, .groups_used = 4, .shared = 1, \
	.moe_inter = 2048, .inter = 18432, .vocab = 129280, .sigmoid = true, .norm = true, \
	.scale = 2.5f, .ctx = 163840, .yarn = true, .mscale = 1

static const struct tinymoe_preset presets[] = {
	{ .name = "v3", V3_FULL, .layers = 61, .dense = 3 },
	{ .name = "v3-layer", V3_FULL, .layers = 1, .dense = 0 },
	{ .name = "v3tiny", V3_TINY, .ctx = 163840, .yarn = true, .mscale = 1 },
	{ .name = "v3tiny-mtp", V3_TINY, .ctx = 163840, .yarn = true, .mscale = 1, .mtp = 1 },
	{ .name = "v3tiny-mtp-ends", V3_TINY, .ctx = 163840, .yarn = true, .mscale = 1, .mtp = 1,
	  .mtp_ends = true },
	{ .name = "v3tiny-noyarn", V3_TINY, .ctx = 4096 },
	{ .name = "v2tiny", .hidden = 256, .layers = 4, .dense = 1, .heads = 8, .q_lora = 96,
	  .kv_lora = 64, .rope = 16, .nope = 32, .v = 32, .experts = 16, .top_k = 3, .groups = 4,
	  .groups_used = 2, .shared = 2, .moe_inter = 128, .inter = 512, .vocab = 512,
	  .scale = 4, .ctx = 163840, .yarn = true, .mscale = 1 },
	{ .name = "v2litetiny", .hidden = 128, .layers = 27, .dense = 1, .heads = 4,
	  .kv_lora = 64, .rope = 8, .nope = 16, .v = 16, .experts = 8, .top_k = 3, .groups = 1,
	  .groups_used = 1, .shared = 2, .moe_inter = 64, .inter = 256, .vocab = 512,
	  .scale = 1, .ctx = 163840, .yarn = true, .mscale = 0.707 },
	{ .name = "v3mid", .hidden = 1024, .layers = 5, .dense = 1, .heads = 16, .q_lora = 256,
	  .kv_lora = 256, .rope = 32, .nope = 64, .v = 64, .experts = 64, .top_k = 4,
	  .groups = 8, .groups_used = 4, .shared = 1, .moe_inter = 256, .inter = 2816,
	  .vocab = 8192, .sigmoid = true, .norm = true, .scale = 2.5f, .ctx = 163840,
	  .yarn = true, .mscale = 1 },
};

const struct tinymoe_preset *tinymoe_find(const char *name)
{
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
		if (!strcmp(presets[i].name, name))
			return &presets[i];
	}
	return NULL;
}
