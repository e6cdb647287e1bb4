// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx perf read, write, copy, atomic, and collectives: options and tables.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_argument.h"
#include "cmx_command.h"
#include "cmx_json_output.h"
#include "cmx_part.h"
#include "cmx_perf.h"
#include "cmx_perf_transfer.h"

#define MIN_SIZE	8u
#define MAX_ALL_SIZE	(8u << 20)
#define MAX_SIZE	(64ull << 30)
/* Published latencies are of this size: smaller ones were never measured. */
#define FITTED_SIZE	512u

struct table_options {
	const struct cmx_perf_test *test;
	const char *from, *to;
	const char *device;
	const char *lib_name;
	const char *planes_text;
	uint64_t size;		/* 0: all */
	uint64_t iterations;
	uint32_t dtype;
	bool collective;
	bool reduction;		/* a collective of the library */
	bool time_only;
	bool json;
	/* Made of the above. */
	struct cmx_ctx *ctx;
	struct cmx_fabric_machine machine;
	struct cmx_libprofile lib;
	uint32_t planes;	/* a mask; 0: all of UB */
	struct cmx_perf_list from_list, to_list;
	json_t *rows;
};

static int usage(FILE *to, const struct table_options *o, int status)
{
	fprintf(to, "usage: cmx perf %s --from LIST %s[OPTIONS]\n\n", o->test->name,
		o->collective ? "" : "--to LIST ");
	if (o->collective)
		fprintf(to, "  -f, --from LIST     ranks: 0,4-7, node0, socket2, n0.npu1.die0\n"
			    "  -s, --size BYTES    %s (default 1M)\n",
			o->reduction ? "of what each rank gets" : "from each rank to each");
	else
		fprintf(to, "  -f, --from LIST     that work: 0,4-7, node0, socket2, n0.npu1.die0\n"
			    "  -t, --to LIST       whose memory it is: as many, or one side is one\n"
			    "  -s, --size BYTES    of an operation (default 1M)\n"
			    "  -n, --iterations N  of each flow (default: by size)\n");
	fprintf(to, "  -a, --all-sizes     powers of 2 from %u to %u\n"
		    "  -p, --planes LIST   UB planes 0,2-3, or rdma, or vpc (default: all of UB)\n"
		    "%s"
		    "  -o, --time-only     memory without bytes; else they are moved and checked\n"
		    "  -j, --json          as JSON\n"
		    "  -d, --device PATH   device node; else $CMX_DEVICE, else the first one\n",
		MIN_SIZE, MAX_ALL_SIZE,
		o->reduction ? "  -y, --type TYPE     of elements: f32 (default), bf16\n" :
			       "  -l, --lib NAME      as a library does it: profile, or a file\n");
	return status;
}

static bool take_type(struct table_options *o, const char *text)
{
	o->dtype = strcmp(text, "bf16") ? CMX_CCL_F32 : CMX_CCL_BF16;
	if (o->dtype == CMX_CCL_BF16 || !strcmp(text, "f32"))
		return true;
	fprintf(stderr, "cmx perf: --type `%s' is neither f32 nor bf16\n", text);
	return false;
}

static bool take_option(struct table_options *o, int c)
{
	switch (c) {
	case 'f':
		o->from = optarg;
		return true;
	case 't':
		o->to = optarg;
		return true;
	case 's':
		return cmx_perf_size("--size", optarg, 1, MAX_SIZE, &o->size);
	case 'n':
		return !cmx_argument_number("perf", "--iterations", optarg, 1, 1 << 20,
					    &o->iterations);
	case 'a':
		o->size = 0;
		return true;
	case 'p':
		o->planes_text = optarg;
		return true;
	case 'l':
		o->lib_name = optarg;
		return true;
	case 'y':
		return take_type(o, optarg);
	case 'o':
		o->time_only = true;
		return true;
	case 'j':
		o->json = true;
		return true;
	default:
		o->device = optarg;
		return true;
	}
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct table_options *o)
{
	static const struct option longs[] = {
		{ "from", required_argument, NULL, 'f' },
		{ "to", required_argument, NULL, 't' },
		{ "size", required_argument, NULL, 's' },
		{ "iterations", required_argument, NULL, 'n' },
		{ "all-sizes", no_argument, NULL, 'a' },
		{ "planes", required_argument, NULL, 'p' },
		{ "lib", required_argument, NULL, 'l' },
		{ "type", required_argument, NULL, 'y' },
		{ "time-only", no_argument, NULL, 'o' },
		{ "json", no_argument, NULL, 'j' },
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "f:t:s:n:ap:l:y:ojd:h", longs, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, o, CMX_EXIT_OK);
		if (c == '?' || (o->collective && (c == 't' || c == 'n')) ||
		    c == (o->reduction ? 'l' : 'y'))
			return usage(stderr, o, CMX_EXIT_USAGE);
		if (!take_option(o, c))
			return CMX_EXIT_USAGE;
	}
	if (optind == argc && o->from && (o->to || o->collective))
		return -1;
	if (optind != argc)
		fprintf(stderr, "cmx perf: unexpected argument `%s'\n", argv[optind]);
	else
		fprintf(stderr, "cmx perf: --%s is missing\n", o->from ? "to" : "from");
	return usage(stderr, o, CMX_EXIT_USAGE);
}

