// SPDX-License-Identifier: MIT
/*
 * What runs on a die: sending to all peers, adding up what came, taking pieces out of the
 * window.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_bf16.h"
#include "cmx_ccl.h"

/* -------------------------------------------------------------------------- sending */

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The peer's piece of the source. */
static uint64_t piece(const struct cmx_ccl_send *s, uint64_t peer, uint64_t *offset)
{
	*offset = s->v ? s->v->send_offsets[peer] : peer * s->step;
	if (s->v)
		return s->v->send_bytes[peer];
	return *offset < s->end ? lesser(s->bytes, s->end - *offset) : 0;
}

static int record_bytes(struct cmx_launch_ctx *lc, const struct cmx_ccl *ccl, uint64_t to,
			uint64_t len)
{
	struct cmx_record record = {
		.opcode = UB_OP_WRITE,
		.flags = CMX_RECORD_DONE,
		.messages = 1,
		.at_ps = ccl->launch_ps,
		.va = to,
		.len = len,
	};

	return len ? cmx_dev_record(lc, &record) : 0;
}

/*
 * A block is a peer, those behind the own rank first: no two ranks begin with the same one.
 * The bytes are stored at once: nobody looks at that half of the window before its word
 * comes, and the source may change before the bytes would have arrived.
 */
static int send_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	const struct cmx_ccl_send *s = args;
	const struct cmx_ccl *ccl = s->ccl;
	uint64_t peer = (s->rank + 1 + block) % ccl->n, offset;
	uint64_t len = piece(s, peer, &offset);
	uint64_t to = cmx_ccl_window(ccl, peer, s->exchange) + s->rank * s->stride;

	if (len && !cmx_ccl_time_only(ccl))
		memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)(s->src_va + offset), len);
	if (record_bytes(lc, ccl, to, len))
		return 1;
	return cmx_dev_atomic(lc, ccl->launch_ps, UB_OP_FADD,
			      cmx_ccl_flag(ccl, peer, s->exchange), sizeof(uint64_t), 1) ? 1 : 0;
}

void cmx_ccl_v_put(struct cmx_ccl *ccl, struct cmx_ccl_v *v)
{
	bool last;

	pthread_mutex_lock(&ccl->lock);
	last = !--v->refs;
	if (last)
		cmx_list_del(&v->node);
	pthread_mutex_unlock(&ccl->lock);
	if (last)
		free(v);
}

static int send_post(struct cmx_launch_ctx *lc, const void *args)
{
	const struct cmx_ccl_send *s = args;

	(void)lc;
	if (s->v)
		cmx_ccl_v_put(s->ccl, s->v);
	return 0;
}

/* --------------------------------------------------------------------------- adding */

/* Elements [@first, @first + @n) of @rank's vector. */
static const void *vector_of(const struct cmx_ccl_sum *s, uint64_t rank, uint64_t first)
{
	uint64_t va = s->own_va;

	if (rank != s->rank)
		va = cmx_ccl_window(s->ccl, s->rank, s->exchange) + rank * s->stride;
	return (const void *)(uintptr_t)(va + first * cmx_ccl_element((uint32_t)s->dtype));
}

static void add_f32(const struct cmx_ccl_sum *s, uint64_t first, uint64_t n, float *sum)
{
	memcpy(sum, vector_of(s, 0, first), n * sizeof(*sum));
	for (uint64_t rank = 1; rank < s->ccl->n; rank++) {
		const float *x = vector_of(s, rank, first);

		for (uint64_t i = 0; i < n; i++)
			sum[i] += x[i];
	}
	memcpy((float *)(uintptr_t)s->dst_va + first, sum, n * sizeof(*sum));
}

static void add_bf16(const struct cmx_ccl_sum *s, uint64_t first, uint64_t n, float *sum)
{
	uint16_t *to = (uint16_t *)(uintptr_t)s->dst_va + first;

	for (uint64_t rank = 0; rank < s->ccl->n; rank++) {
		const uint16_t *x = vector_of(s, rank, first);

		for (uint64_t i = 0; i < n; i++)
			sum[i] = rank ? sum[i] + cmx_from_bf16(x[i]) : cmx_from_bf16(x[i]);
	}
	for (uint64_t i = 0; i < n; i++)
		to[i] = cmx_to_bf16(sum[i]);
}

/* A block reads its elements of all ranks, then writes: the destination may be a source. */
static int reduce_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	const struct cmx_ccl_sum *s = args;
	uint64_t first = (uint64_t)block * CMX_CCL_SUM_BLOCK;
	float sum[CMX_CCL_SUM_BLOCK];

	(void)lc;
	if (s->dtype == CMX_CCL_F32)
		add_f32(s, first, lesser(s->count - first, CMX_CCL_SUM_BLOCK), sum);
	else
		add_bf16(s, first, lesser(s->count - first, CMX_CCL_SUM_BLOCK), sum);
	return 0;
}

/* ------------------------------------------------------------------------ unpacking */

/* A block is a rank whose piece goes to its place; the own one was never in the window. */
static int unpack_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block)
{
	const struct cmx_ccl_unpack *u = args;
	uint64_t from = cmx_ccl_window(u->ccl, u->rank, u->exchange) + block * u->ccl->max_bytes;

	(void)lc;
	if (block == u->rank)
		from = u->src_va + u->v->send_offsets[block];
	memcpy((void *)(uintptr_t)(u->dst_va + u->v->recv_offsets[block]),
	       (const void *)(uintptr_t)from, u->v->recv_bytes[block]);
	return 0;
}

static int unpack_post(struct cmx_launch_ctx *lc, const void *args)
{
	const struct cmx_ccl_unpack *u = args;

	(void)lc;
	cmx_ccl_v_put(u->ccl, u->v);
	return 0;
}

/* A group before this one, or another thread, may have named them. */
static int register_one(struct cmx_ctx *ctx, const struct cmx_kernel_desc *desc, uint64_t *kernel)
{
	int ret = cmx_kernel_find(ctx, desc->name, kernel);

	if (ret == -ENOENT)
		ret = cmx_kernel_register_desc(ctx, desc, kernel);
	return ret == -EEXIST ? cmx_kernel_find(ctx, desc->name, kernel) : ret;
}

int cmx_ccl_register(struct cmx_ccl *ccl)
{
	static const struct cmx_kernel_desc list[CMX_CCL_KERNELS] = {
		[CMX_CCL_KERNEL_SEND] = {
			.name = "ccl.send", .run = send_block, .post = send_post,
			.args_size = sizeof(struct cmx_ccl_send),
		},
		[CMX_CCL_KERNEL_REDUCE] = {
			.name = "ccl.reduce", .run = reduce_block, .flags = CMX_KERNEL_LOCAL,
			.args_size = sizeof(struct cmx_ccl_sum),
		},
		[CMX_CCL_KERNEL_UNPACK] = {
			.name = "ccl.unpack", .run = unpack_block, .post = unpack_post,
			.flags = CMX_KERNEL_LOCAL, .args_size = sizeof(struct cmx_ccl_unpack),
		},
	};
	int ret = 0;

	for (int i = 0; i < CMX_CCL_KERNELS && !ret; i++)
		ret = register_one(ccl->ctx, &list[i], &ccl->kernels[i]);
	return ret;
}
