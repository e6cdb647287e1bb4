// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"
#include "cmx_run.h"

#define RUNNER_MAX	256

struct cmx_runners {
	struct cmx_ctx *ctx;
	bool stop;
	uint32_t count;
	pthread_t threads[];
};

/* Another batch, on the clock of one in work. Sleeping is left to the lobby. */
static void runner_fetch(struct cmx_runners *runners)
{
	struct cmx_ctx *ctx = runners->ctx;
	struct cmx_goal goal = {
		.timeline = cmx_lobby_join(&ctx->lobby),
		.flags = CMX_RUN_HELPER | CMX_RUN_NOBLOCK,
		.until = CMX_UNTIL_NONE,
	};
	int ret;

	if (!goal.timeline)
		return;
	cmx_lobby_fetched(&ctx->lobby, false);
	/*
	 * Without memory, outcomes may be left that others wait for: deliver them. Any other
	 * error those that wait see, too.
	 */
	do {
		ret = cmx_run(ctx, &goal);
	} while (ret == -ENOMEM && !__atomic_load_n(&runners->stop, __ATOMIC_RELAXED));
	cmx_lobby_leave(&ctx->lobby, goal.timeline);
}

static void *runner_main(void *arg)
{
	struct cmx_runners *runners = arg;
	struct cmx_ctx *ctx = runners->ctx;
	uint64_t seen = 0;

	while (!__atomic_load_n(&runners->stop, __ATOMIC_RELAXED)) {
		if (cmx_lobby_try(&ctx->lobby))
			continue;
		runner_fetch(runners);
		if (cmx_lobby_try(&ctx->lobby))
			continue;
		seen = cmx_lobby_sleep(&ctx->lobby, seen, &runners->stop);
	}
	return NULL;
}

static void runners_join(struct cmx_runners *runners)
{
	__atomic_store_n(&runners->stop, true, __ATOMIC_RELAXED);
	cmx_lobby_kick(&runners->ctx->lobby);
	for (uint32_t i = 0; i < runners->count; i++)
		pthread_join(runners->threads[i], NULL);
	free(runners);
}

static int runners_spawn(struct cmx_runners *runners, uint32_t threads)
{
	sigset_t all, old;
	int ret = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	while (!ret && runners->count < threads) {
		ret = -pthread_create(&runners->threads[runners->count], NULL, runner_main,
				      runners);
		runners->count += !ret;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return ret;
}

/* Make them the context's, if it has none: threads may start them at one time. */
static int runners_set(struct cmx_ctx *ctx, struct cmx_runners *runners)
{
	uint32_t count;

	pthread_mutex_lock(&ctx->lock);
	count = ctx->runners ? ctx->runners->count : 0;
	if (!count)
		ctx->runners = runners;
	pthread_mutex_unlock(&ctx->lock);
	if (!count)
		return 0;
	return cmx_fail(-EBUSY, "threads", runners ? runners->count : 0, count,
			"the context has %u runner threads already", count);
}

int cmx_runner_start(struct cmx_ctx *ctx, uint32_t threads)
{
	struct cmx_runners *runners;
	int ret = cmx_ctx_check(ctx);

	if (ret)
		return ret;
	if (threads > RUNNER_MAX)
		return cmx_fail(-EINVAL, "threads", threads, RUNNER_MAX,
				"%u runner threads are more than %d", threads, RUNNER_MAX);
	if (!threads)
		return runners_set(ctx, NULL);
	runners = calloc(1, sizeof(*runners) + threads * sizeof(runners->threads[0]));
	if (!runners)
		return cmx_fail_call(-ENOMEM, "cmx_runner_start");
	runners->ctx = ctx;
	ret = runners_spawn(runners, threads);
	if (ret)
		ret = cmx_fail_call(ret, "starting runner threads");
	else
		ret = runners_set(ctx, runners);
	if (ret)
		runners_join(runners);
	return ret;
}

/* Whoever takes them out joins them. */
static struct cmx_runners *runners_take(struct cmx_ctx *ctx)
{
	struct cmx_runners *runners;

	pthread_mutex_lock(&ctx->lock);
	runners = ctx->runners;
	ctx->runners = NULL;
	pthread_mutex_unlock(&ctx->lock);
	return runners;
}

int cmx_runner_stop(struct cmx_ctx *ctx)
{
	struct cmx_runners *runners;
	int ret = cmx_ctx_check(ctx);

	if (ret)
		return ret;
	runners = runners_take(ctx);
	if (runners)
		runners_join(runners);
	return 0;
}

uint32_t cmx_runner_count(const struct cmx_ctx *ctx)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)&ctx->lock;
	uint32_t count;

	pthread_mutex_lock(lock);
	count = ctx->runners ? ctx->runners->count : 0;
	pthread_mutex_unlock(lock);
	return count;
}
