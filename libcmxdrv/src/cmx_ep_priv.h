/* SPDX-License-Identifier: MIT */
/*
 * Inside of the expert-parallel library.
 */
#ifndef CMX_EP_PRIV_H
#define CMX_EP_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>

#include <cmx/ep.h>
#include <cmx/kernel.h>

#include "cmx_list.h"

/* Rounds whose flags have words of their own; see docs/ep.md. */
#define EP_FLAG_ROUNDS		4
/* Blocks of a launch at most: the same in both modes, since each may record. */
#define EP_MAX_BLOCKS		16
#define EP_GUARD_BYTES		4096
#define EP_GUARD_BYTE		0xa5
#define EP_ALIGN		512

/* Buffers of a rank; those with two rounds have one behind the other. */
enum ep_region {
	EP_PACKETS_IN,		/* [source][slot]: where peers write rows */
	EP_RESULTS_IN,		/* [token][choice]: where results come back */
	EP_PACKETS_OUT,		/* [token]: rows as they are sent */
	EP_ROWS,		/* rows in order, handed out */
	EP_RESULTS_OUT,		/* results as they are sent */
	EP_PLAN,		/* struct ep_plan */
	EP_BYTES_REGIONS,	/* those above need no bytes in time-only mode */
	EP_FLAGS = EP_BYTES_REGIONS,	/* words, see enum ep_word */
	EP_LISTS,		/* SDMA: what to copy */
	EP_REGIONS,
};

/* Words of EP_FLAGS behind the flags of dispatch, [EP_FLAG_ROUNDS][ranks]. */
enum ep_word {
	EP_WORD_RESULTS,	/* [2]: results that came back, ever */
	EP_WORD_FENCE = 2,	/* written to, to know that what is before it has arrived */
	EP_WORD_PUSH,		/* [2]: SDMA: round + 1 whose packets may be copied */
	EP_WORD_PUSHED = 5,
	EP_WORD_PULL = 7,	/* [2]: the same of the results */
	EP_WORD_PULLED = 9,
	EP_WORD_SCRATCH = 11,	/* [2]: what a choice without a row copies */
	EP_WORD_READY = 13,	/* [2][ranks]: SDMA: round + 1 whose results may be read */
};

enum ep_kernel {
	EP_KERNEL_SEND,
	EP_KERNEL_FLAG,
	EP_KERNEL_COLLECT,
	EP_KERNEL_RETURN,
	EP_KERNEL_SUM,
	EP_KERNELS,
};

/* A physical expert. */
struct ep_place {
	uint16_t rank;
	uint16_t local;
};

/* Where each logical expert is: replicas of expert e are places [first[e], first[e + 1]). */
struct ep_map {
	uint32_t *first;
	struct ep_place *places;
};

/* Where a received row came from. */
struct ep_origin {
	uint32_t token;
	uint32_t slot;
	uint32_t choice;
	uint32_t pad;
};

/* What a rank received: rows of expert e from source s begin at starts[e * ranks + s]. */
struct ep_view {
	const uint32_t *starts;
	const struct ep_origin *origins;
};

/* Time-only: what all ranks chose in a round, and what each receives for it. */
struct ep_table {
	struct cmx_list node;
	uint64_t round;
	atomic_uint uses;		/* calls and launches that look at it still */
	bool *given;			/* by rank: its choices are here */
	uint32_t *tokens;
	int32_t *ids;			/* [ranks][max_tokens][topk] */
	uint32_t *starts;		/* [ranks][local * ranks + 1] */
	uint32_t *first;		/* [ranks + 1]: a rank's first in origins */
	struct ep_origin *origins;
	uint32_t room;			/* of origins */
};

struct ep_rank {
	uint32_t entity;
	bool failed;
	struct cmx_mem *bytes, *words;
	uint64_t va[EP_REGIONS];
	struct cmx_queue *sdma[2];	/* rounds in turn: one must not wait behind the other */
	/* Calls so far. */
	uint64_t posted, waited, returned, summed;
	uint32_t tokens[2];		/* of the rounds in flight */
	uint64_t results[2];		/* that EP_WORD_RESULTS will have counted */
	atomic_ullong dropped;
};

