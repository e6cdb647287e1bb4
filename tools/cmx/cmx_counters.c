// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx counters: what links, entities and clients carried.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_argument.h"
#include "cmx_command.h"
#include "cmx_counters.h"
#include "cmx_stop.h"

#define USUAL_TOP	10

struct counters_options {
	uint64_t top;
	/* 0: all so far. */
	uint64_t rate_ms;
	bool clients;
	bool json;
};

static int usage(FILE *to, int status)
{
	fprintf(to,
		"usage: cmx counters [--top N | --all] [--rate SECONDS] [--json]\n"
		"       cmx counters --clients [--rate SECONDS] [--json]\n"
		"\n"
		"Show what links and entities carried, the busiest first, and what went into and out\n"
		"of the switch chips; or what clients did.\n"
		"  -t, --top N         rows of each table (default %d)\n"
		"  -a, --all           all rows\n"
		"  -r, --rate SECONDS  of this long from now on (host time), with rates per second\n"
		"                      of virtual time\n"
		"  -c, --clients       a row for each client: your own, or all with CAP_NET_ADMIN\n"
		"  -j, --json          as JSON\n", USUAL_TOP);
	return status;
}

/* Returns an exit status, or -1 to go on. */
static int parse_option(struct counters_options *o, int c)
{
	switch (c) {
	case 't':
		return cmx_argument_number("counters", "--top", optarg, 1, UINT32_MAX, &o->top) ?
			CMX_EXIT_USAGE : -1;
	case 'a':
		o->top = 0;
		return -1;
	case 'r':
		return cmx_argument_seconds("counters", "--rate", optarg, &o->rate_ms) ?
			CMX_EXIT_USAGE : -1;
	case 'c':
		o->clients = true;
		return -1;
	case 'j':
		o->json = true;
		return -1;
	case 'h':
		return usage(stdout, CMX_EXIT_OK);
	default:
		return usage(stderr, CMX_EXIT_USAGE);
	}
}

static int parse_options(int argc, char **argv, struct counters_options *o)
{
	static const struct option longs[] = {
		{ "top", required_argument, NULL, 't' },
		{ "all", no_argument, NULL, 'a' },
		{ "rate", required_argument, NULL, 'r' },
		{ "clients", no_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status = -1;

	optind = 1;
	while (status < 0 && (c = getopt_long(argc, argv, "t:ar:cjh", longs, NULL)) != -1)
		status = parse_option(o, c);
	if (status < 0 && optind != argc) {
		fprintf(stderr, "cmx counters: unexpected argument `%s'\n", argv[optind]);
		status = usage(stderr, CMX_EXIT_USAGE);
	}
	return status;
}

static int show(struct cmx_counters *c, const struct counters_options *o)
{
	int status;

	if (!c->clients && cmx_counters_make(c))
		return CMX_EXIT_FAILED;
	status = o->json ? cmx_counters_print_json(c) : cmx_counters_print_text(c);
	cmx_counters_free(c);
	return status;
}

/* Shows what is added from the snapshot in @c to one a while later. */
static int show_rate(struct cmx_fabric *fabric, struct cmx_counters *c, uint32_t lists,
		     const struct counters_options *o)
{
	struct cmx_snapshot now;
	int status = CMX_EXIT_FAILED;

	cmx_stop_catch();
	cmx_stop_wait(-1, o->rate_ms);
	if (cmx_stopped())
		return CMX_EXIT_STOPPED;
	if (cmx_snapshot_take("counters", fabric, lists, &now))
		return status;
	if (!cmx_snapshot_since("counters", &now, &c->snapshot))
		status = show(c, o);
	cmx_snapshot_free(&now);
	return status;
}

static int run(struct cmx_fabric *fabric, const struct counters_options *o)
{
	uint32_t lists = o->clients ? CMX_SNAPSHOT_CLIENTS :
			 CMX_SNAPSHOT_ENTITIES | CMX_SNAPSHOT_LINKS;
	struct cmx_counters c = {
		.top = (uint32_t)o->top,
		.rate = o->rate_ms,
		.clients = o->clients,
	};
	int status;

	if (cmx_snapshot_take("counters", fabric, lists, &c.snapshot))
		return CMX_EXIT_FAILED;
	status = o->rate_ms ? show_rate(fabric, &c, lists, o) : show(&c, o);
	cmx_snapshot_free(&c.snapshot);
	return status;
}

int cmx_counters_main(int argc, char **argv)
{
	struct counters_options options = { .top = USUAL_TOP };
	struct cmx_fabric *fabric;
	int status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	if (cmx_fabric_open(&fabric)) {
		fprintf(stderr, "cmx counters: %s\n", cmx_last_error()->text);
		return CMX_EXIT_FAILED;
	}
	status = run(fabric, &options);
	cmx_fabric_close(fabric);
	return status;
}
