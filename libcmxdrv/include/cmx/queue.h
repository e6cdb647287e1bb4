/* SPDX-License-Identifier: MIT */
/*
 * Queues: entries into the ring, and the doorbell.
 */
#ifndef CMX_QUEUE_H
#define CMX_QUEUE_H

#include <errno.h>
#include <string.h>

#include <cmx/cq.h>
#include <cmx/rq.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Submitting
 *
 * cmx_queue_copy() and its like put an entry into the ring; the module sees it after
 * cmx_queue_submit().  Nothing runs by itself: a wait (cmx/wait.h) or a runner thread
 * (cmx/runner.h) does the work.
 *
 * When the ring is full these functions submit and help until there is room; the
 * cmx_queue_push_try() form returns -EAGAIN instead.
 *
 * An entry with CMX_ENTRY_COMPLETE leaves a completion whose time_ps is the virtual time
 * of its end.  Entries of a queue run in order, so an entry starts no earlier than the
 * completion before it: a trace of all completions has the start times too.
 *
 * A queue belongs to one thread at a time, or to many with CMX_SUBMIT_LOCKED.  Then the
 * order of their entries is up to the host, unless each is an actor of its own and they
 * take turns by waits.
 */

/* Flag of cmx_queue_desc: pushing and submitting take a lock. */
#define CMX_SUBMIT_LOCKED	(1U << 0)

/** struct cmx_queue_desc - what cmx_queue_create() makes; zero what you do not set. */
struct cmx_queue_desc {
	/** @timeline: clock, NULL: the default one. */
	struct cmx_timeline *timeline;
	/** @cq: completion ring. */
	struct cmx_cq *cq;
	/** @rq: receive ring (CMX_QUEUE_UB), or NULL. */
	struct cmx_rq *rq;
	/** @entity: entity the queue is on. */
	uint32_t entity;
	/** @queue_class: enum drm_cmx_queue_class. */
	uint32_t queue_class;
	/** @slots: a power of two, at least 4; 0: 256. */
	uint32_t slots;
	/** @flags: CMX_SUBMIT_LOCKED or 0. */
	uint32_t flags;
	/** @cube_cores: share of the die's cube cores, 0: all (CMX_QUEUE_STREAM). */
	uint32_t cube_cores;
	/** @vector_cores: share of its vector cores, 0: all (CMX_QUEUE_STREAM). */
	uint32_t vector_cores;
	/** @trans_mode: enum ub_trans_mode, 0: UB_TM_RM (CMX_QUEUE_UB). */
	uint32_t trans_mode;
	/** @order_type: enum ub_order_type (CMX_QUEUE_UB). */
	uint32_t order_type;
	/** @priority: 0 to 15. */
	uint32_t priority;
	/** @rnr_retry: 0 to 7 (CMX_QUEUE_UB). */
	uint32_t rnr_retry;
	/** @err_timeout: 0 to 31 (CMX_QUEUE_UB). */
	uint32_t err_timeout;
	/**
	 * @planes: what transfers go over: bits of UB planes, CMX_PLANE_BIT_RDMA or
	 * CMX_PLANE_BIT_VPC; 0: all UB planes, and the link between the dies of an NPU.
	 */
	uint32_t planes;
	/** @reserved: must be zero. */
	uint64_t reserved[4];
};

/**
 * struct cmx_queue - a queue.
 *
 * Made by the library only.  The members serve the inline functions below.
 */
struct cmx_queue {
	/** @slots: the ring. */
	unsigned char *slots;
	/** @producer: our side. */
	struct cmx_ring_producer *producer;
	/** @consumer: the module's side. */
	const struct cmx_ring_consumer *consumer;
	/** @status: status page of the timeline. */
	const struct cmx_timeline_status *status;
	/** @doorbell: word of the timeline's doorbell page. */
	uint64_t *doorbell;
	/** @doorbell_bit: the queue's bit in it. */
	uint64_t doorbell_bit;
	/** @alive: word that reads as zero in a forked child. */
	const uint32_t *alive;
	/** @mask: slots - 1. */
	uint32_t mask;
	/** @tail: slots filled, submitted or not. */
	uint32_t tail;
	/** @flags: CMX_SUBMIT_LOCKED. */
	uint32_t flags;
	/** @handle: handle in the context's file. */
	uint32_t handle;
	/** @entity: entity the queue is on. */
	uint32_t entity;
	/** @queue_class: enum drm_cmx_queue_class. */
	uint32_t queue_class;
	/** @ctx: context. */
	struct cmx_ctx *ctx;
	/** @timeline: clock. */
	struct cmx_timeline *timeline;
	/** @cq: completion ring. */
	struct cmx_cq *cq;
};

