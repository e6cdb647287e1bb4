/* SPDX-License-Identifier: MIT */
/*
 * Completion rings.
 */
#ifndef CMX_CQ_H
#define CMX_CQ_H

#include <errno.h>

#include <cmx/timeline.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct cmx_cq - a completion ring; used by one thread at a time.
 *
 * Made by the library only.  The members serve the inline functions below.
 */
struct cmx_cq {
	/** @producer: the module's side. */
	const struct cmx_cq_producer *producer;
	/** @entries: the ring. */
	const struct cmx_cqe *entries;
	/** @consumer: our side. */
	struct cmx_cq_consumer *consumer;
	/** @alive: word that reads as zero in a forked child. */
	const uint32_t *alive;
	/** @mask: entries - 1. */
	uint32_t mask;
	/** @head: entries ever read. */
	uint32_t head;
	/** @handle: handle in the context's file. */
	uint32_t handle;
	/** @policy: enum drm_cmx_cq_policy. */
	uint32_t policy;
	/** @ctx: context. */
	struct cmx_ctx *ctx;
	/** @timeline: clock that an empty cmx_cq_poll() helps. */
	struct cmx_timeline *timeline;
};

/**
 * cmx_cq_create - create a completion ring.
 * @ctx: context.
 * @timeline: clock of its queues, which must be theirs, NULL: the default one.
 * @entries: a power of two, at least 2.
 * @policy: CMX_CQ_BACKPRESSURE or CMX_CQ_OVERFLOW_ERROR.
 * @cq: receives the ring.
 */
int cmx_cq_create(struct cmx_ctx *ctx, struct cmx_timeline *timeline, uint32_t entries,
		  uint32_t policy, struct cmx_cq **cq);

/**
 * cmx_cq_destroy - destroy a completion ring.
 * @cq: ring, or NULL.
 *
 * Return: 0; -EBUSY while a queue or receive ring uses it.
 */
int cmx_cq_destroy(struct cmx_cq *cq);

/**
 * cmx_cq_poll_help - what an empty cmx_cq_poll() does: carry out commands.
 * @cq: ring.
 *
 * Return: 0, or -errno as cmx_wait_progress().
 */
int cmx_cq_poll_help(struct cmx_cq *cq);

/** cmx_cq_tail - completions ever written (an acquire load); not in a forked child. */
static inline uint32_t cmx_cq_tail(const struct cmx_cq *cq)
{
	return __atomic_load_n(&cq->producer->tail, __ATOMIC_ACQUIRE);
}

/** cmx_cq_ready - completions that can be read now; none in a forked child. */
static inline uint32_t cmx_cq_ready(const struct cmx_cq *cq)
{
	return *cq->alive ? cmx_cq_tail(cq) - cq->head : 0;
}

/** cmx_cq_peek - the @n-th unread completion; n < cmx_cq_ready(). */
static inline const struct cmx_cqe *cmx_cq_peek(const struct cmx_cq *cq, uint32_t n)
{
	return &cq->entries[(cq->head + n) & cq->mask];
}

/** cmx_cq_consume - give @n completions' places back; n <= cmx_cq_ready(). */
static inline void cmx_cq_consume(struct cmx_cq *cq, uint32_t n)
{
	cq->head += n;
	__atomic_store_n(&cq->consumer->head, cq->head, __ATOMIC_RELEASE);
}

/**
 * cmx_cq_read - read one completion if there is one; never enters the kernel.
 * @cq: ring.
 * @cqe: receives it.
 *
 * Return: 1, or 0 when the ring is empty; -EPERM in a forked child.
 */
static inline int cmx_cq_read(struct cmx_cq *cq, struct cmx_cqe *cqe)
{
	if (!*cq->alive)
		return -EPERM;
	if (!cmx_cq_ready(cq))
		return 0;
	*cqe = *cmx_cq_peek(cq, 0);
	cmx_cq_consume(cq, 1);
	return 1;
}

/**
 * cmx_cq_poll - read one completion; when there is none, help to get one.
 * @cq: ring.
 * @cqe: receives it.
 *
 * Return: 1, or 0 when there is still none, or -errno as cmx_wait_progress().
 */
static inline int cmx_cq_poll(struct cmx_cq *cq, struct cmx_cqe *cqe)
{
	int ret = cmx_cq_read(cq, cqe);

	if (ret)
		return ret;
	ret = cmx_cq_poll_help(cq);
	if (ret)
		return ret;
	return cmx_cq_read(cq, cqe);
}

/**
 * cmx_cq_arm - ask for one CMX_EVENT_CQ at the next completion.
 * @cq: ring; look at it once more after arming.
 * @mode: CMX_CQ_ARM_ANY or CMX_CQ_ARM_SOLICITED.
 *
 * Does nothing in a forked child.
 */
static inline void cmx_cq_arm(struct cmx_cq *cq, uint32_t mode)
{
	if (!*cq->alive)
		return;
	__atomic_store_n(&cq->consumer->arm, mode, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#ifdef __cplusplus
}
#endif

#endif /* CMX_CQ_H */
