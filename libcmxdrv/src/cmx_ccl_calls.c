// SPDX-License-Identifier: MIT
/*
 * The collectives, as entries.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_ccl.h"
#include "cmx_fail.h"

static void call_init(struct cmx_ccl_call *call, struct cmx_ccl *ccl, uint32_t rank,
		      struct cmx_queue *queue, uint32_t op)
{
	*call = (struct cmx_ccl_call){
		.ccl = ccl,
		.r = rank < ccl->n ? &ccl->ranks[rank] : NULL,
		.queue = queue,
		.rank = rank,
		.op = op,
	};
}

/* Some of the entries may be there: nothing that follows can be right. */
static int end(const struct cmx_ccl_call *call, int ret)
{
	if (ret)
		__atomic_store_n(&call->ccl->broken, ret, __ATOMIC_RELAXED);
	return ret;
}

/* --------------------------------------------------------- gather, all-to-all, broadcast */

/*
 * Send, put the own piece into the own window meanwhile, wait, and take the window as a
 * whole. @own_va: the own piece.
 */
static int through_window(const struct cmx_ccl_call *call, struct cmx_ccl_send *send,
			  uint64_t dst_va, uint64_t own_va, uint64_t own_bytes, uint64_t total)
{
	uint64_t window;
	int ret = cmx_ccl_send(call, send);

	window = cmx_ccl_window(call->ccl, call->rank, send->exchange);
	if (!ret)
		ret = cmx_ccl_copy(call, window + call->rank * send->stride, own_va, own_bytes, 0);
	if (!ret)
		ret = cmx_ccl_wait(call, send, 0);
	return ret ? ret : cmx_ccl_copy(call, dst_va, window, total, call->flags);
}

int cmx_ccl_all_gather(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
		       uint64_t dst_va, uint64_t src_va, uint64_t bytes, uint32_t flags,
		       uint64_t user_ctx)
{
	struct cmx_ccl_send send = {
		.src_va = src_va, .bytes = bytes, .end = bytes, .stride = bytes,
	};
	struct cmx_ccl_call call;
	int ret;

	call_init(&call, ccl, rank, queue, CMX_CCL_ALL_GATHER);
	call.size = bytes;
	call.flags = flags;
	call.user_ctx = user_ctx;
	ret = cmx_ccl_check(&call);
	if (!ret)
		ret = cmx_ccl_check_size(&call, "bytes", bytes, 1);
	if (!ret)
		ret = cmx_ccl_check_range("src_va", src_va, bytes, 1);
	if (!ret)
		ret = cmx_ccl_check_range("dst_va", dst_va, ccl->n * bytes, 1);
	if (!ret)
		ret = cmx_ccl_check_apart(dst_va, ccl->n * bytes, src_va, bytes,
					  src_va - rank * bytes);
	if (!ret)
		ret = cmx_ccl_agree(&call, NULL);
	if (ret)
		return ret;
	return end(&call, through_window(&call, &send, dst_va, src_va, bytes, ccl->n * bytes));
}

int cmx_ccl_all_to_all(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
		       uint64_t dst_va, uint64_t src_va, uint64_t bytes, uint32_t flags,
		       uint64_t user_ctx)
{
	struct cmx_ccl_send send = {
		.src_va = src_va, .step = bytes, .bytes = bytes, .stride = bytes,
	};
	struct cmx_ccl_call call;
	int ret;

	call_init(&call, ccl, rank, queue, CMX_CCL_ALL_TO_ALL);
	call.size = bytes;
	call.flags = flags;
	call.user_ctx = user_ctx;
	ret = cmx_ccl_check(&call);
	if (!ret)
		ret = cmx_ccl_check_size(&call, "bytes", bytes, ccl->n);
	if (ret)
		return ret;
	send.end = ccl->n * bytes;
	ret = cmx_ccl_check_range("src_va", src_va, send.end, 1);
	if (!ret)
		ret = cmx_ccl_check_range("dst_va", dst_va, send.end, 1);
	if (!ret)
		ret = cmx_ccl_check_apart(dst_va, send.end, src_va, send.end, src_va);
	if (!ret)
		ret = cmx_ccl_agree(&call, NULL);
	if (ret)
		return ret;
	return end(&call, through_window(&call, &send, dst_va, src_va + rank * bytes, bytes,
					 send.end));
}

static int broadcast(const struct cmx_ccl_call *call, uint64_t dst_va, uint64_t src_va,
		     uint64_t bytes)
{
	bool root = call->rank == call->root;
	struct cmx_ccl_send send = {
		.src_va = src_va, .bytes = root ? bytes : 0, .end = bytes, .stride = bytes,
	};
	int ret = cmx_ccl_send(call, &send);

	if (!ret && root)
		ret = cmx_ccl_copy(call, dst_va, src_va, bytes, 0);
	if (!ret)
		ret = cmx_ccl_wait(call, &send, root ? call->flags : 0);
	if (ret || root)
		return ret;
	return cmx_ccl_copy(call, dst_va, cmx_ccl_window(call->ccl, call->rank, send.exchange) +
			    call->root * bytes, bytes, call->flags);
}

