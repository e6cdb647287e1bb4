// SPDX-License-Identifier: GPL-2.0-only
/*
 * cmx perf dispatch, combine, gemm.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_argument.h"
#include "cmx_command.h"
#include "cmx_json_output.h"
#include "cmx_operator.h"
#include "cmx_operator_gemm.h"
#include "cmx_perf.h"

/* The published bandwidths count a packet's 7.5 KB, and MB of 2^20 / 10^6 times that. */
#define PUBLISHED_UNIT	1.048576

struct operator_options {
	struct cmx_operator_options run;
	const char *device;
	const char *lib;
	bool json;
};

static int operator_usage(FILE *to, const char *test, int status)
{
	fprintf(to,
		"usage: cmx perf %s --ep N [OPTIONS]\n"
		"\n"
		"Ranks are dies 0 to N - 1.\n"
		"  -e, --ep N          ranks, 2 to the machine's dies\n"
		"  -t, --tokens N      of each rank (default 128)\n"
		"  -k, --topk N        experts of a token (default 8)\n"
		"  -r, --routing KIND  random (default) or balanced\n"
		"  -s, --seed N        of random routing (default 1)\n"
		"  -l, --lib NAME      library profile, or a file (default %s)\n"
		"  -D, --data          execute the launches and check the bytes\n"
		"  -T, --threads N     that execute, 1 to 64 (default 1)\n"
		"  -j, --json          as JSON\n"
		"  -d, --device PATH   device node; else $CMX_DEVICE, else the first one\n",
		test, CMX_LIBPROFILE_DEFAULT);
	return status;
}

static bool parse_routing(const char *text, bool *balanced)
{
	*balanced = !strcmp(text, "balanced");
	if (*balanced || !strcmp(text, "random"))
		return true;
	fprintf(stderr, "cmx perf: --routing `%s' is not random or balanced\n", text);
	return false;
}

static bool take_u32(const char *option, const char *text, uint32_t min, uint32_t max, uint32_t *to)
{
	uint64_t value;

	if (cmx_argument_number("perf", option, text, min, max, &value))
		return false;
	*to = (uint32_t)value;
	return true;
}

static bool take_option(struct operator_options *o, int c)
{
	struct cmx_routing_options *r = &o->run.routing;

	switch (c) {
	case 'e':
		return take_u32("--ep", optarg, 2, 4096, &r->ep);
	case 't':
		return take_u32("--tokens", optarg, 1, 4096, &r->tokens);
	case 'k':
		return take_u32("--topk", optarg, 1, 32, &r->topk);
	case 'r':
		return parse_routing(optarg, &r->balanced);
	case 's':
		return !cmx_argument_number("perf", "--seed", optarg, 0, UINT64_MAX, &r->seed);
	case 'T':
		return take_u32("--threads", optarg, 1, 64, &o->run.threads);
	case 'l':
		o->lib = optarg;
		return true;
	case 'd':
		o->device = optarg;
		return true;
	case 'D':
		o->run.data = true;
		return true;
	case 'j':
		o->json = true;
		return true;
	default:
		return false;
	}
}

/* Returns an exit status, or -1 to go on. */
static int parse_operator(const char *test, int argc, char **argv, struct operator_options *o)
{
	static const struct option longs[] = {
		{ "ep", required_argument, NULL, 'e' },
		{ "tokens", required_argument, NULL, 't' },
		{ "topk", required_argument, NULL, 'k' },
		{ "routing", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 's' },
		{ "lib", required_argument, NULL, 'l' },
		{ "data", no_argument, NULL, 'D' },
		{ "threads", required_argument, NULL, 'T' },
		{ "json", no_argument, NULL, 'j' },
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "e:t:k:r:s:l:DT:jd:h", longs, NULL)) != -1) {
		if (c == 'h')
			return operator_usage(stdout, test, CMX_EXIT_OK);
		if (c == '?')
			return operator_usage(stderr, test, CMX_EXIT_USAGE);
		if (!take_option(o, c))
			return CMX_EXIT_USAGE;
	}
	if (optind == argc && o->run.routing.ep)
		return -1;
	if (optind != argc)
		fprintf(stderr, "cmx perf: unexpected argument `%s'\n", argv[optind]);
	else
		fprintf(stderr, "cmx perf: --ep is missing\n");
	return operator_usage(stderr, test, CMX_EXIT_USAGE);
}

