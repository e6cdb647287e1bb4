/* SPDX-License-Identifier: MIT */
/*
 * Inside of a group of collectives.
 *
 * Exchange number e of a group uses half e % 2 of every window and word e % 2 of every
 * rank's flags, to which each peer adds 1 behind its bytes.  Before a peer's bytes of e + 2
 * can come it has all words of e + 1, that of this rank too, which was sent when this rank
 * was done with half and word of e.
 */
#ifndef CMX_CCL_PRIV_H
#define CMX_CCL_PRIV_H

#include <pthread.h>
#include <stdbool.h>

#include <cmx/ccl.h>
#include <cmx/kernel.h>
#include <cmx/memory.h>
#include <cmx/timeline.h>
#include <cmx/wait.h>

#include "cmx_list.h"

/* How far a rank's calls may be ahead of the slowest rank's. */
#define CMX_CCL_LOG		1024u
#define CMX_CCL_FLAG_STRIDE	64u
#define CMX_CCL_SLOTS		16u
/* Elements of a block of a sum. */
#define CMX_CCL_SUM_BLOCK	2048u

enum cmx_ccl_op {
	CMX_CCL_ALL_GATHER,
	CMX_CCL_REDUCE_SCATTER,
	CMX_CCL_ALL_REDUCE,
	CMX_CCL_ALL_TO_ALL,
	CMX_CCL_ALL_TO_ALL_V,
	CMX_CCL_BROADCAST,
	CMX_CCL_BARRIER,
};

enum cmx_ccl_kernel {
	CMX_CCL_KERNEL_SEND,
	CMX_CCL_KERNEL_REDUCE,
	CMX_CCL_KERNEL_UNPACK,
	CMX_CCL_KERNELS,
};

struct cmx_ccl_rank {
	uint32_t entity;
	struct cmx_mem *window, *flags;
	uint64_t calls;			/* written under the group's lock */
	uint64_t exchanges;
};

/* What the ranks that were called for agreed on, until all were. */
struct cmx_ccl_agreed {
	uint64_t call;
	uint32_t called;		/* ranks; 0: free */
	uint32_t first;			/* the first of them */
	uint32_t op, dtype, root;
	uint64_t size;
	uint64_t *bytes;		/* all-to-all-v: [from][to] */
};

/* Pieces of an all-to-all-v until its launches have run. */
struct cmx_ccl_v {
	struct cmx_list node;
	uint32_t refs;
	uint64_t *send_bytes, *send_offsets, *recv_bytes, *recv_offsets;
	uint64_t words[];
};

struct cmx_ccl {
	struct cmx_ctx *ctx;
	struct cmx_timeline *timeline;
	uint32_t n, flags;
	uint64_t max_bytes, half;
	uint64_t launch_ps, two_step_bytes;
	uint64_t kernels[CMX_CCL_KERNELS];
	struct cmx_ccl_rank *ranks;
	int broken;			/* what broke it */
	/* Protects what follows. */
	pthread_mutex_t lock;
	struct cmx_list pieces;
	struct cmx_ccl_agreed agreed[CMX_CCL_LOG];
};

/* One call of one rank. */
struct cmx_ccl_call {
	struct cmx_ccl *ccl;
	struct cmx_ccl_rank *r;
	struct cmx_queue *queue;
	uint32_t rank, op, dtype, root;
	uint64_t size;
	uint32_t flags;
	uint64_t user_ctx;
};

/*
 * What a rank sends in an exchange: to peer p the bytes [p * step, p * step + bytes) of its
 * source, as far as there are; into its slot of the peer's window.
 */
struct cmx_ccl_send {
	struct cmx_ccl *ccl;
	struct cmx_ccl_v *v;		/* instead of step and bytes, or NULL */
	uint64_t src_va, step, bytes, end;
	uint64_t stride;		/* from one slot of a window to the next */
	uint64_t exchange;
	uint64_t rank;
};

/* A sum in the order of the ranks; all vectors but the own one are in the window. */
struct cmx_ccl_sum {
	struct cmx_ccl *ccl;
	uint64_t dst_va, own_va, stride, count, dtype, exchange, rank;
};

struct cmx_ccl_unpack {
	struct cmx_ccl *ccl;
	struct cmx_ccl_v *v;
	uint64_t dst_va, src_va, exchange, rank;
};

static inline bool cmx_ccl_time_only(const struct cmx_ccl *ccl)
{
	return ccl->flags & CMX_CCL_TIME_ONLY;
}

/* The half of a rank's window that an exchange uses. */
static inline uint64_t cmx_ccl_window(const struct cmx_ccl *ccl, uint64_t rank, uint64_t exchange)
{
	return cmx_mem_va(ccl->ranks[rank].window) + (exchange & 1) * ccl->half;
}

static inline uint64_t cmx_ccl_flag(const struct cmx_ccl *ccl, uint64_t rank, uint64_t exchange)
{
	return cmx_mem_va(ccl->ranks[rank].flags) + (exchange & 1) * CMX_CCL_FLAG_STRIDE;
}

/* Sizes of the elements of a reduction. */
static inline uint64_t cmx_ccl_element(uint32_t dtype)
{
	return dtype == CMX_CCL_F32 ? 4 : 2;
}

/* cmx_ccl_model.c: what a launch takes, and when two steps pay. */
int cmx_ccl_measure(struct cmx_ccl *ccl);

/* cmx_ccl_kernels.c */
int cmx_ccl_register(struct cmx_ccl *ccl);
void cmx_ccl_v_put(struct cmx_ccl *ccl, struct cmx_ccl_v *v);

/* cmx_ccl_check.c */
int cmx_ccl_check(const struct cmx_ccl_call *call);
int cmx_ccl_check_size(const struct cmx_ccl_call *call, const char *field, uint64_t count,
		       uint64_t each);
int cmx_ccl_check_range(const char *field, uint64_t va, uint64_t bytes, uint64_t align);
/* @same: destination at which the source may be, too. */
int cmx_ccl_check_apart(uint64_t dst_va, uint64_t dst_bytes, uint64_t src_va,
			uint64_t src_bytes, uint64_t same);
int cmx_ccl_check_pieces(const struct cmx_ccl_call *call, uint64_t dst_va, uint64_t src_va,
			 const struct cmx_ccl_pieces *pieces);
/* That the rank makes the call the others made, or will have to make. */
int cmx_ccl_agree(const struct cmx_ccl_call *call, const struct cmx_ccl_pieces *pieces);

/* cmx_ccl_exchange.c: entries of a call */
int cmx_ccl_copy(const struct cmx_ccl_call *call, uint64_t dst_va, uint64_t src_va,
		 uint64_t bytes, uint32_t flags);
int cmx_ccl_send(const struct cmx_ccl_call *call, struct cmx_ccl_send *send);
int cmx_ccl_wait(const struct cmx_ccl_call *call, const struct cmx_ccl_send *send,
		 uint32_t flags);
int cmx_ccl_reduce(const struct cmx_ccl_call *call, const struct cmx_ccl_send *sent,
		   uint64_t dst_va, uint64_t own_va, uint64_t count, uint32_t flags);
int cmx_ccl_unpack(const struct cmx_ccl_call *call, const struct cmx_ccl_send *sent,
		   uint64_t dst_va, uint32_t flags);

#endif /* CMX_CCL_PRIV_H */
