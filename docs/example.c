// SPDX-License-Identifier: MIT
/* Squares numbers on one die, copies them to another. Build: see the README. */
#include <stdio.h>
#include <cmx/cmx.h>

#define N 4096

static int square(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	float *x = *(float *const *)args;
	uint32_t n = N / cmx_launch_grid(lc);

	for (uint32_t i = block * n; i < (block + 1) * n; i++)
		x[i] *= x[i];
	return 0;
}

int main(void)
{
	struct cmx_launch_desc launch = { .grid = 8, .cost = { .vector_ops = N } };
	struct cmx_queue_desc desc = { .entity = 0 };
	struct cmx_ctx *ctx = NULL;
	struct cmx_mem *a, *b;
	struct cmx_queue *q;
	struct cmx_cqe end;
	float *x;
	int ok = !cmx_open(NULL, 0, &ctx) && !cmx_mem_alloc(ctx, 0, N * sizeof(*x), 0, &a) &&
		 !cmx_mem_alloc(ctx, 3, N * sizeof(*x), 0, &b) &&
		 !cmx_cq_create(ctx, NULL, 16, CMX_CQ_BACKPRESSURE, &desc.cq) &&
		 !cmx_queue_create(ctx, &desc, &q) &&
		 !cmx_kernel_register(ctx, "square", square, &launch.kernel);

	if (ok) {
		x = cmx_mem_ptr(a);
		for (int i = 0; i < N; i++)
			x[i] = (float)i;
		launch.args = &x;
		launch.args_size = sizeof(x);
		ok = !cmx_queue_launch(q, &launch, 0, 1) &&
		     !cmx_queue_copy(q, cmx_mem_va(b), cmx_mem_va(a), N * sizeof(*x),
				     CMX_ENTRY_COMPLETE, 2) &&
		     !cmx_queue_submit(q) && !cmx_wait_completions(desc.cq, 1, NULL);
	}
	if (ok && cmx_cq_read(desc.cq, &end) == 1 && !end.status)
		printf("die 3 has %.0f, at %llu ps of virtual time\n",
		       (double)((float *)cmx_mem_ptr(b))[63], (unsigned long long)end.time_ps);
	else
		fprintf(stderr, "%s\n", cmx_last_error()->text);
	cmx_close(ctx);
	return !ok;
}
