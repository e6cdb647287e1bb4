/* SPDX-License-Identifier: MIT */
/*
 * Frames: a batch of launches that a thread got, and what becomes of it.
 */
#ifndef CMX_FRAME_H
#define CMX_FRAME_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#include <cmx_drm.h>

#include "cmx_list.h"

struct cmx_ctx;
struct cmx_kernel;
struct cmx_timeline;

/* A record with what makes its place among the launch's records certain. */
struct cmx_keyed_record {
	struct cmx_record record;
	uint32_t block;
	uint32_t sequence;
};

struct cmx_records {
	struct cmx_keyed_record *list;
	uint32_t count, room;
};

/* One launch of a frame. All but @next is under the lobby's lock. */
struct cmx_exec {
	struct cmx_frame *frame;
	const struct drm_cmx_launch *launch;
	struct drm_cmx_outcome *outcome;
	const struct cmx_kernel *kernel;
	struct cmx_exec *chain_next;
	/* The next block nobody took; taken without the lock. */
	uint64_t next;
	/* Threads that work on it. */
	uint32_t attached;
	/* The predecessor in its chain is done, and it is not. */
	bool ready;
	/* Its first block that failed, and the code. */
	uint32_t fail_block, fail_code;
	struct cmx_cost cost;
	struct cmx_records records;
	/* All that its blocks recorded, kept or not. */
	uint64_t recorded;
	/* What the outcome points to. */
	struct cmx_record *sent;
	uint32_t sent_room;
};

struct cmx_frame {
	struct cmx_frame *next;		/* pool */
	struct cmx_list node;		/* lobby */
	struct cmx_ctx *ctx;
	struct cmx_timeline *timeline;
	/* The thread a batch belongs to while no RUN has taken its outcomes. */
	pid_t owner;
	uint64_t batch;
	uint32_t count, max;
	uint32_t left;			/* launches not done, under the lobby's lock */
	uint32_t latest;		/* the one that got ready last, under the same */
	pthread_cond_t changed;		/* a launch got ready, or all are done */
	struct drm_cmx_launch *launches;
	struct drm_cmx_outcome *outcomes;
	struct cmx_exec *execs;
};

/* Frames not in use, and those whose outcomes could not be delivered. */
struct cmx_frames {
	pthread_mutex_t lock;
	struct cmx_frame *free;
	struct cmx_frame *parked;
};

void cmx_frames_init(struct cmx_frames *frames);
void cmx_frames_fini(struct cmx_frames *frames);

/* A frame of the calling thread: the one it parked on this timeline, or an empty one. */
struct cmx_frame *cmx_frame_get(struct cmx_ctx *ctx, struct cmx_timeline *timeline);

/* Forget what threads parked on a timeline that is gone. */
void cmx_frames_drop(struct cmx_ctx *ctx, const struct cmx_timeline *timeline);

/* Give a frame back; one that holds a batch is parked for its thread. */
void cmx_frame_put(struct cmx_ctx *ctx, struct cmx_frame *frame);

#endif /* CMX_FRAME_H */