/**
 * cmx_queue_create - create a queue.
 * @ctx: context.
 * @desc: what to make.
 * @queue: receives the queue.
 */
int cmx_queue_create(struct cmx_ctx *ctx, const struct cmx_queue_desc *desc,
		     struct cmx_queue **queue);

/**
 * cmx_queue_destroy - destroy a queue; its outstanding entries are dropped.
 * @queue: queue, or NULL.
 */
int cmx_queue_destroy(struct cmx_queue *queue);

/**
 * cmx_queue_query - state of a queue and what it waits for.
 * @queue: queue.
 * @query: receives it; @size bytes are written.
 * @size: sizeof(*query).
 */
int cmx_queue_query(struct cmx_queue *queue, struct drm_cmx_queue_query *query, size_t size);

/**
 * cmx_queue_set_state - move a queue to another state.
 * @queue: queue.
 * @state: UB_QUEUE_ERROR, or UB_QUEUE_READY when the flush is done.
 */
int cmx_queue_set_state(struct cmx_queue *queue, uint32_t state);

/* Slow paths of the inline functions. */
#define CMX_PUSH_TRY	(1U << 0)	/* -EAGAIN when full */

/** cmx_queue_push_slow - push when the ring is full, locked or the entry malformed. */
int cmx_queue_push_slow(struct cmx_queue *queue, const void *entry, uint32_t flags);

/** cmx_queue_submit_slow - submit under the queue's lock. */
int cmx_queue_submit_slow(struct cmx_queue *queue);

/** cmx_queue_wake - wake runners that sleep (the doorbell's slow path). */
int cmx_queue_wake(struct cmx_queue *queue);

/** cmx_queue_space - slots that can be filled now; none in a forked child. */
static inline uint32_t cmx_queue_space(const struct cmx_queue *q)
{
	uint32_t used;

	if (!*q->alive)
		return 0;
	used = q->tail - __atomic_load_n(&q->consumer->head, __ATOMIC_ACQUIRE);
	return used > q->mask ? 0 : q->mask + 1 - used;
}

/** cmx_queue_put - copy an entry of @n slots behind the tail; there must be room. */
static inline void cmx_queue_put(struct cmx_queue *q, const void *entry, uint32_t n)
{
	const unsigned char *from = (const unsigned char *)entry;
	uint32_t i;

	for (i = 0; i < n; i++)
		memcpy(q->slots + (size_t)((q->tail + i) & q->mask) * CMX_SLOT_SIZE,
		       from + (size_t)i * CMX_SLOT_SIZE, CMX_SLOT_SIZE);
	q->tail += n;
}

/**
 * cmx_queue_publish - let the module see all entries pushed; the caller has the queue.
 * @q: queue.
 *
 * Pairs with a runner that sets need_wakeup, then looks at the doorbells: with a full
 * barrier on both sides one of the two sees the other.
 */
static inline int cmx_queue_publish(struct cmx_queue *q)
{
	__atomic_store_n(&q->producer->tail, q->tail, __ATOMIC_RELEASE);
	__atomic_fetch_or(q->doorbell, q->doorbell_bit, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&q->status->need_wakeup, __ATOMIC_RELAXED))
		return cmx_queue_wake(q);
	return 0;
}

/** cmx_queue_is_fast - the inline path may be taken for an entry of @n slots. */
static inline int cmx_queue_is_fast(const struct cmx_queue *q, uint32_t n)
{
	return !q->flags && n - 1 < CMX_ENTRY_MAX_SLOTS && cmx_queue_space(q) >= n;
}

/**
 * cmx_queue_push - put an entry into the ring; helps while the ring is full.
 * @q: queue.
 * @entry: struct cmx_entry_*, as many slots as its first byte says.
 *
 * Return: 0; -EINVAL for a malformed slot count; -EDEADLK when the ring is full and
 * nothing can empty it; else as cmx_wait_progress().
 */
