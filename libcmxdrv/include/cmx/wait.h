/* SPDX-License-Identifier: MIT */
/*
 * Waits that help: the waiting thread carries out commands and launches.
 */
#ifndef CMX_WAIT_H
#define CMX_WAIT_H

#include <cmx/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Waits
 *
 * While a thread waits, it does the device's work: commands in the kernel, launches in
 * the thread itself.  What is waited for is met in virtual time; the program goes on at
 * exactly that time.
 *
 * All waits return 0 when the condition is met, and
 *   -EDEADLK   nothing is left that could meet it; the error text names the queues that
 *              are not empty and what each waits for (cmx_describe() has all of them);
 *   -ETIMEDOUT the host timeout passed;
 *   -EINTR     a signal came while the thread was in the kernel.  Nothing is lost: call
 *              again to go on waiting.  Between the two the program counts as running,
 *              that is, the clock stands.  A handler that runs while the thread carries out
 *              a launch ends no wait: have it set a flag that NPU kernels look at;
 *   -EBUSY     another thread waits as the same actor (cmx/timeline.h);
 *   -ENODEV    the device was removed;
 *   -EPERM     in a forked child, or in an NPU kernel, which never blocks.
 * A batch of launches the thread got is finished before it returns, whatever it returns.
 * With a timeout the batches are small: the wait ends about one launch late at most, or
 * about a millisecond where launches are shorter.
 */

/** struct cmx_wait_opts - how to wait; NULL stands for all zero. */
struct cmx_wait_opts {
	/** @timeline: clock, NULL: the queue's, the ring's or the default one. */
	struct cmx_timeline *timeline;
	/** @timeout_ns: host time to give up after; 0: never. */
	uint64_t timeout_ns;
	/** @flags: must be zero. */
	uint32_t flags;
	/** @pad: must be zero. */
	uint32_t pad;
};

/**
 * cmx_wait_cq - until the ring's tail has reached @index.
 * @cq: ring.
 * @index: completions ever written, modulo 2^32.
 * @opts: see struct cmx_wait_opts.
 */
int cmx_wait_cq(struct cmx_cq *cq, uint32_t index, const struct cmx_wait_opts *opts);

/**
 * cmx_wait_completions - until @n completions can be read.
 * @cq: ring.
 * @n: at most the ring's entries.
 * @opts: see struct cmx_wait_opts.
 */
int cmx_wait_completions(struct cmx_cq *cq, uint32_t n, const struct cmx_wait_opts *opts);

/**
 * cmx_wait_memory - until the u64 at @va compares with @value.
 * @ctx: context.
 * @va: device address, 8-byte aligned.
 * @cond: enum cmx_cond.
 * @value: compared with.
 * @opts: see struct cmx_wait_opts.
 */
int cmx_wait_memory(struct cmx_ctx *ctx, uint64_t va, uint32_t cond, uint64_t value,
		    const struct cmx_wait_opts *opts);

/** cmx_wait_time - until the clock has reached @time_ps. */
int cmx_wait_time(struct cmx_ctx *ctx, uint64_t time_ps, const struct cmx_wait_opts *opts);

/** cmx_wait_idle - until every queue of the context on the timeline is empty. */
int cmx_wait_idle(struct cmx_ctx *ctx, const struct cmx_wait_opts *opts);

/**
 * cmx_wait_progress - until an entry of the context completed, or nothing can happen.
 * @ctx: context.
 * @opts: see struct cmx_wait_opts.
 *
 * This is a poll: it never fails with -EDEADLK.
 */
int cmx_wait_progress(struct cmx_ctx *ctx, const struct cmx_wait_opts *opts);

/**
 * cmx_signal - change a u64 from the host so that waiters see it.
 * @timeline: clock, at whose present time it happens.
 * @va: device address, 8-byte aligned.
 * @op: enum cmx_signal_op.
 * @value: operand.
 * @old: receives the value before; may be NULL.
 */
int cmx_signal(struct cmx_timeline *timeline, uint64_t va, uint32_t op, uint64_t value,
	       uint64_t *old);

#ifdef __cplusplus
}
#endif

#endif /* CMX_WAIT_H */
