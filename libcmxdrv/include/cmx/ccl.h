/* SPDX-License-Identifier: MIT */
/*
 * Collectives: all-gather, reduce-scatter, all-reduce, all-to-all, broadcast, barrier.
 */
#ifndef CMX_CCL_H
#define CMX_CCL_H

#include <cmx/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Collectives
 *
 * A group is a list of ranks, each a die, all owned by one context.  A collective is one
 * call for every rank, which appends entries to a stream queue of that rank's die and
 * returns; it is over when these entries are, like anything else on the queue.  Nothing
 * blocks, and calls need no wait between them.  The caller submits the queues.
 *
 * All ranks make the same calls in the same order, each on whatever queue of its die; a
 * rank's calls follow one another on the queue, or are ordered by waits.  Which rank is
 * called for first does not matter.  A call that does not fit what another rank was called
 * for is refused.
 *
 * A call is one or two exchanges.  In each every rank writes to every other one, even if
 * only a word, and waits for the words of all: so no call ends before all have begun it.
 * Bytes go through windows that the group allocates once, two halves used in turn, and
 * from there to the caller's memory.  A source may be written again by what follows on the
 * queue; a destination may be the source itself where it says so, else the two must not
 * overlap.
 *
 * Sums are made in the order of the ranks, element by element, for BF16 in single precision
 * and rounded once at the end (to nearest, ties to even).  So all ranks have the same bits,
 * which do not depend on threads, on the number of calls in flight or on the way taken.
 *
 * Device addresses are the caller's, on the rank's own die; those of reductions are
 * multiples of the element's size.  A group with CMX_CCL_TIME_ONLY moves and adds nothing
 * and takes the same virtual times; memory may then be CMX_MEM_NO_DATA, and has undefined
 * bytes afterwards if it is not.
 *
 * Functions return 0 or -errno, and a text with field, value and limit.  A call that was
 * refused (-EINVAL, -ENOSPC) appended nothing and may be made again with other arguments.
 * After any other error entries may be missing: the group is broken, all further calls
 * return -EPIPE.
 */
struct cmx_ccl;

/* No bytes are moved; the same virtual times. */
#define CMX_CCL_TIME_ONLY	(1U << 0)
/* All-reduce always sends whole vectors to all. */
#define CMX_CCL_ONE_STEP	(1U << 1)
/* All-reduce always is reduce-scatter, then all-gather. */
#define CMX_CCL_TWO_STEP	(1U << 2)

/** enum cmx_ccl_dtype - elements of a reduction. */
enum cmx_ccl_dtype {
	/** @CMX_CCL_F32: single precision. */
	CMX_CCL_F32 = 0,
	/** @CMX_CCL_BF16: bfloat16. */
	CMX_CCL_BF16,
	/** @CMX_CCL_DTYPES: number of types. */
	CMX_CCL_DTYPES,
};

#define CMX_CCL_MAX_RANKS	1024

/** struct cmx_ccl_desc - a group; zero what you do not set. */
struct cmx_ccl_desc {
	/** @entities: die of each rank. */
	const uint32_t *entities;
	/** @ranks: how many, 1 to CMX_CCL_MAX_RANKS. */
	uint32_t ranks;
	/** @flags: CMX_CCL_*. */
	uint32_t flags;
	/** @max_bytes: largest contribution of a rank in one call, see the calls. */
	uint64_t max_bytes;
	/** @timeline: clock of the queues, NULL: the default one. */
	struct cmx_timeline *timeline;
	/** @reserved: must be zero. */
	uint64_t reserved[4];
};

/**
 * cmx_ccl_memory - what a group takes of each die's memory.
 * @desc: the group.
 * @bytes: receives the number: windows of 2 * ranks * max_bytes, and flags.
 */
int cmx_ccl_memory(const struct cmx_ccl_desc *desc, uint64_t *bytes);

/**
 * cmx_ccl_create - create a group.
 * @ctx: context.
 * @desc: what to make; nothing of it is kept.
 * @ccl: receives the group.
 *
 * Runs a few commands on a clock of its own, to know when two steps are faster than one.
 *
 * Return: 0; -ENOSPC when a window does not fit; else -errno.
 */
int cmx_ccl_create(struct cmx_ctx *ctx, const struct cmx_ccl_desc *desc, struct cmx_ccl **ccl);

/**
 * cmx_ccl_destroy - free a group, before its context is closed.
 * @ccl: group, or NULL; none of its calls is under way, on any rank.
 */
void cmx_ccl_destroy(struct cmx_ccl *ccl);

/** cmx_ccl_slots - slots of a queue that one call takes at most, for any group. */
uint32_t cmx_ccl_slots(const struct cmx_ccl *ccl);

/**
 * cmx_ccl_two_step_bytes - from which size of a vector on an all-reduce has two steps.
 * @ccl: group.
 *
 * A property of the machine and of the number of ranks.
 *
 * Return: bytes; UINT64_MAX: never.
 */
uint64_t cmx_ccl_two_step_bytes(const struct cmx_ccl *ccl);