static inline int cmx_queue_push(struct cmx_queue *q, const void *entry)
{
	uint32_t n = *(const unsigned char *)entry;

	if (!cmx_queue_is_fast(q, n))
		return cmx_queue_push_slow(q, entry, 0);
	cmx_queue_put(q, entry, n);
	return 0;
}

/** cmx_queue_push_try - as cmx_queue_push(), but -EAGAIN when the ring is full. */
static inline int cmx_queue_push_try(struct cmx_queue *q, const void *entry)
{
	uint32_t n = *(const unsigned char *)entry;

	if (!cmx_queue_is_fast(q, n))
		return cmx_queue_push_slow(q, entry, CMX_PUSH_TRY);
	cmx_queue_put(q, entry, n);
	return 0;
}

/**
 * cmx_queue_submit - let the module see all entries pushed.
 * @q: queue.
 *
 * Return: 0; -EPERM in a forked child; -ENODEV when the device is gone.
 */
static inline int cmx_queue_submit(struct cmx_queue *q)
{
	if (!*q->alive || q->flags)
		return cmx_queue_submit_slow(q);
	return cmx_queue_publish(q);
}

/* ----------------------------------------------------------------- entry helpers */

/** cmx_entry_header_set - fill an entry's header. */
static inline void cmx_entry_header_set(struct cmx_entry_header *header, uint32_t slots,
					uint32_t opcode, uint32_t flags, uint64_t user_ctx)
{
	header->slots = (uint8_t)slots;
	header->opcode = (uint8_t)opcode;
	header->flags = (uint16_t)flags;
	header->pad = 0;
	header->user_ctx = user_ctx;
}

/** cmx_queue_copy - copy @len bytes. */
static inline int cmx_queue_copy(struct cmx_queue *q, uint64_t dst_va, uint64_t src_va,
				 uint64_t len, uint32_t flags, uint64_t user_ctx)
{
	struct cmx_entry_copy e;

	memset(&e, 0, sizeof(e));
	cmx_entry_header_set(&e.header, 1, CMX_OP_COPY, flags, user_ctx);
	e.dst_va = dst_va;
	e.src_va = src_va;
	e.len = len;
	return cmx_queue_push(q, &e);
}

/** cmx_queue_copy_2d - copy @rows rows of @len bytes, @dst_pitch and @src_pitch apart. */
static inline int cmx_queue_copy_2d(struct cmx_queue *q, uint64_t dst_va, uint64_t dst_pitch,
				    uint64_t src_va, uint64_t src_pitch, uint64_t len,
				    uint32_t rows, uint32_t flags, uint64_t user_ctx)
{
	struct cmx_entry_copy e;

	memset(&e, 0, sizeof(e));
	cmx_entry_header_set(&e.header, 1, CMX_OP_COPY_2D, flags, user_ctx);
	e.dst_va = dst_va;
	e.src_va = src_va;
	e.len = len;
	e.dst_pitch = dst_pitch;
	e.src_pitch = src_pitch;
	e.rows = rows;
	return cmx_queue_push(q, &e);
}

/** cmx_queue_copy_sg - copy by a list of @count struct cmx_sg in device memory. */
static inline int cmx_queue_copy_sg(struct cmx_queue *q, uint64_t list_va, uint32_t count,
				    uint32_t flags, uint64_t user_ctx)
{
	struct cmx_entry_copy_sg e;

	memset(&e, 0, sizeof(e));
	cmx_entry_header_set(&e.header, 1, CMX_OP_COPY_SG, flags, user_ctx);
	e.list_va = list_va;
	e.count = count;
	return cmx_queue_push(q, &e);
}

/**
 * cmx_queue_fill - repeat a pattern.
 * @q: queue.
 * @dst_va: first byte, a multiple of @pattern_size.
 * @len: bytes, a multiple of @pattern_size.
 * @pattern: value that fits into @pattern_size bytes.
 * @pattern_size: 1, 2, 4 or 8.
 * @flags: CMX_ENTRY_*.
 * @user_ctx: returned in the completion.
 */
static inline int cmx_queue_fill(struct cmx_queue *q, uint64_t dst_va, uint64_t len,
				 uint64_t pattern, uint32_t pattern_size, uint32_t flags,
				 uint64_t user_ctx)
{
	struct cmx_entry_fill e;

	memset(&e, 0, sizeof(e));
	cmx_entry_header_set(&e.header, 1, CMX_OP_FILL, flags, user_ctx);
	e.dst_va = dst_va;
	e.len = len;
	e.pattern = pattern;
	e.pattern_size = pattern_size;
	return cmx_queue_push(q, &e);
}

