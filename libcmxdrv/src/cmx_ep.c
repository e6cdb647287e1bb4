// SPDX-License-Identifier: MIT
/*
 * Making and freeing the buffers of all ranks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_ctx.h"
#include "cmx_ep_priv.h"
#include "cmx_fail.h"
#include "cmx_queue_priv.h"

static const char * const region_names[EP_REGIONS] = {
	[EP_PACKETS_IN] = "dispatch", [EP_RESULTS_IN] = "combine",
	[EP_PACKETS_OUT] = "packets", [EP_ROWS] = "rows", [EP_RESULTS_OUT] = "results",
	[EP_PLAN] = "plan", [EP_FLAGS] = "flags", [EP_LISTS] = "lists",
};

/* Two rounds of everything but the flags, which tell rounds apart themselves. */
static uint64_t region_bytes(const struct cmx_ep *ep, int region)
{
	return ep->size[region] * (region == EP_FLAGS ? 1 : 2);
}

static uint64_t guard_bytes(const struct cmx_ep *ep)
{
	return ep->desc.flags & CMX_EP_GUARD ? EP_GUARD_BYTES : 0;
}

static uint64_t regions_bytes(const struct cmx_ep *ep, int first, int end)
{
	uint64_t size = 0;

	for (int i = first; i < end; i++)
		size += region_bytes(ep, i) + 2 * guard_bytes(ep);
	return size;
}

static void poison(const struct cmx_ep *ep, const struct cmx_mem *mem, uint64_t va)
{
	void *ptr = cmx_mem_ptr(mem);

	if (ptr && guard_bytes(ep))
		memset((char *)ptr + (va - cmx_mem_va(mem)), EP_GUARD_BYTE, EP_GUARD_BYTES);
}

/* Regions [first, end) one behind the other in one piece of memory. */
static int make_regions(struct cmx_ep *ep, struct ep_rank *rank, int first, int end,
			uint32_t flags, struct cmx_mem **mem)
{
	uint64_t va;
	int ret = cmx_mem_alloc(ep->ctx, rank->entity, regions_bytes(ep, first, end), flags, mem);

	if (ret)
		return ret;
	va = cmx_mem_va(*mem);
	for (int i = first; i < end; i++) {
		poison(ep, *mem, va);
		rank->va[i] = va + guard_bytes(ep);
		va = rank->va[i] + region_bytes(ep, i);
		poison(ep, *mem, va);
		va += guard_bytes(ep);
	}
	return 0;
}

static uint64_t need_bytes(const struct cmx_ep *ep)
{
	return regions_bytes(ep, 0, EP_BYTES_REGIONS) +
	       regions_bytes(ep, EP_BYTES_REGIONS, EP_REGIONS);
}

static int check_room(const struct cmx_ep *ep, uint32_t r, uint32_t entity)
{
	struct drm_cmx_info_entity info;
	int ret = cmx_entity_info(ep->ctx, entity, &info);

	if (ret || need_bytes(ep) <= info.capacity - info.used)
		return ret;
	return cmx_fail(-ENOSPC, "max_tokens", need_bytes(ep), info.capacity - info.used,
			"rank %u: buffers need %llu bytes, entity %u has %llu of %llu", r,
			(unsigned long long)need_bytes(ep), entity,
			(unsigned long long)(info.capacity - info.used),
			(unsigned long long)info.capacity);
}

static int make_sdma_queues(struct cmx_ep *ep, struct ep_rank *rank)
{
	const struct cmx_queue_desc desc = {
		.timeline = ep->timeline, .cq = ep->cq, .entity = rank->entity,
		.queue_class = CMX_QUEUE_SDMA, .slots = 64,
	};

	int ret = 0;

	for (int i = 0; i < 2 && ep_is_sdma(ep) && !ret; i++)
		ret = cmx_queue_create(ep->ctx, &desc, &rank->sdma[i]);
	return ret;
}

static int make_rank(struct cmx_ep *ep, uint32_t r, uint32_t entity)
{
	struct ep_rank *rank = &ep->ranks[r];
	int ret;

	for (uint32_t i = 0; i < r; i++) {
		if (ep->ranks[i].entity == entity)
			return cmx_fail(-EINVAL, "entities", entity, r,
					"ranks %u and %u are both on entity %u", i, r, entity);
	}
	rank->entity = entity;
	ret = check_room(ep, r, entity);
	if (!ret)
		ret = make_regions(ep, rank, 0, EP_BYTES_REGIONS,
				   ep_has_data(ep) ? 0 : CMX_MEM_NO_DATA, &rank->bytes);
	if (!ret)
		ret = make_regions(ep, rank, EP_BYTES_REGIONS, EP_REGIONS, 0, &rank->words);
	if (!ret)
		ret = make_sdma_queues(ep, rank);
	return ret;
}

