// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_perf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_command.h"
#include "cmx_operator.h"
#include "cmx_perf_transfer.h"
#include "cmx_stop.h"

static const struct cmx_perf_test tests[] = {
	{ "read", cmx_perf_transfer_main, CMX_TRANSFER_READ, "read remote memory" },
	{ "write", cmx_perf_transfer_main, CMX_TRANSFER_WRITE, "write remote memory" },
	{ "copy", cmx_perf_transfer_main, CMX_TRANSFER_COPY, "copy by the SDMA engine" },
	{ "atomic", cmx_perf_transfer_main, CMX_TRANSFER_ATOMIC, "add to a remote word" },
	{ "alltoall", cmx_perf_collective_main, CMX_COLLECTIVE_ALLTOALL,
	  "each rank sends another part to every rank" },
	{ "allgather", cmx_perf_collective_main, CMX_COLLECTIVE_ALLGATHER,
	  "each rank sends the same to every rank" },
	{ "allreduce", cmx_perf_reduction_main, CMX_COLLECTIVE_ALLREDUCE,
	  "each rank gets the sum of all ranks' vectors" },
	{ "reducescatter", cmx_perf_reduction_main, CMX_COLLECTIVE_REDUCESCATTER,
	  "each rank gets its part of that sum" },
	{ "dispatch", cmx_perf_operator_main, CMX_OPERATOR_DISPATCH,
	  "tokens to their experts' ranks" },
	{ "combine", cmx_perf_operator_main, CMX_OPERATOR_COMBINE,
	  "experts' results back, and their sum" },
	{ "gemm", cmx_perf_gemm_main, 0, "grouped INT8 matrix products on one die" },
};

#define NUM_TESTS	(sizeof(tests) / sizeof(tests[0]))

static int usage(FILE *to, int status)
{
	fprintf(to, "usage: cmx perf TEST [OPTIONS]\n"
		    "\n"
		    "Measure in virtual time; what the host took is shown apart. tests:\n");
	for (size_t i = 0; i < NUM_TESTS; i++)
		fprintf(to, "  %-13s %s\n", tests[i].name, tests[i].summary);
	fprintf(to, "\n`cmx perf TEST --help' lists a test's options.\n");
	return status;
}

bool cmx_perf_size(const char *option, const char *text, uint64_t min, uint64_t max,
		   uint64_t *value)
{
	static const char units[] = "KMGT";
	const char *unit;
	bool good;
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	good = *text >= '0' && *text <= '9' && !errno;
	if (good && *end) {
		unit = strchr(units, *end);
		good = unit && !end[1] &&
		       !__builtin_mul_overflow(*value, 1ull << (10 * (unit - units + 1)), value);
	}
	if (good && *value >= min && *value <= max)
		return true;
	fprintf(stderr, "cmx perf: %s `%s' is not a size from %llu to %llu bytes\n", option, text,
		(unsigned long long)min, (unsigned long long)max);
	return false;
}

int cmx_perf_failed(const char *text)
{
	fprintf(stderr, "cmx perf: %s\n", text);
	return cmx_stopped() ? CMX_EXIT_STOPPED : CMX_EXIT_FAILED;
}

json_t *cmx_perf_real(double value)
{
	return json_real(round(value * 1000) / 1000);
}

int cmx_perf_main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr, CMX_EXIT_USAGE);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return usage(stdout, CMX_EXIT_OK);
	for (size_t i = 0; i < NUM_TESTS; i++) {
		if (!strcmp(argv[1], tests[i].name)) {
			cmx_stop_catch();
			return tests[i].main(&tests[i], argc - 1, argv + 1);
		}
	}
	fprintf(stderr, "cmx perf: there is no test `%s'\n", argv[1]);
	return usage(stderr, CMX_EXIT_USAGE);
}