/** cmx_queue_wait - hold the queue until the u64 at @va compares with @value. */
static inline int cmx_queue_wait(struct cmx_queue *q, uint64_t va, uint32_t cond,
				 uint64_t value, uint32_t flags, uint64_t user_ctx)
{
	struct cmx_entry_wait e;

	memset(&e, 0, sizeof(e));
	cmx_entry_header_set(&e.header, 1, CMX_OP_WAIT, flags, user_ctx);
	e.va = va;
	e.value = value;
	e.cond = cond;
	return cmx_queue_push(q, &e);
}

/** cmx_queue_signal - set the u64 at @va to @value, or add it (enum cmx_signal_op). */
static inline int cmx_queue_signal(struct cmx_queue *q, uint64_t va, uint32_t op,
				   uint64_t value, uint32_t flags, uint64_t user_ctx)
{
	struct cmx_entry_signal e;

	memset(&e, 0, sizeof(e));
	cmx_entry_header_set(&e.header, 1, CMX_OP_SIGNAL, flags, user_ctx);
	e.va = va;
	e.value = value;
	e.op = op;
	return cmx_queue_push(q, &e);
}

/** cmx_queue_sync - TIMESTAMP, BARRIER or NOP. */
static inline int cmx_queue_sync(struct cmx_queue *q, uint32_t opcode, uint64_t va,
				 uint32_t flags, uint64_t user_ctx)
{
	struct cmx_entry_sync e;

	memset(&e, 0, sizeof(e));
	cmx_entry_header_set(&e.header, 1, opcode, flags, user_ctx);
	e.va = va;
	return cmx_queue_push(q, &e);
}

/** cmx_queue_timestamp - store the virtual time as a u64 at @va. */
static inline int cmx_queue_timestamp(struct cmx_queue *q, uint64_t va, uint32_t flags,
				      uint64_t user_ctx)
{
	return cmx_queue_sync(q, CMX_OP_TIMESTAMP, va, flags, user_ctx);
}

/** cmx_queue_barrier - wait for all earlier entries, overlapped ones too. */
static inline int cmx_queue_barrier(struct cmx_queue *q, uint32_t flags, uint64_t user_ctx)
{
	return cmx_queue_sync(q, CMX_OP_BARRIER, 0, flags, user_ctx);
}

/** cmx_queue_delay - take @ps of virtual time: what a host or a library costs. */
static inline int cmx_queue_delay(struct cmx_queue *q, uint64_t ps, uint32_t flags,
				  uint64_t user_ctx)
{
	struct cmx_entry_delay e;

	memset(&e, 0, sizeof(e));
	cmx_entry_header_set(&e.header, 1, CMX_OP_DELAY, flags, user_ctx);
	e.ps = ps;
	return cmx_queue_push(q, &e);
}

/** cmx_queue_nop - an entry that only completes. */
static inline int cmx_queue_nop(struct cmx_queue *q, uint32_t flags, uint64_t user_ctx)
{
	return cmx_queue_sync(q, UB_OP_NOP, 0, flags, user_ctx);
}

/* -------------------------------------------------------- operations of a jetty */

/** struct cmx_rma - an entry of a UB_OP_*, in memory order: all four slots. */
struct cmx_rma {
	/** @rma: first slot. */
	struct cmx_entry_rma rma;
	/** @ext: second slot. */
	struct cmx_entry_rma_ext ext;
	/** @tail: slots of elements (struct cmx_entry_sgl) or inline bytes. */
	unsigned char tail[2 * CMX_SLOT_SIZE];
};

/** cmx_rma_init - start an entry: one slot, no elements. */
static inline void cmx_rma_init(struct cmx_rma *e, uint32_t opcode, uint32_t flags,
				uint64_t user_ctx)
{
	memset(e, 0, sizeof(*e));
	cmx_entry_header_set(&e->rma.header, 1, opcode, flags, user_ctx);
}

/** cmx_rma_use_ext - the entry has its second slot. */
static inline void cmx_rma_use_ext(struct cmx_rma *e)
{
	if (e->rma.header.slots < 2)
		e->rma.header.slots = 2;
}

/**
 * cmx_rma_sges - the local side is pieces of memory.
 * @e: entry.
 * @sge: pieces.
 * @n: how many.
 *
 * Return: 0, or -EINVAL for more than 8.
 */
