/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * cmx verify: published figures beside what the model gives for the same commands.
 */
#ifndef CMX_VERIFY_H
#define CMX_VERIFY_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <cmx/cmx.h>

#include "cmx_libprofile.h"

enum cmx_verify_kind {
	CMX_VERIFY_FITTED,	/* a constant was fitted to it: must stay within its bound */
	CMX_VERIFY_PREDICTED,	/* nothing was: a miss is a result */
	CMX_VERIFY_ORIENTATION,	/* not comparable one to one */
};

enum cmx_verify_path {
	CMX_PATH_DIES_FAR,
	CMX_PATH_DIES_NEAR,
	CMX_PATH_SOCKET_FAR,
	CMX_PATH_SOCKET_NEAR,
	CMX_PATH_SIBLINGS,
};

struct cmx_verify_run {
	const char *device;
	uint32_t threads;
	struct cmx_ctx *ctx;
	struct cmx_libprofile *libs;	/* by enum cmx_verify_lib */
	bool changed;		/* the machine was left with another profile than it had */
	char error[900];
};

enum cmx_verify_lib {
	CMX_VERIFY_WIRE,		/* no library */
	CMX_VERIFY_CANN_EP,
	CMX_VERIFY_DEEPEP_ASCEND,
	CMX_VERIFY_MEMFABRIC,
	CMX_VERIFY_LIBS,
};

struct cmx_verify_row {
	const char *id;
	const char *unit;
	double published;
	enum cmx_verify_kind kind;
	double bound_pct;
	int (*measure)(struct cmx_verify_run *run, const struct cmx_verify_row *row,
		       double *value);
	enum cmx_verify_lib lib;
	uint32_t what;			/* operation, operator or shape */
	uint32_t where;			/* path, or ranks */
};

extern const struct cmx_verify_row cmx_verify_rows[];
extern const uint32_t cmx_verify_num_rows;

struct cmx_verify_result {
	bool measured;		/* else it was not asked for */
	double modelled;
	double error_pct;
};

const char *cmx_verify_kind_name(enum cmx_verify_kind kind);
/* Whether it is further from what was published than its bound. */
bool cmx_verify_missed(const struct cmx_verify_row *row, const struct cmx_verify_result *result);
/* Device and threads; 0 or -errno with run->error. */
int cmx_verify_open(struct cmx_verify_run *run);
void cmx_verify_close(struct cmx_verify_run *run);
int cmx_verify_measure(struct cmx_verify_run *run, const struct cmx_verify_row *row,
		       struct cmx_verify_result *result);

/* The table as JSON: what is printed, written and compared. */
json_t *cmx_verify_json(const struct cmx_verify_result *results);
int cmx_verify_write(const char *path, const json_t *table);
/*
 * Prints every difference to @path's table; their number, or -1 when it cannot be read. Rows
 * that are only there count when @whole.
 */
int cmx_verify_compare(const char *path, const json_t *table, bool whole);

/*
 * Prints the constants that change @row's result most, from runs with each of them 1 % larger:
 * the library's, and with @machine also the machine's. These need its profile to be loaded
 * anew: @run is closed meanwhile.
 */
int cmx_verify_sensitivity(struct cmx_verify_run *run, const struct cmx_verify_row *row,
			   bool machine, FILE *to);

#endif
