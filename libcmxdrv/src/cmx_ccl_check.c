// SPDX-License-Identifier: MIT
/*
 * What a call is refused for, before it appends anything.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_ccl.h"
#include "cmx_fail.h"

static const char *const names[] = {
	[CMX_CCL_ALL_GATHER] = "all-gather",
	[CMX_CCL_REDUCE_SCATTER] = "reduce-scatter",
	[CMX_CCL_ALL_REDUCE] = "all-reduce",
	[CMX_CCL_ALL_TO_ALL] = "all-to-all",
	[CMX_CCL_ALL_TO_ALL_V] = "all-to-all-v",
	[CMX_CCL_BROADCAST] = "broadcast",
	[CMX_CCL_BARRIER] = "barrier",
};

static int check_queue(const struct cmx_ccl_call *call)
{
	const struct cmx_queue *q = call->queue;
	const char *name = names[call->op];

	if (q->ctx != call->ccl->ctx || q->timeline != call->ccl->timeline)
		return cmx_fail(-EINVAL, "queue", q->handle, 0,
				"%s: a queue of another context or clock than the group's", name);
	if (q->queue_class != CMX_QUEUE_STREAM)
		return cmx_fail(-EINVAL, "queue", q->queue_class, CMX_QUEUE_STREAM,
				"%s: a queue of class %u, not a stream queue", name,
				q->queue_class);
	if (q->entity != call->r->entity)
		return cmx_fail(-EINVAL, "queue", q->entity, call->r->entity,
				"%s: a queue of entity %u, but rank %u is on entity %u", name,
				q->entity, call->rank, call->r->entity);
	if (q->mask + 1 < CMX_CCL_SLOTS)
		return cmx_fail(-ENOSPC, "slots", CMX_CCL_SLOTS, q->mask + 1,
				"%s: a call needs %u slots, the queue has %u", name, CMX_CCL_SLOTS,
				q->mask + 1);
	return 0;
}

int cmx_ccl_check(const struct cmx_ccl_call *call)
{
	const char *name = names[call->op];
	int broken = __atomic_load_n(&call->ccl->broken, __ATOMIC_RELAXED);

	if (broken)
		return cmx_fail(-EPIPE, "ccl", (uint64_t)-broken, 0,
				"%s: a call before failed with error %d: the group is broken", name,
				-broken);
	if (call->rank >= call->ccl->n)
		return cmx_fail(-EINVAL, "rank", call->rank, call->ccl->n,
				"%s: rank %u of a group of %u", name, call->rank, call->ccl->n);
	if (call->flags & ~CMX_ENTRY_COMPLETE)
		return cmx_fail(-EINVAL, "flags", call->flags, CMX_ENTRY_COMPLETE,
				"%s: unknown flags %#x", name, call->flags);
	if (call->dtype >= CMX_CCL_DTYPES)
		return cmx_fail(-EINVAL, "dtype", call->dtype, CMX_CCL_DTYPES,
				"%s: type %u of elements is not below %u", name, call->dtype,
				CMX_CCL_DTYPES);
	if (call->root >= call->ccl->n)
		return cmx_fail(-EINVAL, "root", call->root, call->ccl->n,
				"%s: root %u of a group of %u", name, call->root, call->ccl->n);
	return check_queue(call);
}

/* @count of @each bytes as a rank's contribution; @each is not 0 and at most a window. */
int cmx_ccl_check_size(const struct cmx_ccl_call *call, const char *field, uint64_t count,
		       uint64_t each)
{
	unsigned __int128 need = (unsigned __int128)count * each;
	uint64_t limit = call->ccl->max_bytes;

	if (need <= limit)
		return 0;
	if (need > UINT64_MAX)
		need = UINT64_MAX;
	return cmx_fail(-ENOSPC, field, (uint64_t)need, limit,
			"%s: needs %llu bytes of each rank's window, given are %llu",
			names[call->op], (unsigned long long)need, (unsigned long long)limit);
}

int cmx_ccl_check_range(const char *field, uint64_t va, uint64_t bytes, uint64_t align)
{
	if (!bytes)
		return 0;
	if (!va || va > UINT64_MAX - bytes)
		return cmx_fail(-EINVAL, field, va, UINT64_MAX - bytes,
				"collectives: %s is %#llx, no address of %llu bytes", field,
				(unsigned long long)va, (unsigned long long)bytes);
	if (va % align)
		return cmx_fail(-EINVAL, field, va, align,
				"collectives: %s is %#llx, not a multiple of %llu", field,
				(unsigned long long)va, (unsigned long long)align);
	return 0;
}