static double us(uint64_t ps)
{
	return (double)ps / 1e6;
}

static double published_gbps(const struct cmx_operator_result *r)
{
	return (double)r->bytes * PUBLISHED_UNIT * 1e3 / (double)r->mean_ps;
}

static int print_operator_json(const char *test, const struct operator_options *o,
			       const struct cmx_libprofile *lib,
			       const struct cmx_operator_result *r)
{
	const struct cmx_routing_options *route = &o->run.routing;
	json_t *root = json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:s, s:o, s:b}",
				 "test", test, "lib", lib->name, "ep", route->ep,
				 "tokens", route->tokens, "topk", route->topk,
				 "experts", r->experts,
				 "routing", route->balanced ? "balanced" : "random",
				 "seed", cmx_json_number(route->seed), "data", o->run.data);

	json_object_set_new(root, "us", cmx_perf_real(us(r->mean_ps)));
	json_object_set_new(root, "gbps", cmx_perf_real(published_gbps(r)));
	json_object_set_new(root, "us_min", cmx_perf_real(us(r->min_ps)));
	json_object_set_new(root, "us_max", cmx_perf_real(us(r->max_ps)));
	json_object_set_new(root, "bytes_per_rank", json_integer((json_int_t)r->bytes));
	json_object_set_new(root, "busiest_rank_rows", json_integer(r->busiest));
	json_object_set_new(root, "checked", json_integer((json_int_t)r->checked));
	json_object_set_new(root, "extrapolated", json_boolean(r->extrapolated));
	json_object_set_new(root, "host_ms", cmx_perf_real((double)r->host_ns / 1e6));
	return cmx_json_print("perf", root, CMX_PERF_JSON);
}

static int print_operator_text(const char *test, const struct operator_options *o,
			       const struct cmx_libprofile *lib,
			       const struct cmx_operator_result *r)
{
	const struct cmx_routing_options *route = &o->run.routing;

	printf("%s: EP %u, %u tokens of each rank, top %u of %u experts, %s routing, library %s\n",
	       test, route->ep, route->tokens, route->topk, r->experts,
	       route->balanced ? "balanced" : "random", lib->name);
	printf("  virtual %.2f us (ranks %.2f to %.2f), %.1f GB/s of %llu bytes of a rank%s\n",
	       us(r->mean_ps), us(r->min_ps), us(r->max_ps), published_gbps(r),
	       (unsigned long long)r->bytes,
	       r->extrapolated ? ", extrapolated: outside what was fitted" : "");
	if (o->run.data)
		printf("  executed; %llu %s checked\n", (unsigned long long)r->checked,
		       !strcmp(test, "dispatch") ? "rows" : "tokens");
	printf("  host    %.1f ms\n", (double)r->host_ns / 1e6);
	return CMX_EXIT_OK;
}

int cmx_perf_operator_main(const struct cmx_perf_test *test, int argc, char **argv)
{
	struct operator_options o = {
		.lib = CMX_LIBPROFILE_DEFAULT,
		.run = { .routing = { .tokens = 128, .topk = 8, .seed = 1 }, .threads = 1 },
	};
	struct cmx_operator_result result;
	struct cmx_libprofile lib;
	struct cmx_ctx *ctx = NULL;
	int status = parse_operator(test->name, argc, argv, &o);

	if (status >= 0)
		return status;
	if (cmx_libprofile_load(&lib, o.lib))
		return cmx_perf_failed(lib.error);
	if (cmx_open(o.device, 0, &ctx) || cmx_runner_start(ctx, o.run.threads - 1)) {
		status = cmx_perf_failed(cmx_last_error()->text);
	} else if (cmx_operator_run(ctx, test->which, &lib, &o.run, &result)) {
		status = cmx_perf_failed(result.error);
	} else {
		status = o.json ? print_operator_json(test->name, &o, &lib, &result) :
				  print_operator_text(test->name, &o, &lib, &result);
	}
	cmx_close(ctx);
	return status;
}

/* ------------------------------------------------------------------------- gemm */

struct gemm_options {
	struct cmx_gemm_shape shape;
	const char *device;
	bool json;
};

