// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which constants a row depends on: its commands run again with one constant 1 % larger.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_verify.h"
#include "cmx_verify_priv.h"

#define SHOWN	6u

void cmx_sensitivity_add(struct cmx_sensitivity *s, const char *name, uint64_t from, uint64_t to,
			 double value)
{
	struct cmx_sensitivity_item *item = &s->items[s->count];
	double change = (double)to / (double)from - 1;

	if (s->count == CMX_SENSITIVITY_MAX)
		return;
	snprintf(item->name, sizeof(item->name), "%s", name);
	/* In percent of the row for each percent of the constant. */
	item->pct = (value / s->base - 1) / change;
	s->count++;
}

/* What says how much there is, not how fast: changing it asks another question. */
static bool is_shape(enum cmx_lib_constant c)
{
	return c == CMX_LIB_DIE_DEPTH || c == CMX_LIB_SOCKET_DEPTH ||
	       (c >= CMX_LIB_HIDDEN && c <= CMX_LIB_RESULT) || c >= CMX_LIB_FIT_MIN_EP;
}

static int try_lib(struct cmx_verify_run *run, const struct cmx_verify_row *row,
		   struct cmx_sensitivity *s)
{
	struct cmx_libprofile *lib = &run->libs[row->lib];

	for (int c = 0; c < CMX_LIB_CONSTANTS && row->lib != CMX_VERIFY_WIRE; c++) {
		uint64_t was = lib->value[c];
		char name[80];
		double value;
		int ret;

		if (!lib->has[c] || !was || is_shape(c))
			continue;
		lib->value[c] += was < 100 ? 1 : was / 100;
		ret = row->measure(run, row, &value);
		if (ret)
			return ret;
		snprintf(name, sizeof(name), "%s of %s", cmx_lib_fields[c].name, lib->name);
		cmx_sensitivity_add(s, name, was, lib->value[c], value);
		lib->value[c] = was;
	}
	return 0;
}

static int larger_first(const void *a, const void *b)
{
	const struct cmx_sensitivity_item *x = a, *y = b;
	double p = fabs(x->pct), q = fabs(y->pct);

	return p < q ? 1 : p > q ? -1 : strcmp(x->name, y->name);
}

static void print(struct cmx_sensitivity *s, const struct cmx_verify_row *row, FILE *to)
{
	qsort(s->items, s->count, sizeof(s->items[0]), larger_first);
	fprintf(to, "%s is %.3f %s; for each percent more of\n", row->id, s->base, row->unit);
	for (uint32_t i = 0; i < s->count && i < SHOWN && fabs(s->items[i].pct) >= 0.005; i++)
		fprintf(to, "  %-40s %+.2f %%\n", s->items[i].name, s->items[i].pct);
	if (s->note[0])
		fprintf(to, "  %s\n", s->note);
}

int cmx_verify_sensitivity(struct cmx_verify_run *run, const struct cmx_verify_row *row,
			   bool machine, FILE *to)
{
	struct cmx_sensitivity *s = calloc(1, sizeof(*s));
	int ret;

	if (!s) {
		snprintf(run->error, sizeof(run->error), "no memory for sensitivities");
		return -ENOMEM;
	}
	ret = row->measure(run, row, &s->base);
	if (!ret)
		ret = try_lib(run, row, s);
	if (!ret && machine)
		ret = cmx_sensitivity_try_machine(run, row, s);
	else if (!ret)
		snprintf(s->note, sizeof(s->note),
			 "for constants of the machine: cmx verify --sensitivity %s", row->id);
	if (!ret)
		print(s, row, to);
	free(s);
	return ret;
}
