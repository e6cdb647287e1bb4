// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx timeline: what a trace's commands took, as text or as a picture.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_command.h"
#include "cmx_output_file.h"
#include "cmx_stop.h"
#include "cmx_timeline.h"

#define MIN_WIDTH	400
#define MAX_WIDTH	20000

struct timeline_options {
	const char *svg;
	/* Name of --cycle without its number. */
	char *cycle;
	uint64_t cycle_index;
	bool has_to;
	struct cmx_trace_view view;
};

static int usage(FILE *to, int status)
{
	fprintf(to,
		"usage: cmx timeline [OPTIONS] TRACE.json\n"
		"\n"
		"Sum up a trace of `cmx infer run --trace', or draw it. Times are virtual.\n"
		"  -s, --svg FILE      draw into FILE (`-': standard output)\n"
		"  -f, --from US       leave out what is earlier\n"
		"  -t, --to US         leave out what is later\n"
		"  -c, --cycle NAME:K  only from the K-th event NAME (from 0) to the next one;\n"
		"                      embed:K is the K-th pass through a model\n"
		"  -n, --by-name       a row for each name instead of one for each queue\n"
		"  -w, --width PIXELS  of the picture, %d to %d (default 1000)\n",
		MIN_WIDTH, MAX_WIDTH);
	return status;
}

static int parse_us(const char *option, const char *text, uint64_t *ps)
{
	char *end;
	double us;

	errno = 0;
	us = strtod(text, &end);
	if (*text < '0' || *text > '9' || *end || errno || us > 9e9) {
		fprintf(stderr, "cmx timeline: %s `%s' is not a time from 0 to 9e9 us\n", option,
			text);
		return -1;
	}
	*ps = (uint64_t)(us * 1e6 + 0.5);
	return 0;
}

static int parse_number(const char *option, const char *text, uint64_t min, uint64_t max,
			uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *value >= min && *value <= max)
		return 0;
	fprintf(stderr, "cmx timeline: %s `%s' is not a number from %llu to %llu\n", option, text,
		(unsigned long long)min, (unsigned long long)max);
	return -1;
}

static int parse_cycle(struct timeline_options *o, char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon || colon == text) {
		fprintf(stderr, "cmx timeline: --cycle `%s' is not NAME:K\n", text);
		return -1;
	}
	*colon = '\0';
	o->cycle = text;
	return parse_number("--cycle", colon + 1, 0, UINT32_MAX, &o->cycle_index);
}

static int parse_option(struct timeline_options *o, int c)
{
	uint64_t width;

	switch (c) {
	case 's':
		o->svg = optarg;
		return 0;
	case 'f':
		return parse_us("--from", optarg, &o->view.from_ps);
	case 't':
		o->has_to = true;
		return parse_us("--to", optarg, &o->view.to_ps);
	case 'c':
		return parse_cycle(o, optarg);
	case 'n':
		o->view.by_name = true;
		return 0;
	case 'w':
		if (parse_number("--width", optarg, MIN_WIDTH, MAX_WIDTH, &width))
			return -1;
		o->view.width = (uint32_t)width;
		return 0;
	default:
		return -1;
	}
}

/* Returns an exit status, or -1 to go on. */
static int parse_options(int argc, char **argv, struct timeline_options *o)
{
	static const struct option longs[] = {
		{ "svg", required_argument, NULL, 's' },
		{ "from", required_argument, NULL, 'f' },
		{ "to", required_argument, NULL, 't' },
		{ "cycle", required_argument, NULL, 'c' },
		{ "by-name", no_argument, NULL, 'n' },
		{ "width", required_argument, NULL, 'w' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "s:f:t:c:nw:h", longs, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, CMX_EXIT_OK);
		if (parse_option(o, c))
			return CMX_EXIT_USAGE;
	}
	if (optind + 1 != argc)
		return usage(stderr, CMX_EXIT_USAGE);
	return -1;
}