static int gemm_usage(FILE *to, int status)
{
	fprintf(to,
		"usage: cmx perf gemm --groups N --m N --n N --k N [--json] [--device PATH]\n"
		"\n"
		"One launch of `groups' INT8 products (m x k by k x n, BF16 result) on die 0.\n"
		"  -g, --groups N      products (default 1)\n"
		"  -m, --m N           rows\n"
		"  -n, --n N           columns\n"
		"  -k, --k N           length of the sums\n"
		"  -j, --json          as JSON\n"
		"  -d, --device PATH   device node; else $CMX_DEVICE, else the first one\n");
	return status;
}

/* Returns an exit status, or -1 to go on. */
static int parse_gemm(int argc, char **argv, struct gemm_options *o)
{
	static const struct option longs[] = {
		{ "groups", required_argument, NULL, 'g' },
		{ "m", required_argument, NULL, 'm' },
		{ "n", required_argument, NULL, 'n' },
		{ "k", required_argument, NULL, 'k' },
		{ "json", no_argument, NULL, 'j' },
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	const struct {
		char c;
		const char *name;
		uint64_t *value;
	} numbers[] = {
		{ 'g', "--groups", &o->shape.groups }, { 'm', "--m", &o->shape.m },
		{ 'n', "--n", &o->shape.n }, { 'k', "--k", &o->shape.k },
	};
	int c;

	while ((c = getopt_long(argc, argv, "g:m:n:k:jd:h", longs, NULL)) != -1) {
		if (c == 'h')
			return gemm_usage(stdout, CMX_EXIT_OK);
		if (c == '?')
			return gemm_usage(stderr, CMX_EXIT_USAGE);
		o->json |= c == 'j';
		o->device = c == 'd' ? optarg : o->device;
		for (int i = 0; i < 4; i++) {
			if (numbers[i].c == c &&
			    cmx_argument_number("perf", numbers[i].name, optarg, 1, 1 << 24,
						numbers[i].value))
				return CMX_EXIT_USAGE;
		}
	}
	if (optind == argc && o->shape.m && o->shape.n && o->shape.k)
		return -1;
	fprintf(stderr, "cmx perf: gemm needs --m, --n and --k, and no other arguments\n");
	return gemm_usage(stderr, CMX_EXIT_USAGE);
}

/* The efficiency was fitted on products of this size class. */
static bool gemm_extrapolated(const struct cmx_gemm_shape *s)
{
	return s->k < 4096 || s->k > 8192 || s->m < 4096 || s->n < 4096;
}

static int print_gemm(const struct gemm_options *o, const struct cmx_gemm_result *r)
{
	const struct cmx_gemm_shape *s = &o->shape;
	bool beyond = gemm_extrapolated(s);
	json_t *root;

	if (!o->json) {
		printf("gemm: %llu groups of %llu x %llu x %llu, INT8: virtual %.2f us, "
		       "%.1f %% of peak%s\n",
		       (unsigned long long)s->groups, (unsigned long long)s->m,
		       (unsigned long long)s->n, (unsigned long long)s->k, us(r->time_ps),
		       r->util_pct, beyond ? ", extrapolated: outside what was fitted" : "");
		printf("  host    %.1f ms\n", (double)r->host_ns / 1e6);
		return CMX_EXIT_OK;
	}
	root = json_pack("{s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:b, s:o}", "test", "gemm",
			 "groups", (json_int_t)s->groups, "m", (json_int_t)s->m,
			 "n", (json_int_t)s->n, "k", (json_int_t)s->k,
			 "us", cmx_perf_real(us(r->time_ps)),
			 "util_pct", cmx_perf_real(r->util_pct), "extrapolated", beyond,
			 "host_ms", cmx_perf_real((double)r->host_ns / 1e6));
	return cmx_json_print("perf", root, CMX_PERF_JSON);
}

int cmx_perf_gemm_main(const struct cmx_perf_test *test, int argc, char **argv)
{
	struct gemm_options o = { .shape = { .groups = 1 } };
	struct cmx_gemm_result result;
	struct cmx_ctx *ctx = NULL;
	int status = parse_gemm(argc, argv, &o);

	(void)test;
	if (status >= 0)
		return status;
	if (cmx_open(o.device, 0, &ctx))
		status = cmx_perf_failed(cmx_last_error()->text);
	else if (cmx_operator_gemm(ctx, &o.shape, &result))
		status = cmx_perf_failed(result.error);
	else
		status = print_gemm(&o, &result);
	cmx_close(ctx);
	return status;
}
