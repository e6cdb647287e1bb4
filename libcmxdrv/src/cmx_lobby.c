// SPDX-License-Identifier: MIT
/*
 * A thread that gets a batch puts its frame here, works on it and lets others work on it:
 * blocks of one launch are taken one by one, launches of different chains run side by side.
 * What a launch does is a function of its arguments and memory, so who runs it, and how
 * many do, shows in host time only.
 */
#include <stdlib.h>
#include <time.h>

#include "cmx_ctx.h"
#include "cmx_exec.h"
#include "cmx_timeline_priv.h"

#define LOBBY_MISSES	8
#define LOBBY_RETRY	64

static void inject_init(struct cmx_inject *inject)
{
	const char *text = secure_getenv("CMX_INJECT_DELAY_MS");
	char *end;

	if (!text)
		return;
	inject->delay_ms = (uint32_t)strtoul(text, &end, 10);
	inject->state = *end == ':' ? strtoull(end + 1, &end, 10) : 1;
	inject->one_in = *end == ':' ? (uint32_t)strtoul(end + 1, NULL, 10) : 16;
	if (!inject->one_in)
		inject->one_in = 1;
}

/* A splitmix64 step decides; which launches are hit depends on timing, as it should. */
static void inject_delay(struct cmx_inject *inject)
{
	struct timespec delay = {
		.tv_sec = inject->delay_ms / 1000,
		.tv_nsec = inject->delay_ms % 1000 * 1000000l,
	};
	uint64_t x;

	if (!inject->delay_ms)
		return;
	x = __atomic_add_fetch(&inject->state, 0x9e3779b97f4a7c15ull, __ATOMIC_RELAXED);
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	if ((x ^ (x >> 31)) % inject->one_in == 0)
		nanosleep(&delay, NULL);
}

void cmx_lobby_init(struct cmx_lobby *lobby)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&lobby->lock, NULL);
	pthread_cond_init(&lobby->work, &monotonic);
	pthread_cond_init(&lobby->left, NULL);
	pthread_condattr_destroy(&monotonic);
	cmx_list_init(&lobby->frames);
	inject_init(&lobby->inject);
}

void cmx_lobby_fini(struct cmx_lobby *lobby)
{
	pthread_cond_destroy(&lobby->left);
	pthread_cond_destroy(&lobby->work);
	pthread_mutex_destroy(&lobby->lock);
}

/* Something for sleepers to see. Caller holds the lock. */
static void lobby_event(struct cmx_lobby *lobby)
{
	lobby->events++;
	if (lobby->sleepers)
		pthread_cond_broadcast(&lobby->work);
}

/*
 * A launch of a single block leaves no block to take: all that a woken thread could do is
 * to fetch another batch, which bounds may allow or not. Where that has failed again and
 * again, try it now and then only. Caller holds the lock.
 */
static void lobby_event_single(struct cmx_lobby *lobby)
{
	lobby->events++;
	if (lobby->sleepers && (lobby->misses < LOBBY_MISSES || !(lobby->events % LOBBY_RETRY)))
		pthread_cond_signal(&lobby->work);
}

/* The rest of a chain after a failure. Caller holds the lock. */
static void lobby_skip_chain(struct cmx_exec *exec)
{
	for (exec = exec->chain_next; exec; exec = exec->chain_next) {
		cmx_exec_skip(exec);
		exec->frame->left--;
	}
}

/* A launch is done: the next of its chain may go. Caller holds the lock. */
static void lobby_advance(struct cmx_lobby *lobby, struct cmx_exec *exec);

/* Its predecessor is done. Caller holds the lock. */
static void lobby_start(struct cmx_lobby *lobby, struct cmx_exec *exec)
{
	if (exec->fail_code) {
		/* Refused before it ran: no blocks, only an outcome. */
		cmx_exec_finish(exec);
		lobby_advance(lobby, exec);
		return;
	}
	exec->ready = true;
	exec->frame->latest = (uint32_t)(exec - exec->frame->execs);
	pthread_cond_signal(&exec->frame->changed);
	if (exec->launch->grid > 1 || exec->frame->count > 1)
		lobby_event(lobby);
	else
		lobby_event_single(lobby);
}

