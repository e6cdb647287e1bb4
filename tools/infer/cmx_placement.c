// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_placement.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t count_live(const struct cmx_placement_shape *s)
{
	uint32_t live = 0;

	for (uint32_t i = 0; i < s->ranks; i++)
		live += !cmx_placement_failed(s->failed, i);
	return live;
}

static int check_range(const char *field, uint32_t value, uint32_t limit,
		       struct cmx_infer_err *err)
{
	if (value && value <= limit)
		return 0;
	return cmx_infer_fail(err, -EINVAL, "placement: %s is %u, not 1 to %u", field, value,
			      limit);
}

/* Places are what is there, and no rank needs an expert twice. */
static int check_room(const struct cmx_placement_shape *s, uint32_t live,
		      struct cmx_infer_err *err)
{
	uint64_t places = (uint64_t)live * s->local, useful = (uint64_t)live * s->experts;

	if (s->experts > places)
		return cmx_infer_fail(err, -ENOSPC,
				      "placement: experts is %u, more than the %llu places of %u "
				      "live ranks with %u each", s->experts,
				      (unsigned long long)places, live, s->local);
	if (s->physical && s->physical < s->experts)
		return cmx_infer_fail(err, -EINVAL,
				      "placement: physical is %u, fewer than %u experts",
				      s->physical, s->experts);
	if (s->physical > places)
		return cmx_infer_fail(err, -ENOSPC,
				      "placement: physical is %u, more than the %llu places of %u "
				      "live ranks with %u each", s->physical,
				      (unsigned long long)places, live, s->local);
	if (s->physical > useful)
		return cmx_infer_fail(err, -EINVAL,
				      "placement: physical is %u, more than %u experts on each of "
				      "%u live ranks, %llu", s->physical, s->experts, live,
				      (unsigned long long)useful);
	return 0;
}

int cmx_placement_begin(const struct cmx_placement_shape *s, struct cmx_placement *out,
			uint32_t *live, struct cmx_infer_err *err)
{
	uint64_t places;
	int ret = check_range("ranks", s->ranks, CMX_PLACEMENT_MAX_RANKS, err);

	memset(out, 0, sizeof(*out));
	if (!ret)
		ret = check_range("experts", s->experts, CMX_PLACEMENT_MAX_EXPERTS, err);
	if (!ret)
		ret = check_range("local", s->local, CMX_PLACEMENT_MAX_EXPERTS, err);
	if (ret)
		return ret;
	*live = count_live(s);
	ret = check_room(s, *live, err);
	if (ret)
		return ret;
	places = (uint64_t)s->ranks * s->local;
	out->table = malloc(places * sizeof(*out->table));
	if (!out->table)
		return cmx_infer_fail(err, -ENOMEM, "no memory for a placement of %llu places",
				      (unsigned long long)places);
	out->ranks = s->ranks;
	out->experts = s->experts;
	out->local = s->local;
	for (uint64_t i = 0; i < places; i++)
		out->table[i] = CMX_PLACEMENT_NONE;
	return 0;
}

void cmx_placement_free(struct cmx_placement *p)
{
	free(p->table);
	memset(p, 0, sizeof(*p));
}

/* Copies one behind the other, all experts again and again, in equal parts to live ranks. */
int cmx_placement_even(const struct cmx_placement_shape *s, struct cmx_placement *out,
		       struct cmx_infer_err *err)
{
	uint64_t copies = s->physical ? s->physical : s->experts;
	uint32_t live, turn = 0;
	int ret = cmx_placement_begin(s, out, &live, err);

	for (uint32_t rank = 0; rank < s->ranks && !ret; rank++) {
		uint64_t first = copies * turn / live, end = copies * (turn + 1) / live;

		if (cmx_placement_failed(s->failed, rank))
			continue;
		for (uint64_t i = first; i < end; i++)
			cmx_placement_of(out, rank)[i - first] = (int32_t)(i % s->experts);
		turn++;
	}
	return ret;
}

uint32_t cmx_placement_copies(const struct cmx_placement *p, uint32_t expert)
{
	uint64_t places = (uint64_t)p->ranks * p->local;
	uint32_t n = 0;

	for (uint64_t i = 0; i < places; i++)
		n += p->table[i] == (int32_t)expert;
	return n;
}

bool cmx_placement_has(const struct cmx_placement *p, uint32_t rank, uint32_t expert)
{
	const int32_t *places = cmx_placement_of(p, rank);

	for (uint32_t i = 0; i < p->local; i++)
		if (places[i] == (int32_t)expert)
			return true;
	return false;
}

uint64_t cmx_placement_load(const struct cmx_placement *p, const uint64_t *counts, uint32_t rank)
{
	const int32_t *places = cmx_placement_of(p, rank);
	uint64_t load = 0;

	for (uint32_t i = 0; i < p->local; i++) {
		if (places[i] >= 0)
			load += counts[places[i]] * 1024 /
				cmx_placement_copies(p, (uint32_t)places[i]);
	}
	return load;
}

uint64_t cmx_placement_busiest(const struct cmx_placement *p, const uint64_t *counts)
{
	uint64_t most = 0;

	for (uint32_t rank = 0; rank < p->ranks; rank++) {
		uint64_t load = cmx_placement_load(p, counts, rank);

		most = load > most ? load : most;
	}
	return most;
}
