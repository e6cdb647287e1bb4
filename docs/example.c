// SPDX-License-Identifier: MIT
/* Makes squares on one die and copies them to another. Build: see the README. */
#include <stdio.h>
#include <cmx/cmx.h>

enum { N = 4096, SIZE = N * sizeof(float) };

static int square(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	float *x = *(float *const *)args;

	for (uint32_t i = block; i < N; i += cmx_launch_grid(lc))
		x[i] = (float)i * (float)i;
	return 0;
}

int main(void)
{
	struct cmx_queue_desc desc = { .entity = 0 };
	struct cmx_cqe end = { .status = 0 };
	struct cmx_ctx *ctx = NULL;
	struct cmx_mem *a, *b;
	struct cmx_queue *q;
	uint64_t kernel;
	int ok = !cmx_open(NULL, 0, &ctx) && !cmx_kernel_register(ctx, "square", square, &kernel) &&
		 !cmx_mem_alloc(ctx, 0, SIZE, 0, &a) && !cmx_mem_alloc(ctx, 3, SIZE, 0, &b) &&
		 !cmx_cq_create(ctx, NULL, 16, CMX_CQ_BACKPRESSURE, &desc.cq) &&
		 !cmx_queue_create(ctx, &desc, &q) && !cmx_queue_launch_kernel(q, kernel, 8,
			&(void *){ cmx_mem_ptr(a) }, sizeof(void *), 0, 1) &&
		 !cmx_queue_copy(q, cmx_mem_va(b), cmx_mem_va(a), SIZE, CMX_ENTRY_COMPLETE, 2) &&
		 !cmx_queue_submit(q) && !cmx_wait_completions(desc.cq, 1, NULL) &&
		 cmx_cq_read(desc.cq, &end) == 1 && !end.status;

	if (ok)
		printf("%g, at %f virtual us\n", ((float *)cmx_mem_ptr(b))[63], end.time_ps / 1e6);
	else
		fprintf(stderr, "%s, status %u\n", cmx_last_error()->text, end.status);
	cmx_close(ctx);
	return !ok;
}
