/* SPDX-License-Identifier: MIT */
/*
 * Expert parallelism: dispatch tokens to the ranks of their experts, combine the results.
 */
#ifndef CMX_EP_H
#define CMX_EP_H

#include <cmx/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Rounds
 *
 * A rank is an entity with stream queues that the caller owns; all ranks belong to one
 * process and one context.  A round is four calls of each live rank, in this order:
 * cmx_ep_dispatch_post(), cmx_ep_dispatch_wait(), cmx_ep_combine_post(),
 * cmx_ep_combine_wait().  They append entries to the queue they are given and return;
 * nothing runs before the queue is submitted.  All live ranks take part in every round,
 * with 0 tokens if they have none.
 *
 * Two rounds may be in flight: a rank's dispatch of round r + 2 comes behind its
 * cmx_ep_combine_wait() of round r, also on the virtual clock.  On one queue that is so by
 * itself; with several, rounds r, r + 2, ... stay on queues whose order the caller sees to.
 * Until then what a round returned (rows, plan, inbox) stays as it is.
 *
 * Nothing of one call depends on the number of runner threads; data and time-only mode
 * (CMX_EP_TIME_ONLY) give the same virtual times for the same choices.
 */

/** enum cmx_ep_format - numbers of a row on its way. */
enum cmx_ep_format {
	/** @CMX_EP_F32: as they are. */
	CMX_EP_F32 = 0,
	/** @CMX_EP_BF16: rounded to nearest, ties to even. */
	CMX_EP_BF16,
	/**
	 * @CMX_EP_INT8: dispatch only: hidden bytes and an f32 scale behind them.  The scale
	 * is the row's largest magnitude / 127 (1 for a row of zeros); values are rounded to
	 * nearest, ties to even.
	 */
	CMX_EP_INT8,
	/** @CMX_EP_ROWS: dispatch only: rows of the caller's own making, moved as they are. */
	CMX_EP_ROWS,
};

/** enum cmx_ep_path - who moves the rows. */
enum cmx_ep_path {
	/** @CMX_EP_AIV: vector cores write to the peer's memory. */
	CMX_EP_AIV = 0,
	/** @CMX_EP_SDMA: the SDMA engine copies by a list that a kernel made. */
	CMX_EP_SDMA,
};

/* No bytes: launches only record; choices come from cmx_ep_set_routing(). */
#define CMX_EP_TIME_ONLY	(1U << 0)
/* Guard areas around every buffer, for cmx_ep_check(). */
#define CMX_EP_GUARD		(1U << 1)

#define CMX_EP_MAX_RANKS	4096
#define CMX_EP_MAX_TOPK		64
#define CMX_EP_MAX_LOCAL	1024
#define CMX_EP_MAX_EXPERTS	65536

/** struct cmx_ep_costs - what a vector core takes beside bytes and operations; 0: nothing. */
struct cmx_ep_costs {
	/** @row_ps: for each row received, shared by the queue's vector cores. */
	uint64_t row_ps;
	/** @count_ps: dispatch: for each choice of the rank's tokens, on every core. */
	uint64_t count_ps;
	/** @peer_ps: dispatch: for each live rank, shared by the queue's vector cores. */
	uint64_t peer_ps;
};

/** struct cmx_ep_desc - what cmx_ep_create() makes; zero what you do not set. */
struct cmx_ep_desc {
	/** @entities: die of each rank, @ranks of them, no two the same. */
	const uint32_t *entities;
	/** @ranks: 1 to CMX_EP_MAX_RANKS. */
	uint32_t ranks;
	/** @hidden: elements of a row; with CMX_EP_INT8 a multiple of 4. */
	uint32_t hidden;
	/** @topk: choices of a token, 1 to CMX_EP_MAX_TOPK. */
	uint32_t topk;
	/** @max_tokens: of a rank in one round; @max_tokens * @topk is at most max_records. */
	uint32_t max_tokens;
	/** @experts: logical experts, 1 to CMX_EP_MAX_EXPERTS. */
	uint32_t experts;
	/** @local: physical experts of a rank, 1 to CMX_EP_MAX_LOCAL. */
	uint32_t local;
	/**
	 * @placement: [ranks][local]: logical expert, or -1: none.  One that is there several
	 * times has replicas; the token with index t of rank s goes to the live replica
	 * (s + t) modulo their number, in the order of this table.
	 */
	const int32_t *placement;
	/** @dispatch_format: enum cmx_ep_format. */
	uint32_t dispatch_format;
	/** @combine_format: CMX_EP_F32 or CMX_EP_BF16. */
	uint32_t combine_format;
	/** @row_bytes: CMX_EP_ROWS: bytes of a row, a multiple of 4; else 0. */
	uint32_t row_bytes;
	/**
	 * @packet_bytes: bytes of a row on its way: a multiple of 8 with room for the row and
	 * 8 + 4 * @topk more; 0: the next multiple of 512.
	 */
	uint32_t packet_bytes;
	/**
	 * @max_rows: rows a rank can receive in one round; 0: all there can be, that is
	 * ranks * max_tokens * min(topk, local).  Sizes of what is made of rows received.
	 */
	uint32_t max_rows;
	/** @path: enum cmx_ep_path. */
	uint32_t path;
	/** @flags: CMX_EP_TIME_ONLY, CMX_EP_GUARD. */
	uint32_t flags;
	/** @costs: of the library on the machine. */
	struct cmx_ep_costs costs;
	/** @buffer_bytes: bytes that may be allocated on each rank; 0: no limit. */
	uint64_t buffer_bytes;
	/** @timeline: clock of the callers' queues, NULL: the default one. */
	struct cmx_timeline *timeline;
	/** @reserved: must be zero. */
	uint64_t reserved[4];
};

