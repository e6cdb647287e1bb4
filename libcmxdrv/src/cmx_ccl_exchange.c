// SPDX-License-Identifier: MIT
/*
 * The entries a call is made of.
 */
#include "cmx_ccl.h"

static int nothing(const struct cmx_ccl_call *call, uint32_t flags)
{
	return flags ? cmx_queue_nop(call->queue, flags, call->user_ctx) : 0;
}

int cmx_ccl_copy(const struct cmx_ccl_call *call, uint64_t dst_va, uint64_t src_va,
		 uint64_t bytes, uint32_t flags)
{
	if (!bytes || dst_va == src_va)
		return nothing(call, flags);
	return cmx_queue_copy(call->queue, dst_va, src_va, bytes, flags, call->user_ctx);
}

/*
 * Takes the rank's next exchange. A rank alone sends nothing, but keeps what it would need
 * for the rest of the call.
 */
int cmx_ccl_send(const struct cmx_ccl_call *call, struct cmx_ccl_send *send)
{
	struct cmx_ccl *ccl = call->ccl;
	struct cmx_launch_desc desc = {
		.kernel = ccl->kernels[CMX_CCL_KERNEL_SEND],
		.args = send,
		.args_size = sizeof(*send),
		.grid = ccl->n - 1,
		.first_ps = ccl->launch_ps,
	};

	send->ccl = ccl;
	send->rank = call->rank;
	send->exchange = call->r->exchanges++;
	if (ccl->n == 1)
		return 0;
	return cmx_queue_launch(call->queue, &desc, 0, call->user_ctx);
}

/* Exchanges of this half so far, this one too, have each added a word of every peer. */
int cmx_ccl_wait(const struct cmx_ccl_call *call, const struct cmx_ccl_send *send,
		 uint32_t flags)
{
	uint64_t words = (send->exchange / 2 + 1) * (call->ccl->n - 1);

	if (!words)
		return nothing(call, flags);
	return cmx_queue_wait(call->queue, cmx_ccl_flag(call->ccl, call->rank, send->exchange),
			      CMX_COND_GE, words, flags, call->user_ctx);
}

/* A launch on the rank's own memory. */
static int launch_local(const struct cmx_ccl_call *call, enum cmx_ccl_kernel kernel,
			struct cmx_launch_desc *desc, uint32_t flags)
{
	desc->kernel = call->ccl->kernels[kernel];
	desc->cost.efficiency = CMX_EFF_VECTOR;
	desc->min_ps = cmx_launch_bound(call->queue, &desc->cost);
	desc->first_ps = UINT64_MAX;
	if (cmx_ccl_time_only(call->ccl))
		desc->launch_flags = CMX_LAUNCH_TIME_ONLY;
	return cmx_queue_launch(call->queue, desc, flags, call->user_ctx);
}

int cmx_ccl_reduce(const struct cmx_ccl_call *call, const struct cmx_ccl_send *sent,
		   uint64_t dst_va, uint64_t own_va, uint64_t count, uint32_t flags)
{
	uint64_t n = call->ccl->n;
	struct cmx_ccl_sum sum = {
		.ccl = call->ccl,
		.dst_va = dst_va,
		.own_va = own_va,
		.stride = sent->stride,
		.count = count,
		.dtype = call->dtype,
		.exchange = sent->exchange,
		.rank = call->rank,
	};
	struct cmx_launch_desc desc = {
		.args = &sum,
		.args_size = sizeof(sum),
		.grid = (uint32_t)((count + CMX_CCL_SUM_BLOCK - 1) / CMX_CCL_SUM_BLOCK),
		.cost = {
			.mem_bytes = (n + 1) * count * cmx_ccl_element(call->dtype),
			.vector_ops = (n - 1) * count,
		},
	};

	if (!count)
		return nothing(call, flags);
	return launch_local(call, CMX_CCL_KERNEL_REDUCE, &desc, flags);
}

int cmx_ccl_unpack(const struct cmx_ccl_call *call, const struct cmx_ccl_send *sent,
		   uint64_t dst_va, uint32_t flags)
{
	struct cmx_ccl_unpack unpack = {
		.ccl = call->ccl,
		.v = sent->v,
		.dst_va = dst_va,
		.src_va = sent->src_va,
		.exchange = sent->exchange,
		.rank = call->rank,
	};
	struct cmx_launch_desc desc = {
		.args = &unpack,
		.args_size = sizeof(unpack),
		.grid = call->ccl->n,
	};

	for (uint32_t i = 0; i < call->ccl->n; i++)
		desc.cost.mem_bytes += 2 * sent->v->recv_bytes[i];
	return launch_local(call, CMX_CCL_KERNEL_UNPACK, &desc, flags);
}
