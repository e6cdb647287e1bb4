// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <unistd.h>

#include "cmx_ctx.h"

static void frame_free(struct cmx_frame *frame)
{
	for (uint32_t i = 0; frame->execs && i < frame->max; i++) {
		free(frame->execs[i].records.list);
		free(frame->execs[i].sent);
	}
	pthread_cond_destroy(&frame->changed);
	free(frame->execs);
	free(frame->outcomes);
	free(frame->launches);
	free(frame);
}

static struct cmx_frame *frame_new(struct cmx_ctx *ctx)
{
	uint32_t max = ctx->limits.max_batch ? ctx->limits.max_batch : 1;
	struct cmx_frame *frame = calloc(1, sizeof(*frame));

	if (!frame)
		return NULL;
	frame->ctx = ctx;
	frame->max = max;
	pthread_cond_init(&frame->changed, NULL);
	cmx_list_init(&frame->node);
	frame->launches = calloc(max, sizeof(*frame->launches));
	frame->outcomes = calloc(max, sizeof(*frame->outcomes));
	frame->execs = calloc(max, sizeof(*frame->execs));
	if (!frame->launches || !frame->outcomes || !frame->execs) {
		frame_free(frame);
		return NULL;
	}
	return frame;
}

void cmx_frames_init(struct cmx_frames *frames)
{
	pthread_mutex_init(&frames->lock, NULL);
}

static void frames_free_list(struct cmx_frame *frame)
{
	while (frame) {
		struct cmx_frame *next = frame->next;

		frame_free(frame);
		frame = next;
	}
}

void cmx_frames_fini(struct cmx_frames *frames)
{
	frames_free_list(frames->free);
	frames_free_list(frames->parked);
	pthread_mutex_destroy(&frames->lock);
}

/* Caller holds the lock. */
static struct cmx_frame *frames_take_parked(struct cmx_frames *frames,
					    const struct cmx_timeline *timeline, pid_t owner)
{
	for (struct cmx_frame **link = &frames->parked; *link; link = &(*link)->next) {
		struct cmx_frame *frame = *link;

		if (frame->owner != owner || frame->timeline != timeline)
			continue;
		*link = frame->next;
		return frame;
	}
	return NULL;
}

struct cmx_frame *cmx_frame_get(struct cmx_ctx *ctx, struct cmx_timeline *timeline)
{
	struct cmx_frames *frames = &ctx->frames;
	struct cmx_frame *frame = NULL;

	pthread_mutex_lock(&frames->lock);
	if (frames->parked)
		frame = frames_take_parked(frames, timeline, gettid());
	if (!frame && frames->free) {
		frame = frames->free;
		frames->free = frame->next;
	}
	pthread_mutex_unlock(&frames->lock);
	if (!frame)
		frame = frame_new(ctx);
	if (frame)
		frame->timeline = timeline;
	return frame;
}

void cmx_frames_drop(struct cmx_ctx *ctx, const struct cmx_timeline *timeline)
{
	struct cmx_frames *frames = &ctx->frames;
	struct cmx_frame **link = &frames->parked;

	pthread_mutex_lock(&frames->lock);
	while (*link) {
		struct cmx_frame *frame = *link;

		if (frame->timeline != timeline) {
			link = &frame->next;
			continue;
		}
		*link = frame->next;
		frame->batch = 0;
		frame->count = 0;
		frame->next = frames->free;
		frames->free = frame;
	}
	pthread_mutex_unlock(&frames->lock);
}

void cmx_frame_put(struct cmx_ctx *ctx, struct cmx_frame *frame)
{
	struct cmx_frames *frames = &ctx->frames;
	struct cmx_frame **list = &frames->free;

	if (frame->batch) {
		frame->owner = gettid();
		list = &frames->parked;
	}
	pthread_mutex_lock(&frames->lock);
	frame->next = *list;
	*list = frame;
	pthread_mutex_unlock(&frames->lock);
}
