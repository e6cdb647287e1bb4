// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx smi: dies, their memory, cores and processes, once or again and again.
 */
#include <getopt.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cmx_amount.h"
#include "cmx_argument.h"
#include "cmx_command.h"
#include "cmx_part.h"
#include "cmx_smi.h"
#include "cmx_stop.h"

#define LISTS	(CMX_SNAPSHOT_ENTITIES | CMX_SNAPSHOT_LINKS | CMX_SNAPSHOT_CLIENTS)
#define USUAL_COLUMNS	100

struct smi_options {
	/* As written: what it may be depends on the machine. */
	const char *node;
	/* 0: once. */
	uint64_t watch_ms;
	/* Tables to print; 0: until stopped. */
	uint64_t count;
	uint32_t by;
	bool map;
	bool json;
};

static int usage(FILE *to, int status)
{
	fprintf(to,
		"usage: cmx smi [--node NODE] [--json] [--watch [SECONDS] [--count N]]\n"
		"       cmx smi --map [--by hbm|core|port] [--watch [SECONDS] [--count N]]\n"
		"\n"
		"Show the NPUs, two dies each: health, memory, use of the cores, processes. Use is\n"
		"a share of virtual time.\n"
		"  -n, --node NODE        only the NPUs of this node\n"
		"  -m, --map              a map of the racks, a mark for each die\n"
		"  -b, --by WHAT          what it shows: hbm (memory in use), core (the default)\n"
		"                         or port (UB links)\n"
		"  -w, --watch [SECONDS]  again and again (default: each second), use since the\n"
		"                         table before\n"
		"  -c, --count N          stop after N tables\n"
		"  -j, --json             as JSON, with --watch a line for each table\n");
	return status;
}

static int parse_by(struct smi_options *o, const char *text)
{
	static const char * const words[] = { "hbm", "core", "port", NULL };

	o->map = true;
	return cmx_argument_word("smi", "--by", text, words, &o->by) ? CMX_EXIT_USAGE : -1;
}

static int parse_watch(struct smi_options *o, const char *text)
{
	o->watch_ms = 1000;
	if (text && cmx_argument_seconds("smi", "--watch", text, &o->watch_ms))
		return CMX_EXIT_USAGE;
	return -1;
}

