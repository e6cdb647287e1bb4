/* SPDX-License-Identifier: MIT */
/*
 * The lobby: launches that threads of the process carry out together.
 */
#ifndef CMX_LOBBY_H
#define CMX_LOBBY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmx_list.h"

struct cmx_ctx;
struct cmx_frame;
struct cmx_timeline;

/* Host delays for tests: $CMX_INJECT_DELAY_MS=MS[:SEED[:ONE_IN]]. */
struct cmx_inject {
	uint32_t delay_ms;
	uint32_t one_in;
	uint64_t state;
};

struct cmx_lobby {
	pthread_mutex_t lock;
	/* Frames in work, in the order they came. */
	struct cmx_list frames;
	/* A launch got ready, a frame went, or runners stop. */
	pthread_cond_t work;
	/* A runner thread left a timeline. */
	pthread_cond_t left;
	uint64_t events;
	uint32_t sleepers;
	/* Sleepers that want to know when a frame goes, too. */
	uint32_t helpers;
	/* Runner threads' tries in a row that fetched no batch. */
	uint32_t misses;
	struct cmx_inject inject;
};

void cmx_lobby_init(struct cmx_lobby *lobby);
void cmx_lobby_fini(struct cmx_lobby *lobby);

/* Carry out a frame's launches, with the help of others, and fill its outcomes. */
void cmx_lobby_execute(struct cmx_lobby *lobby, struct cmx_frame *frame);

/* Whether other threads have frames in work. */
bool cmx_lobby_busy(const struct cmx_lobby *lobby);

/*
 * Work on what others have; when there are no blocks to take, sleep until something
 * changes, or until @deadline_ns of the monotonic clock (0: for ever). Returns at once when
 * no frame is in work.
 */
void cmx_lobby_help(struct cmx_lobby *lobby, uint64_t deadline_ns);

/* Runner threads: blocks if there are any (true), else nothing (false). */
bool cmx_lobby_try(struct cmx_lobby *lobby);

/* A runner thread's try to fetch a batch got one, or not. */
void cmx_lobby_fetched(struct cmx_lobby *lobby, bool batch);

/*
 * The clock of the oldest frame in work, or NULL. Whoever waits on it may end and destroy it
 * at any time: it stays until cmx_lobby_leave().
 */
struct cmx_timeline *cmx_lobby_join(struct cmx_lobby *lobby);
void cmx_lobby_leave(struct cmx_lobby *lobby, struct cmx_timeline *timeline);

/* Wait until all that joined a timeline have left it; none can join any more. */
void cmx_lobby_drain(struct cmx_lobby *lobby, const struct cmx_timeline *timeline);

/* Sleep until there were events beyond @seen, or @stop is set. Returns the new number. */
uint64_t cmx_lobby_sleep(struct cmx_lobby *lobby, uint64_t seen, const bool *stop);

/* Wake those that sleep after setting what they look at. */
void cmx_lobby_kick(struct cmx_lobby *lobby);

/* Whether the calling thread is in a kernel's function. */
bool cmx_in_kernel(void);

#endif /* CMX_LOBBY_H */