static void lobby_advance(struct cmx_lobby *lobby, struct cmx_exec *exec)
{
	struct cmx_frame *frame = exec->frame;

	exec->ready = false;
	frame->left--;
	if (exec->fail_code)
		lobby_skip_chain(exec);
	else if (exec->chain_next)
		lobby_start(lobby, exec->chain_next);
	if (!frame->left)
		pthread_cond_signal(&frame->changed);
}

/*
 * From the latest one on, round: in a long chain those before it are done, and looking at each
 * of them again would take longer than to start a launch. Caller holds the lock.
 */
static struct cmx_exec *frame_pick(struct cmx_frame *frame)
{
	for (uint32_t n = 0, i = frame->latest; n < frame->count; n++) {
		if (cmx_exec_has_blocks(&frame->execs[i]))
			return &frame->execs[i];
		i = i + 1 < frame->count ? i + 1 : 0;
	}
	return NULL;
}

/* Caller holds the lock. */
static struct cmx_exec *lobby_pick(struct cmx_lobby *lobby)
{
	struct cmx_list *pos;

	cmx_list_for(pos, &lobby->frames) {
		struct cmx_exec *exec = frame_pick(cmx_container(pos, struct cmx_frame, node));

		if (exec)
			return exec;
	}
	return NULL;
}

/*
 * Work on a launch until its blocks are taken. The last thread to leave finishes it; until
 * then the frame cannot go away. Called and left with the lock held.
 */
static void lobby_work(struct cmx_lobby *lobby, struct cmx_exec *exec)
{
	struct cmx_launch_ctx lc = { .exec = exec };
	uint32_t fail_block = UINT32_MAX, fail_code = 0;
	bool first = !exec->attached;

	exec->attached++;
	cmx_exec_lend(exec, &lc);
	pthread_mutex_unlock(&lobby->lock);
	if (first)
		inject_delay(&lobby->inject);
	cmx_exec_run(exec, &lc, &fail_block, &fail_code);
	pthread_mutex_lock(&lobby->lock);
	cmx_exec_merge(exec, &lc, fail_block, fail_code);
	if (--exec->attached)
		return;
	/* Nobody can attach any more: the blocks are taken. */
	exec->ready = false;
	pthread_mutex_unlock(&lobby->lock);
	cmx_exec_finish(exec);
	pthread_mutex_lock(&lobby->lock);
	lobby_advance(lobby, exec);
}

/* Link the launches of each chain; returns with the first ones started. */
static void lobby_post(struct cmx_lobby *lobby, struct cmx_frame *frame)
{
	struct cmx_exec *execs = frame->execs;

	for (uint32_t i = 0; i < frame->count; i++)
		cmx_exec_init(&execs[i], frame, i);
	cmx_list_add(&lobby->frames, &frame->node);
	frame->left = frame->count;
	frame->latest = 0;
	for (uint32_t i = 0; i < frame->count; i++) {
		uint32_t j = i;

		while (j > 0 && execs[j - 1].launch->chain != execs[i].launch->chain)
			j--;
		if (j > 0)
			execs[j - 1].chain_next = &execs[i];
	}
}

/* Start the launches that have no predecessor: each is the first of its chain. */
static void lobby_start_chains(struct cmx_lobby *lobby, struct cmx_frame *frame)
{
	for (uint32_t i = 0; i < frame->count; i++) {
		uint32_t j = 0;

		while (j < i && frame->launches[j].chain != frame->launches[i].chain)
			j++;
		if (j == i)
			lobby_start(lobby, &frame->execs[i]);
	}
}

void cmx_lobby_execute(struct cmx_lobby *lobby, struct cmx_frame *frame)
{
	pthread_mutex_lock(&lobby->lock);
	lobby_post(lobby, frame);
	lobby_start_chains(lobby, frame);
	while (frame->left) {
		struct cmx_exec *exec = frame_pick(frame);

		if (exec)
			lobby_work(lobby, exec);
		else
			pthread_cond_wait(&frame->changed, &lobby->lock);
	}
	cmx_list_del(&frame->node);
	/* For those that wait in cmx_lobby_help(); for the others there is nothing new. */
	if (lobby->helpers)
		lobby_event(lobby);
	pthread_mutex_unlock(&lobby->lock);
}