int cmx_ccl_broadcast(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
		      uint64_t dst_va, uint64_t src_va, uint64_t bytes, uint32_t root,
		      uint32_t flags, uint64_t user_ctx)
{
	struct cmx_ccl_call call;
	int ret;

	call_init(&call, ccl, rank, queue, CMX_CCL_BROADCAST);
	call.size = bytes;
	call.root = root;
	call.flags = flags;
	call.user_ctx = user_ctx;
	ret = cmx_ccl_check(&call);
	if (!ret)
		ret = cmx_ccl_check_size(&call, "bytes", bytes, 1);
	if (!ret && rank == root)
		ret = cmx_ccl_check_range("src_va", src_va, bytes, 1);
	if (!ret)
		ret = cmx_ccl_check_range("dst_va", dst_va, bytes, 1);
	if (!ret && rank == root)
		ret = cmx_ccl_check_apart(dst_va, bytes, src_va, bytes, src_va);
	if (!ret)
		ret = cmx_ccl_agree(&call, NULL);
	return ret ? ret : end(&call, broadcast(&call, dst_va, src_va, bytes));
}

int cmx_ccl_barrier(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
		    uint32_t flags, uint64_t user_ctx)
{
	struct cmx_ccl_send send = {};
	struct cmx_ccl_call call;
	int ret;

	call_init(&call, ccl, rank, queue, CMX_CCL_BARRIER);
	call.flags = flags;
	call.user_ctx = user_ctx;
	ret = cmx_ccl_check(&call);
	if (!ret)
		ret = cmx_ccl_agree(&call, NULL);
	if (ret)
		return ret;
	ret = cmx_ccl_send(&call, &send);
	return end(&call, ret ? ret : cmx_ccl_wait(&call, &send, flags));
}

/* ----------------------------------------------------------------------- all-to-all-v */

/* Offsets as given, or of pieces one behind the other. */
static void fill_pieces(uint64_t *bytes, uint64_t *offsets, const uint64_t *given_bytes,
			const uint64_t *given_offsets, uint32_t n)
{
	uint64_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		bytes[i] = given_bytes[i];
		offsets[i] = given_offsets ? given_offsets[i] : at;
		at += bytes[i];
	}
}

static struct cmx_ccl_v *pieces_keep(struct cmx_ccl *ccl, const struct cmx_ccl_pieces *p)
{
	size_t n = ccl->n;
	struct cmx_ccl_v *v = calloc(1, sizeof(*v) + 4 * n * sizeof(v->words[0]));

	if (!v)
		return NULL;
	v->send_bytes = v->words;
	v->send_offsets = v->words + n;
	v->recv_bytes = v->words + 2 * n;
	v->recv_offsets = v->words + 3 * n;
	fill_pieces(v->send_bytes, v->send_offsets, p->send_bytes, p->send_offsets, ccl->n);
	fill_pieces(v->recv_bytes, v->recv_offsets, p->recv_bytes, p->recv_offsets, ccl->n);
	/* One for who appends, and one for each launch that is carried out. */
	v->refs = 1 + (ccl->n > 1) + !cmx_ccl_time_only(ccl);
	pthread_mutex_lock(&ccl->lock);
	cmx_list_add(&ccl->pieces, &v->node);
	pthread_mutex_unlock(&ccl->lock);
	return v;
}

static int all_to_all_v(const struct cmx_ccl_call *call, struct cmx_ccl_v *v, uint64_t dst_va,
			uint64_t src_va)
{
	struct cmx_ccl_send send = {
		.v = v, .src_va = src_va, .stride = call->ccl->max_bytes,
	};
	int ret = cmx_ccl_send(call, &send);

	if (!ret)
		ret = cmx_ccl_wait(call, &send, 0);
	if (!ret)
		ret = cmx_ccl_unpack(call, &send, dst_va, call->flags);
	cmx_ccl_v_put(call->ccl, v);
	return ret;
}

int cmx_ccl_all_to_all_v(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
			 uint64_t dst_va, uint64_t src_va, const struct cmx_ccl_pieces *pieces,
			 uint32_t flags, uint64_t user_ctx)
{
	struct cmx_ccl_call call;
	struct cmx_ccl_v *v;
	int ret;

	call_init(&call, ccl, rank, queue, CMX_CCL_ALL_TO_ALL_V);
	call.flags = flags;
	call.user_ctx = user_ctx;
	ret = cmx_ccl_check(&call);
	if (!ret)
		ret = cmx_ccl_check_pieces(&call, dst_va, src_va, pieces);
	if (ret)
		return ret;
	v = pieces_keep(ccl, pieces);
	if (!v)
		return cmx_fail_call(-ENOMEM, "cmx_ccl_all_to_all_v");
	ret = cmx_ccl_agree(&call, pieces);
	if (!ret)
		return end(&call, all_to_all_v(&call, v, dst_va, src_va));
	v->refs = 1;
	cmx_ccl_v_put(ccl, v);
	return ret;
}