struct cmx_ep {
	struct cmx_ctx *ctx;
	struct cmx_ep_desc desc;	/* its tables are not there any more */
	struct cmx_timeline *timeline;
	struct cmx_cq *cq;		/* of the SDMA queues */
	uint64_t kernels[EP_KERNELS];
	uint64_t launch_ps;		/* overhead of a launch */
	uint32_t dies_per_npu;
	uint32_t live;			/* ranks that have not failed */
	uint32_t payload;		/* bytes of a row that count */
	uint32_t packet, result;	/* bytes of a row on its way there and back */
	uint32_t cap;			/* rows from one rank to another, at most */
	uint32_t max_rows;
	bool row_atomics;		/* an atomic for each result; else one for each peer */
	uint64_t size[EP_REGIONS];	/* of one round */
	int32_t *placement;
	struct ep_map map;
	struct ep_rank *ranks;
	struct cmx_list tables;
	struct ep_table *next;		/* of the round that nobody has posted yet */
	uint64_t rounds;		/* posted by somebody */
};

/* Argument bytes of the launches. */
struct ep_args {
	struct cmx_ep *ep;
	struct ep_table *table;		/* time-only */
	uint64_t round;
	uint64_t x_va, ids_va, active_va;
	uint64_t pace_ps;
	uint32_t rank, tokens;
	uint32_t stride, cores;
};

struct ep_sum_args {
	struct cmx_ep *ep;
	struct cmx_ep_sum sum;
	uint64_t inbox_va;
	uint32_t tokens, pad;
};

/* Behind the payload of a packet. */
struct ep_tail {
	uint32_t round;
	uint32_t token;
	int32_t ids[];			/* what the token chose */
};

/* EP_PLAN: cmx_ep_received.plan_va, starts, origins. */
struct ep_plan {
	uint32_t *n_active, *n_rows, *first;
	uint32_t *starts;
	struct ep_origin *origins;
};

static inline uint32_t ep_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint64_t ep_align(uint64_t n, uint64_t to)
{
	return (n + to - 1) / to * to;
}

static inline bool ep_has_data(const struct cmx_ep *ep)
{
	return !(ep->desc.flags & CMX_EP_TIME_ONLY);
}

static inline bool ep_is_sdma(const struct cmx_ep *ep)
{
	return ep->desc.path == CMX_EP_SDMA;
}

/* Where a buffer of @round begins. */
static inline uint64_t ep_va(const struct cmx_ep *ep, uint32_t rank, enum ep_region region,
			     uint64_t round)
{
	return ep->ranks[rank].va[region] + (round & 1) * ep->size[region];
}

/* The word in which @source tells @rank that its rows of @round are there: round, count. */
static inline uint64_t ep_flag_va(const struct cmx_ep *ep, uint32_t rank, uint64_t round,
				  uint32_t source)
{
	return ep->ranks[rank].va[EP_FLAGS] +
	       8 * (round % EP_FLAG_ROUNDS * ep->desc.ranks + source);
}

static inline uint64_t ep_word_va(const struct cmx_ep *ep, uint32_t rank, uint32_t word)
{
	return ep->ranks[rank].va[EP_FLAGS] +
	       8ull * ((uint64_t)EP_FLAG_ROUNDS * ep->desc.ranks + word);
}

static inline uint64_t ep_ready_va(const struct cmx_ep *ep, uint32_t rank, uint64_t round,
				   uint32_t source)
{
	return ep_word_va(ep, rank, EP_WORD_READY) +
	       8 * ((round & 1) * ep->desc.ranks + source);
}

/* A buffer of the other side, for host code of kernels; data mode. */
static inline void *ep_ptr(uint64_t va)
{
	return (void *)(uintptr_t)va;
}

/* SDMA: one list for the way there, one for the way back. */
static inline struct cmx_sg *ep_list(const struct cmx_ep *ep, uint32_t rank, uint64_t round,
				     bool back)
{
	struct cmx_sg *lists = (struct cmx_sg *)ep_ptr(ep_va(ep, rank, EP_LISTS, round));

	return lists + (back ? (uint64_t)ep->desc.max_tokens * ep->desc.topk : 0);
}

/*
 * The @step-th rank that @rank sends to, or one that is not there: its own NPU first, whose
 * link is another, then NPU by NPU, and in each the die with its own place first.  At no step
 * do two send to one.
 */