/* A single one is every flow's. */
static bool stretch(struct cmx_perf_list *list, uint32_t count)
{
	uint32_t *entities;

	if (list->count == count)
		return true;
	entities = calloc(count, sizeof(*entities));
	if (!entities)
		return false;
	for (uint32_t i = 0; i < count; i++)
		entities[i] = list->entities[0];
	free(list->entities);
	list->entities = entities;
	list->count = count;
	return true;
}

/* What lists of parts are about. Returns an exit status. */
static int learn_machine(struct table_options *o)
{
	struct cmx_fabric *fabric = NULL;
	int status = CMX_EXIT_OK;

	if (cmx_fabric_open(&fabric) || cmx_fabric_get_machine(fabric, &o->machine))
		status = cmx_perf_failed(cmx_last_error()->text);
	cmx_fabric_close(fabric);
	return status;
}

/* Returns an exit status. */
static int make_lists(struct table_options *o)
{
	uint32_t n, m;

	if (o->planes_text &&
	    cmx_part_parse_planes("perf", &o->machine, o->planes_text, &o->planes))
		return CMX_EXIT_USAGE;
	if (!cmx_perf_entities(&o->machine, "--from", o->from, &o->from_list))
		return CMX_EXIT_USAGE;
	n = o->from_list.count;
	if (o->collective) {
		if (n >= 2)
			return CMX_EXIT_OK;
		fprintf(stderr, "cmx perf: --from has %u rank, at least 2 are needed\n", n);
		return CMX_EXIT_USAGE;
	}
	if (!cmx_perf_entities(&o->machine, "--to", o->to, &o->to_list))
		return CMX_EXIT_USAGE;
	m = o->to_list.count;
	if (n != m && n != 1 && m != 1) {
		fprintf(stderr,
			"cmx perf: --from has %u entities and --to %u: not as many, and none has one\n",
			n, m);
		return CMX_EXIT_USAGE;
	}
	if (stretch(&o->from_list, m > n ? m : n) && stretch(&o->to_list, m > n ? m : n))
		return CMX_EXIT_OK;
	return cmx_perf_failed("no memory for the flows");
}

static void print_row(struct table_options *o, json_t *row, bool extrapolated)
{
	const char *format = o->collective ? "%12lld %12.3f %12.3f %12.3f %12.3f %12.1f%s\n" :
					     "%12lld %8lld %14.3f %12.3f %12.3f %12.1f%s\n";
	const char *mark = extrapolated ? "  extrapolated" : "";

	if (o->json) {
		json_array_append_new(o->rows, row);
		return;
	}
#define REAL(key)	json_real_value(json_object_get(row, key))
#define INT(key)	json_integer_value(json_object_get(row, key))
	if (o->collective)
		printf(format, INT("bytes"), REAL("us"), REAL("us_min"), REAL("us_max"),
		       REAL("gbps"), REAL("host_us"), mark);
	else
		printf(format, INT("bytes"), INT("iterations"), REAL("latency_us"),
		       REAL("gbps"), REAL("slowest_gbps"), REAL("host_us"), mark);
#undef REAL
#undef INT
	fflush(stdout);
	json_decref(row);
}

static bool beyond_fit(const struct table_options *o, uint64_t size, int base)
{
	return size < FITTED_SIZE || (o->lib_name && o->lib.has[base] && size < o->lib.value[base]);
}

static int run_transfer(struct table_options *o, uint64_t size)
{
	const struct cmx_transfer_spec spec = {
		.op = o->test->which, .from = o->from_list.entities, .to = o->to_list.entities,
		.flows = o->from_list.count, .size = size, .iterations = (uint32_t)o->iterations,
		.planes = o->planes, .data = !o->time_only, .lib = o->lib_name ? &o->lib : NULL,
	};
	struct cmx_transfer_result r;
	bool beyond;

	if (cmx_transfer_run(o->ctx, &spec, &r))
		return cmx_perf_failed(r.error);
	beyond = r.extrapolated || beyond_fit(o, size, CMX_LIB_DIE_CHUNK);
	print_row(o, json_pack("{s:I, s:i, s:o, s:o, s:o, s:o, s:o, s:b, s:o}",
			       "bytes", (json_int_t)size, "iterations", r.iterations,
			       "latency_us", cmx_perf_real((double)r.latency_ps / 1e6),
			       "us", cmx_perf_real((double)r.total_ps / 1e6),
			       "gbps", cmx_perf_real(r.gbps),
			       "slowest_gbps", cmx_perf_real(r.slowest_gbps),
			       "fastest_gbps", cmx_perf_real(r.fastest_gbps),
			       "extrapolated", beyond,
			       "host_us", cmx_perf_real((double)r.host_ns / 1e3)), beyond);
	return CMX_EXIT_OK;
}

