// SPDX-License-Identifier: MIT
/*
 * What the queues of a context wait for, in words.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_queue_priv.h"
#include "cmx_run.h"
#include "cmx_timeline_priv.h"

/* A text that counts what does not fit, as snprintf() does. */
struct text {
	char *buf;
	size_t size, len;
};

static void text_add(struct text *text, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void text_add(struct text *text, const char *fmt, ...)
{
	bool fits = text->len < text->size;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(fits ? text->buf + text->len : NULL, fits ? text->size - text->len : 0,
			fmt, ap);
	va_end(ap);
	if (len > 0)
		text->len += (size_t)len;
}

static const char *name_of(const char *const *names, uint32_t count, uint32_t index)
{
	return index < count ? names[index] : "?";
}

static void add_memory_wait(struct text *text, struct cmx_ctx *ctx,
			    const struct drm_cmx_queue_query *query)
{
	static const char *const conds[] = { "==", "!=", ">=", ">" };
	uint64_t value;

	text_add(text, "the u64 at %#" PRIx64 " %s %" PRIu64, (uint64_t)query->wait_va,
		 name_of(conds, 4, query->wait_cond), (uint64_t)query->wait_value);
	if (cmx_mem_peek(ctx, query->wait_va, &value))
		text_add(text, " (it is %" PRIu64 ")", value);
}

static void add_queue(struct text *text, const struct cmx_queue *q,
		      const struct drm_cmx_queue_query *query)
{
	static const char *const classes[] = { "stream", "sdma", "ub" };
	static const char *const waits[] = {
		"nothing", "an entry", NULL, "room in its completion ring",
		"a launch's outcome", "state READY", "a receive entry at its target",
		"an earlier entry's completion",
	};

	text_add(text, "queue %u (%s, entity %u): %u in flight, %u slots left, waits for ",
		 q->handle, name_of(classes, 3, q->queue_class), q->entity, query->inflight,
		 query->tail - query->head);
	if (query->waiting == CMX_WAITING_MEMORY)
		add_memory_wait(text, q->ctx, query);
	else
		text_add(text, "%s", name_of(waits, 8, query->waiting));
	if (query->waiting == CMX_WAITING_OUTCOME)
		text_add(text, " of thread %u", query->owner);
}

static bool queue_is_empty(const struct drm_cmx_queue_query *query)
{
	return query->head == query->tail && !query->inflight;
}

/*
 * Queues are copied out of the list so that asking about one does not hold the lock that
 * looking at memory takes. A queue destroyed meanwhile answers ENOENT and is left out.
 */
static void describe(struct cmx_ctx *ctx, const struct cmx_timeline *timeline, struct text *text,
		     const char *separator)
{
	struct cmx_list *pos;
	bool first = true;
	uint32_t after = 0;

	for (;;) {
		struct cmx_queue q = { .handle = UINT32_MAX };
		struct drm_cmx_queue_query query;

		pthread_mutex_lock(&ctx->lock);
		cmx_list_for(pos, &ctx->queues) {
			struct cmx_queue *it = &cmx_container(pos, struct cmx_queue_priv, node)->q;

			if (it->handle > after && it->handle < q.handle &&
			    (!timeline || it->timeline == timeline))
				q = *it;
		}
		pthread_mutex_unlock(&ctx->lock);
		if (q.handle == UINT32_MAX)
			return;
		after = q.handle;
		if (cmx_queue_query(&q, &query, sizeof(query)) || queue_is_empty(&query))
			continue;
		text_add(text, "%s", first ? "" : separator);
		add_queue(text, &q, &query);
		first = false;
	}
}

int cmx_describe(struct cmx_ctx *ctx, char *buf, size_t size)
{
	struct text text = { .buf = buf, .size = size };
	int ret = cmx_ctx_check(ctx);

	if (ret)
		return ret;
	if (size)
		buf[0] = '\0';
	describe(ctx, NULL, &text, "\n");
	return (int)text.len;
}

int cmx_fail_stall(struct cmx_ctx *ctx, const struct cmx_timeline *timeline)
{
	char buf[sizeof(((struct cmx_error *)0)->text)] = "";
	struct text text = { .buf = buf, .size = sizeof(buf) };

	text_add(&text, "stall: nothing can end the wait");
	if (text.len < text.size)
		text_add(&text, "; ");
	describe(ctx, timeline, &text, "; ");
	if (text.len >= sizeof(buf))
		snprintf(buf + sizeof(buf) - 4, 4, "...");
	return cmx_fail(-EDEADLK, "until", cmx_timeline_now(timeline), 0, "%s", buf);
}
