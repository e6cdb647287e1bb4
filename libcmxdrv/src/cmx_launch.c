// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_queue_priv.h"

#define PS_PER_S	1000000000000ull
#define PS_PER_NS	1000

/* A launch with room for all of its arguments: 4 slots. */
struct launch_entry {
	struct cmx_entry_launch launch;
	unsigned char more[CMX_LAUNCH_MAX_ARGS - sizeof(((struct cmx_entry_launch *)0)->args)];
};

_Static_assert(sizeof(struct launch_entry) == CMX_ENTRY_MAX_SLOTS * CMX_SLOT_SIZE,
	       "a launch with all arguments is the largest entry");

static uint32_t launch_slots(uint32_t args_size)
{
	uint32_t bytes = (uint32_t)offsetof(struct cmx_entry_launch, args) + args_size;
	uint32_t slots = (bytes + CMX_SLOT_SIZE - 1) / CMX_SLOT_SIZE;

	return slots < 2 ? 2 : slots;
}

int cmx_queue_launch(struct cmx_queue *q, const struct cmx_launch_desc *desc, uint32_t flags,
		     uint64_t user_ctx)
{
	struct launch_entry entry = {};
	struct cmx_entry_launch *e = &entry.launch;

	if (desc->args_size > CMX_LAUNCH_MAX_ARGS)
		return cmx_fail(-EINVAL, "args_size", desc->args_size, CMX_LAUNCH_MAX_ARGS,
				"%u argument bytes are more than %d", desc->args_size,
				CMX_LAUNCH_MAX_ARGS);
	cmx_entry_header_set(&e->header, launch_slots(desc->args_size), CMX_OP_LAUNCH, flags,
			     user_ctx);
	e->kernel = desc->kernel;
	e->grid = desc->grid ? desc->grid : 1;
	e->args_size = (uint16_t)desc->args_size;
	e->launch_flags = (uint16_t)desc->launch_flags;
	e->min_ps = desc->min_ps;
	e->first_ps = desc->first_ps;
	e->record_va = desc->record_va;
	e->record_count = desc->record_count;
	e->cost = desc->cost;
	if (desc->args_size)
		memcpy((unsigned char *)&entry + offsetof(struct cmx_entry_launch, args),
		       desc->args, desc->args_size);
	return cmx_queue_push(q, &entry);
}

/* Picoseconds for @amount at @part / @whole of @rate per second, rounded down. */
static uint64_t time_at(uint64_t amount, uint64_t rate, uint32_t part, uint32_t whole)
{
	unsigned __int128 ps;

	if (!amount || !rate || !part)
		return 0;
	ps = (unsigned __int128)amount * PS_PER_S * whole / ((unsigned __int128)rate * part);
	return ps > UINT64_MAX ? UINT64_MAX : (uint64_t)ps;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

uint64_t cmx_launch_bound(const struct cmx_queue *q, const struct cmx_cost *cost)
{
	const struct cmx_queue_priv *priv = cmx_queue_priv(q);
	const struct drm_cmx_info_entity *entity = &priv->entity;
	uint64_t fixed = (uint64_t)cost->fixed_ns * PS_PER_NS, cube = 0, vector, memory, most;

	if (cost->op_class < CMX_OPS_CLASSES)
		cube = time_at(cost->cube_ops, entity->cube_rate[cost->op_class],
			       priv->cube_cores, entity->cube_cores);
	vector = time_at(cost->vector_ops, entity->vector_rate, priv->vector_cores,
			 entity->vector_cores);
	memory = time_at(cost->mem_bytes, entity->mem_rate, 1, 1);
	most = larger(larger(cube, vector), memory);
	return most > UINT64_MAX - fixed ? UINT64_MAX : most + fixed;
}

int cmx_queue_launch_kernel(struct cmx_queue *q, uint64_t kernel, uint32_t grid,
			    const void *args, uint32_t args_size, uint32_t flags,
			    uint64_t user_ctx)
{
	const struct cmx_kernel *k = cmx_kernels_get(&q->ctx->kernels, kernel);
	struct cmx_launch_desc desc = {
		.kernel = kernel,
		.args = args,
		.args_size = args_size,
		.grid = grid,
	};
	int ret = cmx_kernel_cost(q->ctx, kernel, args, args_size, grid, &desc.cost);

	if (ret)
		return ret;
	if (!k->post)
		desc.min_ps = cmx_launch_bound(q, &desc.cost);
	if (k->flags & CMX_KERNEL_LOCAL)
		desc.first_ps = UINT64_MAX;
	return cmx_queue_launch(q, &desc, flags, user_ctx);
}