static inline int cmx_rma_sges(struct cmx_rma *e, const struct cmx_sge *sge, uint32_t n)
{
	uint32_t i;

	if (n < 1 || n > sizeof(e->tail) / sizeof(*sge))
		return -EINVAL;
	memcpy(e->tail, sge, n * sizeof(*sge));
	e->rma.header.slots = n > 4 ? 4 : 3;
	e->rma.num_sge = (uint8_t)n;
	e->rma.local_va = 0;
	e->rma.len = 0;
	for (i = 0; i < n; i++)
		e->rma.len += sge[i].len;
	return 0;
}

/**
 * cmx_rma_inline - the local side is bytes in the entry.
 * @e: entry.
 * @bytes: bytes, copied.
 * @len: how many.
 *
 * Return: 0, or -EINVAL for more than 128.
 */
static inline int cmx_rma_inline(struct cmx_rma *e, const void *bytes, uint32_t len)
{
	if (len < 1 || len > sizeof(e->tail))
		return -EINVAL;
	memcpy(e->tail, bytes, len);
	e->rma.header.slots = len > CMX_SLOT_SIZE ? 4 : 3;
	e->rma.header.flags |= CMX_ENTRY_INLINE;
	e->rma.local_va = 0;
	e->rma.len = len;
	return 0;
}

/** cmx_queue_read - read remote memory. */
static inline int cmx_queue_read(struct cmx_queue *q, uint64_t local_va, uint64_t remote_va,
				 uint64_t len, uint32_t flags, uint64_t user_ctx)
{
	struct cmx_rma e;

	cmx_rma_init(&e, UB_OP_READ, flags, user_ctx);
	e.rma.local_va = local_va;
	e.rma.remote_va = remote_va;
	e.rma.len = len;
	return cmx_queue_push(q, &e);
}

/** cmx_queue_write - write remote memory. */
static inline int cmx_queue_write(struct cmx_queue *q, uint64_t remote_va, uint64_t local_va,
				  uint64_t len, uint32_t flags, uint64_t user_ctx)
{
	struct cmx_rma e;

	cmx_rma_init(&e, UB_OP_WRITE, flags, user_ctx);
	e.rma.local_va = local_va;
	e.rma.remote_va = remote_va;
	e.rma.len = len;
	return cmx_queue_push(q, &e);
}

/** cmx_queue_write_imm - write, then an immediate to receive ring @target. */
static inline int cmx_queue_write_imm(struct cmx_queue *q, uint64_t remote_va,
				      uint64_t local_va, uint64_t len, uint32_t target,
				      uint64_t imm, uint32_t flags, uint64_t user_ctx)
{
	struct cmx_rma e;

	cmx_rma_init(&e, UB_OP_WRITE_IMM, flags, user_ctx);
	e.rma.local_va = local_va;
	e.rma.remote_va = remote_va;
	e.rma.len = len;
	e.rma.target = target;
	e.rma.value = imm;
	return cmx_queue_push(q, &e);
}

/** cmx_queue_write_notify - write, then store @value as a u64 at @notify_va. */
static inline int cmx_queue_write_notify(struct cmx_queue *q, uint64_t remote_va,
					 uint64_t local_va, uint64_t len, uint64_t notify_va,
					 uint64_t value, uint32_t flags, uint64_t user_ctx)
{
	struct cmx_rma e;

	cmx_rma_init(&e, UB_OP_WRITE_NOTIFY, flags, user_ctx);
	cmx_rma_use_ext(&e);
	e.rma.local_va = local_va;
	e.rma.remote_va = remote_va;
	e.rma.len = len;
	e.rma.value = value;
	e.ext.notify_va = notify_va;
	return cmx_queue_push(q, &e);
}

/**
 * cmx_queue_atomic - change a word at its home.
 * @q: queue.
 * @opcode: UB_OP_CAS, SWAP, FADD, FSUB, FAND, FOR or FXOR.
 * @va: the word.
 * @len: 4 or 8.
 * @value: operand.
 * @compare: UB_OP_CAS: what the word must be.
 * @old_va: where its old value goes, or 0; the completion's imm has it too.
 * @flags: CMX_ENTRY_*.
 * @user_ctx: returned in the completion.
 */
