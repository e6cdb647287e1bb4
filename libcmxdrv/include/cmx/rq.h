/* SPDX-License-Identifier: MIT */
/*
 * Receive rings: where messages and immediates of other jetties arrive.
 */
#ifndef CMX_RQ_H
#define CMX_RQ_H

#include <string.h>

#include <cmx/cq.h>

#ifdef __cplusplus
extern "C" {
#endif

/** struct cmx_rq_desc - what cmx_rq_create() makes; zero what you do not set. */
struct cmx_rq_desc {
	/** @cq: completion ring for receives. */
	struct cmx_cq *cq;
	/** @entity: entity the ring belongs to. */
	uint32_t entity;
	/** @slots: a power of two; 0: 64. */
	uint32_t slots;
	/** @limit: CMX_EVENT_RQ_LIMIT when fewer entries are left; 0: never. */
	uint32_t limit;
	/** @token_policy: UB_TOKEN_NONE or UB_TOKEN_PLAIN_TEXT. */
	uint32_t token_policy;
	/** @token: token value. */
	uint32_t token;
	/** @pad: must be zero. */
	uint32_t pad;
	/** @reserved: must be zero. */
	uint64_t reserved[4];
};

/** struct cmx_rq - a receive ring; used by one thread at a time. */
struct cmx_rq {
	/** @slots: the ring. */
	struct cmx_rq_entry *slots;
	/** @producer: our side. */
	struct cmx_ring_producer *producer;
	/** @consumer: the module's side. */
	const struct cmx_ring_consumer *consumer;
	/** @status: status page of the completion ring's timeline. */
	const struct cmx_timeline_status *status;
	/** @alive: word that reads as zero in a forked child. */
	const uint32_t *alive;
	/** @mask: slots - 1. */
	uint32_t mask;
	/** @tail: slots filled. */
	uint32_t tail;
	/** @handle: handle in the context's file; a SEND's target. */
	uint32_t handle;
	/** @pad: zero. */
	uint32_t pad;
	/** @ctx: context. */
	struct cmx_ctx *ctx;
	/** @cq: completion ring. */
	struct cmx_cq *cq;
};

/**
 * cmx_rq_create - create a receive ring.
 * @ctx: context.
 * @desc: what to make.
 * @rq: receives the ring.
 */
int cmx_rq_create(struct cmx_ctx *ctx, const struct cmx_rq_desc *desc, struct cmx_rq **rq);

/**
 * cmx_rq_destroy - destroy a receive ring.
 * @rq: ring, or NULL.
 *
 * Return: 0; -EBUSY while a queue uses it.
 */
int cmx_rq_destroy(struct cmx_rq *rq);

/** cmx_rq_wake - wake runners that sleep; cmx_rq_post() calls it when it must. */
int cmx_rq_wake(struct cmx_rq *rq);

/**
 * cmx_rq_post - offer up to two pieces of memory to the next message.
 * @rq: ring.
 * @sge: pieces.
 * @num_sge: 1 or 2.
 * @user_ctx: returned in the completion.
 *
 * Return: 0; -EAGAIN when the ring is full; -EINVAL; -EPERM in a forked child.
 */
static inline int cmx_rq_post(struct cmx_rq *rq, const struct cmx_sge *sge,
			      uint32_t num_sge, uint64_t user_ctx)
{
	struct cmx_rq_entry *entry;
	uint32_t head;

	if (!*rq->alive)
		return -EPERM;
	if (num_sge < 1 || num_sge > 2)
		return -EINVAL;
	head = __atomic_load_n(&rq->consumer->head, __ATOMIC_ACQUIRE);
	if (rq->tail - head > rq->mask)
		return -EAGAIN;
	entry = &rq->slots[rq->tail & rq->mask];
	memset(entry, 0, sizeof(*entry));
	entry->slots = 1;
	entry->num_sge = (uint8_t)num_sge;
	entry->user_ctx = user_ctx;
	entry->sge[0] = sge[0];
	if (num_sge > 1)
		entry->sge[1] = sge[1];
	rq->tail++;
	__atomic_store_n(&rq->producer->tail, rq->tail, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&rq->status->need_wakeup, __ATOMIC_RELAXED))
		return cmx_rq_wake(rq);
	return 0;
}

#ifdef __cplusplus
}
#endif

#endif /* CMX_RQ_H */
