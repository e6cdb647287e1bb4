// SPDX-License-Identifier: GPL-2.0-only
#include <cmx/kernel.h>

static int nothing(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	(void)lc;
	(void)args;
	(void)block;
	return 0;
}

static int ten_ops(const void *args, uint32_t args_size, uint32_t grid, struct cmx_cost *cost)
{
	(void)args;
	(void)args_size;
	cost->vector_ops = 10ull * grid;
	return 0;
}

static const struct cmx_kernel_desc kernels[] = {
	{ .name = "nothing", .run = nothing },
	{ .name = "ten", .run = nothing, .cost = ten_ops, .args_size = 8 },
};

const struct cmx_kernel_table cmx_kernel_table = { CMX_KERNEL_TABLE_VERSION, 2, kernels };