bool cmx_lobby_busy(const struct cmx_lobby *lobby)
{
	/* A hint: being wrong costs host time only. */
	return __atomic_load_n(&lobby->frames.next, __ATOMIC_RELAXED) != &lobby->frames;
}

bool cmx_lobby_try(struct cmx_lobby *lobby)
{
	struct cmx_exec *exec;

	pthread_mutex_lock(&lobby->lock);
	exec = lobby_pick(lobby);
	if (exec)
		lobby_work(lobby, exec);
	pthread_mutex_unlock(&lobby->lock);
	return exec;
}

/* Until the next event; false when the deadline passed. Caller holds the lock. */
static bool lobby_wait(struct cmx_lobby *lobby, uint64_t deadline_ns)
{
	const struct timespec until = {
		.tv_sec = (time_t)(deadline_ns / 1000000000u),
		.tv_nsec = (long)(deadline_ns % 1000000000u),
	};

	if (deadline_ns)
		return !pthread_cond_timedwait(&lobby->work, &lobby->lock, &until);
	pthread_cond_wait(&lobby->work, &lobby->lock);
	return true;
}

void cmx_lobby_help(struct cmx_lobby *lobby, uint64_t deadline_ns)
{
	struct cmx_exec *exec;
	uint64_t seen;

	pthread_mutex_lock(&lobby->lock);
	exec = lobby_pick(lobby);
	seen = lobby->events;
	if (exec) {
		lobby_work(lobby, exec);
	} else {
		lobby->helpers++;
		lobby->sleepers++;
		while (!cmx_list_empty(&lobby->frames) && lobby->events == seen &&
		       lobby_wait(lobby, deadline_ns))
			;
		lobby->sleepers--;
		lobby->helpers--;
	}
	pthread_mutex_unlock(&lobby->lock);
}

void cmx_lobby_fetched(struct cmx_lobby *lobby, bool batch)
{
	pthread_mutex_lock(&lobby->lock);
	lobby->misses = batch ? 0 : lobby->misses + 1;
	pthread_mutex_unlock(&lobby->lock);
}

struct cmx_timeline *cmx_lobby_join(struct cmx_lobby *lobby)
{
	struct cmx_timeline *timeline = NULL;

	pthread_mutex_lock(&lobby->lock);
	if (!cmx_list_empty(&lobby->frames)) {
		timeline = cmx_container(lobby->frames.next, struct cmx_frame, node)->timeline;
		timeline->guests++;
	}
	pthread_mutex_unlock(&lobby->lock);
	return timeline;
}

void cmx_lobby_leave(struct cmx_lobby *lobby, struct cmx_timeline *timeline)
{
	pthread_mutex_lock(&lobby->lock);
	if (!--timeline->guests)
		pthread_cond_broadcast(&lobby->left);
	pthread_mutex_unlock(&lobby->lock);
}

void cmx_lobby_drain(struct cmx_lobby *lobby, const struct cmx_timeline *timeline)
{
	pthread_mutex_lock(&lobby->lock);
	while (timeline->guests)
		pthread_cond_wait(&lobby->left, &lobby->lock);
	pthread_mutex_unlock(&lobby->lock);
}

uint64_t cmx_lobby_sleep(struct cmx_lobby *lobby, uint64_t seen, const bool *stop)
{
	pthread_mutex_lock(&lobby->lock);
	lobby->sleepers++;
	while (lobby->events == seen && !__atomic_load_n(stop, __ATOMIC_RELAXED))
		pthread_cond_wait(&lobby->work, &lobby->lock);
	lobby->sleepers--;
	seen = lobby->events;
	pthread_mutex_unlock(&lobby->lock);
	return seen;
}

void cmx_lobby_kick(struct cmx_lobby *lobby)
{
	pthread_mutex_lock(&lobby->lock);
	lobby_event(lobby);
	pthread_mutex_unlock(&lobby->lock);
}
