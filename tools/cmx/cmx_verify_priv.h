/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Between the two halves of a sensitivity: constants of libraries and of the machine.
 */
#ifndef CMX_VERIFY_PRIV_H
#define CMX_VERIFY_PRIV_H

#include <stdint.h>

#include "cmx_verify.h"

#define CMX_SENSITIVITY_MAX	128

struct cmx_sensitivity_item {
	char name[80];
	double pct;
};

struct cmx_sensitivity {
	double base;		/* the row as it is */
	struct cmx_sensitivity_item items[CMX_SENSITIVITY_MAX];
	uint32_t count;
	char note[800];		/* what could not be tried, and why */
};

/* @value is what the row gives with constant @name at @to in place of @from. */
void cmx_sensitivity_add(struct cmx_sensitivity *s, const char *name, uint64_t from, uint64_t to,
			 double value);
/*
 * Loads the machine's profile with each constant changed, and at last as it was. Where that
 * cannot be done s->note says why. 0, or -errno of a measurement with run->error.
 */
int cmx_sensitivity_try_machine(struct cmx_verify_run *run, const struct cmx_verify_row *row,
				struct cmx_sensitivity *s);

#endif