int cmx_ccl_check_apart(uint64_t dst_va, uint64_t dst_bytes, uint64_t src_va,
			uint64_t src_bytes, uint64_t same)
{
	if (dst_va == same || !dst_bytes || !src_bytes || dst_va + dst_bytes <= src_va ||
	    src_va + src_bytes <= dst_va)
		return 0;
	return cmx_fail(-EINVAL, "dst_va", dst_va, src_va,
			"collectives: destination %#llx overlaps source %#llx",
			(unsigned long long)dst_va, (unsigned long long)src_va);
}

/* ------------------------------------------------------------------- pieces of all-to-all-v */

struct span {
	uint64_t offset, bytes;
};

static int by_offset(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* That they do not overlap; @end: behind the last of them. */
static int check_received(const struct cmx_ccl_call *call, struct span *spans, uint64_t *end)
{
	uint32_t n = call->ccl->n;

	*end = 0;
	qsort(spans, n, sizeof(*spans), by_offset);
	for (uint32_t i = 0; i < n; i++) {
		if (!spans[i].bytes)
			continue;
		if (spans[i].offset < *end)
			return cmx_fail(-EINVAL, "recv_offsets", spans[i].offset, *end,
					"%s: a piece at %llu begins before the one before it ends, "
					"at %llu", names[call->op],
					(unsigned long long)spans[i].offset,
					(unsigned long long)*end);
		if (spans[i].offset > UINT64_MAX - spans[i].bytes)
			return cmx_fail(-EINVAL, "recv_offsets", spans[i].offset, UINT64_MAX,
					"%s: a piece at %llu is past all addresses",
					names[call->op], (unsigned long long)spans[i].offset);
		*end = spans[i].offset + spans[i].bytes;
	}
	return 0;
}

static int check_sent(const struct cmx_ccl_call *call, const struct cmx_ccl_pieces *p,
		      uint64_t *end)
{
	uint64_t total = 0;
	int ret = 0;

	*end = 0;
	for (uint32_t i = 0; i < call->ccl->n && !ret; i++) {
		uint64_t bytes = p->send_bytes[i];
		uint64_t offset = p->send_offsets ? p->send_offsets[i] : total;

		ret = cmx_ccl_check_size(call, "send_bytes", bytes, 1);
		if (!ret && bytes && offset > UINT64_MAX - bytes)
			ret = cmx_fail(-EINVAL, "send_offsets", offset, UINT64_MAX - bytes,
				       "%s: a piece at %llu is past all addresses",
				       names[call->op], (unsigned long long)offset);
		if (!ret && bytes && offset + bytes > *end)
			*end = offset + bytes;
		total += bytes;
	}
	return ret ? ret : cmx_ccl_check_size(call, "send_bytes", total, 1);
}

static int check_spans(const struct cmx_ccl_call *call, const struct cmx_ccl_pieces *p,
		       struct span *spans, uint64_t *end)
{
	uint64_t total = 0;
	int ret = 0;

	for (uint32_t i = 0; i < call->ccl->n && !ret; i++) {
		ret = cmx_ccl_check_size(call, "recv_bytes", p->recv_bytes[i], 1);
		spans[i].bytes = p->recv_bytes[i];
		spans[i].offset = p->recv_offsets ? p->recv_offsets[i] : total;
		total += p->recv_bytes[i];
	}
	return ret ? ret : check_received(call, spans, end);
}

int cmx_ccl_check_pieces(const struct cmx_ccl_call *call, uint64_t dst_va, uint64_t src_va,
			 const struct cmx_ccl_pieces *p)
{
	uint64_t sent = 0, received = 0;
	struct span *spans;
	int ret;

	if (!p || !p->send_bytes || !p->recv_bytes)
		return cmx_fail(-EINVAL, "pieces", 0, 0, "%s: no sizes of pieces",
				names[call->op]);
	spans = calloc(call->ccl->n, sizeof(*spans));
	if (!spans)
		return cmx_fail_call(-ENOMEM, names[call->op]);
	ret = check_sent(call, p, &sent);
	if (!ret)
		ret = check_spans(call, p, spans, &received);
	if (!ret)
		ret = cmx_ccl_check_range("src_va", src_va, sent, 1);
	if (!ret)
		ret = cmx_ccl_check_range("dst_va", dst_va, received, 1);
	if (!ret)
		ret = cmx_ccl_check_apart(dst_va, received, src_va, sent, 0);
	free(spans);
	return ret;
}

/* ------------------------------------------------------------------------ the same calls */

static int check_agreed(const struct cmx_ccl_call *call, const struct cmx_ccl_agreed *a)
{
	if (a->call != call->r->calls)
		return cmx_fail(-EBUSY, "rank", call->r->calls, a->call,
				"%s: rank %u would be %u calls ahead of another one",
				names[call->op], call->rank, CMX_CCL_LOG);
	if (a->op != call->op)
		return cmx_fail(-EINVAL, "rank", call->rank, a->first,
				"call %llu of rank %u is %s, that of rank %u was %s",
				(unsigned long long)a->call, call->rank, names[call->op], a->first,
				names[a->op]);
	if (a->size != call->size || a->dtype != call->dtype || a->root != call->root)
		return cmx_fail(-EINVAL, a->size != call->size ? "bytes" :
				a->dtype != call->dtype ? "dtype" : "root", call->size, a->size,
				"%s: rank %u: %llu bytes, type %u, root %u; rank %u: %llu, %u, %u",
				names[call->op], call->rank, (unsigned long long)call->size,
				call->dtype, call->root, a->first, (unsigned long long)a->size,
				a->dtype, a->root);
	return 0;
}

static int differ(const struct cmx_ccl_call *call, const char *field, uint64_t value,
		  uint64_t other, uint32_t from, uint32_t to)
{
	return cmx_fail(-EINVAL, field, value, other,
			"%s: %s of rank %u is %llu, but %llu bytes go from rank %u to %u by the other",
			names[call->op], field, call->rank, (unsigned long long)value,
			(unsigned long long)other, from, to);
}

/* What this rank says of its pieces against what others that were called for said. */
static int check_matrix(const struct cmx_ccl_call *call, const struct cmx_ccl_agreed *a,
			const struct cmx_ccl_pieces *p)
{
	uint32_t n = call->ccl->n, i = call->rank;

	if (p->send_bytes[i] != p->recv_bytes[i])
		return differ(call, "recv_bytes", p->recv_bytes[i], p->send_bytes[i], i, i);
	for (uint32_t j = 0; j < n; j++) {
		uint64_t to = a->bytes[(size_t)i * n + j], from = a->bytes[(size_t)j * n + i];

		if (call->ccl->ranks[j].calls <= a->call)
			continue;
		if (to != p->send_bytes[j])
			return differ(call, "send_bytes", p->send_bytes[j], to, i, j);
		if (from != p->recv_bytes[j])
			return differ(call, "recv_bytes", p->recv_bytes[j], from, j, i);
	}
	return 0;
}

static int agree_pieces(const struct cmx_ccl_call *call, struct cmx_ccl_agreed *a,
			const struct cmx_ccl_pieces *p)
{
	uint32_t n = call->ccl->n, i = call->rank;
	int ret;

	if (!a->bytes)
		a->bytes = calloc((size_t)n * n, sizeof(*a->bytes));
	if (!a->bytes)
		return cmx_fail_call(-ENOMEM, names[call->op]);
	ret = check_matrix(call, a, p);
	if (ret)
		return ret;
	for (uint32_t j = 0; j < n; j++) {
		a->bytes[(size_t)i * n + j] = p->send_bytes[j];
		a->bytes[(size_t)j * n + i] = p->recv_bytes[j];
	}
	return 0;
}

static int agree(const struct cmx_ccl_call *call, const struct cmx_ccl_pieces *pieces)
{
	struct cmx_ccl_agreed *a = &call->ccl->agreed[call->r->calls % CMX_CCL_LOG];
	int ret = a->called ? check_agreed(call, a) : 0;

	if (!a->called) {
		a->call = call->r->calls;
		a->first = call->rank;
		a->op = call->op;
		a->dtype = call->dtype;
		a->root = call->root;
		a->size = call->size;
	}
	if (!ret && pieces)
		ret = agree_pieces(call, a, pieces);
	if (ret)
		return ret;
	call->r->calls++;
	if (++a->called < call->ccl->n)
		return 0;
	free(a->bytes);
	a->bytes = NULL;
	a->called = 0;
	return 0;
}

int cmx_ccl_agree(const struct cmx_ccl_call *call, const struct cmx_ccl_pieces *pieces)
{
	int ret;

	pthread_mutex_lock(&call->ccl->lock);
	ret = agree(call, pieces);
	pthread_mutex_unlock(&call->ccl->lock);
	return ret;
}
