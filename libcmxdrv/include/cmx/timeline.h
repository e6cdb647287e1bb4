/* SPDX-License-Identifier: MIT */
/*
 * Timelines: virtual clocks, and the actors that move them.
 */
#ifndef CMX_TIMELINE_H
#define CMX_TIMELINE_H

#include <cmx/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Actors
 *
 * The clock moves only while every actor of the timeline waits.  A context has one
 * actor from the start, number 0, which stands for any thread that is not bound to
 * another.  A program with several submitting threads adds an actor for each *before*
 * it starts the thread, and the thread binds itself to it; a thread that ends removes
 * its actor.  Threads that only help (cmx/runner.h) are no actors.
 */
struct cmx_timeline;

/** cmx_timeline_default - the context's default timeline; not to be destroyed. */
struct cmx_timeline *cmx_timeline_default(struct cmx_ctx *ctx);

/**
 * cmx_timeline_create - create a virtual clock.
 * @ctx: context.
 * @flags: CMX_TIMELINE_FREE_RUNNING or 0.
 * @timeline: receives the timeline.
 */
int cmx_timeline_create(struct cmx_ctx *ctx, uint32_t flags, struct cmx_timeline **timeline);

/**
 * cmx_timeline_destroy - leave a timeline.
 * @timeline: timeline, or NULL; no thread waits on it.
 *
 * Returns when runner threads (cmx/runner.h) have left it, too.
 *
 * Return: 0; -EBUSY while a queue uses it; -EPERM in an NPU kernel.
 */
int cmx_timeline_destroy(struct cmx_timeline *timeline);

/**
 * cmx_timeline_export - a file descriptor that stands for the clock (close on exec).
 * @timeline: timeline.
 * @fd: receives the descriptor.
 */
int cmx_timeline_export(struct cmx_timeline *timeline, int *fd);

/**
 * cmx_timeline_import - join another file's or process' clock.
 * @ctx: context, which becomes a member with an actor of its own.
 * @fd: descriptor of cmx_timeline_export(); it stays the caller's.
 * @timeline: receives the timeline.
 */
int cmx_timeline_import(struct cmx_ctx *ctx, int fd, struct cmx_timeline **timeline);

/**
 * cmx_timeline_query - clock and counters.
 * @timeline: timeline.
 * @query: receives them; @size bytes are written.
 * @size: sizeof(*query).
 */
int cmx_timeline_query(struct cmx_timeline *timeline, struct drm_cmx_timeline_query *query,
		       size_t size);

/** cmx_timeline_now - virtual time in ps, read from the status page without a call. */
uint64_t cmx_timeline_now(const struct cmx_timeline *timeline);

/** cmx_timeline_handle - handle in the context's file. */
uint32_t cmx_timeline_handle(const struct cmx_timeline *timeline);

/**
 * cmx_actor_add - add a submitter; the clock stands until it waits.
 * @timeline: timeline.
 * @actor: receives its number.
 */
int cmx_actor_add(struct cmx_timeline *timeline, uint32_t *actor);

/**
 * cmx_actor_bind - make the calling thread act as @actor.
 * @timeline: timeline.
 * @actor: number of cmx_actor_add(), or 0 to unbind.
 *
 * Return: 0; -ENOSPC when the thread is bound on too many timelines (8).
 */
int cmx_actor_bind(struct cmx_timeline *timeline, uint32_t actor);

/**
 * cmx_actor_remove - remove a submitter, and the calling thread's binding to it.
 * @timeline: timeline.
 * @actor: number of cmx_actor_add(); 0, when all submitters are added ones.
 */
int cmx_actor_remove(struct cmx_timeline *timeline, uint32_t actor);

#ifdef __cplusplus
}
#endif

#endif /* CMX_TIMELINE_H */
