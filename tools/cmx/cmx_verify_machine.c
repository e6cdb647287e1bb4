// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sensitivity to the machine's constants: its profile is loaded again with one of them changed.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include <cmx/fabric.h>
#include <cmx/profile.h>

#include "cmx_clock.h"
#include "cmx_verify_priv.h"

#define PATIENCE_MS	5000
#define PAUSE_MS	50

struct machine_trial {
	struct cmx_verify_run *run;
	const struct cmx_verify_row *row;
	struct cmx_sensitivity *s;
	struct cmx_fabric *fabric;
	struct cmx_profile *profile;
	uint32_t nodes;
	const char *loaded;	/* constant that is not as at the start, or NULL */
};

static void note(struct machine_trial *t, const char *why)
{
	snprintf(t->s->note, sizeof(t->s->note), "constants of the machine were not tried: %s",
		 why);
}

/* A profile takes the place of the whole machine: nobody else may lose by it. */
static bool may_replace(struct machine_trial *t)
{
	struct cmx_fabric_machine m;

	if (cmx_fabric_open(&t->fabric) || cmx_fabric_get_machine(t->fabric, &m) ||
	    cmx_profile_current(t->fabric, &t->profile)) {
		note(t, cmx_last_error()->text);
		return false;
	}
	t->nodes = m.nodes;
	if (m.clients > 1)
		note(t, "another client has the device open");
	else if (m.generation || m.links_down || m.links_degraded)
		note(t, "the state of the machine was changed, which a new profile would undo");
	return !t->s->note[0];
}

static bool is_speed(const struct cmx_profile_constant *c)
{
	return strcmp(c->unit, "") && strcmp(c->unit, "B");
}

/* The row on a machine with constant @c at @value. 1: the profile is not a good one. */
static int measure_with(struct machine_trial *t, const struct cmx_profile_constant *c,
			uint64_t value, double *result)
{
	int ret = cmx_profile_set(t->profile, c->name, value, NULL);

	if (!ret)
		ret = cmx_profile_load(t->fabric, t->profile, t->nodes);
	if (ret == -EINVAL || ret == -ERANGE)
		return 1;
	if (ret) {
		note(t, cmx_last_error()->text);
		return ret;
	}
	t->loaded = c->name;
	ret = cmx_verify_open(t->run);
	if (!ret)
		ret = t->row->measure(t->run, t->row, result);
	cmx_verify_close(t->run);
	return ret;
}

/* Return: 0, or -errno of what ends it. */
static int try_constant(struct machine_trial *t, const struct cmx_profile_constant *c)
{
	uint64_t was, value;
	double result;
	int ret;

	if (!is_speed(c) || cmx_profile_value(t->profile, c->name, &was) || !was)
		return 0;
	value = was + (was < 100 ? 1 : was / 100);
	if (value > c->max)
		return 0;
	ret = measure_with(t, c, value, &result);
	if (!ret)
		cmx_sensitivity_add(t->s, c->name, was, value, result);
	cmx_profile_set(t->profile, c->name, was, NULL);
	return ret < 0 ? ret : 0;
}

static int try_all(struct machine_trial *t)
{
	size_t count;
	const struct cmx_profile_constant *list = cmx_profile_constants(&count);
	int ret = 0;

	for (size_t i = 0; i < count && !ret; i++)
		ret = try_constant(t, &list[i]);
	return ret;
}

/* Who opened the device meanwhile may only want to look at it. */
static int load_patiently(struct machine_trial *t)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	uint64_t end = cmx_clock_ms() + PATIENCE_MS;
	int ret = cmx_profile_load(t->fabric, t->profile, t->nodes);

	while (ret == -EBUSY && cmx_clock_ms() < end) {
		nanosleep(&pause, NULL);
		ret = cmx_profile_load(t->fabric, t->profile, t->nodes);
	}
	return ret;
}

/* As it was at the start, whatever happened in between. */
static int put_back(struct machine_trial *t)
{
	int ret = t->loaded ? load_patiently(t) : 0;

	if (!ret)
		return cmx_verify_open(t->run);
	t->run->changed = true;
	snprintf(t->run->error, sizeof(t->run->error),
		 "THE MACHINE HAS CHANGED CONSTANTS (`%s' is larger than it was): its own profile "
		 "could not be loaded again: %s; do so with `cmx profile load'",
		 t->loaded, cmx_last_error()->text);
	return ret;
}

int cmx_sensitivity_try_machine(struct cmx_verify_run *run, const struct cmx_verify_row *row,
				struct cmx_sensitivity *s)
{
	struct machine_trial t = { .run = run, .row = row, .s = s };
	int ret = 0, other;

	if (may_replace(&t)) {
		cmx_verify_close(run);
		ret = try_all(&t);
		/* Not being allowed to is told, and no failure. */
		if (s->note[0])
			ret = 0;
		other = put_back(&t);
		ret = ret ? ret : other;
	}
	cmx_profile_free(t.profile);
	cmx_fabric_close(t.fabric);
	return ret;
}