/* ------------------------------------------------------------------------- reductions */

int cmx_ccl_reduce_scatter(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
			   uint64_t dst_va, uint64_t src_va, uint64_t count, uint32_t dtype,
			   uint32_t flags, uint64_t user_ctx)
{
	uint64_t element = cmx_ccl_element(dtype), own_va;
	struct cmx_ccl_send send = { .src_va = src_va };
	struct cmx_ccl_call call;
	int ret;

	call_init(&call, ccl, rank, queue, CMX_CCL_REDUCE_SCATTER);
	call.size = count;
	call.dtype = dtype;
	call.flags = flags;
	call.user_ctx = user_ctx;
	ret = cmx_ccl_check(&call);
	if (!ret)
		ret = cmx_ccl_check_size(&call, "count", count, element * ccl->n);
	if (ret)
		return ret;
	send.bytes = count * element;
	send.step = send.bytes;
	send.stride = send.bytes;
	send.end = ccl->n * send.bytes;
	own_va = src_va + rank * send.bytes;
	ret = cmx_ccl_check_range("src_va", src_va, send.end, element);
	if (!ret)
		ret = cmx_ccl_check_range("dst_va", dst_va, send.bytes, element);
	if (!ret)
		ret = cmx_ccl_check_apart(dst_va, send.bytes, src_va, send.end, own_va);
	if (!ret)
		ret = cmx_ccl_agree(&call, NULL);
	if (ret)
		return ret;
	ret = cmx_ccl_send(&call, &send);
	if (!ret)
		ret = cmx_ccl_wait(&call, &send, 0);
	return end(&call, ret ? ret : cmx_ccl_reduce(&call, &send, dst_va, own_va, count, flags));
}

static int one_step(const struct cmx_ccl_call *call, uint64_t dst_va, uint64_t src_va)
{
	uint64_t bytes = call->size * cmx_ccl_element(call->dtype);
	struct cmx_ccl_send send = {
		.src_va = src_va, .bytes = bytes, .end = bytes, .stride = bytes,
	};
	int ret = cmx_ccl_send(call, &send);

	if (!ret)
		ret = cmx_ccl_wait(call, &send, 0);
	return ret ? ret : cmx_ccl_reduce(call, &send, dst_va, src_va, call->size, call->flags);
}

/* Each rank adds up a part of equal size, the last ones a shorter or none, and sends it. */
static int two_steps(const struct cmx_ccl_call *call, uint64_t dst_va, uint64_t src_va)
{
	uint64_t n = call->ccl->n, element = cmx_ccl_element(call->dtype);
	uint64_t part = (call->size + n - 1) / n, first = call->rank * part, own = 0;
	struct cmx_ccl_send scatter = {
		.src_va = src_va, .step = part * element, .bytes = part * element,
		.end = call->size * element, .stride = part * element,
	};
	struct cmx_ccl_send gather = { .stride = part * element };
	int ret = cmx_ccl_send(call, &scatter);

	if (first < call->size)
		own = call->size - first < part ? call->size - first : part;
	if (!ret)
		ret = cmx_ccl_wait(call, &scatter, 0);
	first *= element;
	if (!ret)
		ret = cmx_ccl_reduce(call, &scatter, dst_va + first, src_va + first, own, 0);
	gather.src_va = dst_va + first;
	gather.bytes = own * element;
	gather.end = gather.bytes;
	return ret ? ret : through_window(call, &gather, dst_va, gather.src_va, gather.bytes,
					  call->size * element);
}

int cmx_ccl_all_reduce(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
		       uint64_t dst_va, uint64_t src_va, uint64_t count, uint32_t dtype,
		       uint32_t flags, uint64_t user_ctx)
{
	uint64_t element = cmx_ccl_element(dtype), bytes;
	struct cmx_ccl_call call;
	int ret;

	call_init(&call, ccl, rank, queue, CMX_CCL_ALL_REDUCE);
	call.size = count;
	call.dtype = dtype;
	call.flags = flags;
	call.user_ctx = user_ctx;
	ret = cmx_ccl_check(&call);
	if (!ret)
		ret = cmx_ccl_check_size(&call, "count", count, element);
	if (ret)
		return ret;
	bytes = count * element;
	ret = cmx_ccl_check_range("src_va", src_va, bytes, element);
	if (!ret)
		ret = cmx_ccl_check_range("dst_va", dst_va, bytes, element);
	if (!ret)
		ret = cmx_ccl_check_apart(dst_va, bytes, src_va, bytes, src_va);
	if (!ret)
		ret = cmx_ccl_agree(&call, NULL);
	if (ret)
		return ret;
	return end(&call, bytes < ccl->two_step_bytes ? one_step(&call, dst_va, src_va) :
							two_steps(&call, dst_va, src_va));
}
