/* SPDX-License-Identifier: GPL-2.0-only */
/* Receive rings. */
#ifndef CMX_RQ_H
#define CMX_RQ_H

#include "cmx_cq.h"
#include "cmx_object.h"
#include "cmx_ring.h"

struct cmx_cmd;

/**
 * struct cmx_rq - a receive ring.
 *
 * Bound to a timeline together with its completion ring, by the first queue or
 * message that uses it; that timeline's lock protects it.
 */
struct cmx_rq {
	/** @obj: base. */
	struct cmx_object obj;
	/** @args: how it was created. */
	struct drm_cmx_rq_create args;
	/** @cq: completion ring; used (cmx_object.users). */
	struct cmx_cq *cq;
	/** @rw: struct cmx_ring_producer and the slots. */
	struct cmx_shared *rw;
	/** @ro: struct cmx_ring_consumer. */
	struct cmx_shared *ro;
	/** @head: slots ever taken. */
	u32 head;
	/** @failed: the client broke its index. */
	bool failed;
	/** @detached: the handle is gone. */
	bool detached;
	/** @limit_sent: CMX_EVENT_RQ_LIMIT was sent for this low. */
	bool limit_sent;
	/** @link: in cmx_member.rqs while @waiters is not empty. */
	struct list_head link;
	/** @waiters: messages that wait for an entry, by cmx_cmd.receive. */
	struct list_head waiters;
};

static inline struct cmx_rq *to_cmx_rq(struct cmx_object *obj)
{
	return container_of(obj, struct cmx_rq, obj);
}

/*
 * cmx_receive_start() - match a message with a receive entry.
 *
 * Return: 1 matched (or nothing to match); 0 the command waits, or was completed with
 * an error.
 */
int cmx_receive_start(struct cmx_cmd *cmd);
/* cmx_receive_finish() - the message is over: the receiver's completion. */
void cmx_receive_finish(struct cmx_cmd *cmd);
/* cmx_rq_unwait() - the message goes away: undo cmx_receive_start(). */
void cmx_rq_unwait(struct cmx_cmd *cmd);
/* cmx_member_receive() - rings that got entries: their messages are due again; any? */
bool cmx_member_receive(struct cmx_member *member);
/* cmx_member_retry_receives() - have all that wait for a receiver try again. */
void cmx_member_retry_receives(struct cmx_member *member);

#endif
