// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx topo: the supernode as a tree, one node of it, the way between two entities, a picture.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cmx_argument.h"
#include "cmx_command.h"
#include "cmx_output_file.h"
#include "cmx_part.h"
#include "cmx_stdout.h"
#include "cmx_stop.h"
#include "cmx_topo.h"

#define SHAPE	(CMX_SNAPSHOT_ENTITIES | CMX_SNAPSHOT_CHIPS | CMX_SNAPSHOT_STATES)
#define LOAD	(CMX_SNAPSHOT_ENTITIES | CMX_SNAPSHOT_CHIPS | CMX_SNAPSHOT_LINKS)

struct topo_options {
	/* As written: what they may be depends on the machine. */
	const char *node;
	const char *planes;
	const char *from;
	const char *to;
	const char *svg;
	/* 0: load since the machine was made. */
	uint64_t interval_ms;
	bool json;
};

static int usage(FILE *to, int status)
{
	fprintf(to,
		"usage: cmx topo [--json]\n"
		"       cmx topo --node NODE [--json]\n"
		"       cmx topo A B [--planes LIST] [--json]\n"
		"       cmx topo --svg FILE [--interval SECONDS]\n"
		"\n"
		"Show the supernode: as a tree, one node, the way from entity A to B, or a picture.\n"
		"An entity is a number, or a name such as n0.npu3.die1 or n0.socket2.\n"
		"  -n, --node NODE     one node with all its ports and chips\n"
		"  -p, --planes LIST   use only these planes (0,2-4, or rdma, or vpc)\n"
		"  -s, --svg FILE      draw into FILE (`-': standard output)\n"
		"  -i, --interval SECONDS\n"
		"                      draw the load of this long from now on (host time), not\n"
		"                      that of all virtual time so far\n"
		"  -j, --json          as JSON\n");
	return status;
}

/* Returns an exit status, or -1 to go on. */
static int parse_option(struct topo_options *o, int c)
{
	switch (c) {
	case 'n':
		o->node = optarg;
		return -1;
	case 'p':
		o->planes = optarg;
		return -1;
	case 's':
		o->svg = optarg;
		return -1;
	case 'i':
		if (cmx_argument_seconds("topo", "--interval", optarg, &o->interval_ms))
			return CMX_EXIT_USAGE;
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

/* One thing at a time. */
static bool is_sensible(const struct topo_options *o, int words)
{
	if (words != 0 && words != 2)
		return false;
	if ((o->node || o->svg) && words)
		return false;
	if (o->planes && !words)
		return false;
	if (o->svg && (o->node || o->json))
		return false;
	return o->svg || !o->interval_ms;
}

static int parse_options(int argc, char **argv, struct topo_options *o)
{
	static const struct option longs[] = {
		{ "node", required_argument, NULL, 'n' },
		{ "planes", required_argument, NULL, 'p' },
		{ "svg", required_argument, NULL, 's' },
		{ "interval", required_argument, NULL, 'i' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status = -1;

	optind = 1;
	while (status < 0 && (c = getopt_long(argc, argv, "n:p:s:i:jh", longs, NULL)) != -1)
		status = parse_option(o, c);
	if (status >= 0)
		return status;
	if (!is_sensible(o, argc - optind))
		return usage(stderr, CMX_EXIT_USAGE);
	if (argc > optind) {
		o->from = argv[optind];
		o->to = argv[optind + 1];
	}
	return -1;
}

static int fail(void)
{
	fprintf(stderr, "cmx topo: %s\n", cmx_last_error()->text);
	return CMX_EXIT_FAILED;
}

static int show_tree(const struct cmx_snapshot *s, const struct topo_options *o)
{
	struct cmx_topo topo;
	int status;

	if (cmx_topo_count(&topo, s))
		return CMX_EXIT_FAILED;
	status = o->json ? cmx_topo_print_tree_json(&topo) : cmx_topo_print_tree(&topo);
	cmx_topo_free(&topo);
	return status;
}

static int show_node(const struct cmx_snapshot *s, const struct topo_options *o)
{
	uint32_t node;

	if (cmx_part_parse_node("topo", &s->machine, o->node, &node))
		return CMX_EXIT_USAGE;
	return o->json ? cmx_topo_print_node_json(s, node) : cmx_topo_print_node(s, node);
}

static int show_path(struct cmx_fabric *fabric, const struct cmx_snapshot *s,
		     const struct topo_options *o)
{
	struct cmx_fabric_route route;
	struct cmx_topo_path path;
	uint32_t from, to, planes = 0;
	int status;

	if (cmx_part_parse_entity("topo", &s->machine, o->from, &from) ||
	    cmx_part_parse_entity("topo", &s->machine, o->to, &to))
		return CMX_EXIT_USAGE;
	if (o->planes && cmx_part_parse_planes("topo", &s->machine, o->planes, &planes))
		return CMX_EXIT_USAGE;
	if (cmx_fabric_get_route(fabric, from, to, planes, &route))
		return fail();
	if (cmx_topo_path_find(&path, s, &route, planes))
		return CMX_EXIT_FAILED;
	status = o->json ? cmx_topo_print_path_json(&path) : cmx_topo_print_path(&path);
	cmx_topo_path_free(&path);
	return status;
}

static int write_svg(const struct cmx_snapshot *s, const char *name)
{
	struct cmx_output_file file;
	int ret;

	if (!strcmp(name, "-")) {
		if (cmx_topo_svg(s, stdout))
			return CMX_EXIT_FAILED;
		return cmx_stdout_flush("topo");
	}
	ret = cmx_output_open(&file, name);
	if (!ret && (cmx_topo_svg(s, file.f) || cmx_stopped())) {
		cmx_output_abort(&file);
		return cmx_stopped() ? CMX_EXIT_STOPPED : CMX_EXIT_FAILED;
	}
	if (!ret)
		ret = cmx_output_commit(&file);
	if (!ret)
		return CMX_EXIT_OK;
	fprintf(stderr, "cmx topo: --svg: %s: %s\n", name, strerror(-ret));
	return CMX_EXIT_FAILED;
}

static int draw(struct cmx_fabric *fabric, struct cmx_snapshot *s, const struct topo_options *o)
{
	struct cmx_snapshot now;
	int status = CMX_EXIT_FAILED;

	cmx_stop_catch();
	if (!o->interval_ms)
		return write_svg(s, o->svg);
	cmx_stop_wait(-1, o->interval_ms);
	if (cmx_stopped())
		return CMX_EXIT_STOPPED;
	if (cmx_snapshot_take("topo", fabric, LOAD, &now))
		return status;
	if (!cmx_snapshot_since("topo", &now, s))
		status = write_svg(s, o->svg);
	cmx_snapshot_free(&now);
	return status;
}

int cmx_topo_main(int argc, char **argv)
{
	struct topo_options options = {};
	struct cmx_fabric *fabric;
	struct cmx_snapshot snapshot;
	int status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	if (cmx_fabric_open(&fabric))
		return fail();
	status = CMX_EXIT_FAILED;
	if (cmx_snapshot_take("topo", fabric, options.svg ? LOAD : SHAPE, &snapshot))
		goto out;
	if (options.svg)
		status = draw(fabric, &snapshot, &options);
	else if (options.from)
		status = show_path(fabric, &snapshot, &options);
	else if (options.node)
		status = show_node(&snapshot, &options);
	else
		status = show_tree(&snapshot, &options);
	cmx_snapshot_free(&snapshot);
out:
	cmx_fabric_close(fabric);
	return status;
}