static int name_kernels(struct cmx_ep *ep)
{
	static const struct cmx_kernel_desc list[EP_KERNELS] = {
		[EP_KERNEL_SEND] = { .name = "cmx.ep.send", .run = ep_send_block,
				     .post = ep_release_post, .args_size = sizeof(struct ep_args) },
		[EP_KERNEL_FLAG] = { .name = "cmx.ep.flag", .run = ep_flag_block,
				     .post = ep_release_post, .args_size = sizeof(struct ep_args) },
		[EP_KERNEL_COLLECT] = { .name = "cmx.ep.collect", .run = ep_collect_block,
					.post = ep_collect_post,
					.args_size = sizeof(struct ep_args),
					.flags = CMX_KERNEL_LOCAL },
		[EP_KERNEL_RETURN] = { .name = "cmx.ep.return", .run = ep_return_block,
				       .post = ep_release_post,
				       .args_size = sizeof(struct ep_args) },
		[EP_KERNEL_SUM] = { .name = "cmx.ep.sum", .run = ep_sum_block,
				    .args_size = sizeof(struct ep_sum_args),
				    .flags = CMX_KERNEL_LOCAL },
	};
	int ret = 0;

	for (int i = 0; i < EP_KERNELS && !ret; i++) {
		ret = cmx_kernel_register_desc(ep->ctx, &list[i], &ep->kernels[i]);
		/* An object before this one has named them. */
		if (ret == -EEXIST)
			ret = cmx_kernel_find(ep->ctx, list[i].name, &ep->kernels[i]);
	}
	return ret;
}

static int run_nothing(struct cmx_cq *cq, struct cmx_queue *queue, uint64_t *ps)
{
	const struct cmx_launch_desc desc = {
		.launch_flags = CMX_LAUNCH_TIME_ONLY, .first_ps = UINT64_MAX,
	};
	const struct cmx_wait_opts opts = { .timeline = queue->timeline };
	struct cmx_cqe cqe = {};
	int ret = cmx_queue_launch(queue, &desc, CMX_ENTRY_COMPLETE, 0);

	if (!ret)
		ret = cmx_queue_submit(queue);
	if (!ret)
		ret = cmx_wait_completions(cq, 1, &opts);
	if (ret)
		return ret;
	if (cmx_cq_read(cq, &cqe) != 1 || cqe.status)
		return cmx_fail(-EIO, "status", cqe.status, 0, "a launch of nothing failed");
	*ps = cqe.time_ps;
	return 0;
}

/* What a launch takes that does nothing, on a clock of its own. */
static int measure_launch(struct cmx_ep *ep, uint32_t entity)
{
	struct cmx_queue_desc desc = { .entity = entity, .slots = 4 };
	int ret = cmx_timeline_create(ep->ctx, 0, &desc.timeline);
	struct cmx_queue *queue = NULL;

	if (!ret)
		ret = cmx_cq_create(ep->ctx, desc.timeline, 4, CMX_CQ_BACKPRESSURE, &desc.cq);
	if (!ret)
		ret = cmx_queue_create(ep->ctx, &desc, &queue);
	if (!ret)
		ret = run_nothing(desc.cq, queue, &ep->launch_ps);
	cmx_queue_destroy(queue);
	cmx_cq_destroy(desc.cq);
	cmx_timeline_destroy(desc.timeline);
	return ret;
}

static int check_budget(const struct cmx_ep *ep)
{
	uint64_t given = ep->desc.buffer_bytes, need = need_bytes(ep);

	if (!given || need <= given)
		return 0;
	return cmx_fail(-ENOSPC, "buffer_bytes", given, need,
			"buffers of a rank need %llu bytes, %llu are given",
			(unsigned long long)need, (unsigned long long)given);
}

static int check_machine(const struct cmx_ep *ep)
{
	const struct drm_cmx_info_device *device = &ep->ctx->device;

	if (!(device->caps & CMX_CAP_FIXED_COST))
		return cmx_fail(-EOPNOTSUPP, "caps", device->caps, CMX_CAP_FIXED_COST,
				"the module takes no fixed time of a launch: it is too old");
	for (uint32_t r = 0; r < ep->desc.ranks; r++) {
		if (ep->desc.entities[r] >= device->num_dies)
			return cmx_fail(-EINVAL, "entities", ep->desc.entities[r],
					device->num_dies, "rank %u is on entity %u, not on one "
					"of %u dies", r, ep->desc.entities[r], device->num_dies);
	}
	return 0;
}

