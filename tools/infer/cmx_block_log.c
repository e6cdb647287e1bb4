// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_block_log.h"

#include <errno.h>
#include <inttypes.h>

#include "kernels/cmx_kernel_clock.h"

/* 128 MiB, if they all come. */
#define MAX_BLOCKS	(1u << 22)

int cmx_block_log_start(struct cmx_infer_err *err)
{
	int ret = cmx_kernel_clock_keep(MAX_BLOCKS);

	return ret ? cmx_infer_fail(err, ret, "no memory for %u blocks", MAX_BLOCKS) : 0;
}

int cmx_block_log_write(const struct cmx_infer_report *r, FILE *f, struct cmx_infer_err *err)
{
	const struct cmx_npu_kernel *kernel = cmx_npu_kernels(CMX_ISA_SCALAR);
	uint64_t n, start = r->prefill.ticks ? r->prefill.start : r->decode.start;
	const struct cmx_kernel_block *b = cmx_kernel_clock_kept(&n);

	if (n > MAX_BLOCKS)
		return cmx_infer_fail(err, -ENOSPC, "--blocks: the run has %" PRIu64
				      " blocks, the limit is %u", n, MAX_BLOCKS);
	fprintf(f, "phase prompt %" PRIu64 "\nphase output %" PRIu64 "\n", r->prefill.ticks,
		r->decode.ticks);
	for (; n--; b++)
		fprintf(f, "block %s %s %u %u %u %" PRIu64 " %" PRIu64 "\n",
			b->start < r->decode.start ? "prompt" : "output", kernel[b->kernel].name,
			b->block, b->grid, b->thread, b->start - start, b->ticks);
	return 0;
}

void cmx_block_log_end(void)
{
	cmx_kernel_clock_forget();
}
