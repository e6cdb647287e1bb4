/* SPDX-License-Identifier: GPL-2.0-only */
/* A client's events: a short list with a count of what did not fit. */
#ifndef CMX_EVENT_H
#define CMX_EVENT_H

#include <linux/spinlock.h>
#include <linux/wait.h>

#include "cmx_drm.h"

struct cmx_file;

#define CMX_MAX_EVENTS	256

/** struct cmx_event_list - events of one file. */
struct cmx_event_list {
	/** @lock: protects all below; taken last, from any context that may not sleep. */
	spinlock_t lock;
	/** @head: events ever taken. */
	u32 head;
	/** @tail: events ever put. */
	u32 tail;
	/** @lost: events lost since told. */
	u64 lost;
	/** @lost_total: events lost since open. */
	u64 lost_total;
	/** @wait: poll() sleeps here. */
	wait_queue_head_t wait;
	/** @ring: events by index modulo the size. */
	struct cmx_event ring[CMX_MAX_EVENTS];
};

void cmx_event_list_init(struct cmx_event_list *list);
/* cmx_event_post() - add an event; never fails, never sleeps. */
void cmx_event_post(struct cmx_file *file, u32 type, u32 object, u32 code, u64 time_ps, u64 value);

#endif
