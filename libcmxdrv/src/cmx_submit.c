// SPDX-License-Identifier: MIT
/*
 * Slow paths of pushing and submitting: locked queues, full rings, bad entries.
 */
#include <errno.h>
#include <time.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_queue_priv.h"

static void queue_lock(struct cmx_queue *q)
{
	if (q->flags & CMX_SUBMIT_LOCKED)
		pthread_mutex_lock(&cmx_queue_priv(q)->lock);
}

static void queue_unlock(struct cmx_queue *q)
{
	if (q->flags & CMX_SUBMIT_LOCKED)
		pthread_mutex_unlock(&cmx_queue_priv(q)->lock);
}

static const struct timespec short_pause = { .tv_nsec = 50000 };

/* The completion ring is full: only other submitters, if there are any, may be reading it. */
static int queue_wait_for_reader(struct cmx_queue *q, uint32_t slots)
{
	struct drm_cmx_timeline_query query;
	int ret = cmx_timeline_query(q->timeline, &query, sizeof(query));

	if (ret)
		return ret;
	if (query.actors > 1) {
		nanosleep(&short_pause, NULL);
		return 0;
	}
	return cmx_fail(-EDEADLK, "slots", slots, cmx_queue_space(q),
			"queue %u has no room for %u slots: its completion ring has to be read",
			q->handle, slots);
}

/*
 * The ring is full and a poll did not move it. A poll is over when there is nothing to do,
 * so wait for what the queue waits for: that ends, or is a stall.
 */
static int queue_wait_blocked(struct cmx_queue *q, uint32_t slots)
{
	struct cmx_wait_opts opts = { .timeline = q->timeline };
	struct drm_cmx_queue_query query;
	int ret = cmx_queue_query(q, &query, sizeof(query));

	if (ret)
		return ret;
	switch (query.waiting) {
	case CMX_WAITING_MEMORY:
		return cmx_wait_memory(q->ctx, query.wait_va, query.wait_cond, query.wait_value,
				       &opts);
	case CMX_WAITING_RECEIVE:
		return cmx_wait_idle(q->ctx, &opts);
	case CMX_WAITING_CQ:
		return queue_wait_for_reader(q, slots);
	case CMX_WAITING_STATE:
		return cmx_fail(-EDEADLK, "slots", slots, cmx_queue_space(q),
				"queue %u has no room for %u slots: it is not in state READY",
				q->handle, slots);
	}
	return 0;
}

/*
 * Carry out commands until there is room. The queue is not locked here: another submitter
 * may be an actor that has to get on before the clock can move.
 */
static int queue_make_room(struct cmx_queue *q, uint32_t slots)
{
	struct cmx_wait_opts opts = { .timeline = q->timeline };
	uint32_t before = __atomic_load_n(&q->consumer->head, __ATOMIC_RELAXED);
	int ret = cmx_wait_progress(q->ctx, &opts);

	if (!ret && __atomic_load_n(&q->consumer->head, __ATOMIC_RELAXED) == before)
		ret = queue_wait_blocked(q, slots);
	if (ret != -EBUSY)
		return ret;
	/* Another thread of the same actor waits already, and helps as well. */
	nanosleep(&short_pause, NULL);
	return 0;
}

int cmx_queue_push_slow(struct cmx_queue *q, const void *entry, uint32_t flags)
{
	uint32_t slots = *(const unsigned char *)entry;
	int ret = cmx_ctx_check(q->ctx);

	if (ret)
		return ret;
	if (slots < 1 || slots > CMX_ENTRY_MAX_SLOTS || slots > q->mask + 1)
		return cmx_fail(-EINVAL, "slots", slots, CMX_ENTRY_MAX_SLOTS,
				"an entry has 1 to %d slots, not %u", CMX_ENTRY_MAX_SLOTS, slots);
	queue_lock(q);
	while (!ret && cmx_queue_space(q) < slots) {
		if (flags & CMX_PUSH_TRY) {
			ret = cmx_fail(-EAGAIN, "slots", slots, cmx_queue_space(q),
				       "queue %u has room for %u slots, not %u", q->handle,
				       cmx_queue_space(q), slots);
			break;
		}
		ret = cmx_queue_publish(q);
		queue_unlock(q);
		if (!ret)
			ret = queue_make_room(q, slots);
		queue_lock(q);
	}
	if (!ret)
		cmx_queue_put(q, entry, slots);
	queue_unlock(q);
	return ret;
}

int cmx_queue_submit_slow(struct cmx_queue *q)
{
	int ret = cmx_ctx_check(q->ctx);

	if (ret)
		return ret;
	queue_lock(q);
	ret = cmx_queue_publish(q);
	queue_unlock(q);
	return ret;
}