/**
 * cmx_ccl_all_gather - every rank gets the bytes of all.
 * @ccl: group.
 * @rank: whose part of the call this is.
 * @queue: a stream queue of the rank's die.
 * @dst_va: ranks * @bytes, in the order of the ranks.
 * @src_va: @bytes; may be their place in @dst_va.
 * @bytes: of one rank, the same on all; 0 to max_bytes.
 * @flags: CMX_ENTRY_COMPLETE or 0, for the call's last entry.
 * @user_ctx: returned in the completion.
 *
 * Return: 0; -EINVAL; -ENOSPC: larger than max_bytes, or a queue with fewer slots than a
 * call takes; -EDEADLK and others of cmx_queue_push(); -EPIPE.  So do the other calls.
 */
int cmx_ccl_all_gather(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
		       uint64_t dst_va, uint64_t src_va, uint64_t bytes, uint32_t flags,
		       uint64_t user_ctx);

/**
 * cmx_ccl_reduce_scatter - every rank gets its part of the sum.
 * @ccl: group.
 * @rank: whose part of the call this is.
 * @queue: a stream queue of the rank's die.
 * @dst_va: @count elements of the sum; may be the rank's part at @src_va.
 * @src_va: ranks * @count elements, together at most max_bytes.
 * @count: elements each rank gets.
 * @dtype: enum cmx_ccl_dtype.
 * @flags: CMX_ENTRY_COMPLETE or 0.
 * @user_ctx: returned in the completion.
 */
int cmx_ccl_reduce_scatter(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
			   uint64_t dst_va, uint64_t src_va, uint64_t count, uint32_t dtype,
			   uint32_t flags, uint64_t user_ctx);

/**
 * cmx_ccl_all_reduce - every rank gets the sum.
 * @ccl: group.
 * @rank: whose part of the call this is.
 * @queue: a stream queue of the rank's die.
 * @dst_va: @count elements; may be @src_va.
 * @src_va: @count elements, at most max_bytes.
 * @count: elements.
 * @dtype: enum cmx_ccl_dtype.
 * @flags: CMX_ENTRY_COMPLETE or 0.
 * @user_ctx: returned in the completion.
 */
int cmx_ccl_all_reduce(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
		       uint64_t dst_va, uint64_t src_va, uint64_t count, uint32_t dtype,
		       uint32_t flags, uint64_t user_ctx);

/**
 * cmx_ccl_all_to_all - rank i's piece j becomes rank j's piece i.
 * @ccl: group.
 * @rank: whose part of the call this is.
 * @queue: a stream queue of the rank's die.
 * @dst_va: ranks * @bytes; may be @src_va.
 * @src_va: ranks * @bytes, together at most max_bytes.
 * @bytes: of one piece, the same for all.
 * @flags: CMX_ENTRY_COMPLETE or 0.
 * @user_ctx: returned in the completion.
 */
int cmx_ccl_all_to_all(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
		       uint64_t dst_va, uint64_t src_va, uint64_t bytes, uint32_t flags,
		       uint64_t user_ctx);

/** struct cmx_ccl_pieces - pieces of a rank's all_to_all_v, an element for each rank. */
struct cmx_ccl_pieces {
	/** @send_bytes: bytes for each rank, together at most max_bytes. */
	const uint64_t *send_bytes;
	/** @send_offsets: where in the source; NULL: one behind the other. */
	const uint64_t *send_offsets;
	/** @recv_bytes: bytes from each rank: what that rank sends. */
	const uint64_t *recv_bytes;
	/** @recv_offsets: where in the destination; NULL: one behind the other. */
	const uint64_t *recv_offsets;
};

/**
 * cmx_ccl_all_to_all_v - all-to-all with pieces of any size.
 * @ccl: group.
 * @rank: whose part of the call this is.
 * @queue: a stream queue of the rank's die.
 * @dst_va: destination, apart from the source; its pieces must not overlap.
 * @src_va: source.
 * @pieces: what goes where; copied.
 * @flags: CMX_ENTRY_COMPLETE or 0.
 * @user_ctx: returned in the completion.
 */
int cmx_ccl_all_to_all_v(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
			 uint64_t dst_va, uint64_t src_va, const struct cmx_ccl_pieces *pieces,
			 uint32_t flags, uint64_t user_ctx);

/**
 * cmx_ccl_broadcast - every rank gets the bytes of one.
 * @ccl: group.
 * @rank: whose part of the call this is.
 * @queue: a stream queue of the rank's die.
 * @dst_va: @bytes; may be @src_va.
 * @src_va: @bytes; looked at on the root only.
 * @bytes: 0 to max_bytes.
 * @root: rank whose bytes they are.
 * @flags: CMX_ENTRY_COMPLETE or 0.
 * @user_ctx: returned in the completion.
 */
int cmx_ccl_broadcast(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
		      uint64_t dst_va, uint64_t src_va, uint64_t bytes, uint32_t root,
		      uint32_t flags, uint64_t user_ctx);

/**
 * cmx_ccl_barrier - no rank goes on before all are here.
 * @ccl: group.
 * @rank: whose part of the call this is.
 * @queue: a stream queue of the rank's die.
 * @flags: CMX_ENTRY_COMPLETE or 0.
 * @user_ctx: returned in the completion.
 */
int cmx_ccl_barrier(struct cmx_ccl *ccl, uint32_t rank, struct cmx_queue *queue,
		    uint32_t flags, uint64_t user_ctx);

#ifdef __cplusplus
}
#endif

#endif /* CMX_CCL_H */
