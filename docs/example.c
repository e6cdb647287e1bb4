// SPDX-License-Identifier: MIT
/* Squares a vector on one die and copies it to another: cc example.c $(pkg-config --cflags --libs cmxdrv) */
#include <stdio.h>
#include <cmx/cmx.h>

#define N 4096

struct args { float *x; };

static int square(struct cmx_launch_ctx *lc, const void *p, uint32_t block)
{
	float *x = ((const struct args *)p)->x + (size_t)block * (N / cmx_launch_grid(lc));

	for (uint32_t i = 0; i < N / cmx_launch_grid(lc); i++)
		x[i] *= x[i];
	return 0;
}

int main(void)
{
	struct cmx_ctx *ctx = NULL;
	struct cmx_mem *a, *b;
	struct cmx_cq *cq;
	struct cmx_queue *q;
	uint64_t kernel;
	int failed = cmx_open(NULL, 0, &ctx) ||
		cmx_mem_alloc(ctx, 0, N * sizeof(float), 0, &a) ||	/* HBM of die 0 */
		cmx_mem_alloc(ctx, 3, N * sizeof(float), 0, &b) ||	/* HBM of die 3 */
		cmx_cq_create(ctx, NULL, 16, CMX_CQ_BACKPRESSURE, &cq) ||
		cmx_queue_create(ctx, &(struct cmx_queue_desc){ .cq = cq }, &q) ||
		cmx_kernel_register(ctx, "square", square, &kernel);

	for (int i = 0; !failed && i < N; i++)
		((float *)cmx_mem_ptr(a))[i] = (float)i;
	failed = failed ||
		cmx_queue_launch(q, &(struct cmx_launch_desc){
			.kernel = kernel, .grid = 8, .args = &(struct args){ cmx_mem_ptr(a) },
			.args_size = sizeof(struct args),
			.cost = { .vector_ops = N, .mem_bytes = 2 * N * sizeof(float) } }, 0, 1) ||
		cmx_queue_copy(q, cmx_mem_va(b), cmx_mem_va(a), N * sizeof(float),
			       CMX_ENTRY_COMPLETE, 2) ||
		cmx_queue_submit(q) || cmx_wait_completions(cq, 1, NULL);
	if (failed)
		fprintf(stderr, "%s\n", cmx_last_error()->text);
	else
		printf("die 3 has %.0f, at %llu ps of virtual time\n",
		       (double)((float *)cmx_mem_ptr(b))[63],
		       (unsigned long long)cmx_cq_peek(cq, 0)->time_ps);
	cmx_close(ctx);
	return failed;
}
