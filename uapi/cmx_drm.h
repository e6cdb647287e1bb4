/* SPDX-License-Identifier: MIT */
/*
 * User ABI of the CMX virtual supernode: ioctls, user-mapped rings, ring entries.
 */
#ifndef _UAPI_CMX_DRM_H_
#define _UAPI_CMX_DRM_H_

#if defined(__KERNEL__)
#include <drm/drm.h>
#else
#include <drm.h>
#endif

#include "ub.h"

#if defined(__cplusplus)
extern "C" {
#endif

/**
 * DOC: Rules of this ABI
 *
 * - Every structure is the same for 32- and 64-bit programs: explicit padding,
 *   naturally aligned fields, sizes that are multiples of 8, no unions.
 * - Every reserved field and every unknown flag must be zero and is checked.
 * - Structures grow at the end only.  The size in the ioctl number is the caller's:
 *   a shorter structure than the first version fails with EINVAL, a longer one with
 *   a non-zero tail with E2BIG, else missing fields read as zero.
 * - Arrays are {stride, count, pointer}, so their elements can grow too.
 * - Numbers of ioctls, types, flags and opcodes are appended, never reused.
 * - Times on the virtual clock are unsigned picoseconds; they fail with EOVERFLOW past
 *   2^64 - 1 (213 days).  Host times are named so (host_ns).
 * - Handles are per file, start at 1 and are not reused soon.  0 means "none", except
 *   for timelines, where 0 is the file's default timeline.
 * - A refused call leaves a text with field, value and limit: CMX_INFO_EXTACK.
 *
 * Errors every call may return: EFAULT (bad pointer), EINVAL (malformed), ENOENT (no
 * such handle in this file), ENOMEM, ENODEV (the device was removed), EINTR.
 *
 * There is no dma_fence in this interface: progress depends on threads of the client,
 * and a fence may not depend on those.  Synchronisation is 64-bit values in memory,
 * completion rings, poll() and events.
 *
 * History: 1.0 first version; 1.1 planes of a queue, CMX_OP_DELAY, CMX_CR_ENTITY_DOWN;
 * 1.2 fixed_ns of a cost.
 */
#define CMX_ABI_MAJOR		1
#define CMX_ABI_MINOR		2
#define CMX_RING_VERSION	1

/** enum drm_cmx_ioctl_id - ioctl numbers, append only. */
enum drm_cmx_ioctl_id {
	/** @DRM_CMX_INFO: query the device, its limits, an entity, this client. */
	DRM_CMX_INFO = 0,
	/** @DRM_CMX_BO_CREATE: allocate memory on an entity. */
	DRM_CMX_BO_CREATE,
	/** @DRM_CMX_BO_QUERY: what a BO is and how much of it is backed. */
	DRM_CMX_BO_QUERY,
	/** @DRM_CMX_MAP: map a range of a BO at a device VA. */
	DRM_CMX_MAP,
	/** @DRM_CMX_UNMAP: remove mappings. */
	DRM_CMX_UNMAP,
	/** @DRM_CMX_CQ_CREATE: create a completion ring. */
	DRM_CMX_CQ_CREATE,
	/** @DRM_CMX_RQ_CREATE: create a receive ring. */
	DRM_CMX_RQ_CREATE,
	/** @DRM_CMX_QUEUE_CREATE: create a queue on an entity. */
	DRM_CMX_QUEUE_CREATE,
	/** @DRM_CMX_QUEUE_QUERY: state of a queue and what it waits for. */
	DRM_CMX_QUEUE_QUERY,
	/** @DRM_CMX_QUEUE_SET_STATE: move a queue to another state. */
	DRM_CMX_QUEUE_SET_STATE,
	/** @DRM_CMX_DESTROY: destroy a CQ, RQ, queue or timeline handle. */
	DRM_CMX_DESTROY,
	/** @DRM_CMX_TIMELINE_CREATE: create a virtual clock. */
	DRM_CMX_TIMELINE_CREATE,
	/** @DRM_CMX_TIMELINE_EXPORT: get a file descriptor for a timeline. */
	DRM_CMX_TIMELINE_EXPORT,
	/** @DRM_CMX_TIMELINE_IMPORT: join a timeline by its file descriptor. */
	DRM_CMX_TIMELINE_IMPORT,
	/** @DRM_CMX_TIMELINE_QUERY: clock, counters and mmap offsets of a timeline. */
	DRM_CMX_TIMELINE_QUERY,
	/** @DRM_CMX_ACTOR: add or remove a submitter of a timeline. */
	DRM_CMX_ACTOR,
	/** @DRM_CMX_RUN: carry out commands until a condition is met. */
	DRM_CMX_RUN,
	/** @DRM_CMX_WAKE: wake runners that sleep (the doorbell's slow path). */
	DRM_CMX_WAKE,
	/** @DRM_CMX_SIGNAL: a host store that waiters see. */
	DRM_CMX_SIGNAL,
	/** @DRM_CMX_EVENTS: take events off this file's list. */
	DRM_CMX_EVENTS,
};

/** struct drm_cmx_array - an array in user memory. */
struct drm_cmx_array {
	/** @stride: bytes from one element to the next; at least the first version's size. */
	__u32 stride;
	/** @count: elements. */
	__u32 count;
	/** @pointer: address of the first element. */
	__u64 pointer;
};

/* ------------------------------------------------------------------ information */

/** enum drm_cmx_info_type - what DRM_IOCTL_CMX_INFO returns. */
enum drm_cmx_info_type {
	/** @CMX_INFO_DEVICE: struct drm_cmx_info_device. */
	CMX_INFO_DEVICE = 0,
	/** @CMX_INFO_LIMITS: struct drm_cmx_info_limits. */
	CMX_INFO_LIMITS,
	/** @CMX_INFO_ENTITY: struct drm_cmx_info_entity of entity @index. */
	CMX_INFO_ENTITY,
	/** @CMX_INFO_CLIENT: struct drm_cmx_info_client of this file. */
	CMX_INFO_CLIENT,
	/** @CMX_INFO_EXTACK: struct drm_cmx_info_extack, the calling thread's last refusal. */
	CMX_INFO_EXTACK,
};

/**
 * struct drm_cmx_info - query.
 *
 * With @pointer 0 nothing is copied and @size returns the structure's size.  Else
 * min(@size, known size) bytes are written and @size returns how many.
 */
struct drm_cmx_info {
	/** @type: enum drm_cmx_info_type. */
	__u32 type;
	/** @index: entity index for CMX_INFO_ENTITY, else 0. */
	__u32 index;
	/** @size: in: bytes at @pointer; out: bytes written, or needed. */
	__u32 size;
	/** @pad: must be zero. */
	__u32 pad;
	/** @pointer: user address of the structure, or 0. */
	__u64 pointer;
};

/* Bits of drm_cmx_info_device.caps: what this module carries out. */
#define CMX_CAP_NO_DATA		(1ULL << 0)	/* BOs without bytes, time-only runs */
#define CMX_CAP_PRIME		(1ULL << 1)	/* BOs as dma-buf file descriptors */
#define CMX_CAP_SHARED_TIMELINE	(1ULL << 2)	/* timelines as file descriptors */
#define CMX_CAP_FREE_RUNNING	(1ULL << 3)	/* timelines that do not wait for actors */
#define CMX_CAP_LAUNCH		(1ULL << 4)	/* kernel launches on stream queues */
#define CMX_CAP_RECORD		(1ULL << 5)	/* remote traffic recorded by launches */
#define CMX_CAP_RQ		(1ULL << 6)	/* receive rings: SEND and WRITE_IMM */
#define CMX_CAP_SEGMENT		(1ULL << 7)	/* exported segments and tokens */
#define CMX_CAP_PLANES		(1ULL << 8)	/* queues that choose their planes */
#define CMX_CAP_FIXED_COST	(1ULL << 9)	/* launches with a fixed time (fixed_ns) */

/** struct drm_cmx_info_device - the machine. */
struct drm_cmx_info_device {
	/** @abi_major: CMX_ABI_MAJOR of the module; another number is another interface. */
	__u32 abi_major;
	/** @abi_minor: CMX_ABI_MINOR of the module; a larger one only adds. */
	__u32 abi_minor;
	/** @ring_version: CMX_RING_VERSION, passed back in queue creation. */
	__u32 ring_version;
	/** @page_size: bytes of a page; granularity of mappings. */
	__u32 page_size;
	/** @num_nodes: nodes of the supernode. */
	__u32 num_nodes;
	/** @num_npus: NPUs; an NPU has two dies. */
	__u32 num_npus;
	/** @num_dies: dies; entities 0 to num_dies - 1. */
	__u32 num_dies;
	/** @num_sockets: CPU sockets; entities num_dies to num_entities - 1. */
	__u32 num_sockets;
	/** @num_entities: dies and sockets. */
	__u32 num_entities;
	/** @pad: zero. */
	__u32 pad;
	/** @caps: CMX_CAP_* bits. */
	__u64 caps;
	/** @opcodes: bit n of word n / 64 set: entry opcode n is carried out. */
	__u64 opcodes[4];
	/** @profile: name of the machine's profile, zero terminated. */
	__u8 profile[32];
};

/** struct drm_cmx_info_limits - largest values, per file unless said otherwise. */
struct drm_cmx_info_limits {
	/** @max_queues: queues. */
	__u32 max_queues;
	/** @max_cqs: completion rings. */
	__u32 max_cqs;
	/** @max_rqs: receive rings. */
	__u32 max_rqs;
	/** @max_bos: BO handles created. */
	__u32 max_bos;
	/** @max_mappings: mappings. */
	__u32 max_mappings;
	/** @max_ring_pages: pages of rings, status and doorbells. */
	__u32 max_ring_pages;
	/** @max_timelines: timelines. */
	__u32 max_timelines;
	/** @max_actors: actors, over all timelines. */
	__u32 max_actors;
	/** @max_slots: slots of one queue or receive ring (a power of two). */
	__u32 max_slots;
	/** @max_cqes: entries of one completion ring (a power of two). */
	__u32 max_cqes;
	/** @max_inflight: entries of one queue issued and not complete. */
	__u32 max_inflight;
	/** @max_sge: gather or scatter elements inside an entry. */
	__u32 max_sge;
	/** @max_sg_list: elements of a CMX_OP_COPY_SG list, rows of a CMX_OP_COPY_2D. */
	__u32 max_sg_list;
	/** @max_inline: inline bytes of an entry. */
	__u32 max_inline;
	/** @max_args: inline argument bytes of a launch. */
	__u32 max_args;
	/** @max_batch: launches handed out by one RUN. */
	__u32 max_batch;
	/** @max_records: records of one launch. */
	__u32 max_records;
	/** @max_events: events kept before they are counted as lost. */
	__u32 max_events;
	/** @va_bits: device VAs are below 1 << va_bits. */
	__u32 va_bits;
	/** @max_chunk: bytes of the largest contiguous piece that backs a BO. */
	__u32 max_chunk;
	/** @max_len: bytes one entry may move. */
	__u64 max_len;
	/** @max_bo_size: bytes of one BO. */
	__u64 max_bo_size;
};

/** enum drm_cmx_entity_kind - kinds of entities. */
enum drm_cmx_entity_kind {
	/** @CMX_ENTITY_DIE: half an NPU: cube and vector cores, HBM, SDMA. */
	CMX_ENTITY_DIE = 0,
	/** @CMX_ENTITY_SOCKET: a CPU socket: its memory. */
	CMX_ENTITY_SOCKET = 1,
};

/** enum drm_cmx_op_class - number format of a launch's cube operations. */
enum drm_cmx_op_class {
	/** @CMX_OPS_INT8: 8-bit integers. */
	CMX_OPS_INT8 = 0,
	/** @CMX_OPS_BF16: bfloat16. */
	CMX_OPS_BF16,
	/** @CMX_OPS_F16: half precision. */
	CMX_OPS_F16,
	/** @CMX_OPS_F32: single precision. */
	CMX_OPS_F32,
	/** @CMX_OPS_CLASSES: number of classes. */
	CMX_OPS_CLASSES,
};

/** struct drm_cmx_info_entity - one die or socket. */
struct drm_cmx_info_entity {
	/** @kind: enum drm_cmx_entity_kind. */
	__u32 kind;
	/** @node: node it is in. */
	__u32 node;
	/** @npu: NPU index in the node (dies), else ~0. */
	__u32 npu;
	/** @unit: die index in the NPU, or socket index in the node. */
	__u32 unit;
	/** @cna: primary compact network address. */
	__u32 cna;
	/** @upi: partition. */
	__u32 upi;
	/** @cube_cores: cube cores (AIC). */
	__u32 cube_cores;
	/** @vector_cores: vector cores (AIV). */
	__u32 vector_cores;
	/** @eid: entity identifier, network byte order. */
	__u8 eid[16];
	/** @guid: global identity. */
	__u8 guid[16];
	/** @capacity: bytes of memory. */
	__u64 capacity;
	/** @used: bytes charged to BOs. */
	__u64 used;
	/** @resident: bytes of host memory behind them. */
	__u64 resident;
	/** @mem_rate: bytes/s of the memory. */
	__u64 mem_rate;
	/** @port_rate: bytes/s of the UB port, one way. */
	__u64 port_rate;
	/** @cube_rate: operations/s of all cube cores, by enum drm_cmx_op_class. */
	__u64 cube_rate[4];
	/** @vector_rate: operations/s of all vector cores. */
	__u64 vector_rate;
};

/** struct drm_cmx_info_client - what this file holds. */
struct drm_cmx_info_client {
	/** @queues: queues. */
	__u32 queues;
	/** @cqs: completion rings. */
	__u32 cqs;
	/** @rqs: receive rings. */
	__u32 rqs;
	/** @bos: BO handles created by this file. */
	__u32 bos;
	/** @mappings: mappings. */
	__u32 mappings;
	/** @ring_pages: pages of rings, status and doorbells. */
	__u32 ring_pages;
	/** @timelines: timelines joined. */
	__u32 timelines;
	/** @actors: actors. */
	__u32 actors;
	/** @commands: entries carried out. */
	__u64 commands;
	/** @launches: launches carried out. */
	__u64 launches;
	/** @bytes: bytes moved by commands and records. */
	__u64 bytes;
	/** @events_lost: events lost since the file was opened. */
	__u64 events_lost;
};

/** struct drm_cmx_info_extack - why the calling thread's last refused call was refused. */
struct drm_cmx_info_extack {
	/** @nr: ioctl number (enum drm_cmx_ioctl_id); ~0: mmap() or one of DRM's ioctls. */
	__u32 nr;
	/** @error: positive errno. */
	__u32 error;
	/** @value: the offending value. */
	__u64 value;
	/** @limit: what it was compared with. */
	__u64 limit;
	/** @field: name of the field, zero terminated. */
	__u8 field[24];
	/** @text: sentence for people, zero terminated. */
	__u8 text[80];
};

/* ----------------------------------------------------------------------- memory */

/* Capacity is accounted, bytes never exist: copies from it give zeros, to it are dropped. */
#define CMX_BO_NO_DATA		(1U << 0)
#define CMX_BO_FLAGS		(CMX_BO_NO_DATA)

/**
 * struct drm_cmx_bo_create - allocate memory on an entity.
 *
 * Nothing is backed by host memory before it is touched.  The size is charged to the
 * entity until the last reference (handle, mapping, mmap, dma-buf) is gone.  Handles
 * are GEM handles: DRM_IOCTL_GEM_CLOSE and the PRIME ioctls take them.
 *
 * ENOSPC: over the entity's capacity (@free tells what is left); EMFILE: too many.
 */
struct drm_cmx_bo_create {
	/** @size: bytes; a multiple of the page size, not zero. */
	__u64 size;
	/** @entity: entity index. */
	__u32 entity;
	/** @flags: CMX_BO_*. */
	__u32 flags;
	/** @handle: out. */
	__u32 handle;
	/** @pad: must be zero. */
	__u32 pad;
	/** @mmap_offset: out: file offset for mmap(), 0 for CMX_BO_NO_DATA. */
	__u64 mmap_offset;
	/** @free: out, also when refused with ENOSPC: bytes the entity has left. */
	__u64 free;
};

/** struct drm_cmx_bo_query - what a BO is. */
struct drm_cmx_bo_query {
	/** @handle: BO. */
	__u32 handle;
	/** @entity: out. */
	__u32 entity;
	/** @flags: out: CMX_BO_*. */
	__u32 flags;
	/** @chunk: out: bytes of a contiguous piece. */
	__u32 chunk;
	/** @size: out: bytes. */
	__u64 size;
	/** @resident: out: bytes backed by host memory. */
	__u64 resident;
	/** @mmap_offset: out: file offset for mmap(). */
	__u64 mmap_offset;
};

#define CMX_MAP_READ		(1U << 0)	/* commands may read */
#define CMX_MAP_WRITE		(1U << 1)	/* commands may write, signal, do atomics */
#define CMX_MAP_FLAGS		(CMX_MAP_READ | CMX_MAP_WRITE)

/**
 * struct drm_cmx_map - map a range of a BO at a device VA.
 *
 * EEXIST: overlaps a mapping; EMFILE: too many mappings.  The same BO may be mapped
 * several times.  The kernel never looks at the process's own address space: that a
 * device VA equals a process VA is the library's policy.
 */
struct drm_cmx_map {
	/** @handle: BO. */
	__u32 handle;
	/** @flags: CMX_MAP_*, at least one. */
	__u32 flags;
	/** @offset: first byte in the BO, page aligned. */
	__u64 offset;
	/** @va: device VA, page aligned, not zero; @va + @size at most 1 << va_bits. */
	__u64 va;
	/** @size: bytes, page aligned, not zero. */
	__u64 size;
};

/**
 * struct drm_cmx_unmap - remove all mappings inside a range.
 *
 * ENOENT: there is none; EINVAL: a mapping is only partly inside (nothing is removed).
 */
struct drm_cmx_unmap {
	/** @va: device VA, page aligned. */
	__u64 va;
	/** @size: bytes, page aligned, not zero. */
	__u64 size;
};

/* ------------------------------------------------------------------------ rings */

/**
 * DOC: Rings
 *
 * Ring memory belongs to the kernel and is mapped in two parts: one the client
 * writes, one it can only read (mprotect() does not change that).  Indices are
 * free-running u32 counted in slots (queues, receive rings) or entries (completion
 * rings); index modulo the ring size is the place.  Each index has one writer.
 *
 * The kernel keeps its own copies of its indices and never reads back what it
 * published.  It copies an entry before looking at it.  A tail further than the ring
 * size ahead of the head moves the queue to UB_QUEUE_ERROR.
 *
 * Mappings must be shared, whole, not executable; they are not inherited by fork()
 * and cannot be moved or grown.  After the object is destroyed, or the device
 * removed, the addresses stay valid and show private scratch memory.
 *
 * Submitting: write the slots, store @tail with release order, set the queue's bit in
 * the doorbell page (atomic OR with release order: the tail is seen before the bit),
 * full barrier, read @need_wakeup of the timeline's status page, and call
 * DRM_IOCTL_CMX_WAKE if it is not zero.  A runner that is about
 * to sleep sets @need_wakeup, does a full barrier, looks at the doorbells once more
 * and sleeps only if there are none: one of the two sees the other.
 */

/** struct cmx_ring_producer - start of the client-written part of a queue or receive ring. */
struct cmx_ring_producer {
	/** @tail: slots ever written; store with release order after the slots. */
	__u32 tail;
	/** @pad: not looked at. */
	__u32 pad[15];
};

/** struct cmx_ring_consumer - the read-only part of a queue or receive ring. */
struct cmx_ring_consumer {
	/** @head: slots ever taken; a slot before it may be written again. */
	__u32 head;
	/** @state: enum ub_queue_state. */
	__u32 state;
	/** @status: enum ub_cr_status that moved the queue to UB_QUEUE_ERROR. */
	__u32 status;
	/** @generation: counts entries into UB_QUEUE_READY. */
	__u32 generation;
	/** @pad: zero. */
	__u32 pad[12];
};

/** struct cmx_cq_producer - start of the read-only part of a completion ring. */
struct cmx_cq_producer {
	/** @tail: entries ever written; load with acquire order before the entries. */
	__u32 tail;
	/** @flags: CMX_CQ_STATE_*. */
	__u32 flags;
	/** @lost: completions lost (CMX_CQ_OVERFLOW_ERROR only). */
	__u32 lost;
	/** @pad: zero. */
	__u32 pad[13];
};

#define CMX_CQ_STATE_ERROR	(1U << 0)	/* overflowed: nothing more is written */

/** struct cmx_cq_consumer - the client-written part of a completion ring. */
struct cmx_cq_consumer {
	/** @head: entries ever read; store with release order after reading them. */
	__u32 head;
	/**
	 * @arm: CMX_CQ_ARM_*: ask for one event (CMX_EVENT_CQ) at the next completion;
	 * the kernel clears it when it sends the event.  Look at the ring once more
	 * after arming.
	 */
	__u32 arm;
	/** @pad: not looked at. */
	__u32 pad[14];
};

#define CMX_CQ_ARM_ANY		1U	/* any completion */
#define CMX_CQ_ARM_SOLICITED	2U	/* a solicited receive completion, or an error */

/** struct cmx_timeline_status - read-only page of a timeline, one per file. */
struct cmx_timeline_status {
	/** @now_ps: virtual time of the last command carried out. */
	__u64 now_ps;
	/** @need_wakeup: not zero: a runner of this file sleeps; DRM_IOCTL_CMX_WAKE wakes it. */
	__u32 need_wakeup;
	/** @flags: CMX_TIMELINE_*. */
	__u32 flags;
	/** @pad: zero. */
	__u32 pad[12];
};

/* The doorbell page is 512 u64 words; queue d's bit is word d / 64, bit d % 64. */
#define CMX_DOORBELL_WORDS	512

/** struct cmx_cqe - completion, one slot. */
struct cmx_cqe {
	/** @user_ctx: the entry's @user_ctx (for receives: the receive entry's). */
	__u64 user_ctx;
	/** @imm: immediate, invalidated token, or the old value of an atomic. */
	__u64 imm;
	/** @time_ps: virtual time of completion. */
	__u64 time_ps;
	/** @len: bytes moved. */
	__u64 len;
	/** @remote_eid: EID of the other side (receives), network byte order. */
	__u8 remote_eid[16];
	/** @remote_id: the sender's queue (receives). */
	__u32 remote_id;
	/** @local_id: queue or receive ring this belongs to. */
	__u32 local_id;
	/** @remote_uasid: user address-space id of the sender (receives). */
	__u32 remote_uasid;
	/** @status: enum ub_cr_status or enum cmx_status. */
	__u8 status;
	/** @opcode: entry opcode, or enum ub_cr_opcode for receives. */
	__u8 opcode;
	/** @flags: CMX_CQE_*. */
	__u8 flags;
	/** @pad: zero. */
	__u8 pad;
};

#define CMX_CQE_RECV		(1U << 0)	/* belongs to a receive ring */
#define CMX_CQE_MARKER		(1U << 1)	/* flush or suspend marker, no user_ctx */
#define CMX_CQE_EXTRAPOLATED	(1U << 2)	/* time outside the range of the calibration */

/** enum cmx_status - statuses beside enum ub_cr_status. */
enum cmx_status {
	/** @CMX_CR_CANCELED: the thread that had the launch, or the client, ended. */
	CMX_CR_CANCELED = 64,
	/** @CMX_CR_KERNEL_ERR: the NPU kernel reported a failure (CQE @imm: its code). */
	CMX_CR_KERNEL_ERR = 65,
	/** @CMX_CR_RECORD_ERR: a record of the launch was refused (CQE @imm: its index). */
	CMX_CR_RECORD_ERR = 66,
	/** @CMX_CR_TIME_OVERFLOW: the virtual clock would pass 2^64 - 1 ps. */
	CMX_CR_TIME_OVERFLOW = 67,
	/** @CMX_CR_ENTITY_DOWN: the entity of the queue is down. */
	CMX_CR_ENTITY_DOWN = 68,
};

/* ---------------------------------------------------------------------- entries */

/** enum cmx_opcode - operations beside enum ub_opcode. */
enum cmx_opcode {
	/** @CMX_OP_COPY: struct cmx_entry_copy, one row. */
	CMX_OP_COPY = 0x90,
	/** @CMX_OP_COPY_2D: struct cmx_entry_copy, rows with pitches. */
	CMX_OP_COPY_2D = 0x91,
	/** @CMX_OP_COPY_SG: struct cmx_entry_copy_sg, a list in memory. */
	CMX_OP_COPY_SG = 0x92,
	/** @CMX_OP_FILL: struct cmx_entry_fill. */
	CMX_OP_FILL = 0x93,
	/** @CMX_OP_WAIT: struct cmx_entry_wait. */
	CMX_OP_WAIT = 0xa0,
	/** @CMX_OP_SIGNAL: struct cmx_entry_signal. */
	CMX_OP_SIGNAL = 0xa1,
	/** @CMX_OP_TIMESTAMP: struct cmx_entry_sync: the virtual time is stored at @va. */
	CMX_OP_TIMESTAMP = 0xa2,
	/** @CMX_OP_BARRIER: struct cmx_entry_sync: waits for all earlier entries. */
	CMX_OP_BARRIER = 0xa3,
	/** @CMX_OP_DELAY: struct cmx_entry_delay: takes a time of the client's choice. */
	CMX_OP_DELAY = 0xa4,
	/** @CMX_OP_LAUNCH: struct cmx_entry_launch, stream queues only. */
	CMX_OP_LAUNCH = 0xb0,
};

#define CMX_SLOT_SIZE		64	/* bytes of a slot */
#define CMX_ENTRY_MAX_SLOTS	4	/* slots of the largest entry */

/* Flags of an entry. */
#define CMX_ENTRY_COMPLETE	(1U << 0)	/* completion also on success */
#define CMX_ENTRY_SOLICITED	(1U << 1)	/* wakes CMX_CQ_ARM_SOLICITED at the receiver */
#define CMX_ENTRY_FENCE		(1U << 2)	/* waits for all earlier reads and atomics */
#define CMX_ENTRY_INLINE	(1U << 3)	/* slots 2 and 3 hold the bytes */
#define CMX_ENTRY_OVERLAP	(1U << 4)	/* the next entry does not wait for this one */
#define CMX_ENTRY_COMP_ORDER	(1U << 5)	/* completes after all earlier entries */
#define CMX_ENTRY_FLAGS		((1U << 6) - 1)

/**
 * struct cmx_entry_header - start of every entry.
 *
 * Entries are carried out in order.  An entry is issued when the one before is
 * complete, or, after one with CMX_ENTRY_OVERLAP, when that one was issued.
 * CMX_ENTRY_OVERLAP is for operations that move bytes; LAUNCH and WAIT refuse it.
 */
struct cmx_entry_header {
	/** @slots: slots of the entry, 1 to 4. */
	__u8 slots;
	/** @opcode: enum ub_opcode or enum cmx_opcode. */
	__u8 opcode;
	/** @flags: CMX_ENTRY_*. */
	__u16 flags;
	/** @pad: must be zero. */
	__u32 pad;
	/** @user_ctx: returned in the completion. */
	__u64 user_ctx;
};

/**
 * struct cmx_entry_rma - UB_OP_* except UB_OP_NOP: first slot.
 *
 * Slots: 1; 2 with struct cmx_entry_rma_ext; 3 or 4 with gather/scatter elements
 * (struct cmx_entry_sgl) or inline bytes behind that.  The local side is @local_va or,
 * with @num_sge not zero, the elements; @len is the sum of their lengths.
 */
struct cmx_entry_rma {
	/** @header: see struct cmx_entry_header. */
	struct cmx_entry_header header;
	/** @local_va: local bytes; for atomics where the old value goes, or 0. */
	__u64 local_va;
	/** @remote_va: remote bytes (UBVA's VA); not for SEND. */
	__u64 remote_va;
	/** @len: bytes; 4 or 8 for atomics. */
	__u64 len;
	/** @value: immediate, notify value, or operand of an atomic. */
	__u64 value;
	/** @tseg: imported segment, or 0: this file's own address space. */
	__u32 tseg;
	/** @target: imported jetty, or a receive ring of this file. */
	__u32 target;
	/** @num_sge: elements, 0 to max_sge. */
	__u8 num_sge;
	/** @place_order: 0 none, 1 relaxed, 2 strong. */
	__u8 place_order;
	/** @pad: must be zero. */
	__u8 pad[6];
};

/** struct cmx_entry_rma_ext - UB_OP_*: second slot. */
struct cmx_entry_rma_ext {
	/** @notify_va: where UB_OP_WRITE_NOTIFY puts @value. */
	__u64 notify_va;
	/** @compare: what UB_OP_CAS compares with. */
	__u64 compare;
	/** @remote_eid: entity addressed without import, or zero. */
	__u8 remote_eid[16];
	/** @remote_uasid: address space addressed without import. */
	__u32 remote_uasid;
	/** @remote_id: jetty addressed without import. */
	__u32 remote_id;
	/** @token_id: segment context addressed without import. */
	__u32 token_id;
	/** @token: its token value. */
	__u32 token;
	/** @notify_tseg: segment of @notify_va, or 0. */
	__u32 notify_tseg;
	/** @invalidate_token: UB_OP_SEND_INVALIDATE: token to invalidate. */
	__u32 invalidate_token;
	/** @pad: must be zero. */
	__u64 pad;
};

/** struct cmx_sge - gather or scatter element. */
struct cmx_sge {
	/** @va: local bytes. */
	__u64 va;
	/** @len: bytes. */
	__u32 len;
	/** @seg: local segment, or 0: this file's own address space. */
	__u32 seg;
};

/** struct cmx_entry_sgl - slot of four gather or scatter elements; unused ones are zero. */
struct cmx_entry_sgl {
	/** @sge: elements. */
	struct cmx_sge sge[4];
};

/**
 * struct cmx_entry_copy - CMX_OP_COPY, CMX_OP_COPY_2D.
 *
 * What is read and what is written may not overlap (UB_CR_LOC_OPERATION_ERR; the same
 * goes for the elements of CMX_OP_COPY_SG and for READ and WRITE).
 */
struct cmx_entry_copy {
	/** @header: see struct cmx_entry_header. */
	struct cmx_entry_header header;
	/** @dst_va: first byte written. */
	__u64 dst_va;
	/** @src_va: first byte read. */
	__u64 src_va;
	/** @len: bytes of a row. */
	__u64 len;
	/** @dst_pitch: bytes from row to row, at least @len (2-D), else 0. */
	__u64 dst_pitch;
	/** @src_pitch: bytes from row to row, at least @len (2-D), else 0. */
	__u64 src_pitch;
	/** @rows: rows (2-D), else 0. */
	__u32 rows;
	/** @pad: must be zero. */
	__u32 pad;
};

/** struct cmx_entry_copy_sg - CMX_OP_COPY_SG. */
struct cmx_entry_copy_sg {
	/** @header: see struct cmx_entry_header. */
	struct cmx_entry_header header;
	/** @list_va: struct cmx_sg elements in device memory, 8-byte aligned. */
	__u64 list_va;
	/** @count: elements, 1 to max_sg_list. */
	__u32 count;
	/** @pad: must be zero. */
	__u32 pad;
	/** @reserved: must be zero. */
	__u64 reserved[4];
};

/** struct cmx_sg - element of a CMX_OP_COPY_SG list. */
struct cmx_sg {
	/** @dst_va: first byte written. */
	__u64 dst_va;
	/** @src_va: first byte read. */
	__u64 src_va;
	/** @len: bytes. */
	__u64 len;
	/** @pad: must be zero. */
	__u64 pad;
};

/** struct cmx_entry_fill - CMX_OP_FILL. */
struct cmx_entry_fill {
	/** @header: see struct cmx_entry_header. */
	struct cmx_entry_header header;
	/** @dst_va: first byte, a multiple of @pattern_size. */
	__u64 dst_va;
	/** @len: bytes, a multiple of @pattern_size. */
	__u64 len;
	/** @pattern: value, little endian. */
	__u64 pattern;
	/** @pattern_size: 1, 2, 4 or 8 bytes. */
	__u32 pattern_size;
	/** @pad: must be zero. */
	__u32 pad;
	/** @reserved: must be zero. */
	__u64 reserved[2];
};

/** enum cmx_cond - comparisons of a u64 in memory with a value. */
enum cmx_cond {
	/** @CMX_COND_EQ: equal. */
	CMX_COND_EQ = 0,
	/** @CMX_COND_NE: not equal. */
	CMX_COND_NE,
	/** @CMX_COND_GE: (s64)(memory - value) >= 0. */
	CMX_COND_GE,
	/** @CMX_COND_GT: (s64)(memory - value) > 0. */
	CMX_COND_GT,
};

/**
 * struct cmx_entry_wait - CMX_OP_WAIT.
 *
 * Compared when issued and at every device write, atomic or signal that touches the
 * 8 bytes, in virtual order; completes at the time of the one that satisfied it.
 * CPU stores are not seen: use DRM_IOCTL_CMX_SIGNAL.  Refused on CMX_BO_NO_DATA.
 */
struct cmx_entry_wait {
	/** @header: see struct cmx_entry_header. */
	struct cmx_entry_header header;
	/** @va: u64 in memory, 8-byte aligned. */
	__u64 va;
	/** @value: compared with. */
	__u64 value;
	/** @cond: enum cmx_cond. */
	__u32 cond;
	/** @pad: must be zero. */
	__u32 pad;
	/** @reserved: must be zero. */
	__u64 reserved[3];
};

/** enum cmx_signal_op - what a signal does to the u64. */
enum cmx_signal_op {
	/** @CMX_SIGNAL_SET: store the value. */
	CMX_SIGNAL_SET = 0,
	/** @CMX_SIGNAL_ADD: add the value. */
	CMX_SIGNAL_ADD,
};

/** struct cmx_entry_signal - CMX_OP_SIGNAL: change a u64 that others wait on. */
struct cmx_entry_signal {
	/** @header: see struct cmx_entry_header. */
	struct cmx_entry_header header;
	/** @va: u64 in memory, 8-byte aligned. */
	__u64 va;
	/** @value: operand. */
	__u64 value;
	/** @op: enum cmx_signal_op. */
	__u32 op;
	/** @pad: must be zero. */
	__u32 pad;
	/** @reserved: must be zero. */
	__u64 reserved[3];
};

/** struct cmx_entry_sync - CMX_OP_TIMESTAMP, CMX_OP_BARRIER, UB_OP_NOP. */
struct cmx_entry_sync {
	/** @header: see struct cmx_entry_header. */
	struct cmx_entry_header header;
	/** @va: where the timestamp goes, 8-byte aligned; else 0. */
	__u64 va;
	/** @reserved: must be zero. */
	__u64 reserved[5];
};

/** struct cmx_entry_delay - CMX_OP_DELAY: what a host or a library takes, on the clock. */
struct cmx_entry_delay {
	/** @header: see struct cmx_entry_header. */
	struct cmx_entry_header header;
	/** @ps: picoseconds from issue to completion, at most 2^63. */
	__u64 ps;
	/** @reserved: must be zero. */
	__u64 reserved[5];
};

/** enum cmx_efficiency - share of peak a launch reaches; values are in the profile. */
enum cmx_efficiency {
	/** @CMX_EFF_GEMM: dense matrix products. */
	CMX_EFF_GEMM = 0,
	/** @CMX_EFF_ATTENTION: fused attention. */
	CMX_EFF_ATTENTION,
	/** @CMX_EFF_VECTOR: element-wise work and reductions. */
	CMX_EFF_VECTOR,
	/** @CMX_EFF_CLASSES: number of classes. */
	CMX_EFF_CLASSES,
};

/**
 * struct cmx_cost - resources a launch uses.
 *
 * duration = launch overhead + fixed_ns + max(cube_ops / (rate(op_class) * cores * efficiency),
 * vector_ops / (rate * cores * efficiency), mem_bytes / (memory rate * efficiency)).
 */
struct cmx_cost {
	/** @cube_ops: multiply-add counts as two. */
	__u64 cube_ops;
	/** @vector_ops: operations on vector cores. */
	__u64 vector_ops;
	/** @mem_bytes: bytes read from and written to the die's own memory. */
	__u64 mem_bytes;
	/** @op_class: enum drm_cmx_op_class. */
	__u16 op_class;
	/** @efficiency: enum cmx_efficiency. */
	__u16 efficiency;
	/**
	 * @fixed_ns: nanoseconds that no rate explains, before the rest: what is done for each
	 * message, row or peer.  (1.1 had a field here that had to be zero.)
	 */
	__u32 fixed_ns;
};

#define CMX_LAUNCH_TIME_ONLY	(1U << 0)	/* not executed: @cost and @record_va are final */
#define CMX_LAUNCH_FLAGS	(CMX_LAUNCH_TIME_ONLY)
#define CMX_LAUNCH_MAX_ARGS	160

/**
 * struct cmx_entry_launch - CMX_OP_LAUNCH: 2 to 4 slots.
 *
 * Slots: 2 for up to 32 argument bytes, 3 for up to 96, 4 for up to 160.
 * @min_ps and @first_ps are promises: the outcome's cost may not give a shorter
 * duration, its records may not be earlier.  A promise broken fails the launch with
 * CMX_CR_KERNEL_ERR.
 */
struct cmx_entry_launch {
	/** @header: see struct cmx_entry_header. */
	struct cmx_entry_header header;
	/** @kernel: the client's name for the function; returned in the batch. */
	__u64 kernel;
	/** @grid: blocks, at least 1. */
	__u32 grid;
	/** @args_size: argument bytes, 0 to CMX_LAUNCH_MAX_ARGS. */
	__u16 args_size;
	/** @launch_flags: CMX_LAUNCH_*. */
	__u16 launch_flags;
	/** @min_ps: lower bound of the duration. */
	__u64 min_ps;
	/** @first_ps: lower bound of the first remote traffic, from the start; ~0: none. */
	__u64 first_ps;
	/** @record_va: CMX_LAUNCH_TIME_ONLY: struct cmx_record elements, or 0. */
	__u64 record_va;
	/** @record_count: elements at @record_va. */
	__u32 record_count;
	/** @pad: must be zero. */
	__u32 pad;
	/** @cost: declared cost; final for CMX_LAUNCH_TIME_ONLY. */
	struct cmx_cost cost;
	/** @args: first argument bytes; more in the slots behind. */
	__u8 args[32];
};

#define CMX_RECORD_DONE		(1U << 0)	/* bytes were moved already: charge only */
#define CMX_RECORD_FLAGS	(CMX_RECORD_DONE)

/**
 * struct cmx_record - remote traffic of a launch, to one destination.
 *
 * @opcode is UB_OP_WRITE (bytes), UB_OP_FADD, UB_OP_FAND, UB_OP_FOR, UB_OP_FXOR,
 * UB_OP_SWAP (atomic on @len 4 or 8 bytes, operand @value) or CMX_OP_SIGNAL (set the
 * u64 to @value).  Checked at the home side, charged to the fabric, applied at arrival.
 * Records are sorted by @at_ps.
 */
struct cmx_record {
	/** @opcode: see above. */
	__u8 opcode;
	/** @flags: CMX_RECORD_*. */
	__u8 flags;
	/** @pad: must be zero. */
	__u16 pad;
	/** @messages: messages the bytes were sent in, at least 1. */
	__u32 messages;
	/** @at_ps: when sent, from the launch's start. */
	__u64 at_ps;
	/** @va: remote bytes. */
	__u64 va;
	/** @src_va: bytes to write, read at arrival. */
	__u64 src_va;
	/** @len: bytes. */
	__u64 len;
	/** @value: operand. */
	__u64 value;
	/** @tseg: imported segment, or 0. */
	__u32 tseg;
	/** @pad2: must be zero. */
	__u32 pad2;
	/** @reserved: must be zero. */
	__u64 reserved;
};

/** struct cmx_rq_entry - entry of a receive ring, one slot. */
struct cmx_rq_entry {
	/** @slots: 1. */
	__u8 slots;
	/** @num_sge: scatter elements, 1 or 2. */
	__u8 num_sge;
	/** @pad: must be zero. */
	__u16 pad;
	/** @pad2: must be zero. */
	__u32 pad2;
	/** @user_ctx: returned in the completion. */
	__u64 user_ctx;
	/** @sge: where the bytes go. */
	struct cmx_sge sge[2];
	/** @reserved: must be zero. */
	__u64 reserved[2];
};

/* -------------------------------------------------------------- queues and rings */

/** enum drm_cmx_cq_policy - what happens when a completion ring is full. */
enum drm_cmx_cq_policy {
	/** @CMX_CQ_BACKPRESSURE: an entry is not issued before there is room for it. */
	CMX_CQ_BACKPRESSURE = 0,
	/** @CMX_CQ_OVERFLOW_ERROR: the completion is lost, the ring fails, CMX_EVENT_CQ_ERROR. */
	CMX_CQ_OVERFLOW_ERROR,
};

/** struct drm_cmx_cq_create - create a completion ring.  EMFILE: too many. */
struct drm_cmx_cq_create {
	/** @entries: a power of two, at least 2. */
	__u32 entries;
	/** @policy: enum drm_cmx_cq_policy. */
	__u32 policy;
	/** @flags: must be zero. */
	__u32 flags;
	/** @handle: out. */
	__u32 handle;
	/** @ro_offset: out: mmap offset of struct cmx_cq_producer, then entries at 64. */
	__u64 ro_offset;
	/** @ro_size: out: bytes. */
	__u64 ro_size;
	/** @rw_offset: out: mmap offset of struct cmx_cq_consumer. */
	__u64 rw_offset;
	/** @rw_size: out: bytes. */
	__u64 rw_size;
};

/** struct drm_cmx_rq_create - create a receive ring.  EMFILE: too many. */
struct drm_cmx_rq_create {
	/** @slots: a power of two, at least 2. */
	__u32 slots;
	/** @cq: completion ring for receives. */
	__u32 cq;
	/** @flags: must be zero. */
	__u32 flags;
	/** @limit: CMX_EVENT_RQ_LIMIT when fewer entries are left; 0: never. */
	__u32 limit;
	/** @token_policy: enum ub_token_policy; UB_TOKEN_NONE or UB_TOKEN_PLAIN_TEXT. */
	__u32 token_policy;
	/** @token: token value. */
	__u32 token;
	/** @entity: entity the ring belongs to. */
	__u32 entity;
	/** @handle: out. */
	__u32 handle;
	/** @rw_offset: out: mmap offset of struct cmx_ring_producer, then slots at 64. */
	__u64 rw_offset;
	/** @rw_size: out: bytes. */
	__u64 rw_size;
	/** @ro_offset: out: mmap offset of struct cmx_ring_consumer. */
	__u64 ro_offset;
	/** @ro_size: out: bytes. */
	__u64 ro_size;
};

/** enum drm_cmx_queue_class - what a queue does. */
enum drm_cmx_queue_class {
	/** @CMX_QUEUE_STREAM: compute: LAUNCH and all CMX_OP_*; dies only. */
	CMX_QUEUE_STREAM = 0,
	/** @CMX_QUEUE_SDMA: copies: all CMX_OP_* except LAUNCH. */
	CMX_QUEUE_SDMA,
	/** @CMX_QUEUE_UB: send side of a jetty: UB_OP_*, WAIT, SIGNAL, TIMESTAMP, BARRIER. */
	CMX_QUEUE_UB,
};

#define CMX_PLANE_BIT_RDMA	(1U << 16)	/* the RDMA plane */
#define CMX_PLANE_BIT_VPC	(1U << 17)	/* the VPC plane */

/** struct drm_cmx_queue_create - create a queue on an entity.  EMFILE: too many. */
struct drm_cmx_queue_create {
	/** @timeline: timeline handle, 0: the default one. */
	__u32 timeline;
	/** @entity: entity index. */
	__u32 entity;
	/** @queue_class: enum drm_cmx_queue_class. */
	__u32 queue_class;
	/** @flags: must be zero. */
	__u32 flags;
	/** @slots: a power of two, at least 4. */
	__u32 slots;
	/** @cq: completion ring. */
	__u32 cq;
	/** @rq: receive ring (CMX_QUEUE_UB), or 0. */
	__u32 rq;
	/** @ring_version: CMX_RING_VERSION. */
	__u32 ring_version;
	/** @cube_cores: share of the die's cube cores (CMX_QUEUE_STREAM; 0: all), else 0. */
	__u32 cube_cores;
	/** @vector_cores: share of the vector cores (CMX_QUEUE_STREAM; 0: all), else 0. */
	__u32 vector_cores;
	/** @trans_mode: one bit of enum ub_trans_mode (CMX_QUEUE_UB), else 0. */
	__u32 trans_mode;
	/** @order_type: enum ub_order_type (CMX_QUEUE_UB), else 0. */
	__u32 order_type;
	/** @priority: 0 to 15. */
	__u32 priority;
	/** @rnr_retry: 0 to 7 (CMX_QUEUE_UB); 7: without limit. */
	__u32 rnr_retry;
	/** @err_timeout: 0 to 31: 4.096 us << n (CMX_QUEUE_UB). */
	__u32 err_timeout;
	/**
	 * @planes: what its transfers go over: bits of UB planes, CMX_PLANE_BIT_RDMA (dies
	 * only) or CMX_PLANE_BIT_VPC (sockets only); 0: all UB planes, and the link between
	 * the two dies of an NPU.  (1.0 had a field here that had to be zero.)
	 */
	__u32 planes;
	/** @handle: out. */
	__u32 handle;
	/** @doorbell: out: bit in the timeline's doorbell page. */
	__u32 doorbell;
	/** @rw_offset: out: mmap offset of struct cmx_ring_producer, then slots at 64. */
	__u64 rw_offset;
	/** @rw_size: out: bytes. */
	__u64 rw_size;
	/** @ro_offset: out: mmap offset of struct cmx_ring_consumer. */
	__u64 ro_offset;
	/** @ro_size: out: bytes. */
	__u64 ro_size;
};

/** enum drm_cmx_waiting - what a queue waits for. */
enum drm_cmx_waiting {
	/** @CMX_WAITING_NOTHING: it has work and is due. */
	CMX_WAITING_NOTHING = 0,
	/** @CMX_WAITING_ENTRY: its ring is empty. */
	CMX_WAITING_ENTRY,
	/** @CMX_WAITING_MEMORY: a WAIT's value. */
	CMX_WAITING_MEMORY,
	/** @CMX_WAITING_CQ: room in its completion ring. */
	CMX_WAITING_CQ,
	/** @CMX_WAITING_OUTCOME: a launch that a thread has. */
	CMX_WAITING_OUTCOME,
	/** @CMX_WAITING_STATE: it is not in UB_QUEUE_READY. */
	CMX_WAITING_STATE,
	/** @CMX_WAITING_RECEIVE: a receive entry at the target. */
	CMX_WAITING_RECEIVE,
	/** @CMX_WAITING_COMPLETION: an earlier entry's completion on the virtual clock. */
	CMX_WAITING_COMPLETION,
};

/** struct drm_cmx_queue_query - state of a queue. */
struct drm_cmx_queue_query {
	/** @handle: queue. */
	__u32 handle;
	/** @state: out: enum ub_queue_state. */
	__u32 state;
	/** @status: out: status that moved it to UB_QUEUE_ERROR. */
	__u32 status;
	/** @waiting: out: enum drm_cmx_waiting. */
	__u32 waiting;
	/** @head: out: slots taken. */
	__u32 head;
	/** @tail: out: slots written, as last seen. */
	__u32 tail;
	/** @inflight: out: entries issued and not complete. */
	__u32 inflight;
	/** @opcode: out: opcode of the oldest of them, or ~0. */
	__u32 opcode;
	/** @ready_ps: out: when the next entry may be issued. */
	__u64 ready_ps;
	/** @wait_va: out: address of CMX_WAITING_MEMORY. */
	__u64 wait_va;
	/** @wait_value: out: its value. */
	__u64 wait_value;
	/** @wait_cond: out: its enum cmx_cond. */
	__u32 wait_cond;
	/** @owner: out: thread id of CMX_WAITING_OUTCOME, else 0. */
	__u32 owner;
	/** @commands: out: entries completed. */
	__u64 commands;
	/** @bytes: out: bytes moved. */
	__u64 bytes;
};

/**
 * struct drm_cmx_queue_set_state - move a queue to another state.
 *
 * READY to ERROR: entries left complete with UB_CR_WR_FLUSH_ERR, then a
 * UB_CR_WR_FLUSH_ERR_DONE marker.  ERROR to READY: only when the flush is done
 * (EBUSY).  Other moves: EINVAL.
 */
struct drm_cmx_queue_set_state {
	/** @handle: queue. */
	__u32 handle;
	/** @state: enum ub_queue_state. */
	__u32 state;
};

/** enum drm_cmx_object_type - types of handles. */
enum drm_cmx_object_type {
	/** @CMX_OBJECT_CQ: completion ring. */
	CMX_OBJECT_CQ = 1,
	/** @CMX_OBJECT_RQ: receive ring. */
	CMX_OBJECT_RQ,
	/** @CMX_OBJECT_QUEUE: queue. */
	CMX_OBJECT_QUEUE,
	/** @CMX_OBJECT_TIMELINE: timeline. */
	CMX_OBJECT_TIMELINE,
};

/**
 * struct drm_cmx_destroy - destroy an object.
 *
 * EBUSY: used by another object of this file (a CQ by a queue, a timeline by a queue).
 * A queue's outstanding entries are dropped without completions.
 */
struct drm_cmx_destroy {
	/** @type: enum drm_cmx_object_type. */
	__u32 type;
	/** @handle: object. */
	__u32 handle;
};

/* --------------------------------------------------------------------- timelines */

#define CMX_TIMELINE_FREE_RUNNING	(1U << 0)	/* does not wait for actors; approximate */
/* Out: another timeline, or a change of the machine while commands were under way, interfered. */
#define CMX_TIMELINE_NONDETERMINISTIC	(1U << 1)

/** struct drm_cmx_timeline_create - create a virtual clock.  EMFILE: too many. */
struct drm_cmx_timeline_create {
	/** @flags: CMX_TIMELINE_FREE_RUNNING or 0. */
	__u32 flags;
	/** @handle: out. */
	__u32 handle;
};

/** struct drm_cmx_timeline_export - file descriptor of a timeline (close on exec). */
struct drm_cmx_timeline_export {
	/** @handle: timeline, 0: the default one. */
	__u32 handle;
	/** @fd: out. */
	__s32 fd;
};

/**
 * struct drm_cmx_timeline_import - join a timeline.
 *
 * The file becomes a member with an actor of its own: the clock then also waits for
 * it.  A file's entries are carried out by its own threads: while one is due, the others
 * wait for a thread of that file in RUN, on a free-running timeline as well.
 *
 * EEXIST: the file is a member already.
 */
struct drm_cmx_timeline_import {
	/** @fd: file descriptor. */
	__s32 fd;
	/** @handle: out. */
	__u32 handle;
};

/** struct drm_cmx_timeline_query - state of a timeline. */
struct drm_cmx_timeline_query {
	/** @handle: timeline, 0: the default one. */
	__u32 handle;
	/** @flags: out: CMX_TIMELINE_*. */
	__u32 flags;
	/** @now_ps: out: virtual time. */
	__u64 now_ps;
	/** @doorbell_offset: out: mmap offset of this file's doorbell page, client-written. */
	__u64 doorbell_offset;
	/** @status_offset: out: mmap offset of struct cmx_timeline_status, one page. */
	__u64 status_offset;
	/** @members: out: files. */
	__u32 members;
	/** @actors: out: actors of all members. */
	__u32 actors;
	/** @actors_running: out: those that do not wait: the clock stands for them. */
	__u32 actors_running;
	/** @queues: out: queues of all members. */
	__u32 queues;
	/** @batches: out: batches of launches that threads have. */
	__u32 batches;
	/** @pad: zero. */
	__u32 pad;
	/** @commands: out: entries completed. */
	__u64 commands;
	/** @launches: out: launches completed. */
	__u64 launches;
	/** @bytes: out: bytes moved. */
	__u64 bytes;
};

/** enum drm_cmx_actor_op - operations on actors. */
enum drm_cmx_actor_op {
	/** @CMX_ACTOR_ADD: add one; it runs, that is, the clock stands until it waits. */
	CMX_ACTOR_ADD = 0,
	/** @CMX_ACTOR_REMOVE: remove one.  EBUSY: a thread waits in RUN for it. */
	CMX_ACTOR_REMOVE,
};

/**
 * struct drm_cmx_actor - add or remove a submitter of a timeline.
 *
 * Each member file has actor 0 from the start.  It can be removed as well, by a client
 * whose submitters are all added ones.
 */
struct drm_cmx_actor {
	/** @timeline: timeline, 0: the default one. */
	__u32 timeline;
	/** @op: enum drm_cmx_actor_op. */
	__u32 op;
	/** @actor: in (remove) or out (add): id in this file and timeline. */
	__u32 actor;
	/** @pad: must be zero. */
	__u32 pad;
};

/* --------------------------------------------------------------------------- RUN */

/** enum drm_cmx_until - condition that ends a RUN. */
enum drm_cmx_until {
	/** @CMX_UNTIL_NONE: none: a helper works until there is a batch. */
	CMX_UNTIL_NONE = 0,
	/** @CMX_UNTIL_CQ: @object's tail has reached @value (a u32 index). */
	CMX_UNTIL_CQ,
	/** @CMX_UNTIL_MEMORY: the u64 at @va compares with @value by @cond. */
	CMX_UNTIL_MEMORY,
	/** @CMX_UNTIL_TIME: the clock has reached @value ps. */
	CMX_UNTIL_TIME,
	/** @CMX_UNTIL_IDLE: every queue of this file on the timeline is empty and complete. */
	CMX_UNTIL_IDLE,
	/** @CMX_UNTIL_PROGRESS: an entry of this file completed, or all is idle (a poll). */
	CMX_UNTIL_PROGRESS,
};

/* RUN adds a thread and is no actor: the clock does not wait for the caller. */
#define CMX_RUN_HELPER		(1U << 0)
/* RUN does not sleep: CMX_RUN_AGAIN when it would have to. */
#define CMX_RUN_NOBLOCK		(1U << 1)
#define CMX_RUN_FLAGS		(CMX_RUN_HELPER | CMX_RUN_NOBLOCK)

/** enum drm_cmx_run_status - why RUN returned. */
enum drm_cmx_run_status {
	/** @CMX_RUN_DONE: the condition is met; the actor runs again. */
	CMX_RUN_DONE = 0,
	/** @CMX_RUN_BATCH: @launches has work; re-enter with outcomes; the actor still waits. */
	CMX_RUN_BATCH,
	/** @CMX_RUN_STALL: all actors wait and nothing is left that could end it. */
	CMX_RUN_STALL,
	/** @CMX_RUN_TIMEOUT: @host_timeout_ns passed. */
	CMX_RUN_TIMEOUT,
	/** @CMX_RUN_AGAIN: CMX_RUN_NOBLOCK, and something is outstanding elsewhere. */
	CMX_RUN_AGAIN,
	/** @CMX_RUN_INTERRUPTED: a signal came; outcomes were taken, the actor runs again. */
	CMX_RUN_INTERRUPTED,
};

/** struct drm_cmx_launch - one launch of a batch, filled by RUN. */
struct drm_cmx_launch {
	/** @queue: queue handle. */
	__u32 queue;
	/** @entity: entity the queue is on. */
	__u32 entity;
	/** @chain: launches with the same number run in order; after a failure skip the rest. */
	__u32 chain;
	/** @grid: blocks. */
	__u32 grid;
	/** @kernel: from the entry. */
	__u64 kernel;
	/** @user_ctx: from the entry. */
	__u64 user_ctx;
	/** @args_size: argument bytes. */
	__u32 args_size;
	/** @pad: zero. */
	__u32 pad;
	/** @cost: declared cost. */
	struct cmx_cost cost;
	/** @args: argument bytes. */
	__u8 args[CMX_LAUNCH_MAX_ARGS];
};

/** enum drm_cmx_outcome_status - how a launch ended. */
enum drm_cmx_outcome_status {
	/** @CMX_OUTCOME_OK: executed. */
	CMX_OUTCOME_OK = 0,
	/** @CMX_OUTCOME_FAILED: the kernel reported @code: CMX_CR_KERNEL_ERR. */
	CMX_OUTCOME_FAILED,
	/** @CMX_OUTCOME_SKIPPED: not executed, an earlier one of the chain failed. */
	CMX_OUTCOME_SKIPPED,
};

/** struct drm_cmx_outcome - what came of one launch; in the batch's order. */
struct drm_cmx_outcome {
	/** @status: enum drm_cmx_outcome_status. */
	__u32 status;
	/** @code: CMX_OUTCOME_FAILED: the kernel's code, not zero. */
	__u32 code;
	/** @cost: final cost. */
	struct cmx_cost cost;
	/** @records: struct cmx_record elements: remote traffic; a RUN takes 16 * max_records. */
	struct drm_cmx_array records;
};

/**
 * struct drm_cmx_run - carry out commands in the calling thread.
 *
 * Only a task of the process that opened the file may call it (EPERM).  A thread that
 * has a batch re-enters with all its outcomes; a thread that does not, and calls RUN
 * with @batch 0, gets EBUSY.  RUN is never restarted after a signal: it returns
 * CMX_RUN_INTERRUPTED.
 */
struct drm_cmx_run {
	/** @timeline: timeline, 0: the default one. */
	__u32 timeline;
	/** @flags: CMX_RUN_*. */
	__u32 flags;
	/** @actor: which actor waits; 0 with CMX_RUN_HELPER. */
	__u32 actor;
	/** @until: enum drm_cmx_until. */
	__u32 until;
	/** @object: CMX_UNTIL_CQ: completion ring, else 0. */
	__u32 object;
	/** @cond: CMX_UNTIL_MEMORY: enum cmx_cond, else 0. */
	__u32 cond;
	/** @va: CMX_UNTIL_MEMORY: u64 in device memory, else 0. */
	__u64 va;
	/** @value: see enum drm_cmx_until, else 0. */
	__u64 value;
	/** @host_timeout_ns: host time to give up after; 0: never. */
	__u64 host_timeout_ns;
	/** @batch: in: batch whose outcomes these are, or 0; out: batch handed out, or 0. */
	__u64 batch;
	/** @outcomes: in: struct drm_cmx_outcome, as many as the batch had. */
	struct drm_cmx_array outcomes;
	/** @launches: in: room for struct drm_cmx_launch; out: @count handed out. */
	struct drm_cmx_array launches;
	/** @status: out: enum drm_cmx_run_status. */
	__u32 status;
	/** @pad: must be zero. */
	__u32 pad;
	/** @now_ps: out: virtual time. */
	__u64 now_ps;
};

/** struct drm_cmx_wake - wake runners of this file that sleep. */
struct drm_cmx_wake {
	/** @timeline: timeline, 0: the default one. */
	__u32 timeline;
	/** @flags: must be zero. */
	__u32 flags;
};

/** struct drm_cmx_signal - change a u64 from the host so that waiters see it, now. */
struct drm_cmx_signal {
	/** @timeline: timeline, 0: the default one. */
	__u32 timeline;
	/** @op: enum cmx_signal_op. */
	__u32 op;
	/** @va: u64 in device memory, 8-byte aligned. */
	__u64 va;
	/** @value: operand. */
	__u64 value;
	/** @old: out: value before. */
	__u64 old;
};

/* ------------------------------------------------------------------------ events */

/** enum cmx_event_type - types of events. */
enum cmx_event_type {
	/** @CMX_EVENT_CQ: an armed completion ring (@object) got a completion. */
	CMX_EVENT_CQ = 1,
	/** @CMX_EVENT_CQ_ERROR: completion ring @object overflowed. */
	CMX_EVENT_CQ_ERROR,
	/** @CMX_EVENT_QUEUE_ERROR: queue @object went to UB_QUEUE_ERROR, @code: status. */
	CMX_EVENT_QUEUE_ERROR,
	/** @CMX_EVENT_RQ_LIMIT: receive ring @object has fewer entries than its limit. */
	CMX_EVENT_RQ_LIMIT,
	/** @CMX_EVENT_PEER_DIED: a member of timeline @object ended while it held work. */
	CMX_EVENT_PEER_DIED,
	/** @CMX_EVENT_DEVICE_GONE: the device was removed. */
	CMX_EVENT_DEVICE_GONE,
};

/** struct cmx_event - one event. */
struct cmx_event {
	/** @type: enum cmx_event_type. */
	__u32 type;
	/** @object: handle it is about. */
	__u32 object;
	/** @code: see the type. */
	__u32 code;
	/** @pad: zero. */
	__u32 pad;
	/** @time_ps: virtual time. */
	__u64 time_ps;
	/** @value: see the type. */
	__u64 value;
};

/**
 * struct drm_cmx_events - take events; poll() says POLLIN when there are any.
 *
 * Does not block.  @lost counts events lost since the last call that returned it;
 * while it is not zero, poll() says POLLPRI.
 */
struct drm_cmx_events {
	/** @events: in: room for struct cmx_event; out: @count returned. */
	struct drm_cmx_array events;
	/** @lost: out. */
	__u64 lost;
	/** @flags: must be zero. */
	__u32 flags;
	/** @pad: must be zero. */
	__u32 pad;
};

#define DRM_IOCTL_CMX(nr, type)	DRM_IOWR(DRM_COMMAND_BASE + (nr), struct type)

#define DRM_IOCTL_CMX_INFO		DRM_IOCTL_CMX(DRM_CMX_INFO, drm_cmx_info)
#define DRM_IOCTL_CMX_BO_CREATE		DRM_IOCTL_CMX(DRM_CMX_BO_CREATE, drm_cmx_bo_create)
#define DRM_IOCTL_CMX_BO_QUERY		DRM_IOCTL_CMX(DRM_CMX_BO_QUERY, drm_cmx_bo_query)
#define DRM_IOCTL_CMX_MAP		DRM_IOCTL_CMX(DRM_CMX_MAP, drm_cmx_map)
#define DRM_IOCTL_CMX_UNMAP		DRM_IOCTL_CMX(DRM_CMX_UNMAP, drm_cmx_unmap)
#define DRM_IOCTL_CMX_CQ_CREATE		DRM_IOCTL_CMX(DRM_CMX_CQ_CREATE, drm_cmx_cq_create)
#define DRM_IOCTL_CMX_RQ_CREATE		DRM_IOCTL_CMX(DRM_CMX_RQ_CREATE, drm_cmx_rq_create)
#define DRM_IOCTL_CMX_QUEUE_CREATE	DRM_IOCTL_CMX(DRM_CMX_QUEUE_CREATE, drm_cmx_queue_create)
#define DRM_IOCTL_CMX_QUEUE_QUERY	DRM_IOCTL_CMX(DRM_CMX_QUEUE_QUERY, drm_cmx_queue_query)
#define DRM_IOCTL_CMX_QUEUE_SET_STATE	\
	DRM_IOCTL_CMX(DRM_CMX_QUEUE_SET_STATE, drm_cmx_queue_set_state)
#define DRM_IOCTL_CMX_DESTROY		DRM_IOCTL_CMX(DRM_CMX_DESTROY, drm_cmx_destroy)
#define DRM_IOCTL_CMX_TIMELINE_CREATE	\
	DRM_IOCTL_CMX(DRM_CMX_TIMELINE_CREATE, drm_cmx_timeline_create)
#define DRM_IOCTL_CMX_TIMELINE_EXPORT	\
	DRM_IOCTL_CMX(DRM_CMX_TIMELINE_EXPORT, drm_cmx_timeline_export)
#define DRM_IOCTL_CMX_TIMELINE_IMPORT	\
	DRM_IOCTL_CMX(DRM_CMX_TIMELINE_IMPORT, drm_cmx_timeline_import)
#define DRM_IOCTL_CMX_TIMELINE_QUERY	\
	DRM_IOCTL_CMX(DRM_CMX_TIMELINE_QUERY, drm_cmx_timeline_query)
#define DRM_IOCTL_CMX_ACTOR		DRM_IOCTL_CMX(DRM_CMX_ACTOR, drm_cmx_actor)
#define DRM_IOCTL_CMX_RUN		DRM_IOCTL_CMX(DRM_CMX_RUN, drm_cmx_run)
#define DRM_IOCTL_CMX_WAKE		DRM_IOCTL_CMX(DRM_CMX_WAKE, drm_cmx_wake)
#define DRM_IOCTL_CMX_SIGNAL		DRM_IOCTL_CMX(DRM_CMX_SIGNAL, drm_cmx_signal)
#define DRM_IOCTL_CMX_EVENTS		DRM_IOCTL_CMX(DRM_CMX_EVENTS, drm_cmx_events)

#if defined(__cplusplus)
}
#endif

#endif /* _UAPI_CMX_DRM_H_ */