static inline int cmx_queue_atomic(struct cmx_queue *q, uint32_t opcode, uint64_t va,
				   uint32_t len, uint64_t value, uint64_t compare,
				   uint64_t old_va, uint32_t flags, uint64_t user_ctx)
{
	struct cmx_rma e;

	cmx_rma_init(&e, opcode, flags, user_ctx);
	e.rma.local_va = old_va;
	e.rma.remote_va = va;
	e.rma.len = len;
	e.rma.value = value;
	if (opcode == UB_OP_CAS) {
		cmx_rma_use_ext(&e);
		e.ext.compare = compare;
	}
	return cmx_queue_push(q, &e);
}

/** cmx_queue_send - message to receive ring @target of this context, with @imm or 0. */
static inline int cmx_queue_send(struct cmx_queue *q, uint32_t opcode, uint32_t target,
				 uint64_t local_va, uint64_t len, uint64_t imm, uint32_t flags,
				 uint64_t user_ctx)
{
	struct cmx_rma e;

	cmx_rma_init(&e, opcode, flags, user_ctx);
	e.rma.local_va = local_va;
	e.rma.len = len;
	e.rma.target = target;
	e.rma.value = imm;
	return cmx_queue_push(q, &e);
}

/* ---------------------------------------------------------------------- launches */

/** struct cmx_launch_desc - a launch; zero what you do not set. */
struct cmx_launch_desc {
	/** @kernel: number of cmx_kernel_register(). */
	uint64_t kernel;
	/** @args: argument bytes, copied into the entry. */
	const void *args;
	/** @args_size: how many, at most CMX_LAUNCH_MAX_ARGS. */
	uint32_t args_size;
	/** @grid: blocks; 0: 1. */
	uint32_t grid;
	/** @launch_flags: CMX_LAUNCH_TIME_ONLY or 0. */
	uint32_t launch_flags;
	/** @record_count: CMX_LAUNCH_TIME_ONLY: elements at @record_va. */
	uint32_t record_count;
	/** @record_va: CMX_LAUNCH_TIME_ONLY: struct cmx_record elements, or 0. */
	uint64_t record_va;
	/**
	 * @min_ps: promise: the launch lasts at least this; see cmx_launch_bound().  With 0,
	 * only what other queues start within a launch's overhead runs at the same time.
	 */
	uint64_t min_ps;
	/** @first_ps: promise: no remote traffic earlier, from the start; ~0: none at all. */
	uint64_t first_ps;
	/** @cost: declared cost, final unless the kernel sets another. */
	struct cmx_cost cost;
};

/**
 * cmx_queue_launch - launch a kernel with everything stated.
 * @q: queue of class CMX_QUEUE_STREAM.
 * @desc: the launch.
 * @flags: CMX_ENTRY_*, without CMX_ENTRY_OVERLAP.
 * @user_ctx: returned in the completion.
 *
 * Return: as cmx_queue_push(); -EINVAL for too many argument bytes.
 */
int cmx_queue_launch(struct cmx_queue *q, const struct cmx_launch_desc *desc, uint32_t flags,
		     uint64_t user_ctx);

/**
 * cmx_queue_launch_kernel - launch a kernel, the cost from its cost function.
 * @q: queue of class CMX_QUEUE_STREAM.
 * @kernel: number of cmx_kernel_register().
 * @grid: blocks.
 * @args: argument bytes.
 * @args_size: how many.
 * @flags: CMX_ENTRY_*.
 * @user_ctx: returned in the completion.
 *
 * The bounds are derived: the shortest time its cost allows, if the kernel has no post
 * function, and no traffic, if it is registered with CMX_KERNEL_LOCAL.
 */
int cmx_queue_launch_kernel(struct cmx_queue *q, uint64_t kernel, uint32_t grid,
			    const void *args, uint32_t args_size, uint32_t flags,
			    uint64_t user_ctx);

/**
 * cmx_launch_bound - a min_ps that holds for any launch on @q with at least @cost.
 * @q: queue.
 * @cost: cost.
 *
 * The fixed time, and that at the full rates of the queue's cores and memory; a real
 * launch is never faster.  A promise near the real duration lets launches of several
 * queues overlap on the host.
 *
 * Return: picoseconds.
 */
uint64_t cmx_launch_bound(const struct cmx_queue *q, const struct cmx_cost *cost);

#ifdef __cplusplus
}
#endif

#endif /* CMX_QUEUE_H */
