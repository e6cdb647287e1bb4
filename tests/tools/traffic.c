// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client with memory and traffic: `traffic FROM TO BYTES COUNT [hold]'. The stream queue of
 * entity FROM copies COUNT times BYTES from TO's memory to its own, then says "ready" with the
 * virtual time and the last status; with "hold" it stays until a signal ends it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmx/cmx.h>

#define DEPTH	64

struct job {
	struct cmx_ctx *ctx;
	struct cmx_queue_desc desc;
	struct cmx_queue *queue;
	struct cmx_mem *own;
	struct cmx_mem *other;
	uint64_t bytes;
	struct cmx_cqe last;
};

static int prepare(struct job *job, uint32_t to)
{
	return cmx_open(NULL, 0, &job->ctx) ?:
	       cmx_mem_alloc(job->ctx, job->desc.entity, job->bytes, 0, &job->own) ?:
	       cmx_mem_alloc(job->ctx, to, job->bytes, 0, &job->other) ?:
	       cmx_cq_create(job->ctx, NULL, DEPTH, CMX_CQ_BACKPRESSURE, &job->desc.cq) ?:
	       cmx_queue_create(job->ctx, &job->desc, &job->queue);
}

/* One after another; the first that fails ends it. */
static int copy(struct job *job, uint64_t count)
{
	int ret = 0;

	for (uint64_t i = 0; !ret && i < count && !job->last.status; i++) {
		ret = cmx_queue_copy(job->queue, cmx_mem_va(job->own), cmx_mem_va(job->other),
				     job->bytes, CMX_ENTRY_COMPLETE, i) ?:
		      cmx_queue_submit(job->queue);
		if (!ret)
			ret = cmx_wait_completions(job->desc.cq, 1, NULL);
		if (ret >= 0)
			ret = cmx_cq_read(job->desc.cq, &job->last) == 1 ? 0 : -1;
	}
	return ret;
}

int main(int argc, char **argv)
{
	struct job job = {};
	int ret;

	if (argc < 5) {
		fprintf(stderr, "usage: traffic FROM TO BYTES COUNT [hold]\n");
		return 2;
	}
	job.desc.entity = (uint32_t)strtoul(argv[1], NULL, 0);
	job.bytes = strtoull(argv[3], NULL, 0);
	ret = prepare(&job, (uint32_t)strtoul(argv[2], NULL, 0)) ?:
	      copy(&job, strtoull(argv[4], NULL, 0));
	if (ret)
		fprintf(stderr, "traffic: %s\n", cmx_last_error()->text);
	else
		printf("ready %" PRIu64 " %u\n", (uint64_t)job.last.time_ps, job.last.status);
	fflush(stdout);
	while (!ret && argc > 5 && !strcmp(argv[5], "hold"))
		pause();
	cmx_close(job.ctx);
	return ret ? 1 : 0;
}
