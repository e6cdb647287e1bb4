// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_verify.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_argument.h"
#include "cmx_command.h"
#include "cmx_json_output.h"
#include "cmx_perf.h"
#include "cmx_stop.h"

struct verify_options {
	const char *write;
	const char *against;
	const char *sensitivity;
	const char *only;
	bool json;
	bool quick;
	struct cmx_verify_run run;
};

static int usage(FILE *to, int status)
{
	fprintf(to,
		"usage: cmx verify [OPTIONS]\n"
		"\n"
		"Run the commands behind each published figure; print it, what the model gives and\n"
		"the error. Fails when a fitted row is off by more than its bound, or when a row is not\n"
		"what the committed table says; a prediction that misses is shown, and no failure.\n"
		"  -j, --json            as JSON\n"
		"  -w, --write FILE      write the table there, too\n"
		"  -a, --against FILE    committed table (default: the one that comes with CMX);\n"
		"                        `none': compare with none\n"
		"  -o, --only TEXT       only rows whose id has TEXT in it\n"
		"  -q, --quick           do not look for the constants behind a missed prediction\n"
		"  -s, --sensitivity ID  only show which constants row ID depends on; loads changed\n"
		"                        profiles into the machine, and at last its own\n"
		"  -T, --threads N       that execute launches, 1 to 64 (default 1)\n"
		"  -d, --device PATH     device node; else $CMX_DEVICE, else the first one\n");
	return status;
}

/* Returns an exit status, or -1 to go on. */
static int parse(int argc, char **argv, struct verify_options *o)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "write", required_argument, NULL, 'w' },
		{ "against", required_argument, NULL, 'a' },
		{ "only", required_argument, NULL, 'o' },
		{ "quick", no_argument, NULL, 'q' },
		{ "sensitivity", required_argument, NULL, 's' },
		{ "threads", required_argument, NULL, 'T' },
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	uint64_t value;
	int c;

	while ((c = getopt_long(argc, argv, "jw:a:o:qs:T:d:h", longs, NULL)) != -1) {
		if (c == 'h')
			return usage(stdout, CMX_EXIT_OK);
		if (c == '?')
			return usage(stderr, CMX_EXIT_USAGE);
		if (c == 'T' &&
		    cmx_argument_number("verify", "--threads", optarg, 1, 64, &value))
			return CMX_EXIT_USAGE;
		if (c == 'T')
			o->run.threads = (uint32_t)value;
		o->json |= c == 'j';
		o->quick |= c == 'q';
		o->write = c == 'w' ? optarg : o->write;
		o->against = c == 'a' ? optarg : o->against;
		o->only = c == 'o' ? optarg : o->only;
		o->sensitivity = c == 's' ? optarg : o->sensitivity;
		o->run.device = c == 'd' ? optarg : o->run.device;
	}
	if (optind == argc)
		return -1;
	fprintf(stderr, "cmx verify: unexpected argument `%s'\n", argv[optind]);
	return usage(stderr, CMX_EXIT_USAGE);
}

static int failed(const char *text)
{
	fprintf(stderr, "cmx verify: %s\n", text);
	return cmx_stopped() ? CMX_EXIT_STOPPED : CMX_EXIT_FAILED;
}

int cmx_verify_open(struct cmx_verify_run *run)
{
	int ret = cmx_open(run->device, 0, &run->ctx);

	if (!ret)
		ret = cmx_runner_start(run->ctx, run->threads - 1);
	if (ret)
		snprintf(run->error, sizeof(run->error), "%s", cmx_last_error()->text);
	return ret;
}

void cmx_verify_close(struct cmx_verify_run *run)
{
	cmx_close(run->ctx);
	run->ctx = NULL;
}

static int load_libs(struct cmx_verify_run *run)
{
	static const char *const names[CMX_VERIFY_LIBS] = {
		[CMX_VERIFY_CANN_EP] = "cann-ep",
		[CMX_VERIFY_DEEPEP_ASCEND] = "deepep-ascend",
		[CMX_VERIFY_MEMFABRIC] = "memfabric",
	};

	run->libs = calloc(CMX_VERIFY_LIBS, sizeof(*run->libs));
	if (!run->libs)
		return failed("no memory for library profiles");
	for (int i = 0; i < CMX_VERIFY_LIBS; i++) {
		if (names[i] && cmx_libprofile_load(&run->libs[i], names[i]))
			return failed(run->libs[i].error);
	}
	return CMX_EXIT_OK;
}

bool cmx_verify_missed(const struct cmx_verify_row *row, const struct cmx_verify_result *result)
{
	return row->kind != CMX_VERIFY_ORIENTATION && fabs(result->error_pct) > row->bound_pct;
}

static void print_row(const struct cmx_verify_row *row, const struct cmx_verify_result *result)
{
	const char *mark = "";

	if (cmx_verify_missed(row, result))
		mark = row->kind == CMX_VERIFY_FITTED ? "  OUT OF BOUND" : "  missed";
	printf("%-32s %10.3f %10.3f %-5s %8.3f %%  %s%s\n", row->id, row->published,
	       result->modelled, row->unit, result->error_pct, cmx_verify_kind_name(row->kind),
	       mark);
	fflush(stdout);
}