/** struct cmx_ep - buffers of all ranks, and the state of the rounds. */
struct cmx_ep;

/** struct cmx_ep_sizes - bytes that cmx_ep_create() allocates on each rank. */
struct cmx_ep_sizes {
	/** @dispatch: where rows arrive, two rounds of them. */
	uint64_t dispatch;
	/** @combine: where results come back, two rounds of them. */
	uint64_t combine;
	/** @flags: words that are waited for. */
	uint64_t flags;
	/** @staging: rows as they are sent and as they are handed out, plans, lists. */
	uint64_t staging;
	/** @total: all of it. */
	uint64_t total;
};

/**
 * cmx_ep_query_sizes - what cmx_ep_create() would allocate.
 * @desc: what to make; @entities, @placement, @buffer_bytes and @timeline are not looked at.
 * @sizes: receives the sizes.
 *
 * Return: 0; -EINVAL with the name of the field, its value and its limit.
 */
int cmx_ep_query_sizes(const struct cmx_ep_desc *desc, struct cmx_ep_sizes *sizes);

/**
 * cmx_ep_create - allocate the buffers of all ranks.
 * @ctx: context.
 * @desc: what to make; tables are copied.
 * @ep: receives it.
 *
 * Return: 0; -EINVAL; -ENOSPC over @buffer_bytes (the text has the bytes needed and given)
 * or over an entity's memory; else -errno.
 */
int cmx_ep_create(struct cmx_ctx *ctx, const struct cmx_ep_desc *desc, struct cmx_ep **ep);

/** cmx_ep_destroy - free it (NULL: nothing); nothing may be in flight. */
void cmx_ep_destroy(struct cmx_ep *ep);

/**
 * cmx_ep_set_placement - move experts, or leave out ranks; between rounds.
 * @ep: with no round in flight: every live rank has called cmx_ep_combine_wait(), and what
 *	it appended is complete.
 * @placement: as in the description, or NULL: as it was.
 * @failed: bit r % 64 of word r / 64 set: rank r makes no calls, sends nothing and gets
 *	nothing; NULL: none.
 *
 * Rows of an expert without a live replica are dropped and counted (cmx_ep_dropped()); what
 * comes back for them is zero.
 *
 * Return: 0; -EBUSY in a round; -EINVAL.
 */
int cmx_ep_set_placement(struct cmx_ep *ep, const int32_t *placement, const uint64_t *failed);

/**
 * cmx_ep_set_routing - time-only mode: what the gate of a rank chose, for its next round.
 * @ep: made with CMX_EP_TIME_ONLY.
 * @rank: live rank.
 * @ids: [tokens][topk] logical experts, -1: none; copied.
 * @tokens: 0 to max_tokens.
 *
 * For every live rank before any of them posts that round.  A token that the active mask
 * would leave out has -1 only.
 */
int cmx_ep_set_routing(struct cmx_ep *ep, uint32_t rank, const int32_t *ids, uint32_t tokens);

/** struct cmx_ep_dispatch - what a rank sends; time-only: only @tokens is looked at. */
struct cmx_ep_dispatch {
	/** @x_va: rows of f32, with CMX_EP_ROWS of row_bytes; on the rank. */
	uint64_t x_va;
	/** @ids_va: int32 [tokens][topk]: logical experts, no two of a token the same; -1: none. */
	uint64_t ids_va;
	/** @active_va: u8 for each token, 0: as if it had chosen nothing; or 0: all are active. */
	uint64_t active_va;
	/** @x_stride: bytes from row to row. */
	uint32_t x_stride;
	/** @tokens: 0 to max_tokens. */
	uint32_t tokens;
};

/** struct cmx_ep_received - what a rank got; the memory is there when the wait is over. */
struct cmx_ep_received {
	/**
	 * @rows_va: rows by physical expert, then rank they are from, then token: f32, bf16,
	 * hidden bytes and a scale, or as they were sent.
	 */
	uint64_t rows_va;
	/** @plan_va: u32 n_active, u32 n_rows, u32 first[local + 1]: first row of an expert. */
	uint64_t plan_va;
	/** @row_stride: bytes from row to row. */
	uint32_t row_stride;
	/** @max_rows: rows there can be. */
	uint32_t max_rows;
	/** @n_active: time-only: physical experts with rows; else 0. */
	uint32_t n_active;
	/** @n_rows: time-only: rows; else 0. */
	uint32_t n_rows;
};

