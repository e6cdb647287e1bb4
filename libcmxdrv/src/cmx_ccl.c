// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_ccl.h"
#include "cmx_ctx.h"
#include "cmx_fail.h"

#define HALF_ALIGN	512ull
#define MAX_WINDOW	(1ull << 40)
#define FLAGS_SIZE	(2ull * CMX_CCL_FLAG_STRIDE)
#define FLAGS		(CMX_CCL_TIME_ONLY | CMX_CCL_ONE_STEP | CMX_CCL_TWO_STEP)

static int desc_check(const struct cmx_ccl_desc *desc)
{
	if (!desc->ranks || desc->ranks > CMX_CCL_MAX_RANKS)
		return cmx_fail(-EINVAL, "ranks", desc->ranks, CMX_CCL_MAX_RANKS,
				"collectives: %u ranks, not 1 to %u", desc->ranks,
				CMX_CCL_MAX_RANKS);
	if (!desc->max_bytes || desc->max_bytes > MAX_WINDOW / desc->ranks)
		return cmx_fail(-EINVAL, "max_bytes", desc->max_bytes, MAX_WINDOW / desc->ranks,
				"collectives: max_bytes is %llu, not 1 to %llu for %u ranks",
				(unsigned long long)desc->max_bytes,
				(unsigned long long)(MAX_WINDOW / desc->ranks), desc->ranks);
	if (desc->flags & ~FLAGS)
		return cmx_fail(-EINVAL, "flags", desc->flags, FLAGS,
				"collectives: unknown flags %#x", desc->flags);
	if (desc->flags & CMX_CCL_ONE_STEP && desc->flags & CMX_CCL_TWO_STEP)
		return cmx_fail(-EINVAL, "flags", desc->flags, FLAGS,
				"collectives: an all-reduce has one step or two, not both");
	if (desc->reserved[0] || desc->reserved[1] || desc->reserved[2] || desc->reserved[3])
		return cmx_fail(-EINVAL, "reserved", 1, 0,
				"collectives: a reserved field is not zero");
	if (!desc->entities)
		return cmx_fail(-EINVAL, "entities", 0, 0, "collectives: no list of dies");
	return 0;
}

static int entities_check(const struct cmx_ctx *ctx, const struct cmx_ccl_desc *desc)
{
	uint32_t dies = ctx->device.num_dies;

	for (uint32_t i = 0; i < desc->ranks; i++) {
		if (desc->entities[i] >= dies)
			return cmx_fail(-EINVAL, "entities", desc->entities[i], dies,
					"collectives: rank %u is on entity %u, no die of %u", i,
					desc->entities[i], dies);
	}
	return 0;
}

static uint64_t half_of(const struct cmx_ccl_desc *desc)
{
	return (desc->ranks * desc->max_bytes + HALF_ALIGN - 1) & ~(HALF_ALIGN - 1);
}

int cmx_ccl_memory(const struct cmx_ccl_desc *desc, uint64_t *bytes)
{
	int ret = desc_check(desc);

	if (!ret)
		*bytes = 2 * half_of(desc) + FLAGS_SIZE;
	return ret;
}

static int rank_open(struct cmx_ccl *ccl, uint32_t i, uint32_t entity)
{
	struct cmx_ccl_rank *r = &ccl->ranks[i];
	uint32_t flags = cmx_ccl_time_only(ccl) ? CMX_MEM_NO_DATA : 0;
	int ret;

	r->entity = entity;
	ret = cmx_mem_alloc(ccl->ctx, entity, 2 * ccl->half, flags, &r->window);
	/* Others wait for its words, so these exist in any case. */
	return ret ? ret : cmx_mem_alloc(ccl->ctx, entity, FLAGS_SIZE, 0, &r->flags);
}

static int ccl_open(struct cmx_ccl *ccl, const struct cmx_ccl_desc *desc)
{
	int ret = cmx_ccl_register(ccl);

	ccl->ranks = calloc(desc->ranks, sizeof(*ccl->ranks));
	if (!ccl->ranks)
		return cmx_fail_call(-ENOMEM, "cmx_ccl_create");
	ccl->n = desc->ranks;
	for (uint32_t i = 0; i < ccl->n && !ret; i++)
		ret = rank_open(ccl, i, desc->entities[i]);
	return ret ? ret : cmx_ccl_measure(ccl);
}

int cmx_ccl_create(struct cmx_ctx *ctx, const struct cmx_ccl_desc *desc, struct cmx_ccl **out)
{
	struct cmx_ccl *ccl;
	int ret = desc_check(desc);

	if (!ret)
		ret = entities_check(ctx, desc);
	if (ret)
		return ret;
	ccl = calloc(1, sizeof(*ccl));
	if (!ccl)
		return cmx_fail_call(-ENOMEM, "cmx_ccl_create");
	ccl->ctx = ctx;
	ccl->timeline = desc->timeline ? desc->timeline : cmx_timeline_default(ctx);
	ccl->flags = desc->flags;
	ccl->max_bytes = desc->max_bytes;
	ccl->half = half_of(desc);
	cmx_list_init(&ccl->pieces);
	pthread_mutex_init(&ccl->lock, NULL);
	ret = ccl_open(ccl, desc);
	if (ret) {
		cmx_ccl_destroy(ccl);
		return ret;
	}
	*out = ccl;
	return 0;
}

void cmx_ccl_destroy(struct cmx_ccl *ccl)
{
	if (!ccl)
		return;
	for (uint32_t i = 0; i < ccl->n; i++) {
		cmx_mem_free(ccl->ranks[i].window);
		cmx_mem_free(ccl->ranks[i].flags);
	}
	/* Those of calls that never ran. */
	while (!cmx_list_empty(&ccl->pieces)) {
		struct cmx_list *first = ccl->pieces.next;

		cmx_list_del(first);
		free(cmx_container(first, struct cmx_ccl_v, node));
	}
	for (uint32_t i = 0; i < CMX_CCL_LOG; i++)
		free(ccl->agreed[i].bytes);
	pthread_mutex_destroy(&ccl->lock);
	free(ccl->ranks);
	free(ccl);
}

uint32_t cmx_ccl_slots(const struct cmx_ccl *ccl)
{
	(void)ccl;
	return CMX_CCL_SLOTS;
}

uint64_t cmx_ccl_two_step_bytes(const struct cmx_ccl *ccl)
{
	return ccl->two_step_bytes;
}
