// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx monitor: events of the supernode as they come, a line each.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cmx_argument.h"
#include "cmx_clock.h"
#include "cmx_command.h"
#include "cmx_monitor.h"
#include "cmx_stop.h"

struct monitor_options {
	/* 0: without end. */
	uint64_t count;
	uint64_t timeout_ms;
	bool json;
};

struct monitor {
	struct cmx_fabric *fabric;
	/* Failed commands on a socket of their own: many of them displace no change of state. */
	struct cmx_fabric *errors;
	/* Readable when one of the two is. */
	int either;
	const struct monitor_options *options;
	/* To call parts by name. */
	struct cmx_snapshot shape;
	uint64_t seen;
};

static int usage(FILE *to, int status)
{
	fprintf(to,
		"usage: cmx monitor [--json] [--count N] [--timeout SECONDS]\n"
		"\n"
		"Print events as they come, a line each: changes of state, commands that failed for\n"
		"the fabric's sake, another profile. A signal ends it.\n"
		"  -c, --count N          end after N events\n"
		"  -t, --timeout SECONDS  end after this long; a failure when --count is not reached\n"
		"  -j, --json             each line a JSON object\n");
	return status;
}

/* Returns an exit status, or -1 to go on. */
static int parse_option(struct monitor_options *o, int c)
{
	switch (c) {
	case 'c':
		return cmx_argument_number("monitor", "--count", optarg, 1, UINT32_MAX,
					   &o->count) ? CMX_EXIT_USAGE : -1;
	case 't':
		return cmx_argument_seconds("monitor", "--timeout", optarg, &o->timeout_ms) ?
			CMX_EXIT_USAGE : -1;
	case 'j':
		o->json = true;
		return -1;
	case 'h':
		return usage(stdout, CMX_EXIT_OK);
	default:
		return usage(stderr, CMX_EXIT_USAGE);
	}
}

static int parse_options(int argc, char **argv, struct monitor_options *o)
{
	static const struct option longs[] = {
		{ "count", required_argument, NULL, 'c' },
		{ "timeout", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status = -1;

	optind = 1;
	while (status < 0 && (c = getopt_long(argc, argv, "c:t:jh", longs, NULL)) != -1)
		status = parse_option(o, c);
	if (status < 0 && optind != argc) {
		fprintf(stderr, "cmx monitor: unexpected argument `%s'\n", argv[optind]);
		status = usage(stderr, CMX_EXIT_USAGE);
	}
	return status;
}

static int fail(void)
{
	fprintf(stderr, "cmx monitor: %s\n", cmx_last_error()->text);
	return CMX_EXIT_FAILED;
}

static bool is_done(const struct monitor *m)
{
	return cmx_stopped() || (m->options->count && m->seen >= m->options->count);
}

/* Another machine has other parts. */
static int learn_shape(struct monitor *m)
{
	cmx_snapshot_free(&m->shape);
	return cmx_snapshot_take("monitor", m->fabric, CMX_SNAPSHOT_STATES, &m->shape);
}

static int print(struct monitor *m, const struct cmx_fabric_event *event)
{
	if (event->type == CMX_FABRIC_EVENT_PROFILE && learn_shape(m))
		return CMX_EXIT_FAILED;
	m->seen++;
	return m->options->json ? cmx_monitor_print_json(&m->shape, event) :
				  cmx_monitor_print_text(&m->shape, event);
}

static int next_event(struct monitor *m, struct cmx_fabric_event *event)
{
	int ret = cmx_fabric_next_event(m->fabric, event);

	return ret ? ret : cmx_fabric_next_event(m->errors, event);
}

/* All that are there. */
static int print_events(struct monitor *m)
{
	struct cmx_fabric_event event;
	int status = CMX_EXIT_OK, ret;

	while (!is_done(m)) {
		ret = next_event(m, &event);
		if (ret < 0)
			return fail();
		if (!ret)
			break;
		status = print(m, &event);
		if (status)
			break;
	}
	return status;
}

static int time_is_over(const struct monitor *m)
{
	if (!m->options->count)
		return CMX_EXIT_OK;
	fprintf(stderr, "cmx monitor: time is over after %llu of %llu events\n",
		(unsigned long long)m->seen, (unsigned long long)m->options->count);
	return CMX_EXIT_FAILED;
}

static int listen_for(struct monitor *m)
{
	uint64_t limit = m->options->timeout_ms, end = cmx_clock_ms() + limit;
	int status = CMX_EXIT_OK;

	while (!status) {
		uint64_t now, left = UINT64_MAX;

		status = print_events(m);
		if (status || is_done(m))
			break;
		/* Once: a second reading could be past the end. */
		now = cmx_clock_ms();
		if (limit && now >= end)
			return time_is_over(m);
		if (limit)
			left = end - now;
		cmx_stop_wait(m->either, left);
	}
	return status;
}

static int watch(struct monitor *m, struct cmx_fabric *fabric)
{
	struct epoll_event readable = { .events = EPOLLIN };

	if (!epoll_ctl(m->either, EPOLL_CTL_ADD, cmx_fabric_fd(fabric), &readable))
		return CMX_EXIT_OK;
	perror("cmx monitor: epoll_ctl");
	return CMX_EXIT_FAILED;
}

static int subscribe(struct monitor *m)
{
	if (cmx_fabric_open(&m->fabric) || cmx_fabric_open(&m->errors) ||
	    cmx_fabric_subscribe(m->fabric, CMX_FABRIC_EVENTS_LINK | CMX_FABRIC_EVENTS_ENTITY) ||
	    cmx_fabric_subscribe(m->errors, CMX_FABRIC_EVENTS_ERROR))
		return fail();
	m->either = epoll_create1(EPOLL_CLOEXEC);
	if (m->either < 0) {
		perror("cmx monitor: epoll_create1");
		return CMX_EXIT_FAILED;
	}
	return watch(m, m->fabric) ? CMX_EXIT_FAILED : watch(m, m->errors);
}

int cmx_monitor_main(int argc, char **argv)
{
	struct monitor_options options = {};
	struct monitor monitor = { .options = &options, .either = -1 };
	int status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	cmx_stop_catch();
	/* What reads a pipe must not wait for more than a line. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	status = subscribe(&monitor);
	/* Nothing is missed between the two: an event may only come too early. */
	if (!status)
		status = learn_shape(&monitor) ? CMX_EXIT_FAILED : listen_for(&monitor);
	if (monitor.either >= 0)
		close(monitor.either);
	cmx_snapshot_free(&monitor.shape);
	cmx_fabric_close(monitor.errors);
	cmx_fabric_close(monitor.fabric);
	return status;
}
