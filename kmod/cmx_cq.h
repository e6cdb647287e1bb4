/* SPDX-License-Identifier: GPL-2.0-only */
/* Completion rings. */
#ifndef CMX_CQ_H
#define CMX_CQ_H

#include "cmx_drm.h"
#include "cmx_object.h"
#include "cmx_ring.h"

struct cmx_member;
struct cmx_queue;

/**
 * struct cmx_cq - a completion ring.
 *
 * Belongs to the timeline of the first queue that uses it; that timeline's lock
 * protects it from then on.  Queues of another timeline cannot use it.
 */
struct cmx_cq {
	/** @obj: base. */
	struct cmx_object obj;
	/** @ro: struct cmx_cq_producer and the entries. */
	struct cmx_shared *ro;
	/** @rw: struct cmx_cq_consumer. */
	struct cmx_shared *rw;
	/** @entries: a power of two. */
	u32 entries;
	/** @policy: enum drm_cmx_cq_policy. */
	u32 policy;
	/** @bind_lock: protects @detached, and @member while it is not set. */
	struct mutex bind_lock;
	/** @detached: the handle is gone: it binds no more. */
	bool detached;
	/** @member: timeline membership it is bound to, a user of it; or NULL. */
	struct cmx_member *member;
	/** @link: in cmx_member.cqs. */
	struct list_head link;
	/** @tail: entries ever written. */
	u32 tail;
	/** @reserved: entries promised to commands. */
	u32 reserved;
	/** @lost: completions lost. */
	u32 lost;
	/** @waiters: actors that wait for it. */
	u32 waiters;
	/** @failed: overflowed, or the client broke its index. */
	bool failed;
	/** @starved: queues that wait for room, by their @starved. */
	struct list_head starved;
};

static inline struct cmx_cq *to_cmx_cq(struct cmx_object *obj)
{
	return container_of(obj, struct cmx_cq, obj);
}

/* cmx_cq_bind() - bind to @member; -EINVAL: bound to another, -ENOENT: destroyed. */
int cmx_cq_bind(struct cmx_cq *cq, struct cmx_member *member);
/* cmx_cq_reserve() - promise one entry; false: no room (never with CMX_CQ_OVERFLOW_ERROR). */
bool cmx_cq_reserve(struct cmx_cq *cq);
/* cmx_cq_unreserve() - the promise is not needed: who waits for room tries again. */
void cmx_cq_unreserve(struct cmx_cq *cq);
/* cmx_cq_has_room() - whether cmx_cq_reserve() would do it. */
bool cmx_cq_has_room(struct cmx_cq *cq);
/* cmx_cq_post() - write a completion at virtual @cqe->time_ps; the promise is kept. */
void cmx_cq_post(struct cmx_cq *cq, const struct cmx_cqe *cqe, bool solicited);
/* cmx_member_refill() - the clients may have read: starved queues become pending; any? */
bool cmx_member_refill(struct cmx_member *member);

#endif