/* The tables that do not depend on the machine. */
static int make_tables(struct cmx_ep *ep)
{
	size_t places = (size_t)ep->desc.ranks * ep->desc.local;
	bool *failed = calloc(ep->desc.ranks, sizeof(*failed));
	int ret;

	ep->ranks = calloc(ep->desc.ranks, sizeof(*ep->ranks));
	ep->placement = malloc(places * sizeof(*ep->placement));
	if (failed && ep->ranks && ep->placement) {
		memcpy(ep->placement, ep->desc.placement, places * sizeof(*ep->placement));
		ret = ep_map_make(ep, ep->placement, failed, &ep->map);
	} else {
		ret = cmx_fail_call(-ENOMEM, "making the tables of the ranks");
	}
	ep->live = ep->desc.ranks;
	free(failed);
	return ret;
}

static int make_all(struct cmx_ep *ep)
{
	const struct drm_cmx_info_device *device = &ep->ctx->device;
	int ret = ep_layout(ep);

	if (!ret)
		ret = check_machine(ep);
	if (!ret)
		ret = check_budget(ep);
	if (!ret)
		ret = make_tables(ep);
	if (!ret)
		ret = name_kernels(ep);
	if (!ret)
		ret = measure_launch(ep, ep->desc.entities[0]);
	ep->dies_per_npu = device->num_npus ? device->num_dies / device->num_npus : 1;
	if (!ret && ep_is_sdma(ep))
		ret = cmx_cq_create(ep->ctx, ep->timeline, 256, CMX_CQ_BACKPRESSURE, &ep->cq);
	for (uint32_t r = 0; r < ep->desc.ranks && !ret; r++)
		ret = make_rank(ep, r, ep->desc.entities[r]);
	return ret;
}

int cmx_ep_create(struct cmx_ctx *ctx, const struct cmx_ep_desc *desc, struct cmx_ep **ep)
{
	struct cmx_ep *made = calloc(1, sizeof(*made));
	int ret;

	*ep = NULL;
	if (!made)
		return cmx_fail_call(-ENOMEM, "making an expert-parallel object");
	made->ctx = ctx;
	made->desc = *desc;
	made->timeline = desc->timeline ? desc->timeline : cmx_timeline_default(ctx);
	cmx_list_init(&made->tables);
	ret = make_all(made);
	made->desc.entities = NULL;
	made->desc.placement = NULL;
	if (ret) {
		cmx_ep_destroy(made);
		return ret;
	}
	*ep = made;
	return 0;
}

void cmx_ep_destroy(struct cmx_ep *ep)
{
	if (!ep)
		return;
	for (uint32_t r = 0; ep->ranks && r < ep->desc.ranks; r++) {
		cmx_queue_destroy(ep->ranks[r].sdma[0]);
		cmx_queue_destroy(ep->ranks[r].sdma[1]);
		cmx_mem_free(ep->ranks[r].bytes);
		cmx_mem_free(ep->ranks[r].words);
	}
	cmx_cq_destroy(ep->cq);
	ep_tables_free(ep);
	ep_map_free(&ep->map);
	free(ep->ranks);
	free(ep->placement);
	free(ep);
}

static int check_guard(uint32_t r, int region, bool behind, uint64_t va)
{
	const unsigned char *bytes = ep_ptr(va);

	for (uint32_t i = 0; i < EP_GUARD_BYTES; i++) {
		if (bytes[i] != EP_GUARD_BYTE)
			return cmx_fail(-EUCLEAN, "guard", i, EP_GUARD_BYTES,
					"rank %u: byte %u %s buffer '%s' was written", r,
					behind ? i : EP_GUARD_BYTES - i,
					behind ? "behind" : "before", region_names[region]);
	}
	return 0;
}

int cmx_ep_check(const struct cmx_ep *ep)
{
	int ret = 0;

	if (!guard_bytes(ep))
		return cmx_fail(-EINVAL, "flags", ep->desc.flags, CMX_EP_GUARD,
				"there are no guard areas: made without CMX_EP_GUARD");
	for (uint32_t r = 0; r < ep->desc.ranks; r++) {
		for (int i = ep_has_data(ep) ? 0 : EP_BYTES_REGIONS; i < EP_REGIONS && !ret; i++) {
			uint64_t va = ep->ranks[r].va[i];

			ret = check_guard(r, i, false, va - EP_GUARD_BYTES);
			if (!ret)
				ret = check_guard(r, i, true, va + region_bytes(ep, i));
		}
	}
	return ret;
}

uint64_t cmx_ep_dropped(const struct cmx_ep *ep, uint32_t rank)
{
	return rank < ep->desc.ranks ? atomic_load(&ep->ranks[rank].dropped) : 0;
}