/* The view of --cycle: from one event to the next of its name, or to the trace's end. */
static int find_cycle(const struct cmx_trace *trace, struct timeline_options *o)
{
	uint64_t seen = 0;

	for (uint64_t i = 0; i < trace->num_events; i++) {
		const struct cmx_trace_event *e = &trace->events[i];

		if (strcmp(trace->kinds[e->kind].name, o->cycle))
			continue;
		if (seen == o->cycle_index)
			o->view.from_ps = e->start_ps;
		if (seen++ == o->cycle_index + 1)
			o->view.to_ps = e->start_ps;
	}
	if (seen > o->cycle_index)
		return 0;
	fprintf(stderr, "cmx timeline: --cycle: %llu events are named `%s', number %llu is none\n",
		(unsigned long long)seen, o->cycle, (unsigned long long)o->cycle_index);
	return -1;
}

static int find_view(const struct cmx_trace *trace, struct timeline_options *o)
{
	uint64_t end = 0;

	for (uint64_t i = 0; i < trace->num_events; i++)
		if (trace->events[i].end_ps > end)
			end = trace->events[i].end_ps;
	if (!o->has_to || o->view.to_ps > end)
		o->view.to_ps = end;
	if (o->cycle && find_cycle(trace, o))
		return -1;
	if (o->view.from_ps < o->view.to_ps)
		return 0;
	fprintf(stderr, "cmx timeline: nothing between %.6f and %.6f us\n",
		(double)o->view.from_ps / 1e6, (double)o->view.to_ps / 1e6);
	return -1;
}

/* A text for whatever was not written to standard output. */
static int flush_stdout(void)
{
	errno = EIO;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fprintf(stderr, "cmx timeline: standard output: %s\n", strerror(errno));
	return -1;
}

static int print_summary(const struct cmx_trace *trace, const struct cmx_trace_view *view)
{
	double span = (double)(view->to_ps - view->from_ps);

	printf("from %.6f to %.6f us of virtual time: %.6f us\n", (double)view->from_ps / 1e6,
	       (double)view->to_ps / 1e6, span / 1e6);
	printf("%-24s %10s %16s %8s\n", "name", "commands", "us (virtual)", "share");
	for (uint32_t i = 0; i < trace->num_kinds; i++) {
		const struct cmx_trace_kind *kind = &trace->kinds[i];

		if (kind->count)
			printf("%-24s %10llu %16.6f %7.1f%%\n", kind->name,
			       (unsigned long long)kind->count, (double)kind->total_ps / 1e6,
			       100 * (double)kind->total_ps / span);
	}
	return flush_stdout();
}

static int write_svg(const struct cmx_trace *trace, const struct timeline_options *o)
{
	struct cmx_output_file file;
	int ret;

	if (!strcmp(o->svg, "-"))
		return cmx_trace_svg(trace, &o->view, stdout) ? -1 : flush_stdout();
	ret = cmx_output_open(&file, o->svg);
	if (!ret && cmx_trace_svg(trace, &o->view, file.f)) {
		cmx_output_abort(&file);
		return -1;
	}
	if (!ret && cmx_stopped()) {
		cmx_output_abort(&file);
		ret = -EINTR;
	}
	if (!ret)
		ret = cmx_output_commit(&file);
	if (!ret)
		return 0;
	fprintf(stderr, "cmx timeline: --svg: %s: %s\n", o->svg, strerror(-ret));
	return -1;
}

int cmx_timeline_main(int argc, char **argv)
{
	struct timeline_options options = { .view.width = 1000 };
	struct cmx_trace trace;
	int ret = parse_options(argc, argv, &options);

	if (ret >= 0)
		return ret;
	cmx_stop_catch();
	ret = cmx_trace_load(&trace, argv[optind]);
	if (!ret)
		ret = find_view(&trace, &options);
	if (!ret) {
		cmx_trace_cut(&trace, &options.view);
		if (options.svg)
			ret = write_svg(&trace, &options);
		else
			ret = print_summary(&trace, &options.view);
	}
	cmx_trace_free(&trace);
	if (ret && cmx_stopped())
		return CMX_EXIT_STOPPED;
	return ret ? CMX_EXIT_FAILED : CMX_EXIT_OK;
}
