// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>

#include "bed.h"

int bed_queue(struct bed *bed, uint32_t entity, uint32_t queue_class, struct cmx_queue **q)
{
	struct cmx_queue_desc desc = {
		.cq = bed->cq,
		.entity = entity,
		.queue_class = queue_class,
	};

	return cmx_queue_create(bed->ctx, &desc, q);
}

int bed_open(struct bed *bed)
{
	int ret = cmx_open(NULL, 0, &bed->ctx);

	if (ret)
		return ret;
	bed->far_die = cmx_device(bed->ctx)->num_dies > 3 ? 3 : 1;
	ret = cmx_cq_create(bed->ctx, NULL, 256, CMX_CQ_BACKPRESSURE, &bed->cq);
	if (!ret)
		ret = bed_queue(bed, 0, CMX_QUEUE_STREAM, &bed->q);
	if (!ret)
		ret = bed_queue(bed, bed->far_die, CMX_QUEUE_STREAM, &bed->far);
	return ret;
}

void bed_close(struct bed *bed)
{
	cmx_close(bed->ctx);
	bed->ctx = NULL;
}

int bed_finish(struct bed *bed, uint32_t n, struct cmx_cqe *last)
{
	int ret = cmx_queue_submit(bed->q);

	if (!ret)
		ret = cmx_queue_submit(bed->far);
	if (!ret)
		ret = cmx_wait_completions(bed->cq, n, NULL);
	for (uint32_t i = 0; !ret && i < n; i++) {
		if (cmx_cq_read(bed->cq, last) != 1)
			return -ENODATA;
		if (last->status) {
			fprintf(stderr, "# entry %llu: opcode %#x, status %u, imm %llu\n",
				(unsigned long long)last->user_ctx, last->opcode, last->status,
				(unsigned long long)last->imm);
			return -EIO;
		}
	}
	return ret;
}

uint32_t bed_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

void bed_scramble(void *bytes, uint64_t size, uint32_t seed)
{
	unsigned char *p = bytes;

	for (uint64_t i = 0; i < size; i++)
		p[i] = (unsigned char)bed_random(&seed);
}

int bed_memory(struct bed *bed, uint32_t entity, uint64_t size, uint32_t seed,
	       struct cmx_mem **mem)
{
	int ret = cmx_mem_alloc(bed->ctx, entity, size, 0, mem);

	if (!ret)
		bed_scramble(cmx_mem_ptr(*mem), size, seed);
	return ret;
}