/* Returns an exit status, or -1 to go on. */
static int parse_option(struct smi_options *o, int c)
{
	switch (c) {
	case 'n':
		o->node = optarg;
		return -1;
	case 'm':
		o->map = true;
		return -1;
	case 'b':
		return parse_by(o, optarg);
	case 'w':
		return parse_watch(o, optarg);
	case 'c':
		return cmx_argument_number("smi", "--count", optarg, 1, UINT32_MAX, &o->count) ?
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

static int parse_options(int argc, char **argv, struct smi_options *o)
{
	static const struct option longs[] = {
		{ "node", required_argument, NULL, 'n' },
		{ "map", no_argument, NULL, 'm' },
		{ "by", required_argument, NULL, 'b' },
		{ "watch", optional_argument, NULL, 'w' },
		{ "count", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c, status = -1;

	optind = 1;
	while (status < 0 && (c = getopt_long(argc, argv, "n:mb:w::c:jh", longs, NULL)) != -1)
		status = parse_option(o, c);
	/* The seconds may also stand by themselves. */
	if (status < 0 && o->watch_ms && optind == argc - 1)
		status = parse_watch(o, argv[optind++]);
	if (status >= 0)
		return status;
	if (optind != argc || (o->count && !o->watch_ms) || (o->map && (o->node || o->json)))
		return usage(stderr, CMX_EXIT_USAGE);
	return -1;
}

bool cmx_smi_shows(const struct cmx_smi *smi, uint32_t entity)
{
	const struct cmx_fabric_machine *m = &smi->snapshot.machine;

	return entity < m->num_dies &&
	       (smi->node == CMX_SMI_ALL || cmx_part_entity_node(m, entity) == smi->node);
}

const char *cmx_smi_health(const struct cmx_smi *smi, uint32_t die)
{
	const struct cmx_link_sum *ports = &smi->sums.entities[die];

	if (!smi->snapshot.entities[die].admin_up || !ports->up)
		return "Critical";
	return ports->up < ports->links || ports->degraded ? "Warning" : "OK";
}

uint32_t cmx_smi_share(const struct cmx_smi *smi, uint32_t die, enum cmx_smi_by by)
{
	const struct cmx_fabric_entity *e = &smi->snapshot.entities[die];

	if (by == CMX_SMI_HBM)
		return (uint32_t)cmx_permille(e->used, e->capacity);
	if (by == CMX_SMI_PORT)
		return cmx_link_sum_busy(&smi->sums.entities[die], smi->snapshot.span_ps);
	return (uint32_t)cmx_permille(e->cube_busy_ps, smi->snapshot.span_ps);
}

static void look_at_terminal(struct cmx_smi *smi)
{
	const char *term = getenv("TERM"), *plain = getenv("NO_COLOR");
	struct winsize size;

	setlocale(LC_CTYPE, "");
	smi->utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");
	smi->columns = USUAL_COLUMNS;
	if (!isatty(STDOUT_FILENO))
		return;
	smi->colour = !(plain && *plain) && term && strcmp(term, "dumb");
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col)
		smi->columns = size.ws_col;
}

static int print(const struct cmx_smi *smi, const struct smi_options *o)
{
	if (o->json)
		return cmx_smi_print_json(smi, o->watch_ms ? JSON_COMPACT : JSON_INDENT(2));
	return o->map ? cmx_smi_print_map(smi) : cmx_smi_print_table(smi);
}

static int show(struct cmx_smi *smi, const struct smi_options *o)
{
	int status;

	if (cmx_link_sums_make("smi", &smi->snapshot, &smi->sums))
		return CMX_EXIT_FAILED;
	status = print(smi, o);
	cmx_link_sums_free(&smi->sums);
	return status;
}

static void part_tables(const struct cmx_smi *smi, const struct smi_options *o)
{
	if (smi->colour && !o->json)
		printf("\033[H\033[J");
	else if (!o->json)
		printf("\n");
}

/* Shows what was added since the snapshot in @smi, and leaves the newer one there. */
static int show_next(struct cmx_fabric *fabric, struct cmx_smi *smi, const struct smi_options *o)
{
	struct cmx_snapshot now;
	int status = CMX_EXIT_FAILED;

	if (cmx_snapshot_take("smi", fabric, LISTS, &now))
		return status;
	if (!cmx_snapshot_since("smi", &now, &smi->snapshot)) {
		part_tables(smi, o);
		status = show(smi, o);
	}
	cmx_snapshot_free(&smi->snapshot);
	smi->snapshot = now;
	return status;
}

static int watch(struct cmx_fabric *fabric, struct cmx_smi *smi, const struct smi_options *o)
{
	int status = CMX_EXIT_OK;

	for (uint64_t n = 1; !status && n != o->count; n++) {
		cmx_stop_wait(-1, o->watch_ms);
		/* To be stopped is how this ends. */
		if (cmx_stopped())
			break;
		status = show_next(fabric, smi, o);
	}
	return status;
}

static int run(struct cmx_fabric *fabric, struct cmx_smi *smi, const struct smi_options *o)
{
	int status;

	if (o->watch_ms)
		cmx_stop_catch();
	if (cmx_snapshot_take("smi", fabric, LISTS, &smi->snapshot))
		return CMX_EXIT_FAILED;
	if (o->node && cmx_part_parse_node("smi", &smi->snapshot.machine, o->node, &smi->node)) {
		status = CMX_EXIT_USAGE;
	} else {
		if (o->watch_ms && smi->colour)
			part_tables(smi, o);
		status = show(smi, o);
		if (!status && o->watch_ms)
			status = watch(fabric, smi, o);
	}
	cmx_snapshot_free(&smi->snapshot);
	return status;
}

int cmx_smi_main(int argc, char **argv)
{
	struct smi_options options = { .by = CMX_SMI_CORE };
	struct cmx_smi smi = { .node = CMX_SMI_ALL };
	struct cmx_fabric *fabric;
	int status = parse_options(argc, argv, &options);

	if (status >= 0)
		return status;
	if (cmx_fabric_open(&fabric)) {
		fprintf(stderr, "cmx smi: %s\n", cmx_last_error()->text);
		return CMX_EXIT_FAILED;
	}
	smi.by = options.by;
	look_at_terminal(&smi);
	status = run(fabric, &smi, &options);
	cmx_fabric_close(fabric);
	return status;
}
