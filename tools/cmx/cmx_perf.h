/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cmx perf: tests of transfers, collectives and operators.
 */
#ifndef CMX_PERF_H
#define CMX_PERF_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cmx/cmx.h>
#include <cmx/fabric.h>

struct cmx_perf_test {
	const char *name;
	int (*main)(const struct cmx_perf_test *test, int argc, char **argv);
	int which;		/* for those that share @main */
	const char *summary;
};

/* All return an exit status; argv[0] is the test's name. */
int cmx_perf_transfer_main(const struct cmx_perf_test *test, int argc, char **argv);
int cmx_perf_collective_main(const struct cmx_perf_test *test, int argc, char **argv);
int cmx_perf_reduction_main(const struct cmx_perf_test *test, int argc, char **argv);
int cmx_perf_operator_main(const struct cmx_perf_test *test, int argc, char **argv);
int cmx_perf_gemm_main(const struct cmx_perf_test *test, int argc, char **argv);

/*
 * Bytes, with K, M, G, T for powers of 1024 behind the number: false with a text on standard
 * error that names option, value, limits.
 */
bool cmx_perf_size(const char *option, const char *text, uint64_t min, uint64_t max,
		   uint64_t *value);

/* `0,4-7,node1,socket2,n0.npu0.die0': entities; none is left out or doubled. */
struct cmx_perf_list {
	uint32_t *entities;
	uint32_t count;
};

/* False with a text on standard error; free @list->entities in either case. */
bool cmx_perf_entities(const struct cmx_fabric_machine *machine, const char *option,
		       const char *text, struct cmx_perf_list *list);

/* Standard error; the exit status for failure. */
int cmx_perf_failed(const char *text);
/* How results are printed as JSON. */
#define CMX_PERF_JSON	(JSON_INDENT(2) | JSON_REAL_PRECISION(12))
/* Decimals that are the same on every machine: 3 behind the point. */
json_t *cmx_perf_real(double value);

#endif
