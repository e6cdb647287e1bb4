// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_stop.h"

#include <signal.h>
#include <stddef.h>
#include <time.h>

#define PATIENCE_S	2

static volatile sig_atomic_t stopped;
static time_t stopped_at;

static void on_signal(int sig)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!stopped) {
		stopped_at = now.tv_sec;
		stopped = 1;
	} else if (now.tv_sec > stopped_at + PATIENCE_S) {
		signal(sig, SIG_DFL);
		raise(sig);
	}
}

void cmx_stop_catch(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGQUIT, SIGHUP };
	const struct sigaction catch = { .sa_handler = on_signal };
	struct sigaction old;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
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
