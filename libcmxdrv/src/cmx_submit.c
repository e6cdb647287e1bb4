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

/* A full ring that a wait did not move: an error if waiting longer is of no use. */
static int queue_check_stuck(struct cmx_queue *q, uint32_t slots)
{
	struct drm_cmx_queue_query query;
	int ret = cmx_queue_query(q, &query, sizeof(query));

	if (ret || (query.waiting != CMX_WAITING_STATE && query.waiting != CMX_WAITING_CQ))
		return ret;
	return cmx_fail(-EDEADLK, "slots", slots, cmx_queue_space(q),
			"queue %u has no room for %u slots: %s", q->handle, slots,
			query.waiting == CMX_WAITING_CQ ?
			"its completion ring is full and has to be read first" :
			"it is not in state READY");
}

/*
 * Carry out commands until there is room. The queue is not locked here: another submitter
 * may be an actor that has to get on before the clock can move.
 */
static int queue_make_room(struct cmx_queue *q, uint32_t slots)
{
	struct cmx_wait_opts opts = { .timeline = q->timeline };
	uint32_t before = __atomic_load_n(&q->consumer->head, __ATOMIC_RELAXED);
	const struct timespec pause = { .tv_nsec = 50000 };
	int ret = cmx_wait_progress(q->ctx, &opts);

	if (ret == -EBUSY) {
		/* Another thread of the same actor waits already, and helps as well. */
		nanosleep(&pause, NULL);
		return 0;
	}
	if (ret || __atomic_load_n(&q->consumer->head, __ATOMIC_RELAXED) != before)
		return ret;
	return queue_check_stuck(q, slots);
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