/* Returns an exit status. */
static int measure_all(struct verify_options *o, struct cmx_verify_result *results)
{
	if (!o->json)
		printf("%-32s %10s %10s %-5s %10s  kind\n", "row", "published", "modelled", "unit",
		       "error");
	for (uint32_t i = 0; i < cmx_verify_num_rows; i++) {
		const struct cmx_verify_row *row = &cmx_verify_rows[i];

		if (o->only && !strstr(row->id, o->only))
			continue;
		if (cmx_verify_measure(&o->run, row, &results[i])) {
			fprintf(stderr, "cmx verify: %s: ", row->id);
			return failed(o->run.error);
		}
		if (!o->json)
			print_row(row, &results[i]);
	}
	return CMX_EXIT_OK;
}

/* Returns an exit status: fitted rows count, predictions are told. */
static int judge(struct verify_options *o, const struct cmx_verify_result *results)
{
	FILE *to = o->json ? stderr : stdout;
	int status = CMX_EXIT_OK;

	for (uint32_t i = 0; i < cmx_verify_num_rows; i++) {
		const struct cmx_verify_row *row = &cmx_verify_rows[i];

		if (!results[i].measured || !cmx_verify_missed(row, &results[i]))
			continue;
		if (row->kind == CMX_VERIFY_FITTED) {
			fprintf(stderr, "cmx verify: %s: off by %.3f %%, bound is %.1f %%\n",
				row->id, results[i].error_pct, row->bound_pct);
			status = CMX_EXIT_FAILED;
			continue;
		}
		fprintf(to, "missed prediction: %s, by %.3f %%\n", row->id, results[i].error_pct);
		if (!o->quick && cmx_verify_sensitivity(&o->run, row, false, to))
			status = failed(o->run.error);
	}
	return status;
}

static int compare(const struct verify_options *o, const json_t *table)
{
	char path[PATH_MAX];
	const char *against = o->against;
	int changes;

	if (against && !strcmp(against, "none"))
		return CMX_EXIT_OK;
	if (!against) {
		if (cmx_libprofile_data("tests/verify", "expected.json", path, sizeof(path))) {
			fprintf(stderr, "cmx verify: the committed table, "
				"tests/verify/expected.json, is not where this command is from; "
				"name one with --against, or none\n");
			return CMX_EXIT_FAILED;
		}
		against = path;
	}
	changes = cmx_verify_compare(against, table, !o->only);
	if (changes > 0)
		fprintf(stderr, "cmx verify: %d changes to the committed table\n", changes);
	return changes ? CMX_EXIT_FAILED : CMX_EXIT_OK;
}

static int run_table(struct verify_options *o)
{
	struct cmx_verify_result *results = calloc(cmx_verify_num_rows, sizeof(*results));
	json_t *table = NULL;
	int status = results ? measure_all(o, results) : failed("no memory for the table");
	int other;

	if (!status)
		table = cmx_verify_json(results);
	if (!status && !json_array_size(table)) {
		fprintf(stderr, "cmx verify: --only: no row has `%s' in its id\n", o->only);
		status = CMX_EXIT_USAGE;
	}
	if (!status) {
		if (o->json)
			status = cmx_json_print("verify", json_incref(table), CMX_PERF_JSON);
		if (o->write && cmx_verify_write(o->write, table))
			status = CMX_EXIT_FAILED;
		other = compare(o, table);
		status = status ? status : other;
		other = judge(o, results);
		status = status ? status : other;
	}
	json_decref(table);
	free(results);
	return status;
}

static int run_sensitivity(struct verify_options *o)
{
	for (uint32_t i = 0; i < cmx_verify_num_rows; i++) {
		if (strcmp(cmx_verify_rows[i].id, o->sensitivity))
			continue;
		if (!cmx_verify_sensitivity(&o->run, &cmx_verify_rows[i], true, stdout))
			return CMX_EXIT_OK;
		failed(o->run.error);
		/* More than that a signal came. */
		return cmx_stopped() && !o->run.changed ? CMX_EXIT_STOPPED : CMX_EXIT_FAILED;
	}
	fprintf(stderr, "cmx verify: --sensitivity: there is no row `%s'\n", o->sensitivity);
	return CMX_EXIT_USAGE;
}

int cmx_verify_main(int argc, char **argv)
{
	struct verify_options o = { .run = { .threads = 1 } };
	int status = parse(argc, argv, &o);

	if (status >= 0)
		return status;
	cmx_stop_catch();
	status = load_libs(&o.run);
	if (!status && cmx_verify_open(&o.run))
		status = failed(o.run.error);
	if (!status)
		status = o.sensitivity ? run_sensitivity(&o) : run_table(&o);
	cmx_verify_close(&o.run);
	free(o.run.libs);
	return status;
}