uint32_t ep_peer_at(const struct cmx_ep *ep, uint32_t rank, uint32_t step);
/* Steps that are needed. */
uint32_t ep_peer_steps(const struct cmx_ep *ep);

/* Description: sizes that follow from it; 0 or -EINVAL with a text. */
int ep_layout(struct cmx_ep *ep);

int ep_map_make(const struct cmx_ep *ep, const int32_t *placement, const bool *failed,
		struct ep_map *map);
void ep_map_free(struct ep_map *map);

/* Where a token's row for @expert goes; NULL: nowhere. */
static inline const struct ep_place *ep_place_of(const struct cmx_ep *ep, uint32_t source,
						 uint32_t token, int32_t expert)
{
	uint32_t first, n;

	if ((uint32_t)expert >= ep->desc.experts)
		return NULL;
	first = ep->map.first[expert];
	n = ep->map.first[expert + 1] - first;
	return n ? &ep->map.places[first + (source + token) % n] : NULL;
}

/* 0, or a code of enum cmx_ep_code: the choices of one token. */
int ep_check_ids(const struct cmx_ep *ep, const int32_t *ids);

/* Time-only: the table of a round, which is made by its first post. */
int ep_table_get(struct cmx_ep *ep, uint64_t round, struct ep_table **table);
void ep_table_put(struct ep_table *table);
void ep_tables_free(struct cmx_ep *ep);
static inline struct ep_view ep_table_view(const struct cmx_ep *ep, const struct ep_table *table,
					   uint32_t rank)
{
	return (struct ep_view){
		.starts = table->starts +
			  (size_t)rank * (ep->desc.local * ep->desc.ranks + 1),
		.origins = table->origins + table->first[rank],
	};
}

/* Rows: as they are sent and as they come back. */
void ep_row_pack(const struct cmx_ep *ep, const void *x, void *payload);
void ep_result_pack(const struct cmx_ep *ep, const float *y, void *result);
float ep_result_at(const struct cmx_ep *ep, const void *result, uint32_t i);

/* Calls: what all four check; the cores of a stream queue. */
int ep_check_call(const struct cmx_ep *ep, uint32_t rank, const struct cmx_queue *queue,
		  const char *call);
uint32_t ep_cores(const struct cmx_queue *queue);
/* Time of @n items of @ps each, which @cores share. */
static inline uint64_t ep_share_ps(uint64_t n, uint64_t ps, uint32_t cores)
{
	return n * ps / (cores ? cores : 1);
}

/* A launch of one of the library's kernels. */
int ep_launch(struct cmx_ep *ep, struct cmx_queue *queue, enum ep_kernel kernel, uint32_t grid,
	      const void *args, uint32_t args_size, struct cmx_launch_desc *desc, uint32_t flags,
	      uint64_t user_ctx);
/* A DELAY, or nothing if @ps is 0. */
int ep_delay(struct cmx_queue *queue, uint64_t ps, uint64_t user_ctx);
/* SDMA: let the rank's engine copy a list between two words, and wait for it. */
int ep_sdma_copy(struct cmx_ep *ep, uint32_t rank, struct cmx_queue *queue, uint64_t round,
		 bool back, uint64_t user_ctx);

struct ep_plan ep_plan_of(const struct cmx_ep *ep, uint32_t rank, uint64_t round);

/* Kernels. */
int ep_send_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block);
int ep_flag_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block);
int ep_collect_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block);
int ep_collect_post(struct cmx_launch_ctx *lc, const void *args);
int ep_return_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block);
int ep_sum_block(struct cmx_launch_ctx *lc, const void *args, uint32_t block);
/* After launches that looked at the table of their round. */
int ep_release_post(struct cmx_launch_ctx *lc, const void *args);

/* The part [lo, hi) of @n things that @block of @blocks has. */
static inline void ep_part(uint32_t n, uint32_t block, uint32_t blocks, uint32_t *lo, uint32_t *hi)
{
	*lo = (uint32_t)((uint64_t)n * block / blocks);
	*hi = (uint32_t)((uint64_t)n * (block + 1) / blocks);
}

#endif /* CMX_EP_PRIV_H */