static int run_collective(struct table_options *o, uint64_t size)
{
	const struct cmx_collective_spec spec = {
		.op = o->test->which, .ranks = o->from_list.entities, .count = o->from_list.count,
		.size = size, .planes = o->planes, .data = !o->time_only, .dtype = o->dtype,
		.lib = o->lib_name ? &o->lib : NULL,
	};
	struct cmx_collective_result r;
	bool beyond;
	int ret = o->reduction ? cmx_reduction_run(o->ctx, &spec, &r) :
				 cmx_collective_run(o->ctx, &spec, &r);

	if (ret)
		return cmx_perf_failed(r.error);
	beyond = r.extrapolated || size < FITTED_SIZE;
	print_row(o, json_pack("{s:I, s:o*, s:o, s:o, s:o, s:o, s:b, s:o}",
			       "bytes", (json_int_t)size,
			       "steps", o->reduction ? json_integer(r.steps) : NULL,
			       "us", cmx_perf_real((double)r.mean_ps / 1e6),
			       "us_min", cmx_perf_real((double)r.min_ps / 1e6),
			       "us_max", cmx_perf_real((double)r.max_ps / 1e6),
			       "gbps", cmx_perf_real(r.gbps), "extrapolated", beyond,
			       "host_us", cmx_perf_real((double)r.host_ns / 1e3)), beyond);
	return CMX_EXIT_OK;
}

static void print_head(const struct table_options *o)
{
	if (o->json)
		return;
	if (o->collective)
		printf("%s, %u ranks, %s%s; times and GB/s of a rank are virtual\n"
		       "%12s %12s %12s %12s %12s %12s\n",
		       o->test->name, o->from_list.count, o->lib_name ? "library " : "bare",
		       o->lib_name ? o->lib.name : "", "bytes", "mean us", "min us", "max us",
		       "GB/s", "host us");
	else
		printf("%s, %u flow%s, %s%s; latency and GB/s are virtual\n"
		       "%12s %8s %14s %12s %12s %12s\n",
		       o->test->name, o->from_list.count, o->from_list.count > 1 ? "s" : "",
		       o->lib_name ? "library " : "bare", o->lib_name ? o->lib.name : "",
		       "bytes", "iter", "latency us", "GB/s all", "slowest", "host us");
}

static json_t *head_json(struct table_options *o)
{
	json_t *root = json_pack("{s:s, s:s, s:b, s:i, s:i}", "test", o->test->name,
				 "lib", o->lib_name ? o->lib.name : "", "data", !o->time_only,
				 o->collective ? "ranks" : "flows", (int)o->from_list.count,
				 "planes", (int)o->planes);

	if (root)
		json_object_set(root, "rows", o->rows);
	return root;
}

static int run(struct table_options *o)
{
	uint64_t first = o->size ? o->size : MIN_SIZE, last = o->size ? o->size : MAX_ALL_SIZE;
	int status = learn_machine(o);

	if (!status)
		status = make_lists(o);
	if (status)
		return status;
	if (!o->collective && o->test->which == CMX_TRANSFER_ATOMIC) {
		first = MIN_SIZE;
		last = MIN_SIZE;
	}
	print_head(o);
	for (uint64_t size = first; size <= last && !status; size *= 2)
		status = o->collective ? run_collective(o, size) : run_transfer(o, size);
	if (!status && o->json)
		status = cmx_json_print("perf", head_json(o), CMX_PERF_JSON);
	return status;
}

static int table_main(struct table_options *o, int argc, char **argv)
{
	int status = parse(argc, argv, o);

	if (status >= 0)
		return status;
	if (o->lib_name && cmx_libprofile_load(&o->lib, o->lib_name))
		return cmx_perf_failed(o->lib.error);
	if (cmx_open(o->device, 0, &o->ctx))
		return cmx_perf_failed(cmx_last_error()->text);
	o->rows = json_array();
	status = run(o);
	json_decref(o->rows);
	free(o->from_list.entities);
	free(o->to_list.entities);
	cmx_close(o->ctx);
	return status;
}

int cmx_perf_transfer_main(const struct cmx_perf_test *test, int argc, char **argv)
{
	struct table_options o = { .test = test, .size = 1 << 20 };

	return table_main(&o, argc, argv);
}

int cmx_perf_reduction_main(const struct cmx_perf_test *test, int argc, char **argv)
{
	struct table_options o = {
		.test = test, .size = 1 << 20, .collective = true, .reduction = true,
	};

	return table_main(&o, argc, argv);
}

int cmx_perf_collective_main(const struct cmx_perf_test *test, int argc, char **argv)
{
	struct table_options o = { .test = test, .size = 1 << 20, .collective = true };

	return table_main(&o, argc, argv);
}
