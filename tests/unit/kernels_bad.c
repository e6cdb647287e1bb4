// SPDX-License-Identifier: GPL-2.0-only
#include <cmx/kernel.h>

static int nothing(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	return 0;
}

static const struct cmx_kernel_desc kernels[] = {
	{ .name = "fine", .run = nothing },
	{ .name = "broken" },
};

const struct cmx_kernel_table cmx_kernel_table = { CMX_KERNEL_TABLE_VERSION, 2, kernels };
