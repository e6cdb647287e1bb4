// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_stop.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "cmx_clock.h"

#define PATIENCE_MS	2000

static const int signals[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP };

#define NUM_SIGNALS	(sizeof(signals) / sizeof(signals[0]))

static volatile sig_atomic_t stopped;
static uint64_t stopped_at;

static void on_signal(int sig)
{
	uint64_t now = cmx_clock_ms();

	if (!stopped) {
		stopped_at = now;
		stopped = 1;
	} else if (now >= stopped_at + PATIENCE_MS) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

void cmx_stop_catch(void)
{
	const struct sigaction catch = { .sa_handler = on_signal };
	struct sigaction old;

	for (size_t i = 0; i < NUM_SIGNALS; i++) {
		/* What nohup asked for stays. */
		if (signals[i] == SIGHUP && !sigaction(SIGHUP, NULL, &old) &&
		    old.sa_handler == SIG_IGN)
			continue;
		sigaction(signals[i], &catch, NULL);
	}
	signal(SIGPIPE, SIG_IGN);
}

bool cmx_stopped(void)
{
	return stopped;
}

bool cmx_stop_wait(int fd, uint64_t ms)
{
	struct pollfd poll = { .fd = fd, .events = POLLIN };
	struct timespec limit = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };
	sigset_t block, old;
	int ret = 0;

	/* One that comes between the look at the flag and the wait must end the wait. */
	sigemptyset(&block);
	for (size_t i = 0; i < NUM_SIGNALS; i++)
		sigaddset(&block, signals[i]);
	sigprocmask(SIG_BLOCK, &block, &old);
	if (!stopped)
		ret = ppoll(&poll, 1, ms == UINT64_MAX ? NULL : &limit, &old);
	sigprocmask(SIG_SETMASK, &old, NULL);
	return ret > 0;
}