/**
 * cmx_ep_dispatch_post - send a rank's tokens to their experts.
 * @ep: library object.
 * @rank: live rank.
 * @queue: stream queue on the rank's die.
 * @dispatch: what to send; memory must stay until the entry's completion.
 * @flags: CMX_ENTRY_* of the last entry.
 * @user_ctx: of all its entries.
 *
 * Return: 0; -ENOSPC for more than max_tokens (the text has the bytes needed and given);
 * -EBUSY with two rounds in flight; -EINVAL; else as cmx_queue_push().  Choices that are no
 * experts, or twice the same one, fail the launch (enum cmx_ep_code).
 */
int cmx_ep_dispatch_post(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue,
			 const struct cmx_ep_dispatch *dispatch, uint32_t flags,
			 uint64_t user_ctx);

/**
 * cmx_ep_dispatch_wait - wait for the rows of all ranks, and put them in order.
 * @ep: library object.
 * @rank: live rank.
 * @queue: stream queue on the rank's die; if it is another one than that of the post, the
 *	wait may be over before the rank's own rows have left.
 * @received: receives where they will be.
 * @flags: CMX_ENTRY_* of the last entry.
 * @user_ctx: of all its entries.
 */
int cmx_ep_dispatch_wait(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue,
			 struct cmx_ep_received *received, uint32_t flags, uint64_t user_ctx);

/**
 * cmx_ep_combine_post - send the experts' results back to where the tokens are from.
 * @ep: library object.
 * @rank: live rank.
 * @queue: stream queue on the rank's die.
 * @y_va: f32 rows in the order in which they were received; time-only: not looked at.
 * @y_stride: bytes from row to row.
 * @flags: CMX_ENTRY_* of the last entry.
 * @user_ctx: of all its entries.
 */
int cmx_ep_combine_post(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue,
			uint64_t y_va, uint32_t y_stride, uint32_t flags, uint64_t user_ctx);

/**
 * struct cmx_ep_sum - what is made of the results of a rank's tokens.
 *
 * out = x + weight[0] * y[0] + ... + weight[topk - 1] * y[topk - 1] + shared, in f32, from
 * left to right.
 */
struct cmx_ep_sum {
	/** @weights_va: f32 [tokens][topk]. */
	uint64_t weights_va;
	/** @x_va: f32 rows, or 0: zeros. */
	uint64_t x_va;
	/** @shared_va: f32 rows, or 0: none. */
	uint64_t shared_va;
	/** @out_va: f32 rows; may be @x_va. */
	uint64_t out_va;
	/** @stride: bytes from row to row, of all of them. */
	uint32_t stride;
	/** @pad: must be zero. */
	uint32_t pad;
};

/**
 * cmx_ep_combine_wait - wait for the results of a rank's tokens.
 * @ep: library object.
 * @rank: live rank.
 * @queue: stream queue on the rank's die.
 * @sum: sum them up; NULL: leave that to the caller's kernel.
 * @inbox_va: receives the address of [token][topk][hidden] in the combine format, zeros
 *	where a choice was -1 or dropped; or NULL.
 * @flags: CMX_ENTRY_* of the last entry.
 * @user_ctx: of all its entries.
 */
int cmx_ep_combine_wait(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue,
			const struct cmx_ep_sum *sum, uint64_t *inbox_va, uint32_t flags,
			uint64_t user_ctx);

/** cmx_ep_slots - slots of a queue that the largest of the four calls fills. */
uint32_t cmx_ep_slots(const struct cmx_ep *ep);

/** cmx_ep_dropped - choices of a rank's tokens that had no live replica, in complete rounds. */
uint64_t cmx_ep_dropped(const struct cmx_ep *ep, uint32_t rank);

/**
 * cmx_ep_check - whether all guard areas are as they were made.
 * @ep: made with CMX_EP_GUARD; in time-only mode only the flags have such areas.
 *
 * Return: 0; -EUCLEAN with rank and buffer; -EINVAL without CMX_EP_GUARD.
 */
int cmx_ep_check(const struct cmx_ep *ep);

/** enum cmx_ep_code - codes of the library's launches that fail (CMX_CR_KERNEL_ERR). */
enum cmx_ep_code {
	/** @CMX_EP_CODE_IDS: a choice is neither -1 nor a logical expert. */
	CMX_EP_CODE_IDS = 0x45500001,
	/** @CMX_EP_CODE_TWICE: a token chose an expert twice. */
	CMX_EP_CODE_TWICE,
	/** @CMX_EP_CODE_ROWS: more than max_rows rows for a rank. */
	CMX_EP_CODE_ROWS,
	/** @CMX_EP_CODE_PACKET: what arrived is not what its sender counted. */
	CMX_EP_CODE_PACKET,
};

#ifdef __cplusplus
}
#endif

#endif /* CMX_EP_H */
